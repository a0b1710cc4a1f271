"""The plugin file: written whole, taken out whole, and nothing of the person's is touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from yourcall.agents.opencode.app import APPS, KILO, OPENCODE, App
from yourcall.agents.opencode.setup import add, check, remove, source
from yourcall.agents.setup_spec import Edited
from yourcall.model.prompts import Refused

LAUNCHER = "/home/me/.yourcall/hook"


@pytest.mark.parametrize("app", APPS, ids=[app.name for app in APPS])
def test_it_is_written_checked_and_removed(app: App) -> None:
    edited = add(app, None, LAUNCHER, [app.measured], None)
    assert isinstance(edited, Edited)
    assert edited.changed
    assert edited.text is not None
    assert f'const AGENT = "{app.name}"' in edited.text
    assert 'const SOCKET = "/home/me/.yourcall/plugin.sock"' in edited.text
    assert "$AGENT" not in edited.text + edited.text.replace("$SOCKET", "")
    assert check(app, edited.text, LAUNCHER, [app.measured]) == []
    assert add(app, edited.text, LAUNCHER, [app.measured], None) == Edited(edited.text, False, edited.notes)
    assert remove(edited.text) == Edited(None, True)


def test_a_file_of_another_make_stays() -> None:
    assert isinstance(add(OPENCODE, "export const Mine = 1\n", LAUNCHER, [], None), Refused)
    assert remove("export const Mine = 1\n") == Edited("export const Mine = 1\n", False)
    assert [f.code for f in check(OPENCODE, "export const Mine = 1\n", LAUNCHER, [])] == ["broken"]


def test_an_old_version_and_a_long_path_are_refused() -> None:
    assert isinstance(add(OPENCODE, None, LAUNCHER, [(1, 14, 41)], None), Refused)
    assert isinstance(add(KILO, None, f"/{'x' * 100}/hook", [], None), Refused)


def test_what_is_missing_or_of_another_home_is_said() -> None:
    elsewhere = source(OPENCODE, "/elsewhere/hook")
    assert [f.code for f in check(OPENCODE, elsewhere, LAUNCHER, [])] == ["outdated"]
    assert [f.code for f in check(OPENCODE, None, LAUNCHER, [])] == ["missing"]


@pytest.mark.parametrize("home", ['/tmp/it\'s "quoted"', "/tmp/${x}`y`", "/tmp/back\\slash"])
def test_any_path_makes_a_program_that_can_be_read(tmp_path: Path, home: str) -> None:
    file = tmp_path / "plugin.mjs"
    file.write_text(source(OPENCODE, f"{home}/hook"))
    told = subprocess.run(["node", "--check", str(file)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


def test_only_one_function_is_exported() -> None:
    lines = [line for line in source(OPENCODE, LAUNCHER).splitlines() if line.startswith("export")]
    assert lines == ["export const Yourcall = async ({ client, directory }) => {"]
