"""Spans as Slack's rich text, and what people wrote as plain words.

Rule: rich text has no markup: nothing in it is parsed, so no word in it calls anybody, formats, or becomes a link.
The one line that is parsed (a phone's notification) is escaped.
"""

from __future__ import annotations

import html
import re
from typing import Any

from yourcall.channels.chat.draft import Key, Rows
from yourcall.channels.chat.text import Message, Span, short

# What a notification shows; the message itself is in blocks.
LONGEST_LINE = 200

_REFERENCE = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")


def line(message: Message) -> str:
    """The first line, for the notification."""
    first = message.text.partition("\n")[0]
    return short(first, LONGEST_LINE).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") or "…"


def blocks(message: Message, rows: Rows) -> list[dict[str, Any]]:
    elements: list[dict[str, Any]] = []
    for span in message.spans:
        if span.style == "pre":
            if span.text.strip():
                elements.append({"type": "rich_text_preformatted", "elements": [_plain(span.text.strip("\n"))]})
        elif text := _joined(span, elements):
            if not elements or elements[-1]["type"] != "rich_text_section":
                elements.append({"type": "rich_text_section", "elements": []})
            elements[-1]["elements"].append(_styled(span, text))
    for each in elements:
        if each["type"] == "rich_text_section" and each is not elements[-1]:
            _trim(each)
    kept = [each for each in elements if each["elements"]]
    said = [{"type": "rich_text", "elements": kept or [_section("…")]}]
    return said + [{"type": "actions", "elements": _buttons(row, n)} for n, row in enumerate(rows) if row]


def _joined(span: Span, elements: list[dict[str, Any]]) -> str:
    """Blocks stand below each other by themselves: the line break between them would be an empty line."""
    begins = elements and elements[-1]["type"] == "rich_text_preformatted"
    return span.text.removeprefix("\n") if begins else span.text


def _trim(section: dict[str, Any]) -> None:
    last = section["elements"][-1]
    last["text"] = last["text"].removesuffix("\n")
    if not last["text"]:
        section["elements"].pop()


def _section(text: str) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": [_plain(text)]}


def _plain(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _styled(span: Span, text: str) -> dict[str, Any]:
    style = {"command": "code"}.get(span.style, span.style)
    return {**_plain(text), **({"style": {style: True}} if style else {})}


def _buttons(row: list[Key], number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for at, key in enumerate(row):
        said = {"type": "plain_text", "text": key.text, "emoji": False}
        what = {"url": key.url} if key.url else {"value": key.data}
        found.append({"type": "button", "action_id": f"k{number}-{at}", "text": said, **what})
    return found


def words(text: str) -> str:
    """What somebody wrote, as they wrote it: Slack tells people, channels and links in angle brackets."""
    return html.unescape(_REFERENCE.sub(_referred, text))


def _referred(match: re.Match[str]) -> str:
    what, label = match[1], match[2] or ""
    if what[:1] in ("@", "#", "!"):
        sign = "" if what[:1] == "!" and label.startswith("@") else what[:1].replace("!", "@")
        return sign + (label or what[1:])
    typed = what.removeprefix("mailto:").removeprefix("https://").removeprefix("http://").rstrip("/")
    # Slack makes links of what only looks like one; a label of somebody's own hides where it leads.
    return what if not label else label if label.rstrip("/") in (what, typed) else f"{label} ({what})"
