"""Which single key comes next in a dialog of Claude's, and how a text is made safe for its input box.

Rule: the dialog must be the one the person saw, whole; digits are taken from the row with the wanted label, never
assumed; Enter is only ever chosen while the wanted row is seen to be highlighted.
"""

from __future__ import annotations

import re
import unicodedata

from yourcall.agents.claude.screen.fill import fill
from yourcall.agents.claude.screen.offer import TELL, TEXT_ROW, offer, rows, shows, trouble
from yourcall.agents.claude.screen.read import read_screen
from yourcall.agents.claude.screen.rows import is_rule
from yourcall.agents.kit.composer import sendable
from yourcall.agents.kit.dialogs import ASTRAY, NO_KEY, other_reading, pressed_key
from yourcall.agents.kit.text import clean, styled
from yourcall.agents.screen_spec import PreparedText, Press, ScreenSpec, Snapshot
from yourcall.model.prompts import Refused


def read(screen: str) -> Snapshot:
    """A screen as tmux prints it, with or without colours."""
    lines = clean(screen)
    while lines and not lines[0]:
        lines.pop(0)
    return Snapshot(read_screen(screen), "\n".join(lines))


def next_key(seen: Snapshot, now: Snapshot, option: str) -> Press | Refused:
    """The key that brings the dialog one step nearer to this option, or why none is pressed."""
    wrong = changed(seen, now)
    if wrong is not None:
        return wrong
    if seen.reading.kind == "unknown":
        return pressed_key(option)
    if option == TELL:
        return Refused("Enter the text for Claude; nothing was pressed.")
    row = next((place for place, each in rows(seen.reading) if each.id == option), None)
    at = now.reading.selected
    if row is None:
        return Refused(NO_KEY)
    if at is None or not 0 <= at < len(now.reading.options):
        return Refused(ASTRAY)
    # In a start-up dialog digits do nothing; in a row that takes text they would be text.
    digit = now.reading.options[row].key or ""
    confirmed = seen.reading.kind in ("trust", "startup")
    if re.fullmatch("[1-9]", digit) and not confirmed and not TEXT_ROW.match(now.reading.options[at].label):
        return Press(digit, decides=True)
    if at == row:
        return Press("enter", decides=True)
    return Press("down" if at < row else "up", decides=False)


def changed(seen: Snapshot, now: Snapshot) -> Refused | None:
    """Why this is not the dialog that was seen, whole. Only the highlight may have moved."""
    return other_reading(seen, now, clipped=now.reading.clipped, name=lambda reading: reading.title)


# --- the input box ------------------------------------------------------------------------------------------

_FOLDED = re.compile(r"\[Pasted text #\d+(?: \+(\d+) lines?)?\]")
_LEAVES = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!"})
_ZERO_WIDTH_JOINER = "\u200d"  # the one invisible character that Claude keeps: it makes one emoji of several

# A paste with this many newlines, or longer than this, is shown as one piece and is never read as a command.
FOLDS_AT_NEWLINES = 3
FOLDS_BEYOND = 800
ENOUGH_SEEN = 60


def draft(screen: str) -> str | None:
    """What is written in the input box; a greyed hint in it is not. None: there is no input box."""
    if read_screen(screen).state == "waiting":
        return None  # whatever looks like an input box there is the text of a dialog
    lines = styled(screen)
    plain = ["".join(char for char, _ in line).rstrip(" ") for line in lines]
    for at in range(len(lines) - 1, 0, -1):
        if not re.match(r"[❯>!#&]\u00a0", plain[at]) or not is_rule(plain[at - 1]):
            continue
        end = next((n for n in range(at + 1, len(lines)) if is_rule(plain[n])), None)
        if end is None or any(line[:2].strip() for line in plain[at + 1 : end]):
            return None
        inside = [cell for line in lines[at:end] for cell in [*line[2:], ("\n", "")]]
        written = [(char, style) for char, style in inside if style != "dim" and char.strip()]
        if len(written) == 1 and written[0][1] == "cursor" and any(style == "dim" for _, style in inside):
            return ""  # the cursor stands on the first letter of the hint, which therefore is not grey
        text = "".join(char for char, style in inside if style != "dim").strip()
        return text if plain[at][0] in "❯>" else plain[at][0] + text
    return None


def typed(text: str, as_command: bool) -> PreparedText | Refused:
    """The text as it has to be pasted so that Claude takes it for a message, word by word."""
    checked = sendable(text)
    if isinstance(checked, Refused):
        return checked
    text = checked
    notes: list[str] = []
    visible = "".join(c for c in text if unicodedata.category(c) != "Cf" or c == _ZERO_WIDTH_JOINER)
    if visible != text:
        notes.append(f"without {len(text) - len(visible)} invisible characters, which Claude does not take")
    if "\t" in visible:
        notes.append("tabs arrive as four spaces")
    note = "; ".join(notes)
    if as_command:
        return PreparedText(_ended(visible), note=note)
    if visible.startswith("!"):
        return PreparedText(
            _ended(" " + visible), note="; ".join([*notes, "with a space in front, so that it is no command"])
        )
    bare = visible.strip().lower()
    if not bare.startswith("/") and bare not in _LEAVES:
        return PreparedText(_ended(visible), note=note)
    if not _folds(visible):
        visible += "\n" * (FOLDS_AT_NEWLINES - visible.count("\n"))
    return PreparedText(visible, folded=True, note=note)


def _ended(text: str) -> str:
    """A backslash before Enter would mean a new line, and nothing would be sent; the space is cut off later."""
    return text + " " if text.endswith("\\") and not _folds(text) else text


def _folds(text: str) -> bool:
    return text.count("\n") >= FOLDS_AT_NEWLINES or len(text) > FOLDS_BEYOND


def arrived(draft: str, sent: PreparedText) -> bool:
    """Is what lies in the input box what was pasted, and nothing else? Wraps and new lines look the same there."""
    piece = _FOLDED.fullmatch(draft)
    if piece is not None:
        return int(piece[1] or 0) == sent.paste.count("\n")
    if sent.folded:
        return False
    shown_text, text = "".join(draft.split()), "".join(sent.paste.split())
    # In a small window the input box shows only a part of a long text.
    return shown_text == text or (len(shown_text) >= ENOUGH_SEEN and shown_text in text)


def harm(key: str) -> str:
    """Seen with 2.1.325, key by key: all others change nothing, or only the input box."""
    return "In an empty input box, Left moves the conversation to the background." if key == "left" else ""


CLAUDE_SCREEN = ScreenSpec(
    read, offer, next_key, draft, typed, arrived, fill=fill, shows=shows, trouble=trouble, harm=harm
)
