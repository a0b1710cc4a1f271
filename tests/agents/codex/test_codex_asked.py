"""What Codex's requests are about, for the rules; from requests as its app-server sends them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from yourcall.agents.codex.requests import CHANGE, COMMAND, PERMISSIONS, Params, action_of, show
from yourcall.model.action import Action


def about(method: str, tool_name: str = "Bash", tool_input: Any = None, **params: Any) -> Action | None:
    kept = {"method": method, "params": params, "tool_name": tool_name, "tool_input": tool_input}
    return action_of(json.dumps(kept).encode())


def test_a_command_is_what_the_shell_is_given() -> None:
    assert about(COMMAND, command="/bin/bash -lc 'git log && rm x'") == Action(
        "Bash", "command", command="git log && rm x"
    )
    assert about(COMMAND, command="git log") == Action("Bash", "command", command="git log")
    more = about(COMMAND, command="ls", additionalPermissions={})
    assert more is not None
    assert more.unboxed


def test_a_connection_is_its_host_and_a_change_is_its_files() -> None:
    reached = {"host": "example.com", "protocol": "https"}
    assert about(COMMAND, command="x", networkApprovalContext=reached) == Action(
        "Network", "fetch", hosts=("example.com",)
    )
    changes = {"changes": [{"path": "/p/a"}, {"path": "/p/b"}]}
    assert about(CHANGE, "apply_patch", changes) == Action("apply_patch", "write", paths=("/p/a", "/p/b"))


@pytest.mark.parametrize(
    "found",
    [
        about(COMMAND, command="y", kind="writeStdin"),
        about(CHANGE, "apply_patch", {"changes": [{"path": "/p/a"}]}, grantRoot="/p"),
        about(PERMISSIONS, "request_permissions"),
    ],
)
def test_whatever_asks_for_more_is_nothing_that_a_class_allows(found: Action | None) -> None:
    assert found is not None
    assert found.kind == "other"


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b'{"method": 1}', b"\xff", b'{"method": "x", "params": 3}'])
def test_what_cannot_be_read_is_about_nothing(data: bytes) -> None:
    assert action_of(data) is None or action_of(data) == Action("x")


@pytest.mark.parametrize(
    "command",
    ["./bash -lc ls", "/tmp/bash -c ls", "src/zsh -lc ls", "sh -c ls", "/bin/sh -lc ls", "bash -lc ls x"],
)
def test_only_a_shell_that_everybody_knows_is_taken_off(command: str) -> None:
    """The model chooses the shell: its own `./bash` may do anything with `ls`."""
    assert about(COMMAND, command=command) == Action("Bash", "command", command=command)


def test_a_file_is_also_where_it_goes_and_what_is_gone_is_deleted() -> None:
    changes = {
        "changes": [
            {"path": "/p/src/a", "kind": {"type": "update", "move_path": "/p/.git/hooks/pre-commit"}},
            {"path": "/p/src/b", "kind": {"type": "delete"}},
            {"path": "/p/src/c", "kind": {"type": "update", "move_path": None}},
        ]
    }
    assert about(CHANGE, "apply_patch", changes) == Action(
        "apply_patch",
        "write",
        paths=("/p/src/a", "/p/src/b", "/p/src/c", "/p/.git/hooks/pre-commit"),
        deletes=("/p/src/a", "/p/src/b"),
    )


def test_more_permissions_are_among_what_the_command_gets() -> None:
    """A phone shows a command by its fields, and must not leave out what else is allowed with it."""
    more = {"network": {"enabled": True}, "fileSystem": {"write": ["/"]}}
    shown = show(COMMAND, msgspec.convert({"command": "ls", "additionalPermissions": more}, Params), {})
    assert "'permissions'" in str(shown.input)
    plain = show(COMMAND, msgspec.convert({"command": "ls"}, Params), {})
    assert "'permissions'" not in str(plain.input)
