"""The input box of Gemini CLI: what lies in it, and how a text is made safe for it.

Rule: what is in the box is told from its hint by where the cursor stands, never by its words alone.
"""

from __future__ import annotations

import re
import unicodedata

from yourcall.agents.gemini.screen.read import read_screen
from yourcall.agents.kit.text import clean, titled
from yourcall.agents.screen_spec import PreparedText
from yourcall.core.safety import LONGEST_TEXT
from yourcall.model.prompts import Refused

_RULE = re.compile(r"─{8,}$|▀{8,}$")
_LOWER = re.compile(r"▄{8,}$")
_BOX = re.compile(r" ?([>*!$]) (.*)$")
_HINT = re.compile(r" {2}\S")  # the cursor, and a space, stand before it
_FOLDED = re.compile(r"\[Pasted Text: (\d+) (lines|chars)(?: #\d+)?\]")
ENOUGH_SEEN = 60


def draft(screen: str) -> str | None:
    """What is written in the input box; the hint in it is not. None: there is no input box."""
    if read_screen(screen, titled(screen)).state == "waiting":
        return None
    lines = clean(screen)
    rule = next((n for n in range(len(lines) - 1, -1, -1) if _RULE.match(lines[n])), None)
    if rule is None:
        return None
    at = next((n for n in range(rule + 1, len(lines)) if _BOX.match(lines[n])), None)
    match = _BOX.match(lines[at]) if at is not None else None
    if at is None or match is None:
        return None
    end = next((n for n in range(at, len(lines)) if _LOWER.match(lines[n])), None)
    if end is None:
        # The lines of the footer stand below the last empty line.
        end = next((n for n in range(len(lines) - 1, at, -1) if not lines[n]), len(lines))
    if match[1] in ">*" and (not match[2].strip() or (_HINT.match(match[2]) and end == at + 1)):
        return ""
    text = "\n".join([match[2].strip(), *(line.strip() for line in lines[at + 1 : end])]).strip()
    return text if match[1] in ">*" else match[1] + text


def typed(text: str, as_command: bool) -> PreparedText | Refused:
    """The text as it has to be pasted so that Gemini CLI takes it for a message, word by word."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return Refused("There is nothing to send.")
    if len(text) > LONGEST_TEXT:
        return Refused(f"The text is longer than {LONGEST_TEXT:,} characters; put it into a file of the project.")
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        return Refused("The text has control characters in it; take them out.")
    if text.lstrip().startswith("/") and not as_command:
        return Refused(
            "Gemini CLI takes what begins with / for a command. Put a word in front, or mean it: --command"
        )
    note = "tabs arrive as four spaces" if "\t" in text else ""
    # A backslash before Enter would mean a new line, and nothing would be sent.
    return PreparedText(text + " " if text.endswith("\\") else text, note=note)


def arrived(draft: str, sent: PreparedText) -> bool:
    """Is what lies in the input box what was pasted, and nothing else? Wraps and new lines look the same there."""
    piece = _FOLDED.fullmatch(draft)
    if piece is not None:
        count = sent.paste.count("\n") + 1 if piece[2] == "lines" else len(sent.paste)
        return int(piece[1]) == count
    shown, meant = "".join(draft.split()), "".join(sent.paste.split())
    # In a small window the input box shows only a part of a long text.
    return shown == meant or (len(shown) >= ENOUGH_SEEN and shown in meant)
