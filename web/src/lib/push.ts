// Notifications of this device: whether they are on, turning them on and off; and telling that the app is in front.
// Rule: nothing is asked of the browser before the person has pressed a button.

import { call, get, NoConnection } from "./api";
import type { PushView, TrialView } from "./types";
import { line } from "./safeText";

export type PushState = "on" | "off" | "denied" | "impossible";

// Much shorter than the time that the phone in the pocket waits for somebody at the desk.
const BEAT = 20_000;
// As long as the daemon waits for the push service.
const SLOWEST = 35_000;

const able = (): boolean => "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

export async function pushState(): Promise<PushState> {
  if (!able()) return "impossible";
  if (Notification.permission === "denied") return "denied";
  const known = await get<PushView>("/api/push");
  const here = await subscription();
  return known.ok && known.data.subscribed && here ? "on" : "off";
}

/** An empty text, or why it did not work. */
export async function turnOn(): Promise<string> {
  if ((await Notification.requestPermission()) !== "granted") return "The browser does not allow it.";
  const known = await get<PushView>("/api/push");
  if (!known.ok) return known.error;
  const worker = await navigator.serviceWorker.ready;
  try {
    const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: known.data.key });
    const reply = await call("POST", "/api/push", made.toJSON());
    if (!reply.ok) await made.unsubscribe();
    return reply.ok ? "" : reply.error;
  } catch (error) {
    if (error instanceof NoConnection) throw error;
    return "The browser could not reach its push service.";
  }
}

export async function turnOff(): Promise<void> {
  await (await subscription())?.unsubscribe();
  await call("DELETE", "/api/push");
}

/** Send one to this device: what became of it, in a sentence, and whether it left. */
export async function tryPush(): Promise<{ text: string; tone: "good" | "bad" }> {
  const reply = await call<TrialView>("POST", "/api/push/test", undefined, SLOWEST);
  if (!reply.ok) return { text: line(reply.error) || "That did not work.", tone: "bad" };
  if (!reply.data.sent) return { text: `It was not sent: ${line(reply.data.detail)}.`, tone: "bad" };
  return { text: "Sent. If nothing shows within a few seconds, look at the notification settings of this device and at its do-not-disturb.", tone: "good" };
}

/** This browser was paired again, as another device: what it had subscribed to is told to that one. */
export async function renewPush(): Promise<void> {
  if (!able() || Notification.permission !== "granted") return;
  const here = await subscription();
  if (here) await call("POST", "/api/push", here.toJSON());
}

async function subscription(): Promise<PushSubscription | null> {
  const worker = await navigator.serviceWorker.getRegistration();
  return (await worker?.pushManager.getSubscription()) ?? null;
}

/** While somebody looks at the app, the phone in the pocket need not buzz. */
export function tellInFront(live: () => boolean): void {
  const beat = (): void => {
    if (live() && !document.hidden && document.hasFocus()) void call("POST", "/api/front").catch(() => undefined);
  };
  setInterval(beat, BEAT);
  addEventListener("focus", beat);
  document.addEventListener("visibilitychange", beat);
  beat();
}

/** A tap on a notification, while the app is open, leads to its prompt; and who asks hears how the line is. */
export function hearWorker(live: () => boolean): void {
  if (!("serviceWorker" in navigator)) return;
  navigator.serviceWorker.addEventListener("message", ({ data, ports }: MessageEvent<{ go?: unknown; live?: unknown }>) => {
    if (typeof data.go === "string" && data.go.startsWith("#/")) location.hash = data.go;
    if (data.live) ports[0]?.postMessage(live());
  });
}
