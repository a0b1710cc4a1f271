"""`yourcall setup qwen`, its undo, and uninstall: the person's own settings come back byte for byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.yourcall import Yourcall
from yourcall.agents.qwen import setup
from yourcall.agents.setup_spec import Edited

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = '{\n  // mine\n  "ui": {"theme": "Default"},\n  "hooks": {"Stop": []}\n}\n'
LAUNCHER = "/home/dev/.local/share/yourcall/hook"


def program(folder: Path, version: str) -> str:
    path = folder / "qwen"
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return str(path)


def test_shown_applied_and_undone(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    cli = program(tmp_path, "0.24.4")
    file = tmp_path / ".qwen" / "settings.json"
    file.parent.mkdir()
    file.write_text(SETTINGS)
    shown = yc.run("setup", "qwen", "--diff", "--cli", cli)
    assert (shown.code, file.read_text()) == (0, SETTINGS), shown
    assert "dualOutput" in shown.out
    assert yc.run("setup", "qwen", "--cli", cli).code == 2  # nobody said yes
    done = yc.run("setup", "qwen", "--yes", "--cli", cli)
    assert done.code == 0, done
    text = file.read_text()
    assert "// mine" in text
    assert f'"jsonFile": "{yc.home}/qwen/ev-${{TMUX_PANE}}.jsonl"' in text
    assert yc.run("setup", "qwen", "--diff", "--cli", cli).out.count("Nothing to change") == 1
    undone = yc.run("setup", "qwen", "--undo", "--yes")
    assert (undone.code, file.read_text()) == (0, SETTINGS), undone


def test_a_file_that_was_not_there_goes_again_also_by_uninstall(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    file = tmp_path / ".qwen" / "settings.json"
    assert yc.run("setup", "qwen", "--yes", "--cli", program(tmp_path, "0.24.4")).code == 0
    assert set(json.loads(file.read_text())) == {"hooks", "dualOutput"}
    gone = yc.run("uninstall", "--yes")
    assert gone.code == 0, gone
    assert not file.parent.exists()


def test_a_dual_output_of_their_own_is_left_alone(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    file = tmp_path / ".qwen" / "settings.json"
    file.parent.mkdir()
    own = '{\n  "dualOutput": {"jsonFile": "/tmp/mine.jsonl"}\n}\n'
    file.write_text(own)
    done = yc.run("setup", "qwen", "--yes", "--cli", program(tmp_path, "0.24.4"))
    assert done.code == 0, done
    assert "of your own" in done.out
    assert json.loads(file.read_text())["dualOutput"] == {"jsonFile": "/tmp/mine.jsonl"}
    assert yc.run("setup", "qwen", "--undo", "--yes").code == 0
    assert file.read_text() == own


def test_too_old_is_refused_in_words(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    old = yc.run("setup", "qwen", "--yes", "--cli", program(tmp_path, "0.15.10"))
    assert old.code == 1
    assert "0.15.10" in old.err


PIECES = st.sampled_from(
    [
        '"a": 1',
        '"ui": {"theme": "x"}',
        '"hooks": {}',
        '"hooks": {"Stop": []}',
        '"hooks": {"Stop": [{"hooks": []}]}',
    ]
)


@given(st.lists(PIECES, max_size=3, unique_by=lambda piece: piece.split(":")[0]), st.sampled_from(["", "\n  "]))
def test_undo_gives_the_text_back_byte_for_byte(pieces: list[str], space: str) -> None:
    end = "\n" if space else ""
    text = "{" + ",".join(space + piece for piece in pieces) + (end if pieces else "") + "}"
    added = setup.add(text, LAUNCHER, [(0, 24, 4)])
    assert isinstance(added, Edited)
    assert added.text is not None
    assert json.loads(added.text)["dualOutput"] == setup.channel(LAUNCHER)
    assert setup.check(added.text, LAUNCHER, [(0, 24, 4)]) == []
    again = setup.add(added.text, LAUNCHER, [(0, 24, 4)])
    assert isinstance(again, Edited)
    assert not again.changed
    removed = setup.remove(added.text)
    assert isinstance(removed, Edited)
    assert removed.text == text


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ('"dualOutput"', "partial"),
        ("/home/dev/.local/share/yourcall/qwen/ev", "moved"),
        ("PostToolBatch", "partial"),
    ],
)
def test_what_is_missing_or_moved_is_found(change: str, code: str) -> None:
    added = setup.add(None, LAUNCHER, [])
    assert isinstance(added, Edited)
    assert added.text is not None
    words = {"/home/dev/.local/share/yourcall/qwen/ev": "/elsewhere/qwen/ev"}.get(change, '"other"')
    broken = added.text.replace(change, words if change.startswith(("/", '"')) else "Other")
    assert [finding.code for finding in setup.check(broken, LAUNCHER, [])] == [code]
