// The one place that talks HTTP; what it sends is signed with the key of this browser.
// Rule: a refusal is a value with its sentence; only a line that is down is an exception (`NoConnection`). A request that
// takes a passkey is sent once more, with the person's gesture for it. What is for another machine of the fleet is signed
// for that one, too.

import { signedFetch } from "../../../src/yourcall/server/assets/key.js";
import { Act } from "./acts";
import type { Problem, StepUpView } from "./types";

export class NoConnection extends Error {}

export interface Reply<T> {
  status: number;
  ok: boolean;
  data: T;
  /** The server's own sentence when it said no. */
  error: string;
  /** Of a list: the last change that it holds. */
  seq: number | null;
}

// Longer than a bad mobile line needs for a few hundred bytes; then it is better to say so.
const PATIENCE = 15_000;

export async function call<T>(method: string, path: string, body?: unknown, patience = PATIENCE, gesture = "", shown = ""): Promise<Reply<T>> {
  let reply: Response;
  let data: unknown;
  try {
    const text = body === undefined ? null : body instanceof Blob ? body : JSON.stringify(body);
    const signal = AbortSignal.timeout(patience);
    const headers: Record<string, string> = gesture ? { "Yourcall-Step-Up": gesture } : {};
    const act = Act.of(method, path, text, shown);
    if (act) headers["Yourcall-Act"] = await act.header();
    reply = await signedFetch(path, { method, body: text, credentials: "same-origin", headers, signal });
    const [run, now] = [reply.headers.get("Yourcall-Act-Run"), Number(reply.headers.get("Yourcall-Act-Time"))];
    if (act && reply.status === 403 && run && now) {
      // That machine was started anew, or its clock is another one: the same act, signed once more.
      headers["Yourcall-Act"] = await act.header(run, now);
      reply = await signedFetch(path, { method, body: text, credentials: "same-origin", headers, signal });
    }
    data = await reply.json();
  } catch (error) {
    // A reply that is no JSON comes from something between us and yourcall: as good as no line.
    throw new NoConnection(String(error));
  }
  const step = reply.status === 428 ? (data as StepUpView).step_up : undefined;
  if (step && !gesture) {
    const made = await import("./passkey").then((passkey) => passkey.gestureHeader(step), () => null);
    if (made) return call(method, path, body, patience, made, shown);
    (data as StepUpView).detail = step.problem || "It was not confirmed with a passkey.";
    (data as StepUpView).error = (data as StepUpView).detail;
  }
  const error = (data as Partial<Problem>).error ?? "";
  const seq = reply.headers.get("Yourcall-Seq");
  return { status: reply.status, ok: reply.ok, data: data as T, error, seq: seq === null ? null : Number(seq) };
}

export const get = <T>(path: string, patience = PATIENCE): Promise<Reply<T>> => call<T>("GET", path, undefined, patience);
export const part = encodeURIComponent;
