"""The extension that setup writes for Copilot CLI: the whole file, as text.

Rule: it carries and decides nothing. It prints nothing (its output is Copilot's protocol), catches every error of
its own, and does without the daemon: then it only tries the socket again now and then. It asks the person for the
right to handle permissions only while yourcall runs; until they grant it, it tells of permissions and cannot
answer one.
"""

from __future__ import annotations

import json

MARK = "// The extension of yourcall, written by `yourcall setup copilot`; `--undo` takes it out again.\n"

_CODE = r"""
import { joinSession } from "@github/copilot-sdk/extension";
import net from "node:net";
import process from "node:process";

const HOME = __HOME__;
const AGAIN_MS = 1000; // between two tries to reach yourcall
const LOOK_MS = 150; // between two looks at what is asked, while the right to be told is missing
const LONGEST = 4000; // letters of what the model said last
const KEPT = 200; // ends that yourcall may have missed
const TOLD = new Set([
  "permission.requested", "permission.completed", "elicitation.requested", "elicitation.completed",
  "exit_plan_mode.requested", "exit_plan_mode.completed", "user.message", "assistant.turn_start",
  "session.idle", "session.error", "session.shutdown", "tool.execution_complete",
]);
const ENDS = { "permission.completed": 1, "elicitation.completed": 1, "exit_plan_mode.completed": 1 };

const nothing = async () => ({ kind: "no-result" }); // the dialog stays, and so does our way by the request's id
const session = await joinSession({});
const open = new Map(); // what is asked now, by its id
const ended = []; // how the last ones ended
const won = new Set(); // those that we answered, by Copilot's word
const calls = new Map(); // tool calls that run
const commands = new Map(); // what they do: a box for a path or an address does not say it
let socket;
let rights = "none"; // none, asked, granted, refused
let idle = null; // the event that ended the last turn
let failure = null;
let last = "";
let looking = false;

function send(message) {
  try {
    if (socket?.writable) socket.write(JSON.stringify(message) + "\n");
  } catch {}
}

function short(event) {
  // Of large events only what is needed; a turn may read whole files.
  const { type, id, agentId, timestamp } = event;
  const data = event.data ?? {};
  switch (type) {
    case "user.message":
      return { type, id, agentId, timestamp, data: { content: String(data.content ?? "").slice(0, 100000) } };
    case "tool.execution_complete":
      return { type, id, agentId, timestamp, data: { toolCallId: data.toolCallId, success: data.success } };
    case "session.error":
      return { type, id, agentId, timestamp, data: { message: String(data.message ?? "").slice(0, LONGEST) } };
    case "permission.requested": {
      const { requestId, promptRequest, resolvedByHook } = data;
      const call = commands.get(promptRequest?.toolCallId);
      const folder = data.permissionRequest?.commandSegments?.[0]?.workingDirectory;
      return { type, id, agentId, timestamp, data: { requestId, promptRequest, resolvedByHook, call, folder } };
    }
    default:
      return { type, id, agentId, timestamp, data };
  }
}

function note(event) {
  const data = event.data ?? {};
  if (event.type === "tool.execution_start") {
    calls.set(data.toolCallId, 1);
    const { command, url, path } = data.arguments ?? {};
    commands.set(data.toolCallId, { tool: data.toolName, input: { command, url, path } });
    if (commands.size > KEPT) commands.delete(commands.keys().next().value);
    look();
  } else if (event.type === "tool.execution_complete") {
    calls.delete(data.toolCallId);
  } else if (event.type === "assistant.message" && !event.agentId && data.content) {
    last = String(data.content).slice(0, LONGEST);
  } else if (event.type === "user.message" && !event.agentId) {
    idle = failure = null;
    last = "";
  } else if (event.type === "session.error") {
    failure = short(event);
  } else if (event.type === "session.idle") {
    idle = { ...short(event), last, failure };
    calls.clear();
  }
  if (!TOLD.has(event.type)) return;
  const told = event.type === "session.idle" ? idle : short(event);
  if (event.type.endsWith(".requested")) open.set(data.requestId, told);
  if (ENDS[event.type]) {
    open.delete(data.requestId);
    ended.push(told);
    if (ended.length > KEPT) ended.shift();
  }
  send({ type: "event", event: told });
}

async function look() {
  // Without the right, nobody tells us of a permission: while a tool runs, we ask what is pending.
  if (looking) return;
  looking = true;
  try {
    while (calls.size && rights !== "granted") {
      await pending();
      await new Promise((done) => setTimeout(done, LOOK_MS));
    }
  } finally {
    looking = false;
  }
}

async function pending() {
  try {
    const { items } = await session.rpc.permissions.pendingRequests();
    for (const { requestId, request } of items ?? []) {
      if (open.has(requestId) || ended.some((each) => each.data.requestId === requestId)) continue;
      note({ type: "permission.requested", data: { requestId, promptRequest: request } });
    }
  } catch {}
}

async function ask() {
  if (rights !== "none") return;
  rights = "asked";
  try {
    const other = await joinSession({ onPermissionRequest: nothing });
    rights = other.sessionId === session.sessionId ? "granted" : "refused";
  } catch {
    rights = "refused";
  }
  if (rights === "granted") await pending();
  send({ type: "rights", rights });
}

const permission = (requestId, result) =>
  session.rpc.permissions.handlePendingPermissionRequest({
    requestId,
    result,
    decisionContext: { outcome: "prompted_user", source: "human_response", surface: "sdk" },
  });

const DOES = {
  permission: async ({ request, result }) => (await permission(request, result)).success,
  stop: async ({ request, result }) => {
    const { success } = await permission(request, result);
    if (success) await session.abort();
    return success;
  },
  form: async ({ request, result }) =>
    (await session.rpc.ui.handlePendingElicitation({ requestId: request, result })).success,
  plan: async ({ request, result }) =>
    (await session.rpc.ui.handlePendingExitPlanMode({ requestId: request, response: result })).success,
  say: async ({ text }) => (await session.send({ prompt: text, mode: "enqueue" }), true),
  abort: async () => (await session.abort(), true),
};

async function told(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return;
  }
  const done = { type: "done", id: message.id, verb: message.verb, request: message.request };
  try {
    const does = Object.hasOwn(DOES, message.verb) ? DOES[message.verb] : undefined;
    if (!does) return send({ ...done, success: false, error: "this extension does not know that" });
    const success = (await does(message)) === true;
    if (success && message.request) won.add(message.request);
    send({ ...done, success });
  } catch (error) {
    send({ ...done, success: false, error: String(error?.message ?? error).slice(0, 500) });
  }
}

function dial() {
  let line;
  try {
    process.chdir(HOME); // the path of a socket must be short; without that folder there is no yourcall
    line = net.connect("plugin.sock");
  } catch {
    return void setTimeout(dial, AGAIN_MS);
  }
  let rest = "";
  line.setEncoding("utf8");
  line.on("connect", () => {
    socket = line;
    const { env } = process;
    const about = {
      session: session.sessionId, cli: Number(env.COPILOT_EXTENSION_PARENT_PID) || process.ppid, cwd,
      folder: session.workspacePath, pane: env.TMUX_PANE, tmux: env.TMUX, version: env.COPILOT_CLI_BINARY_VERSION,
    };
    line.write("yourcall/1 copilot " + JSON.stringify(about) + "\n");
    send({ type: "state", rights, busy: calls.size > 0, idle, open: [...open.values()],
      ended: ended.map((each) => ({ ...each, ours: won.has(each.data.requestId) })) });
    void ask();
  });
  line.on("data", (piece) => {
    rest += piece;
    for (let end; (end = rest.indexOf("\n")) >= 0; rest = rest.slice(end + 1)) void told(rest.slice(0, end));
  });
  line.on("error", () => {});
  line.on("close", () => {
    if (socket === line) socket = undefined;
    setTimeout(dial, AGAIN_MS);
  });
}

const cwd = process.cwd();
process.on("unhandledRejection", () => {});
session.on((event) => {
  try {
    note(event);
  } catch {}
});
dial();
"""


def text(home: str) -> str:
    """The file, for the yourcall whose home this is."""
    return MARK + _CODE.lstrip("\n").replace("__HOME__", json.dumps(home))
