"""A prompt as it is shown on one connection, and answered there with digits, named keys or a text.

Rule: pure. What is typed is read against the prompt that this very connection was shown, and becomes an answer to
that prompt by its id, or nothing; no key of it ever reaches a terminal.
"""

from __future__ import annotations

from msgspec import Struct

from yourcall.agents.assess import assessed
from yourcall.agents.screen_spec import key_named
from yourcall.core.option_keys import mixed
from yourcall.core.safety import confirmation
from yourcall.model.prompts import Option, Prompt, Question, Refused, Risk
from yourcall.server.contracts.rpc.views import preview, prompt_type, target
from yourcall.server.contracts.rpc.wire import PtyOption, PtyPermission
from yourcall.server.option_matching import find
from yourcall.server.ports import Bodies

YES_OR_NO = {"y": "allow_once", "n": "deny"}
MEANT = {**YES_OR_NO, "1": "allow_once"}  # clients of the contract say yes with "1", whatever the agent shows
MOVES = {"up": -1, "left": -1, "down": 1, "right": 1, "tab": 1}


class DialogAnswer(Struct, frozen=True):
    """The whole answer to the prompt."""

    choices: dict[str, tuple[str, ...]]
    texts: dict[str, str]


class Moved(Struct, frozen=True):
    """Nothing is answered yet: the highlight moved, a tick was set, or the next question has its turn."""


class Dialog:
    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self._at = 0  # which question
        self._cursor = 0
        self._ticked: list[str] = []
        self._choices: dict[str, tuple[str, ...]] = {}
        self._texts: dict[str, str] = {}

    @property
    def question(self) -> Question | None:
        return self.prompt.questions[self._at] if self._at < len(self.prompt.questions) else None

    def shown(self, bodies: Bodies) -> PtyPermission:
        prompt, question = self.prompt, self.question
        several = len(prompt.questions) > 1 or prompt.kind != "permission"
        risk = assessed(prompt, bodies.body(prompt.request)).risk
        return PtyPermission(
            type=prompt_type(prompt, bodies),
            target=target(prompt, bodies),
            description=question.text if question is not None and several else prompt.title,
            preview=preview(prompt, bodies),
            options=tuple(
                PtyOption(key, option.label, _about(option, risk), self._marked(place, option))
                for place, (key, option) in enumerate(zip(self._keys(), self._options(), strict=True))
            ),
            session_id=prompt.session_id,
        )

    def type(self, text: str) -> DialogAnswer | Moved | Refused:
        """An option's key or label; a free text where one is asked for; or a key and a reason."""
        question = self.question
        if question is None:
            return Refused("This prompt offers nothing to choose: answer it at the desk.")
        word = text.strip()
        option = self._by_key(word)
        if option is not None:
            return self._pick(question, option)
        deciding = any(option.effect not in ("choose", "reply") for option in question.options)
        if word.lower() in YES_OR_NO:
            return Refused(f"Nothing here is a plain {'yes' if word.lower() == 'y' else 'no'}; name an option.")
        if not deciding:
            if question.free_text and word:
                return self._next(question, texts=text)
        else:
            key, _, reason = word.partition(" ")
            option = self._by_key(key)
            if option is not None and reason.strip() and question.free_text:
                return self._pick(question, option, reason.strip())
        named = find(question, word) if word else Refused("Say what to answer.")
        return named if isinstance(named, Refused) else self._pick(question, named)

    def press(self, key: str) -> DialogAnswer | Moved | Refused:
        """A named key, as a dialog of its own kind would take it."""
        name, question, options = key_named(key), self.question, self._options()
        if question is not None and name is None and (option := self._by_key(key.strip())) is not None:
            return self._pick(question, option)
        if question is None or not options:
            return Refused("This prompt offers nothing to choose with a key: write a text, or answer at the desk.")
        if name in MOVES:
            self._cursor = (self._cursor + MOVES[name]) % len(options)
            return Moved()
        if name in ("home", "pageup", "end", "pagedown"):
            self._cursor = 0 if name in ("home", "pageup") else len(options) - 1
            return Moved()
        if name == "enter":
            if question.multi_select:
                return self._next(question, tuple(self._ticked))
            return self._pick(question, options[self._cursor])
        if name == "space" and question.multi_select:
            return self._pick(question, options[self._cursor])
        if name == "escape":
            for effect in ("deny", "stop"):
                found = next((option for option in options if option.effect == effect), None)
                if found is not None:
                    return self._next(question, (found.id,))
            return Refused("Nothing here says no; answer it, or stop the turn at the desk.")
        return Refused(f"{key[:40]!r} means nothing in this dialog.")

    def _options(self) -> tuple[Option, ...]:
        return self.question.options if self.question is not None else ()

    def _marked(self, place: int, option: Option) -> bool:
        question = self.question
        if question is not None and question.multi_select:
            return option.id in self._ticked
        return place == self._cursor

    def _keys(self) -> tuple[str, ...]:
        """A digit means what it means in the agent's own dialog; the other options have letters."""
        return mixed(self._options())

    def _by_key(self, word: str) -> Option | None:
        """The option that this key picks; `y` and "1" allow this once, `n` denies."""
        options, keys = self._options(), self._keys()
        if word in keys:
            return options[keys.index(word)]
        effect = MEANT.get(word.lower())
        meant = [option for option in options if option.effect == effect]
        return meant[0] if len(meant) == 1 else None

    def _pick(self, question: Question, option: Option, reason: str = "") -> DialogAnswer | Moved:
        if question.multi_select and option.effect == "choose":
            self._ticked = [each for each in self._ticked if each != option.id] + (
                [] if option.id in self._ticked else [option.id]
            )
            return Moved()
        return self._next(question, (option.id,), reason)

    def _next(self, question: Question, choices: tuple[str, ...] = (), texts: str = "") -> DialogAnswer | Moved:
        if choices:
            self._choices[question.id] = choices
        if texts:
            self._texts[question.id] = texts
        refuses = any(option.id in choices and option.effect in ("deny", "stop") for option in question.options)
        self._at, self._cursor, self._ticked = self._at + 1, 0, []
        if self.question is not None and not refuses:
            return Moved()
        return DialogAnswer(dict(self._choices), dict(self._texts))


def _about(option: Option, risk: Risk) -> str | None:
    """What it does, and why it takes a confirmation elsewhere: this contract has no place for one."""
    return " ".join(filter(None, (option.description, confirmation(option, risk)))) or None
