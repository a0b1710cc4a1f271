import { expect, test } from "vitest";
import type { PromptView } from "../src/lib/types";
import { outcome, sentence, span, statusText, unseenWords } from "../src/lib/wording";

const prompt = (more: object): PromptView =>
  ({ agent: "claude", kind: "permission", title: "Claude wants to run npm test", tool: null, action: null, questions: [], held: true, answered_by: "phone", closed_at: null, outcome: null, state: "open", ...more }) as unknown as PromptView;

test("the title of a permission is the command itself", () => {
  expect(sentence(prompt({ action: { kind: "run", command: "npm test", paths: [], changes: [], more: [] } }))).toBe("npm test");
  expect(sentence(prompt({ kind: "question" }))).toBe("Claude has a question");
});

test("a question is answered, and never called allowed", () => {
  expect(outcome({ outcome: "allowed", kind: "question" })).toBe("answered");
  expect(outcome({ outcome: "allowed", kind: "plan" })).toBe("approved");
  expect(outcome({ outcome: "allowed", kind: "permission" })).toBe("allowed");
});

test("a refusal is told in its own colour, before and after the agent's record names it", () => {
  const no = { label: "Deny", effect: "deny" as const };
  expect(statusText(prompt({ state: "sent" }), "phone", 0, no)).toMatchObject({ text: "Denied · waiting for Claude…", tone: "no" });
  expect(statusText(prompt({ state: "confirmed", outcome: "denied" }), "phone", 0, no).tone).toBe("no");
  expect(statusText(prompt({ state: "confirmed", outcome: "allowed" }), "phone", 0).tone).toBe("good");
});

test("what nobody knows is said in plain words", () => {
  expect(statusText(prompt({ state: "unsure" }), "phone", 0).text).toBe("Status unknown. Check your computer.");
  expect(statusText(prompt({ held: false }), "phone", 0).text).toBe("Can't be answered from here. Use your computer.");
});

test("numbers agree with their nouns", () => {
  expect(unseenWords(1, 1)).toBe("Not shown in full");
  expect(unseenWords(19_990, 20_000)).toBe("19,990 of 20,000 lines not shown");
  expect(span(86_400)).toBe("1 day");
  expect(span(200_000)).toBe("2 days");
});
