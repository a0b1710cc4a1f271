"""How a question of aider is answered: by a word, seen where it was typed, and only then Enter.

Rule: Enter alone would be a yes, so it is never sent unless the word that was meant stands there and nothing else.
A yes needs all that it is about on the screen, in inverse video.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from yourcall.agents.aider.screen.read import composer, find_question, read_screen
from yourcall.agents.kit import prompts
from yourcall.agents.kit.composer import sendable, shows_all
from yourcall.agents.kit.dialogs import CHANGED, CUT, DECISION, GONE, NO_KEY, looked, row_option
from yourcall.agents.kit.prompts import READY_TITLE, WHAT_NEXT
from yourcall.agents.kit.text import clean, titled
from yourcall.agents.screen_spec import Offer, Paste, PreparedText, Press, ScreenSpec, Snapshot
from yourcall.core.safety import chosen
from yourcall.model.prompts import Answer, Effect, Prompt, Question, Refused

# What is typed for each row: whole words, which aider takes as well as letters.
WORDS = {"Yes": "yes", "No": "no", "All": "all", "Skip all": "skip", "Don't ask again": "don't"}
_EFFECTS: dict[str, tuple[Effect, str]] = {
    "Yes": ("allow_once", "Allows this once."),
    "No": ("deny", "Refuses this; aider goes on."),
    "All": ("allow_session", "Allows this, and all of its kind in this turn."),
    "Skip all": ("deny", "Refuses this, and all of its kind in this turn."),
    "Don't ask again": ("deny", "Refuses this, and isn't asked again."),
}
_WRITTEN = "Somebody is writing an answer at the desk; nothing was typed."
_SPENT = re.compile(r"Tokens: \S+ sent, .*received\.")


def read(screen: str) -> Snapshot:
    """A screen as tmux prints it. Of a question only its own lines are kept, and what it is about."""
    asked = find_question(screen)
    if asked is None:
        return Snapshot(read_screen(screen, titled(screen)), "\n".join(clean(screen)).strip("\n"))
    text = "\n".join([*asked.subject, asked.question, f"[{asked.typed}]"])
    mark = "\n".join([asked.question, *asked.rows, *asked.subject])
    return Snapshot(read_screen(screen, titled(screen)), text, mark)


def offer(shot: Snapshot) -> Offer:
    reading = shot.reading
    subject = reading.target or ""
    title = prompts.line(
        f"{(reading.question or '').rstrip('?')}: {subject}" if subject else reading.question or ""
    )
    options = tuple(
        row_option(
            place,
            row,
            set(),
            "allow" if row.label == "Yes" else row.label.split()[0].lower(),
            *_effect(reading.kind, row.label),
        )
        for place, row in enumerate(reading.options)
    )
    if reading.clipped:
        options = tuple(each for each in options if each.effect == "deny")
    asked = Question(DECISION, reading.question or "", options)
    body = subject or (reading.question or "")
    return Offer(reading.kind or "unknown", title, body, (asked,), CUT if reading.clipped else "")


def _effect(kind: str | None, label: str) -> tuple[Effect, str]:
    effect, says = _EFFECTS[label]
    return (effect, says) if kind == "permission" or effect == "deny" else ("choose", "")


def next_key(_seen: Snapshot, _now: Snapshot, _option: str) -> Press | Refused:
    """No single key answers it: a word does."""
    return Refused(NO_KEY)


def fill(prompt: Prompt, answer: Answer) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """The word, seen behind the question, and Enter."""
    now = yield None
    options = chosen(prompt, answer)
    if len(options) != 1 or options[0].label not in WORDS:
        return Refused(NO_KEY)
    word = WORDS[options[0].label]
    if not _is_up(now, prompt):
        return Refused(CHANGED if now.reading.state == "waiting" else GONE)
    if _typed(now):
        return Refused(_WRITTEN)
    mark = now.mark
    now = yield Paste(word)
    now = yield from looked(now, lambda shot: shot.mark != mark or _typed(shot) == word)
    if now.mark != mark or _typed(now) != word:
        return Refused("The word did not appear as it was typed; it was not sent. See to it at the desk.")
    yield Press("enter", decides=True)
    return None


def _is_up(now: Snapshot, prompt: Prompt) -> bool:
    asked = prompt.questions[0].text if prompt.questions else ""
    return now.reading.state == "waiting" and now.reading.question == asked and offer(now).title == prompt.title


def _typed(now: Snapshot) -> str:
    return now.text.rpartition("\n")[2].strip("[]")


def draft(screen: str) -> str | None:
    """What is written in the input line; None: aider takes no instruction now."""
    return None if find_question(screen) is not None else composer(clean(screen))


def typed(text: str, as_command: bool) -> PreparedText | Refused:
    """One line, as aider takes it for an instruction."""
    checked = sendable(text)
    if isinstance(checked, Refused):
        return checked
    if "\n" in checked.strip("\n"):
        return Refused("aider takes each line for an instruction of its own: send one line.")
    if checked.lstrip().startswith(("/", "!")) and not as_command:
        return Refused(
            "aider takes what begins with / or ! for a command. Put a word in front, or mean it: --command"
        )
    return PreparedText(checked.strip("\n"))


def stopped(shot: Snapshot) -> Offer | None:
    """The turn is over, and nothing tells of it but the screen: what it has cost stands above the input line."""
    lines = clean(shot.text)
    if shot.reading.state != "idle" or composer(lines) != "":
        return None
    if not any(map(_SPENT.match, lines)):
        return None
    return Offer("ready", READY_TITLE, "", WHAT_NEXT)


AIDER_SCREEN = ScreenSpec(
    read,
    offer,
    next_key,
    draft,
    typed,
    shows_all,
    fill=fill,
    breath_s=0.3,
    stopped=stopped,
    filled=frozenset({"permission", "startup", "ready"}),
    raw=True,
)
