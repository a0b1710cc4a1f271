// How much of a text is shown in the list before it is folded.
// Rule: in the list a yes is only offered for what is wholly shown there.

import { asking, otherFields } from "./toolInput";
import { changesOf, sums } from "./changes";
import type { PromptView } from "./types";
import { commandOf } from "./wording";

export interface Fold {
  lines: number;
  characters: number;
}

export const LIST: Fold = { lines: 8, characters: 600 };
export const LIST_ROWS = 10;

export const tooLong = (text: string, fold: Fold): boolean =>
  text.length > fold.characters || text.split("\n", fold.lines + 1).length > fold.lines;

/** Is all that is asked about on the row in the list? */
export function wholeInList(prompt: PromptView): boolean {
  if (prompt.kind === "plan" || tooLong(asking(prompt), LIST) || tooLong(otherFields(prompt), LIST)) return false;
  if (prompt.kind !== "permission") return !tooLong(prompt.body, LIST);
  const command = commandOf(prompt);
  if (command) return !tooLong(command, LIST);
  const changes = changesOf(prompt);
  if (!changes) return !tooLong(prompt.body, LIST);
  const { rows, characters } = sums(changes);
  return rows <= LIST_ROWS && characters <= LIST_ROWS * 200;
}
