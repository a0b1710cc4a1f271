// What an edit changes, line by line and, where a line only changed in part, word by word.
// Rule: made from what the tool gets, not from a summary; what is too much to compare is shown whole, old then new.

import { diffWordsWithSpace, structuredPatch } from "diff";
import { textOf, type Fields } from "./words";

export interface Part {
  text: string;
  changed: boolean;
}

export interface Row {
  kind: "same" | "old" | "new" | "gap";
  parts: Part[];
}

export interface Change {
  path: string;
  rows: Row[];
  note: string;
}

// A phone compares this much in the blink of an eye; beyond it nobody reads word by word.
const PATIENCE = 150;
const LONGEST_LINE = 2000;

/** The changes a tool would make, or null for a tool that edits no part of a file. */
export function changesOf(tool: string, fields: Fields): Change[] | null {
  const whole = textOf(fields, "file_path", "notebook_path", "path");
  const listed = Array.isArray(fields["edits"]) ? (fields["edits"] as unknown[]) : [];
  const edits: Fields[] | null =
    tool === "Edit" ? [fields]
    : tool === "MultiEdit" ? listed.filter((one): one is Fields => typeof one === "object" && one !== null)
    : tool === "NotebookEdit" ? [{ new_string: fields["new_source"] }]
    : tool === "Write" ? [{ new_string: fields["content"] }]
    : null;
  return edits && edits.map((edit) => ({
    path: textOf(edit, "file_path", "path") || whole,
    rows: rowsOf(textOf(edit, "old_string"), textOf(edit, "new_string")),
    note: tool === "NotebookEdit" ? inNotebook(fields["edit_mode"]) : edit["replace_all"] === true ? "Every occurrence in the file." : "",
  }));
}

/** Of a notebook only the new cell is told; what becomes of the one that is there is not to be guessed from it. */
const inNotebook = (mode: unknown): string =>
  mode === "delete" ? "The cell is deleted." : mode === "insert" ? "A cell is added." : "What the cell holds now is replaced.";

const row = (kind: Row["kind"], text: string): Row => ({ kind, parts: [{ text, changed: false }] });

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
      out.push(...paired(olds, news));
      if (!olds.length && !news.length) out.push(row("same", all[at]!.slice(1)));
      at += olds.length + news.length || 1;
    }
  }
  return out;
}

/** The rows of a unified diff, as an agent's record keeps it. */
export function rowsOfPatch(text: string): Row[] {
  const all = lines(text).filter((each) => !/^(?:---|\+\+\+|\\) /.test(each));
  const out: Row[] = [];
  let at = 0;
  while (at < all.length) {
    const olds = run(all, at, "-");
    const news = run(all, at + olds.length, "+");
    out.push(...paired(olds, news));
    const one = all[at]!;
    if (!olds.length && !news.length) out.push(one.startsWith("@@") ? row("gap", "⋯") : row("same", one.slice(1)));
    at += olds.length + news.length || 1;
  }
  return out;
}

function run(all: string[], from: number, mark: string): string[] {
  let end = from;
  while (all[end]?.startsWith(mark)) end++;
  return all.slice(from, end).map((text) => text.slice(1));
}

/** Lines that were replaced one for one show which words changed. */
function paired(olds: string[], news: string[]): Row[] {
  if (!olds.length || olds.length !== news.length) {
    return [...olds.map((text) => row("old", text)), ...news.map((text) => row("new", text))];
  }
  const before: Row[] = [];
  const after: Row[] = [];
  olds.forEach((old, n) => {
    const next = news[n] ?? "";
    const words = old.length + next.length < LONGEST_LINE ? diffWordsWithSpace(old, next) : null;
    const kept = words?.filter((word) => !word.added && !word.removed).reduce((sum, word) => sum + word.value.trim().length, 0);
    // Two lines with little in common are two lines, not one that changed.
    if (!words || !kept || kept * 4 < Math.min(old.length, next.length)) {
      before.push(row("old", old));
      after.push(row("new", next));
      return;
    }
    before.push({ kind: "old", parts: words.filter((word) => !word.added).map((word) => ({ text: word.value, changed: word.removed })) });
    after.push({ kind: "new", parts: words.filter((word) => !word.removed).map((word) => ({ text: word.value, changed: word.added })) });
  });
  return [...before, ...after];
}
