// The keys of a real keyboard, and the two things they open: the sheet that shows them, and the palette.
// Rule: `a` and `d` press a button that is on the screen and go through lib/tapGuard.ts like any press. What they would press
// must have been the same for a second, too: whoever moves on to another prompt and presses at once has not read it.

import { back, here } from "./router.svelte";
import { refuse, STEADY } from "./tapGuard";

export const KEYS: [string, string][] = [
  ["j", "Next in the list"],
  ["k", "Previous in the list"],
  ["⏎", "Open"],
  ["a", "Allow"],
  ["d", "Deny"],
  ["Esc", "Back"],
  ["/", "Search"],
  ["⌘K", "Search and commands"],
  ["?", "These keys"],
];

class Keys {
  palette = $state(false);
  sheet = $state(false);
}

export const keys = new Keys();

const ITEMS = ".home .thread-head, .home .row .top, .home .compact";
let selected: Element | null = null;
let aim = "";
let aimedAt = 0;

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** What `a` and `d` would press: in what is open, else in what is selected in the list. */
function target(answer: "yes" | "no"): HTMLElement | null {
  const within = document.querySelector(".detail .answers, .detail [data-answer]")
    ? document.querySelector(".detail")
    : (selected?.closest(".row") ?? document.querySelector(".home .row:has([data-answer])"));
  return within?.querySelector<HTMLElement>(`[data-answer="${answer}"]:not(:disabled)`) ?? null;
}

/** Watched all the time: since when the keys are aimed at the same prompt. */
function look(): void {
  const now = target("yes")?.dataset["shows"] ?? target("no")?.dataset["shows"] ?? "";
  if (now === aim) return;
  aim = now;
  aimedAt = performance.now();
}

function press(answer: "yes" | "no"): void {
  look();
  const button = target(answer);
  if (!button) return;
  if (performance.now() - aimedAt < STEADY) return refuse(button, "changed");
  button.click();
}

function select(step: number): void {
  const all = [...document.querySelectorAll(ITEMS)];
  const at = selected ? all.indexOf(selected) : -1;
  const next = all[Math.max(0, Math.min(all.length - 1, at + step))] as HTMLElement | undefined;
  if (!next) return;
  selected = next;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  look();
}

export function listenToKeys(): void {
  setInterval(look, 200);
  addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      keys.palette = true;
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || event.repeat || typing(event.target) || document.querySelector("dialog[open]")) return;
    switch (event.key) {
      case "j":
        return select(1);
      case "k":
        return select(-1);
      case "a":
        return press("yes");
      case "d":
        return press("no");
      case "/":
        event.preventDefault();
        keys.palette = true;
        return;
      case "?":
        keys.sheet = true;
        return;
      case "Escape":
        if (here.at.view !== "home") back();
        return;
    }
  });
  document.addEventListener("focusin", ({ target: focused }) => {
    if (focused instanceof Element && focused.matches(ITEMS)) selected = focused;
  });
}

