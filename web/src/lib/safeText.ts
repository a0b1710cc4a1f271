// Words of others, made safe to look at.
// Rule: nothing that draws no ink, turns the reading direction or looks like a space may hide in a command; it is
// shown by its number. Text only ever becomes text nodes, so markup needs no care here.

// Control, format, surrogate, private and unassigned letters, line and paragraph marks, every blank but the plain one.
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;

// An emoji may be made of several letters joined by these; after a picture they hide nothing.
const JOINED = /(?<=\p{Extended_Pictographic}\u{1f3fb}?|[\u{1f3fb}-\u{1f3ff}]|\ufe0f)(?:\ufe0f|\u200d(?=\p{Extended_Pictographic}))/gu;

export interface Piece {
  text: string;
  hidden: boolean;
}

const name = (letter: string): string =>
  `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** The text in pieces: what can be read as it is, and what hides, by its name. */
export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let from = 0;
  const kept = new Set<number>();
  for (const joint of text.matchAll(JOINED)) kept.add(joint.index);
  for (const match of text.matchAll(HIDDEN)) {
    if (kept.has(match.index)) continue;
    if (match.index > from) out.push({ text: text.slice(from, match.index), hidden: false });
    out.push({ text: name(match[0]), hidden: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), hidden: false });
  return out;
}

/** The same as one string, for titles and labels. */
export const plain = (text: unknown): string =>
  pieces(String(text ?? ""))
    .map((piece) => (piece.hidden ? `‹${piece.text}›` : piece.text))
    .join("");

/** On one line. */
export const line = (text: unknown): string => plain(String(text ?? "").replace(/\s*[\r\n\t]+\s*/g, " ").trim());

export const hides = (text: string): boolean => pieces(text).some((piece) => piece.hidden);

/** Prose without the marks of Markdown that a reader of plain text trips over. */
export const unmarked = (text: string): string => text.replace(/^[ \t]*(?:#{1,6}|>|[*-])[ \t]+/gm, "").replace(/\*\*|__|`+/g, "");
