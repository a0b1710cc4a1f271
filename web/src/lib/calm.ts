// A button must not move under a finger that is already coming down.
// Rule: a press counts only on a button that has been in its place for half a second, and nothing moves by itself
// while a finger is on the glass. Scrolling is the person's own doing, and is not a move.

// A person needs a quarter of a second to see that something moved and as much again to stop a finger.
export const STEADY = 500;

const places = new Map<HTMLElement, { top: number; movedAt: number }>();
const fingers = new Set<number>();

const top = (element: HTMLElement): number => element.getBoundingClientRect().top + scrollY;

function look(): void {
  const now = performance.now();
  // When the page gets shorter at its end, the browser scrolls: all that is seen moves, though nothing did.
  const clamped = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
  for (const [element, place] of places) {
    const is = top(element);
    if (clamped || Math.abs(is - place.top) > 2) place.movedAt = now;
    place.top = is;
  }
}

const sizes = new ResizeObserver(look);

/** For everything whose size may change by itself. */
export function stirs(element: HTMLElement): { destroy(): void } {
  sizes.observe(element);
  // What goes away has no size that changes, but all below it has moved.
  return { destroy: () => (sizes.unobserve(element), void requestAnimationFrame(look)) };
}

/** For every button that answers. */
export function keepsStill(element: HTMLElement): { destroy(): void } {
  places.set(element, { top: top(element), movedAt: performance.now() });
  return { destroy: () => void places.delete(element) };
}

export function steady(element: HTMLElement): boolean {
  const place = places.get(element);
  return !place || performance.now() - place.movedAt >= STEADY;
}

/** What a button does, unless it has only just come to where the finger was going. */
export const calmly = (work: () => void) => (event: MouseEvent & { currentTarget: HTMLElement }): void => {
  if (event.detail === 0 || steady(event.currentTarget)) work(); // detail 0: the keyboard or a screen reader
};

/** Is a finger (or a pressed mouse) on the page? */
export const touched = (): boolean => fingers.size > 0;

const lift = (event: PointerEvent): void => void fingers.delete(event.pointerId);
addEventListener("pointerdown", (event) => void fingers.add(event.pointerId), { capture: true });
addEventListener("pointerup", lift, { capture: true });
addEventListener("pointercancel", lift, { capture: true });
addEventListener("blur", () => fingers.clear());
