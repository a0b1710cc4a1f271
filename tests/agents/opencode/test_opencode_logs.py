"""Twelve logs of the real opencode, through our plugin: each request is read, answered by its id, and settled."""

from __future__ import annotations

from pathlib import Path

import pytest
from opencode_replay import LOGS, Player, logged, played

from yourcall.agents.opencode.requests import action_of
from yourcall.model.action import Action
from yourcall.model.conversation import Action as Call
from yourcall.model.conversation import AssistantText, UserMessage
from yourcall.model.prompts import Answer

pytestmark = pytest.mark.long  # each starts node

PAUSES = ("ready", "problem")


def say(choices: dict[str, tuple[str, ...]], **texts: str) -> Answer:
    return Answer("answer1", "somebody", "test", choices, texts)


def requests(player: Player) -> list[tuple[str, str | None]]:
    return [(p.state, p.outcome) for p in player.prompts.values() if p.kind not in PAUSES]


@pytest.mark.parametrize("log", LOGS)
def test_every_request_is_raised_and_comes_to_an_end(tmp_path: Path, log: str) -> None:
    player = played(tmp_path, log)
    wanted = sum(event["type"].endswith(".asked") for event in logged(log))
    ends = requests(player)
    assert len(ends) == wanted
    assert all(state in ("desk", "ended") for state, _ in ends), ends
    (session,) = player.state.sessions.values()
    assert (session.agent, session.cwd, session.version) == ("opencode", "/tmp/demo-shop", "1.18.33")
    assert session.transcript == f"/records/{session.id}.jsonl"
    assert ("tmux", "%3", "/tmp/s") in [(link.kind, link.target, link.server) for link in session.links]


@pytest.mark.parametrize(
    ("log", "word", "outcome"), [("allow-once", "once", "allowed"), ("reject", "reject", "denied")]
)
def test_our_answer_is_confirmed_by_the_event_that_closes_the_request(
    tmp_path: Path, log: str, word: str, outcome: str
) -> None:
    player = played(tmp_path, log, {"touch a.txt": say({"decision": (word,)})})
    assert requests(player) == [("confirmed", outcome)]
    (post,) = [call for call in player.calls if "post" in call]
    assert post["post"].startswith("/permission/per_")
    assert post["body"] == {"reply": word}


def test_a_reason_goes_with_a_rejection(tmp_path: Path) -> None:
    said = say({"decision": ("reject",)}, decision="please use mktemp")
    player = played(tmp_path, "reject-with-reason", {"permission": said})
    assert requests(player) == [("confirmed", "denied")]
    assert {"reply": "reject", "message": "please use mktemp"} in [call.get("body") for call in player.calls]


def test_the_loser_of_a_race_is_told_that_the_desk_decided(tmp_path: Path) -> None:
    """We say yes, and the event that closes the request says no: it was not us."""
    player = played(tmp_path, "reject", {"touch a.txt": say({"decision": ("once",)})})
    assert requests(player) == [("desk", "denied")]


def test_a_rejection_takes_the_others_with_it(tmp_path: Path) -> None:
    player = played(tmp_path, "parallel-one-rejected", {"touch p1.txt": say({"decision": ("reject",)})})
    assert requests(player) == [("confirmed", "denied"), ("desk", "denied"), ("desk", "denied")]
    assert len([call for call in player.calls if "post" in call]) == 1


def test_questions_are_answered_with_the_very_labels(tmp_path: Path) -> None:
    chosen = say({"q0": ("o1",), "q1": ("o0", "o2"), "q2": ("o0",)})
    player = played(tmp_path, "question", {"Which database": chosen})
    assert requests(player) == [("confirmed", "allowed")]
    (post,) = [call for call in player.calls if "post" in call]
    assert post["body"] == {"answers": [["SQLite"], ["Login", "Export"], ["shop-api"]]}


def test_what_an_abort_leaves_behind_is_rejected(tmp_path: Path) -> None:
    player = played(tmp_path, "abort-while-asked")
    assert requests(player) == [("ended", None)]
    (post,) = [call for call in player.calls if "post" in call]
    assert post["body"] == {"reply": "reject"}
    (pause,) = [p for p in player.prompts.values() if p.kind == "ready"]
    assert pause.body == "The turn was stopped."


def test_a_change_is_shown_whole(tmp_path: Path) -> None:
    player = played(tmp_path, "edit-once")
    (prompt,) = [p for p in player.prompts.values() if p.kind == "permission"]
    assert prompt.title == "Write hello.py"
    assert "+print('world')" in prompt.body
    assert action_of(player.bodies[prompt.request]) == Action("write", "write", paths=("/tmp/demo-shop/hello.py",))


def test_a_command_is_known_to_rules_as_it_was_made(tmp_path: Path) -> None:
    player = played(tmp_path, "allow-once")
    (prompt,) = [p for p in player.prompts.values() if p.kind == "permission"]
    assert action_of(player.bodies[prompt.request]) == Action(
        "bash", "command", command="touch a.txt", any_shell=True
    )


def test_a_loop_is_told_with_its_call(tmp_path: Path) -> None:
    player = played(tmp_path, "doom-loop")
    loops = [p for p in player.prompts.values() if p.kind == "loop"]
    assert [p.title for p in loops] == ["The same call again: glob"]
    assert "*.nothing" in loops[0].body
    assert action_of(player.bodies[loops[0].request]) == Action("doom_loop")


def test_a_sub_agent_asks_in_the_persons_session(tmp_path: Path) -> None:
    player = played(tmp_path, "subagent")
    (prompt,) = [p for p in player.prompts.values() if p.kind == "permission"]
    (session,) = player.state.sessions.values()
    assert prompt.session_id == session.id
    assert prompt.subagent.startswith("Child work")
    child = prompt.subagent.rsplit(" ", 1)[1]
    assert any(isinstance(entry, AssistantText) for entry in player.records[child])


def test_a_failure_is_a_problem_and_a_wait_a_note(tmp_path: Path) -> None:
    player = played(tmp_path, "error-401")
    (problem,) = player.prompts.values()
    assert (problem.kind, problem.title) == ("problem", "Incorrect API key provided")


def test_a_conversation_is_kept_with_its_calls(tmp_path: Path) -> None:
    (entries,) = played(tmp_path, "edit-once").records.values()
    first, begun, over, last = [e for e in entries if isinstance(e, UserMessage | Call | AssistantText)]
    assert isinstance(first, UserMessage)
    assert isinstance(begun, Call)
    assert isinstance(over, Call)
    assert isinstance(last, AssistantText)
    assert (begun.phase, begun.tool, begun.paths) == ("started", "write", ("/tmp/demo-shop/hello.py",))
    assert (over.phase, over.is_error) == ("completed", False)
    assert "+print('hello')" in begun.diff
