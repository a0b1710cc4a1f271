"""A talk with Claude over pipes, against recorded ones: every line we write, every line we read.

The records (tests/data/claude/stream-*.jsonl) were made with the real program: `in` and `out` are the lines, and
`answer`, `ask` and `say` is what was done in between. What is done again must write the same lines again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yourcall.agents.claude.live.session import ClaudeSession, arguments
from yourcall.agents.claude.live.wire import (
    Unsendable,
    control_error,
    control_response,
    derived_id,
    encode,
    plain,
    user_message,
)
from yourcall.agents.session_spec import Child, StartOptions
from yourcall.model.events import (
    AnyEvent,
    CallSettled,
    DialogClosed,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    SessionSeen,
)
from yourcall.model.prompts import Answer, Prompt, Refused

DATA = Path(__file__).parents[2] / "data" / "claude"
CWD = "/home/someone/project"


def play(version: str) -> list[str]:
    """Do again what was done, hear again what was heard; what it meant, in words."""
    talk = ClaudeSession(StartOptions(CWD, "DO first"), Child(4321, "77", CWD))
    prompts: dict[str, Prompt] = {}
    bodies: dict[str, bytes] = {}
    written, meant = talk.open(), list[str]()
    for number, text in enumerate((DATA / f"stream-{version}.jsonl").read_text().splitlines()):
        match json.loads(text):
            case {"in": line}:
                assert written.pop(0) == line.encode() + b"\n"
            case {"out": line}:
                spoke = talk.hear(line.encode(), float(number))
                written += spoke.lines
                bodies |= spoke.bodies
                prompts |= {e.prompt.id: e.prompt for e in spoke.events if isinstance(e, PromptRaised)}
                meant += [word for event in spoke.events if (word := told(event, prompts))]
                if spoke.done is not None:
                    meant.append(f"granted {spoke.done.error or 'yes'}")
            case {"answer": said}:
                prompt = prompts[said.pop("prompt")]
                answer = msgspec.convert({"id": "a", "by": "someone", "via": "test", **said}, Answer)
                line = talk.answer(prompt, answer, bodies.get(prompt.request, b""))
                assert isinstance(line, bytes)
                written.append(line)
                meant.append("  > answer")
            case {"ask": [what, value]}:
                written.append(talk.ask(what, value)[1])
                meant.append(f"  > {what} {value}".rstrip())
            case {"say": [words, command]}:
                line = talk.say(words, command)
                assert isinstance(line, bytes)
                written.append(line)
                meant.append(f"  > {words}")
            case other:
                raise AssertionError(other)
    assert written == []
    return meant


def told(event: AnyEvent, prompts: dict[str, Prompt]) -> str:
    match event:
        case SessionSeen(session=session) if session.state == "unknown":
            return f"mode {session.permission_mode}"
        case SessionSeen():
            return ""
        case SessionEnded(why=why):
            return f"another id: {why.split(' as ')[0]}"
        case PromptRaised(prompt=prompt):
            assert (prompt.link, prompt.answerable, prompt.agent, prompt.cwd) == ("stdio", True, "claude", CWD)
            return f"{prompt.kind}: {prompt.title}" + (
                f" ({prompt.subagent.split()[0]})" if prompt.subagent else ""
            )
        case DialogClosed(to=to):
            return f"taken, {to}"
        case CallSettled():
            return f"{event.outcome} by {event.source}: {event.detail}"
        case PromptWithdrawn(why=why):
            return f"withdrawn: {why}"
        case other:
            return type(other).__name__


BOTH = [
    "permission: touch marker",
    "  > answer",
    "taken, busy",
    "allowed by held: it ran",
    "permission: touch marker",
    "  > answer",
    "taken, busy",
    "denied by held: it was refused",
    "permission: touch marker",
    "  > answer",
    "taken, busy",
    "allowed by held: it ran",
    "ready: Ready for the next instruction",
    "  > answer",
    "allowed by held: the next instruction was given",
    "permission: touch marker",
    "  > answer",
    "taken, idle",
    "stopped by held: refused, and the turn stopped",
    "ready: Ready for the next instruction",
    "  > answer",
    "allowed by held: the next instruction was given",
    "permission: touch marker",
    "  > interrupt",
    "withdrawn: the turn was stopped",
    "granted yes",
    "ready: Ready for the next instruction",
    "  > answer",
    "allowed by held: the next instruction was given",
    "question: Which database?",
    "  > answer",
    "taken, busy",
    "allowed by held: it was answered",
    "ready: Ready for the next instruction",
    "  > mode plan",
    "granted yes",
    "  > answer",
]
NEW = [
    "mode plan",
    "allowed by held: the next instruction was given",
    "plan: Approve the plan?",
    "  > answer",
    "taken, busy",
    "mode default",
    "allowed by held: the plan was approved",
    "ready: Ready for the next instruction",
    "  > answer",
    "allowed by held: the next instruction was given",
    "elicitation: demo asks: How many people, and which seating?",
    "  > answer",
    "allowed by held: the server was answered",
    "ready: Ready for the next instruction",
    "  > answer",
    "allowed by held: the next instruction was given",
    "permission: touch marker (general-purpose)",
    "  > answer",
    "taken, busy",
    "ready: Ready for the next instruction",
    "allowed by held: it ran",
    "withdrawn: the session went on",
    "ready: Ready for the next instruction",
    "  > answer",
    "allowed by held: the next instruction was given",
    "problem: Claude's account has no credit left",
    "  > /clear",
    "withdrawn: the session went on",
    "another id: it goes on",
    "ready: Ready for the next instruction",
]
OLD = [
    "allowed by held: the next instruction was given",
    "plan: Approve the plan?",
    "  > answer",
    "taken, busy",
    "allowed by held: the plan was approved",
    "ready: Ready for the next instruction",
    "  > answer",
    "allowed by held: the next instruction was given",
    "problem: Claude stopped: success",
    "  > /clear",
    "withdrawn: the session went on",
    "ready: Ready for the next instruction",
]


def test_a_whole_talk_of_the_newest_version() -> None:
    assert play("2.1.325") == [*BOTH, *NEW]


def test_a_whole_talk_of_an_old_version() -> None:
    assert play("2.0.76") == [*BOTH, *OLD]


def test_how_it_is_called() -> None:
    words = arguments(StartOptions(CWD, "x", "manual", "opus", "abc", ("Read", "Bash(git log:*)")))
    assert words[words.index("--permission-mode") + 1] == "default"  # all versions know it under this name
    assert words[-6:] == ["--model", "opus", "--resume", "abc", "--allowedTools", "Read,Bash(git log:*)"]
    assert "--dangerously-skip-permissions" not in words
    assert "--dangerously-skip-permissions" in arguments(StartOptions(CWD, "x", skip_permissions=True))
    assert "--dangerously-skip-permissions" not in arguments(StartOptions(CWD, "x", "plan", skip_permissions=True))


# --- a malformed line would end the process -----------------------------------------------------------------

ANY_TEXT = st.text(st.characters(), max_size=200)  # half letters too, as JavaScript cuts them
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def whole(line: bytes) -> dict[str, Any]:
    """One line of strict JSON, or the test fails."""
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"\r" not in line

    def never(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(line.decode(), parse_constant=never)


@given(JSON)
def test_every_message_becomes_one_line_or_none(value: object) -> None:
    try:
        line = encode({"value": value})
    except Unsendable:
        return
    whole(line)


@given(st.binary(max_size=60) | JSON.map(lambda v: json.dumps(v, indent=2).encode()))
@example(b'"\xff"')
@example(b'{"a":\n1}')
@example(b"1e999")
@example(b"}, {")
def test_what_is_passed_through_unread_is_one_line_or_none(raw: bytes) -> None:
    try:
        line = control_response("r1", {"updatedInput": msgspec.Raw(raw)})
    except Unsendable:
        return
    passed = whole(line)["response"]["response"]["updatedInput"]
    assert json.dumps(passed) == json.dumps(json.loads(raw))


@given(ANY_TEXT)
def test_any_text_can_be_said(text: str) -> None:
    said = whole(user_message(text, "u"))["message"]["content"]
    assert said == plain(text)
    whole(control_error("r", text))
    if all(not 0xD800 <= ord(letter) < 0xE000 for letter in text):
        assert said == text


@given(st.binary(max_size=200) | JSON.map(lambda v: json.dumps(v).encode()))
def test_no_line_raises_or_means_anything_by_chance(line: bytes) -> None:
    talk = ClaudeSession(StartOptions(CWD, "x"), Child(1, "1", CWD))
    spoke = talk.hear(line, 1.0)
    assert (spoke.events, spoke.lines, talk.session_id) == ((), (), "")


# --- what may come up ---------------------------------------------------------------------------------------

ASKED = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t-1"}


def begun() -> ClaudeSession:
    talk = ClaudeSession(StartOptions(CWD, "x"), Child(1, "1", CWD))
    (seen,) = talk.hear(b'{"type":"system","subtype":"init","session_id":"any.id:at-all"}', 1.0).events
    assert isinstance(seen, SessionSeen)
    return talk


def raise_one(talk: ClaudeSession, **more: object) -> Prompt:
    line = {"type": "control_request", "request_id": "r-1", "request": {**ASKED, **more}}
    (raised,) = talk.hear(json.dumps(line).encode(), 2.0).events
    assert isinstance(raised, PromptRaised)
    return raised.prompt


def test_a_request_with_half_a_letter_in_it_is_asked_all_the_same() -> None:
    assert raise_one(begun(), input={"command": "echo \ud83d!"}).body in ("echo \ufffd!", "echo ?!")


def test_the_id_of_a_prompt_is_that_of_its_request() -> None:
    assert raise_one(begun()).id == raise_one(begun()).id == derived_id("any.id:at-all", "r-1")


def test_a_request_that_nobody_can_show_is_refused_not_left_waiting() -> None:
    line = {"type": "control_request", "request_id": "r-2", "request": {"subtype": "new_thing"}}
    (reply,) = begun().hear(json.dumps(line).encode(), 1.0).lines
    assert whole(reply)["response"] | {"error": ""} == {"subtype": "error", "request_id": "r-2", "error": ""}


def test_questions_that_make_no_sense_can_still_be_refused() -> None:
    talk = begun()
    prompt = raise_one(talk, tool_name="AskUserQuestion", input={"questions": "none"})
    assert [option.id for question in prompt.questions for option in question.options] == ["deny", "stop"]
    body = b'{"tool_name":"AskUserQuestion","tool_input":{}}'
    line = talk.answer(prompt, Answer("a", "x", "y", {"decision": ("deny",)}), body)
    assert isinstance(line, bytes)
    assert whole(line)["response"]["response"]["behavior"] == "deny"


def test_an_answer_after_the_request_was_cancelled_is_not_written() -> None:
    talk = begun()
    prompt = raise_one(talk)
    (event,) = talk.hear(b'{"type":"control_cancel_request","request_id":"r-1"}', 3.0).events
    assert event == PromptWithdrawn(3.0, prompt.id, "the turn was stopped")
    refused = talk.answer(prompt, Answer("a", "x", "y", {"decision": ("allow",)}), b"{}")
    assert refused == Refused("Claude no longer asks this.")


def test_an_answer_that_crosses_the_cancelling_is_not_called_ours() -> None:
    talk = begun()
    prompt = raise_one(talk)
    assert isinstance(talk.answer(prompt, Answer("a", "x", "y", {"decision": ("allow",)}), b"{}"), bytes)
    assert talk.hear(b'{"type":"control_cancel_request","request_id":"r-1"}', 3.0).events == ()
    (event,) = talk.hear(result_of("t-1"), 4.0).events
    assert event == CallSettled(4.0, prompt.id, "stopped", "desk", "the turn was stopped first")


def test_another_program_that_decides_first_is_told_as_such() -> None:
    talk = begun()
    prompt = raise_one(talk)
    (event,) = talk.hear(result_of("t-1", decision="accept", source="hook"), 3.0).events
    assert event == CallSettled(3.0, prompt.id, "allowed", "desk", "decided by another program, through a hook")


def result_of(call: str, **decision: str) -> bytes:
    meta = {"id": call, "permission_decision": decision or None}
    content = [{"type": "tool_result", "tool_use_id": call, "content": "ok"}]
    return json.dumps({"type": "user", "message": {"content": content}, "tool_result_meta": [meta]}).encode()


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"is_error": False, "subtype": "success", "result": "Done."}, "ready"),
        ({"is_error": True, "subtype": "success", "result": "Not logged in"}, "problem"),
        ({"is_error": True, "subtype": "error_max_turns", "errors": ["too many"]}, "problem"),
        ({"is_error": True, "subtype": "error_during_execution", "terminal_reason": "aborted_tools"}, "ready"),
    ],
)
def test_is_error_decides(told: dict[str, object], kind: str) -> None:
    *_, raised = begun().hear(json.dumps({"type": "result", "uuid": "u-1", **told}).encode(), 2.0).events
    assert isinstance(raised, PromptRaised)
    assert (raised.prompt.kind, [q.id for q in raised.prompt.questions]) == (kind, ["next"])


def test_a_session_is_not_ready_while_more_was_said_to_it() -> None:
    talk = begun()
    assert isinstance(talk.say("and this", command=False), bytes)
    events = talk.hear(b'{"type":"result","uuid":"u-1"}', 2.0).events
    assert [type(event) for event in events] == [SessionSeen]


def test_a_leading_slash_is_text_unless_it_is_meant() -> None:
    talk = begun()
    said = [talk.say("/clear", command) for command in (False, True)]
    assert [whole(line)["message"]["content"] for line in said if isinstance(line, bytes)] == [" /clear", "/clear"]


def test_what_it_says_is_seen_before_it_is_whole() -> None:
    talk = begun()
    for event, parent in (
        ({"type": "message_start"}, None),
        ({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm."}}, None),
        ({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Half a"}}, None),
        ({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "not this"}}, "t-9"),
    ):
        line = {"type": "stream_event", "event": event, "parent_tool_use_id": parent}
        talk.hear(json.dumps(line).encode(), 2.0)
    assert (talk.speaking.text, talk.speaking.thinking) == ("Half a", "Hm.")
    talk.hear(b'{"type":"result"}', 3.0)
    assert talk.speaking.text == ""
