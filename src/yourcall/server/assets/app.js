// The page: what waits, and your answer. Whatever an agent wrote goes in as text, never as markup.

import { feedProtocols, forgetKey, freshKey, possible, signedFetch } from "/key.js";

const $ = (id) => document.getElementById(id);
const OVER = ["confirmed", "desk", "ended"];
const cards = new Map(); // prompt id -> its parts on the page, { prompt, note, late, sending }
let seq = null, socket = null, asking = false, pause = 500, timer = 0, turn = Promise.resolve();

function make(tag, props = {}, ...children) {
  const element = Object.assign(document.createElement(tag), props);
  element.append(...children);
  return element;
}

// Letters that draw nothing, or turn the reading direction, could hide half a command: show them.
const plain = (text) =>
  String(text ?? "").replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (c) => `‹U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);

async function call(method, path, body) {
  const reply = await signedFetch(path, { method, body: body && JSON.stringify(body), credentials: "same-origin" });
  return { status: reply.status, data: await reply.json().catch(() => ({})) };
}

// -- how a prompt looks

const time = (at) => new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

function words({ prompt, note, late }) {
  const by = prompt.answered_by ? ` by ${plain(prompt.answered_by)}` : "";
  const outcome = prompt.outcome && prompt.outcome !== "unknown" ? `: ${prompt.outcome}` : "";
  switch (prompt.state) {
    case "open": return prompt.held ? (note ?? ["", ""]) : ["Answer this one at the desk.", "bad"];
    case "answering": return [`Answered${by}; on its way…`, ""];
    case "sent": return [`Answered${by}; handed to the agent, waiting for a sign…`, ""];
    case "accepted": return [`Answered${by}; the agent goes on, not proven yet.`, ""];
    case "confirmed": return [`Confirmed${outcome}${by}.`, late ? "" : "good"];
    case "desk": return [`Answered at the desk${outcome}.`, ""];
    case "ended": return ["The session ended; nobody answered.", "bad"];
    default: return ["Nobody can tell how this ended. Look at the desk.", "bad"];
  }
}

function build(prompt) {
  const parts = { what: make("p", { className: "what" }), buttons: [], inputs: new Map() };
  const folder = plain(prompt.cwd).split("/").filter(Boolean).pop() ?? "/";
  const article = make("article", {},
    make("p", { className: "where", title: plain(prompt.cwd),
      textContent: `${plain(prompt.agent)} in ${folder}${prompt.subagent ? " (subagent)" : ""} · ${time(prompt.opened_at)}` }),
    make("h2", { textContent: plain(prompt.title) }));
  if (prompt.body) article.append(make("pre", { dir: "ltr", tabIndex: 0, textContent: plain(prompt.body) }));
  if (prompt.tool?.input) {
    const all = plain(JSON.stringify(prompt.tool.input, null, 2));
    article.append(make("details", {}, make("summary", { textContent: `All that ${plain(prompt.tool.name)} gets` }),
      make("pre", { dir: "ltr", textContent: all })));
  }
  const quick = prompt.questions.length === 1 && !prompt.questions[0].multi_select;
  for (const question of prompt.questions) article.append(ask(prompt, question, quick, parts));
  if (!quick && prompt.questions.length) {
    const send = make("button", { className: "allow", textContent: "Send", onclick: () => answer(prompt.id, null) });
    parts.buttons.push(send);
    article.append(make("div", { className: "options" }, send));
  }
  article.append(parts.what);
  parts.what.setAttribute("role", "status");
  return Object.assign(parts, { article });
}

function ask(prompt, question, quick, parts) {
  const options = make("div", { className: "options" });
  const box = make("fieldset", {}, make("p", { textContent: plain(question.text) }));
  const picks = [];
  for (const option of question.options) {
    const label = [plain(option.label)];
    if (option.description) label.push(make("small", { textContent: plain(option.description) }));
    if (quick) {
      const kind = option.effect === "allow_once" ? "allow" : ["deny", "stop"].includes(option.effect) ? "deny" : "";
      const button = make("button", { className: kind, onclick: () => answer(prompt.id, option.id) }, ...label);
      parts.buttons.push(button);
      options.append(button);
    } else {
      const pick = make("input", { type: question.multi_select ? "checkbox" : "radio", value: option.id,
        name: `${prompt.id} ${question.id}` });
      picks.push(pick);
      box.append(make("label", { className: "pick" }, pick, make("span", {}, ...label)));
    }
  }
  const text = make("input", { maxLength: 10000 });
  const hint = question.options.length ? "Add a word (if you like)" : "Your answer";
  if (question.free_text) box.append(make("label", { className: "reason" }, hint, text));
  parts.inputs.set(question.id, { picks, text });
  box.append(options);
  return box;
}

function show(prompt, note) {
  let card = cards.get(prompt.id);
  if (!card) {
    if (OVER.includes(prompt.state)) return; // it was over before this page saw it
    card = build(prompt);
    cards.set(prompt.id, card);
    $("prompts").append(card.article); // below the others: nothing moves under a finger
  }
  const was = card.prompt?.state;
  card.prompt = prompt;
  if (note) card.note = note;
  else if (was && was !== "open" && prompt.state === "open") {
    card.note = [`It came back: ${plain(prompt.history?.at(-1)?.detail).replace(/^bounced: /, "")}`, "bad"];
  }
  if (prompt.state === "open") card.late = false;
  const [say, tone] = words(card);
  card.what.textContent = card.late ? `Yours came too late. ${say}` : say;
  card.what.className = `what ${tone}`;
  card.article.classList.toggle("over", OVER.includes(prompt.state));
  for (const button of card.buttons) button.disabled = prompt.state !== "open" || !prompt.held || card.sending;
  count();
}

function count() {
  const all = [...cards.values()].map((card) => card.prompt.state);
  const waiting = all.filter((state) => state === "open").length;
  document.title = waiting ? `(${waiting}) yourcall` : "yourcall";
  $("nothing").hidden = all.length > 0 || !$("pair").hidden;
  $("clear").hidden = !all.some((state) => OVER.includes(state));
}

$("clear").onclick = () => {
  for (const [id, card] of cards) if (OVER.includes(card.prompt.state)) { card.article.remove(); cards.delete(id); }
  count();
};

// -- what you say

async function answer(id, option) {
  const card = cards.get(id);
  const choices = {}, texts = {};
  for (const [question, { picks, text }] of card.inputs) {
    choices[question] = option ? [option] : picks.filter((pick) => pick.checked).map((pick) => pick.value);
    if (!choices[question].length) delete choices[question];
    if (text.value.trim()) texts[question] = text.value;
  }
  card.sending = true;
  show(card.prompt, ["Sending…", ""]);
  let note = ["No connection; it is not known whether your answer arrived.", "bad"], now = null;
  try {
    const { status, data } = await call("POST", `/api/prompts/${encodeURIComponent(id)}/answer`, { choices, texts });
    if (status === 401) { unpaired("This device is not paired any more."); return; }
    now = data.prompt;
    card.late = data.result === "too_late";
    if (status < 300) note = ["Sent.", ""];
    else note = [plain(data.detail ?? data.error ?? "That did not work."), "bad"];
  } catch { /* the note says it */ } finally { card.sending = false; }
  // The feed may be ahead of this reply: what it said last stands, unless the reply knows of more that happened.
  const newer = now && now.history.length >= (card.prompt.history?.length ?? 0);
  show(newer ? now : card.prompt, note);
}

// -- the feed

async function connect() {
  clearTimeout(timer);
  if (asking || (socket && socket.readyState < 2)) return;
  asking = true;
  const protocols = await feedProtocols().catch(() => null);
  asking = false;
  if (!protocols) return lost(0);
  const where = location.origin.replace(/^http/, "ws");
  const mine = (socket = new WebSocket(`${where}/api/live${seq === null ? "" : `?after=${seq}`}`, protocols));
  // One after the other: what comes in while the list is fetched waits for the list.
  mine.onmessage = ({ data }) => (turn = turn.then(() => mine === socket && take(JSON.parse(data))).catch(() => mine.close()));
  mine.onclose = ({ code }) => {
    if (mine !== socket) return;
    socket = null;
    lost(code);
  };
}

async function lost(code) {
  $("link").textContent = "no connection";
  if (code === 4001) {
    await forgetKey();
    return unpaired("This device was revoked.");
  }
  const { status, data } = await call("GET", "/api/status").catch(() => ({ status: 0 }));
  if (status === 401) return unpaired(/^Pair this device/.test(data.error) ? "" : data.error);
  timer = setTimeout(connect, pause * (0.5 + Math.random()));
  pause = Math.min(pause * 2, 15000);
}

async function take(news) {
  if (news.type === "hello") {
    pause = 500;
    $("link").textContent = "connected";
    if (news.snapshot) {
      const { status, data } = await call("GET", "/api/prompts");
      if (status !== 200) throw new Error("no list");
      const open = new Set(data.map((prompt) => prompt.id));
      for (const [id, card] of cards) if (!open.has(id)) { card.article.remove(); cards.delete(id); }
      for (const prompt of data) show(prompt);
      seq = news.seq;
    }
    return count();
  }
  if (news.type === "prompt") show(news.prompt);
  seq = news.seq;
}

// -- pairing

const INSECURE = "This address is not secure, so this browser cannot make the key that it answers with. Open yourcall by " +
  "https://, or on the machine itself by http://127.0.0.1. How: “Reach it from the phone” in the docs.";

function unpaired(why) {
  $("link").textContent = "not paired";
  $("refused").textContent = possible() ? why : INSECURE;
  $("pair").hidden = false;
  cards.clear();
  $("prompts").replaceChildren();
  seq = null;
  const form = $("pair").elements;
  form.name.value ||= navigator.userAgent.match(/iPhone|iPad|Android|Macintosh|Windows|Linux/)?.[0] ?? "browser";
  count();
}

$("pair").onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target.elements;
  if (!possible()) return unpaired("");
  const { point, keep } = await freshKey();
  const { status, data } = await call("POST", "/api/pair", { code: form.code.value, name: form.name.value, key: point })
    .catch(() => ({ status: 0, data: { error: "No connection to yourcall." } }));
  $("refused").textContent = status === 201 ? "" : data.error;
  if (status !== 201) return;
  await keep(data);
  form.code.value = "";
  $("pair").hidden = true;
  connect();
};

// The code travels behind the #, which no server and no log ever sees; and it does not stay in the address bar.
const code = new URLSearchParams(location.hash.slice(1)).get("pair");
if (code) { $("pair").elements.code.value = code; history.replaceState(null, "", location.pathname); }
addEventListener("online", connect);
document.addEventListener("visibilitychange", () => { if (!document.hidden && $("pair").hidden) connect(); });
connect();
