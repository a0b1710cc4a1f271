"""Spans as Telegram's entities, in UTF-16 units."""

from __future__ import annotations

from typing import Any

from yourcall.channels.chat.text import Message, units

_STYLES = {"command": "code"}


def entities(message: Message) -> list[dict[str, Any]]:
    """Telegram trims the ends of an entity, and refuses an empty one."""
    found: list[dict[str, Any]] = []
    at = 0
    for span in message.spans:
        if span.style and (inner := span.text.strip()):
            lead = units(span.text) - units(span.text.lstrip())
            kind = _STYLES.get(span.style, span.style)
            entity: dict[str, Any] = {"type": kind, "offset": at + lead, "length": units(inner)}
            found.append({**entity, "language": span.language} if span.language else entity)
        at += units(span.text)
    return found
