// Plain sentences: who asks, what will happen, how long it has waited, what became of an answer.
// Rule: says what is known and no more; words of an agent are passed through `line` or shown elsewhere as they are.

import type { LogLine, Option, PromptStory, PromptView, SessionView } from "./types";
import { line } from "./visible";

const AGENTS: Record<string, string> = {
  claude: "Claude",
  codex: "Codex",
  gemini: "Gemini",
  "gemini-acp": "Gemini CLI",
  "claude-agent-acp": "Claude Agent",
  "codex-acp": "Codex",
  qwen: "Qwen Code",
  kilo: "Kilo Code",
  acp: "ACP agent",
  demo: "The demo",
};

export const agentName = (agent: string): string => AGENTS[agent] ?? (line(agent) || "An agent");

/** The last part of a folder: what people call the project. */
export const project = (cwd: string): string => line(cwd.split("/").filter(Boolean).pop() ?? "/");

export type Fields = Record<string, unknown>;

export function fieldsOf(prompt: PromptView): Fields {
  const input = prompt.tool?.input;
  return typeof input === "object" && input !== null && !Array.isArray(input) ? (input as Fields) : {};
}

export function textOf(fields: Fields, ...names: string[]): string {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string" && value) return value;
  }
  return "";
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command a tool would run, as a shell would be given it; empty for a tool that runs none. */
export function commandOf(prompt: PromptView): string {
  // What a server's tool calls its command is one field among others.
  if (prompt.kind !== "permission" || prompt.tool?.name.startsWith("mcp__")) return "";
  const fields = fieldsOf(prompt);
  const list = fields["command"] ?? fields["cmd"];
  if (!Array.isArray(list)) return textOf(fields, "command", "cmd");
  const words = list.map(String);
  // `bash -lc '…'` is how some agents spell what is in the quotes.
  const shell = words.length === 3 && /(?:^|\/)(?:ba|z|da)?sh$/.test(words[0]!) && /^-l?c$/.test(words[1]!);
  return shell ? words[2]! : words.map(quoted).join(" ");
}

const file = (path: string): string => line(path.split("/").pop() ?? path);

/** What will happen, in one plain sentence without the agent's own words. */
export function sentence(prompt: PromptView): string {
  const who = agentName(prompt.agent);
  const fields = fieldsOf(prompt);
  switch (prompt.kind) {
    case "question":
      return prompt.questions.length > 1 ? `${who} asks ${prompt.questions.length} questions` : `${who} asks`;
    case "plan":
      return `${who} has a plan and wants to start`;
    case "elicitation":
      return line(prompt.title) || "A server wants something from you";
    case "trust":
      return `${who} asks whether to trust this folder`;
    case "ready":
      return `${who} is done and waits for you`;
    case "problem":
      return `${who} has stopped`;
    case "loop":
      return `${who} asks whether to go on`;
    case "startup":
      return `${who} asks something at its start`;
    case "unknown":
      return `${who} waits for something`;
    case "permission":
      break;
  }
  const tool = prompt.tool?.name ?? "";
  const path = textOf(fields, "file_path", "notebook_path", "path");
  switch (tool) {
    case "Bash":
    case "PowerShell":
      return fields["run_in_background"] === true ? `${who} wants to run in the background` : `${who} wants to run`;
    case "Write":
      return `${who} wants to write ${file(path)}`;
    case "Edit":
    case "MultiEdit":
    case "NotebookEdit":
      return `${who} wants to change ${file(path)}`;
    case "Read":
      return `${who} wants to read ${file(path)}`;
    case "WebFetch":
      return `${who} wants to fetch a page`;
    case "WebSearch":
      return `${who} wants to search the web`;
  }
  if (tool.startsWith("mcp__")) {
    const [server = "", ...name] = tool.slice(5).split("__");
    return `${who} wants to use ${line(name.join("__"))} of ${line(server)}`;
  }
  if (commandOf(prompt)) return `${who} wants to run`;
  return tool ? `${who} wants to use ${line(tool)}` : `${who} asks for permission`;
}

/** What something cost; less than a cent is still something. */
export const dollars = (cost: number): string => (cost < 0.01 ? "<$0.01" : `$${cost.toFixed(2)}`);

/** How long, in the largest unit that says enough. */
export function span(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) {
    const minutes = Math.floor((s % 3600) / 60);
    return s < 36_000 && minutes ? `${Math.floor(s / 3600)} h ${minutes} min` : `${Math.floor(s / 3600)} h`;
  }
  const days = Math.floor(s / 86_400);
  return days === 1 ? "1 day" : `${days} days`;
}

/** The hour, the day if it is not today, the year if it is not this one. */
export function when(at: number, now: number): string {
  const then = new Date(at * 1000);
  const hour = then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const today = new Date(now * 1000);
  if (today.toDateString() === then.toDateString()) return hour;
  const year = today.getFullYear() === then.getFullYear() ? {} : ({ year: "numeric" } as const);
  return `${then.toLocaleDateString([], { day: "numeric", month: "short", ...year })}, ${hour}`;
}

export const DONE: ReadonlySet<string> = new Set(["confirmed", "desk", "ended"]);
export const ON_ITS_WAY: ReadonlySet<string> = new Set(["answering", "sent", "accepted"]);

const OUTCOMES: Record<string, string> = { allowed: "allowed", denied: "denied", stopped: "denied and stopped" };

export const outcome = (prompt: Pick<LogLine, "outcome">): string => OUTCOMES[prompt.outcome ?? ""] ?? "";

export interface Told {
  text: string;
  tone: "" | "good" | "bad" | "late";
  /** How far an answer is: 0 pressed, 1 sent, 2 accepted, 3 the agent moved on; none if it is not about one. */
  step: number | null;
}

/** Where a prompt stands, for the person who holds this phone. `me` is the name of this device. */
export function standing(prompt: PromptStory | PromptView, me: string, now: number): Told {
  const by = prompt.answered_by ?? "";
  const mine = by === me && me !== "";
  const who = mine ? "you" : by === "cli" ? "the command line" : line(by) || "somebody";
  const history = "history" in prompt ? prompt.history : [];
  const answered = history.find((moment) => moment.state === "answering" && moment.by === by);
  const at = answered ? ` at ${when(answered.at, now)}` : "";
  const first = mine ? "" : `Answered by ${who}${at}. `;
  const how = outcome(prompt);
  switch (prompt.state) {
    case "answering":
      return { text: `${first}Taken. On its way to the agent…`, tone: "", step: 0 };
    case "sent":
      return { text: `${first}Sent. Waiting for a sign of the agent…`, tone: "", step: 1 };
    case "accepted":
      return { text: `${first}Accepted: the agent goes on. Its record does not say how yet.`, tone: "", step: 2 };
    case "confirmed": {
      const done = how ? how[0]!.toUpperCase() + how.slice(1) : "Answered";
      return { text: `${done}${mine ? "" : ` by ${who}${at}`}. The agent moved on.`, tone: "good", step: 3 };
    }
    case "desk": {
      const hook = history.some((moment) => moment.by === "hook" && moment.state === "desk");
      const end = prompt.closed_at ? ` at ${when(prompt.closed_at, now)}` : "";
      return { text: `Answered ${hook ? "by another program" : "at the desk"}${end}${how ? `: ${how}` : ""}.`, tone: "late", step: null };
    }
    case "ended":
      return { text: "Nobody answered: the agent no longer asks, or its session is over.", tone: "late", step: null };
    case "unsure":
      return { text: "Nobody can tell how this stands. Look at the desk.", tone: "bad", step: null };
    case "open":
      return prompt.held
        ? { text: "", tone: "", step: null }
        : { text: "Answer this one at the desk: nothing here reaches it.", tone: "late", step: null };
  }
}

/** What is known of an answer that got no reply and did not decide. Whatever arrived, late or not, is on record. */
export function fate(label: string, prompt: PromptStory | PromptView | null, me: string): string {
  const unsent = me !== "" && prompt !== null && "history" in prompt && !prompt.history.some((moment) => moment.by === me);
  return unsent ? `“${label}” was not sent.` : `It is not known whether “${label}” arrived in time.`;
}

/** Why an answer came back, if the last thing that happened is that it did. */
export function bounce(prompt: PromptStory): string {
  const last = prompt.history.at(-1);
  return prompt.state === "open" && last?.detail.startsWith("bounced:") ? line(last.detail.slice(8)) : "";
}

const MODES: Record<string, [string, "warn" | "info"]> = {
  bypassPermissions: ["asks nothing: all is allowed", "warn"],
  auto: ["decides by itself what to ask", "warn"],
  dontAsk: ["asks nothing: denies what no rule allows", "warn"],
  acceptEdits: ["edits files without asking", "info"],
  plan: ["only plans", "info"],
};

/** What a permission mode means for the person, if it is not the plain one. */
export function modeWords(mode: string): { text: string; tone: "warn" | "info" } | null {
  const known = MODES[mode];
  if (known) return { text: known[0], tone: known[1] };
  return mode && mode !== "default" ? { text: `mode ${line(mode)}`, tone: "info" } : null;
}

const SCOPES: Partial<Record<Option["effect"], string>> = {
  allow_once: "this once", allow_session: "for this session", allow_always: "from now on", stop: "and end the turn",
};

/** How far a button goes, in two or three words; what exactly it does is said beside it. */
export const scope = (option: Option): string => SCOPES[option.effect] ?? "";

const STATES: Record<SessionView["state"], string> = {
  working: "works", waiting: "waits for you", idle: "is idle", ended: "has ended", unknown: "is there",
};

export const stateWords = (state: SessionView["state"]): string => STATES[state];
