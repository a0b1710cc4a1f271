// What was typed for a session and not sent yet: it survives a look elsewhere, and a phone that closed the app.

import { SvelteMap } from "svelte/reactivity";
import { drafts as kept, forgets, keepDraft, whenDrafted } from "./kept";

class Drafts extends SvelteMap<string, string> {
  /** Whose words are on their way right now, which they are, and what a session goes by since. */
  private readonly leaving = new Map<string, string>();
  private readonly ways = new Map<string, string>();

  leaves(id: string): void {
    this.leaving.set(id, this.get(id) ?? "");
  }

  /** What was sent has arrived, or stays to be sent again; what was typed since stays: where the session is now. */
  left(id: string, arrived: boolean): void {
    const said = this.leaving.get(id) ?? "";
    const now = this.get(id) ?? "";
    this.leaving.delete(id);
    if (arrived && now.startsWith(said)) this.set(id, now.slice(said.length).trimStart());
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

  /** As it is kept already. */
  heard(id: string, text: string): void {
    if (text) super.set(id, text);
    else super.delete(id);
  }

  override set(id: string, text: string): this {
    this.heard(id, text);
    keepDraft(id, text);
    return this;
  }

  override delete(id: string): boolean {
    const had = super.delete(id);
    keepDraft(id, "");
    return had;
  }
}

export const drafts = new Drafts();
for (const [id, text] of kept()) drafts.heard(id, text);
whenDrafted((id, text) => drafts.heard(id, text));
forgets.push(() => drafts.clear());
