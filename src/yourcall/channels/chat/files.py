"""Pictures and files that people send to a chat: fetched, and kept for an agent to read.

Rule: what cannot be taken is said where somebody waits for it; nothing is looked into.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from yourcall.channels.chat.wire import Attached
from yourcall.channels.context import Uploads
from yourcall.model.prompts import Refused

# What the strictest platform lets a bot fetch.
LARGEST = 20 << 20

FORWARDED = "Not taken: forwarded messages are somebody else's words. Copy it and send it yourself if you mean it."
ONLY_WORDS = "Not taken: only words, pictures and files are. Write it, or dictate it with the keyboard."


async def kept(
    fetch: Callable[[Attached, int], Awaitable[bytes | Refused]], uploads: Uploads | None, file: Attached
) -> Path | Refused:
    """Where it is now, on this machine."""
    if uploads is None:
        return Refused("no files are taken here")
    if file.size > LARGEST:
        return Refused(f"a file may have {LARGEST >> 20} MB at most")
    content = await fetch(file, LARGEST)
    if isinstance(content, Refused):
        return content

    async def whole() -> AsyncIterator[bytes]:
        yield content

    try:
        done = await uploads.keep(file.name or "picture.jpg", whole())
    except OSError as error:
        return Refused(f"it could not be stored: {error.strerror}")
    return done if isinstance(done, Refused) else done[0]
