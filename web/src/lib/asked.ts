// A question and its answer, read off the words of a call in an agent's record: to be shown, never to decide by.

import type { Action } from "./types";

/** Which questions were asked and what was chosen, read off the words of a call and its result. */
export interface Asked {
  question: string;
  options: string[];
  answer: string;
}

export function askedIn(call: Action, result: Action | undefined): Asked[] {
  return call.detail.split(/\n\n+/).filter(Boolean).map((text) => {
    const [question = "", ...rest] = text.split("\n");
    const options = rest.filter((line) => line.startsWith("- ")).map((line) => line.slice(2));
    const said = result?.detail ?? "";
    const at = said.indexOf(`"${question}"="`);
    const from = at + question.length + 4;
    const to = at < 0 ? -1 : said.slice(from).search(/"(?:[,. ]|$)/m);
    return { question, options, answer: at < 0 ? "" : said.slice(from, to < 0 ? undefined : from + to) };
  });
}
