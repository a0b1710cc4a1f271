// The time that waiting times are counted by; it stands still while nobody looks.

class Clock {
  now = $state(Date.now() / 1000);
}

export const clock = new Clock();

const tick = (): void => {
  if (!document.hidden) clock.now = Date.now() / 1000;
};
setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
