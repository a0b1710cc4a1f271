import { expect, test } from "vitest";
import { partsOf, rowsOf, rowsOfPatch } from "../src/lib/changes";
import { painted } from "../src/lib/syntaxColours";
import { languageOf } from "../src/lib/language";

const text = (parts: { text: string }[]): string => parts.map((part) => part.text).join("");

test("a file's language is known by its name", () => {
  expect(["/a/b.py", "x.TSX", "Makefile", "notes", ".bashrc", "a.toml"].map(languageOf)).toEqual(["python", "typescript", "makefile", "", "", "ini"]);
});

test("colours change no letter and keep what is marked", () => {
  const parts = [{ text: 'if x == "a', changed: false }, { text: 'b": # no', changed: true }, { text: "te", changed: false }];
  const out = painted(parts, "python");
  expect(text(out)).toBe(text(parts));
  expect(text(out.filter((part) => part.changed))).toBe('b": # no');
  expect(out.find((part) => part.text === "if")?.kind).toBe("flag");
  expect(out.some((part) => part.kind === "string" && part.changed)).toBe(true);
  expect(out.at(-1)).toEqual({ text: "te", kind: "note", changed: false });
});

test("an unknown language, and a line of data, stay plain", () => {
  const long = [{ text: "x = 1;".repeat(500), changed: false }];
  expect(painted(long, "python")).toEqual([{ ...long[0], kind: "" }]);
  expect(painted([{ text: "if", changed: false }], "klingon")).toEqual([{ text: "if", changed: false, kind: "" }]);
});

test("hostile source stays the text it is", () => {
  for (const bad of ["<script>alert(1)</script>", "</span><img src=x onerror=alert(1)>", "\u202e\u200b&amp;&lt;", "${`${`"]) {
    for (const language of ["xml", "javascript", "python", "markdown", "yaml"]) expect(text(painted([{ text: bad, changed: false }], language))).toBe(bad);
  }
});

test("a unified diff of a record is read as the change it is", () => {
  const rows = rowsOfPatch("--- a/p.py\n+++ b/p.py\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 3\n c = 4\n");
  expect(rows.map((row) => [row.kind, row.text])).toEqual([["gap", "Line 1"], ["same", "a = 1"], ["old", "b = 2"], ["new", "b = 3"], ["same", "c = 4"]]);
  expect(partsOf(rows[2]!).filter((part) => part.changed).map((part) => part.text)).toEqual(["2"]);
  expect(rowsOf("a\nb\n", "a\nc\n").map((row) => row.kind)).toEqual(["same", "old", "new"]);
});
