"""The pictures in one line of Claude's transcript: what a person showed it, and what its tools saw.

Rule: only what every browser draws and nothing that could act (no SVG); a line that is not as expected has none.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from yourcall.model.conversation import Picture

DRAWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# More on one line is a contact sheet; nobody looks at those on a phone.
MOST = 20


class Source(Struct, frozen=True):
    type: str = ""
    media_type: str = ""
    data: str = ""


class Block(Struct, frozen=True):
    type: str = ""
    source: Source = Source()
    content: "str | list[Block]" = ""  # noqa: UP037 - it names itself


class Message(Struct, frozen=True):
    content: str | list[Block] = ""


class Line(Struct, frozen=True):
    message: Message = Message()


_line = msgspec.json.Decoder(Line)


def read_pictures(line: bytes) -> list[Picture]:
    try:
        content = _line.decode(line).message.content
    except (ValueError, RecursionError):
        return []
    found: list[Picture] = []
    waiting = list(content) if not isinstance(content, str) else []
    while waiting and len(found) < MOST:
        block = waiting.pop(0)
        if block.type == "image" and block.source.type == "base64" and block.source.media_type in DRAWN:
            found.append(Picture(block.source.media_type, block.source.data))
        elif block.type == "tool_result" and not isinstance(block.content, str):
            waiting[:0] = block.content
    return found
