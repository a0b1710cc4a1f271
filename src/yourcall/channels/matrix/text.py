"""Spans as a Matrix message: plain words, and the same as HTML.

Rule: every word is escaped, and nobody is mentioned. What a button's label has no room for stands in the message,
by the number that is on the button.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from yourcall.channels.chat.draft import Key, Rows
from yourcall.channels.chat.text import Message, Span

_TAGS = {"bold": "strong", "italic": "em", "code": "code", "command": "code"}

# What clients show of a reaction at the least; the shortest cut after sixteen.
LONGEST_LABEL = 15

# Circled numbers tell the second showing of a label from the first; a keycap is around the number of a long one.
AGAIN = "②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_KEYCAP = "\u20e3"

# The most that stands under one message: each is an event of its own, and homeservers count them.
MOST_KEYS = 20


def content(message: Message, rows: Rows) -> dict[str, Any]:
    spans = [*message.spans, *_legend(rows)]
    return {
        "msgtype": "m.text",
        "body": "".join(span.text for span in spans),
        "format": "org.matrix.custom.html",
        "formatted_body": "".join(map(_html, spans)),
        "m.mentions": {},
    }


def edited(content: dict[str, Any], event: str) -> dict[str, Any]:
    """The outer words are for clients that know no edits; they would show everything twice."""
    return {
        "msgtype": "m.text",
        "body": "* (edited)",
        "m.mentions": {},
        "m.new_content": content,
        "m.relates_to": {"rel_type": "m.replace", "event_id": event},
    }


def labels(rows: Rows) -> list[tuple[str, Key]]:
    """What each button is called, in a reaction."""
    keys = [key for row in rows for key in row if not key.url]
    return [(key.text if _short(key) else _number(at), key) for at, key in enumerate(keys, 1)]


def _short(key: Key) -> bool:
    """It may be a word of its own: whole, and nothing that could be one of our numbers."""
    said = any(char.isalpha() for char in key.text) and not any(
        char in AGAIN or char == _KEYCAP for char in key.text
    )
    return said and len(key.text) <= LONGEST_LABEL


def _number(at: int) -> str:
    return f"{at}\ufe0f{_KEYCAP}" if at < 10 else str(at)


def _legend(rows: Rows) -> Sequence[Span]:
    spans: list[Span] = []
    for label, key in labels(rows):
        if not _short(key):
            spans += [Span(f"\n{label} "), Span(key.text, "code")]
    links = [key for row in rows for key in row if key.url]
    for key in links:
        spans.append(Span(f"\n{key.text}: {key.url}"))
    return spans


def _html(span: Span) -> str:
    text = escape(span.text, quote=False)
    if span.style == "pre":
        language = f' class="language-{span.language}"' if span.language else ""
        return f"<pre><code{language}>{text}</code></pre>" if span.text.strip() else ""
    lines = text.replace("\n", "<br/>")
    tag = _TAGS.get(span.style)
    return f"<{tag}>{lines}</{tag}>" if tag else lines
