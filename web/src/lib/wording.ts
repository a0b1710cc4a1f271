// Plain sentences: who asks, what will happen, how long it has waited, what became of an answer.
// Rule: says what is known and no more; words of an agent are passed through `line` or shown elsewhere as they are.

import { AGENTS } from "./agents";
import type { LogLine, Option, PromptStory, PromptView, SessionView } from "./types";
import { line } from "./safeText";

// Who asks without being an agent.
const OTHERS: Record<string, string> = { script: "A script" };

export const agentName = (agent: string): string => AGENTS[agent]?.title ?? OTHERS[agent] ?? (line(agent) || "An agent");

/** The last part of a folder: what people call the project. */
export const project = (cwd: string): string => line(cwd.split("/").filter(Boolean).pop() ?? "/");

export type Fields = Record<string, unknown>;

export function fieldsOf(prompt: PromptView): Fields {
  const input = prompt.tool?.input;
  return typeof input === "object" && input !== null && !Array.isArray(input) ? (input as Fields) : {};
}

/** The command that a permission would run; empty if it runs none. */
export const commandOf = (prompt: PromptView): string => prompt.action?.command ?? "";

/** The command as a person may edit it; empty where no field of the tool's input is the command itself. */
export const editableCommand = (prompt: PromptView): string => (prompt.action?.command_field ? commandOf(prompt) : "");

/** The tool's input with another command in it. */
export const withCommand = (prompt: PromptView, command: string): Fields => ({ ...fieldsOf(prompt), [prompt.action?.command_field ?? ""]: command });

/** Why a yes is risky, as the daemon judged it; empty if nothing speaks for it. */
export const warning = (prompt: PromptView): string => (prompt.risk.level === "low" ? "" : prompt.risk.reason);

const file = (path: string): string => line(path.split("/").pop() ?? path);

// A title is read at a glance; the whole stands below it.
const TITLE = 120;

const titled = (text: string): string => {
  const first = line(text.slice(0, 2 * TITLE));
  return first.length > TITLE || text.length > 2 * TITLE ? `${first.slice(0, TITLE - 1)}…` : first;
};

/** What is asked, as short as a title: of a permission the command, or what is done to which file; else what the agent has. */
export function sentence(prompt: PromptView): string {
  const who = agentName(prompt.agent);
  switch (prompt.kind) {
    case "question":
      return prompt.questions.length > 1 ? `${who} has ${prompt.questions.length} questions` : `${who} has a question`;
    case "plan":
      return `${who} has a plan`;
    case "elicitation":
      return line(prompt.title) || "A server needs something from you";
    case "trust":
      return "Trust this folder?";
    case "ready":
      return `${who} is done`;
    case "problem":
      return `${who} has stopped`;
    case "loop":
      return `${who} asks whether to continue`;
    case "startup":
      return `${who} has a question before it starts`;
    case "unknown":
      return `${who} is waiting`;
    case "permission":
      break;
  }
  const { action } = prompt;
  if (action?.command) return titled(action.command);
  const tool = prompt.tool?.name ?? "";
  const path = action?.paths[0] ?? "";
  switch (action?.kind) {
    case "write":
      return `${action.changes.some((each) => each.change === "write") ? "Write" : "Edit"} ${file(path)}`;
    case "read":
      if (path && !action.more.some((each) => each.name === "pattern")) return `Read ${file(path)}`;
      break;
    case "fetch":
      return "Fetch a web page";
    case "search":
      return "Search the web";
    case "mcp":
      return `Use ${line(action.name)} of ${line(action.server)}`;
  }
  return tool ? `Use ${line(tool)}` : `${who} asks for permission`;
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
export const sentenceCase = (text: string): string => `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;

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
// What is asked there is answered, and nothing is allowed by it.
const ANSWERED: ReadonlySet<string> = new Set(["question", "elicitation", "ready", "problem", "loop", "startup"]);

export const outcome = (prompt: Pick<LogLine, "outcome" | "kind">): string => {
  if (prompt.outcome === "allowed" && ANSWERED.has(prompt.kind)) return "answered";
  return prompt.outcome === "allowed" && prompt.kind === "plan" ? "approved" : (OUTCOMES[prompt.outcome ?? ""] ?? "");
};

/** What was answered, while its end is waited for. Nothing is called allowed before the agent's record says so. */
export const given = (effect: Option["effect"], label: string): string =>
  effect === "deny" ? "Denied" : effect === "stop" ? "Denied and stopped" : label;

/** The same, once it is on its way. */
export const sent = (effect: Option["effect"], label: string, agent: string): string =>
  effect === "deny" || effect === "stop" ? `${given(effect, label)} · waiting for ${agent}…` : `${label} sent. Waiting for ${agent}…`;

/** What of a body was not on the screen. */
export const unseenWords = (unseen: number, total: number): string =>
  total === 1 ? "Not shown in full" : `${unseen.toLocaleString()} of ${total.toLocaleString()} lines not shown`;

/** What a permission is for, without the agent's name: the heading over a command or a change. */
export function what(prompt: PromptView): string {
  if (commandOf(prompt)) return prompt.action?.background ? "Run a command in the background" : "Run a command";
  if (prompt.kind === "plan") return "Plan";
  return sentence(prompt);
}

export interface StatusText {
  text: string;
  /** `no`: a refusal, as it was meant; `bad`: something is wrong. */
  tone: "" | "good" | "no" | "bad" | "late";
  /** How far an answer is: 0 pressed, 1 sent, 2 accepted, 3 the agent moved on; none if it is not about one. */
  step: number | null;
}

/** Where a prompt stands, for the person who holds this phone. `me` is the name of this device. */
export function statusText(prompt: PromptStory | PromptView, me: string, now: number, answer: { label: string; effect: Option["effect"] } | null = null): StatusText {
  const agent = agentName(prompt.agent);
  const own = answer && prompt.answered_by === me ? answer : null;
  const tone = own?.effect === "deny" || own?.effect === "stop" ? "no" : own?.effect.startsWith("allow") ? "good" : "";
  const by = prompt.answered_by ?? "";
  const mine = by === me && me !== "";
  const who = mine ? "you" : by === "cli" ? "the command line" : line(by) || "somebody";
  const history = "history" in prompt ? prompt.history : [];
  const answered = history.find((moment) => moment.state === "answering" && moment.by === by);
  const at = answered ? ` at ${when(answered.at, now)}` : "";
  const first = mine ? "" : `Answered by ${who}${at}. `;
  const how = outcome(prompt);
  if (prompt.state === "open" && prompt.host?.state === "offline") {
    const since = prompt.host.seen_at ? ` since ${when(prompt.host.seen_at, now)}` : "";
    return { text: `${line(prompt.host.name)} is away${since}. This is how it was last known.`, tone: "late", step: null };
  }
  switch (prompt.state) {
    case "answering":
      return { text: own ? `${given(own.effect, own.label)} · on its way to ${agent}…` : `${first}On its way to ${agent}…`, tone, step: 0 };
    case "sent":
      return { text: own ? sent(own.effect, own.label, agent) : `${first}Sent. Waiting for ${agent}…`, tone, step: 1 };
    case "accepted":
      return { text: own ? `${given(own.effect, own.label)} · ${agent} goes on. Waiting for its record…` : `${first}Accepted: ${agent} goes on. Waiting for its record…`, tone, step: 2 };
    case "confirmed": {
      const ended = how ? how[0]!.toUpperCase() + how.slice(1) : "Answered";
      return { text: `${ended}${mine ? "" : ` by ${who}${at}`}. The agent moved on.`, tone: prompt.outcome === "denied" || prompt.outcome === "stopped" ? "no" : "good", step: 3 };
    }
    case "desk": {
      const hook = history.some((moment) => moment.by === "hook" && moment.state === "desk");
      const end = prompt.closed_at ? ` at ${when(prompt.closed_at, now)}` : "";
      const where = hook ? "by another program" : "at the computer";
      // A dialog that closed may have been answered or stopped: until the record tells which, say neither.
      const verb = prompt.outcome === "stopped" ? "Stopped" : how || hook ? "Answered" : "Closed";
      return { text: `${verb} ${where}${end}${how && verb === "Answered" ? `: ${how}` : ""}.`, tone: "late", step: null };
    }
    case "ended":
      return { text: "Nobody answered: the agent no longer asks, or its session is over.", tone: "late", step: null };
    case "unsure":
      return { text: "Status unknown. Check your computer.", tone: "bad", step: null };
    case "open":
      return prompt.held
        ? { text: "", tone: "", step: null }
        : { text: "Can't be answered from here. Use your computer.", tone: "late", step: null };
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
  bypassPermissions: ["Bypass: everything is allowed", "warn"],
  auto: ["Auto: the agent decides what to ask", "warn"],
  dontAsk: ["Don't ask: denies what no rule allows", "warn"],
  acceptEdits: ["Accepts edits without asking", "info"],
  plan: ["Plans only", "info"],
};

/** What a permission mode means for the person, if it is not the plain one. */
export function modeWords(mode: string): { text: string; tone: "warn" | "info" } | null {
  const known = MODES[mode];
  if (known) return { text: known[0], tone: known[1] };
  return mode && mode !== "default" ? { text: `Mode: ${line(mode)}`, tone: "info" } : null;
}

const SCOPES: Partial<Record<Option["effect"], string>> = {
  allow_once: "once", allow_session: "for this session", allow_always: "from now on", stop: "and end the turn",
};

/** How far a button goes, in two or three words; what exactly it does is said beside it. */
export const scope = (option: Option): string => SCOPES[option.effect] ?? "";

const STATES: Record<SessionView["state"], string> = {
  working: "working", waiting: "waiting for you", idle: "idle", ended: "ended", unknown: "running",
};

export const stateWords = (state: SessionView["state"]): string => STATES[state];
