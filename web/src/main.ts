// The start of the app: the code of a pairing link is taken out of the address before anything else happens.

import { mount } from "svelte";
import "./app.css";
import App from "./App.svelte";
import { inbox } from "./lib/inbox.svelte";
import "./lib/install.svelte";
import { listenToKeys } from "./lib/keys.svelte";
import { hearWorker, tellInFront } from "./lib/push";

// The code travels behind the #, which no server and no log ever sees; and it does not stay in the address bar.
const link = new URLSearchParams(location.hash.slice(1));
const code = link.get("pair") ?? "";
if (code) history.replaceState(null, "", location.pathname);

mount(App, { target: document.getElementById("app")!, props: { code, now: link.has("now") } });
inbox.start();
listenToKeys();
const live = (): boolean => inbox.connection === "live";
tellInFront(live);
hearWorker(live);

// Only where the browser trusts the line (https, or this machine itself).
if ("serviceWorker" in navigator && import.meta.env.PROD) {
  navigator.serviceWorker.register("/sw.js").catch(() => undefined);
}
