import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lines, widths } from "../src/lib/terminalScreen";

const CORPUS = new URL("../../tests/corpus/", import.meta.url);

test("colours of every kind become looks, and nothing else is left of an escape", () => {
  const [row] = lines("a\u001b[1;31mb\u001b[39mc\u001b[0md\u001b[38;5;208me\u001b[48;2;1;2;3mf\u001b[7mg");
  expect(row!.map((cell) => [cell.text, cell.look, cell.fg, cell.bg])).toEqual([
    ["a", "", "", ""],
    ["b", "bold f-t1", "", ""],
    ["c", "bold", "", ""],
    ["d", "", "", ""],
    ["e", "", "#ff8700", ""],
    ["f", "", "#ff8700", "#010203"],
    ["g", "swap", "#010203", "#ff8700"],
  ]);
});

test("a colour goes on in the next line, as tmux writes it", () => {
  const [first, second] = lines("\u001b[32mgreen\nstill\u001b[m");
  expect([first![0]!.look, second![0]!.look]).toEqual(["f-t2", "f-t2"]);
});

test("no link, title or other escape gets through", () => {
  const [row] = lines("\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\\u001b[2J\u001b]2;t\u0007\u001b(Bend");
  expect(row!.map((cell) => cell.text).join("")).toBe("linkend");
});

test("the screens of the real agents keep all their letters", () => {
  let seen = 0;
  for (const agent of ["claude", "codex", "gemini"]) {
    for (const name of readdirSync(new URL(`${agent}/`, CORPUS))) {
      const screen = readFileSync(new URL(`${agent}/${name}/screen.txt`, CORPUS), "utf8");
      const plain = screen.replace(/\u001b\[[0-9;:]*m|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]/g, "");
      const drawn = lines(screen).map((row) => row.map((cell) => cell.text).join("")).join("\n");
      expect(drawn).toBe(plain);
      expect(drawn).not.toContain("\u001b");
      seen++;
    }
  }
  expect(seen).toBeGreaterThan(100);
});

test("letters of two columns are told apart", () => {
  expect(widths("a日b😀")).toEqual([
    { text: "a", wide: false },
    { text: "日", wide: true },
    { text: "b", wide: false },
    { text: "😀", wide: true },
  ]);
});
