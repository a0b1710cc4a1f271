// Pull to refresh: a finger that draws the top of the list down asks for the lists anew.
// Rule: it moves only its own sign, never the list; so no answer slides under a finger.

const FAR = 72;

export function pull(element: HTMLElement, refresh: () => Promise<void>): { destroy(): void } {
  const sign = document.createElement("div");
  sign.className = "pulled";
  sign.setAttribute("aria-hidden", "true");
  element.prepend(sign);
  let from: number | null = null;
  let far = 0;

  const show = (to: number, state = ""): void => {
    sign.style.setProperty("--pulled", String(Math.min(1, to / FAR)));
    sign.className = `pulled ${state}`;
  };
  const start = (event: TouchEvent): void => {
    from = scrollY <= 0 && event.touches.length === 1 ? event.touches[0]!.clientY : null;
    far = 0;
  };
  const move = (event: TouchEvent): void => {
    if (from === null) return;
    far = event.touches[0]!.clientY - from;
    if (far > 8) show(far, far >= FAR ? "far" : "");
    else show(0);
  };
  const end = (): void => {
    const asked = from !== null && far >= FAR;
    from = null;
    if (!asked) return show(0);
    show(FAR, "far busy");
    void refresh().finally(() => show(0));
  };
  element.addEventListener("touchstart", start, { passive: true });
  element.addEventListener("touchmove", move, { passive: true });
  element.addEventListener("touchend", end);
  element.addEventListener("touchcancel", () => ((from = null), show(0)));
  return { destroy: () => sign.remove() };
}
