// The service worker: keeps the app itself at hand, so that it opens without a line and says so; and shows what is pushed.
// Rule: only the files of the app are kept, by name; what agents ask and people answer (/api) is never kept here.

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

addEventListener("push", (event) => {
  event.waitUntil(told(read(event.data)));
});

addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  const { prompt = "", buttons = [] } = notification.data ?? {};
  const button = buttons[Number(action)];
  notification.close();
  event.waitUntil(action !== "" && button ? answer(prompt, button, notification.tag) : open(prompt));
});

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
  const { buttons = [] } = word;
  await show(String(word.title), {
    body: String(word.text),
    tag: String(word.id),
    renotify: word.reminder > 0,
    icon: "/icon-192.png",
    badge: "/icon-192.png",
    data: { prompt, buttons },
    actions: buttons.map(({ label }, at) => ({ action: String(at), title: String(label) })),
  });
}

function show(title, options) {
  return inTurn(() => registration.showNotification(title, options));
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
  await inTurn(async () => (await registration.getNotifications({ tag })).forEach((shown) => shown.close()));
}

async function answer(prompt, { question, option }, tag) {
  const path = `/api/prompts/${encodeURIComponent(prompt)}/answer`;
  const reply = await post(path, { choices: { [question]: [option] }, wait: 10 });
  // What was sent is on its way, and the inbox says what became of it; only a no must be told.
  if (reply.ok) return;
  // Under a tag of its own: that somebody else has answered takes the question back, and must leave this.
  await show(reply.lost ? "Did that arrive?" : "That was not taken", {
    body: reply.lost ? "The line to yourcall broke. Look in the app before you answer again." : String(reply.error || reply.detail || ""),
    tag: `answer ${tag}`,
    data: { prompt },
  });
}

async function post(path, body) {
  try {
    const reply = await fetch(path, { method: "POST", body: JSON.stringify(body), credentials: "same-origin" });
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
