// A conversation as it is read on a phone: in blocks, of which only those near the eye are drawn.
// Rule: a block that was drawn once keeps its exact height while it is not; what is read never jumps.

import { get, NoConnection, part } from "./api";
import type { WatchRequest } from "./feed";
import { inbox } from "./inbox.svelte";
import type { Action, Page } from "./types";

export type Entry = Page["entries"][number];

export class Item {
  result: Action | undefined = $state.raw();
  /** Shown elsewhere: a result whose call came to light later. */
  gone = $state(false);
  constructor(readonly entry: Entry) {}
}

export class Block {
  items: Item[] = $state.raw([]);
  height = 0;
  constructor(readonly key: number) {}
}

// A screen or two of a phone: small enough to draw in a frame, large enough that fifty thousand are 2,500 blocks.
const BLOCK = 20;
const PAGE = 100;

export class Conversation {
  blocks: Block[] = $state.raw([]);
  problem = $state("");
  busy = $state(false);
  loaded = $state(false);
  before: number | null = $state(null);
  /** How many entries there are; goes up when something was added at the end. */
  added = $state(0);
  cost: number | null = $state(null);
  /** The file that offsets belong to. */
  file = "";
  private end = 0;
  private keys = 0;
  private readonly calls = new Map<string, Item>();

  constructor(private readonly id: string) {}

  /** The last page, or the one before what is there. */
  async load(): Promise<void> {
    if (this.busy || (this.file && this.before === null)) return;
    this.busy = true;
    try {
      const more = this.before === null ? "" : `&before=${this.before}&file=${part(this.file)}`;
      const reply = await get<Page>(`/api/sessions/${part(this.id)}/conversation?limit=${PAGE}${more}`);
      if (reply.status === 401) return inbox.unpair("");
      this.problem = reply.ok ? "" : reply.status === 404 ? "This session is no longer on record." : reply.error;
      if (!reply.ok) return;
      const first = !this.file || reply.data.restarted;
      if (first) this.anew(reply.data);
      else this.prepend(reply.data.entries);
      this.before = reply.data.next_before;
    } catch (error) {
      if (!(error instanceof NoConnection)) throw error;
      this.problem = "No connection to yourcall.";
    } finally {
      this.busy = false;
      this.loaded = true;
    }
  }

  /** What was added since; true if there was something. */
  async follow(): Promise<boolean> {
    if (!this.loaded || this.busy || document.hidden || inbox.connection !== "live") return false;
    if (!this.file) {
      await this.load();
      return this.blocks.length > 0;
    }
    const path = `/api/sessions/${part(this.id)}/conversation?limit=500&after=${this.end}&file=${part(this.file)}`;
    const reply = await get<Page>(path).catch(() => null);
    return reply?.ok === true && !this.busy && this.merge(reply.data);
  }

  /** Where a follower goes on; null while nothing was read yet. */
  place(): WatchRequest | null {
    return this.file ? { watch: this.id, after: this.end, file: this.file } : null;
  }

  /** What was added, told by whoever is first; true if it was new. */
  merge(page: Page): boolean {
    if (page.restarted || page.file !== this.file) {
      this.anew(page);
      this.before = page.next_before;
      return true;
    }
    const fresh = page.entries.filter((entry) => entry.offset >= this.end);
    if (fresh.length) this.append(fresh);
    this.end = Math.max(this.end, page.end);
    return fresh.length > 0;
  }

  /** Files that were named in what is loaded, the latest first. */
  get paths(): string[] {
    const all = this.blocks.flatMap((block) => block.items.flatMap(({ entry }) => (entry.type === "action" ? entry.paths : [])));
    return [...new Set(all.reverse())];
  }

  /** Loads back to the message at this offset; false if it is not on record. */
  async reach(offset: number): Promise<boolean> {
    const has = (): boolean => this.blocks.some((block) => block.items.some((item) => item.entry.offset === offset));
    while (!has() && this.before !== null && this.before > offset && !this.problem) await this.load();
    return has();
  }

  private anew(page: Page): void {
    this.calls.clear();
    this.blocks = [];
    this.end = page.end;
    this.file = page.file;
    this.append(page.entries);
  }

  private items(entries: Entry[], earlier: boolean): Item[] {
    const out: Item[] = [];
    for (const entry of entries) {
      if (entry.type === "thinking" && !entry.text) continue;
      if (entry.type === "result" && entry.cost_usd != null && !earlier) this.cost = entry.cost_usd;
      if (entry.type === "action" && entry.phase === "completed") {
        const call = this.calls.get(entry.call_id);
        if (call && call.entry.type === "action" && call.entry.phase === "started") {
          call.result = entry;
          continue;
        }
      }
      const item = new Item(entry);
      if (entry.type === "action") {
        // Its result is on a page that was read before this one.
        const result = earlier && entry.phase === "started" ? this.calls.get(entry.call_id) : undefined;
        if (result?.entry.type === "action" && result.entry.phase === "completed") {
          item.result = result.entry;
          result.gone = true;
        }
        this.calls.set(entry.call_id, item);
      }
      out.push(item);
    }
    return out;
  }

  private append(entries: Entry[]): void {
    const items = this.items(entries, false);
    const blocks = [...this.blocks];
    const last = blocks.at(-1);
    if (last && last.items.length < BLOCK) last.items = [...last.items, ...items.splice(0, BLOCK - last.items.length)];
    while (items.length) blocks.push(this.block(items.splice(0, BLOCK)));
    this.blocks = blocks;
    this.added += entries.length;
  }

  private prepend(entries: Entry[]): void {
    const items = this.items(entries, true);
    const blocks: Block[] = [];
    while (items.length) blocks.push(this.block(items.splice(0, BLOCK)));
    this.blocks = [...blocks, ...this.blocks];
  }

  private block(items: Item[]): Block {
    const block = new Block(this.keys++);
    block.items = items;
    return block;
  }
}
