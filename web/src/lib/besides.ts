// What is asked besides the command, the change or the text that a card shows of it.
// Rule: nothing that goes with a yes is left out. What no sentence, command or change tells is spelt out.

import { decision } from "./form";
import type { PromptView } from "./types";
import { commandOf, fieldsOf } from "./words";

// What a card tells in its own way: beside a command (how long it may take changes nothing), and beside a change.
const BY_COMMAND: ReadonlySet<string> = new Set(["command", "cmd", "description", "timeout"]);
const BY_CHANGE: ReadonlySet<string> = new Set([
  "file_path", "notebook_path", "path", "old_string", "new_string", "replace_all", "edits", "new_source", "content",
]);
const CHANGES: ReadonlySet<string> = new Set(["Edit", "MultiEdit", "NotebookEdit", "Write"]);
// Their sentence, and all they get in the body, say as much as their title.
const SPOKEN: ReadonlySet<string> = new Set(["Read", "WebFetch", "WebSearch"]);

const spelt = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Fields of the tool that are told nowhere else, one on a line. */
export function besides(prompt: PromptView): string {
  if (prompt.kind !== "permission") return "";
  const tool = prompt.tool?.name ?? "";
  const command = commandOf(prompt) !== "";
  const paragraphs = new Set(prompt.body.split("\n\n").map((each) => each.trim()));
  const told = (name: string, value: unknown): boolean => {
    if (value === null || value === "" || (name === "cwd" && value === prompt.cwd)) return true;
    if (command) return BY_COMMAND.has(name) || (name === "run_in_background" && (tool === "Bash" || tool === "PowerShell"));
    if (CHANGES.has(tool)) return BY_CHANGE.has(name) && (typeof value !== "object" || Array.isArray(value));
    if (tool === "apply_patch" && name === "changes") return true; // the body is the whole of them
    const alone = Array.isArray(value) ? value.join("\n") : spelt(value);
    return paragraphs.has(alone.trim()) || prompt.body.includes(`${name}: ${spelt(value)}`) || prompt.body.includes(`"${name}":`);
  };
  return Object.entries(fieldsOf(prompt))
    .filter(([name, value]) => !told(name, value))
    .map(([name, value]) => `${name}: ${spelt(value)}`)
    .join("\n");
}

/** What is asked in the asker's own words, where neither the sentence nor the body says it. */
export function asking(prompt: PromptView): string {
  const question = decision(prompt);
  // A title is the beginning of its question; where it is not, the question is in our own words.
  const title = prompt.title.replace(/ ?…$/, "").trim();
  if (question && title && question.text.trim().startsWith(title)) return question.text.trim();
  if (prompt.kind !== "permission" || commandOf(prompt)) return "";
  const tool = prompt.tool?.name ?? "";
  if (CHANGES.has(tool) || SPOKEN.has(tool) || tool.startsWith("mcp__")) return "";
  return prompt.body.includes(title) ? "" : prompt.title;
}
