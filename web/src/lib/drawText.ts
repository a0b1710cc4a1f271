// Draws pieces of a text into an element: the quick way for rows, of which there may be hundreds at a time.
// Rule: text becomes text nodes and nothing else; invisible characters are shown by their number.

import { hides, pieces } from "./safeText";

export interface TextPart {
  text: string;
  /** Its colour: the name of a class. */
  kind?: string;
  changed?: boolean;
}

const PLAIN = /^[\x20-\x7e\t\n]*$/;

function append(parent: Element, text: string): void {
  if (PLAIN.test(text) || !hides(text)) return void parent.append(text);
  for (const piece of pieces(text)) {
    if (!piece.hidden) {
      parent.append(piece.text);
      continue;
    }
    const mark = document.createElement("span");
    mark.className = "hidden";
    mark.title = "An invisible character";
    mark.textContent = piece.text;
    parent.append(mark);
  }
}

export function drawText(element: Element, parts: readonly TextPart[]): { update(parts: readonly TextPart[]): void } {
  const draw = (all: readonly TextPart[]): void => {
    element.replaceChildren();
    for (const { text, kind, changed } of all) {
      if (!kind && !changed) {
        append(element, text);
        continue;
      }
      const part = document.createElement(changed ? "mark" : "span");
      if (kind) part.className = kind;
      append(part, text);
      element.append(part);
    }
  };
  draw(parts);
  return { update: draw };
}
