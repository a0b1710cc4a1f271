"""Tool calls in plain words: the table of the tools, and what is hostile in their input."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.claude import tools
from yourcall.agents.claude.tools import KINDS, completed, started

FILE = "/p/a.py"


@pytest.mark.parametrize(
    ("tool", "given", "kind", "title"),
    [
        ("Bash", {"command": "ls -la"}, "command", "ls -la"),
        ("Bash", {"command": "a\nb"}, "command", "a …"),
        ("Write", {"file_path": FILE, "content": "x"}, "file_change", "Write /p/a.py"),
        ("Edit", {"file_path": FILE}, "file_change", "Edit /p/a.py"),
        ("NotebookEdit", {"notebook_path": "/p/n.ipynb"}, "file_change", "NotebookEdit /p/n.ipynb"),
        ("Read", {"file_path": FILE}, "tool", "Read /p/a.py"),
        ("Glob", {"pattern": "*.py"}, "tool", "Find files *.py"),
        ("Grep", {"pattern": "x", "path": "src"}, "tool", "Search for x in src"),
        ("WebFetch", {"url": "https://e.org", "prompt": "p"}, "web", "Fetch https://e.org"),
        ("WebSearch", {"query": "q"}, "web", "Search the web: q"),
        ("TodoWrite", {"todos": [{"content": "c", "status": "in_progress"}]}, "note", "Update the to-do list: c"),
        ("AskUserQuestion", {"questions": [{"question": "Why?"}]}, "question", "Ask: Why?"),
        ("ExitPlanMode", {"plan": "1. x"}, "note", "Present the plan"),
        ("Task", {"description": "d", "subagent_type": "Explore"}, "tool", "Agent Explore: d"),
        ("Agent", {"description": "d"}, "tool", "Agent: d"),
        ("KillShell", {"shell_id": "b1"}, "command", "Stop the command b1"),
        ("mcp__demo__add_ticket", {"title": "t"}, "tool", "add_ticket (demo)"),
        ("Unheard", {"x": 1}, "tool", "Unheard"),
        ("Bash", {}, "command", "Bash"),
    ],
)
def test_each_tool_has_a_kind_and_a_title(tool: str, given: dict[str, Any], kind: str, title: str) -> None:
    action = started(tool, given, "c1")
    assert (action.kind, action.title, action.phase, action.call_id) == (kind, title, "started", "c1")


def test_a_command_tells_its_purpose_and_its_limit() -> None:
    action = started("Bash", {"command": "make", "description": "Build", "timeout": 120_000}, "c")
    assert action.detail == "Build, at most 120 s"
    long = started("Bash", {"command": "a\nb", "run_in_background": True}, "c")
    assert long.detail == "in the background\n\na\nb"


def test_a_written_file_is_previewed() -> None:
    action = started("Write", {"file_path": FILE, "content": "\n".join(map(str, range(100)))}, "c")
    assert action.detail.splitlines()[0] == "0"
    assert action.detail.splitlines()[-1] == "… 60 more lines"
    assert action.paths == (FILE,)


def test_every_edit_of_a_multi_edit_is_in_the_diff() -> None:
    edits = [
        {"old_string": "a", "new_string": "b"},
        {"file_path": "/p/other.py", "old_string": "c", "new_string": "d", "replace_all": True},
    ]
    action = started("MultiEdit", {"file_path": FILE, "edits": edits}, "c")
    assert action.paths == (FILE, "/p/other.py")
    assert action.title == "MultiEdit /p/a.py and 1 more"
    assert action.diff.splitlines() == [
        "--- /p/a.py", "+++ /p/a.py", "@@ -1 +1 @@", "-a", "+b",
        "--- /p/other.py", "+++ /p/other.py", "@@ -1 +1 @@", "-c", "+d", "(every occurrence)",
    ]  # fmt: skip


def test_a_result_that_is_not_as_expected_keeps_its_output() -> None:
    action = completed("c", "out", False, msgspec.Raw(b'{"filePath":["x"]}'))
    assert (action.detail, action.paths, action.diff) == ("out", (), "")
    assert completed("c", "out", True, msgspec.Raw(b"[" * 3000)).is_error


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
FIELDS = ("command", "description", "timeout", "file_path", "edits", "todos", "questions", "content", "new_source")


@given(
    st.sampled_from([*KINDS, "Task", "Skill", "mcp__", "mcp__a", ""]),
    st.dictionaries(st.sampled_from(FIELDS), values),
)
def test_no_input_raises(tool: str, fields: dict[str, Any]) -> None:
    action = started(tool, fields, "c")
    assert "\n" not in action.title
    assert len(action.title) <= tools.LONGEST_TITLE + 2
    msgspec.json.encode(action)
