// Markdown of an agent as markup that does nothing: no pictures, no links, no forms, no styles.
// Rule: whatever the Markdown says, the last word is the sanitiser's short list of plain tags without attributes.

import DOMPurify from "dompurify";
import { Marked } from "marked";
import { plain } from "./visible";

const TAGS = ["h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "strong", "em", "del", "code", "pre",
  "blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td", "span"];

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

export function inert(text: string): string {
  const html = marked.parse(plain(text), { async: false });
  return DOMPurify.sanitize(html, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: [], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false });
}
