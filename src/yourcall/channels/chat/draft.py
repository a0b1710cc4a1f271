"""An answer in the making: pages that were turned, boxes that were ticked, words that were written; and its keys.

Rule: nothing here answers. What a button stands for is in its data, bound to one prompt, to the very thing that
was asked, to the chat and to the time since when the message has shown it, under a seal that only we can make: a
client may send any data it likes. There is no button for a yes under a message that shows less than the whole. The
data fits 64 bytes whatever the ids are.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.channel import Notice
from yourcall.channels.chat.wire import Id
from yourcall.model.prompts import Option, Prompt, Question
from yourcall.rules.fully_shown import offerable, whole

# choose this · tick it · untick it · turn to this page · send all · yes, twice · not after all
Verb = Literal["c", "t", "u", "p", "s", "y", "n"]
_VERBS = frozenset(("c", "t", "u", "p", "s", "y", "n"))

ALL = "all"

# Boxes and dots: a tick changes only these, and nothing on the screen moves.
_TICKED = "☑◉"
_EMPTY = "☐○"

# Half a label says something else than the whole; but a phone shows no more on one key.
LONGEST_LABEL = 60

# Keys beside the options: back, next, and the link.
BESIDE = 3

_ENDS = frozenset({"deny", "stop"})
_MARKS: dict[str, str] = {
    "allow_once": "✅ ",
    "allow_session": "✅ ",
    "allow_always": "✅ ",
    "deny": "❌ ",
    "stop": "⏹ ",
}


class Draft(Struct, frozen=True):
    """`sure_of`: the key whose yes has to be said a second time; `ALL`: that of everything chosen."""

    page: int = 0
    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    sure_of: str = ""


class Press(Struct, frozen=True):
    """What a button's data says. `what`: the option's key, a page's number, or a hash of all that is sent. `at`:
    since when the message has looked like this, in milliseconds."""

    prompt: str
    offer: str
    verb: Verb
    what: str = ""
    at: int = 0
    seal: str = ""


class Seal(Struct, frozen=True):
    """What buttons are sealed with: our own key, the chat they are for, and the time from which they stand."""

    key: bytes
    chat: Id
    at: int

    def data(self, prompt: str, offer: str, verb: Verb, what: str) -> str:
        plain = f"{prompt}.{offer}.{verb}.{what}.{_base36(self.at)}"
        return f"{plain}.{self._mac(plain)}"

    def fits(self, press: Press) -> bool:
        """We made this button, for this chat."""
        made = Seal(self.key, self.chat, press.at).data(press.prompt, press.offer, press.verb, press.what)
        return bool(self.key) and hmac.compare_digest(made.rpartition(".")[2], press.seal)

    def _mac(self, plain: str) -> str:
        return hmac.new(self.key, f"{self.chat}|{plain}".encode(), sha256).hexdigest()[:12]


def paged(prompt: Prompt) -> bool:
    """One tap is not the whole answer."""
    return len(prompt.questions) > 1 or any(question.multi_select for question in prompt.questions)


def key_of(prompt_id: str) -> str:
    return _short_hash(prompt_id, 16)


def option_key(question: Question | str, option: Option | str) -> str:
    names = [each if isinstance(each, str) else each.id for each in (question, option)]
    return _short_hash("\0".join(names), 10)


def offer_key(offer: str) -> str:
    """All that is asked (`core.prompt_version.digest_of`), as short as a button's data needs it."""
    return offer[:10]


def read_press(data: str) -> Press | None:
    parts = data.split(".")
    if len(data) > 64 or len(parts) < 4 or parts[2] not in _VERBS:
        return None
    # Buttons of older versions have no time and no seal: they answer nothing, but one knows what they are about.
    at, seal = parts[4:] if len(parts) == 6 else ("0", "")
    if not (at.isascii() and at.isalnum() and at == at.lower()):
        return None
    return Press(parts[0], parts[1], parts[2], parts[3], int(at, 36), seal)


def find_option(prompt: Prompt, key: str) -> tuple[Question, Option] | None:
    for question in prompt.questions:
        for option in question.options:
            if option_key(question, option) == key:
                return question, option
    return None


def pressed(prompt: Prompt, draft: Draft, press: Press) -> Draft | None:
    """The draft after a button that answers nothing yet; None if its data makes no sense here."""
    match press.verb:
        case "p":
            page = int(press.what) if press.what.isdecimal() and len(press.what) < 4 else 0
            return replace(draft, page=min(page, len(prompt.questions) - 1), sure_of="")
        case "n":
            return replace(draft, sure_of="")
        case "t" | "u" | "c":
            match = find_option(prompt, press.what)
            if match is None:
                return None
            question, option = match
            had = draft.choices.get(question.id, ())
            if press.verb == "c":
                page = min(prompt.questions.index(question) + 1, len(prompt.questions) - 1)
                return replace(draft, page=page, choices={**draft.choices, question.id: (option.id,)})
            # Not turned over, but set: the same tap twice is one tick.
            others = tuple(each for each in had if each != option.id)
            now = (*others, option.id) if press.verb == "t" else others
            return replace(draft, choices={**draft.choices, question.id: now})
        case _:
            return draft


def written(prompt: Prompt, draft: Draft, text: str) -> Draft | None:
    """The draft with these words for the question that is shown; None if it takes none."""
    page = min(draft.page, len(prompt.questions) - 1)
    question = prompt.questions[page]
    if not question.free_text:
        return None
    after = min(page + 1, len(prompt.questions) - 1) if not question.options else page
    return replace(draft, texts={**draft.texts, question.id: text}, page=after)


def as_shown(draft: Draft, press: Press) -> bool:
    """The button sends what its person saw: somebody else may have chosen otherwise since."""
    match press.verb:
        case "s":
            return press.what == draft_key(draft)
        case "y":
            return press.what == _sure_key(draft)
        case _:
            return True


def draft_key(draft: Draft) -> str:
    """Everything that is chosen and written."""
    return _short_hash(msgspec.json.encode((draft.choices, draft.texts), order="sorted").decode(), 10)


def _sure_key(draft: Draft) -> str:
    return _short_hash(f"{draft.sure_of}.{draft_key(draft)}", 10)


def ticks(press: Press) -> bool:
    """It only sets a box: nothing on the screen moves because of it."""
    return press.verb in ("t", "u")


def settles(prompt: Prompt, press: Press) -> bool:
    """This button is the whole answer: the one question's, or a no to everything."""
    if press.verb in ("s", "y"):
        return True
    match = find_option(prompt, press.what) if press.verb == "c" else None
    return match is not None and (not paged(prompt) or match[1].effect in _ENDS)


def answer_of(
    prompt: Prompt, draft: Draft, press: Press
) -> tuple[dict[str, tuple[str, ...]], dict[str, str], bool]:
    """Choices, texts and whether it was said twice."""
    key = draft.sure_of if press.verb == "y" else "" if press.verb == "s" else press.what
    match = find_option(prompt, key) if key else None
    texts = {name: text for name, text in draft.texts.items() if text}
    choices = {name: picked for name, picked in draft.choices.items() if picked}
    if match is not None:
        question, option = match
        ends = option.effect in _ENDS and paged(prompt)
        choices = {question.id: (option.id,)} if ends else {**choices, question.id: (option.id,)}
        texts = {name: text for name, text in texts.items() if name == question.id} if ends else texts
    return choices, texts, press.verb == "y"


class Key(Struct, frozen=True):
    """One button: it tells us its `data`, or opens a link."""

    text: str
    data: str = ""
    url: str = ""


Rows = list[list[Key]]


class Keys(Struct, frozen=True):
    """Rows of buttons. `partly`: a yes was left out, because the message shows less than the whole."""

    rows: Rows
    partly: bool = False


def keyboard(notice: Notice, draft: Draft, seal: Seal, text: str, most: int) -> Keys:
    """The buttons under an open notice; `text`: the very message they will stand under; `most`: so many fit."""
    if notice.standing != "open" or len(notice.prompts) != 1:
        return Keys([])
    prompt = notice.prompts[0]
    key, offer = key_of(prompt.id), offer_key(notice.offer)

    def button(label: str, verb: Verb, what: str = "") -> Key:
        return Key(_label(label), seal.data(key, offer, verb, what))

    link = [[Key("Open in the app", url=notice.url)]] if notice.url.startswith("https://") else []
    if not prompt.answerable:
        return Keys(link)
    if not prompt.questions:  # titles only: a plain no is all that is offered
        plain = [button(_MARKS[b.effect] + b.label, "c", option_key(b.question, b.option)) for b in notice.buttons]
        return Keys(([plain] if plain else []) + link, partly=True)
    room = most - BESIDE
    if draft.sure_of and _sure_may(notice, prompt, draft.sure_of, text, room):
        return Keys([[button("Yes, I am sure", "y", _sure_key(draft)), button("Not yet", "n")]])
    if not paged(prompt):
        question = prompt.questions[0]
        options = _offered(notice, question, text, room)
        each = [
            button(_MARKS.get(option.effect, "") + option.label, "c", option_key(question, option))
            for option in options
        ]
        return Keys([*_rows(each), *link], len(options) < len(question.options))
    page = _page(notice, prompt, draft, button, text, room)
    return Keys([*page.rows, *link], page.partly)


def stands_as(text: str, keys: Keys, offer: str) -> str:
    """What a message looks like, as a hash; a ticked box looks like an empty one."""
    ticked = str.maketrans(_TICKED, _EMPTY)
    labels = [[button.text.translate(ticked) for button in row] for row in keys.rows]
    return _short_hash(msgspec.json.encode((text, labels, offer)).decode(), 16)


def _offered(notice: Notice, question: Question, text: str, room: int) -> list[Option]:
    """The options of a question that may stand under this text."""
    if len(question.options) > room:
        return [option for option in question.options if option.effect in _ENDS][:room]
    labels = [_label(option.label) for option in question.options]
    sent = "\n".join([text, *labels])
    options = [o for o in question.options if offerable(notice.needed, question.id, o.id, o.effect, sent)]
    if len(options) == len(question.options):
        return options
    return [option for option in options if option.effect != "choose"]  # half of them would read like all


def _sure_may(notice: Notice, prompt: Prompt, sure_of: str, text: str, room: int) -> bool:
    match = find_option(prompt, sure_of)
    return match[1] in _offered(notice, match[0], text, room) if match else whole(notice.needed, text)


def _page(notice: Notice, prompt: Prompt, draft: Draft, button: Callable[..., Key], text: str, room: int) -> Keys:
    page = min(draft.page, len(prompt.questions) - 1)
    question, last = prompt.questions[page], len(prompt.questions) - 1
    had = draft.choices.get(question.id, ())
    marks = ("☑ ", "☐ ") if question.multi_select else ("◉ ", "○ ")
    options = _offered(notice, question, text, room)
    seen = len(options) == len(question.options) and whole(notice.needed, text, (question.text,))
    rows = _rows(
        [
            button(
                (_MARKS[o.effect] if o.effect in _ENDS else marks[o.id not in had]) + o.label,
                ("u" if o.id in had else "t") if question.multi_select and o.effect not in _ENDS else "c",
                option_key(question, o),
            )
            for o in options
        ]
    )
    turn = [button("‹ Back", "p", str(page - 1))] if page else []
    if page < last:
        turn.append(button("Next ›", "p", str(page + 1)))
    elif seen:
        turn.append(button("Submit", "s", draft_key(draft)))
    return Keys([*rows, turn] if turn else rows, not seen)


def _rows(buttons: Sequence[Key]) -> Rows:
    """Short ones two by two; a long label has a row of its own."""
    rows: Rows = []
    for each in buttons:
        small = len(each.text) <= 16
        if small and rows and len(rows[-1]) == 1 and len(rows[-1][0].text) <= 16:
            rows[-1].append(each)
        else:
            rows.append([each])
    return rows


def _label(text: str) -> str:
    plain = "".join(
        char if char.isprintable() else " " for char in text.encode("utf-8", "replace").decode()
    ).strip()
    return (plain if len(plain) <= LONGEST_LABEL else plain[: LONGEST_LABEL - 1] + "…") or "…"


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    found = ""
    while number:
        number, rest = divmod(number, 36)
        found = digits[rest] + found
    return found or "0"


def _short_hash(text: str, length: int) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
