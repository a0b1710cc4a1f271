// What a page shows is fetched when it is opened, and again when the line is back: it may have been opened without one.

import { untrack } from "svelte";
import { inbox } from "./inbox.svelte";

export const NO_LINE = "No connection to yourcall.";

/** Now, and whenever the line is back. */
export function nowAndWhenBack(load: () => void): void {
  let first = true;
  const live = $derived(inbox.line === "live");
  $effect(() => {
    if (live || first) untrack(load);
    first = false;
  });
}
