// What was typed for a session and not sent yet: it survives a look elsewhere, and a phone that closed the app.

import { SvelteMap } from "svelte/reactivity";
import { drafts as kept, keepDrafts } from "./kept";

class Drafts extends SvelteMap<string, string> {
  override set(id: string, text: string): this {
    if (text) super.set(id, text);
    else super.delete(id);
    keepDrafts([...this]);
    return this;
  }

  override delete(id: string): boolean {
    const had = super.delete(id);
    keepDrafts([...this]);
    return had;
  }
}

export const drafts = new Drafts();
for (const [id, text] of kept()) drafts.set(id, text);
