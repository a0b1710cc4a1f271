"""What is asked, in full, on the card of the inbox: the command, the change, the plan, or what the tool gets.

Rule: as in `inbox_card`, all of it is text that `safe` has seen; of Markdown only what hides nothing is read.
"""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar, cast

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.text import Text

from yourcall.cli.terminal.render import safe, short
from yourcall.cli.views import Prompt
from yourcall.core import line_diff

# No HTML, no entities that become other letters after `safe` has looked, no definitions and pictures that hide
# their words.
_READS = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_READS.disable(["reference", "image", "entity"])


class _Heading(Heading):
    """A heading at the left, where the rest of the text begins."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag == "h1" else "bold")
        yield self.text


class _Page(Markdown):
    """A model's text with its headings, lists and tables. Links are not made: a terminal would follow them."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False, code_theme="ansi_dark")
        self.markup = safe(text, lines=True)
        self.parsed = _READS.parse(self.markup)


def body(prompt: Prompt, *, raw: bool = False) -> RenderableType:
    """The middle of the card; `raw`: as it was sent, without our layout."""
    fields = prompt.fields
    if raw:
        return _pairs(fields) if fields else Text(safe(prompt.body, lines=True))
    if prompt.command:
        return _command(prompt.command, fields)
    if prompt.kind == "plan" and (plan := str(fields.get("plan") or prompt.body)).strip():
        return _Page(plan)
    if prompt.kind == "permission" and (changed := _changes(fields)):
        return changed
    if prompt.kind == "permission" and fields:
        return _pairs(fields)
    said = prompt.body.strip("\n")
    title = prompt.title if prompt.kind in ("ready", "problem") else ""
    if said.strip() in [q.text.strip() for q in prompt.questions]:
        said = ""
    parts: list[RenderableType] = [Text(safe(title))] if title and title.strip() != said.strip() else []
    if said:
        drawn = prompt.kind in ("unknown", "permission", "startup", "trust")
        parts.append(_lines(said.split("\n")) if _is_diff(said) else _prose(said, drawn=drawn))
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _prose(text: str, *, drawn: bool) -> RenderableType:
    return Text(safe(text, lines=True)) if drawn else _Page(text)


def _command(command: str, fields: dict[str, Any]) -> RenderableType:
    text = Text()
    for number, line in enumerate(safe(command, lines=True).split("\n")):
        text.append("$ " if number == 0 else "\n  ", "dim")
        text.append(line, "bold")
    rest = {key: value for key, value in fields.items() if key not in ("command", "cmd", "description")}
    about = fields.get("description")
    parts: list[RenderableType] = [text]
    if isinstance(about, str) and about.strip():
        parts.append(Padding(Text(safe(about, lines=True), "dim"), (1, 0, 0, 0)))
    if rest:
        parts.append(Padding(_pairs(rest), (1, 0, 0, 0)))
    return Group(*parts)


def _changes(fields: dict[str, Any]) -> RenderableType | None:
    """A file that is written or changed, as lines that go and lines that come."""
    path = next((str(v) for k in ("file_path", "notebook_path", "path") if (v := fields.get(k))), "")
    edits = fields.get("edits")
    pairs: list[tuple[str, str]] = []
    for edit in cast("list[Any]", edits) if isinstance(edits, list) else [fields]:
        if isinstance(edit, dict):
            one = cast("dict[str, Any]", edit)
            old, new = one.get("old_string", one.get("old_str", "")), one.get("new_string", one.get("new_str"))
            if isinstance(old, str) and isinstance(new, str):
                pairs.append((old, new))
    content = fields.get("content", fields.get("new_source"))
    if not path or not (pairs or isinstance(content, str)):
        return None
    text = Text()
    text.append(short(path), "bold underline")
    if fields.get("replace_all") is True:
        text.append("  everywhere in the file", "yellow")
    if not pairs:
        text.append("\n")
        text.append(_lines([f"+{line}" for line in str(content).split("\n")]))
    for old, new in pairs:
        text.append("\n")
        names = line_diff.unified(old.split("\n"), new.split("\n"))[2:]
        kept = [line for line in names if not line.startswith("@@")]
        text.append(_lines(kept or [f" {line}" for line in old.split("\n")]))
    known = ("file_path", "notebook_path", "path", "edits", "content", "new_source", "replace_all")
    rest = {k: v for k, v in fields.items() if k not in known and not re.match(r"(?:old|new)_str", k)}
    return Group(text, Padding(_pairs(rest), (1, 0, 0, 0))) if rest else text


def _is_diff(text: str) -> bool:
    return bool(re.search(r"^@@ |^(?:---|\+\+\+) \S", text, re.MULTILINE)) or text.startswith("*** Begin Patch")


def _lines(lines: list[str]) -> Text:
    """Lines of a change, coloured by their first sign."""
    out = Text()
    for number, line in enumerate(lines):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        if style in ("green", "red") and not line.startswith(("+++ ", "--- ")):
            shown = f"{line[0]} {safe(line[1:], lines=True)}"
        elif style:
            shown = safe(line, lines=True)
        else:
            shown = f"  {safe(line[1:] if line[:1] == ' ' else line, lines=True)}"
        out.append("\n" if number else "")
        out.append(shown, style)
    return out


def _pairs(fields: dict[str, Any]) -> Text:
    out = Text()
    for number, (key, value) in enumerate(fields.items()):
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        out.append(("\n" if number else "") + safe(key) + ":", "dim")
        shown = safe(text, lines=True)
        out.append(("\n  " + shown.replace("\n", "\n  ")) if "\n" in shown else f" {shown}")
    return out
