// The end of the daemon's record, as this device last saw it: a record that does not hold it any more was shortened
// or rewritten on the machine.
// Rule: a head that is missing stays noted, and the warning stays, until the person says that they know.

import { get } from "./api";
import { saveHead, notedHead } from "./deviceStorage";
import type { HeadView } from "./types";

/** When the head was noted that the record does not hold any more; null if all is well, or it cannot be told. */
export async function missingSince(head: HeadView | null | undefined, now: number): Promise<number | null> {
  if (head === undefined) return null; // an older daemon, which tells none
  const kept = notedHead();
  if (kept) {
    const there = await get<HeadView>(`/api/log/head?place=${kept.place}`).catch(() => null);
    if (there?.status === 404 || (there?.ok && there.data.hash !== kept.hash)) return kept.at;
    if (!there?.ok) return null;
  }
  if (head) saveHead({ ...head, at: now });
  return null;
}
