// The daemon's verdict on many prompts, as the app would show it: run by tests/browser/test_phone_verdict.py, which
// says in VERDICTS where the prompts are, as the wire has them, each with what is to be shown.

import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
import { expect, test } from "vitest";
import { batchable } from "../src/lib/batchable";
import { needsHold } from "../src/lib/answerForm";
import type { PromptView } from "../src/lib/types";
import { editableCommand, warning, what, withCommand } from "../src/lib/wording";

interface Case {
  prompt: PromptView;
  warning: string;
  confirm: string[];
  command: string;
  push: { id: string; title: string; text: string };
}

const cases = JSON.parse(readFileSync(process.env["VERDICTS"]!, "utf8")) as Case[];

test("there are as many as were sent", () => {
  expect(cases.length).toBeGreaterThanOrEqual(200);
});

test("a prompt shows the daemon's reason", () => {
  for (const { prompt, warning: reason } of cases) expect(warning(prompt)).toBe(reason);
});

test("the answers that need a confirmation are held, and no others", () => {
  for (const { prompt, confirm } of cases) {
    const options = prompt.questions.flatMap((question) => question.options);
    expect(options.filter((option) => needsHold(option, warning(prompt))).map((option) => option.id)).toEqual(confirm);
  }
});

test("only what is harmless can be answered together with others", () => {
  for (const { prompt, warning: reason } of cases) expect(batchable(prompt)).toBe(reason === "");
});

test("the command is shown and edited as the agent sent it", () => {
  for (const { prompt, command } of cases) {
    expect(what(prompt)).toBe("Run a command");
    expect(editableCommand(prompt)).toBe(command);
    expect(withCommand(prompt, "ls")).toEqual({ ...(prompt.tool?.input as object), command: "ls" });
  }
});

test("a notification begins with the reason", async () => {
  const shown: { title: string; body: string }[] = [];
  const heard: Record<string, (event: object) => void> = {};
  const worker = createContext({
    addEventListener: (name: string, listener: (event: object) => void) => (heard[name] = listener),
    clients: { matchAll: async () => [] },
    navigator: { userAgent: "Chrome" },
    registration: { showNotification: async (title: string, { body }: { body: string }) => void shown.push({ title, body }) },
    setTimeout,
  });
  runInContext(readFileSync(new URL("../src/sw.js", import.meta.url), "utf8"), worker);
  for (const { push } of cases) {
    let done: Promise<unknown> = Promise.resolve();
    heard["push"]!({ data: { json: () => push }, waitUntil: (work: Promise<unknown>) => (done = work) });
    await done;
  }
  expect(shown.map((each) => each.body)).toEqual(cases.map((each) => each.push.text));
  cases.forEach(({ warning: reason }, at) => expect(shown[at]!.body.startsWith("⚠")).toBe(reason !== ""));
  cases.forEach(({ warning: reason }, at) => reason && expect(shown[at]!.body.startsWith(`⚠ ${reason}\n`)).toBe(true));
});
