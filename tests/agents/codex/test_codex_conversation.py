"""Rollouts of the real Codex 0.166.0, as conversations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.codex.transcript import conversation_of, read_entry
from yourcall.model.conversation import Action, AnyEntry, AssistantText, Notice, Result, UserMessage, told
from yourcall.model.sessions import Session

ROLLOUTS = Path(__file__).resolve().parents[2] / "data/codex/rollouts"


def entries(name: str) -> list[AnyEntry]:
    lines = (ROLLOUTS / f"{name}.jsonl").read_bytes().splitlines()
    return told((entry for line in lines for entry in read_entry(line)), {})


def test_who_said_what_and_what_was_done() -> None:
    found = entries("shared-thread-many-approvals")
    said = [entry.text for entry in found if isinstance(entry, UserMessage)]
    assert said[:3] == ["hello there", "esc1 a", "esc1 from phone\nsecond line"]
    assert isinstance(found[1], AssistantText)
    assert found[1].text == "Hello! How can I help?"
    assert isinstance(found[2], Result)
    assert found[2].seconds == 0.18
    assert all(entry.at > 1_700_000_000 for entry in found)
    assert any(isinstance(entry, Notice) and "stopped" in entry.text for entry in found)


def test_a_call_has_its_words_at_its_end_too() -> None:
    done = [e for e in entries("shared-thread-many-approvals") if isinstance(e, Action) and e.phase == "completed"]
    assert [(a.kind, a.title, a.is_error) for a in done[:2]] == [
        ("command", "touch /etc/demo-marker", False),
        ("command", "touch /etc/demo-marker", True),  # refused
    ]
    assert "rejected by user" in done[1].detail


def test_a_question_and_its_answer_are_in_words() -> None:
    found = [
        e for e in entries("shared-thread-many-approvals") if isinstance(e, Action) and e.call_id == "call_371"
    ]
    asked, told = found
    assert (asked.kind, asked.title) == ("note", "Which database should I use?")
    assert "- PostgreSQL" in asked.detail.splitlines()[1:]
    assert told.detail.splitlines()[:2] == ["db: PostgreSQL", "auth: OAuth"]


def test_a_sub_agent_that_was_started_is_named() -> None:
    found = [e for e in entries("subagent-parent") if isinstance(e, Action) and e.phase == "completed"]
    assert [e.child for e in found] == ["01a1de12-1d25-7243-8890-531eb364484e", ""]


@pytest.mark.parametrize("name", sorted(path.stem for path in ROLLOUTS.glob("*.jsonl")))
def test_every_rollout_begins_with_a_person_and_repeats_nobody(name: str) -> None:
    found = entries(name)
    spoken = [e for e in found if isinstance(e, UserMessage | AssistantText)]
    assert isinstance(spoken[0], UserMessage)
    assert not any(e.text.startswith("<") for e in spoken if isinstance(e, UserMessage))
    calls = [e.call_id for e in found if isinstance(e, Action) and e.phase == "completed"]
    assert len(calls) == len(set(calls))


def test_a_path_of_a_rollout_is_all_that_is_opened() -> None:
    session = Session("s", "codex", "/tmp", transcript="/home/user/.codex/sessions/2026/rollout-x.jsonl")
    assert conversation_of(session, "") == session.transcript
    assert conversation_of(session, "../../x") == ""
    records = "/home/user/.codex/sessions/*/*/*/rollout-*-01a1-b.jsonl"
    assert conversation_of(session, "01a1-b") == conversation_of(session, "Fermat 01a1-b") == records
    odd = Session("s", "codex", "/tmp", transcript="/home/[a]*/.codex/sessions/2026/rollout-x.jsonl")
    assert conversation_of(odd, "b") == "/home/[[]a][*]/.codex/sessions/*/*/*/rollout-*-b.jsonl"


@given(st.binary(max_size=300))
def test_junk_says_nothing(line: bytes) -> None:
    assert read_entry(line) == []


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        ("apply_patch verification failed: invalid hunk at line 2", True),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\n", True),
        ("Exit code: 0\nWall time: 0.2 seconds\nOutput:\nSuccess. Updated the following files:\nA x\n", False),
    ],
)
def test_a_change_that_was_not_made_is_an_error(said: str, failed: bool) -> None:
    payload = {"type": "custom_tool_call_output", "call_id": "c", "output": said}
    (done,) = read_entry(json.dumps({"type": "response_item", "payload": payload}).encode())
    assert isinstance(done, Action)
    assert done.is_error == failed
