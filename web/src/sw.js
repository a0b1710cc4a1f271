// The service worker: keeps the app itself at hand, so that it opens without a line and says so.
// Rule: only the files of the app, by name; what agents ask and people answer (/api) never passes through here.

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
