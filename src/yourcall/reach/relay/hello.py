"""What the first message of a TLS connection, the ClientHello, asks for: a server's name, and protocols. Pure.

Rule: strict. What the specification forbids, and what two readers could read in two ways, is malformed: no
connection may reach another machine than its own TLS library takes itself to speak to. What is unknown but
well-formed (GREASE, ECH, new extensions) is passed over.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LARGEST = 16_384  # of the message; with post-quantum keys and ECH, browsers send about 2,500 bytes
MOST_RECORDS = 32  # that it may come in; browsers send one, some proxies a handful
LARGEST_RECORD = 16_384
RECORD_HEAD, MESSAGE_HEAD = 5, 4
LARGEST_COMING = LARGEST + MESSAGE_HEAD + MOST_RECORDS * RECORD_HEAD

_BEGIN = b"\x16\x03"  # of a record: a handshake, of some version of TLS
_CLIENT_HELLO = 1
_SERVER_NAME, _PROTOCOLS = 0, 16
_HOST_NAME = 0
_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")


class Hello(NamedTuple):
    """`name` is in lower case, and empty if none was asked for."""

    name: str
    protocols: tuple[bytes, ...]


class Malformed(NamedTuple):
    reason: str


class Incomplete(NamedTuple):
    """There is no sense in another look before there are `needed` bytes."""

    needed: int


def is_name(text: str) -> bool:
    """Is this a host's name, in lower case, that a machine can have? An address is none."""
    return _NAME.fullmatch(text) is not None


def read(data: bytes) -> Hello | Incomplete | Malformed:
    """`data`: everything that came so far; what follows the message is not looked at."""
    message = bytearray()
    at = 0
    for _ in range(MOST_RECORDS):
        if len(data) < at + RECORD_HEAD:
            begun = data[at : at + 2]
            return Incomplete(at + RECORD_HEAD) if _BEGIN.startswith(begun) else Malformed("this is no TLS")
        if not data.startswith(_BEGIN, at):
            return Malformed("this is no TLS")
        length = int.from_bytes(data[at + 3 : at + 5])
        if not 1 <= length <= LARGEST_RECORD:
            return Malformed("a record of an impossible length")
        part = data[at + RECORD_HEAD : at + RECORD_HEAD + length]
        message += part
        if message and message[0] != _CLIENT_HELLO:
            return Malformed("the first message is no ClientHello")
        at += RECORD_HEAD + length
        if len(message) >= MESSAGE_HEAD:
            whole = MESSAGE_HEAD + int.from_bytes(message[1:MESSAGE_HEAD])
            if whole > MESSAGE_HEAD + LARGEST:
                return Malformed("the ClientHello is too long")
            if len(message) - len(part) + length > whole:
                return Malformed("something follows the ClientHello in its record")
            if len(message) == whole:
                return _read_message(bytes(message[MESSAGE_HEAD:]))
        if len(part) < length:
            return Incomplete(at)
    return Malformed("the ClientHello comes in too many records")


class _Short(Exception):
    """There is less than was said, or more."""


class _Bytes:
    """Takes a message apart from its start."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise _Short
        self._at += count
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int, least: int, most: int) -> _Bytes:
        """What a length of this size goes before."""
        length = self.number(size)
        if not least <= length <= most:
            raise _Short
        return _Bytes(self.take(length))

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    @property
    def left(self) -> int:
        return len(self._data) - self._at


def _read_message(body: bytes) -> Hello | Malformed:
    try:
        return _read_body(_Bytes(body))
    except _Short:
        return Malformed("its lengths don't add up")


def _read_body(body: _Bytes) -> Hello | Malformed:
    if body.number(1) != 3:
        return Malformed("an unknown version")
    body.take(1 + 32)  # the minor version, and what is random
    body.vector(1, 0, 32)  # a session to resume
    if body.vector(2, 2, 0xFFFE).left % 2:
        return Malformed("half a cipher")
    if 0 not in body.vector(1, 1, 255).rest():
        return Malformed("it wants to be compressed")
    if not body.left:
        return Hello("", ())
    extensions = body.vector(2, 0, 0xFFFF)
    if body.left:
        return Malformed("something follows the extensions")
    name, protocols = "", ()
    seen: set[int] = set()
    while extensions.left:
        kind = extensions.number(2)
        if kind in seen:
            return Malformed("an extension is there twice")
        seen.add(kind)
        content = extensions.vector(2, 0, 0xFFFF)
        if kind == _SERVER_NAME:
            value = _server_name(content)
            if value is None:
                return Malformed("the name is none of a host")
            name = value
        elif kind == _PROTOCOLS:
            protocols = _protocols(content)
    return Hello(name, protocols)


def _server_name(content: _Bytes) -> str | None:
    """Exactly one, and of a host: the specification knows no other kind, and allows none twice."""
    names = content.vector(2, 1, 0xFFFF)
    if content.left or names.number(1) != _HOST_NAME:
        return None
    plain = names.vector(2, 1, 0xFFFF).rest().decode("ascii", "replace").lower()
    return plain if not names.left and is_name(plain) else None


def _protocols(content: _Bytes) -> tuple[bytes, ...]:
    listed = content.vector(2, 2, 0xFFFF)
    if content.left:
        raise _Short
    found: list[bytes] = []
    while listed.left:
        found.append(listed.vector(1, 1, 255).rest())
    return tuple(found)
