"""The input box of any agent: which texts may be pasted into it, and whether one arrived.

Rule: what every agent refuses is refused here; what only one of them reads as a command stands in its folder.
"""

from __future__ import annotations

import unicodedata

from yourcall.agents.screen_spec import PreparedText
from yourcall.core.safety import LONGEST_TEXT
from yourcall.model.prompts import Refused

ENOUGH_SEEN = 60  # in a small window the input box shows only a part of a long text


def sendable(text: str) -> str | Refused:
    """The text with plain line ends, or why it can't be sent to any agent."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return Refused("There is nothing to send.")
    if len(text) > LONGEST_TEXT:
        return Refused(f"The text is longer than {LONGEST_TEXT:,} characters; put it into a file of the project.")
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        return Refused("The text has control characters in it; take them out.")
    return text


def unescaped(text: str) -> str:
    """A backslash before Enter would mean a new line, and nothing would be sent."""
    return text + " " if text.endswith("\\") else text


def squeezed(text: str) -> str:
    """Without white space, which wraps and frames change."""
    return "".join(text.split())


def visible(text: str) -> str:
    """Without white space and invisible characters."""
    return "".join(char for char in text if not char.isspace() and unicodedata.category(char) != "Cf")


def shows_all(draft: str, sent: PreparedText) -> bool:
    """Does the input box hold what was pasted, and nothing else? Wraps and new lines look the same there."""
    shown_text, text = visible(draft), visible(sent.paste)
    return shown_text == text or (len(shown_text) >= ENOUGH_SEEN and shown_text in text)
