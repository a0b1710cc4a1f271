// A text that another app has shared with this one: it becomes the beginning of an instruction, and is kept nowhere.

let text = "";

/** Taken out of the address before anything else happens; true if there was one. */
export function takeShared(): boolean {
  const asked = new URLSearchParams(location.search);
  text = ["title", "text", "url"].map((name) => asked.get(name) ?? "").filter(Boolean).join("\n");
  if (!text) return false;
  history.replaceState(null, "", `${location.pathname}#/start`);
  return true;
}

/** Once: whoever comes back to the page begins anew. */
export function shared(): string {
  const mine = text;
  text = "";
  return mine;
}
