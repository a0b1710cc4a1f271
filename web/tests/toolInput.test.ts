// What goes with a yes is told: every field of a tool, and every word of a question.
import { describe, expect, test } from "vitest";
import { asking, otherFields } from "../src/lib/toolInput";
import { wholeInList } from "../src/lib/foldedText";
import type { ActionView, PromptView } from "../src/lib/types";

const ACTION: ActionView = {
  kind: "other", tool: "", command: "", shell: "", background: false, purpose: "", paths: [], changes: [],
  url: "", host: "", server: "", name: "", unboxed: false, more: [], command_field: "", patch: false,
};
const field = (name: string, value: string) => ({ name, value });
const asks = (action: Partial<ActionView> | null, more: object = {}): PromptView => {
  const input = Object.fromEntries((action?.more ?? []).map((each) => [each.name, each.value]));
  const tool = action === null ? null : { name: "tool", input };
  return { kind: "permission", agent: "claude", cwd: "/p", title: "", body: "", questions: [], tool, action: action && { ...ACTION, ...action }, ...more } as unknown as PromptView;
};
const decides = (text: string): object => ({ questions: [{ id: "q", text, options: [{ id: "y", label: "Yes", effect: "allow_once" }] }] });

describe("besides a command or a change", () => {
  test("what is not told by it is spelt out, whatever the body says", () => {
    expect(otherFields(asks({ kind: "command", command: "ls" }))).toBe("");
    expect(otherFields(asks({ kind: "command", command: "ls", more: [field("dir_path", "/etc")] }, { body: "dir_path: /etc" }))).toBe("dir_path: /etc");
    expect(otherFields(asks({ kind: "write", more: [field("content", '{"a":1}')] }))).toBe('content: {"a":1}');
  });
  test("in the list a yes is offered only where all of it is there", () => {
    expect(wholeInList(asks({ kind: "command", command: "ls" }))).toBe(true);
    expect(wholeInList(asks({ kind: "command", command: "ls", more: [field("env", "x".repeat(900))] }))).toBe(false);
  });
});

test("another tool tells what the body does not", () => {
  expect(otherFields(asks({ kind: "mcp", more: [field("target", "prod")] }, { body: "target: prod" }))).toBe("");
  expect(otherFields(asks({ more: [field("to", "prod")] }, { body: "ship asks" }))).toBe("to: prod");
});

describe("what is asked in the asker's own words", () => {
  test("a question is told whole, our own words are not", () => {
    expect(asking(asks(null, { title: "Deploy?", ...decides("Deploy?\nTo production.") }))).toBe("Deploy?\nTo production.");
    expect(asking(asks({ kind: "command", command: "ls" }, { title: "ls", ...decides("May Claude do this?") }))).toBe("");
    expect(asking(asks({ kind: "read" }, { title: "Read /p/a", body: "file_path: /p/a", ...decides("May Claude do this?") }))).toBe("");
  });
  test("a title that nothing else tells is told", () => {
    expect(asking(asks({}, { title: "Fetch https://x.example", ...decides("May it?") }))).toBe("Fetch https://x.example");
    expect(asking(asks({}, { title: "Read /p/a", body: "/p/a", ...decides("May it?") }))).toBe("Read /p/a");
  });
});
