// Markdown of an agent as markup that does nothing: no pictures, no links, no forms, no styles.
// Rule: whatever the Markdown says, the last word is the sanitiser's short list of plain tags without attributes;
// and what would not be seen whole (notes, titles, cells too many, characters by number) is not drawn at all.

import DOMPurify from "dompurify";
import { Marked } from "marked";
import { hides, plain } from "./safeText";

const TAGS = ["h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "strong", "em", "del", "code", "pre",
  "blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td", "span"];
const SHORT = { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: [], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false };

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  renderer: {
    // A link leads nowhere, and shows where it would have led.
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      return `${text} <code>${escaped(href)}</code>`;
    },
    image: ({ href, text }) => `<code>[picture ${escaped(text)} ${escaped(href)}]</code>`,
    html: ({ text }) => escaped(text),
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

// Markup that is drawn and not written: numbers of lists, ticks of boxes, and the language of a block of code.
const DRAWN = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)+(?:\[[xX]\](?=\s))?|^[\s>]*(?:```+|~~~+)[ \t]*[\w+#.-]{1,20}[ \t]*$/gm;

const characters = (text: string): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const letter of text.match(/[\p{L}\p{N}]/gu) ?? []) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  return counts;
};

/** Is every letter that was written among those that are shown? */
function whole(written: string, shown: string): boolean {
  const there = characters(shown);
  return [...characters(written.replace(DRAWN, ""))].every(([letter, times]) => (there.get(letter) ?? 0) >= times);
}

/** The text, drawn; empty if Markdown would leave out some of it, or put characters in that are not there. */
export function inert(text: string): string {
  const seen = plain(text);
  const html = marked.parse(seen, { async: false });
  const shown = DOMPurify.sanitize(html, { ...SHORT, RETURN_DOM: true }).textContent ?? "";
  return whole(seen, shown) && !hides(shown) ? DOMPurify.sanitize(html, SHORT) : "";
}
