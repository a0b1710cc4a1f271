// The permission modes that may be chosen from afar. Those that stop the asking are a matter for the desk.

/** The agents that yourcall can start without a terminal. */
export const STARTS = ["claude", "codex"];

/** Claude's; other agents keep to what they are set up with. */
export const MODES = [
  { id: "default", about: "Asks before it acts" },
  { id: "acceptEdits", about: "Accepts edits without asking" },
  { id: "plan", about: "Plans only" },
  { id: "dontAsk", about: "Denies what no rule allows" },
];
