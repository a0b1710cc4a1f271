"""The messages in Claude's transcript, whole: content blocks, why the model stopped, and whether it is a summary.

Rule: pure and forgiving, as `conversation` is; a line we do not know is no message.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from yourcall.agents.claude.tools import clipped
from yourcall.agents.claude.transcript import (
    LONGEST_MESSAGE,
    NO_BLOCKS,
    NOTHING,
    Fields,
    flag,
    mended,
    text,
    texts_of,
    value,
)
from yourcall.agents.kit.wire import time_of
from yourcall.model.conversation import Picture
from yourcall.model.messages import Block, Message, Role

_fields = msgspec.json.Decoder(Fields)


def read_message(line: bytes) -> Message | None:
    try:
        line.decode()
        fields = _fields.decode(line)
    except ValueError:
        try:
            fields = _fields.decode(mended(line))
        except (ValueError, RecursionError):
            return None
    except RecursionError:
        return None
    kind = text(fields, "type")
    if kind not in ("user", "assistant", "system") or flag(fields, "isMeta") or flag(fields, "isSidechain"):
        return None
    at = time_of(text(fields, "timestamp"))
    if kind == "system":
        return _system(fields, at)
    message = value(fields, "message", Fields, NOTHING)
    content = tuple(_blocks(message))
    if not content:
        return None
    role: Role = "assistant" if kind == "assistant" else "user"
    return Message(role, role, content, text(message, "stop_reason"), flag(fields, "isCompactSummary"), at)


def _system(fields: Fields, at: float) -> Message | None:
    wording = clipped(text(fields, "content"), LONGEST_MESSAGE)
    compacts = text(fields, "subtype") == "compact_boundary"
    if not wording and not compacts:
        return None
    return Message("system", "system", (Block("text", wording),), is_context_compaction=compacts, at=at)


def _blocks(message: Fields) -> list[Block]:
    whole = text(message, "content")
    if whole:
        return [Block("text", clipped(whole, LONGEST_MESSAGE))]
    return [
        made for block in value(message, "content", list[Fields], NO_BLOCKS) if (made := _block(block)) is not None
    ]


def _block(block: Fields) -> Block | None:
    match text(block, "type"):
        case "text":
            return Block("text", clipped(text(block, "text"), LONGEST_MESSAGE))
        case "thinking":
            return Block("thinking", clipped(text(block, "thinking"), LONGEST_MESSAGE))
        case "tool_use":
            given = block.get("input", Raw(b"{}"))
            return Block("tool_use", None, text(block, "name"), text(block, "id"), Raw(bytes(given)))
        case "tool_result":
            wording = clipped(texts_of(block.get("content")), LONGEST_MESSAGE)
            return Block(
                "tool_result", wording, None, text(block, "tool_use_id"), is_error=flag(block, "is_error")
            )
        case _:
            return None


DRAWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# More on one line is a contact sheet; nobody looks at those on a phone.
MOST = 20


class Source(Struct, frozen=True):
    type: str = ""
    media_type: str = ""
    data: str = ""


class PictureBlock(Struct, frozen=True):
    type: str = ""
    source: Source = Source()
    content: "str | list[PictureBlock]" = ""  # noqa: UP037 - it names itself


class PictureMessage(Struct, frozen=True):
    content: str | list[PictureBlock] = ""


class PictureLine(Struct, frozen=True):
    message: PictureMessage = PictureMessage()


_line = msgspec.json.Decoder(PictureLine)


def read_pictures(line: bytes) -> list[Picture]:
    try:
        content = _line.decode(line).message.content
    except (ValueError, RecursionError):
        return []
    pictures: list[Picture] = []
    waiting = list(content) if not isinstance(content, str) else []
    while waiting and len(pictures) < MOST:
        block = waiting.pop(0)
        if block.type == "image" and block.source.type == "base64" and block.source.media_type in DRAWN:
            pictures.append(Picture(block.source.media_type, block.source.data))
        elif block.type == "tool_result" and not isinstance(block.content, str):
            waiting[:0] = block.content
    return pictures
