// The questions of a question tool and their answers, parsed from the texts of a call and its result. Display only: nothing is decided by it.

import type { Action } from "./types";

export interface AskedQuestion {
  question: string;
  options: string[];
  answer: string;
}

export function askedQuestions(call: Action, result: Action | undefined): AskedQuestion[] {
  return call.detail.split(/\n\n+/).filter(Boolean).map((text) => {
    const [question = "", ...rest] = text.split("\n");
    const options = rest.filter((line) => line.startsWith("- ")).map((line) => line.slice(2));
    const reply = result?.detail ?? "";
    const at = reply.indexOf(`"${question}"="`);
    const from = at + question.length + 4;
    const to = at < 0 ? -1 : reply.slice(from).search(/"(?:[,. ]|$)/m);
    return { question, options, answer: at < 0 ? "" : reply.slice(from, to < 0 ? undefined : from + to) };
  });
}
