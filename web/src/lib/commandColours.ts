// Colours for a shell command: only colours, decided by looks; nothing is understood here.

export interface Token {
  text: string;
  kind: "" | "string" | "flag" | "op" | "var" | "note";
}

// A phone colours this much at once; a longer text is shown plain.
const LONGEST = 10_000;

const PARTS =
  /(?<string>'[^']*'|"(?:\\[^]|[^"\\])*")|(?<note>(?<=^|\s)#[^\n]*)|(?<var>\$(?:\{[^}]*\}|\w+|[@*#?!$-]))|(?<op>&&|\|\|?|;;?|[0-9]?>>?&?|<<?<?-?|\$\(|[()`&])|(?<flag>(?<=\s)--?[A-Za-z][\w-]*)/g;

export function tokens(text: string): Token[] {
  if (text.length > LONGEST) return [{ text, kind: "" }];
  const out: Token[] = [];
  let from = 0;
  for (const match of text.matchAll(PARTS)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index), kind: "" });
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? "";
    out.push({ text: match[0], kind: kind as Token["kind"] });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), kind: "" });
  return out;
}
