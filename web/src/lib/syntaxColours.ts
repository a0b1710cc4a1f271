// Colours for source text: only colours, and only text comes out; markup is never made here.

import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { Part } from "./changes";

const painter = createLowlight({
  bash, cpp, csharp, css, dockerfile, go, ini, java, javascript, json, kotlin, lua, makefile, markdown, php, python, ruby,
  rust, sql, swift, typescript, xml, yaml,
});

// A longer line is data; nobody reads it by its colours.
const LONGEST = 1000;

const KINDS: Record<string, string> = {
  keyword: "flag", literal: "flag", operator: "op", string: "string", regexp: "string", symbol: "var", number: "var",
  comment: "note", doctag: "note", title: "name", function: "name", section: "name", name: "name", attr: "name",
  attribute: "name", property: "name", built_in: "var", type: "var", class: "var", variable: "var", params: "",
  meta: "note", tag: "", selector: "flag", bullet: "flag", strong: "flag",
};

export interface Paint {
  text: string;
  kind: string;
  changed: boolean;
}

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  properties?: { className?: unknown };
}

function walk(nodes: Node[], kind: string, out: { text: string; kind: string }[]): void {
  for (const node of nodes) {
    if (node.type === "text") out.push({ text: node.value ?? "", kind });
    else if (node.children) {
      const names = Array.isArray(node.properties?.className) ? node.properties.className.map(String) : [];
      const own = names.map((name) => KINDS[name.replace(/^hljs-/, "").split("-")[0]!.replace(/_+$/, "")]).find((one) => one !== undefined);
      walk(node.children, own ?? kind, out);
    }
  }
}

/** The parts of a line, each in pieces of one colour. */
export function painted(parts: Part[], language: string): Paint[] {
  const whole = parts.map((part) => part.text).join("");
  if (whole.length > LONGEST || !painter.registered(language)) return parts.map((part) => ({ ...part, kind: "" }));
  const colours: { text: string; kind: string }[] = [];
  walk(painter.highlight(language, whole).children as Node[], "", colours);
  const out: Paint[] = [];
  let at = 0;
  let used = 0;
  for (const part of parts) {
    let left = part.text.length;
    while (left > 0) {
      const colour = colours[at] ?? { text: part.text.slice(-left), kind: "" };
      const text = colour.text.slice(used, used + left);
      if (text) out.push({ text, kind: colour.kind, changed: part.changed });
      left -= text.length;
      used += text.length;
      if (used >= colour.text.length) {
        at++;
        used = 0;
      }
    }
  }
  return out;
}
