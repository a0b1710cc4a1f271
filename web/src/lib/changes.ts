// What an edit changes, line by line and, where a line only changed in part, word by word.
// Rule: made from what the tool gets, not from a summary; what is too much to compare is shown whole, old then new.

import { diffWordsWithSpace, structuredPatch } from "diff";
import { rowPieces } from "./textRows";
import type { PromptView } from "./types";

export interface Part {
  text: string;
  changed: boolean;
}

export interface Row {
  kind: "same" | "old" | "new" | "gap";
  text: string;
  /** The line that this one replaces, or is replaced by: compared word by word when it is drawn. */
  twin?: string;
  /** Which line of the file it is, counted from 1: of the new one, or for an old line of the one before. */
  line?: number;
}

export interface Change {
  path: string;
  rows: Row[];
  note: string;
}

// A frame that takes longer is felt; what is not compared by then is shown whole.
const PATIENCE = 60;
const LONGEST_LINE = 2000;

/** The changes a tool would make, or null for a tool that edits no part of a file. */
export function changesOf(prompt: PromptView): Change[] | null {
  const { action } = prompt;
  // Of a patch the body is the whole, with the other fields.
  if (action?.kind !== "write" || action.patch || !action.changes.length || action.changes.some((each) => each.diff || each.change === "delete")) return null;
  return action.changes.map((each) => ({ path: each.path, rows: rowsOf(each.old, each.new), note: each.note }));
}

const row = (kind: Row["kind"], text: string): Row => ({ kind, text });

const lines = (text: string): string[] => (text ? text.replace(/\n$/, "").split("\n") : []);

export function rowsOf(old: string, next: string): Row[] {
  if (!old) return lines(next).map((text) => row("new", text));
  if (!next) return lines(old).map((text) => row("old", text));
  const patch = structuredPatch("", "", old, next, "", "", { context: 3, timeout: PATIENCE });
  if (!patch) return [...lines(old).map((text) => row("old", text)), ...lines(next).map((text) => row("new", text))];
  const out: Row[] = [];
  for (const hunk of patch.hunks) {
    if (out.length || hunk.oldStart > 1) out.push(row("gap", "⋯"));
    const all = hunk.lines.filter((text) => !text.startsWith("\\")); // "\ No newline at end of file"
    let at = 0;
    while (at < all.length) {
      const olds = run(all, at, "-");
      const news = run(all, at + olds.length, "+");
      for (const each of paired(olds, news)) out.push(each);
      if (!olds.length && !news.length) out.push(row("same", all[at]!.slice(1)));
      at += olds.length + news.length || 1;
    }
  }
  return out;
}

/** Where a hunk is, from its header: `@@ -10,3 +12,4 @@ def total():` is line 12, in `def total():`. */
function hunkTitle(header: string): string {
  const [, at = "", inside = ""] = /^@@ -[\d,]+ \+(\d+)[\d,]* @@ ?(.*)/.exec(header) ?? [];
  return at ? `Line ${at}${inside ? ` · ${inside}` : ""}` : "⋯";
}

// A header outside of a hunk; inside of one, a line that looks like it is a line of the file.
const FILE_HEADER = /^(?:---|\+\+\+|diff|index|new file|deleted file|old mode|new mode|similarity|rename|copy) /;

/** The rows of a unified diff, as git or an agent's record writes it. */
export function rowsOfPatch(text: string): Row[] {
  const out: Row[] = [];
  const all = lines(text);
  const counted = all.some((each) => /^@@ -\d/.test(each));
  let [olds, news]: [string[], string[]] = [[], []];
  let [oldLeft, newLeft] = [0, 0];
  let [oldLine, newLine] = [NaN, NaN]; // of what was put down last; not known in a patch that does not count
  const put = (each: Row): void => {
    if (each.kind !== "new") oldLine++;
    if (each.kind !== "old") newLine++;
    const at = each.kind === "old" ? oldLine : newLine;
    out.push(at ? { ...each, line: at } : each);
  };
  const flush = (): void => {
    for (const each of paired(olds, news)) put(each);
    [olds, news] = [[], []];
  };
  for (const each of all) {
    const inside = counted ? oldLeft > 0 || newLeft > 0 : !FILE_HEADER.test(each) && !each.startsWith("@@");
    if (!inside) {
      flush();
      const header = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(each);
      if (header) {
        [oldLeft, newLeft] = [Number(header[2] ?? 1), Number(header[4] ?? 1)];
        [oldLine, newLine] = [Number(header[1]) - 1, Number(header[3]) - 1];
      }
      if (each.startsWith("@@")) out.push(row("gap", hunkTitle(each)));
    } else if (each.startsWith("-")) {
      if (news.length) flush();
      olds.push(each.slice(1));
      oldLeft--;
    } else if (each.startsWith("+")) {
      news.push(each.slice(1));
      newLeft--;
    } else if (!each.startsWith("\\")) {
      flush();
      put(row("same", each.slice(1)));
      oldLeft--;
      newLeft--;
    }
  }
  flush();
  return out;
}

function run(all: string[], from: number, mark: string): string[] {
  let end = from;
  while (all[end]?.startsWith(mark)) end++;
  return all.slice(from, end).map((text) => text.slice(1));
}

/** Lines that were replaced one for one are compared with each other. */
function paired(olds: string[], news: string[]): Row[] {
  const twins = olds.length === news.length;
  return [
    ...olds.map((text, n): Row => (twins ? { kind: "old", text, twin: news[n]! } : row("old", text))),
    ...news.map((text, n): Row => (twins ? { kind: "new", text, twin: olds[n]! } : row("new", text))),
  ];
}

/** The line, with the words marked that its twin does not have. Two lines with little in common are not compared. */
export function partsOf({ kind, text, twin }: Row): Part[] {
  const whole = [{ text, changed: false }];
  if (twin === undefined || text.length + twin.length >= LONGEST_LINE) return whole;
  const words = diffWordsWithSpace(kind === "old" ? text : twin, kind === "old" ? twin : text);
  const kept = words.filter((word) => !word.added && !word.removed).reduce((sum, word) => sum + word.value.trim().length, 0);
  if (!kept || kept * 4 < Math.min(text.length, twin.length)) return whole;
  return words
    .filter((word) => (kind === "old" ? !word.added : !word.removed))
    .map((word) => ({ text: word.value, changed: kind === "old" ? word.removed : word.added }));
}

/** How many lines come and go. */
export function sums(changes: Change[]): { added: number; removed: number; rows: number; characters: number } {
  const sum = { added: 0, removed: 0, rows: 0, characters: 0 };
  for (const change of changes) {
    for (const { kind, text } of change.rows) {
      sum.rows++;
      sum.characters += text.length;
      if (kind === "new") sum.added++;
      else if (kind === "old") sum.removed++;
    }
  }
  return sum;
}

/** A row of a change as it is drawn: a line that is too long takes several. */
export interface DrawnRow {
  row: Row;
  from: number;
  to: number;
}

export function drawnRows(rows: readonly Row[]): DrawnRow[] {
  const out: DrawnRow[] = [];
  for (const row of rows) {
    let from = 0;
    for (const piece of rowPieces(row.text)) {
      out.push({ row, from, to: from + piece.length });
      from += piece.length;
    }
  }
  return out;
}

/** The parts of a drawn row. */
export function drawnParts({ row, from, to }: DrawnRow): Part[] {
  const all = partsOf(row);
  if (from === 0 && to === row.text.length) return all;
  const out: Part[] = [];
  let at = 0;
  for (const part of all) {
    const text = part.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (text) out.push({ text, changed: part.changed });
    at += part.text.length;
  }
  return out;
}
