// Which prompts may be answered together with others.
// Rule: a permission whose yes is for this once, that needs no hold, and that has nothing to fill in. When in doubt, on its own.

import { warning } from "./wording";
import { decision, fields, needsHold, refusal } from "./answerForm";
import type { PromptView } from "./types";

export function batchable(prompt: PromptView): boolean {
  if (prompt.kind !== "permission" || !prompt.held || prompt.state !== "open" || fields(prompt).length) return false;
  const question = decision(prompt);
  const yes = question?.options.find((option) => option.effect === "allow_once");
  const risk = warning(prompt);
  return yes !== undefined && refusal(question) !== undefined && risk === "" && !needsHold(yes, risk);
}
