// Where in the app the person is; kept in the address behind the #, which no server sees.

import { takeShared } from "./shareTarget";

export type Place =
  | { view: "home" | "history" | "devices" | "rules" | "start" | "welcome" | "stats" | "batch" }
  | { view: "prompt" | "terminal" | "resume" | "changes" | "confirm"; id: string }
  /** `message`: where in its record a message stands that was linked to. */
  | { view: "session"; id: string; message: number | null };

/** An address may have been cut off on its way here: then it names nothing. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return "";
  }
}

function read(hash: string): Place {
  const [view = "", part = "", more = ""] = hash.replace(/^#\/?/, "").split("/");
  const id = decoded(part);
  if (view === "p" && id) return { view: "prompt", id };
  if (view === "s" && id) return { view: "session", id, message: /^\d+$/.test(more) ? Number(more) : null };
  if (view === "t" && id) return { view: "terminal", id };
  if (view === "c" && id) return { view: "changes", id };
  if (view === "confirm" && id) return { view, id };
  if (view === "start" && id) return { view: "resume", id };
  return view === "start" || view === "stats" || view === "batch" || view === "rules" || view === "history" || view === "devices" || view === "welcome" ? { view } : { view: "home" };
}

// Room for the list beside what was chosen in it.
const room = matchMedia("(min-width: 56.25rem)");

// Shared with the app: the place is the one where it is used.
takeShared();

class Here {
  at: Place = $state.raw(read(location.hash));
  wide = $state(room.matches);
  /** From a link that was made at the machine: with it a passkey is registered. */
  passkeyCode = $state("");
  /** How many steps back stay inside the app. */
  depth = 0;
}

export const here = new Here();

room.addEventListener("change", () => (here.wide = room.matches));
// A link with a code may be opened in a tab that is open already.
function arrived(): void {
  const code = new URLSearchParams(location.hash.slice(1)).get("passkey");
  if (code) {
    here.passkeyCode = code;
    location.replace("#/devices");
  }
  here.at = read(location.hash);
}
arrived();
addEventListener("hashchange", arrived);

export const toPrompt = (id: string): string => `#/p/${encodeURIComponent(id)}`;
export const toSession = (id: string): string => `#/s/${encodeURIComponent(id)}`;

export const toMessage = (id: string, offset: number): string => `${toSession(id)}/${offset}`;
export const toChanges = (id: string): string => `#/c/${encodeURIComponent(id)}`;
export const toTerminal = (id: string): string => `#/t/${encodeURIComponent(id)}`;
export const toStart = (resume = ""): string => (resume ? `#/start/${encodeURIComponent(resume)}` : "#/start");

export const RULES = "#/rules";
export const STATS = "#/stats";
export const BATCH = "#/batch";

export function go(hash: string): void {
  here.depth++;
  location.hash = hash;
}

/** The same page, under another address: back leads where it led. */
export const becomes = (hash: string): void => location.replace(hash);

/** Back to where the person came from, or home if they came from outside. */
export function back(): void {
  if (here.depth > 0) {
    here.depth--;
    const from = location.hash;
    // Two addresses of one page stand behind each other after a link to it: that is no step.
    addEventListener("popstate", () => { if (location.hash === from) back(); }, { once: true });
    history.back();
  } else location.hash = "#/";
}
