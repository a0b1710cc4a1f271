// The permission modes that may be chosen from afar. Those that stop the asking are a matter for the desk.

export const MODES = [
  { id: "default", about: "Asks before it acts" },
  { id: "acceptEdits", about: "Edits files without asking" },
  { id: "plan", about: "Only plans" },
  { id: "dontAsk", about: "Denies what no rule allows" },
];
