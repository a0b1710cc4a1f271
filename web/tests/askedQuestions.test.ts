import { expect, test } from "vitest";
import { askedQuestions } from "../src/lib/askedQuestions";
import { suggested } from "../src/lib/slashCommands";
import type { Action } from "../src/lib/types";

const action = (detail: string): Action => ({
  type: "action", kind: "note", phase: "started", call_id: "c", tool: "AskUserQuestion", title: "", detail, diff: "", paths: [],
  is_error: false, child: "", tokens: null, at: 0, offset: 0, subagent: "",
});
// As Claude Code 2.1.325 writes it.
const said = (words: string): Action => action(`Your questions have been answered: ${words}. You can now continue with these answers in mind.`);

test("a question, what could be chosen, and what was", () => {
  const call = action("Which colour?\n- Blue\n- Red");
  expect(askedQuestions(call, said('"Which colour?"="Red"'))).toEqual([{ question: "Which colour?", options: ["Blue", "Red"], answer: "Red" }]);
  expect(askedQuestions(call, undefined)[0]!.answer).toBe("");
});

test("several questions, several choices, words of one's own", () => {
  const call = action("Which sizes?\n- S\n- L\n\nWhich layout?\n- Grid");
  const found = askedQuestions(call, said('"Which sizes?"="S, L", "Which layout?"="something else: a "map""'));
  expect(found.map((one) => one.answer)).toEqual(["S, L", 'something else: a "map"']);
});

test("what is not understood is not answered", () => {
  expect(askedQuestions(action("Q?\n- A"), said("nothing of the kind"))[0]!.answer).toBe("");
  expect(askedQuestions(action(""), said(""))).toEqual([]);
});

test("commands are suggested by their beginning, and only while one is typed", () => {
  expect(suggested("claude", "/com").map((one) => one.name)).toEqual(["/compact"]);
  expect(suggested("claude", "/compact")).toEqual([]);
  expect(suggested("claude", "a /com")).toEqual([]);
  expect(suggested("nobody", "/")).toEqual([]);
});
