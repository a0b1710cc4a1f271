// Runs of tool calls, summarised in one line: "Read 3 files, ran tests ✓".
// Rule: it counts what the record names and guesses nothing; a failure is always shown.

import type { Item } from "./conversation.svelte";

export type Folded = { item: Item } | { run: Item[] };

/** A call that is folded with its neighbours: not one that asks a person something. */
const folds = ({ entry, gone }: Item): boolean => !gone && entry.type === "action" && entry.kind !== "question";

/** Neighbouring calls together; one alone stays as it is. Thoughts between them belong to the run. */
export function fold(items: Item[]): Folded[] {
  const out: Folded[] = [];
  let run: Item[] = [];
  const close = (): void => {
    if (run.length > 1) out.push({ run });
    else if (run[0]) out.push({ item: run[0] });
    run = [];
  };
  for (const item of items) {
    if (item.gone) continue;
    if (folds(item)) run.push(item);
    else {
      close();
      out.push({ item });
    }
  }
  close();
  return out;
}

const TESTS = /\b(?:test|tests|pytest|jest|vitest|tox|nox|ctest|rspec)\b/;
const many = (n: number, one: string, more = `${one}s`): string => (n === 1 ? `a ${one}` : `${n} ${more}`);

/** What was done, each kind once, in the order in which it began. */
export function summary(run: Item[]): string {
  const kinds = new Map<string, Item[]>();
  for (const item of run) {
    const entry = item.entry;
    if (entry.type !== "action") continue;
    const read = entry.kind === "tool" && entry.paths.length > 0;
    const kind = entry.kind === "command" && TESTS.test(entry.title) ? "tests" : read ? "read" : entry.kind;
    kinds.set(kind, [...(kinds.get(kind) ?? []), item]);
  }
  const paths = (items: Item[]): number =>
    new Set(items.flatMap(({ entry }) => (entry.type === "action" && entry.paths.length ? entry.paths : [String(entry.offset)]))).size;
  const phrases = [...kinds].map(([kind, items]) => {
    if (kind === "read") return `read ${many(paths(items), "file")}`;
    if (kind === "file_change") return `edited ${many(paths(items), "file")}`;
    if (kind === "tests") return "ran tests";
    if (kind === "command") return `ran ${many(items.length, "command")}`;
    if (kind === "web") return `looked up ${many(items.length, "page")}`;
    if (kind === "note") return `wrote ${many(items.length, "note")}`;
    return `used ${many(items.length, "tool")}`;
  });
  const text = phrases.join(", ");
  return text ? `${text[0]!.toUpperCase()}${text.slice(1)}` : "";
}

const outcome = ({ entry, result }: Item): { is_error: boolean } | undefined =>
  result ?? (entry.type === "action" && entry.phase === "completed" ? entry : undefined);

export const failures = (run: Item[]): number => run.filter((item) => outcome(item)?.is_error).length;
/** The call that runs right now, if one does. */
export const running = (run: Item[]): Item | undefined => run.findLast((item) => !outcome(item));
