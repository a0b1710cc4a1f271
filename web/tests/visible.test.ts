import { expect, test } from "vitest";
import { hides, line, pieces, plain } from "../src/lib/safeText";

test("letters that draw nothing, or turn the text around, are shown by their number", () => {
  for (const letter of ["\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u0000", "\u001b", "\u007f", "\u2028", "\u00a0",
    "\u3000", "\u2800", "\u3164", "\u{e0041}", "\ud800", "\u034f", "\ufe0f", "\r"]) {
    const shown = plain(`a${letter}b`);
    expect(shown).toMatch(/^a‹U\+[0-9A-F]{4,6}›b$/);
    expect(hides(`a${letter}b`)).toBe(true);
  }
});

test("what can be read is left as it is", () => {
  for (const text of ["plain", "tab\tand\nline", "größe 漢字 עברית", "👍🏽 👩‍👩‍👧 ❤️", "  two  spaces"]) {
    expect(plain(text)).toBe(text);
    expect(hides(text)).toBe(false);
  }
});

test("nothing is lost between the pieces", () => {
  expect(pieces("a\u200bb\u202ec")).toEqual([
    { text: "a", hidden: false },
    { text: "U+200B", hidden: true },
    { text: "b", hidden: false },
    { text: "U+202E", hidden: true },
    { text: "c", hidden: false },
  ]);
});

test("a title is one line", () => {
  expect(line(" a\n b\r\nc\td ")).toBe("a b c d");
  expect(line(undefined)).toBe("");
});
