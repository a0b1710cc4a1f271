// The time that waiting times are counted by; it stands still while nobody looks.
// Rule: it is yourcall's own time as soon as that is known. A phone's clock may be wrong by hours, and what is over
// is decided where rules decide.

class Clock {
  now = $state(Date.now() / 1000);
  private ahead = 0;

  /** Takes over yourcall's own time. */
  synchronize(now: number): void {
    if (now) this.ahead = Date.now() / 1000 - now;
    this.tick();
  }

  /** As `now`, and also while nobody looks. */
  get exact(): number {
    return Date.now() / 1000 - this.ahead;
  }

  tick(): void {
    if (!document.hidden) this.now = Date.now() / 1000 - this.ahead;
  }
}

export const clock = new Clock();

const tick = (): void => clock.tick();
setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
