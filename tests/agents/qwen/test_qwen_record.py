"""Qwen Code's record: calls and how they ended, and the conversation; and its registry."""

from __future__ import annotations

import json
from pathlib import Path

from yourcall.agents.qwen.discover import found, runs
from yourcall.agents.qwen.hooks import read_hook, read_line
from yourcall.agents.qwen.transcript import read_entry
from yourcall.agents.sightings import CallResult, CallSeen, HookCall, Pane, Process
from yourcall.model.conversation import Action, UserMessage
from yourcall.model.sessions import Link

DATA = Path(__file__).parents[2] / "data" / "qwen"
LINES = (DATA / "record.jsonl").read_bytes().splitlines()
NODE = ("/usr/bin/node", "--expose-gc", "/usr/lib/node_modules/@qwen-code/qwen-code/cli.js")


def test_a_call_is_seen_and_settled_by_its_id() -> None:
    told = [each for line in LINES for each in read_line(line)]
    calls = [each.call_id for each in told if isinstance(each, CallSeen)]
    results = {each.call_id: each.outcome for each in told if isinstance(each, CallResult)}
    assert calls[:2] == ["call_1", "call_3"]
    assert (results["call_1"], results["call_3"]) == ("denied", "allowed")


def test_the_conversation_has_what_was_said_and_done() -> None:
    entries = [entry for line in LINES for entry in read_entry(line)]
    assert isinstance(entries[0], UserMessage)
    actions = [entry for entry in entries if isinstance(entry, Action)]
    assert (actions[0].title, actions[0].kind) == ("Run: touch one", "command")
    assert actions[1].is_error
    assert "**DB**: Postgres" in actions[3].detail


def test_an_edit_shows_its_diff() -> None:
    call = {
        "id": "c1",
        "name": "edit",
        "args": {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"},
    }
    line = {"type": "assistant", "message": {"role": "model", "parts": [{"functionCall": call}]}}
    (entry,) = read_entry(json.dumps(line).encode())
    assert isinstance(entry, Action)
    assert ("-x = 1" in entry.diff, "+x = 2" in entry.diff) == (True, True)


def test_only_the_process_that_the_registry_names_is_a_session() -> None:
    process = Process(7, "130794", NODE, "/p", "/dev/pts/3", env={"HOME": "/home/dev"})
    assert runs(NODE)
    assert not runs(("/usr/bin/node", "/usr/lib/node_modules/@qwen-code/qwen-code/cli-entry.js"))
    known = {"pid": 7, "procStart": "boot:130794", "sessionId": "s1", "cwd": "/p", "kind": "tui"}
    panes = [Pane("%1", "/dev/pts/3", "/tmp/s")]
    session = found(process, json.dumps(known).encode(), panes)
    assert session is not None
    assert (session.id, session.links) == ("s1", (Link("tmux", "%1", "/tmp/s"),))
    assert session.transcript == "/home/dev/.qwen/projects/-p/chats/s1.jsonl"
    for wrong in ({"procStart": "boot:1"}, {"pid": 8}, {"kind": "external"}, {"sessionId": "../x"}):
        assert found(process, json.dumps({**known, **wrong}).encode(), panes) is None
    assert found(process, b"", panes) is None


def test_the_end_of_a_round_of_tools_does_not_mean_that_they_ran() -> None:
    """It comes after a refusal, too, and before the record has it."""
    payload = json.loads((DATA / "hook-payload-samples.json").read_text())["PostToolBatch-cancelled"]
    assert read_hook(HookCall(5.0, "PostToolBatch", json.dumps(payload).encode())).finished == ""


def test_outside_of_tmux_a_dialog_is_told_to_be_answered_at_the_desk() -> None:
    payload = json.loads((DATA / "hook-payload-samples.json").read_text())["PermissionRequest-run_shell_command"]
    call = HookCall(5.0, "PermissionRequest", json.dumps(payload).encode(), {}, "", "newid")
    told = read_hook(call).told
    assert told is not None
    assert (told.prompt.title, told.prompt.answerable) == ("Run: touch one", False)
    inside = HookCall(5.0, "PermissionRequest", json.dumps(payload).encode(), {"TMUX_PANE": "%0"}, "", "newid")
    assert read_hook(inside).told is None
