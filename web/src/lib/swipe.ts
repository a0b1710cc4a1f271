// A swipe to the side: the page follows the finger a little, and then does what the swipe says.
// Rule: a finger that goes up or down scrolls, and is never taken for a swipe; what scrolls sideways itself is left alone.

interface Ways {
  left: () => void;
  right: () => void;
}

// More than a tremble, less than the width of a thumb's reach.
const ENOUGH = 72;
const STRAIGHT = 2;

export function swiped(element: HTMLElement, ways: Ways): { update(ways: Ways): void; destroy(): void } {
  let now = ways;
  let from: { x: number; y: number; id: number } | null = null;
  let side = false;

  const rest = (): void => {
    from = null;
    side = false;
    element.style.translate = "";
  };

  function scrollsAcross(target: EventTarget | null): boolean {
    for (let at = target instanceof Element ? target : null; at && at !== element; at = at.parentElement) {
      if (at.scrollWidth > at.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(at).overflowX)) return true;
      if (at.matches("textarea, input, select")) return true;
    }
    return false;
  }

  const down = (event: PointerEvent): void => {
    if (event.pointerType === "mouse" || !event.isPrimary || scrollsAcross(event.target)) return;
    from = { x: event.clientX, y: event.clientY, id: event.pointerId };
  };
  const move = (event: PointerEvent): void => {
    if (!from || event.pointerId !== from.id) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!side && Math.abs(y) * STRAIGHT > Math.abs(x) && Math.abs(y) > 10) return rest();
    side ||= Math.abs(x) > 12 && Math.abs(x) > STRAIGHT * Math.abs(y);
    if (side) element.style.translate = `${x / 3}px 0`;
  };
  const up = (event: PointerEvent): void => {
    if (!from || event.pointerId !== from.id) return;
    const x = event.clientX - from.x;
    const far = side && Math.abs(x) > ENOUGH;
    rest();
    if (far) (x < 0 ? now.left : now.right)();
  };

  element.addEventListener("pointerdown", down);
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", rest);
  return {
    update: (next) => void (now = next),
    destroy: () => {
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
      element.removeEventListener("pointercancel", rest);
    },
  };
}
