"""TLS on a connection whose first bytes were read already, which asyncio's own can't take up.

Rule: nothing is kept that the other side does not take. A reader and a writer may be at work at once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
PIECE = 64 * 1024


class TlsStream:
    """The server's side of it. `first`: what was read of the connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext, first: bytes
    ) -> None:
        self._reader, self._writer = reader, writer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._incoming.write(first)

    async def handshake(self) -> None:
        await self._done(self._tls.do_handshake)

    async def read(self) -> bytes:
        """What has come; nothing at its end."""
        try:
            return await self._done(lambda: self._tls.read(PIECE))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError, ssl.SSLSyscallError):
            return b""

    async def line(self, longest: int) -> bytes:
        """Up to a line feed, which is all that may come until we reply."""
        found = b""
        while not found.endswith(b"\n"):
            piece = await self.read()
            found += piece
            if not piece or len(found) > longest or b"\n" in found[:-1]:
                raise ConnectionError("no line came")
        return found

    async def write(self, data: bytes) -> None:
        self._tls.write(data)  # whole: it goes to memory
        await self._flush()

    async def end(self) -> None:
        """Say that nothing follows; what still comes can be read."""
        with suppress(ssl.SSLError):
            self._tls.unwrap()
        await self._flush()
        self._writer.write_eof()

    def abort(self) -> None:
        self._writer.transport.abort()

    async def _done(self, act: Callable[[], T]) -> T:
        while True:
            try:
                done = act()
            except ssl.SSLWantReadError:
                await self._flush()
                data = await self._reader.read(PIECE)
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            except ssl.SSLError:
                with suppress(OSError):
                    await self._flush()  # the alert says why
                raise
            else:
                await self._flush()
                return done

    async def _flush(self) -> None:
        data = self._outgoing.read()
        if data:
            self._writer.write(data)
            await self._writer.drain()
