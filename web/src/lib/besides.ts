// What is asked besides the command, the change or the text that a card shows of it.
// Rule: nothing that goes with a yes is left out. What no sentence, command or change tells is spelt out.

import { decision } from "./form";
import type { PromptView } from "./types";
import { commandOf, fieldsOf } from "./words";

const spelt = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Fields of the tool that are told nowhere else, one on a line. */
export function besides(prompt: PromptView): string {
  const { action } = prompt;
  if (!action) return "";
  const fields = fieldsOf(prompt);
  const paragraphs = new Set(prompt.body.split("\n\n").map((each) => each.trim()));
  const told = (name: string, value: unknown): boolean => {
    if (action.command || action.kind === "write") return false;
    const alone = Array.isArray(value) ? value.join("\n") : spelt(value);
    return paragraphs.has(alone.trim()) || prompt.body.includes(`${name}: ${spelt(value)}`) || prompt.body.includes(`"${name}":`);
  };
  return action.more
    .filter(({ name }) => !told(name, fields[name]))
    .map(({ name, value }) => `${name}: ${value}`)
    .join("\n");
}

/** What is asked in the asker's own words, where neither the sentence nor the body says it. */
export function asking(prompt: PromptView): string {
  const question = decision(prompt);
  // A title is the beginning of its question; where it is not, the question is in our own words.
  const title = prompt.title.replace(/ ?…$/, "").trim();
  if (question && title && question.text.trim().startsWith(title)) return question.text.trim();
  if (prompt.kind !== "permission" || commandOf(prompt)) return "";
  // Their sentence, and all they get in the body, say as much as their title.
  if (["write", "read", "fetch", "search", "mcp"].includes(prompt.action?.kind ?? "")) return "";
  return prompt.body.includes(title) ? "" : prompt.title;
}
