// What a page shows is fetched when it is opened, and again when the line is back: it may have been opened without one.

import { untrack } from "svelte";
import { inbox } from "./inbox.svelte";

export const NO_CONNECTION = "No connection to yourcall.";

/** Now, and whenever the line is back. */
export function loadNowAndOnReconnect(load: () => void): void {
  let first = true;
  const live = $derived(inbox.connection === "live");
  $effect(() => {
    if (live || first) untrack(load);
    first = false;
  });
}
