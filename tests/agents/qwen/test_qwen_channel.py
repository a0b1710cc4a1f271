"""Qwen Code's channel: real events, and every order in which an answer, the desk and a restart can meet."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.qwen.live.channel import Channel
from yourcall.agents.qwen.requests import action_of
from yourcall.agents.session_spec import PluginGreeting
from yourcall.agents.sightings import Caller
from yourcall.model.events import AnyEvent, CallSettled, DialogClosed, PromptRaised, SessionSeen
from yourcall.model.prompts import Answer, Prompt, Refused

DATA = Path(__file__).parents[2] / "data" / "qwen"
HELLO = {"type": "control_response", "response": {"subtype": "error", "request_id": "yourcall-hello"}}
START = {
    "type": "system",
    "subtype": "session_start",
    "session_id": "s1",
    "data": {"session_id": "s1", "cwd": "/p", "version": "0.24.4"},
}


def request(name: str = "r1", command: str = "touch a") -> dict[str, object]:
    inside = {"subtype": "can_use_tool", "tool_name": "run_shell_command", "tool_use_id": f"call-{name}"}
    return {"type": "control_request", "request_id": name, "request": {**inside, "input": {"command": command}}}


def used(name: str = "r1") -> dict[str, object]:
    """The line behind our answer was refused."""
    return {"type": "control_response", "response": {"subtype": "error", "request_id": f"yourcall-{name}"}}


def refused(name: str = "r1") -> dict[str, object]:
    return {"type": "control_response", "response": {"subtype": "error", "request_id": name}}


def over(name: str = "r1", *, allowed: bool) -> dict[str, object]:
    inside = {"subtype": "success", "request_id": name, "response": {"allowed": allowed}}
    return {"type": "control_response", "response": inside}


class Talk:
    def __init__(self) -> None:
        self.channel = Channel(PluginGreeting((Caller(7, "1"),), b""))
        self.bodies: dict[str, bytes] = {}

    def hears(self, *messages: dict[str, object]) -> list[AnyEvent]:
        found: list[AnyEvent] = []
        for message in messages:
            line = json.dumps(message, separators=(",", ":")).encode()
            output = self.channel.hear(line, 5.0)
            self.bodies |= output.bodies
            found += output.events
        return found

    def raised(self) -> Prompt:
        events = self.hears(START, HELLO, request())
        return next(event.prompt for event in events if isinstance(event, PromptRaised))

    def answers(self, prompt: Prompt, option: str) -> list[dict[str, object]]:
        answer = Answer("a1", "me", "test", {"decision": (option,)})
        lines = self.channel.answer(prompt, answer, self.bodies[prompt.request])
        assert not isinstance(lines, Refused), lines
        return [json.loads(line) for line in lines]


def test_real_events_become_prompts() -> None:
    talk = Talk()
    lines = (DATA / "events.jsonl").read_bytes().splitlines()
    events = talk.channel.hear(lines[0], 1.0).events
    assert isinstance(events[0], SessionSeen)
    talk.hears(HELLO)
    found = [event for line in lines[1:] for event in talk.channel.hear(line, 1.0).events]
    prompts = [event.prompt for event in found if isinstance(event, PromptRaised)]
    assert [prompt.kind for prompt in prompts] == ["permission", "question", "question", "question", "question"]
    assert [len(prompt.questions) for prompt in prompts] == [1, 1, 2, 1, 1]
    assert all(prompt.call_id for prompt in prompts)
    assert len({prompt.id for prompt in prompts}) == len(prompts)


@pytest.mark.parametrize(("option", "allowed"), [("allow", True), ("deny", False)])
def test_an_answer_goes_by_id_with_a_line_behind_it(option: str, allowed: bool) -> None:
    talk = Talk()
    prompt = talk.raised()
    first, second = talk.answers(prompt, option)
    assert first == {"type": "confirmation_response", "request_id": "r1", "allowed": allowed}
    assert (second["request_id"], second["allowed"]) == ("yourcall-r1", False)
    events = talk.hears(used(), over(allowed=allowed))
    assert [type(event) for event in events] == [DialogClosed, CallSettled]
    settled = events[-1]
    assert isinstance(settled, CallSettled)
    assert (settled.outcome, settled.source) == ("allowed" if allowed else "denied", "held")


def test_the_same_word_from_the_desk_is_not_taken_for_ours() -> None:
    """The desk allowed it a moment before: the CLI says so, and refuses our answer behind it."""
    talk = Talk()
    prompt = talk.raised()
    talk.answers(prompt, "allow")
    assert talk.hears(over(allowed=True)) == []
    events = talk.hears(refused(), used())
    assert [(e.outcome, e.source) for e in events if isinstance(e, CallSettled)] == [("allowed", "desk")]


def test_a_no_from_the_desk_a_moment_before_is_told_as_such() -> None:
    talk = Talk()
    prompt = talk.raised()
    talk.answers(prompt, "deny")
    events = talk.hears(over(allowed=False), refused(), used())
    assert [(e.outcome, e.source) for e in events if isinstance(e, CallSettled)] == [("denied", "desk")]


def test_a_refusal_that_nobody_told_of_is_closed_and_left_to_the_record() -> None:
    talk = Talk()
    prompt = talk.raised()
    talk.answers(prompt, "deny")
    events = talk.hears(used())
    assert events == [DialogClosed(5.0, prompt.id, "idle")]


def test_an_answer_is_sent_once() -> None:
    talk = Talk()
    prompt = talk.raised()
    talk.answers(prompt, "allow")
    again = talk.channel.answer(
        prompt, Answer("a2", "me", "test", {"decision": ("deny",)}), talk.bodies[prompt.request]
    )
    assert isinstance(again, Refused)


def test_nothing_is_raised_before_the_cli_reads_us() -> None:
    talk = Talk()
    assert [type(event) for event in talk.hears(START, request())] == [SessionSeen]
    assert talk.channel.hear(b"\n", 6.0).lines == tuple(talk.channel.open())
    assert [type(event) for event in talk.hears(HELLO)] == [PromptRaised]
    assert talk.channel.hear(b"\n", 7.0).lines == ()


def test_of_an_old_file_only_what_is_still_asked_is_raised() -> None:
    talk = Talk()
    later = {"type": "user", "message": {"role": "user", "content": []}}
    talk.hears(START, request("r1"), over("r1", allowed=True), request("r2"), later, request("r3"))
    events = talk.hears(HELLO)
    assert [event.prompt.call_id for event in events if isinstance(event, PromptRaised)] == ["call-r3"]


def test_after_a_restart_an_answer_of_before_is_still_told_from_the_desks() -> None:
    talk = Talk()
    events = talk.hears(START, request("r1"), used("r1"), over("r1", allowed=True), request("r2"), refused("r2"))
    assert [(e.outcome, e.source) for e in events if isinstance(e, CallSettled)] == [("allowed", "held")]
    events = talk.hears(used("r2"), HELLO)
    assert [(e.outcome, e.source) for e in events if isinstance(e, CallSettled)] == [("unknown", "desk")]
    assert not [event for event in events if isinstance(event, PromptRaised)]


@given(st.binary(max_size=200))
def test_junk_means_nothing(junk: bytes) -> None:
    talk = Talk()
    talk.hears(START, HELLO)
    for line in (junk, b'{"type":"control_' + junk, b'{"type":"control_request","request":' + junk):
        assert talk.channel.hear(line, 1.0).events == ()


@pytest.mark.parametrize(
    ("tool", "given_input", "kind"),
    [
        ("run_shell_command", {"command": "ls"}, "command"),
        ("run_shell_command", {"command": "ls", "directory": "sub"}, "other"),
        ("write_file", {"file_path": "/p/a", "content": "x"}, "write"),
        ("web_fetch", {"url": "https://example.com/x", "prompt": "y"}, "fetch"),
        ("mcp__demo__deploy", {"target": "x"}, "mcp"),
        ("whatever", {"command": "ls"}, "other"),
    ],
)
def test_what_a_request_is_about(tool: str, given_input: dict[str, str], kind: str) -> None:
    body = msgspec.json.encode({"request_id": "r1", "tool_name": tool, "tool_input": given_input})
    action = action_of(body)
    assert action is not None
    assert action.kind == kind
