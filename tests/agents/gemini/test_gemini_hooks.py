"""What Gemini CLI tells by hooks and chat file; and its settings: our hooks in, out again, and what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.gemini import setup
from yourcall.agents.gemini.discover import found, runs
from yourcall.agents.gemini.hooks import read_hook, read_line
from yourcall.agents.gemini.transcript import read_entry
from yourcall.agents.setup_spec import Edited
from yourcall.agents.sightings import CallResult, CallSeen, HookCall, Pane, Process
from yourcall.model.conversation import Action, AssistantText, UserMessage
from yourcall.model.events import PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Link

SESSION = "9506683b-cf2b-484e-9b7c-293ee7e90ad3"
HEAD = {"session_id": SESSION, "transcript_path": "/h/.gemini/tmp/p/chats/s.jsonl", "cwd": "/p"}
LAUNCHER = "/home/me/.yourcall/hook"


def call(event: str, env: dict[str, str] | None = None, **more: Any) -> HookCall:
    payload = {**HEAD, "hook_event_name": event, "timestamp": "2026-11-15T06:58:39.466Z", **more}
    return HookCall(2000.0, event, json.dumps(payload).encode(), env or {}, "", "newidnewid")


def test_a_session_is_told_with_its_pane_and_its_process() -> None:
    env = {"TMUX": "/tmp/t/s,12,0", "TMUX_PANE": "%3", "pid": "4711"}
    heard = read_hook(call("SessionStart", env, source="startup"))
    (seen,) = heard.events
    assert isinstance(seen, SessionSeen)
    assert (seen.session.id, seen.session.pid, seen.session.state) == (SESSION, 4711, "idle")
    assert seen.session.links == (Link("hook"), Link("tmux", "%3", "/tmp/t/s"))
    assert heard.begins
    assert isinstance(read_hook(call("SessionEnd", reason="exit")).events[0], SessionEnded)


def test_a_turn_ends_ready_and_begins_with_words() -> None:
    heard = read_hook(call("AfterAgent", prompt="x", prompt_response="Shall I go on?"))
    raised = heard.events[1]
    assert isinstance(raised, PromptRaised)
    assert (raised.prompt.kind, raised.prompt.body, raised.prompt.link) == ("ready", "Shall I go on?", "speech")
    again = read_hook(call("AfterAgent", prompt="x", prompt_response="Tested.", stop_hook_active=True)).events[1]
    assert isinstance(again, PromptRaised)  # a hook of the person's own sent it back: this is the one that counts
    assert (again.prompt.body, again.prompt.fingerprint) == ("Tested.", raised.prompt.fingerprint)
    begun = read_hook(call("BeforeAgent", prompt="Yes."))
    assert begun.endings[0].said == "Yes."
    assert begun.turn == pytest.approx(1794725919.466)


@given(event=st.sampled_from(["BeforeTool", "Notification", "AfterAgent"]), junk=st.binary(max_size=60))
def test_junk_changes_nothing(event: str, junk: bytes) -> None:
    heard = read_hook(HookCall(1.0, event, junk, {}, "", "newidnewid"))
    assert (heard.events, heard.told) == ((), None)
    assert read_line(junk) == []


def line(status: str, name: str = "run_shell_command", result: object = None) -> bytes:
    made = {
        "id": "c1", "name": name, "args": {"command": "touch a", "description": "Do"}, "status": status,
        "timestamp": "2026-11-15T13:02:02.140Z", "result": result,
    }  # fmt: skip
    return json.dumps({"id": "m", "type": "gemini", "content": "", "toolCalls": [made]}).encode()


@pytest.mark.parametrize(
    ("status", "outcome"), [("success", "allowed"), ("error", "allowed"), ("cancelled", "denied")]
)
def test_the_chat_file_tells_how_a_call_ended(status: str, outcome: str) -> None:
    seen, result = read_line(line(status))
    assert isinstance(seen, CallSeen)
    assert isinstance(result, CallResult)
    assert (result.outcome, result.source) == (outcome, "unknown")
    told = read_hook(call("Notification", notification_type="ToolPermission", details=EXEC)).told
    assert told is not None
    assert told.prompt.fingerprint == seen.fingerprint


EXEC = {"type": "exec", "title": "Confirm Shell Command", "command": "touch a", "rootCommand": "touch"}


def test_a_call_that_still_runs_and_words_of_the_model_are_no_record() -> None:
    assert read_line(line("executing")) == []
    fake = {"type": "user", "content": "x", "toolCalls": [{"id": "c", "name": "x", "status": "success"}]}
    assert read_line(json.dumps(fake).encode()) == []
    quoted = {"type": "gemini", "content": json.dumps({"toolCalls": [{"id": "c", "status": "success"}]})}
    assert read_line(json.dumps(quoted).encode()) == []


def test_a_plan_that_was_sent_back_was_not_allowed() -> None:
    said = [{"functionResponse": {"response": {"output": "Plan rejected. User feedback: no"}}}]
    (_, result) = read_line(line("success", "exit_plan_mode", said))
    assert isinstance(result, CallResult)
    assert result.outcome == "denied"


def test_the_conversation_is_told_once_each() -> None:
    user = {"id": "u", "timestamp": "2026-11-15T13:02:00.658Z", "type": "user", "content": [{"text": "Do it"}]}
    (said,) = read_entry(json.dumps(user).encode())
    assert isinstance(said, UserMessage)
    assert said.text == "Do it"
    context = {**user, "content": [{"text": "<session_context>\nabc"}]}
    assert read_entry(json.dumps(context).encode()) == []
    answer = {"id": "g", "type": "gemini", "content": "Done.", "model": "m", "tokens": {"input": 1, "output": 2}}
    (text,) = read_entry(json.dumps(answer).encode())
    assert isinstance(text, AssistantText)
    started, ended = read_entry(line("cancelled"))
    assert isinstance(started, Action)
    assert isinstance(ended, Action)
    assert (started.phase, ended.phase, ended.is_error) == ("started", "completed", True)
    assert read_entry(b'{"$set":{"lastUpdated":"x"}}') == []


# --- settings -------------------------------------------------------------------------------------------------

TEXTS = [
    None,
    "",
    "{}",
    "{}\n",
    '{"ui": {"theme": "Default"}}',
    '{\n  "ui": {\n    "theme": "Default"\n  }\n}\n',
    '{\n  // my own words, with "quotes" and { braces\n  "ui": {"theme": "x"} /* and */ // more\n}\n',
    '{\r\n  "a": "http://not/a/comment // really"\r\n}\r\n',
    '{\n  "hooks": {\n    "BeforeTool": [\n      {"hooks": [{"type": "command", "command": "y"}]}\n    ]}}\n',
    '{"hooks": {}}',
    "{\n  // only this\n}\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_undo_brings_back_the_very_bytes(text: str | None) -> None:
    added = setup.add(text, LAUNCHER, [(0, 61, 0)])
    assert isinstance(added, Edited)
    assert added.changed
    assert added.text is not None
    assert setup.check(added.text, LAUNCHER, [(0, 61, 0)]) == []
    again = setup.add(added.text, LAUNCHER, [(0, 61, 0)])
    assert isinstance(again, Edited)
    assert not again.changed
    removed = setup.remove(added.text)
    assert isinstance(removed, Edited)
    # Of an empty file nothing is left, and whoever made it knows what was there.
    assert removed.text == text or (not (text or "").strip() and not (removed.text or "").strip())


def test_every_hook_informs_and_leaves_at_once() -> None:
    for name, hook in setup.wanted(LAUNCHER).items():
        assert hook["command"] == f"{LAUNCHER} -b gemini {name} $PPID 2>/dev/null || : yourcall"
        assert hook["timeout"] == setup.INFORM_MS


def test_what_is_wrong_is_said() -> None:
    good = setup.add("{}", LAUNCHER, [])
    assert isinstance(good, Edited)
    assert good.text is not None
    assert [f.code for f in setup.check(None, LAUNCHER, [])] == ["missing"]
    assert [f.code for f in setup.check(good.text, "/elsewhere/hook", [])] == ["moved"]
    assert [f.code for f in setup.check(good.text, LAUNCHER, [(0, 28, 2)])] == ["too_old"]
    off = '{"hooksConfig": {"enabled": false, "disabled": ["yourcall"]}}'
    assert [f.code for f in setup.blocked(off)] == ["disabled", "disabled"]
    less = json.loads(good.text)
    del less["hooks"]["Notification"]
    assert [f.code for f in setup.check(json.dumps(less), LAUNCHER, [])] == ["partial"]
    assert [f.code for f in setup.check("{,}", LAUNCHER, [])] == ["broken"]
    assert isinstance(setup.add("{,}", LAUNCHER, []), Refused)
    assert isinstance(setup.add("{}", "/home/$USER/hook", []), Refused)


# --- processes ------------------------------------------------------------------------------------------------


def test_the_first_process_stands_for_the_session() -> None:
    assert runs(("node", "/usr/bin/gemini"))
    assert runs(("/usr/bin/node", "/x/node_modules/@google/gemini-cli/bundle/gemini.js", "-m", "pro"))
    assert not runs(("node", "--max-old-space-size=4096", "/usr/bin/gemini"))
    assert not runs(("node", "/x/gemini-notes.js"))
    assert not runs(("vim", "gemini"))
    process = Process(7, "99", ("node", "/usr/bin/gemini"), "/p", "/dev/pts/4")
    session = found(process, b"", [Pane("%1", "/dev/pts/3", "/t"), Pane("%2", "/dev/pts/4", "/t")])
    assert (session.id, session.links, session.note) == ("pid-7-99", (Link("tmux", "%2", "/t"),), "")
    assert found(process, b"", []).note


def test_a_comment_that_came_later_stays() -> None:
    made = setup.add(None, LAUNCHER, [])
    assert isinstance(made, Edited)
    assert made.text is not None
    removed = setup.remove(made.text.replace("{\n", "{\n  // mine, since\n", 1))
    assert isinstance(removed, Edited)
    assert removed.text == "{\n  // mine, since\n  \n}\n"


@pytest.mark.parametrize(
    ("before", "typed", "after"),
    [
        ('"a": 1,\n', '"a": 1, // why\n', '{\n  "a": 1 // why\n}\n'),
        ('"a": 1,\n', '"a": 1,\n  /* why */\n', '{\n  "a": 1 /* why */\n}\n'),
        ('"a": 1,\n', '"a": 1, // one\n  // two\n', '{\n  "a": 1 // one\n // two\n}\n'),
    ],
)
def test_a_comment_beside_our_hooks_stays(before: str, typed: str, after: str) -> None:
    made = setup.add('{\n  "a": 1\n}\n', LAUNCHER, [])
    assert isinstance(made, Edited)
    assert made.text is not None
    removed = setup.remove(made.text.replace(before, typed, 1))
    assert isinstance(removed, Edited)
    assert removed.text == after


def test_a_comment_swallows_nothing_that_follows_it() -> None:
    made = setup.add('{"a": 1, "b": 2}', LAUNCHER, [])
    assert isinstance(made, Edited)
    assert made.text is not None
    removed = setup.remove(made.text.replace('"b": 2,', '"b": 2, // why\n', 1))
    assert isinstance(removed, Edited)
    assert removed.text == '{"a": 1, "b": 2 // why\n}'
