"""Any program in a tmux pane, as the rest of yourcall sees it: it tells nothing, and keeps no record."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator

from yourcall.agents.kit.text import clean, titled
from yourcall.agents.screen_spec import Offer, Paste, PreparedText, Press, ScreenSpec, Snapshot, key_options
from yourcall.agents.spec import Agent, Grade, HookReply, Reach
from yourcall.core.safety import LONGEST_TEXT
from yourcall.model.prompts import Answer, Prompt, Question, Refused
from yourcall.model.screen import Reading

# Programs that work show it: a spinner, a clock, output. After this long without any change, it is worth a look.
SILENCE_S = 10.0

DECISION = "decision"
NEXT = "next"
KEY_BAR = ("enter", "escape", "up", "down", "left", "right", "tab", "space", "backspace", *"123456789")
LONGEST_TITLE = 120

# A last line that ends in one of these is where a program may wait for a line of text.
_INPUT = re.compile(r".{0,80}?[>❯›»$#%](?:[ \u00a0](?P<draft>.*))?$")
_ASKS = re.compile(r"\b(?:action required|waiting|needs? (?:your )?(?:input|attention)|approval)\b|✋|🔔|❓", re.I)

_CHANGED = "The screen has changed since you saw it; nothing was pressed."


def read(screen: str) -> Snapshot:
    """Always something to look at; whether it waits is told by how long it stands still."""
    lines = clean(screen)
    while lines and not lines[0]:
        lines.pop(0)
    text = "\n".join(lines)
    title = titled(screen) or ""
    return Snapshot(
        Reading("waiting", "unknown", title=title or None), text, f"generic:{title}\n{text}" if text else ""
    )


def urgent(shot: Snapshot) -> bool:
    """The program itself says in its title that it waits."""
    return _ASKS.search(shot.reading.title or "") is not None


def offer(shot: Snapshot) -> Offer:
    named = " ".join((shot.reading.title or "").split())[:LONGEST_TITLE]
    who = f" ({named})" if named else ""
    if _draft(shot.text) == "":
        question = Question(NEXT, "What next?", free_text=True)
        return Offer("ready", f"It may be ready for a line of text{who}", shot.text, (question,))
    keys = key_options(KEY_BAR)
    why = "yourcall does not know this program: look at its screen, and choose a key."
    return Offer("unknown", f"It stands still{who}", f"{why}\n\n{shot.text}", (Question(DECISION, why, keys),))


def next_key(seen: Snapshot, now: Snapshot, option: str) -> Press | Refused:
    if seen.mark != now.mark:
        return Refused(_CHANGED)
    return Press(option, decides=True) if option in KEY_BAR else Refused(f"There is no key {option!r} here.")


def draft(screen: str) -> str | None:
    """What is written on the line where the program waits for text; None if there is no such line."""
    return _draft("\n".join(clean(screen)))


def _draft(text: str) -> str | None:
    last = next((line for line in reversed(text.split("\n")) if line.strip()), "")
    match = _INPUT.match(last)
    return None if match is None else (match["draft"] or "").strip()


def typed(text: str, as_command: bool) -> PreparedText | Refused:
    """One line: what a program that nobody knows does with a second one cannot be told."""
    del as_command
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not text.strip():
        return Refused("There is nothing to send.")
    if "\n" in text:
        return Refused("yourcall does not know this program: only one line can be sent to it.")
    if len(text) > LONGEST_TEXT:
        return Refused(f"The text is longer than {LONGEST_TEXT:,} characters.")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
        return Refused("The text has control characters in it; take them out.")
    return PreparedText(text)


def arrived(draft: str, sent: PreparedText) -> bool:
    shown_text, text = "".join(draft.split()), "".join(sent.paste.split())
    return shown_text == text


def fill(prompt: Prompt, answer: Answer) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """One line of text: pasted, seen on its line, and sent."""
    now = yield None
    text = typed("".join(answer.texts.values()), as_command=False)
    if isinstance(text, Refused):
        return text
    if prompt.kind != "ready" or _draft(now.text) != "":
        return Refused(_CHANGED)
    now = yield Paste(text.paste)
    if not arrived(_draft(now.text) or "", text):
        return Refused("The line did not show the text as it was written; it was not sent. See to it at the desk.")
    yield Press("enter", decides=True)
    return None


GENERIC_SCREEN = ScreenSpec(
    read, offer, next_key, draft, typed, arrived, fill=fill, silence_s=SILENCE_S, urgent=urgent
)


AGENT = "generic"


def _plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> HookReply | Refused:
    return Refused("This program is answered with keys on its own screen.")


# How far it is understood.
_GRADE = Grade(
    "any program in a tmux pane",
    (),
    {
        "ready": Reach("silence, title", "one line, typed", "screen changed"),
        "unknown": Reach("silence, title", "key bar", "screen changed"),
    },
    "tmux; what it asks is for a person to read off its screen",
)
GENERIC = Agent(AGENT, reply=_plan, grade=_GRADE, screen=GENERIC_SCREEN, early_dialogs=True)
AGENTS = (GENERIC,)
