// Made by tools/gen_agents.py from what each agent's folder says; not to be edited.

export interface Logo { path: string; stroke: number; filled: boolean }
export interface SlashCommand { name: string; about: string }
export interface PermissionMode { id: string; about: string }
export interface Agent {
  title: string;
  logo: Logo | null;
  commands: SlashCommand[];
  modes: PermissionMode[];
  /** A session of it that has ended can be continued from here. */
  continues: boolean;
}

/** The agent that is offered first. */
export const USUAL = "claude";

export const AGENTS: Record<string, Agent> = {
  "claude": {"title": "Claude", "logo": {"path": "M12 3v18M3 12h18M5.6 5.6l12.8 12.8M18.4 5.6L5.6 18.4", "stroke": 2.4, "filled": false}, "commands": [{"name": "/compact", "about": "Sum up the conversation to make room"}, {"name": "/clear", "about": "Start over with an empty conversation"}, {"name": "/context", "about": "How full its memory is"}, {"name": "/cost", "about": "What this session has cost"}, {"name": "/model", "about": "Choose another model"}, {"name": "/review", "about": "Review the changes"}, {"name": "/init", "about": "Write a CLAUDE.md for the project"}, {"name": "/status", "about": "Version, account and model"}], "modes": [{"id": "default", "about": "Asks before it acts"}, {"id": "acceptEdits", "about": "Accepts edits without asking"}, {"id": "plan", "about": "Plans only"}, {"id": "dontAsk", "about": "Denies what no rule allows"}], "continues": true},
  "codex": {"title": "Codex", "logo": {"path": "M12 2.8l8 4.6v9.2l-8 4.6-8-4.6V7.4zM9 9.5l2.8 2.5L9 14.5M13 15h3", "stroke": 1.9, "filled": false}, "commands": [{"name": "/compact", "about": "Sum up the conversation to make room"}, {"name": "/new", "about": "Start over with an empty conversation"}, {"name": "/diff", "about": "Show what has changed"}, {"name": "/model", "about": "Choose another model"}, {"name": "/review", "about": "Review the changes"}, {"name": "/status", "about": "Model, approvals and usage"}], "modes": [], "continues": true},
  "copilot": {"title": "Copilot", "logo": {"path": "M4 13.5C4 9 6 5.5 9 5.5s3 3 3 3 0-3 3-3 5 3.5 5 8c0 3-3.5 5-8 5s-8-2-8-5zM9.5 12.5V15M14.5 12.5V15", "stroke": 1.9, "filled": false}, "commands": [], "modes": [], "continues": false},
  "droid": {"title": "droid", "logo": {"path": "M6 9.5h12v9H6zM12 9.5V5.5M9.5 13v1.5M14.5 13v1.5M3.5 12v4M20.5 12v4", "stroke": 1.9, "filled": false}, "commands": [], "modes": [], "continues": false},
  "gemini": {"title": "Gemini", "logo": {"path": "M12 2.5c.7 5.3 3.7 8.6 9.5 9.5-5.8.9-8.8 4.2-9.5 9.5-.7-5.3-3.7-8.6-9.5-9.5 5.8-.9 8.8-4.2 9.5-9.5z", "stroke": 1.9, "filled": true}, "commands": [{"name": "/compress", "about": "Sum up the conversation to make room"}, {"name": "/clear", "about": "Start over with an empty screen"}, {"name": "/stats", "about": "What this session has used"}, {"name": "/tools", "about": "The tools it has"}, {"name": "/memory show", "about": "What it was told to remember"}], "modes": [], "continues": false},
  "opencode": {"title": "opencode", "logo": {"path": "M5 3.5h14v17H5zM9.5 8h5v8h-5z", "stroke": 1.9, "filled": false}, "commands": [], "modes": [], "continues": false},
  "kilo": {"title": "Kilo Code", "logo": {"path": "M6.5 4v16M17 4l-7.5 8 7.5 8", "stroke": 1.9, "filled": false}, "commands": [], "modes": [], "continues": false},
  "qwen": {"title": "Qwen Code", "logo": {"path": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM14 14l6 6.5M8.5 12a3.5 3.5 0 0 1 3.5-3.5", "stroke": 1.9, "filled": false}, "commands": [], "modes": [], "continues": false},
  "aider": {"title": "aider", "logo": {"path": "M5.5 19L12 5l6.5 14M8.2 13.5h7.6M3.5 19h4M16.5 19h4", "stroke": 1.9, "filled": false}, "commands": [], "modes": [], "continues": false},
  "demo": {"title": "The demo", "logo": null, "commands": [], "modes": [], "continues": false},
  "git": {"title": "Git", "logo": {"path": "M7 4.5v15M7 15c7 0 10-2 10-6.5M17 4v4.5", "stroke": 1.9, "filled": false}, "commands": [], "modes": [], "continues": false},
  "gemini-acp": {"title": "Gemini CLI", "logo": null, "commands": [], "modes": [], "continues": false},
  "claude-agent-acp": {"title": "Claude Agent", "logo": null, "commands": [], "modes": [], "continues": false},
  "codex-acp": {"title": "Codex", "logo": null, "commands": [], "modes": [], "continues": false},
  "acp": {"title": "ACP agent", "logo": null, "commands": [], "modes": [], "continues": false},
};
