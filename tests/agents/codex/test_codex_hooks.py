"""What the hooks of the real Codex said, and which dialog on the screen each is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from yourcall.agents.codex.hooks import DESK, explain, mark, read_hook
from yourcall.agents.codex.screen.keys import CODEX_SCREEN
from yourcall.agents.screen_spec import Snapshot
from yourcall.agents.sightings import AnnouncedCall, HookCall, HookResult
from yourcall.model.events import PromptRaised, SessionEnded, SessionSeen
from yourcall.model.sessions import Link, Session

HERE = Path(__file__).parents[2]
LINES = list(json.loads((HERE / "data" / "codex" / "hook-payload-samples.json").read_text()).values())
TMUX = {"TMUX": "/tmp/tmux-1000/default,12,0", "TMUX_PANE": "%3", "pid": "4711", "runs": ""}


def line(event: str, tool: str = "") -> dict[str, Any]:
    return next(each for each in LINES if each["hook_event_name"] == event and each.get("tool_name", "") == tool)


def hear(payload: dict[str, Any], event: str = "", **env: str) -> HookResult:
    event = event or payload["hook_event_name"]
    return read_hook(HookCall(100.0, event, json.dumps(payload).encode(), {**TMUX, **env}, "", "fresh23456"))


def session(heard: HookResult) -> Session:
    first = heard.events[0]
    assert isinstance(first, SessionSeen)
    return first.session


def asks(command: str, tool: str = "Bash", told_id: str = "fresh23456") -> AnnouncedCall:
    given = line("PermissionRequest", "Bash") | {"tool_name": tool, "tool_input": {"command": command}}
    call = HookCall(100.0, "PermissionRequest", json.dumps(given).encode(), TMUX, "", told_id)
    told = read_hook(call).told
    assert told is not None
    return told


def shot(name: str) -> Snapshot:
    return CODEX_SCREEN.read((HERE / "corpus" / "codex" / name / "screen.txt").read_text())


@pytest.mark.parametrize("payload", LINES, ids=lambda each: each["hook_event_name"] + each.get("tool_name", ""))
def test_every_captured_payload_is_read(payload: dict[str, Any]) -> None:
    heard = hear(payload)
    assert heard.problem == ""
    if payload["hook_event_name"] == "SessionEnd":
        assert heard.events == (SessionEnded(100.0, payload["session_id"], "other"),)
        return
    assert session(heard).id == payload["session_id"]
    assert session(heard).cwd == payload["cwd"]
    assert session(heard).links == (Link("hook"), Link("tmux", "%3", "/tmp/tmux-1000/default"))
    assert session(heard).pid == 4711


def test_a_permission_is_told_for_the_screen_and_never_held() -> None:
    heard = hear(line("PermissionRequest", "Bash"))
    assert (len(heard.events), heard.held) == (1, False)
    told = heard.told
    assert told is not None
    assert (told.asked, told.tool, told.prompt.title) == (True, "Bash", "Command: touch /etc/demo-marker")
    assert "creating a marker file" in told.prompt.body
    assert (told.prompt.answerable, told.prompt.questions) == (False, ())
    assert told.prompt.fingerprint.startswith(DESK)


def test_what_the_shared_server_runs_is_passed_over() -> None:
    assert hear(line("PermissionRequest", "Bash"), runs="app-server") == HookResult()


def test_a_turn_that_ends_leaves_the_session_ready_and_nothing_asked() -> None:
    heard = hear(line("Stop"))
    seen, raised = heard.events
    assert isinstance(seen, SessionSeen)
    assert isinstance(raised, PromptRaised)
    assert (seen.session.state, raised.prompt.kind, raised.prompt.body) == ("idle", "ready", "All done.")
    assert raised.prompt.link == "speech"
    assert [(ending.alike, ending.outcome) for ending in heard.endings] == [(f"{DESK}main:", None)]
    assert hear(line("Stop"), runs="exec").events[1:] == ()


def test_the_next_instruction_ends_what_waited_for_it() -> None:
    given = hear(line("UserPromptSubmit"))
    assert session(given).state == "working"
    ready, over = given.endings
    assert (ready.alike, ready.said) == ("ready", line("UserPromptSubmit")["prompt"])
    assert (over.alike, over.turn_id) == (f"{DESK}main:", line("UserPromptSubmit")["turn_id"])


def test_a_late_word_that_a_turn_has_begun_does_not_make_its_own_requests_forgotten() -> None:
    """Hooks that return at once may overtake each other."""
    assert hear(line("UserPromptSubmit")).turn == 0
    assert hear(line("Stop")).turn == 100.0


def test_a_sub_agent_asks_in_the_session_it_belongs_to_and_its_turns_are_its_own() -> None:
    """Captured from 0.166.0: the parent's session id, an agent id, and a transcript of its own."""
    child = {"agent_id": "01a1df79-bae8", "agent_type": "default"}
    heard = hear(line("PermissionRequest", "Bash") | child)
    assert heard.told is not None
    assert (heard.told.prompt.subagent, session(heard).transcript) == ("default 01a1df79-bae8", "")
    assert heard.told.prompt.fingerprint.startswith(f"{DESK}01a1df79-bae8:")
    assert heard.told.prompt.body.startswith("Asked by a sub-agent (default).")
    given = hear(line("UserPromptSubmit") | child)
    assert (given.endings, session(given).state) == ((), "unknown")
    over = hear(line("Stop") | child, "SubagentStop")
    assert [ending.alike for ending in over.endings] == [f"{DESK}01a1df79-bae8:"]
    assert len(over.events) == 1
    assert hear(line("Stop") | {"agent_id": "../x"}).problem


def test_interrupt_and_end() -> None:
    common = {"session_id": "01a1", "cwd": "/tmp/x"}
    stopped = hear({**common, "hook_event_name": "Interrupt"})
    assert (session(stopped).state, len(stopped.endings)) == ("idle", 1)
    ended = hear({**common, "hook_event_name": "SessionEnd", "reason": "other"})
    assert ended.events == (SessionEnded(100.0, "01a1", "other"),)


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_rubbish_is_a_problem_in_words(payload: bytes) -> None:
    for event in ("PermissionRequest", "Stop", "SessionEnd"):
        heard = read_hook(HookCall(1.0, event, payload, {}, "", "fresh23456"))
        assert heard.problem
        assert not heard.events


@pytest.mark.parametrize("session_id", ["", "../x", "a b", "x" * 200])
def test_an_impossible_session_is_not_believed(session_id: str) -> None:
    heard = hear(line("Stop") | {"session_id": session_id})
    assert (heard.events, bool(heard.problem)) == ((), True)


# --- which dialog is it about?


def test_the_dialog_of_a_told_command_is_recognised() -> None:
    told = asks("git pull origin main")
    found = explain(shot("cmd-prefix-rule-80x24"), [asks("git push", told_id="other23456"), told])
    assert found is not None
    assert (found.told, found.tool, found.mark) == ((told.id,), "Bash", mark("Bash", told.input))
    assert [option.id for option in found.offer.questions[0].options] == ["allow", "allow_always", "deny"]


def test_a_wrapped_command_is_recognised_and_another_is_not() -> None:
    long = (
        "for f in $(find . -name '*.py' -not -path './node_modules/*' -not -path './.git/*'); do python3 -m"
        ' py_compile "$f" && echo "compiled $f successfully and without any warnings at all" >>'
        " /var/log/demo-compile-results.log; done"
    )
    assert explain(shot("v0.166.0-esclong-50x30"), [asks(long)]) is not None
    assert explain(shot("v0.166.0-esclong-50x30"), [asks(long + " && rm -rf /")]) is None


def test_edits_and_tools_of_servers() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: /etc/demo-a.txt\n+a\n*** Add File: /etc/demo-b.txt\n+b\n*** End Patch\n"
    )
    assert explain(shot("v0.166.0-pmulti-80x24"), [asks(patch, "apply_patch")]) is not None
    assert explain(shot("v0.166.0-pmulti-80x24"), [asks(patch.replace("-b", "-c"), "apply_patch")]) is None
    assert explain(shot("mcp-approval-80x24"), [asks("", "mcp__demo__delete_record")]) is not None
    assert explain(shot("mcp-approval-80x24"), [asks("", "mcp__demo__drop_table")]) is None


def test_what_the_screen_cuts_is_read_in_what_was_told() -> None:
    lines = "".join(f"+line {number} of a rather long generated file\n" for number in range(1, 61))
    told = asks(f"*** Begin Patch\n*** Add File: /etc/demo-big.txt\n{lines}*** End Patch\n", "apply_patch")
    found = explain(shot("edit-big-80x24"), [told])
    assert found is not None
    assert [option.id for option in found.offer.questions[0].options] == ["allow", "allow_session", "deny"]
    assert "line 60 of" in found.offer.body


def test_the_beginning_of_a_command_is_enough_only_if_it_is_long() -> None:
    whole = shot("v0.166.0-esclong-50x30")
    cut = replace(whole, reading=replace(whole.reading, clipped=True))
    told = asks(f"{whole.reading.target} && rm -rf /")
    found = explain(cut, [told])
    assert found is not None
    assert "allow" in [option.id for question in found.offer.questions for option in question.options]
    brief = replace(cut, reading=replace(cut.reading, target=(whole.reading.target or "")[:20]))
    found = explain(brief, [told])
    assert found is not None
    assert found.offer.questions == ()


def test_a_command_that_the_screen_hides_is_told_and_not_allowed_from_afar() -> None:
    found = explain(shot("v0.166.0-esc1-60x10"), [asks("touch /etc/demo-marker")])
    assert found is not None
    assert (found.offer.questions, found.offer.title) == ((), "Command: touch /etc/demo-marker")
    two = [asks("touch /etc/demo-marker"), asks("rm -rf /", told_id="other23456")]
    assert explain(shot("v0.166.0-esc1-60x10"), two) is None


@pytest.mark.parametrize(
    "name", ["ask-one-80x24", "plan-approval-120x40", "idle-fresh-80x24", "v0.166.0-perm-50x30"]
)
def test_something_else_is_not_explained(name: str) -> None:
    assert explain(shot(name), [asks("touch /etc/demo-marker")]) is None
