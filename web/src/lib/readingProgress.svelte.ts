// What of a prompt's body has been on the screen.
// Rule: a row counts as shown only while it is inside the window and not behind the bar; what was not shown is not
// allowed by a tap.

import type { Card } from "./inbox.svelte";

export class ReadingProgress {
  /** How many rows have not been on the screen yet, and of how many. */
  unseen = $state(0);
  total = $state(0);
  /** How much of the bottom of the window is covered by the bar. */
  inset = 0;
  private readonly parts = new Map<string, Uint8Array>();

  constructor(readonly version: string) {}

  /** There is a part with this many rows; what was seen of it before stays seen if it is the same part. */
  expect(part: string, rows: number): void {
    if (this.parts.get(part)?.length === rows) return;
    this.parts.set(part, new Uint8Array(rows));
    this.count();
  }

  saw(part: string, from: number, to: number): void {
    const rows = this.parts.get(part);
    if (!rows || document.hidden) return;
    const first = Math.max(0, from);
    const last = Math.min(rows.length, to);
    if (first >= last || rows.subarray(first, last).every(Boolean)) return;
    rows.fill(1, first, last);
    this.count();
  }

  /** Which rows of a part were not shown, the first one of them. */
  next(part: string): number {
    return this.parts.get(part)?.indexOf(0) ?? -1;
  }

  private count(): void {
    let [unseen, total] = [0, 0];
    for (const rows of this.parts.values()) {
      total += rows.length;
      for (const seen of rows) unseen += 1 - seen;
    }
    [this.unseen, this.total] = [unseen, total];
  }
}

const readings = new WeakMap<Card, ReadingProgress>();

/** What was read of this prompt so far; of another version nothing was. */
export function progressOf(card: Card): ReadingProgress {
  const known = readings.get(card);
  if (known?.version === card.prompt.version) return known;
  const fresh = new ReadingProgress(card.prompt.version);
  readings.set(card, fresh);
  return fresh;
}

// A row of what is drawn in one piece may be higher than the window: it is seen in this many parts.
const PARTS = 20;

/** For what is drawn in one piece: its rows are seen in proportion to what is seen of its height, each one whole. */
export function trackReading(element: HTMLElement, what: { reading: ReadingProgress; part: string; rows: number } | undefined): { update(next: typeof what): void; destroy(): void } {
  let now = what;
  let due = false;
  let parts = new Uint8Array(0);
  const look = (): void => {
    due = false;
    const { top, bottom, height } = element.getBoundingClientRect();
    if (!now || !height || document.hidden) return;
    const end = innerHeight - now.reading.inset + 1;
    const [from, to] = [(Math.max(top, 0) - top) / height, (Math.min(bottom, end) - top) / height];
    if (to <= from) return;
    parts.fill(1, Math.ceil(from * parts.length), bottom <= end ? parts.length : Math.floor(to * parts.length));
    for (let row = 0; row < now.rows; row++) {
      if (parts.subarray(row * PARTS, (row + 1) * PARTS).every(Boolean)) now.reading.saw(now.part, row, row + 1);
    }
  };
  const soon = (): void => {
    if (!due) requestAnimationFrame(look);
    due = true;
  };
  const watcher = new ResizeObserver(soon);
  const begin = (): void => {
    now?.reading.expect(now.part, now.rows);
    if (parts.length !== (now?.rows ?? 0) * PARTS) parts = new Uint8Array((now?.rows ?? 0) * PARTS);
    soon();
  };
  watcher.observe(element);
  addEventListener("scroll", soon, { capture: true, passive: true });
  begin();
  return {
    update: (next) => {
      now = next;
      begin();
    },
    destroy: () => {
      watcher.disconnect();
      removeEventListener("scroll", soon, { capture: true });
    },
  };
}
