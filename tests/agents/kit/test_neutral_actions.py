"""A tool call in neutral words: what it would do, and nothing of its input left out."""

from __future__ import annotations

from typing import Any

from yourcall.agents.claude.requests import TOOLS
from yourcall.agents.codex.requests import TOOLS as CODEX
from yourcall.agents.gemini.tools import TOOLS as GEMINI
from yourcall.agents.kit.actions import action


def more(tool: str, fields: dict[str, Any]) -> dict[str, str]:
    return {each.name: each.value for each in action(tool, fields, TOOLS, "/p").more}


def test_besides_a_command_everything_is_told() -> None:
    assert more("Bash", {"command": "ls", "description": "look", "timeout": 5, "run_in_background": True}) == {}
    assert more("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}) == {
        "dangerouslyDisableSandbox": "true"
    }
    assert more("Bash", {"command": "npm i", "cwd": "/p", "permissions": ["write /"]}) == {
        "permissions": '["write /"]'
    }
    assert more("Bash", {"command": "npm i", "cwd": "/q"}) == {"cwd": "/q"}
    assert more("Bash", {"command": {"odd": 1}}) == {"command": '{"odd":1}'}


def test_a_command_may_be_a_list_of_words() -> None:
    assert action("Bash", {"command": ["/bin/bash", "-lc", "ls | wc"]}, {}).command == "ls | wc"
    assert action("any", {"cmd": ["echo", "a b"]}, {}).command == "echo 'a b'"


def test_changes_are_told_file_by_file() -> None:
    [edit] = action(
        "Edit", {"file_path": "/p/a", "old_string": "x", "new_string": "y", "replace_all": True}, TOOLS
    ).changes
    assert (edit.path, edit.old, edit.new, edit.note) == ("/p/a", "x", "y", "Every occurrence in the file.")
    two = action("MultiEdit", {"file_path": "/p/a", "edits": [{"new_string": "y"}, {"path": "/p/b"}]}, TOOLS)
    assert [each.path for each in two.changes] == ["/p/a", "/p/b"]
    assert two.paths == ("/p/a", "/p/b")
    odd = action("MultiEdit", {"file_path": "/p/a", "edits": [{"new_string": "y"}, 5]}, TOOLS)
    assert (odd.changes, [each.name for each in odd.more]) == ((), ["edits"])
    [cell] = action(
        "NotebookEdit", {"notebook_path": "/p/n", "new_source": "", "edit_mode": "delete"}, TOOLS
    ).changes
    assert cell.note == "The cell is deleted."
    assert more("Write", {"file_path": "/p/a", "content": {"a": 1}}) == {"content": '{"a":1}'}


def test_a_patch_tells_what_is_added_deleted_and_moved() -> None:
    changes = [
        {"path": "a", "kind": {"type": "add"}, "diff": "x\n"},
        {"path": "b", "kind": {"type": "delete"}, "diff": "y\n"},
        {"path": "c", "kind": {"type": "update", "move_path": "d"}, "diff": "@@ -1 +1 @@"},
    ]
    found = action("apply_patch", {"changes": changes}, CODEX)
    assert [each.change for each in found.changes] == ["write", "delete", "edit"]
    assert found.paths == ("a", "b", "c", "d")


def test_a_servers_tool_is_not_its_field_of_the_name_command() -> None:
    found = action("mcp__db__delete_all", {"command": "ls", "target": "prod"}, TOOLS)
    assert (found.kind, found.command, found.server, found.name) == ("mcp", "", "db", "delete_all")
    assert [each.name for each in found.more] == ["command", "target"]
    assert action("mcp", {"serverName": "db", "toolName": "look"}, GEMINI).server == "db"
