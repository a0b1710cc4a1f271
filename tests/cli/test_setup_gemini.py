"""`yourcall setup gemini`, its undo, and uninstall: the person's own settings come back byte for byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = '{\n  // mine\n  "ui": {"theme": "Default"},\n  "hooks": {"BeforeTool": []}\n}\n'


def program(folder: Path, version: str) -> Path:
    path = folder / "gemini"
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def test_shown_applied_and_undone(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    cli = str(program(tmp_path, "0.61.0"))
    file = tmp_path / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text(SETTINGS)
    shown = yc.run("setup", "gemini", "--diff", "--cli", cli)
    assert (shown.code, file.read_text()) == (0, SETTINGS), shown
    assert "Gemini CLI 0.61.0" in shown.out
    assert yc.run("setup", "gemini", "--cli", cli).code == 2  # nobody said yes
    done = yc.run("setup", "gemini", "--yes", "--cli", cli)
    assert done.code == 0, done
    assert "// mine" in file.read_text()
    assert "-b gemini BeforeTool $PPID" in file.read_text()
    undone = yc.run("setup", "gemini", "--undo", "--yes")
    assert (undone.code, file.read_text()) == (0, SETTINGS), undone


def test_a_file_that_was_not_there_goes_again_also_by_uninstall(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    cli = str(program(tmp_path, "0.61.0"))
    file = tmp_path / ".gemini" / "settings.json"
    assert yc.run("setup", "gemini", "--yes", "--cli", cli).code == 0
    assert set(json.loads(file.read_text())) == {"hooks"}
    gone = yc.run("uninstall", "--yes")
    assert gone.code == 0, gone
    assert str(file) in gone.out
    assert not file.parent.exists()


def test_old_broken_and_impossible_are_refused_in_words(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    old = yc.run("setup", "gemini", "--yes", "--cli", str(program(tmp_path, "0.28.2")))
    assert old.code == 1
    assert "0.28.2" in old.err
    cli = str(program(tmp_path, "0.61.0"))
    file = tmp_path / ".gemini" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text('{"ui": }')
    broken = yc.run("setup", "gemini", "--yes", "--cli", cli)
    assert (broken.code, file.read_text()) == (1, '{"ui": }'), broken
    assert "not valid JSON" in broken.err
    assert yc.run("setup", "gemini", "--ask", "x", "--yes").code == 2


def test_doctor_says_what_is_wrong(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder, "0.99.0")
    env = yc.env
    env["PATH"] = f"{folder}:{env['PATH']}"
    assert yc.run("setup", "gemini", "--yes", "--cli", str(folder / "gemini")).code == 0
    file = tmp_path / ".gemini" / "settings.json"
    settings = json.loads(file.read_text())
    settings["ui"] = {"hideWindowTitle": True}
    settings["hooksConfig"] = {"enabled": False}
    file.write_text(json.dumps(settings))
    said = doctor(yc, env)
    assert any("newer than the one yourcall was tried with" in each for each in said)
    assert any("calls no hook at all" in each for each in said)
    assert any("in its title" in each for each in said)


def doctor(yc: Yourcall, env: dict[str, str]) -> list[str]:
    import subprocess

    from kit.yourcall import COMMAND

    done = subprocess.run(
        [str(COMMAND), "doctor", "--json"],
        env=env,
        cwd=yc.home.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return [finding["says"] for finding in json.loads(done.stdout)]


def test_agents_declare_how_far_they_are_understood(tmp_path: Path) -> None:
    yc = Yourcall(tmp_path)
    said = yc.run("agents", "--json")
    assert said.code == 0
    assert said.json["gemini"]["tested"] == ["0.61.0"]
    assert said.json["generic"]["kinds"].keys() == {"ready", "unknown"}
    shown = yc.run("agents", "gemini")
    assert "one digit" in shown.out
    assert "claude" not in shown.out
