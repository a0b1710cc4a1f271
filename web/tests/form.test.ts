import { describe, expect, test } from "vitest";
import { decision, fields, filledIn, objections, oneTap, pressed } from "../src/lib/answerForm";
import type { Option, PromptView, Question } from "../src/lib/types";

const option = (id: string, effect: Option["effect"]): Option => ({ id, label: id, effect, description: "", preview: "", digit: "", confirm: false, confirm_reason: "" });
const question = (id: string, more: Partial<Question> = {}): Question => ({
  id, text: id, options: [], multi_select: false, free_text: false, required: true, type: "", minimum: null, maximum: null, header: "", ...more,
});
const prompt = (...questions: Question[]): PromptView => ({ questions }) as unknown as PromptView;

const decide = question("decision", { options: [option("allow", "allow_once"), option("deny", "deny")], free_text: true });
const action = question("action", { options: [option("accept", "reply"), option("decline", "deny")] });
const colour = question("q1", { options: [option("o1", "choose"), option("o2", "choose")], free_text: true });

describe("what is a button and what is a field", () => {
  test("a permission has buttons only", () => {
    expect(decision(prompt(decide))?.id).toBe("decision");
    expect(fields(prompt(decide))).toEqual([]);
    expect(oneTap(prompt(decide))).toBeNull();
  });
  test("a form has fields, and buttons that send it", () => {
    expect(decision(prompt(question("name"), action))?.id).toBe("action");
    expect(fields(prompt(question("name"), action)).map((each) => each.id)).toEqual(["name"]);
  });
  test("one question with one choice is answered by a tap; several, or several choices, are not", () => {
    expect(oneTap(prompt(colour))?.id).toBe("q1");
    expect(oneTap(prompt(colour, colour))).toBeNull();
    expect(oneTap(prompt({ ...colour, multi_select: true }))).toBeNull();
    expect(oneTap(prompt(question("next", { free_text: true })))).toBeNull();
  });
});

describe("what is sent", () => {
  test("a reason goes with a no, never with a yes", () => {
    const filled = { picks: {}, texts: { decision: "Use 30." } };
    expect(pressed(prompt(decide), decide, decide.options[1]!, filled)).toEqual({ choices: { decision: ["deny"] }, texts: { decision: "Use 30." } });
    expect(pressed(prompt(decide), decide, decide.options[0]!, filled)).toEqual({ choices: { decision: ["allow"] }, texts: {} });
  });
  test("a form is sent whole with its yes, and not at all with its no", () => {
    const asked = prompt(question("name", { free_text: true }), action);
    const filled = { picks: {}, texts: { name: "Ada" } };
    expect(pressed(asked, action, action.options[0]!, filled)).toEqual({ choices: { action: ["accept"] }, texts: { name: "Ada" } });
    expect(pressed(asked, action, action.options[1]!, filled)).toEqual({ choices: { action: ["decline"] }, texts: {} });
  });
  test("nothing is sent for what was left out", () => {
    expect(filledIn([colour, question("n", { type: "integer", free_text: true })], { picks: { q1: ["o2"], gone: ["x"] }, texts: { n: " 7 ", q1: "  " } }))
      .toEqual({ choices: { q1: ["o2"] }, texts: { n: "7" } });
  });
});

describe("what is wrong with a field", () => {
  const count = question("n", { type: "integer", free_text: true, minimum: 1, maximum: 9 });
  const says = (asked: Question, text: string): string => objections([asked], { picks: {}, texts: { [asked.id]: text } })[asked.id] ?? "";
  test.each([["", /Required/], ["x", /whole number/], ["1.5", /whole number/], ["0", /At least 1/], ["10", /At most 9/], ["1e1", /whole/]])("%j", (text, expected) => {
    expect(says(count, text)).toMatch(expected);
  });
  test.each(["1", "9", " 5 "])("%j is fine", (text) => expect(says(count, text)).toBe(""));
  test("numbers", () => {
    const weight = question("w", { type: "number", free_text: true });
    expect(says(weight, "1.5")).toBe("");
    expect(says(weight, "-.5e3")).toBe("");
    expect(says(weight, "1,5")).toMatch(/number/);
    expect(says(weight, "NaN")).toMatch(/number/);
    expect(says(weight, "Infinity")).toMatch(/number/);
  });
  test("what is not required may be empty", () => {
    expect(says({ ...count, required: false }, "")).toBe("");
    expect(says({ ...count, required: false }, "x")).not.toBe("");
  });
  test("a choice that was not made", () => {
    expect(objections([colour], { picks: {}, texts: {} })).toEqual({ q1: "Choose one." });
    expect(objections([colour], { picks: {}, texts: { q1: "green" } })).toEqual({});
  });
});
