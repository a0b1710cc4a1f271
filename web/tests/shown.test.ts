import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { canonical, shownDigest, shownText } from "../src/lib/shown";
import type { PromptView } from "../src/lib/types";

// Made by the daemon's own `shown.py`, whose test reads the same file.
const { cases, numbers } = JSON.parse(readFileSync(new URL("../../tests/data/fleet/shown.json", import.meta.url), "utf8")) as {
  cases: { view: string; host: string; name: string; digest: string }[];
  numbers: [string, string][];
};

test("a prompt has the same digest here as on the machine that asks it", async () => {
  for (const { view, host, name, digest } of cases) {
    const prompt = { ...(JSON.parse(view) as PromptView), host: { id: host, name } } as PromptView;
    expect(await shownDigest(shownText(prompt))).toBe(digest);
    expect(await shownDigest(shownText({ ...prompt, title: `${prompt.title} ` }))).not.toBe(digest);
  }
});

test("how far an answer has come is not in it", async () => {
  const { view, host, name, digest } = cases[0]!;
  const prompt = { ...(JSON.parse(view) as PromptView), host: { id: host, name, state: "offline" }, state: "sent", held: false, history: [] };
  expect(await shownDigest(shownText(prompt as unknown as PromptView))).toBe(digest);
});

test("numbers are written as the daemon writes them", () => {
  for (const [text, written] of numbers) expect(canonical(JSON.parse(text))).toBe(written);
});
