"""Files of ours are whole whoever writes them at the same time, and a link in our home stays one."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from yourcall.system import private_files


def test_two_who_write_at_once_leave_a_whole_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "navigator.json"
    texts = [letter * 20_000 for letter in (b"a", b"b")]

    def writes(text: bytes) -> None:
        for _ in range(100):
            private_files.write(path, text)
            assert path.read_bytes() in texts

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(writes, text) for text in texts]:
            done.result()
    assert [each.name for each in tmp_path.iterdir()] == ["navigator.json"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    theirs, path = tmp_path / "dotfiles" / "config.toml", tmp_path / "config.toml"
    theirs.write_text("old")
    path.symlink_to(theirs)
    private_files.write(path, b"new")
    assert path.is_symlink()
    assert theirs.read_text() == "new"


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "secrets.toml").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        private_files.write(tmp_path / "secrets.toml", b"new")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


def test_a_line_of_the_log_with_a_name_that_is_no_text_is_not_lost(tmp_path: Path) -> None:
    program = (
        "import logging, pathlib, sys; from yourcall.daemon.logs import start_logging;"
        "start_logging(pathlib.Path(sys.argv[1])); logging.getLogger('x').warning('gone: %s', 'caf\\udce9')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "gone: caf\\udce9" in (tmp_path / "log" / "yourcall.log").read_text()
