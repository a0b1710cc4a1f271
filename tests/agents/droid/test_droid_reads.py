"""What the hooks and the record of the real droid say; and its settings, edited and taken back byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yourcall.agents.droid import setup
from yourcall.agents.droid.discover import runs
from yourcall.agents.droid.hooks import read_hook, read_line
from yourcall.agents.droid.transcript import read_entry
from yourcall.agents.setup_spec import Edited
from yourcall.agents.sightings import CallResult, CallSeen, HookCall, HookResult
from yourcall.model.conversation import Action
from yourcall.model.events import PromptRaised, SessionSeen
from yourcall.model.prompts import Refused

DATA = Path(__file__).resolve().parents[2] / "data" / "droid"
PAYLOADS = json.loads((DATA / "hook-payload-samples.json").read_text())
LINES = (DATA / "record.jsonl").read_bytes().splitlines()


def hook(event: str, **changed: object) -> HookResult:
    payload = json.dumps({**PAYLOADS[event], **changed}).encode()
    return read_hook(
        HookCall(5.0, event, payload, {"TMUX_PANE": "%1", "TMUX": "/s,1,0", "CLAUDE_PID": "7"}, "", "new1")
    )


def test_a_call_is_told_before_its_dialog_and_holds_nothing() -> None:
    found = hook("PreToolUse")
    assert found.told is not None
    assert (found.told.asked, found.told.tool, found.held) == (False, "Execute", False)
    assert found.told.prompt.title == "Run: touch marker"
    (seen,) = found.events
    assert isinstance(seen, SessionSeen)
    assert {link.kind for link in seen.session.links} == {"hook", "tmux"}


def test_the_end_of_a_turn_is_ready_and_the_next_instruction_closes_it() -> None:
    raised = [event.prompt for event in hook("Stop").events if isinstance(event, PromptRaised)]
    assert [prompt.kind for prompt in raised] == ["ready"]
    assert hook("UserPromptSubmit").endings[0].said == "DO one"
    assert hook("Stop", session_id="../../x").problem


def test_the_record_tells_each_call_and_how_it_ended() -> None:
    found = [each for line in LINES for each in read_line(line)]
    called = {each.call_id for each in found if isinstance(each, CallSeen)}
    ended = {each.call_id: each.outcome for each in found if isinstance(each, CallResult)}
    assert len(called) >= 10
    assert {ended[name] for name in ("call_2", "call_10", "call_23")} == {"denied"}
    assert (ended["call_15"], ended["call_99"]) == ("allowed", "allowed")
    told = hook("PreToolUse").told
    assert told is not None
    call = {"type": "tool_use", "id": "c", "name": "Execute", "input": PAYLOADS["PreToolUse"]["tool_input"]}
    line = json.dumps({"type": "message", "message": {"role": "assistant", "content": [call]}})
    (seen,) = read_line(line.encode())
    assert isinstance(seen, CallSeen)
    assert seen.fingerprint == told.prompt.fingerprint


def test_a_conversation_has_what_was_said_and_done_and_no_reminders() -> None:
    entries = [entry for line in LINES for entry in read_entry(line)]
    said = [entry.text for entry in entries if hasattr(entry, "text")]
    assert "DO perm" in said
    assert not [text for text in said if "system-reminder" in text]
    actions = [entry for entry in entries if isinstance(entry, Action)]
    assert any(entry.kind == "command" and entry.title == "Run: touch marker" for entry in actions)
    assert any("+    print('ho')" in entry.diff or "+print('ho')" in entry.diff for entry in actions)


@pytest.mark.parametrize(
    "line", [b"", b"{", b'{"type":"message","message":{"content":[{"type":"tool_use"}]}}', b"\xff"]
)
def test_junk_says_nothing(line: bytes) -> None:
    assert read_line(line) == []
    assert read_entry(line) == []


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{}",
        '{\n  "model": "opus"\n}\n',
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
    ],
)
def test_setup_is_undone_byte_for_byte(text: str | None) -> None:
    added = setup.add(text, "/h/hook", [])
    assert isinstance(added, Edited)
    assert added.text is not None
    wanted = json.loads(added.text)["hooks"]
    assert set(setup.EVENTS) <= set(wanted)
    assert setup.check(added.text, "/h/hook", []) == []
    assert setup.check(added.text, "/other/hook", [])[0].code == "moved"
    again = setup.add(added.text, "/h/hook", [])
    assert isinstance(again, Edited)
    assert not again.changed
    removed = setup.remove(added.text)
    assert isinstance(removed, Edited)
    assert (removed.text or "") == (text or "")
    # droid writes its settings anew, in its own form: ours are found in there too.
    rewritten = json.dumps(json.loads(added.text), indent=2)
    assert setup.check(rewritten, "/h/hook", []) == []


def test_an_older_version_is_refused_and_only_its_terminal_counts() -> None:
    assert isinstance(setup.add(None, "/h/hook", [(0, 117, 0)]), Refused)
    assert runs(["/usr/bin/droid"])
    assert runs(["droid", "--use-spec", "fix it"])
    assert not runs(["droid", "exec", "fix it"])
    assert not runs(["node", "droid"])
