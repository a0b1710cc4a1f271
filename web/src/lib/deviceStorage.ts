// What this app stores in the browser besides its key: answers that wait for a connection, drafts, earlier instructions,
// the last head of the machine's record, and this device's preferences.
// Rule: nothing an agent said is stored. Unpairing the device removes all of it but the head and the preferences. Without
// storage, everything still works until the page is closed.

import type { AnswerRequest, HeadView } from "./types";

export interface SavedAnswer {
  id: string;
  request: AnswerRequest;
  label: string;
  at: number;
  /** The digest of what was shown, for a prompt of another machine. */
  shown?: string;
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

export function saveHead(head: NotedHead | null): void {
  write(HEAD, head);
}

/** lib/preferences.svelte.ts; they outlive the pairing. */
export const savedPreferences = (): Record<string, boolean> => read<Record<string, boolean>>(CHOICES, {});
export const savePreferences = (choices: Record<string, boolean>): void => write(CHOICES, choices);

export const savedAnswers = (): SavedAnswer[] => read<SavedAnswer[]>(ANSWERS, []);

/** An edited command holds the agent's own words, so that one is not stored. */
export function saveAnswer(answer: SavedAnswer): void {
  if (answer.request.input !== undefined) return;
  write(ANSWERS, [...savedAnswers().filter((each) => each.id !== answer.id), answer].slice(-MOST));
}

export function removeAnswer(id: string): void {
  const all = savedAnswers();
  if (all.some((each) => each.id === id)) write(ANSWERS, all.filter((each) => each.id !== id));
}

/** Another tab of this phone has taken an answer back, or has seen it arrive: it is not this tab's to send any more. */
export function onAnswerRemoved(forgotten: (id: string) => void): void {
  addEventListener("storage", ({ key, oldValue }) => {
    if (key !== ANSWERS || oldValue === null) return;
    const left = new Set(savedAnswers().map((each) => each.id));
    for (const { id } of parsed<SavedAnswer[]>(oldValue, [])) if (!left.has(id)) forgotten(id);
  });
}

export const savedDrafts = (): [string, string][] => read<[string, string][]>(DRAFTS, []);

/** Only this one: another tab of this phone may have written others meanwhile. */
export function saveDraft(id: string, text: string): void {
  const others = savedDrafts().filter(([each]) => each !== id);
  write(DRAFTS, text ? [...others, [id, text]].slice(-MOST) : others);
}

/** What another tab of this phone has made of its drafts. */
export function onDraftChanged(drafted: (id: string, text: string) => void): void {
  globalThis.addEventListener?.("storage", ({ key, oldValue, newValue }) => {
    if (key !== DRAFTS) return;
    const now = new Map(parsed<[string, string][]>(newValue, []));
    for (const [id] of parsed<[string, string][]>(oldValue, [])) if (!now.has(id)) drafted(id, "");
    for (const [id, text] of now) drafted(id, text);
  });
}

/** What was sent, the latest first. */
export const savedSent = (): string[] => read<string[]>(SENT, []);
export const saveSent = (text: string): void =>
  write(SENT, [text, ...savedSent().filter((each) => each !== text)].slice(0, MOST_SENT));

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
