// The service worker: keeps the app itself at hand, so that it opens without a line and says so; and shows what is pushed.
// Rule: only the files of the app are kept, by name; what agents ask and people answer (/api) is never kept here.
// What it sends is signed with this browser's key: the build puts `signedFetch` of key.js in front of this file.

const CACHE = "yourcall-" + "VERSION";
const FILES = ["/"];
// A line that is slower than this is no reason to look at a blank page.
const PATIENCE = 2000;

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })))));
});

addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => clients.claim()));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin || !FILES.includes(pathname)) return;
  event.respondWith(pathname === "/" ? page(request) : caches.match(pathname).then((kept) => kept ?? fetch(request)));
});

/** The page as it is now, or as it was if that takes too long. */
async function page(request) {
  const kept = await caches.match("/");
  if (!kept) return fetch(request);
  const late = new Promise((resolve) => setTimeout(() => resolve(kept.clone()), PATIENCE));
  // Anything but the page itself (a proxy's login, an error) is shown as it is.
  return Promise.race([fetch(request).catch(() => kept.clone()), late]);
}

// --- Notifications ---

// A page that is looked at says at once how its line is, also on a busy phone; one that says nothing shows nothing.
const REPLY = 5000;
// Safari takes the subscription away from whoever is pushed to and shows nothing.
const MUST_SHOW = /^((?!chrome|android|crios|fxios).)*safari/i.test(navigator.userAgent);

// The rule of lib/tapGuard.ts, as far as it can be kept here: a button of a notification answers only if that
// notification had been there unchanged for a second, nothing had come or gone around it (the others close ranks), and
// no other one was tapped. When the finger came down nobody tells: a tap takes a fifth of a second.
const STEADY = 1200;
let stirredAt = 0; // when a notification last came, went or was tapped

addEventListener("push", (event) => {
  event.waitUntil(told(read(event.data)));
});

addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  const { prompt = "", seen = "", buttons = [], shownAt = 0 } = notification.data ?? {};
  const button = action === "" ? undefined : buttons[Number(action)];
  const now = Date.now();
  const still = now - Math.max(stirredAt, shownAt);
  stirredAt = now;
  // Less than nothing: the clock was set back, and nobody knows how long it has been there.
  if (button && (still < STEADY || shownAt > now)) return event.waitUntil(again(notification));
  notification.close();
  event.waitUntil(button ? answer(prompt, seen, button, notification.tag) : open(prompt));
});

const HASTY = "That was too quick. Look at it, then tap.";

/** A tap that does not count: it stays, in the same words, and says so. */
function again({ title, body, tag, data }) {
  const text = body.startsWith(HASTY) ? body : `${HASTY}\n${body}`;
  return show(title, asked(text, tag, data, { silent: true }));
}

// The browser got another address: yourcall has to know it, or nothing comes any more.
addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(
    registration.pushManager
      .subscribe({ userVisibleOnly: true, applicationServerKey: event.oldSubscription?.options.applicationServerKey })
      .then((made) => post("/api/push", made)),
  );
});

function read(data) {
  try {
    return data?.json() ?? {};
  } catch {
    return {};
  }
}

async function told(word) {
  if (word.withdraw) return over(word);
  if (!word.id) return;
  // Who has the app in front of them sees it there, unless its line is down; a test is for looking at.
  if (!MUST_SHOW && !String(word.id).startsWith("test-") && (await inFront())) return;
  const prompt = String(word.prompt ?? "").startsWith("test-") ? "" : (word.prompt ?? "");
  const data = { prompt, seen: String(word.seen ?? ""), buttons: word.buttons ?? [] };
  await show(String(word.title), asked(String(word.text), String(word.id), data, { renotify: word.reminder > 0 }));
}

/** A question with its buttons. */
const asked = (body, tag, data, more) => ({
  body,
  tag,
  icon: "/icon-192.png",
  badge: "/badge-96.png",
  data,
  actions: data.buttons.map(({ label }, at) => ({ action: String(at), title: String(label) })),
  ...more,
});

/** From now on it is there; once it is, for the buttons of all of them the clock starts anew. */
function show(title, options) {
  const data = () => ({ ...options.data, shownAt: Date.now() });
  return inTurn(() => registration.showNotification(title, { ...options, data: data() }).then(() => void (stirredAt = Date.now()))).then(count);
}

/** The number on the app's icon, while the app is closed: how many questions are shown. The open app knows it better. */
async function count() {
  if (!navigator.setAppBadge || (await clients.matchAll({ type: "window" })).length) return;
  const shown = await inTurn(() => registration.getNotifications());
  await navigator.setAppBadge(shown.filter((one) => one.data?.prompt).length).catch(() => undefined);
}

// Chromium forgets a notification that is shown while it is asked which ones are: one thing after the other. But none
// waits for long behind one that waits for its picture, on a bad line.
let turn = Promise.resolve();
function inTurn(work) {
  let done;
  const begun = turn.then(() => void (done = work()));
  const late = () => new Promise((resolve) => setTimeout(resolve, PATIENCE));
  turn = begun.then(() => Promise.race([done.catch(() => undefined), late()]));
  return begun.then(() => done);
}

async function inFront() {
  const pages = await clients.matchAll({ type: "window" });
  const page = pages.find((one) => one.visibilityState === "visible" && one.focused);
  if (!page) return false;
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data === true);
    setTimeout(() => resolve(false), REPLY);
    page.postMessage({ live: true }, [port2]);
  });
}

/** Somebody has answered: it goes, or, where something has to be shown, says so without a sound. */
async function over({ withdraw, outcome }) {
  const tag = String(withdraw);
  if (MUST_SHOW) return show("Answered", { body: String(outcome ?? ""), tag, silent: true }); // in its place
  await inTurn(async () => {
    const shown = await registration.getNotifications({ tag });
    shown.forEach((one) => one.close());
    if (shown.length) stirredAt = Date.now();
  });
  await count();
}

async function answer(prompt, seen, { question, option }, tag) {
  const path = `/api/prompts/${encodeURIComponent(prompt)}/answer`;
  const reply = await post(path, { choices: { [question]: [option] }, seen, wait: 10 });
  // What was sent is on its way, and the inbox says what became of it; only a no must be told. That this very device
  // had answered is no news to it.
  if (reply.ok || (reply.result === "too_late" && String(reply.detail).startsWith("you already answered"))) return;
  // Under a tag of its own: that somebody else has answered takes the question back, and must leave this.
  await show(reply.lost ? "Did that arrive?" : "That was not taken", {
    body: reply.lost ? "The line to yourcall broke. Look in the app before you answer again." : String(reply.error || reply.detail || ""),
    tag: `answer ${tag}`,
    data: { prompt },
  });
}

async function post(path, body) {
  try {
    const reply = await signedFetch(path, { method: "POST", body: JSON.stringify(body), credentials: "same-origin" });
    return { ...(await reply.json()), ok: reply.ok };
  } catch {
    return { ok: false, lost: true }; // before it was heard, or only the reply: nobody here knows
  }
}

async function open(prompt) {
  const place = prompt ? `/#/p/${encodeURIComponent(prompt)}` : "/";
  const [page] = await clients.matchAll({ type: "window" });
  if (!page) return clients.openWindow(place);
  await page.focus().catch(() => undefined);
  page.postMessage({ go: place.slice(1) });
}
