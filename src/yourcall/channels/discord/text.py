"""Spans as a message of Discord's, whose content is always markup.

Rule: every word that is not ours stands in a code span or block, where Discord makes nothing of it; what would end
one has an invisible letter in it. Our own words are escaped. Nobody is ever mentioned.
"""

from __future__ import annotations

import re

from yourcall.channels.chat.text import Message, Span, units

LONGEST_TEXT = 2000

# Between two signs that would be one together.
_APART = "\u200b"

_MARKUP = re.compile(r"([\\*_~`|<>\[\]])")
_TWO = re.compile(r"`(?=`)")


def content(message: Message) -> str:
    parts: list[str] = []
    for span in message.spans:
        text = _rendered(span)
        if parts and parts[-1].endswith("`") and text.startswith("`"):
            parts.append(_APART)
        parts.append(text)
    return "".join(parts).strip() or "…"


def fits(message: Message) -> bool:
    return units(content(message)) <= LONGEST_TEXT


def _rendered(span: Span) -> str:
    text = span.text
    inner = text.strip()
    if not inner or span.style == "":
        return _escaped(text)
    if span.style == "pre" or (span.style in ("code", "command") and "\n" in inner):
        # Its last line is its own: a fence behind a backtick would be another one.
        return f"```{span.language}\n{_apart(inner)}\n```"
    lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    if span.style in ("code", "command"):
        return lead + _code(inner) + tail
    mark = "**" if span.style == "bold" else "*"
    return lead + mark + _escaped(inner) + mark + tail


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def _code(text: str) -> str:
    if "`" not in text:
        return f"`{text}`"
    inner = _TWO.sub(f"`{_APART}", text)
    return f"`` {inner} ``"


def _apart(text: str) -> str:
    """No three backticks stand together, however many there are."""
    return re.sub(r"`{3,}", lambda found: _APART.join(found[0]), text)
