"""The administrator's settings, in the order in which Claude Code merges them, each finding with its own file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.claude.managed import Managed, folder
from yourcall.agents.claude.managed import managed as read_managed
from yourcall.cli.instance import Instance
from yourcall.cli.machine import ThisMachine

BASE, DROP_INS = "managed-settings.json", "managed-settings.d"
ONLY, NOT_ONLY = {"allowManagedHooksOnly": True}, {"allowManagedHooksOnly": False}
STRICT = "strictPluginOnlyCustomization"
SAFE = "CLAUDE_CODE_SAFE_MODE"

# Each was tried with the real Claude Code 2.1.325: were hooks of the user's settings called? `locks` is the file
# that says no; empty: they were called. `tests/real/test_managed_real.py` tries some of them again.
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, ""),
    "base": ({BASE: ONLY}, BASE),
    "drop-in": ({"1.json": ONLY}, "1.json"),
    "drop-in over base": ({BASE: ONLY, "1.json": NOT_ONLY}, ""),
    "last drop-in": ({"10.json": ONLY, "20.json": NOT_ONLY}, ""),
    "order of names": ({"B.json": NOT_ONLY, "a.json": ONLY}, "a.json"),
    "other order of names": ({"B.json": ONLY, "a.json": NOT_ONLY}, ""),
    "hidden": ({".1.json": ONLY}, ""),
    "other ending": ({"1.txt": ONLY}, ""),
    "disableAllHooks": ({"1.json": {"disableAllHooks": True}}, "1.json"),
    "taken back": ({BASE: {"disableAllHooks": True}, "1.json": {"disableAllHooks": False}}, ""),
    "plugins only": ({"1.json": {STRICT: True}}, "1.json"),
    "plugins only for hooks": ({"1.json": {STRICT: ["hooks"]}}, "1.json"),
    "plugins only for skills": ({"1.json": {STRICT: ["skills"]}}, ""),
    "lists are joined": ({BASE: {STRICT: ["hooks"]}, "1.json": {STRICT: ["skills"]}}, BASE),
    "a list over true": ({BASE: {STRICT: True}, "1.json": {STRICT: ["skills"]}}, ""),
    "false over a list": ({BASE: {STRICT: ["hooks"]}, "1.json": {STRICT: False}}, ""),
    "neither true nor false": ({"1.json": {"allowManagedHooksOnly": "true"}}, "1.json"),
    "zero": ({BASE: NOT_ONLY, "1.json": {"allowManagedHooksOnly": 0}}, "1.json"),
    "null": ({BASE: {"allowManagedHooksOnly": None}}, ""),
    "null over true": ({BASE: ONLY, "1.json": {"allowManagedHooksOnly": None}}, BASE),
    "disableAllHooks in words": ({BASE: {"disableAllHooks": "yes"}}, ""),
    "safe mode": ({"1.json": {"env": {SAFE: "1"}}}, "1.json"),
    "no safe mode": ({BASE: {"env": {SAFE: "1"}}, "1.json": {"env": {SAFE: "0"}}}, ""),
    "simple": ({BASE: {"env": {"CLAUDE_CODE_SIMPLE": "1"}}}, BASE),
    "empty": ({BASE: "", "1.json": ONLY}, "1.json"),
    "said twice": ({"1.json": '{"allowManagedHooksOnly": true, "allowManagedHooksOnly": false}'}, ""),
    "broken": ({"1.json": "{"}, "1.json"),
    "with a comment": ({"1.json": "// no\n{}"}, "1.json"),
    "a list": ({BASE: "[]"}, BASE),
}


def managed(root: Path) -> Managed:
    return read_managed(ThisMachine(Instance(root), CLAUDE, []), str(root))


def write(root: Path, files: dict[str, Any]) -> None:
    (root / DROP_INS).mkdir(parents=True)
    for name, says in files.items():
        path = root / name if name == BASE else root / DROP_INS / name
        path.write_text(says if isinstance(says, str) else json.dumps(says))


@pytest.mark.parametrize("case", CASES)
def test_what_locks_our_hooks_out_is_named_with_its_file(tmp_path: Path, case: str) -> None:
    files, locks = CASES[case]
    write(tmp_path, files)
    found = managed(tmp_path).findings()
    path = tmp_path / locks if locks == BASE else tmp_path / DROP_INS / locks
    assert [str(path) in finding.says for finding in found] == ([True] if locks else [])


def test_nothing_there_and_odd_things_there(tmp_path: Path) -> None:
    assert managed(tmp_path / "none").findings() == []
    (tmp_path / DROP_INS / "folder.json").mkdir(parents=True)
    (tmp_path / DROP_INS / "dangling.json").symlink_to(tmp_path / "nowhere")
    assert managed(tmp_path).findings() == []
    (tmp_path / "elsewhere").write_text(json.dumps(ONLY))
    (tmp_path / DROP_INS / "link.json").symlink_to(tmp_path / "elsewhere")
    (finding,) = managed(tmp_path).findings()
    assert "link.json" in finding.says


def test_the_mode_of_the_last_file_counts(tmp_path: Path) -> None:
    modes = {name: {"permissions": {"defaultMode": mode}} for name, mode in ((BASE, "plan"), ("1.json", "auto"))}
    write(tmp_path, modes)
    assert managed(tmp_path).default_mode() == ("auto", str(tmp_path / DROP_INS / "1.json"))


@pytest.mark.parametrize(
    ("platform", "where"),
    [("linux", "/etc/claude-code"), ("darwin", "/Library/Application Support/ClaudeCode")],
)
def test_where_administrators_write(platform: str, where: str) -> None:
    assert folder(platform) == where
