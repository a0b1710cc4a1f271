// The one rule for every control that answers or changes something: it takes only a press that was meant for it.
//
// A press counts if the control had been on the screen, in its place and unchanged, for a second before the finger
// came down, and if no other tap was made in the second before. A refused press is a tap too: whoever goes on tapping
// goes on being refused. What is refused never reaches the control, and is shown (see `onRefused`).
//
// Scrolling is the person's own doing and no move. A keyboard or a screen reader has no finger that things could slide
// under: for them the control must be unchanged for a second before the key went down (or before the click, where there
// was no key), and one press of a key is one answer, however long it is held.

// A person needs a quarter of a second to see a change and as much again to stop a finger that is on its way; an
// impatient thumb taps every 0.2 to 0.8 s.
export const STEADY = 1000;
export const QUIET = 1000;

// Less is rounding.
const A_MOVE = 2;
// What moves and tells nobody (a font, a picture) is seen by then.
const LOOK_EVERY = 200;
// A flick rolls on after the finger has left; between two pictures of it passes less than this.
const FLICK = 300;
// A finger that scrolls is known for one by then.
const IS_NO_SCROLL = 200;

export type Refusal = "new" | "moved" | "changed" | "quick";

export interface Guard {
  /** All that a press would say yes to, as a text: the prompt and its version, the option, the label. */
  shows: string;
  /** Tapped again and again on purpose, such as an arrow key: only taps on other things count as other taps. */
  again?: boolean;
}

interface Edges {
  top: number;
  left: number;
  bottom: number;
  right: number;
}

interface Place {
  guard: Guard;
  edges: Edges;
  scroll: number;
  bornAt: number;
  movedAt: number;
  changedAt: number;
  /** Since when it can be seen; null while it cannot. */
  seenAt: number | null;
}

/** A finger or a key that went down, and the control it went down on. */
interface Press {
  /** Where the finger came down; null for a key. */
  point: { x: number; y: number } | null;
  control: HTMLElement | null;
  at: number;
  liftedAt: number | null;
  refused: Refusal | null;
}

const places = new Map<HTMLElement, Place>();
const fingers = new Map<number, { at: number; tappedBefore: number }>();
const listeners = new Set<(control: HTMLElement, why: Refusal) => void>();
let press: Press | null = null;
let tappedAt = -Infinity;
let tappedAgain = false; // the last tap was on a control that is tapped again and again
let nearAt = -Infinity;
let pannedAt = -Infinity;
let pageHeight = 0;

/** When the person did it: a busy page hears of a tap late, and what came meanwhile they have not seen. */
const when = (event: Event): number => (event.timeStamp > 0 ? Math.min(event.timeStamp, performance.now()) : performance.now());

const edgesOf = (element: HTMLElement): Edges => {
  const { top, left, bottom, right } = element.getBoundingClientRect();
  return { top, left, bottom, right };
};

const differs = (a: Edges, b: Edges, scrolled: number): boolean =>
  Math.max(Math.abs(a.left - b.left), Math.abs(a.right - b.right)) > A_MOVE ||
  Math.max(Math.abs(a.top + scrolled - b.top), Math.abs(a.bottom + scrolled - b.bottom)) > A_MOVE;

/** Notes which control has moved since the last look, or has come on the screen. */
function look(): void {
  const now = performance.now();
  const height = document.documentElement.scrollHeight;
  // When the page gets shorter at its end the browser scrolls, and nobody did.
  const byPerson = height === pageHeight && now - pannedAt < FLICK;
  pageHeight = height;
  for (const [element, place] of places) {
    const edges = edgesOf(element);
    if (differs(edges, place.edges, 0)) {
      if (!byPerson || differs(edges, place.edges, scrollY - place.scroll)) place.movedAt = now;
      place.edges = edges;
      place.scroll = scrollY;
    }
    const middle = (edges.top + edges.bottom) / 2;
    const seen = !document.hidden && edges.bottom > edges.top && middle > 0 && middle < innerHeight;
    place.seenAt = seen ? (place.seenAt ?? now) : null;
  }
}

let due = false;
/** After the next picture is on the screen: a control is not seen before that. */
function lookSoon(): void {
  if (due || document.hidden) return;
  due = true;
  requestAnimationFrame(() => setTimeout(() => ((due = false), look())));
}

function guardedAt(target: EventTarget | null): HTMLElement | null {
  for (let element = target instanceof Element ? target : null; element; element = element.parentElement) {
    if (places.has(element as HTMLElement)) return element as HTMLElement;
  }
  return null;
}

function objection(control: HTMLElement, at: number, key: boolean): Refusal | null {
  const place = places.get(control);
  if (!place) return null;
  if (at - place.bornAt < STEADY) return "new";
  if (at - place.changedAt < STEADY) return "changed";
  if (!key && (place.seenAt === null || at - Math.max(place.movedAt, place.seenAt) < STEADY)) return "moved";
  if (at - tappedAt < QUIET && !(place.guard.again && tappedAgain)) return "quick";
  return null;
}

/** What was under the finger when it came down is still what is under it. */
function stands({ control, at, point }: Press): boolean {
  const place = control && places.get(control);
  if (!place || place.changedAt > at) return false;
  if (point === null) return true;
  const { top, left, bottom, right } = edgesOf(control);
  return point.x >= left && point.x <= right && point.y >= top && point.y <= bottom;
}

function block(event: Event): void {
  event.stopImmediatePropagation();
  if (event.cancelable) event.preventDefault();
}

function say(control: HTMLElement, why: Refusal): void {
  control.classList.add("nudged");
  setTimeout(() => control.classList.remove("nudged"), 300);
  for (const tell of listeners) tell(control, why);
}

function tapped(at: number, control: HTMLElement | null): void {
  tappedAt = Math.max(tappedAt, at);
  tappedAgain = control !== null && places.get(control)?.guard.again === true;
}

/** For every control that answers or changes something. */
export function guarded(element: HTMLElement, guard: Guard): { update(guard: Guard): void; destroy(): void } {
  const now = performance.now();
  places.set(element, { guard, edges: edgesOf(element), scroll: scrollY, bornAt: now, movedAt: now, changedAt: now, seenAt: null });
  lookSoon();
  return {
    update(next) {
      const place = places.get(element);
      if (!place) return;
      if (next.shows !== place.guard.shows) place.changedAt = performance.now();
      place.guard = next;
    },
    destroy: () => void places.delete(element),
  };
}

/** For a press that takes its time: is the finger still on what it came down on? */
export const stillMeant = (control: HTMLElement): boolean =>
  press?.control === control && press.refused === null && stands(press);

export function onRefused(tell: (control: HTMLElement, why: Refusal) => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

/** A press that another rule than this one refuses: it is a tap all the same, and is shown. */
export function refuse(control: HTMLElement, why: Refusal): void {
  tapped(performance.now(), control);
  say(control, why);
}

/** How long it will be until this control takes a tap, if nothing more happens, in milliseconds. */
export function waitFor(control: HTMLElement): number {
  const place = places.get(control);
  if (!place) return 0;
  const still = Math.max(place.bornAt, place.changedAt, place.movedAt, place.seenAt ?? performance.now());
  const tap = place.guard.again && tappedAgain ? -Infinity : tappedAt;
  return Math.max(still + STEADY, tap + QUIET) - performance.now();
}

/** For how long no finger has been on the page, and no mouse moved over it, in milliseconds. */
export const idleFor = (): number => (fingers.size ? 0 : performance.now() - Math.max(tappedAt, nearAt));

// --- what the browser tells; in the capturing phase, so before any control hears of it

const early = { capture: true, passive: true } as const;

addEventListener(
  "pointerdown",
  (event) => {
    if (event.button !== 0) return;
    look();
    const at = when(event);
    const control = guardedAt(event.target);
    const refused = control && objection(control, at, false);
    const mine: Press = { point: { x: event.clientX, y: event.clientY }, control, at, liftedAt: null, refused };
    press = mine;
    fingers.set(event.pointerId, { at, tappedBefore: tappedAt });
    tapped(at, control);
    if (!control || !refused) return;
    block(event);
    setTimeout(() => press === mine && say(control, refused), IS_NO_SCROLL);
  },
  { capture: true },
);

addEventListener(
  "pointerup",
  (event) => {
    if (!fingers.delete(event.pointerId)) return;
    const at = when(event);
    if (press) press.liftedAt = at;
    tapped(at, press?.control ?? null);
  },
  early,
);

addEventListener(
  "pointercancel",
  (event) => {
    const finger = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    press = null;
    nearAt = performance.now();
    // The browser scrolls with it: it was no tap.
    if (finger && tappedAt === finger.at) tappedAt = finger.tappedBefore;
  },
  early,
);

addEventListener(
  "click",
  (event) => {
    const control = guardedAt(event.target);
    const at = when(event);
    const by = press;
    press = null;
    // A press that never became a click (it was held, or slid away) says nothing about this one.
    const own = by !== null && (by.liftedAt === null || at - by.liftedAt < QUIET);
    if (control) {
      let why: Refusal | null;
      if (own && by.control === control) why = by.refused ?? (stands(by) ? null : "changed");
      else if (own && by.point) why = "moved"; // it came under a finger that had come down elsewhere
      else why = objection(control, at, true);
      if (why) {
        block(event);
        say(control, why);
      }
    }
    tapped(at, control);
  },
  { capture: true },
);

addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Enter" && event.key !== " ") return void (pannedAt = performance.now()); // arrows scroll
    const control = guardedAt(event.target);
    if (!control) return;
    if (event.repeat) return block(event);
    const at = when(event);
    const refused = objection(control, at, true);
    press = { point: null, control, at, liftedAt: null, refused };
    tapped(at, control);
    if (!refused) return;
    block(event);
    say(control, refused);
  },
  { capture: true },
);

const panned = (): void => void (pannedAt = performance.now());
addEventListener("touchmove", panned, early);
addEventListener("wheel", panned, early);
addEventListener(
  "scroll",
  () => {
    if (performance.now() - pannedAt < FLICK) panned(); // it rolls on
    lookSoon();
  },
  early,
);
addEventListener("pointermove", (event) => event.pointerType === "mouse" && (nearAt = performance.now()), early);
addEventListener("blur", () => fingers.clear());
addEventListener("resize", lookSoon);
document.addEventListener("visibilitychange", () => {
  for (const place of places.values()) place.seenAt = null; // nobody looked meanwhile
  lookSoon();
});
new MutationObserver(lookSoon).observe(document.documentElement, { subtree: true, childList: true, characterData: true, attributes: true });
setInterval(lookSoon, LOOK_EVERY);
