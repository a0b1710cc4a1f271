import { expect, test } from "vitest";
import { changesOf, rowsOf } from "../src/lib/changes";

const drawn = (old: string, next: string): string[] =>
  rowsOf(old, next).map((row) => ({ same: " ", old: "-", new: "+", gap: "~" })[row.kind] + row.parts.map((part) => (part.changed ? `[${part.text}]` : part.text)).join(""));

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

test("each tool that edits is understood; others are not guessed", () => {
  expect(changesOf("Edit", { file_path: "/p/a", old_string: "x", new_string: "y", replace_all: true })?.[0]?.note).toMatch(/Every/);
  expect(changesOf("MultiEdit", { file_path: "/p/a", edits: [{ old_string: "x", new_string: "y" }, null, 5] })).toHaveLength(1);
  expect(changesOf("Write", { file_path: "/p/a", content: "x" })?.[0]?.rows).toHaveLength(1);
  expect(changesOf("Bash", { command: "x" })).toBeNull();
});
