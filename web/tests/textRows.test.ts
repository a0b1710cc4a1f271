// Rows of a text: nothing is lost, no row is longer than it may be, and colours change none of it.
import { describe, expect, it } from "vitest";
import { colouredRows, LONGEST_ROW, textRows } from "../src/lib/textRows";
import { tokens } from "../src/lib/commandColours";

const TEXTS = ["", "\n", "a\n\nb\n", "npm test", `echo ${"word ".repeat(2000)}`, `${"x".repeat(399)}😀${"y".repeat(900)}\n\n'q`, "a && b\n# c\n$D"];

describe("rows of a text", () => {
  it.each(TEXTS)("are the same with colours and without", (text) => {
    const plain = textRows(text).map((row) => row.text);
    expect(colouredRows(tokens(text)).map((row) => row.map((each) => each.text).join(""))).toEqual(plain);
    expect(colouredRows([{ text, kind: "" }]).map((row) => row.map((each) => each.text).join(""))).toEqual(plain);
    expect(Math.max(...plain.map((row) => row.length))).toBeLessThanOrEqual(LONGEST_ROW);
  });
});
