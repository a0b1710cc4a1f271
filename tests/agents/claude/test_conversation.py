"""Lines of real transcripts, and of no transcript at all, as entries of a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yourcall.agents.claude.hooks import read_line, read_status
from yourcall.agents.claude.transcript import READERS, conversation_of, read_entry
from yourcall.agents.sightings import CallResult
from yourcall.model.conversation import (
    Action,
    AnyEntry,
    AssistantText,
    Compaction,
    Notice,
    Result,
    Thinking,
    UserMessage,
    told,
)
from yourcall.model.sessions import Session

DATA = Path(__file__).resolve().parents[2] / "data" / "claude"
CASES = ("tools", "subagent", "errors", "desk", "stream")


def lines(case: str) -> list[bytes]:
    return (DATA / f"conversation-{case}.jsonl").read_bytes().splitlines()


def entries(case: str) -> list[AnyEntry]:
    return told([entry for line in lines(case) for entry in read_entry(line)], {})


def said(**fields: Any) -> list[AnyEntry]:
    return read_entry(json.dumps(fields).encode())


@pytest.mark.parametrize("case", CASES)
def test_a_real_transcript_is_read_exactly(case: str) -> None:
    golden = (DATA / f"conversation-{case}.entries.jsonl").read_bytes().splitlines()
    assert [msgspec.json.encode(entry) for entry in entries(case)] == golden


def test_a_turn_with_tools_tells_the_whole_story() -> None:
    found = entries("tools")
    assert isinstance(found[0], UserMessage)
    assert isinstance(found[1], Thinking)
    assert found[1].text == "Let me think about it."
    actions = [entry for entry in found if isinstance(entry, Action)]
    started = [a for a in actions if a.phase == "started"]
    assert [(a.tool, a.kind) for a in started] == [
        ("Bash", "command"), ("Read", "tool"), ("Read", "tool"), ("Edit", "file_change"), ("Write", "file_change"),
        ("NotebookEdit", "file_change"), ("Bash", "command"), ("Glob", "tool"), ("Grep", "tool"),
        ("TodoWrite", "note"), ("TaskCreate", "note"), ("Agent", "tool"), ("WebFetch", "web"),
    ]  # fmt: skip
    completed = {a.call_id: a for a in actions if a.phase == "completed"}
    assert completed.keys() == {a.call_id for a in started}
    for start in started:
        done = completed[start.call_id]
        assert (done.tool, done.kind, done.title) == (start.tool, start.kind, start.title)
    edit = next(a for a in completed.values() if a.tool == "Edit")
    assert edit.diff.splitlines()[2:] == [
        "@@ -1,7 +1,7 @@", " one", " two", " three", "-four", "+FOUR", " five", " six", " seven",
    ]  # fmt: skip
    failed = next(a for a in completed.values() if a.title == "exit 3")
    assert (failed.is_error, failed.detail) == (True, "Exit code 3")
    agent = next(a for a in completed.values() if a.tool == "Agent")
    assert agent.child == "ad76113d413214e98"
    compactions = [entry for entry in found if isinstance(entry, Compaction)]
    assert [(c.trigger, c.tokens_before, bool(c.summary)) for c in compactions] == [("manual", 1020, True)]
    last = found[-1]
    assert isinstance(last, Result)
    assert last.cost_usd == pytest.approx(0.0836)


def test_the_tokens_of_a_request_are_counted_once() -> None:
    """Each block of a message is a line that repeats the usage of the whole."""
    found = [e for e in entries("tools") if isinstance(e, AssistantText | Thinking | Action) and e.tokens]
    requests = {m["id"] for line in lines("tools") if (m := json.loads(line).get("message")) and "usage" in m}
    assert len(requests) == 15
    assert sum(e.tokens.input for e in found if e.tokens) == 1000 * len(requests)
    assert sum(e.tokens.output for e in found if e.tokens) == 20 * len(requests)


def test_a_message_sent_while_the_agent_worked_is_the_persons() -> None:
    spoken = [entry.text for entry in entries("errors") if isinstance(entry, UserMessage)]
    assert spoken == ["DO long", "and also this", "DO bad", "DO busy", "DO over"]


def test_an_api_error_is_a_notice_and_not_the_models_words() -> None:
    (notice,) = [entry for entry in entries("errors") if isinstance(entry, Notice)]
    assert (notice.level, notice.text) == ("error", "API Error: 400 Something is wrong")


def test_repeated_messages_of_requests_do_not_count() -> None:
    blob = (DATA / "api-request-blob.jsonl").read_bytes().strip()
    assert json.loads(blob)["message"]["content"][0]["type"] == "tool_result"
    assert read_entry(blob) == []


def test_shell_lines_and_commands_are_shown_as_they_were_typed() -> None:
    def user(words: str, **more: Any) -> list[AnyEntry]:
        return said(type="user", message={"content": words}, **more)

    assert user("<bash-input>ls</bash-input>") == [UserMessage(text="! ls")]
    assert user("<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>") == [
        Notice(text="a"),
        Notice(text="b", level="error"),
    ]
    command = "<command-name>/model</command-name>\n<command-args>opus</command-args>"
    assert user(command) == [UserMessage(text="/model opus")]
    assert user("<local-command-stdout>\x1b[2mdone\x1b[22m</local-command-stdout>") == [Notice(text="done")]
    assert user("hidden", isMeta=True) == []
    assert user("<b>mine</b> is text") == [UserMessage(text="<b>mine</b> is text")]


def test_a_text_cut_in_the_middle_of_an_emoji_is_still_read() -> None:
    line = rb'{"type":"user","message":{"content":"half \ud83d of \ud83d\ude00 \\ud83d"}}'
    assert read_entry(line) == [UserMessage(text="half \ufffd of \U0001f600 \\ud83d")]
    assert read_entry(b'{"type":"user","message":{"content":"bad \xff byte"}}') == [
        UserMessage(text="bad \ufffd byte")
    ]


@pytest.mark.parametrize("broken", [rb"\ud83d", b"\xff"])
def test_the_record_of_a_call_survives_what_is_no_text(broken: bytes) -> None:
    """A watch that fell over it would never learn how its prompt ended."""
    line = b'{"type":"user","timestamp":"%s","message":{"content":[{"type":"tool_result","tool_use_id":"c"}]}}'
    (result,) = read_line(line % broken)
    assert isinstance(result, CallResult)
    assert result.call_id == "c"


@given(st.binary(max_size=60))
def test_no_record_raises(data: bytes) -> None:
    read_line(b'{"type":"user","message":{"content":[{"type":"tool_result"' + data)
    read_status(data)


def test_what_is_too_long_is_cut_and_says_so() -> None:
    (entry,) = said(type="user", message={"content": "x" * 100_500})
    assert isinstance(entry, UserMessage)
    assert entry.text.endswith("\n… 500 more characters")


def test_hostile_tags_take_no_time() -> None:
    words = "<bash-stdout>" * 200_000
    assert said(type="user", message={"content": words}) == []


@pytest.mark.parametrize(
    ("transcript", "subagent", "path"),
    [
        ("/c/p/s.jsonl", "", "/c/p/s.jsonl"),
        ("/c/p/s.jsonl", "a1b2", "/c/p/s/subagents/agent-a1b2.jsonl"),
        ("/c/p/s.jsonl", "../../x", ""),
        ("/c/p/s.jsonl", "a/b", ""),
        ("/etc/passwd", "", ""),
        ("", "", ""),
    ],
)
def test_a_subagents_transcript_lies_beside_the_sessions(transcript: str, subagent: str, path: str) -> None:
    assert conversation_of(Session("s", "claude", "/", transcript=transcript), subagent) == path


# --- nothing raises ---------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = sorted({name for case in CASES for line in lines(case) for name in json.loads(line)})
INNER = ("type", "text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error", "kind", "prompt")
block = st.dictionaries(st.sampled_from(INNER), json_values, max_size=5)
typed_block = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "web_search_tool_result"]),
    block,
)
message = st.fixed_dictionaries({"content": st.lists(typed_block, max_size=3) | json_values, "usage": json_values})
line = st.builds(
    lambda kind, fields, told_message, nested: {**fields, **nested, "message": told_message, "type": kind},
    st.sampled_from(sorted(READERS)) | st.text(max_size=5),
    st.dictionaries(st.sampled_from(NAMES), json_values, max_size=6),
    message | json_values,
    st.dictionaries(st.sampled_from(["attachment", "compactMetadata", "origin", "modelUsage", "error"]), block),
)


@given(st.binary(max_size=200))
@example(b"")
@example(b"[" * 5_000)
@example(b'{"type":"user","message":{"content":' + b"[" * 5_000)
@example(b'{"type":"user","timestamp":"0001-01-01T00:00:00+23:59","message":{"content":"x"}}')
@example(b'{"type":{"a":1}}')
@example(b'{"type":"result","duration_ms":1e999}')
def test_no_bytes_raise(data: bytes) -> None:
    assert isinstance(read_entry(data), list)


@given(line)
def test_no_line_raises_and_each_entry_can_be_sent(fields: dict[str, Any]) -> None:
    found = read_entry(json.dumps(fields).encode())
    if fields["type"] not in READERS:
        assert found == []
    for entry in told(found, {}):
        again = msgspec.json.decode(msgspec.json.encode(entry), type=AnyEntry)
        assert again == entry
