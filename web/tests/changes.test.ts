import { expect, test } from "vitest";
import { changesOf, partsOf, rowsOf, rowsOfPatch } from "../src/lib/changes";
import type { PromptView } from "../src/lib/types";

const drawn = (old: string, next: string): string[] =>
  rowsOf(old, next).map((row) => ({ same: " ", old: "-", new: "+", gap: "~" })[row.kind] + partsOf(row).map((part) => (part.changed ? `[${part.text}]` : part.text)).join(""));

test("a changed line shows which words changed", () => {
  expect(drawn("a = 1\nb = 50\nc = 3", "a = 1\nb = 5\nc = 3")).toEqual([" a = 1", "-b = [50]", "+b = [5]", " c = 3"]);
});

test("lines with little in common are two lines", () => {
  expect(drawn("alpha beta", "gamma delta")).toEqual(["-alpha beta", "+gamma delta"]);
});

test("a new file is all new, a removed text all old", () => {
  expect(drawn("", "x\ny\n")).toEqual(["+x", "+y"]);
  expect(drawn("x\ny", "")).toEqual(["-x", "-y"]);
});

test("far-apart changes have a gap between them", () => {
  const lines = Array.from({ length: 30 }, (_, n) => `line ${n}`);
  const next = lines.map((line, n) => (n === 2 || n === 25 ? `${line}!` : line));
  expect(drawn(lines.join("\n"), next.join("\n")).filter((row) => row.startsWith("~"))).toHaveLength(1);
});

test("no line is lost, however the file ends", () => {
  const rows = drawn("a", "a\nb");
  expect(rows.filter((row) => row === "+b")).toHaveLength(1);
  expect(rows.join("\n")).not.toMatch(/No newline/);
  expect(drawn("a = 1\nb = 50", "a = 1\nb = 5")).toEqual([" a = 1", "-b = [50]", "+b = [5]"]);
});

test("what takes too long to compare is shown whole", () => {
  const noise = (seed: number): string => Array.from({ length: 20_000 }, (_, n) => `${(n * seed) % 9973} ${(n * n * seed) % 7919}`).join("\n");
  const started = Date.now();
  const rows = rowsOf(noise(7), noise(13));
  expect(Date.now() - started).toBeLessThan(3000);
  expect(rows.filter((row) => row.kind === "new").length).toBeGreaterThan(10_000);
});

test("changes are drawn from the action; a patch over several files is its body", () => {
  const asks = (kind: string, changes: object[], patch = false): PromptView => ({ action: { kind, changes, patch } }) as unknown as PromptView;
  const edit = { path: "/p/a", change: "edit", old: "x", new: "y", diff: "", to: "", note: "Every occurrence in the file." };
  expect(changesOf(asks("write", [edit]))).toEqual([{ path: "/p/a", note: edit.note, rows: rowsOf("x", "y") }]);
  expect(changesOf(asks("write", [{ ...edit, change: "write", old: "", new: "x" }]))?.[0]?.rows).toHaveLength(1);
  expect(changesOf(asks("write", [{ ...edit, diff: "@@ -1 +1 @@" }]))).toBeNull();
  expect(changesOf(asks("write", [edit], true))).toBeNull();
  expect(changesOf(asks("command", []))).toBeNull();
});

test("a line of a hunk that looks like a header is a line", () => {
  const patch = "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,2 @@ -- top\n select 1;\n--- drop everything\n-+++ x\n+-- kept\n";
  expect(rowsOfPatch(patch).map((row) => `${row.kind} ${row.text}`)).toEqual(["gap Line 1 · -- top", "same select 1;", "old -- drop everything", "old +++ x", "new -- kept"]);
});

test("a long change is taken apart without comparing a word", () => {
  const old = Array.from({ length: 20_000 }, (_, n) => `value ${n} = ${n}`);
  const next = old.map((text) => `${text};`);
  const started = performance.now();
  const rows = rowsOf(old.join("\n"), next.join("\n"));
  expect(rows.length).toBeGreaterThanOrEqual(40_000);
  expect(performance.now() - started).toBeLessThan(1000);
  expect(partsOf({ kind: "old", text: "a b", twin: "a c" })).toEqual([{ text: "a ", changed: false }, { text: "b", changed: true }]);
});
