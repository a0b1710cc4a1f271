"""A configuration that cannot be understood stops the start, with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.yourcall import Yourcall


@pytest.mark.parametrize("words", [["up"], ["up", "--detach"]])
def test_a_misspelt_setting_stops_the_start_and_is_named(tmp_path: Path, words: list[str]) -> None:
    lone = Yourcall(tmp_path)
    lone.home.mkdir()
    (lone.home / "config.toml").write_text("[server]\nprot = 1\n")
    said = lone.run(*words, "--port", "0")
    assert said.code == 1
    assert "line 2: [server] knows no 'prot'; there are: port, bind, public_url." in said.err
    assert "mistake of its own" not in said.err
    assert not (lone.home / "daemon.json").exists()


def test_a_misspelt_variable_too(tmp_path: Path) -> None:
    lone = Yourcall(tmp_path)
    lone.discovery = "maybe"
    said = lone.run("up", "--port", "0")
    assert said.code == 1
    assert "off, tmux or all" in said.err
