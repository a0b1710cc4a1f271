"""Which single key comes next in a dialog of Qwen Code.

Rule: the dialog must be the one the person saw, letter by letter; its digit is taken from the row with the wanted
label, never assumed. Never Enter, and never a second key: one that comes late would answer the next dialog.
"""

from __future__ import annotations

import re

from yourcall.agents.kit.composer import sendable, shows_all, squeezed, unescaped
from yourcall.agents.kit.dialogs import (
    ASTRAY,
    MOST_ROWS,
    NO_KEY,
    TURN_STOPPED,
    digit_of,
    other_dialog,
    pressed_key,
)
from yourcall.agents.kit.text import clean, flat, titled
from yourcall.agents.qwen.screen.block import Block, find_block
from yourcall.agents.qwen.screen.dialog import TABS, read_block
from yourcall.agents.qwen.screen.fill import fill
from yourcall.agents.qwen.screen.offer import WRAPPED, offer, rows
from yourcall.agents.qwen.screen.read import composer_at, read_screen, title_sign
from yourcall.agents.screen_spec import Offer, PreparedText, Press, ScreenSpec, Snapshot
from yourcall.model.prompts import Prompt, Refused
from yourcall.model.screen import Reading

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
    checked = sendable(text)
    if isinstance(checked, Refused):
        return checked
    text = checked
    if text.lstrip().startswith(("/", "!", "?")) and not as_command:
        return Refused(
            "Qwen Code takes what begins with /, ! or ? for a command. Put a word in front, or mean it: --command"
        )
    if text.strip() in ("exit", "quit", ":q", ":q!", ":wq", ":wq!") and not as_command:
        return Refused(
            f"Qwen Code takes {text.strip()!r} for its end. Say it in other words, or mean it: --command"
        )
    return PreparedText(unescaped(text))


def arrived(draft: str, sent: PreparedText) -> bool:
    """Is what lies in the input box what was pasted, and nothing else? Wraps and new lines look the same there."""
    piece = _FOLDED.fullmatch(draft)
    if piece is not None:
        return int(piece[1]) == len(sent.paste)
    return shows_all(draft, sent)


_CANCELLED = re.compile(r" {2}- \S")
_HEAD = re.compile(r" {2}(?:[✕◆●✓x?-]\ufe0e? |> \S)")


def read(screen: str) -> Snapshot:
    """A screen as tmux prints it, with the pane's title in front. Of a dialog only its own lines are kept."""
    title = titled(screen)
    lines = clean(screen)
    asks = title_sign(title) == "✳"
    block = find_block(lines)
    if block is None:
        return Snapshot(read_screen(screen, title), "\n".join(lines).strip("\n"), asks=asks)
    reading = read_block(block)
    text = _shown(block)
    wrapped = WRAPPED if reading.kind == "permission" and len(block.header) > 1 else ""
    return Snapshot(reading, wrapped + text, f"{reading.kind}:{_identity(block, reading, text)}", asks)


def _shown(block: Block) -> str:
    """The dialog without its highlight: what stands above the rows may be the end of what is out of sight."""
    ticks = {None: "", True: "[✓] ", False: "[ ] "}
    listed = [
        line for row in block.rows for line in (f"   {ticks[row.ticked]}{row.key}. {row.label}", row.description)
    ]
    lines = [*block.header, *block.body, *filter(None, listed), *block.below]
    return "\n".join(lines).strip("\n")


def _identity(block: Block, reading: Reading, text: str) -> str:
    """What stays the same as long as this very dialog is up. Of a question boxes are ticked and words are written,
    so there the question counts, or the row of all of them."""
    if reading.kind != "question":
        return text
    first = next((flat([line]) for line in block.body if line), "")
    return re.sub(r"[▸✓ ]", "", first) if TABS.match(first) else flat([reading.question or ""])


def next_key(seen: Snapshot, now: Snapshot, option: str) -> Press | Refused:
    """The one digit that picks this option, or why none is pressed."""
    if changed := other_dialog(seen, now):
        return changed
    if seen.reading.kind == "unknown":
        return pressed_key(option)
    row = next((place for place, each in rows(seen.reading) if each.id == option), None)
    at = now.reading.selected
    if row is None or seen.reading.kind == "question":
        return Refused(NO_KEY)
    if at is None or len(now.reading.options) > MOST_ROWS:
        return Refused(ASTRAY)
    return digit_of(now.reading, row)


def shows(prompt: Prompt, shot: Snapshot) -> bool:
    """Is this the dialog of a question or a plan that the channel told of?"""
    reading = shot.reading
    if reading.kind != prompt.kind:
        return False
    if prompt.kind == "plan":
        return True
    text = squeezed(reading.question or "")
    return prompt.kind == "question" and any(squeezed(each.text) == text for each in prompt.questions)


def stopped(shot: Snapshot) -> Offer | None:
    """The last thing is a call that was refused: the turn is over, and no hook tells of it."""
    if shot.reading.state != "idle":
        return None
    lines = clean(shot.text)
    rule = composer_at(lines)
    last = next((line for line in reversed(lines[:rule] if rule is not None else []) if _HEAD.match(line)), "")
    return TURN_STOPPED if _CANCELLED.match(last) else None


QWEN_SCREEN = ScreenSpec(
    read,
    offer,
    next_key,
    draft,
    typed,
    arrived,
    fill=fill,
    breath_s=0.5,  # an Enter right behind a paste is taken for a part of it
    shows=shows,
    stopped=stopped,
)
