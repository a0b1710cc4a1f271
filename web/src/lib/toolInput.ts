// The fields of a tool call that the card does not show already as a command, a change or text.
// Rule: nothing that a yes covers is left out.

import { decision } from "./answerForm";
import type { PromptView } from "./types";
import { commandOf, fieldsOf } from "./wording";

const spelt = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** One "name: value" per line. */
export function otherFields(prompt: PromptView): string {
  const { action } = prompt;
  if (!action) return "";
  const fields = fieldsOf(prompt);
  const paragraphs = new Set(prompt.body.split("\n\n").map((each) => each.trim()));
  const isShown = (name: string, value: unknown): boolean => {
    if (action.command || action.kind === "write") return false;
    const alone = Array.isArray(value) ? value.join("\n") : spelt(value);
    return paragraphs.has(alone.trim()) || prompt.body.includes(`${name}: ${spelt(value)}`) || prompt.body.includes(`"${name}":`);
  };
  return action.more
    .filter(({ name }) => !isShown(name, fields[name]))
    .map(({ name, value }) => `${name}: ${value}`)
    .join("\n");
}

/** The question in its own words, where neither the title nor the body says it. */
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
