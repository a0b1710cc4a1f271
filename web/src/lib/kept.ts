// The person's own words that have not arrived yet: answers without a line, drafts, and what was sent before. And the
// head of the machine's record that was seen last, and how this device answers.
// Rule: the only thing that this app stores besides its key. Nothing an agent said is in it, and all of it but the head and the choices goes when the device
// is unpaired; where a browser keeps nothing, everything still works until the page is closed.

import type { AnswerRequest, HeadView } from "./types";

export interface KeptAnswer {
  id: string;
  request: AnswerRequest;
  label: string;
  at: number;
}

const ANSWERS = "yourcall.answers";
const DRAFTS = "yourcall.drafts";
const SENT = "yourcall.sent";
const HEAD = "yourcall.head";
const CHOICES = "yourcall.choices";
// More is not a backlog of answers but a mistake.
const MOST = 200;
const MOST_SENT = 50;

function parsed<T>(text: string | null, empty: T): T {
  return (JSON.parse(text ?? "null") as T | null) ?? empty;
}

function read<T>(name: string, empty: T): T {
  try {
    return parsed(localStorage.getItem(name), empty);
  } catch {
    return empty;
  }
}

function write(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // Full, or forbidden: it is kept for as long as the page is open.
  }
}

/** `at`: when it was noted, in seconds. It outlives the pairing: whoever replaces the record replaces the devices, too. */
export interface NotedHead extends HeadView {
  at: number;
}

export const notedHead = (): NotedHead | null => read<NotedHead | null>(HEAD, null);

export function keepHead(head: NotedHead | null): void {
  write(HEAD, head);
}

/** How this device answers (lib/choices.svelte.ts); it outlives the pairing. */
export const keptChoices = (): Record<string, boolean> => read<Record<string, boolean>>(CHOICES, {});
export const keepChoices = (choices: Record<string, boolean>): void => write(CHOICES, choices);

export const answers = (): KeptAnswer[] => read<KeptAnswer[]>(ANSWERS, []);

/** An edited command holds the agent's own words, so that one is not stored. */
export function keepAnswer(answer: KeptAnswer): void {
  if (answer.request.input !== undefined) return;
  write(ANSWERS, [...answers().filter((each) => each.id !== answer.id), answer].slice(-MOST));
}

export function forgetAnswer(id: string): void {
  const all = answers();
  if (all.some((each) => each.id === id)) write(ANSWERS, all.filter((each) => each.id !== id));
}

/** Another tab of this phone has taken an answer back, or has seen it arrive: it is not this tab's to send any more. */
export function whenForgotten(forgotten: (id: string) => void): void {
  addEventListener("storage", ({ key, oldValue }) => {
    if (key !== ANSWERS || oldValue === null) return;
    const left = new Set(answers().map((each) => each.id));
    for (const { id } of parsed<KeptAnswer[]>(oldValue, [])) if (!left.has(id)) forgotten(id);
  });
}

export const drafts = (): [string, string][] => read<[string, string][]>(DRAFTS, []);

/** Only this one: another tab of this phone may have written others meanwhile. */
export function keepDraft(id: string, text: string): void {
  const others = drafts().filter(([each]) => each !== id);
  write(DRAFTS, text ? [...others, [id, text]].slice(-MOST) : others);
}

/** What another tab of this phone has made of its drafts. */
export function whenDrafted(drafted: (id: string, text: string) => void): void {
  globalThis.addEventListener?.("storage", ({ key, oldValue, newValue }) => {
    if (key !== DRAFTS) return;
    const now = new Map(parsed<[string, string][]>(newValue, []));
    for (const [id] of parsed<[string, string][]>(oldValue, [])) if (!now.has(id)) drafted(id, "");
    for (const [id, text] of now) drafted(id, text);
  });
}

/** What was sent, the latest first. */
export const sent = (): string[] => read<string[]>(SENT, []);
export const keepSent = (text: string): void =>
  write(SENT, [text, ...sent().filter((each) => each !== text)].slice(0, MOST_SENT));

/** Who has such words in memory, too, lets go of them here. */
export const forgets: (() => void)[] = [];

export function forgetAll(): void {
  for (const forget of forgets) forget();
  try {
    for (const name of [ANSWERS, DRAFTS, SENT]) localStorage.removeItem(name);
  } catch {
    // then there was nothing
  }
}
