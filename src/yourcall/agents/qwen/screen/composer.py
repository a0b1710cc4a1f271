"""The input box of Qwen Code: what lies in it, and how a text is made safe for it.

Rule: a grey suggestion is told from a draft by how it is drawn, never by its words; what cannot be told is a
draft.
"""

from __future__ import annotations

import re
import unicodedata

from yourcall.agents.kit.text import clean, titled
from yourcall.agents.qwen.screen.read import composer_at, read_screen
from yourcall.agents.screen_spec import PreparedText
from yourcall.core.safety import LONGEST_TEXT
from yourcall.model.prompts import Refused

_BOX = re.compile(r"([>!*]) ?(.*)$")
_HINT = "  Type your message or @path/to/file"
_FOLDED = re.compile(r"\[Pasted Content (\d+) chars\](?: #\d+)?")
# The cursor on the first letter (underlined), and the rest of the line in a colour: what a person writes has none.
_SUGGESTED = re.compile(
    r"^(?:\x1b\[[\d;]*m)*> (?:\x1b\[[\d;]*m)*\x1b\[4m(?:\x1b\[[\d;]*m)*\S(?:\x1b\[[\d;]*m)*\x1b\[38;", re.M
)
ENOUGH_SEEN = 60


def draft(screen: str) -> str | None:
    """What is written in the input box; the hint in it is not. None: there is no input box."""
    if read_screen(screen, titled(screen)).state == "waiting":
        return None
    lines = clean(screen)
    rule = composer_at(lines)
    if rule is None:
        return None
    end = next((n for n in range(rule + 1, len(lines)) if lines[n].startswith("─" * 8)), len(lines))
    inside = lines[rule + 1 : end]
    match = _BOX.match(inside[0]) if inside else None
    if match is None:
        return None
    rest = "\n".join([match[2], *(line.strip() for line in inside[1:])])
    text = rest.replace("\u200b", "").strip()
    if match[1] == ">" and (not text or f" {match[2]}" == _HINT or match[2] == _HINT or _SUGGESTED.search(screen)):
        return ""
    return text if match[1] == ">" else match[1] + text


def typed(text: str, as_command: bool) -> PreparedText | Refused:
    """The text as it has to be pasted so that Qwen Code takes it for a message, word by word."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return Refused("There is nothing to send.")
    if len(text) > LONGEST_TEXT:
        return Refused(f"The text is longer than {LONGEST_TEXT:,} characters; put it into a file of the project.")
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        return Refused("The text has control characters in it; take them out.")
    if text.lstrip().startswith(("/", "!", "?")) and not as_command:
        return Refused(
            "Qwen Code takes what begins with /, ! or ? for a command. Put a word in front, or mean it: --command"
        )
    if text.strip() in ("exit", "quit", ":q", ":q!", ":wq", ":wq!") and not as_command:
        return Refused(
            f"Qwen Code takes {text.strip()!r} for its end. Say it in other words, or mean it: --command"
        )
    # A backslash before Enter would mean a new line, and nothing would be sent.
    return PreparedText(text + " " if text.endswith("\\") else text)


def arrived(draft: str, sent: PreparedText) -> bool:
    """Is what lies in the input box what was pasted, and nothing else? Wraps and new lines look the same there."""
    piece = _FOLDED.fullmatch(draft)
    if piece is not None:
        return int(piece[1]) == len(sent.paste)
    shown, meant = "".join(draft.split()), "".join(sent.paste.split())
    # In a small window the input box shows only a part of a long text.
    return shown == meant or (len(shown) >= ENOUGH_SEEN and shown in meant)
