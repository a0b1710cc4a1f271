// The key of this browser: made when it is paired, kept in its own IndexedDB, and used to sign each request.
// Rule: the private half cannot be read by anybody, this page included; there is no token and no cookie.
// The phone app and its service worker share this file.

const NAME = "yourcall";
const STORE = "key";
const OWN = "own";
const SIGN = { name: "ECDSA", hash: "SHA-256" };

/** Browsers make keys only on pages that came by https, or from the machine itself. */
export const possible = () => globalThis.isSecureContext === true && "subtle" in crypto && "indexedDB" in globalThis;

function stored(mode, work) {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE);
    asked.onerror = () => reject(asked.error);
    asked.onsuccess = () => {
      const db = asked.result;
      const all = db.transaction(STORE, mode);
      const done = work(all.objectStore(STORE));
      all.oncomplete = () => (db.close(), resolve(done.result));
      all.onabort = all.onerror = () => (db.close(), reject(all.error));
    };
  });
}

// Read each time: another tab may have paired this browser again, or have given the key up.
const own = () => (possible() ? stored("readonly", (store) => store.get(OWN)).catch(() => undefined) : Promise.resolve(undefined));
const put = (value) => stored("readwrite", (store) => store.put(value, OWN));

/** Forget the key: this browser is not paired any more. */
export async function forgetKey() {
  if (possible()) await stored("readwrite", (store) => store.delete(OWN)).catch(() => undefined);
}

/** A fresh key, not kept yet: its public half for the server, and what keeps it once the server has taken it. */
export async function freshKey() {
  const { publicKey, privateKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
  const point = base64(await crypto.subtle.exportKey("raw", publicKey));
  // Without a promise, a browser that is short of room may drop the key, and this device has to be paired again.
  const keep = async ({ id, run, now }) => {
    await put({ id, key: privateKey, run, ahead: now - Date.now(), point });
    await navigator.storage?.persist?.().catch(() => undefined);
  };
  return { point, keep };
}

/** This text, signed with the key of this browser; null if it is not paired. */
export async function signText(text) {
  const me = await own();
  return me ? base64(await crypto.subtle.sign(SIGN, me.key, new TextEncoder().encode(text))) : null;
}

/** The beginning of the digest of this browser's key, for people to compare; "" if it was paired before that was kept. */
export async function keyCheck() {
  const point = (await own())?.point;
  if (!point) return "";
  const raw = Uint8Array.from(atob(point.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  return Array.from(digest.slice(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function digestOf(body) {
  return base64(await crypto.subtle.digest("SHA-256", await bytes(body)));
}

/** Fetch, signed if this browser is paired. The server's own time is learnt from it, and what was signed with a wrong one is signed once more. */
export async function signedFetch(path, init = {}) {
  const me = await own();
  if (!me) return fetch(path, init);
  const reply = await fetch(path, await signed(path, init, me));
  const run = reply.headers.get("Yourcall-Run");
  const now = Number(reply.headers.get("Yourcall-Time"));
  if (reply.status !== 403 || !run || !now) return reply;
  const told = { ...me, run, ahead: now - Date.now() };
  const still = await own();
  if (still?.id === me.id) await put(told).catch(() => undefined);
  return fetch(path, await signed(path, init, told));
}

async function signed(path, init, { id, key, run, ahead }) {
  const { pathname, search } = new URL(path, location.origin);
  const method = init.method ?? "GET";
  const digest = base64(await crypto.subtle.digest("SHA-256", await bytes(init.body)));
  const time = String(Math.round(Date.now() + ahead));
  const nonce = base64(crypto.getRandomValues(new Uint8Array(18)).buffer);
  const text = ["yourcall 1", method, pathname + search, digest, id, run, time, nonce].join("\n");
  const signature = base64(await crypto.subtle.sign(SIGN, key, new TextEncoder().encode(text)));
  const header = `device=${id}, run=${run}, time=${time}, nonce=${nonce}, digest=${digest}, signature=${signature}`;
  return { ...init, headers: { ...init.headers, "Yourcall-Signature": header } };
}

async function bytes(body) {
  if (body === undefined || body === null) return new Uint8Array();
  return body instanceof Blob ? body.arrayBuffer() : new TextEncoder().encode(body);
}

function base64(buffer) {
  const letters = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** What to open the live feed with, or null if the server said no. */
export async function feedProtocols(signal) {
  const reply = await signedFetch("/api/ticket", { method: "POST", signal });
  if (reply.status !== 201) return null;
  const { ticket } = await reply.json();
  return ["yourcall", `yourcall.ticket.${ticket}`];
}
