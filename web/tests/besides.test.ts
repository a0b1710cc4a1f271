// What goes with a yes is told: every field of a tool, and every word of a question.
import { describe, expect, test } from "vitest";
import { asking, besides } from "../src/lib/besides";
import { changesOf } from "../src/lib/changes";
import { danger } from "../src/lib/danger";
import { wholeInList } from "../src/lib/fold";
import type { PromptView } from "../src/lib/types";
import { commandOf } from "../src/lib/words";

const asks = (name: string | null, input: unknown, more: object = {}): PromptView =>
  ({ kind: "permission", agent: "claude", cwd: "/p", title: "", body: "", questions: [], tool: name === null ? null : { name, input }, ...more }) as unknown as PromptView;
const decides = (text: string): object => ({ questions: [{ id: "q", text, options: [{ id: "y", label: "Yes", effect: "allow_once" }] }] });

describe("besides a command", () => {
  test("what is not told by it is spelt out", () => {
    expect(besides(asks("Bash", { command: "ls", description: "look", timeout: 5, run_in_background: true }))).toBe("");
    expect(besides(asks("Bash", { command: "ls", dangerouslyDisableSandbox: true }))).toBe("dangerouslyDisableSandbox: true");
    expect(besides(asks("run_shell_command", { command: "ls", dir_path: "/etc", is_background: true }))).toBe("dir_path: /etc\nis_background: true");
    expect(besides(asks("Bash", { command: "npm i", cwd: "/p", permissions: ["write /"] }))).toBe('permissions: ["write /"]');
    expect(besides(asks("Bash", { command: "npm i", cwd: "/q" }))).toBe("cwd: /q");
  });
  test("in the list a yes is offered only where all of it is there", () => {
    expect(wholeInList(asks("Bash", { command: "ls" }))).toBe(true);
    expect(wholeInList(asks("Bash", { command: "ls", env: "x".repeat(900) }))).toBe(false);
  });
});

describe("a server's tool", () => {
  test("is not its field of the name `command`", () => {
    const asked = asks("mcp__db__delete_all", { command: "ls", target: "prod" }, { body: "command: ls\ntarget: prod" });
    expect(commandOf(asked)).toBe("");
    expect(besides(asked)).toBe("");
    expect(danger(asked)).toMatch(/By its name/);
    expect(danger(asks("mcp__box__open", { command: "rm -r x", on: "prod" }))).toMatch(/deletes/);
  });
  test("tells what the body does not", () => {
    expect(besides(asks("deploy", { to: "prod" }, { body: "ship asks" }))).toBe("to: prod");
    expect(besides(asks("request_permissions", { permissions: ["a", "b"], reason: "r" }, { body: "a\nb\n\nr" }))).toBe("");
  });
});

describe("changes", () => {
  test("a notebook's cell that goes is no empty file", () => {
    const input = { notebook_path: "/p/a.ipynb", cell_id: "c1", new_source: "", edit_mode: "delete" };
    expect(changesOf("NotebookEdit", input)?.[0]?.note).toBe("The cell is deleted.");
    expect(besides(asks("NotebookEdit", input))).toBe("cell_id: c1\nedit_mode: delete");
  });
  test("an edit has nothing besides, but what is no text is told", () => {
    expect(besides(asks("Edit", { file_path: "/p/a", old_string: "a", new_string: "b", replace_all: true }))).toBe("");
    expect(besides(asks("Write", { file_path: "/p/a", content: { a: 1 } }))).toBe('content: {"a":1}');
  });
});

describe("what is asked in the asker's own words", () => {
  test("a question is told whole, our own words are not", () => {
    expect(asking(asks(null, null, { title: "Deploy?", ...decides("Deploy?\nTo production.") }))).toBe("Deploy?\nTo production.");
    expect(asking(asks("Bash", { command: "ls" }, { title: "ls", ...decides("May Claude do this?") }))).toBe("");
    expect(asking(asks("Read", { file_path: "/p/a" }, { title: "Read /p/a", body: "file_path: /p/a", ...decides("May Claude do this?") }))).toBe("");
  });
  test("a title that nothing else tells is told", () => {
    expect(asking(asks("fetch", { title: "Fetch https://x.example" }, { title: "Fetch https://x.example", ...decides("May it?") }))).toBe("Fetch https://x.example");
    expect(asking(asks("other", {}, { title: "Read /p/a", body: "/p/a", ...decides("May it?") }))).toBe("Read /p/a");
  });
});
