"""What counts as dangerous by its name does so whatever its fields are called."""

from __future__ import annotations

from yourcall.core.danger import danger


def test_a_servers_tool_does_not_hide_behind_a_field_of_the_name_command() -> None:
    assert danger("permission", "mcp__db__delete_all", {"command": "ls", "target": "prod"}).startswith(
        "By its name"
    )
    assert danger("permission", "mcp__db__look", {"command": "rm -r x"}) == danger(
        "permission", "Bash", {"command": "rm -r x"}
    )
    assert danger("permission", "mcp__db__look", {"command": "ls"}) == ""
