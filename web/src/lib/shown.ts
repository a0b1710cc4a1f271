// The digest of a prompt as it was shown: what this device signs for another machine, which compares it with what it asks.
// Rule: the same bytes as `shown.py` of the daemon makes from the same view: the fields a person decides by, as canonical
// JSON (RFC 8785).

import { digestOf } from "../../../src/yourcall/server/assets/key.js";
import type { PromptStory, PromptView } from "./types";

const FIELDS = [
  "id", "kind", "agent", "session_id", "cwd", "title", "body", "tool", "questions", "hold", "subagent",
  "permission_mode", "version", "action", "risk",
] as const;

export function canonical(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const fields = value as Record<string, unknown>;
  // The order of UTF-16 units is the one that `sort` has.
  return `{${Object.keys(fields).sort().map((name) => `${JSON.stringify(name)}:${canonical(fields[name])}`).join(",")}}`;
}

/** What is shown now, as text: taken at the tap, so that nothing that comes later is signed. */
export function shownText(prompt: PromptStory | PromptView): string {
  const view = prompt as unknown as Record<string, unknown>;
  const shown: Record<string, unknown> = {};
  for (const field of FIELDS) if (field in view) shown[field] = view[field];
  shown["host"] = { id: prompt.host?.id ?? "", name: prompt.host?.name ?? "" };
  return `yourcall shown 1\n${canonical(shown)}`;
}

export const shownDigest = (text: string): Promise<string> => digestOf(text);
