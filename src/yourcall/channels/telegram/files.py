"""Pictures and files that people send to a chat: fetched, and kept for an agent to read.

Rule: what cannot be taken is said where somebody waits for it; nothing is looked into.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from yourcall.channels.context import Uploads
from yourcall.channels.telegram.api import Api, carried
from yourcall.channels.telegram.wire import Attached, IncomingMessage
from yourcall.model.prompts import Refused

# What Telegram lets a bot fetch.
LARGEST = 20 << 20

FORWARDED = "Not taken: forwarded messages are somebody else's words. Copy it and send it yourself if you mean it."
ONLY_WORDS = "Not taken: only words, pictures and files are. Write it, or dictate it with the keyboard."


async def fetched(api: Api, uploads: Uploads | None, file: Attached) -> Path | Refused:
    """Where it is now, on this machine."""
    if uploads is None:
        return Refused("no files are taken here")
    if file.file_size > LARGEST:
        return Refused(f"a file may have {LARGEST >> 20} MB at most")
    content = await api.download(file.file_id, LARGEST)
    if not isinstance(content, bytes):
        return Refused(carried(content).why)

    async def whole() -> AsyncIterator[bytes]:
        yield content

    try:
        done = await uploads.keep(file.file_name or "picture.jpg", whole())
    except OSError as error:
        return Refused(f"it could not be stored: {error.strerror}")
    return done if isinstance(done, Refused) else done[0]


def not_taken(heard: IncomingMessage) -> bool:
    """Somebody said something that is not read. A group's other news (who joined, what was pinned) is none."""
    sound = (heard.voice, heard.audio, heard.video, heard.video_note)
    return any(bytes(each) for each in (*sound, heard.sticker, heard.location, heard.contact))
