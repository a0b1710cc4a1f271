"""`setup copilot`: a flag in the settings and a file of our own beside them, put in, examined and taken out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.yourcall import Yourcall

pytestmark = pytest.mark.long


@pytest.fixture
def yc(tmp_path: Path) -> Yourcall:
    return Yourcall(tmp_path)  # no daemon: none of this needs one


def files(folder: Path) -> dict[str, str]:
    return {str(each.relative_to(folder)): each.read_text() for each in folder.rglob("*") if each.is_file()}


def test_a_flag_and_a_file_come_and_go(yc: Yourcall, tmp_path: Path) -> None:
    agent, place = tmp_path / ".copilot", "extensions/yourcall/extension.mjs"
    shown = yc.run("setup", "copilot", "--diff")
    assert shown.code == 0
    assert "+import { joinSession }" in shown.out
    assert '+    "EXTENSIONS": true,' in shown.out
    assert not agent.exists()
    refused = yc.run("setup", "copilot")
    assert refused.code == 2, refused
    assert not agent.exists()
    assert yc.run("setup", "copilot", "--yes").code == 0
    assert set(files(agent)) == {"settings.json", place}
    assert json.dumps(str(yc.home)) in files(agent)[place]
    again = yc.run("setup", "copilot", "--yes", "--json")
    assert again.json["changed"] is False, again
    # What somebody changed in it, or removed, is seen and put right.
    for text in (
        "// The extension of yourcall, written by `yourcall setup copilot`; `--undo` takes it out again.\n",
        "",
    ):
        (agent / place).write_text(text) if text else (agent / place).unlink()
        assert "set up right" in yc.run("setup").out
        assert any("extension.mjs" in each["says"] for each in yc.run("doctor", "--json").json)
        assert yc.run("setup", "copilot", "--yes").code == 0
        assert json.dumps(str(yc.home)) in files(agent)[place]
    assert yc.run("setup", "copilot", "--undo", "--yes").code == 0
    assert not agent.exists()


def test_what_is_not_ours_stays(yc: Yourcall, tmp_path: Path) -> None:
    agent = tmp_path / ".copilot"
    (agent / "extensions" / "yourcall").mkdir(parents=True)
    own = agent / "extensions" / "yourcall" / "extension.mjs"
    own.write_text("// somebody else's\n")
    settings = '{ "theme": "dim", "experimental": true }'
    (agent / "settings.json").write_text(settings)
    refused = yc.run("setup", "copilot", "--yes")
    assert (refused.code, "not yourcall's" in refused.err) == (1, True), refused
    assert files(agent) == {"settings.json": settings, "extensions/yourcall/extension.mjs": "// somebody else's\n"}
    own.unlink()
    assert yc.run("setup", "copilot", "--yes").code == 0
    assert (agent / "settings.json").read_text() == settings  # extensions were on already
    uninstalled = yc.run("uninstall", "--yes")
    assert uninstalled.code == 0, uninstalled
    assert files(agent) == {"settings.json": settings}
