"""Whole messages from Claude's own transcripts: blocks, stop reasons, summaries; and lines that are none."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.claude.messages import read_message
from yourcall.agents.claude.transcript import read_entry
from yourcall.model.messages import Message, from_entries

DATA = Path(__file__).parents[2] / "data" / "claude"
RECORDS = sorted(DATA.glob("conversation-*.jsonl"))


def messages(name: str) -> list[Message]:
    lines = (DATA / name).read_bytes().splitlines()
    return [said for line in lines if (said := read_message(line)) is not None]


def test_a_turn_with_tools_is_told_block_by_block() -> None:
    said = messages("conversation-tools.jsonl")
    first = said[:5]
    assert [m.role for m in first] == ["user", "assistant", "assistant", "assistant", "user"]
    assert [m.content[0].type for m in first] == ["text", "thinking", "text", "tool_use", "tool_result"]
    call, result = first[3].content[0], first[4].content[0]
    assert (call.tool_name, call.tool_id) == ("Bash", result.tool_id)
    assert call.tool_input is not None
    assert "command" in msgspec.json.decode(call.tool_input)
    assert first[3].stop_reason == "tool_use"
    assert first[0].stop_reason == ""
    done = next(m for m in said if m.stop_reason == "end_turn")
    assert done.content[0].text == "All made."
    assert any(block.is_error for m in said for block in m.content)


def test_what_the_program_made_up_is_marked() -> None:
    compacted = [m for m in messages("conversation-tools.jsonl") if m.is_context_compaction]
    assert [m.role for m in compacted] == ["system", "user"]
    assert "continued from a previous conversation" in (compacted[1].content[0].text or "")


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_every_recorded_line_is_a_message_or_none_and_can_be_sent(record: Path) -> None:
    if record.name.endswith(".entries.jsonl"):
        return
    for line in record.read_bytes().splitlines():
        said = read_message(line)
        if said is not None:
            assert msgspec.json.decode(msgspec.json.encode(said))["role"] in ("user", "assistant", "system")
        for told in from_entries(read_entry(line)):
            msgspec.json.encode(told)


ALMOST = st.text(max_size=40).map(lambda text: f'{{"type":"user","message":{text}}}'.encode())


@given(st.one_of(st.binary(max_size=60), ALMOST))
def test_nothing_that_a_disk_could_hold_raises(line: bytes) -> None:
    said = read_message(line)
    assert said is None or said.content
