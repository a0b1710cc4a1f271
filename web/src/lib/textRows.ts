// A text in rows that a list can draw one by one: its lines, the long ones in pieces.
// Rule: nothing is left out. The pieces of a line, joined, are the line.

// A row this long is about ten lines of a phone.
export const LONGEST_ROW = 400;

/** The line in pieces of at most `LONGEST_ROW` characters; no surrogate pair is taken apart. */
export function rowPieces(line: string): string[] {
  if (line.length <= LONGEST_ROW) return [line];
  const out: string[] = [];
  let from = 0;
  while (from < line.length) {
    let end = Math.min(line.length, from + LONGEST_ROW);
    const code = line.charCodeAt(end - 1);
    if (end < line.length && code >= 0xd800 && code <= 0xdbff) end--;
    out.push(line.slice(from, end));
    from = end;
  }
  return out;
}

export interface TextRow {
  text: string;
  /** Goes on from the row above it. */
  more: boolean;
}

export function textRows(text: string): TextRow[] {
  const out: TextRow[] = [];
  for (const line of text.split("\n")) rowPieces(line).forEach((piece, n) => out.push({ text: piece, more: n > 0 }));
  return out;
}

export interface Coloured {
  text: string;
  kind: string;
}

/** The same rows of a text that is in coloured parts: as many, and each with its colours. */
export function colouredRows(parts: readonly Coloured[]): Coloured[][] {
  const all = parts.map((part) => part.text).join("");
  const out: Coloured[][] = [];
  let [part, used] = [0, 0];
  for (const line of all.split("\n")) {
    for (const piece of rowPieces(line)) {
      const row: Coloured[] = [];
      let left = piece.length;
      while (left > 0) {
        const { text, kind } = parts[part]!;
        const taken = text.slice(used, used + left);
        if (taken) row.push({ text: taken, kind });
        left -= taken.length;
        used += taken.length;
        if (used >= text.length) [part, used] = [part + 1, 0];
      }
      out.push(row);
    }
    // The line break itself.
    while (part < parts.length && used >= parts[part]!.text.length) [part, used] = [part + 1, 0];
    used++;
    while (part < parts.length && used >= parts[part]!.text.length) [part, used] = [part + 1, 0];
  }
  return out;
}
