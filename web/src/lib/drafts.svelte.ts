// Instructions that were typed and not sent yet. They survive a change of page and a restart of the app.

import { SvelteMap } from "svelte/reactivity";
import { forgets, onDraftChanged, saveDraft, savedDrafts } from "./deviceStorage";

class Drafts extends SvelteMap<string, string> {
  /** Drafts that are being sent, by session; and the id that a session has been renamed to since. */
  private readonly leaving = new Map<string, string>();
  private readonly ways = new Map<string, string>();

  leaves(id: string): void {
    this.leaving.set(id, this.get(id) ?? "");
  }

  /** What was sent has arrived, or stays to be sent again; what was typed since stays: where the session is now. */
  left(id: string, arrived: boolean): void {
    const sent = this.leaving.get(id) ?? "";
    const now = this.get(id) ?? "";
    this.leaving.delete(id);
    if (arrived && now.startsWith(sent)) this.set(id, now.slice(sent.length).trimStart());
    const to = this.ways.get(id);
    if (to) this.move(id, to);
  }

  /** The session goes by another id: what was typed goes along, but for what is being sent at this moment. */
  follow(id: string, to: string): void {
    this.ways.set(id, to);
    if (!this.leaving.has(id)) this.move(id, to);
  }

  private move(id: string, to: string): void {
    const text = this.get(id);
    if (text && !this.get(to)) this.set(to, text);
    this.delete(id);
  }

  /** As it is savedDrafts already. */
  show(id: string, text: string): void {
    if (text) super.set(id, text);
    else super.delete(id);
  }

  override set(id: string, text: string): this {
    this.show(id, text);
    saveDraft(id, text);
    return this;
  }

  override delete(id: string): boolean {
    const had = super.delete(id);
    saveDraft(id, "");
    return had;
  }
}

export const drafts = new Drafts();
for (const [id, text] of savedDrafts()) drafts.show(id, text);
onDraftChanged((id, text) => drafts.show(id, text));
forgets.push(() => drafts.clear());
