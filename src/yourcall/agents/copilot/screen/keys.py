"""Copilot's dialogs as prompts, and the one key that picks a row where no other way leads: in the trust dialog.

Rule: what the extension tells of is answered by its id, never by a key: Copilot takes keys at once, and a second
one answers the next box. The trust dialog comes before the extension; it takes the digit of its row, verified
letter by letter, from a person. Everything else on the screen is for the desk.
"""

from __future__ import annotations

import re

from yourcall.agents.copilot.screen.read import read_screen
from yourcall.agents.kit import prompts
from yourcall.agents.kit.dialogs import CHANGED, DECISION, GONE, ONLY_A_PERSON
from yourcall.agents.kit.text import clean, flat, titled
from yourcall.agents.screen_spec import Offer, PreparedText, Press, ScreenSpec, Snapshot
from yourcall.model.prompts import Effect, Option, Question, Refused
from yourcall.model.screen import Reading

AT_THE_DESK = "Answer it at the desk: yourcall presses no keys in this dialog of Copilot's."
CONSENT = (
    "Copilot asks you whether yourcall's extension may handle permission requests in this repository. Only you can"
    " say so, at the desk; until then permissions are shown here, and answered at the desk."
)
UNTOLD = "Copilot's extension of yourcall is not connected. Answer it at the desk; `yourcall doctor` says why."

# The rows of the trust dialog, word by word: what is not one of these gets no key.
TRUST: dict[str, tuple[str, Effect, str]] = {
    "Yes": ("session", "allow_session", "Copilot trusts this folder until the session ends."),
    "Yes, and remember this folder for future sessions": (
        "trust",
        "allow_always",
        "Copilot trusts this folder now and later.",
    ),
    "No": ("no", "deny", "Copilot does not start in this folder."),
}
_RULE = re.compile(r"─{20,}$")
_PROMPT = re.compile(r"❯(?: (.*))?$")
_HIGHLIGHT = re.compile(r"^([│ ]*)❯", re.M)


def read(screen: str) -> Snapshot:
    reading = read_screen(screen, titled(screen))
    text = "\n".join(clean(screen)).strip("\n")
    if reading.state != "waiting":
        return Snapshot(reading, text)
    identity = flat([reading.kind or "", reading.title or "", reading.question or "", reading.target or ""])
    labels = "|".join(option.label for option in reading.options)
    return Snapshot(reading, _dialog(text), f"{identity}|{labels}", asks=True)


def _dialog(text: str) -> str:
    """The dialog alone: from its upper edge, where that is on the screen."""
    lines = text.split("\n")
    edge = "╭" if lines[-1].startswith("╰") else lines[-1]
    start = next((n for n in range(len(lines) - 2, -1, -1) if lines[n].startswith(edge)), 0)
    return "\n".join(lines[start:])


def offer(shot: Snapshot) -> Offer:
    """The dialog as the screen alone shows it: whole, and nearly always for the desk."""
    reading = shot.reading
    kind = reading.kind or "unknown"
    title = prompts.line(reading.question or reading.title or "", "A dialog on the screen")
    match kind:
        case "trust" if not _strange(reading):
            options = tuple(_trust(each.label, each.key or "") for each in reading.options)
            title = prompts.line(f"{reading.title}: {reading.target}")
            return Offer("trust", title, shot.text, (Question(DECISION, reading.question or title, options),))
        case "startup":
            return Offer("startup", prompts.line(reading.title or title), shot.text, (), CONSENT)
        case "permission" | "question" | "plan" | "elicitation":
            return Offer(kind, title, shot.text, (), UNTOLD)
        case _:
            return Offer(kind, title, shot.text, (), AT_THE_DESK)


def _strange(reading: Reading) -> bool:
    """Not the trust dialog as it was measured: cut, or with other rows."""
    labels = [option.label for option in reading.options]
    return reading.clipped or reading.selected is None or not reading.target or labels != list(TRUST)


def _trust(label: str, digit: str) -> Option:
    ident, effect, says = TRUST[label]
    return Option(ident, label, effect, f"{says} {ONLY_A_PERSON}", digit=digit)


def next_key(seen: Snapshot, now: Snapshot, option: str) -> Press | Refused:
    """The digit of this row, if the very same trust dialog is up."""
    if now.reading.state != "waiting":
        return Refused(GONE)
    if seen.mark != now.mark or _HIGHLIGHT.sub(r"\1 ", seen.text) != _HIGHLIGHT.sub(r"\1 ", now.text):
        return Refused(CHANGED)
    if now.reading.kind != "trust" or _strange(now.reading):
        return Refused(AT_THE_DESK)
    row = next((each for each in now.reading.options if TRUST[each.label][0] == option), None)
    if row is None or row.key is None or not re.fullmatch("[1-9]", row.key):
        return Refused(AT_THE_DESK)
    return Press(row.key, decides=True)


# --- the input box: a session without the extension is given no text, and its draft is only looked at ----------


def draft(screen: str) -> str | None:
    """What is in the input box; None: there is none."""
    if read_screen(screen).state == "waiting":
        return None
    lines = clean(screen)
    rules = [n for n, line in enumerate(lines) if _RULE.match(line)]
    if len(rules) < 2:
        return None
    inside = lines[rules[-2] + 1 : rules[-1]]
    match = _PROMPT.match(inside[0]) if inside else None
    if match is None:
        return None
    return "\n".join([match[1] or "", *(line.strip() for line in inside[1:])]).strip()


def typed(_text: str, _as_command: bool) -> PreparedText | Refused:
    return Refused("Copilot takes an instruction through its extension: connect it with `yourcall setup copilot`.")


def arrived(_draft: str, _sent: PreparedText) -> bool:
    return False


COPILOT_SCREEN = ScreenSpec(read, offer, next_key, draft, typed, arrived)
