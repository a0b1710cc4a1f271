// Where in the app the person is; kept in the address behind the #, which no server sees.

export type Place =
  | { view: "inbox" | "sessions" | "history" | "devices" | "rules" | "start" }
  | { view: "prompt" | "session" | "terminal" | "resume"; id: string };

/** An address may have been cut off on its way here: then it names nothing. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return "";
  }
}

function read(hash: string): Place {
  const [view = "", part = ""] = hash.replace(/^#\/?/, "").split("/");
  const id = decoded(part);
  if (view === "p" && id) return { view: "prompt", id };
  if (view === "s" && id) return { view: "session", id };
  if (view === "t" && id) return { view: "terminal", id };
  if (view === "start" && id) return { view: "resume", id };
  return view === "start" || view === "rules" || view === "sessions" || view === "history" || view === "devices" ? { view } : { view: "inbox" };
}

class Here {
  at: Place = $state.raw(read(location.hash));
  /** How many steps back stay inside the app. */
  depth = 0;
}

export const here = new Here();

addEventListener("hashchange", () => {
  here.at = read(location.hash);
});

export const toPrompt = (id: string): string => `#/p/${encodeURIComponent(id)}`;
export const toSession = (id: string): string => `#/s/${encodeURIComponent(id)}`;

export const toTerminal = (id: string): string => `#/t/${encodeURIComponent(id)}`;
export const toStart = (resume = ""): string => (resume ? `#/start/${encodeURIComponent(resume)}` : "#/start");

export const RULES = "#/rules";

export function go(hash: string): void {
  here.depth++;
  location.hash = hash;
}

/** The same page, under another address: back leads where it led. */
export const becomes = (hash: string): void => location.replace(hash);

/** Back to where the person came from, or to the inbox if they came from outside. */
export function back(): void {
  if (here.depth > 0) {
    here.depth--;
    history.back();
  } else location.hash = "#/";
}
