// What was typed is sent once, and what was typed meanwhile is not lost with it.
import { expect, test } from "vitest";
import { drafts } from "../src/lib/drafts.svelte";

test("what is typed while a message is on its way stays", () => {
  drafts.set("a", "Fix the limit");
  drafts.leaves("a");
  drafts.set("a", "Fix the limit\nand then the tests");
  drafts.left("a", true);
  expect(drafts.get("a")).toBe("and then the tests");
});

test("what was sent goes, also if nothing else was typed", () => {
  drafts.set("b", "Fix it");
  drafts.leaves("b");
  drafts.left("b", true);
  expect(drafts.get("b")).toBeUndefined();
});

test("what was changed meanwhile stays as it is; what did not arrive, too", () => {
  drafts.set("c", "Fix it");
  drafts.leaves("c");
  drafts.set("c", "Leave it");
  drafts.left("c", true);
  expect(drafts.get("c")).toBe("Leave it");
  drafts.leaves("c");
  drafts.left("c", false);
  expect(drafts.get("c")).toBe("Leave it");
});

test("a session that goes by another id meanwhile takes the rest along", () => {
  drafts.set("d", "/clear");
  drafts.leaves("d");
  drafts.set("d", "/clear now this");
  drafts.follow("d", "e");
  drafts.left("d", true);
  expect([drafts.get("d"), drafts.get("e")]).toEqual([undefined, "now this"]);
});
