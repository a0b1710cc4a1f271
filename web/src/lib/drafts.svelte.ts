// What was typed for a session and not sent yet: it survives a look elsewhere, and is kept nowhere but here.

import { SvelteMap } from "svelte/reactivity";

export const drafts = new SvelteMap<string, string>();
