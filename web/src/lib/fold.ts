// How much of a text is shown before it is folded, in the list and on a card.
// Rule: in the list a yes is only offered for what is wholly shown there.

import { asking, besides } from "./besides";
import { changesOf } from "./changes";
import type { PromptView } from "./types";
import { commandOf, fieldsOf } from "./words";

export interface Fold {
  lines: number;
  letters: number;
}

export const LIST: Fold = { lines: 8, letters: 600 };
export const CARD: Fold = { lines: 60, letters: 6000 };
export const LIST_ROWS = 10;
export const CARD_ROWS = 120;

export const tooLong = (text: string, fold: Fold): boolean =>
  text.length > fold.letters || text.split("\n", fold.lines + 1).length > fold.lines;

/** Is all that is asked about on the row in the list? */
export function wholeInList(prompt: PromptView): boolean {
  if (prompt.kind === "plan" || tooLong(asking(prompt), LIST) || tooLong(besides(prompt), LIST)) return false;
  if (prompt.kind !== "permission") return !tooLong(prompt.body, LIST);
  const fields = fieldsOf(prompt);
  const tool = prompt.tool?.name ?? "";
  const command = commandOf(prompt);
  if (command) return !tooLong(command, LIST);
  const changes = changesOf(tool, fields);
  if (!changes) return !tooLong(prompt.body, LIST);
  const rows = changes.flatMap((change) => change.rows);
  const letters = rows.reduce((sum, row) => sum + row.parts.reduce((n, part) => n + part.text.length, 0), 0);
  return rows.length <= LIST_ROWS && letters <= LIST_ROWS * 200;
}
