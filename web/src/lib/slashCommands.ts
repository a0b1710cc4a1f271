// The agents' own slash commands that make sense from afar; a session may know more, and takes them typed.

export interface Command {
  name: string;
  about: string;
}

const CLAUDE: Command[] = [
  { name: "/compact", about: "Sum up the conversation to make room" },
  { name: "/clear", about: "Start over with an empty conversation" },
  { name: "/context", about: "How full its memory is" },
  { name: "/cost", about: "What this session has cost" },
  { name: "/model", about: "Choose another model" },
  { name: "/review", about: "Review the changes" },
  { name: "/init", about: "Write a CLAUDE.md for the project" },
  { name: "/status", about: "Version, account and model" },
];
const CODEX: Command[] = [
  { name: "/compact", about: "Sum up the conversation to make room" },
  { name: "/new", about: "Start over with an empty conversation" },
  { name: "/diff", about: "Show what has changed" },
  { name: "/model", about: "Choose another model" },
  { name: "/review", about: "Review the changes" },
  { name: "/status", about: "Model, approvals and usage" },
];
const GEMINI: Command[] = [
  { name: "/compress", about: "Sum up the conversation to make room" },
  { name: "/clear", about: "Start over with an empty screen" },
  { name: "/stats", about: "What this session has used" },
  { name: "/tools", about: "The tools it has" },
  { name: "/memory show", about: "What it was told to remember" },
];

const COMMANDS: Record<string, Command[]> = { claude: CLAUDE, codex: CODEX, gemini: GEMINI };

export const commandsOf = (agent: string): Command[] => COMMANDS[agent] ?? [];

/** Those that begin as what was typed. */
export const suggested = (agent: string, typed: string): Command[] =>
  /^\/\S*$/.test(typed) ? commandsOf(agent).filter((each) => each.name.startsWith(typed) && each.name !== typed) : [];
