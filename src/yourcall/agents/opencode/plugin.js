// yourcall's plugin for $TITLE: tells the daemon what this process asks its person, and brings the answers in.
// Written by `yourcall setup $AGENT`; changes made here are lost. `yourcall setup $AGENT --undo` removes it.
//
// Rules, each one measured on the real program (docs/reference/agents/opencode.md):
//  - `event` is async and never throws: a synchronous throw in it stops the session for good;
//  - nothing is awaited while loading: the screen stays blank until a plugin has loaded;
//  - no tool.execute hooks: they delay every call, and an error in one turns a call that ran into a failed one;
//  - only one function is exported: any other export makes the whole file count for nothing;
//  - what is asked is remembered from events: GET /permission fails while certain requests are open;
//  - nothing is printed, and without the daemon nothing happens but a look for it every two seconds.
import net from "node:net"

const AGENT = "$AGENT"
const SOCKET = "$SOCKET"
const GRACE_MS = 120 // with --auto the program answers its own requests after 11 to 46 ms
const PROOF_MS = 2000 // an answer that counts is reported 6 ms later
const FIRST_DIAL_MS = 250
const LONGEST_DIAL_MS = 2000
const MOST_OUTCOMES = 100
const MOST_MESSAGES = 200
const MOST_CALLS = 500
const LONGEST_TEXT = 20000
const MOST_UNSENT = 16 << 20 // a daemon that does not read must not fill this process

const clients = new Map() // directory -> the client for it; one process may serve several
const sessions = new Map() // id -> what is known of it
const pending = new Map() // id -> a request that is open
const answering = new Map() // id -> hears what became of a request that we are answering
const outcomes = [] // told again after a reconnect
const calls = new Map() // call id -> tool and input of a call that runs
const roles = new Map() // message id -> who speaks in it
let socket, unread = "", dialled = false, wait = FIRST_DIAL_MS

const later = (ms) => new Promise((done) => setTimeout(done, ms).unref?.())
const connected = () => socket?.readyState === "open"
const cut = (text) => (typeof text === "string" ? text.slice(0, LONGEST_TEXT) : "")

function bounded(map, most) {
  while (map.size > most) map.delete(map.keys().next().value)
}

function send(message) {
  if (!connected()) return
  try {
    socket.write(JSON.stringify(message) + "\n")
    if (socket.writableLength > MOST_UNSENT) socket.destroy()
  } catch {}
}

async function call(directory, method, url, body) {
  const client = clients.get(directory)?._client
  if (!client) return { status: 0 }
  const headers = body === undefined ? {} : { "Content-Type": "application/json" }
  const reply = await client[method]({ url, body, headers })
  return { status: reply.response?.status ?? 0, data: reply.data }
}

// --- sessions ---------------------------------------------------------------------------------------------------

function session(id, directory, info) {
  let known = sessions.get(id)
  if (known) {
    if (info) known.info = info
    return known
  }
  known = { id, directory, info, ready: false, waiting: [], state: "idle", rest: "", last: "", said: "" }
  sessions.set(id, known)
  known.learned = learn(known)
  return known
}

// Nothing is told about a session before it is known whose it is.
async function learn(known) {
  try {
    if (!known.info) known.info = (await call(known.directory, "get", `/session/${known.id}`)).data
  } catch {}
  known.info ??= { id: known.id, directory: known.directory }
  if (known.info.parentID) await session(known.info.parentID, known.directory).learned
  known.ready = true
  send(described(known))
  for (const message of known.waiting.splice(0)) send(message)
}

function described(known) {
  const { id, parentID, title, directory, version, cost } = known.info
  const agent = known.spoke?.agent ?? known.info.agent
  return { type: "session", session: id, parent: parentID, title, directory, version, cost, agent, retry: known.retry }
}

function tell(known, message) {
  if (known.ready) send(message)
  else known.waiting.push(message)
}

function stateOf(known) {
  if (known.state === "busy") return { type: "busy", session: known.id, after: known.rest }
  return { type: "idle", session: known.id, turn: known.rest, text: known.said, error: known.error }
}

function begin(known) {
  if (known.state === "busy") return
  Object.assign(known, { state: "busy", error: undefined, said: "", stopped: false })
  tell(known, stateOf(known))
}

async function rest(known) {
  const news = known.state === "busy"
  if (news) Object.assign(known, { state: "idle", rest: known.last })
  await sweep(known) // first: a session in which something is asked is not told to be ready
  if (news && known.state === "idle") tell(known, stateOf(known))
}

// An abort leaves its request open and the dialog on the screen, and a late "allow" may still run the command. A
// session that rests waits for nobody, so what is left over is refused.
async function sweep(known) {
  const left = () => [...pending.values()].filter((item) => item.session === known.id && !answering.has(item.id))
  if (!left().length) return
  const now = (await call(known.directory, "get", "/session/status")).data
  if (!now || (now[known.id]?.type ?? "idle") !== "idle") return
  for (const item of left()) {
    pending.delete(item.id)
    end(item, "abort", {})
    if (connected() || known.stopped) await call(item.directory, "post", ...refusal(item)).catch(() => {})
  }
}

function refusal(item, message) {
  const body = item.kind === "question" ? {} : { reply: "reject", ...(message ? { message } : {}) }
  return [`/${item.kind}/${item.id}/${item.kind === "question" ? "reject" : "reply"}`, body]
}

// --- requests ---------------------------------------------------------------------------------------------------

function ask(directory, kind, request) {
  const item = { id: request.id, kind, session: request.sessionID, directory, request, shown: false }
  pending.set(item.id, item)
  later(GRACE_MS).then(() => show(item)).catch(() => {})
}

async function show(item) {
  const { callID, messageID } = item.request.tool ?? {}
  item.call = calls.get(callID)
  if (callID && !item.call) {
    const { data } = await call(item.directory, "get", `/session/${item.session}/message/${messageID}`)
    const part = data?.parts?.find((each) => each.type === "tool" && each.callID === callID)
    if (part) item.call = { tool: part.tool, input: part.state?.input }
  }
  if (pending.get(item.id) !== item) return
  item.shown = true
  tell(session(item.session, item.directory), asked(item))
}

const asked = ({ id, kind, session, request, call }) => ({ type: "asked", id, kind, session, request, call })

function end(item, by, outcome) {
  const message = { type: "settled", session: item.session, id: item.id, by, ...outcome }
  if (!item.shown) return
  outcomes.push(message)
  if (outcomes.length > MOST_OUTCOMES) outcomes.shift()
  tell(session(item.session, item.directory), message)
}

function settle(id, outcome) {
  const item = pending.get(id)
  if (!item) return
  pending.delete(id)
  const hear = answering.get(id)
  if (hear) hear(outcome)
  else end(item, "desk", outcome)
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other)

// Whose answer counted is decided by the event that closes the request: old versions say yes to a late one, too.
async function answer(id, outcome, route) {
  const item = pending.get(id)
  if (!item || answering.has(id)) return
  const heard = new Promise((hear) => answering.set(id, hear))
  let status = 0
  try {
    status = (await call(item.directory, "post", ...route(item))).status
  } catch {}
  const became = await Promise.race([heard, later(PROOF_MS)])
  answering.delete(id)
  if (became) return end(item, status === 200 && same(became, outcome) ? "us" : "desk", became)
  end(item, "nobody", {})
  const known = session(item.session, item.directory)
  if (known.state !== "busy") await sweep(known)
}

// Kilo's question at the end of a plan reaches no plugin as an event.
async function lookForQuestions(directory) {
  for (const ms of [50, 200, 800, 2000]) {
    await later(ms)
    const { data } = await call(directory, "get", "/question")
    for (const request of Array.isArray(data) ? data : [])
      if (!pending.has(request.id)) ask(directory, "question", request)
  }
}

// --- what is said and done ---------------------------------------------------------------------------------------

function trimmed(part) {
  if (part.type !== "tool") return { type: part.type, id: part.id, text: cut(part.text) }
  const { status, input, output, error, title, metadata } = part.state
  const { diff, sessionId } = metadata ?? {}
  const state = { status, input, output: cut(output), error: cut(error), title, diff: cut(diff), child: sessionId }
  return { type: "tool", id: part.id, tool: part.tool, callID: part.callID, state }
}

function whole(part, role) {
  if (part.type === "tool") return ["running", "completed", "error"].includes(part.state?.status)
  if (part.type === "text" && role === "user") return !part.synthetic && !part.ignored && !!part.text
  return ["text", "reasoning"].includes(part.type) && !!part.time?.end && !!part.text
}

function took(known, part) {
  const role = roles.get(part.messageID) ?? "assistant"
  if (part.type === "tool") {
    const status = part.state?.status
    if (status === "running") {
      if (calls.has(part.callID)) return // its output so far
      calls.set(part.callID, { tool: part.tool, input: part.state.input })
      bounded(calls, MOST_CALLS)
    } else if (status === "completed" || status === "error") {
      calls.delete(part.callID)
      if (part.tool === "plan_exit") lookForQuestions(known.directory).catch(() => {})
    }
  }
  if (!whole(part, role)) return
  if (part.type === "text" && role === "assistant") known.said = cut(part.text)
  tell(known, { type: "part", session: known.id, role, part: trimmed(part) })
}

function heardMessage(known, info) {
  roles.set(info.id, info.role)
  bounded(roles, MOST_CALLS)
  if (info.id > known.last) known.last = info.id
  if (info.role !== "user" || !info.agent || !info.model) return
  const before = known.spoke?.agent
  known.spoke = { agent: info.agent, model: info.model, variant: info.variant ?? info.model.variant }
  if (before !== info.agent) tell(known, { type: "agent", session: known.id, agent: info.agent })
}

async function history(known) {
  const { data } = await call(known.directory, "get", `/session/${known.id}/message?limit=${MOST_MESSAGES}`)
  const messages = (Array.isArray(data) ? data : []).map(({ info, parts }) => ({
    role: info.role,
    at: (info.time?.created ?? 0) / 1000,
    parts: parts.filter((part) => whole(part, info.role)).map(trimmed),
  }))
  send({ type: "history", session: known.id, messages })
}

// --- what the daemon wants ---------------------------------------------------------------------------------------

// Without the person's own agent and model a plan would be carried out, by another model.
async function prompt(known, text) {
  if (!known.spoke) {
    const { data } = await call(known.directory, "get", `/session/${known.id}/message?limit=${MOST_MESSAGES}`)
    for (const { info } of Array.isArray(data) ? data : []) heardMessage(known, info)
  }
  if (!known.spoke) return "Give the first instruction at its terminal: the agent and the model are chosen there."
  const { agent, model, variant } = known.spoke
  const { providerID, modelID } = model
  const body = { agent, model: { providerID, modelID }, ...(variant ? { variant } : {}), parts: [{ type: "text", text }] }
  const { status } = await call(known.directory, "post", `/session/${known.id}/prompt_async`, body)
  return status === 204 || status === 200 ? "" : `$TITLE refused it (${status}).`
}

async function stop(known) {
  known.stopped = true
  const { status } = await call(known.directory, "post", `/session/${known.id}/abort`, {})
  return status === 200 ? "" : `$TITLE refused to stop (${status}).`
}

async function granted(id, wish) {
  const known = sessions.get(wish.session)
  let error = "This session is not known here any more."
  try {
    if (known) error = await (wish.type === "prompt" ? prompt(known, wish.text) : stop(known))
  } catch {
    error = "$TITLE did not take it."
  }
  send({ type: "done", id, error })
}

async function obey(wish) {
  const known = sessions.get(wish.session)
  if (wish.type === "permission") {
    const { id, reply, message } = wish
    const body = { reply, ...(message ? { message } : {}) }
    await answer(id, { reply }, () => [`/permission/${id}/reply`, body])
  } else if (wish.type === "question") {
    const { id, answers } = wish
    await answer(id, { answers }, () => [`/question/${id}/reply`, { answers }])
  } else if (wish.type === "dismiss") await answer(wish.id, { reply: "reject" }, (item) => refusal(item))
  else if (wish.type === "prompt" || wish.type === "abort") await granted(wish.id, wish)
  else if (wish.type === "history" && known) await history(known)
}

function read(chunk) {
  const lines = (unread + chunk).split("\n")
  unread = lines.pop()
  for (const line of lines) {
    try {
      obey(JSON.parse(line)).catch(() => {})
    } catch {}
  }
}

// --- the connection ----------------------------------------------------------------------------------------------

function greet() {
  wait = FIRST_DIAL_MS
  unread = ""
  const { TMUX, TMUX_PANE } = process.env
  socket.write(`yourcall/1 ${AGENT} ${JSON.stringify({ pid: process.pid, tmux: TMUX, pane: TMUX_PANE })}\n`)
  const known = [...sessions.values()].filter((each) => each.ready)
  for (const each of known) send(described(each))
  for (const message of outcomes) send(message)
  for (const each of known) if (each.rest || each.state === "busy") send(stateOf(each))
  for (const item of pending.values()) if (item.shown) send(asked(item))
}

function dial() {
  const again = () => {
    setTimeout(dial, wait).unref?.()
    wait = Math.min(wait * 2, LONGEST_DIAL_MS)
  }
  try {
    socket = net.createConnection(SOCKET)
    socket.setEncoding("utf8")
    socket.unref?.()
    socket.on("connect", greet)
    socket.on("data", read)
    socket.on("error", () => {}) // "close" follows
    socket.on("close", again)
  } catch {
    again()
  }
}

// --- events ------------------------------------------------------------------------------------------------------

function note(directory, { type, properties }) {
  const id = properties?.sessionID ?? properties?.info?.sessionID
  switch (type) {
    case "permission.asked":
      return ask(directory, "permission", properties)
    case "question.asked":
      return ask(directory, "question", properties)
    case "permission.replied":
      return settle(properties.requestID, { reply: properties.reply })
    case "question.replied":
      return settle(properties.requestID, { answers: properties.answers })
    case "question.rejected":
      return settle(properties.requestID, { reply: "reject" })
    case "message.updated":
      return heardMessage(session(id, directory), properties.info)
    case "message.part.updated":
      return took(session(id ?? properties.part.sessionID, directory), properties.part)
    case "session.created":
    case "session.updated": {
      const before = sessions.get(properties.info.id)?.info
      const known = session(properties.info.id, directory, properties.info)
      const changed = before?.title !== known.info.title || before?.cost !== known.info.cost
      if (known.ready && changed) send(described(known))
      return
    }
    case "session.status": {
      const known = session(id, directory)
      const { status } = properties
      const before = known.retry
      known.retry = status.type === "retry" ? cut(status.message) : undefined
      if (known.retry !== before) tell(known, described(known))
      return status.type === "idle" ? rest(known) : begin(known)
    }
    case "session.idle":
      return rest(session(id, directory))
    case "session.error":
      if (id) session(id, directory).error = { name: properties.error?.name, message: cut(properties.error?.data?.message) }
      return
    case "session.deleted":
      forget((item) => item.session === properties.info.id)
      sessions.delete(properties.info.id)
      return send({ type: "ended", session: properties.info.id })
  }
}

function forget(which) {
  for (const item of [...pending.values()].filter(which)) {
    pending.delete(item.id)
    end(item, "gone", {})
  }
}

export const Yourcall = async ({ client, directory }) => {
  clients.set(directory, client)
  if (!dialled) {
    dialled = true
    setTimeout(dial, 0).unref?.()
  }
  return {
    event: async ({ event }) => {
      try {
        await note(directory, event)
      } catch {}
    },
    dispose: async () => {
      forget((item) => item.directory === directory)
      clients.delete(directory)
    },
  }
}
