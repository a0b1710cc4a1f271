"""The seventh round of attacks: what fish reads otherwise than bash, files that newer agents and editors obey, and
what else was tried with `xargs`, `find`, `rg`, `git` and the differences between shells."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hostile_seventh import HOSTILE, WRITES
from test_sixth_round import WRITING, hostile
from test_third_round import Project

from yourcall.model.action import Action
from yourcall.rules.action_parts import parts
from yourcall.rules.effects.known_files import reserved_path
from yourcall.rules.shell.items import Unread

# To bash and zsh each of these is one thing; to fish it is another.
OTHERWISE_IN_FISH = (
    r"echo 'x\' '; ./evil #'",
    r"ls '\'; cat '\'",
    r"cat 'a.py\' b.py '",
    r"sed 's/a\\/w f/' a.py",
    r"cat \x2eenv",
    r"cat \X2eenv",
    r"cat \056env",
    r"cat \u002eenv",
    r"cat \U0000002eenv",
    r"cat k\x65y.txt",
    r"cat up\x2fother/notes.txt",
    r"cat a.py k\145y.txt | head",
    r"git diff --no-inde\x78 a.py .en\x76",
    r"sort -\x6f b.py a.py",
    r"echo $((1+1))",
    r"cat \cA",
)
SAME_IN_FISH = (
    "ls && pwd",
    r"cat a\ b.py",
    r"grep 'a\.b' a.py",
    r'grep "a\.b\\" a.py',
    r"echo it\'s",
    r"cat \*.py",
    "ls \\\n a.py",
    r"find . -name a.py -exec cat {} \;",
    r"echo 'it'\''s'",
    r"cat a.py # \x2e",
)


@pytest.mark.parametrize("command", OTHERWISE_IN_FISH)
def test_what_fish_reads_otherwise_is_not_believed_where_nobody_says_which_shell(command: str) -> None:
    assert isinstance(parts(Action("bash", "command", command=command, any_shell=True)), Unread)


@pytest.mark.parametrize("command", SAME_IN_FISH)
def test_what_fish_reads_alike_is_read(command: str) -> None:
    assert not isinstance(parts(Action("bash", "command", command=command, any_shell=True)), Unread)


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize("command", [each for each in SAME_IN_FISH if "cat a" not in each and "grep" not in each])
def test_fish_itself_prints_the_same(tmp_path: Path, command: str) -> None:
    (tmp_path / "a.py").write_text("text\n")
    env = {"PATH": os.defpath, "HOME": str(tmp_path / "home"), "LC_ALL": "C.UTF-8"}

    def printed(*shell: str) -> str:
        argv = [*shell, command]
        return subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False).stdout

    assert printed("fish", "-N", "-c") == printed("bash", "--norc", "-c")


@pytest.mark.parametrize(
    "path",
    [
        ".amp/settings.json", "codex.md", "replit.md", "mcp.json", ".mcp/servers.json", ".serena/project.yml",
        ".qoder/rules/a.md", ".ruler/ruler.toml", ".openhands_instructions", ".codeium/x", ".luarc.json",
        ".neoconf.json", ".lazy.lua", ".clangd", ".phpactor.json", ".lesskey",
    ],
)  # fmt: skip
def test_a_file_that_agents_or_editors_obey_is_reserved(path: str) -> None:
    assert reserved_path(f"/home/me/shop/{path}")


def test_nothing_of_the_seventh_round_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = hostile(Project(tmp_path))
    assert len(set(HOSTILE)) == len(HOSTILE) >= 400
    assert [command for command in HOSTILE if project.bash(command) == "allow"] == []


def test_nor_does_a_rule_that_allows_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = hostile(Project(tmp_path, WRITING))
    assert len(set(WRITES)) == len(WRITES) >= 200
    assert [command for command in WRITES if project.bash(command) == "allow"] == []
