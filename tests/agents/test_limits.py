"""Usage limits: each agent's own sign of one becomes a problem that says when it resets."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from yourcall.agents.claude import hooks, pauses
from yourcall.agents.claude.live.session import ClaudeSession
from yourcall.agents.claude.wire import HookPayload
from yourcall.agents.codex import pauses as codex
from yourcall.agents.codex.wire import Item, Thread, Turn
from yourcall.agents.endings import ended
from yourcall.agents.gemini.agent import AGENTS as GEMINI
from yourcall.agents.session_spec import Child, StartOptions
from yourcall.agents.sightings import HookCall
from yourcall.core.state import State, Step
from yourcall.model.events import CallSettled, PromptRaised
from yourcall.model.prompts import Answer, Prompt

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
AT = datetime(2026, 11, 19, 12, 30, tzinfo=UTC).timestamp()
SAID = "You've hit your session limit · resets 3pm (UTC)"
THREE = datetime(2026, 11, 19, 15, tzinfo=UTC).timestamp()


def stop_failure(error: str, said: str) -> Prompt:
    payload = {"session_id": "s1", "cwd": "/p", "error": error, "last_assistant_message": said}
    told = hooks.read_hook(HookCall(AT, "StopFailure", json.dumps(payload).encode(), new_id="p1"))
    (raised,) = [event for event in told.events if isinstance(event, PromptRaised)]
    return raised.prompt


def test_claude_in_a_terminal() -> None:
    prompt = stop_failure("rate_limit", SAID)
    assert (prompt.kind, prompt.resets_at, prompt.link) == ("problem", THREE, "speech")
    assert prompt.questions[0].free_text  # it can be told to go on
    assert stop_failure("server_error", SAID).resets_at == 0.0
    unknown = stop_failure("rate_limit", "API Error: Request rejected (429)")
    assert (unknown.resets_at, unknown.questions) == (0.0, ())


def test_claude_that_was_told_to_go_on_is_known_to_have_taken_it() -> None:
    prompt = msgspec.structs.replace(
        stop_failure("rate_limit", SAID),
        state="sent",
        answer=Answer("a1", "alice", "queue", texts={"next": "Go on."}),
    )
    state = State()
    state.take(Step(prompts=(prompt,)))
    said = pauses.next_turn(HookPayload("s1", prompt="Go on.", prompt_id="t2"))
    settled = [event for ending in said for event in ended(state, ending, AT)]
    assert settled == [CallSettled(AT, "p1", "allowed", "held", "the session went on")]
    other = pauses.next_turn(HookPayload("s1", prompt="something else", prompt_id="t2"))
    (desk,) = [event for ending in other for event in ended(state, ending, AT)]
    assert isinstance(desk, CallSettled)
    assert desk.source == "desk"


@pytest.mark.parametrize(
    ("status", "resets", "when"),
    [
        ("rejected", THREE, THREE),
        ("allowed_warning", THREE, 0.0),
        ("rejected", 9e12, 0.0),
        ("rejected", None, 0.0),
    ],
)
def test_claude_over_pipes(status: str, resets: float | None, when: float) -> None:
    session = ClaudeSession(StartOptions("/p", "go"), Child(1, "1", "/p"))
    message = {"role": "assistant", "content": ""}
    lines: list[dict[str, object]] = [
        {"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/p"},
        {"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": resets}},
        {"type": "assistant", "session_id": "s1", "error": "rate_limit", "message": message},
        {"type": "result", "subtype": "success", "is_error": True, "result": "Stopped.", "session_id": "s1"},
    ]
    session._unheard.clear()  # pyright: ignore[reportPrivateUsage]
    heard = [event for line in lines for event in session.hear(json.dumps(line).encode(), AT).events]
    (raised,) = [event for event in heard if isinstance(event, PromptRaised)]
    assert (raised.prompt.kind, raised.prompt.resets_at) == ("problem", when)
    again = ClaudeSession.restored(StartOptions("/p", "go"), Child(1, "1", "/p"), session.state())
    assert again.state() == session.state()


def test_codex() -> None:
    said = "You've hit your usage limit. Upgrade to Plus, or try again at Nov 19th, 2026 3:00 PM UTC."
    failure = {"message": said, "codexErrorInfo": "usageLimitExceeded"}
    turn = msgspec.json.decode(json.dumps({"id": "t1", "status": "failed", "error": failure}), type=Turn)
    thread = msgspec.json.decode(json.dumps({"id": "th", "cwd": "/p"}), type=Thread)
    prompt = codex.ended(thread, turn, Item(), "socket", AT)
    assert (prompt.kind, prompt.resets_at) == ("problem", THREE)


def test_the_dialog_of_gemini() -> None:
    screen = (CORPUS / "gemini" / "v0.61.0-quota-day-80x24" / "screen.txt").read_text()
    (agent,) = [each for each in GEMINI if each.name == "gemini"]
    assert agent.screen is not None
    assert agent.screen.offer(agent.screen.read(screen)).limited
