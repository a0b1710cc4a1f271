// A terminal's screen as tmux tells it (text and colours, nothing else) in pieces that a page can show.
// Rule: understands colours only; every other escape is dropped, and what hides is shown by its number.

export interface Cell {
  text: string;
  /** Names of classes, and colours of their own where a program uses more than the sixteen. */
  look: string;
  fg: string;
  bg: string;
}

interface Style {
  fg: string;
  bg: string;
  marks: Set<string>;
}

const ESCAPE = /\u001b\[([0-9;:]*)m|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]/g;
const ON: Record<number, string> = { 1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "swap", 8: "gone", 9: "struck" };
const OFF: Record<number, string[]> = { 22: ["bold", "dim"], 23: ["italic"], 24: ["under"], 27: ["swap"], 28: ["gone"], 29: ["struck"] };

const hex = (n: number): string => Math.max(0, Math.min(255, n || 0)).toString(16).padStart(2, "0");

/** One of 256 colours: the first sixteen follow the theme. */
function colour(n: number): string {
  if (n < 16) return `t${n}`;
  if (n >= 232) return `#${hex(8 + (n - 232) * 10).repeat(3)}`;
  const steps = [0, 95, 135, 175, 215, 255];
  const at = n - 16;
  return `#${hex(steps[Math.floor(at / 36) % 6]!)}${hex(steps[Math.floor(at / 6) % 6]!)}${hex(steps[at % 6]!)}`;
}

function apply(style: Style, codes: number[]): void {
  for (let n = 0; n < codes.length; n++) {
    const code = codes[n]!;
    if (code === 0) {
      style.fg = style.bg = "";
      style.marks.clear();
    } else if (ON[code]) style.marks.add(ON[code]);
    else if (OFF[code]) for (const mark of OFF[code]) style.marks.delete(mark);
    else if (code >= 30 && code <= 37) style.fg = `t${code - 30}`;
    else if (code >= 90 && code <= 97) style.fg = `t${code - 82}`;
    else if (code >= 40 && code <= 47) style.bg = `t${code - 40}`;
    else if (code >= 100 && code <= 107) style.bg = `t${code - 92}`;
    else if (code === 39) style.fg = "";
    else if (code === 49) style.bg = "";
    else if (code === 38 || code === 48) {
      const side = code === 38 ? "fg" : "bg";
      if (codes[n + 1] === 5) {
        style[side] = colour(codes[n + 2] ?? 0);
        n += 2;
      } else if (codes[n + 1] === 2) {
        style[side] = `#${hex(codes[n + 2]!)}${hex(codes[n + 3]!)}${hex(codes[n + 4]!)}`;
        n += 4;
      }
    }
  }
}

function cell(text: string, style: Style): Cell {
  const [fg, bg] = style.marks.has("swap") ? [style.bg || "back", style.fg || "front"] : [style.fg, style.bg];
  const named = [...style.marks, fg && !fg.startsWith("#") ? `f-${fg}` : "", bg && !bg.startsWith("#") ? `b-${bg}` : ""];
  return { text, look: named.filter(Boolean).join(" "), fg: fg.startsWith("#") ? fg : "", bg: bg.startsWith("#") ? bg : "" };
}

/** Each line in pieces of one look. */
export function lines(screen: string): Cell[][] {
  const style: Style = { fg: "", bg: "", marks: new Set() };
  return screen.split("\n").map((text) => {
    const out: Cell[] = [];
    let from = 0;
    for (const match of text.matchAll(ESCAPE)) {
      if (match.index > from) out.push(cell(text.slice(from, match.index), style));
      from = match.index + match[0].length;
      if (match[1] !== undefined) apply(style, match[1] === "" ? [0] : match[1].split(/[;:]/).map(Number));
    }
    if (from < text.length) out.push(cell(text.slice(from), style));
    return out;
  });
}

// Letters that a terminal gives two columns.
const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/gu;

/** The text in runs of characters of the same width. */
export function widths(text: string): { text: string; wide: boolean }[] {
  const out: { text: string; wide: boolean }[] = [];
  let from = 0;
  for (const match of text.matchAll(WIDE)) {
    if (match.index > from) out.push({ text: text.slice(from, match.index), wide: false });
    out.push({ text: match[0], wide: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), wide: false });
  return out;
}
