"""The Bot API of Telegram: one method called, and what its end means.

Rule: the token is part of every address, so no address and no request ever reaches a log, an error or a person.
"""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from yourcall.channels.channel import Failed, Gone, Later, Sent, Unclear, World
from yourcall.channels.http import LONGEST_WAIT_S, download, request, trouble

# What Telegram takes in one message, in UTF-16 units; and the bytes behind a button.
LONGEST_TEXT = 4096
LONGEST_DATA = 64

# A reply may take this much longer than the long poll it ends.
SLACK_S = 15.0

# Between two pieces of a file.
FILE_S = 30.0

# How Telegram words that a chat is closed to us for good.
_GONE = (
    "bot was blocked by the user",
    "user is deactivated",
    "bot was kicked",
    "chat not found",
    "bot is not a member",
    "group chat was deleted",
    "the group chat was upgraded",
)


class Said(Struct, frozen=True):
    """It worked; `result` is what the method returns, not looked into yet."""

    result: msgspec.Raw


class Refusal(Struct, frozen=True):
    """Telegram understood and said no: `words` are its own."""

    code: int
    words: str
    moved_to: int = 0


Trouble = Later | Unclear | Failed | Gone


class _More(Struct):
    retry_after: float = 0.0
    migrate_to_chat_id: int = 0


class _Reply(Struct):
    ok: bool
    result: msgspec.Raw = msgspec.Raw(b"null")
    error_code: int = 0
    description: str = ""
    parameters: _More = msgspec.field(default_factory=_More)


class _File(Struct):
    file_path: str


class Api:
    def __init__(self, world: World, server: str, token: str) -> None:
        self._world = world
        self._base = f"{server.rstrip('/')}/bot{token}"
        self._files = f"{server.rstrip('/')}/file/bot{token}"

    async def call(
        self,
        method: str,
        fields: dict[str, Any],
        *,
        file: tuple[str, str, bytes] | None = None,
        poll_s: float = 0.0,
    ) -> Said | Refusal | Trouble:
        """`file`: the field it goes in, its name, its content. `poll_s`: how long Telegram may take to answer."""
        kind, content = _form(fields, file) if file else ("application/json", msgspec.json.encode(fields))
        reply = await request(
            self._world,
            "POST",
            f"{self._base}/{method}",
            content=content,
            headers={"Content-Type": kind},
            patience=poll_s + SLACK_S if poll_s else None,
        )
        if isinstance(reply, Struct):
            return reply
        try:
            said = msgspec.json.decode(reply.content, type=_Reply)
        except (msgspec.DecodeError, RecursionError):
            wrong = trouble(reply)
            no_api = Later("it answered something that is not the Bot API")
            return no_api if wrong is None or isinstance(wrong, Sent) else wrong
        if said.ok:
            return Said(said.result)
        code = said.error_code or reply.status_code
        if code == 429:
            return Later("it said: too many requests", min(max(said.parameters.retry_after, 1.0), LONGEST_WAIT_S))
        if code >= 500:
            return Later(f"it said {code}")
        if code == 401 or (code == 404 and said.description == "Not Found"):
            return Failed("Telegram does not know this bot: check the token in secrets.toml")
        return Refusal(code, said.description, said.parameters.migrate_to_chat_id)

    async def download(self, file_id: str, most: int) -> bytes | Refusal | Trouble:
        """A file that somebody sent."""
        end = await self.call("getFile", {"file_id": file_id})
        if not isinstance(end, Said):
            return end
        try:
            path = msgspec.json.decode(end.result, type=_File).file_path
        except msgspec.DecodeError:
            return Failed("it did not say where the file is")
        return await download(self._world, f"{self._files}/{quote(path)}", patience=FILE_S, most=most)


def carried(end: Refusal | Trouble) -> Trouble:
    """What a 'no' means for a notice."""
    if not isinstance(end, Refusal):
        return end
    words = end.words.lower()
    if any(each in words for each in _GONE):
        return Gone(f"this chat is closed to the bot ({end.words[:80]})")
    return Failed(f"it said {end.code}: {end.words[:120]}")


def _form(fields: dict[str, Any], file: tuple[str, str, bytes]) -> tuple[str, bytes]:
    """multipart/form-data: the only way a file goes along."""
    edge = secrets.token_hex(16)
    parts: list[bytes] = []
    for name, value in fields.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        parts.append(f'--{edge}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode())
    field, name, content = file
    head = f'--{edge}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
    parts += [
        head.encode(),
        b"Content-Type: text/plain; charset=utf-8\r\n\r\n",
        content,
        f"\r\n--{edge}--\r\n".encode(),
    ]
    return f"multipart/form-data; boundary={edge}", b"".join(parts)
