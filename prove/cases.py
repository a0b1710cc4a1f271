"""What may happen to one prompt: every case is a moment that is tried, and a story that the judge reads.

The rule it keeps: a case does what people and machines do (two taps, a key at the desk, a power cut) at a moment
that chance chose. It waits for conditions; the only sleeps are the gaps that are being tried.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from kit.poll import until
from prove.agents import Way, WithDesk, end
from prove.judge import HINDERED, SETTLED, SHOWN, UNSURE, Asked, Given, judged
from yourcall.live_check.waiting import NotInTime

SHOWN_S = 60.0  # until a prompt must be shown
SETTLED_S = 60.0  # until yourcall must say what became of it
MOST_GAP_S = 0.2

Case = Callable[["Round"], None]


@dataclass
class Round:
    """One case on one way: what was asked, and who did what."""

    way: Way
    number: int
    chance: random.Random
    asked: list[Asked] = field(default_factory=list)
    dead: bool = False  # the agent, or yourcall with it, has to be started anew

    @property
    def gap(self) -> float:
        return self.chance.uniform(0, MOST_GAP_S)

    def command(self, key: str) -> str:
        return f"echo {key} >> tally"

    def ask(self, *turns: list[str]) -> None:
        """The agent asks to run these; what is shown is looked for with `prompt`."""
        self.way.ask(*([self.command(key) for key in turn] for turn in turns))

    def key(self, name: str = "") -> str:
        return f"k{self.number}{name}"

    def prompt(self, key: str) -> Asked:
        """The prompt of this key that nobody has looked at yet; its `prompt` stays empty if it never comes."""
        asked = Asked(key)
        self.asked.append(asked)
        known = {each.prompt for each in self.asked}
        with suppress(NotInTime):
            found = until(
                lambda: [
                    each
                    for each in self.way.yourcall.prompts()
                    if each["id"] not in known and self.command(key) in str(each["tool"])
                ],
                SHOWN_S,
                what=f"a prompt for {key}",
            )
            asked.prompt = found[0]["id"]
        return asked

    def answer(self, asked: Asked, yes: bool, by: str = "phone") -> None:
        """As a device does it; what it hears is noted."""
        body = {"option": option_of(self.way.yourcall, asked.prompt, yes), "wait": SETTLED_S}
        try:
            _, told = self.way.yourcall.http("POST", f"/api/prompts/{asked.prompt}/answer", body)
            result = str(told.get("result", told.get("error", "")))
        except (OSError, HTTPException, ValueError):
            result = ""  # the line was cut: this device knows nothing
        asked.given.append(Given(by, yes, result))

    @property
    def desk(self) -> WithDesk:
        assert isinstance(self.way, WithDesk)
        return self.way

    def at_the_desk(self, asked: Asked) -> None:
        self.desk.desk_yes()
        asked.given.append(Given("desk", True))

    def together(self, *acts: Callable[[], object], gap: float | None = None) -> None:
        """Start these one after another, a gap apart, and wait for all."""
        threads = [threading.Thread(target=act) for act in acts]
        for thread in threads:
            if thread is not threads[0]:
                time.sleep(self.gap if gap is None else gap)  # the gap is what is tried
            thread.start()
        for thread in threads:
            thread.join()

    def finish(self) -> list[str]:
        """Let everything come to its end, then ask the judge."""
        found: list[str] = []
        for asked in self.asked:
            if asked.prompt:
                self._settle(asked)
        if not self.dead:
            try:
                self.way.rest()
                self._nothing_shown(found)
            except (NotInTime, AssertionError):
                found.append(HINDERED)
                self.dead = True
        for asked in self.asked:
            if not asked.counted:
                asked.runs = self.way.tally(asked.key) - asked.ran_before
            found += judged(asked)
        return list(dict.fromkeys(found))

    def _nothing_shown(self, found: list[str]) -> None:
        """A settled prompt leaves the list a moment later; one in doubt stays there, to be looked at."""
        waiting = lambda: [each for each in self.way.yourcall.prompts() if each["state"] != UNSURE]  # noqa: E731
        try:
            until(lambda: not waiting(), 10, what="an empty list", show=waiting)
        except NotInTime:
            found.append(SHOWN)

    def _settle(self, asked: Asked) -> None:
        ended = (*SETTLED, UNSURE)

        def over() -> bool:
            asked.heard = asked.heard or self.way.heard(self.command(asked.key))
            shown = self.way.yourcall.show(asked.prompt)
            asked.state, asked.outcome = shown["state"], shown["outcome"] or ""
            asked.history = tuple(moment["state"] for moment in shown["history"])
            known = asked.state not in ("confirmed", "desk") or bool(asked.outcome)
            return asked.state in ended and known and (asked.heard or asked.agent_died)

        with suppress(NotInTime):
            until(over, SETTLED_S, every=0.05, what=f"{asked.prompt} to be settled")


def option_of(yourcall: Any, prompt: str, yes: bool) -> str:
    wanted = "allow_once" if yes else "deny"
    options: list[dict[str, Any]] = yourcall.show(prompt)["questions"][0]["options"]
    return next(each["id"] for each in options if each["effect"] == wanted)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


# --- the cases ----------------------------------------------------------------------------------------------


def one(round: Round) -> Asked:
    """The agent asks for one command; its prompt."""
    key = round.key()
    round.ask([key])
    return round.prompt(key)


def plain(round: Round) -> None:
    asked = one(round)
    if asked.prompt:
        round.answer(asked, round.chance.random() < 0.5)


def taps(round: Round) -> None:
    """Two or three taps of an impatient thumb on the same button."""
    asked, yes = one(round), round.chance.random() < 0.5
    if asked.prompt:
        tap = lambda: round.answer(asked, yes)  # noqa: E731
        round.together(*[tap] * round.chance.choice((2, 3)))


def opposed(round: Round) -> None:
    """One device says yes, another no."""
    asked = one(round)
    if asked.prompt:
        acts = [lambda: round.answer(asked, True, "phone"), lambda: round.answer(asked, False, "tablet")]
        round.chance.shuffle(acts)
        round.together(*acts)


def desk_race(round: Round) -> None:
    """A yes at the desk against a no from afar."""
    asked = one(round)
    if asked.prompt:
        round.desk.at_desk()
        acts = [lambda: round.at_the_desk(asked), lambda: round.answer(asked, False)]
        round.chance.shuffle(acts)
        round.together(*acts)


def twins(round: Round) -> None:
    """The same command twice: a thumb that taps on must not answer the second."""
    key = round.key()
    round.ask([key], [key])
    first = round.prompt(key)
    if not first.prompt:
        return
    tap = lambda: round.answer(first, True)  # noqa: E731
    round.together(tap, tap, tap)
    second = round.prompt(key)
    first.runs, first.counted = round.way.tally(key), True
    second.ran_before = first.runs
    if second.prompt:
        round.answer(second, False)


def parallel(round: Round) -> None:
    """Two commands of one turn, one allowed and one refused."""
    first, second = round.key("a"), round.key("b")
    round.ask([first, second])
    one, other = round.prompt(first), None
    if one.prompt:
        yes = round.chance.random() < 0.5
        round.answer(one, yes)
        other = round.prompt(second)
        if other.prompt:
            round.answer(other, not yes)


def daemon_dies(round: Round) -> None:
    """A power cut for yourcall at any moment of an answer; who heard nothing answers again."""
    asked, yes = one(round), round.chance.random() < 0.5
    if not asked.prompt:
        return
    round.together(lambda: round.answer(asked, yes), round.way.yourcall.kill, gap=round.chance.uniform(0, 0.06))
    round.way.yourcall.start()
    if not round.way.outlives:
        asked.agent_died = round.dead = True
        return
    with suppress(NotInTime):
        if until(lambda: _after_the_kill(round, asked), 30, what="what became of it") == "asked again":
            round.answer(asked, yes)


def _after_the_kill(round: Round, asked: Asked) -> str:
    """A prompt that was in doubt may be found open again: then a person answers again."""
    if any(each["id"] == asked.prompt and each["held"] for each in round.way.yourcall.prompts()):
        return "asked again"
    return "over" if round.way.yourcall.show(asked.prompt)["state"] in SETTLED else ""


def daemon_stands_still(round: Round) -> None:
    asked, yes = one(round), round.chance.random() < 0.5
    if asked.prompt:
        pid = round.way.yourcall.pid

        def pause() -> None:
            with stopped(pid):
                time.sleep(round.chance.uniform(0.05, 1.0))  # how long it stands still is what is tried

        round.together(lambda: round.answer(asked, yes), pause, gap=round.chance.uniform(0, 0.03))


def agent_stands_still(round: Round) -> None:
    asked, yes = one(round), round.chance.random() < 0.5
    if asked.prompt:
        pid = round.way.pid()

        def pause() -> None:
            with stopped(pid):
                time.sleep(round.chance.uniform(0.05, 4.0))  # how long it stands still is what is tried

        round.together(pause, lambda: round.answer(asked, yes), gap=round.chance.uniform(0, 0.03))


def agent_dies(round: Round) -> None:
    asked = one(round)
    if asked.prompt:
        pid = round.way.pid()
        asked.agent_died = round.dead = True
        round.together(lambda: round.answer(asked, True), lambda: end(pid), gap=round.chance.uniform(0, 0.1))


def desk_stops(round: Round) -> None:
    """Esc at the desk against a yes from afar: whoever is first, what is told is what happened."""
    asked = one(round)
    if not asked.prompt:
        return
    round.desk.at_desk()

    def stop() -> None:
        round.desk.desk_stop()
        asked.given.append(Given("desk", False))

    acts: list[Callable[[], object]] = [stop, lambda: round.answer(asked, True)]
    round.chance.shuffle(acts)
    round.together(*acts)
    asked.heard = True  # a turn that was stopped tells the model nothing; that the agent rests is looked at


CASES: dict[str, Case] = {
    "one answer": plain,
    "two or three taps": taps,
    "two devices, opposite": opposed,
    "desk against phone": desk_race,
    "Esc at the desk": desk_stops,
    "the same command twice": twins,
    "two at once": parallel,
    "yourcall killed": daemon_dies,
    "yourcall stopped": daemon_stands_still,
    "agent stopped": agent_stands_still,
    "agent killed": agent_dies,
}


def possible(way: type[Way]) -> list[str]:
    """What can happen on this way: without a desk nobody presses a key there."""
    without_desk = ("desk against phone", "Esc at the desk")
    no = () if issubclass(way, WithDesk) else without_desk
    return [name for name in CASES if name not in no and (way.together or name != "two at once")]
