"""What Claude's requests are about, for the rules: every path and host that the call could mean."""

from __future__ import annotations

import json

import pytest

from yourcall.agents.claude.requests import action_of
from yourcall.model.action import Action


def about(tool: str, **fields: object) -> Action | None:
    return action_of(json.dumps({"tool_name": tool, "tool_input": fields}).encode())


def test_a_call_is_about_every_path_that_it_names() -> None:
    assert about("Write", file_path="/p/a", content="x") == Action("Write", "write", paths=("/p/a",))
    both = about("NotebookEdit", file_path="/p/src/a", notebook_path="/p/.claude/x.ipynb")
    assert both == Action("NotebookEdit", "write", paths=("/p/src/a", "/p/.claude/x.ipynb"))
    edits = [{"file_path": "/p/b"}, {"old_string": "x"}]
    assert about("MultiEdit", file_path="/p/a", edits=edits) == Action(
        "MultiEdit", "write", paths=("/p/a", "/p/b")
    )


def test_a_search_goes_where_its_pattern_leads() -> None:
    assert about("Grep", pattern="key") == Action("Grep", "read", deep=True)
    assert about("Grep", pattern="key", glob="*.py", path="src") == Action(
        "Grep", "read", paths=("src",), deep=True, only=("*.py",)
    )
    assert about("Grep", pattern="key", glob=".env") == Action(
        "Grep", "read", paths=(".", ".env"), deep=True, only=(".env",)
    )
    assert about("Glob", pattern="**/*.ts") == Action("Glob", "read")
    assert about("Glob", pattern="/h/.ssh/*") == Action("Glob", "read", paths=(".", "/h/.ssh/"))
    assert about("Glob", pattern="../*", path="src") == Action("Glob", "read", paths=("src", "../"))


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example.com@evil.example/",
        "https://docs.example.com\\@evil.example/",
        "https://evil.example%2f.docs.example.com/",
        "file://docs.example.com/etc/passwd",
        "https://döcs.example.com/",
        "https:///x",
        "docs.example.com",
        "https://[::1]/",
        "https://a b.example.com/",
    ],
)
def test_an_address_that_is_dressed_up_has_no_host(url: str) -> None:
    assert about("WebFetch", url=url) == Action("WebFetch", "fetch")


def test_a_plain_address_has_one() -> None:
    assert about("WebFetch", url="HTTPS://Docs.Example.com:443/x?y#z") == Action(
        "WebFetch", "fetch", hosts=("docs.example.com",)
    )


def test_what_is_not_known_is_other() -> None:
    assert about("PowerShell", command="ls") == Action("PowerShell")
    assert about("Bash", command="ls", dangerouslyDisableSandbox=True) == Action(
        "Bash", "command", command="ls", unboxed=True
    )
    assert about("Bash", script="ls") == Action("Bash")


def test_a_servers_tool_that_needs_no_words_is_one_all_the_same() -> None:
    """A deny for `db` did not stop mcp__db__drop_all, which takes no input."""
    assert about("mcp__db__drop_all") == Action("mcp__db__drop_all", "mcp", server="db")
    assert about("Bash") == Action("Bash")
    assert about("Write") == Action("Write", "write")
    assert action_of(b'{"tool_name": "mcp__db__drop_all", "tool_input": { }}') == about("mcp__db__drop_all")
    assert action_of(b'{"tool_name": "mcp__db__drop_all", "tool_input": [1]}') is None
