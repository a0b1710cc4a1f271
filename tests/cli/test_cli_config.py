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
    assert "internal error" not in said.err
    assert not (lone.home / "daemon.json").exists()


def test_a_misspelt_variable_too(tmp_path: Path) -> None:
    lone = Yourcall(tmp_path)
    lone.discovery = "maybe"
    said = lone.run("up", "--port", "0")
    assert said.code == 1
    assert "off, tmux or all" in said.err


def test_a_channel_that_the_rest_still_names_is_not_taken_out(tmp_path: Path) -> None:
    lone = Yourcall(tmp_path)
    lone.home.mkdir()
    config = lone.home / "config.toml"
    text = '[channels.desk]\ntype = "desktop"\n\n[[notify.when]]\nkinds = ["plan"]\ntell = ["desk"]\n'
    config.write_text(text)
    said = lone.run("channels", "remove", "desk")
    assert said.code == 2, said
    assert "there is no channel 'desk'" in said.err
    assert config.read_text() == text


def test_adding_and_removing_a_channel_keeps_the_line_ends_of_the_rest(tmp_path: Path) -> None:
    lone = Yourcall(tmp_path)
    lone.home.mkdir()
    config = lone.home / "config.toml"
    config.write_bytes(b"# mine\r\n[keep]\r\ndays = 3\r\n")
    assert lone.run("channels", "add", "desktop").code == 0
    assert config.read_bytes().startswith(b"# mine\r\n[keep]\r\ndays = 3\r\n")
    assert lone.run("channels", "remove", "desktop").code == 0
    assert config.read_bytes().strip() == b"# mine\r\n[keep]\r\ndays = 3"
