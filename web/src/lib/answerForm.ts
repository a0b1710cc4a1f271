// From what is asked to what is sent: the fields of a prompt, what is wrong with them, and the request.
// Rule: an answer names options by their ids and questions by theirs; nothing is sent that was not shown.

import type { AnswerRequest, Option, PromptView, Question } from "./types";

export type Effect = Option["effect"];

export const ALLOWS: ReadonlySet<Effect> = new Set(["allow_once", "allow_session", "allow_always"]);
export const REFUSES: ReadonlySet<Effect> = new Set(["deny", "stop"]);

/** What the daemon wants confirmed, or what `risk` warns of, is held and not tapped; a no never is. */
/** A dangerous yes is meant: by holding its button, or with a passkey, which takes the place of that. */
export const needsHold = (option: Option, risk: string): boolean => !REFUSES.has(option.effect) && (option.confirm || risk !== "");

export interface Filled {
  picks: Record<string, string[]>;
  texts: Record<string, string>;
}

/** The question whose options are the buttons: yes, no, submit; the others are fields to fill in. */
export function decision(prompt: PromptView): Question | null {
  return prompt.questions.find((question) => question.options.some((option) => option.effect !== "choose")) ?? null;
}

/** The plainest no there is: one that lets the agent go on, or else one that stops it. */
export const refusal = (question: Question | null): Option | undefined =>
  question?.options.find((option) => option.effect === "deny") ?? question?.options.find((option) => option.effect === "stop");

export function fields(prompt: PromptView): Question[] {
  const decides = decision(prompt);
  return prompt.questions.filter((question) => question !== decides);
}

/** One question, one choice: the tap on it is the answer. */
export function oneTap(prompt: PromptView): Question | null {
  const [only, ...more] = prompt.questions;
  return only && !more.length && !only.multi_select && only.options.length && decision(prompt) === null ? only : null;
}

export const empty = (): Filled => ({ picks: {}, texts: {} });

/** What is wrong with each field, by the question's id. */
export function objections(questions: Question[], filled: Filled): Record<string, string> {
  const wrong: Record<string, string> = {};
  for (const question of questions) {
    const problem = objection(question, filled.picks[question.id] ?? [], (filled.texts[question.id] ?? "").trim());
    if (problem) wrong[question.id] = problem;
  }
  return wrong;
}

function objection(question: Question, picks: string[], text: string): string {
  if (!picks.length && !text) {
    if (!question.required) return "";
    return question.options.length ? "Choose one." : "Required";
  }
  if (!text || (question.type !== "number" && question.type !== "integer")) return "";
  const whole = question.type === "integer";
  const value = Number(text);
  if (whole ? !/^[+-]?\d+$/.test(text) : !/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) {
    return whole ? "A whole number, please." : "A number, please.";
  }
  if (question.minimum !== null && value < question.minimum) return `At least ${question.minimum}, please.`;
  if (question.maximum !== null && value > question.maximum) return `At most ${question.maximum}, please.`;
  return "";
}

/** The bounds of a number, in words. */
export function bounds(question: Question): string {
  const { minimum, maximum } = question;
  if (minimum !== null && maximum !== null) return `from ${minimum} to ${maximum}`;
  if (minimum !== null) return `at least ${minimum}`;
  return maximum !== null ? `at most ${maximum}` : "";
}

/** The fields as they are sent; texts are trimmed only where they are numbers. */
export function filledIn(questions: Question[], filled: Filled): Required<Pick<AnswerRequest, "choices" | "texts">> {
  const choices: Record<string, string[]> = {};
  const texts: Record<string, string> = {};
  for (const { id, type } of questions) {
    const picks = filled.picks[id] ?? [];
    const text = filled.texts[id] ?? "";
    if (picks.length) choices[id] = [...picks];
    if (text.trim()) texts[id] = type === "number" || type === "integer" ? text.trim() : text;
  }
  return { choices, texts };
}

/** The request for one button. A text goes with a no: with a yes no agent would read it. */
export function pressed(prompt: PromptView, question: Question, option: Option, filled: Filled): AnswerRequest {
  const refuses = REFUSES.has(option.effect);
  const others = prompt.questions.filter((each) => each.id !== question.id);
  const { choices, texts } = refuses ? { choices: {}, texts: {} } : filledIn(others, filled);
  const typed = filled.texts[question.id] ?? "";
  const text: Record<string, string> = typed.trim() && !ALLOWS.has(option.effect) ? { [question.id]: typed } : {};
  return { choices: { ...choices, [question.id]: [option.id] }, texts: { ...texts, ...text } };
}
