"""A logged conversation with a real agent, played again: its lines go into a talk of ours, which says our part.

The rule it keeps: what the agent said is fed as it was logged; only the numbers of our own requests are changed to
those that our talk has given them. What our talk writes can be held against what was written then.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from yourcall.agents.acp.live.session import AcpSession
from yourcall.agents.acp.table import Row
from yourcall.agents.session_spec import Child, Output, StartOptions
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.model.events import AnswerGiven, AnswerWritten, AnyEvent, PromptRaised
from yourcall.model.prompts import Answer, Prompt, Refused

DATA = Path(__file__).resolve().parents[2] / "data" / "acp"
CWD = "/tmp/shop"


def logged(name: str) -> list[tuple[bool, dict[str, Any]]]:
    """(said by the agent?, message), in their order."""
    rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]
    return [(row["dir"].startswith("agent"), row["msg"]) for row in rows if isinstance(row["msg"], dict)]


class Played:
    """A talk with the core behind it."""

    def __init__(self, row: Row, wish: StartOptions | None = None, child: Child | None = None) -> None:
        wish = wish or StartOptions(CWD, "")
        self.talk = AcpSession(row, wish, child or Child(7, "s7", wish.cwd, "/records"))
        self.state = State()
        self.seen: dict[str, Prompt] = {}  # every prompt there ever was, as it is now
        self.bodies: dict[str, bytes] = {}
        self.record: list[dict[str, Any]] = []
        self.written: list[dict[str, Any]] = []
        self.spokes: list[Output] = []
        self.at = 1000.0
        self._note(self.talk.open())

    def hear(self, message: object) -> Output:
        return self.hear_line(json.dumps(message).encode())

    def hear_line(self, line: bytes) -> Output:
        self.at += 1
        spoke = self.talk.hear(line, self.at)
        self.spokes.append(spoke)
        self._note(spoke.lines)
        self.bodies |= spoke.bodies
        self.record += [json.loads(line) for line in spoke.record]
        for event in spoke.events:
            self.post(event)
        return spoke

    def post(self, event: AnyEvent) -> None:
        done = step(self.state, event)
        self.state.take(done)
        self.seen |= {prompt.id: prompt for prompt in done.prompts}

    def _note(self, lines: Any) -> list[dict[str, Any]]:
        told = [json.loads(line) for each in lines for line in each.splitlines()]
        self.written += told
        return told

    @property
    def open(self) -> Prompt:
        """The one prompt that is open."""
        (prompt,) = [p for p in self.seen.values() if p.state == "open"]
        return prompt

    @property
    def asks(self) -> list[Prompt]:
        return [p for p in self.seen.values() if p.kind not in ("ready", "problem")]

    def answer(
        self, prompt: Prompt, choices: dict[str, str], texts: dict[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Answer it through the core; what was written for it."""
        answer = Answer(f"a{self.at}", "anna", "test", {q: (o,) for q, o in choices.items()}, texts or {})
        self.post(AnswerGiven(self.at, prompt.id, answer))
        assert self.seen[prompt.id].state == "answering", self.seen[prompt.id]
        line = self.talk.answer(prompt, answer, self.bodies.get(prompt.request, b""))
        assert not isinstance(line, Refused), line
        self.post(AnswerWritten(self.at, prompt.id, answer.id))
        return self._note([line])

    def say(self, text: str) -> dict[str, Any]:
        (line,) = self.answer(self.open, {}, {"next": text})
        return line

    def last(self, method: str) -> dict[str, Any]:
        return [m for m in self.written if m.get("method") == method][-1]


def play(name: str, row: Row) -> Played:
    """The whole log. Each reply that was given then is given now, and must be spelt alike."""
    played = Played(row)
    numbers: dict[int, int] = {}
    skipped: set[int] = set()
    asked: dict[Any, str] = {}  # the number of a request of the agent's -> our prompt
    refused: set[Any] = set()  # those that are not for a person
    for by_agent, message in logged(name):
        number, method = message.get("id"), message.get("method", "")
        if by_agent and method and number is not None:
            before = set(played.seen)
            played.hear(message)
            new = [id for id in played.seen if id not in before]
            if new:
                asked[number] = new[0]
            else:
                refused.add(number)
                assert played.written[-1]["error"]["code"] == -32601
        elif by_agent and method:
            played.hear(message)
        elif by_agent:
            if number not in skipped:
                played.hear({**message, "id": numbers[number]})
        elif method in ("initialize", "session/new"):
            numbers[number] = {"initialize": 1, "session/new": 2}[method]
        elif method == "session/prompt":
            numbers[number] = played.say(message["params"]["prompt"][0]["text"])["id"]
        elif method == "session/set_mode":
            wished = played.talk.ask("mode", message["params"]["modeId"])
            assert not isinstance(wished, Refused), wished
            assert json.loads(wished[1])["params"] == message["params"]
            numbers[number] = int(wished[0])
        elif method:
            skipped.add(number)  # something that we would not have asked for
        elif number not in refused:
            _reply(played, played.seen[asked[number]], message)
    return played


def _reply(played: Played, prompt: Prompt, message: dict[str, Any]) -> None:
    result = message["result"]
    if "outcome" in result:
        chosen = result["outcome"]["optionId"]
        (line,) = played.answer(prompt, {"decision": chosen})
        assert line == message, "not the answer that the agent took"
        return
    # The one form that was logged was filled in twice over; our answer is the one that counted.
    own = {
        name.removesuffix("_custom"): text for name, text in result["content"].items() if name.endswith("_custom")
    }
    (line,) = played.answer(prompt, {}, own)
    assert line["id"] == message["id"]
    assert line["result"]["action"] == result["action"]
    assert line["result"]["content"].items() <= result["content"].items()


def raises(spoke: Output) -> Prompt:
    (found,) = [event.prompt for event in spoke.events if isinstance(event, PromptRaised)]
    return found
