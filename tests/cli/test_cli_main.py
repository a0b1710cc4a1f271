"""The command itself: quick, helpful, and never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kit.yourcall import COMMAND, Yourcall
from yourcall import __version__
from yourcall.cli.main import COMMANDS

NAMES = [name for section in COMMANDS.values() for name in section]
HEAVY = ("starlette", "uvicorn", "msgspec", "websockets", "segno", "psutil", "http.client", "asyncio", "anyio")


def clean(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": str(home), "LANG": "C.UTF-8", **more}


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "yourcall.cli.main", "--help"],
        env=clean(tmp_path), capture_output=True, text=True, check=True,
    )  # fmt: skip
    imported = {
        line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")
    }
    assert "click" in imported
    assert not [name for name in imported if name.split(".")[0] in HEAVY or name in HEAVY]
    for name in NAMES:
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_command_helps_in_80_columns(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(COMMAND), name, "--help"],
        env=clean(tmp_path, COLUMNS="80"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: yourcall {name}")
    widest = max(map(len, done.stdout.splitlines()))
    assert widest <= (80 if name not in ("setup", "screen", "demo") else 100)  # these have long examples


def test_version(tmp_path: Path) -> None:
    said = Yourcall(tmp_path).run("--version")
    assert (said.code, said.out) == (0, f"yourcall, version {__version__}\n")


def test_unknown_command_says_what_was_meant(tmp_path: Path) -> None:
    said = Yourcall(tmp_path).run("answr", "x")
    assert said.code == 2
    assert "Did you mean: yourcall answer?" in said.err


def test_home_may_stand_before_and_behind(tmp_path: Path) -> None:
    other = tmp_path / "with space"
    yc = Yourcall(tmp_path)
    for words in (["--home", str(other), "ls"], ["ls", "--home", str(other)], ["devices", "--home", str(other)]):
        said = yc.run(*words)
        assert said.code == 1
        assert said.err == f"yourcall is not running. Start it with: yourcall --home '{other}' up\n"
    assert not other.exists()


def test_a_bug_is_one_sentence_and_a_file(yc: Yourcall) -> None:
    # A daemon of another kind behind our socket: the reply is JSON, but not of any shape we know.
    broken = subprocess.run(
        [sys.executable, "-c", BUG, str(yc.home)], env=yc.env, capture_output=True, text=True, check=False
    )
    assert broken.returncode == 1, broken
    assert broken.stdout == ""
    assert len(broken.stderr.splitlines()) == 1
    note = yc.home / "log" / "cli.log"
    assert str(note) in broken.stderr
    assert "ZeroDivisionError" in note.read_text()
    assert note.stat().st_mode & 0o777 == 0o600
    shown = subprocess.run(
        [sys.executable, "-c", BUG, str(yc.home)], env={**yc.env, "YOURCALL_DEBUG": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" in shown.stderr


BUG = """
import sys, click
from yourcall.cli import main
from yourcall.cli.commands import prompts
prompts.ls.callback = click.pass_context(lambda ctx, **_: 1 / 0)
sys.argv = ["yourcall", "--home", sys.argv[1], "ls"]
main.main()
"""


def test_a_reader_that_leaves_is_no_error(yc: Yourcall) -> None:
    done = subprocess.run(
        f"{COMMAND} --help | head -1; exit ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash",
        env=yc.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""


def test_output_that_cannot_be_encoded_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(COMMAND), "doctor"], env=clean(tmp_path, PYTHONIOENCODING="latin-1"), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"\\u2192" in done.stdout


def test_deep_homes_work(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    with Yourcall(deep) as yc:
        assert yc.run("ls", "--json").json == []
        assert json.loads((yc.home / "daemon.json").read_text())["pid"] == yc.run("status", "--json").json["pid"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, tmp_path: Path) -> None:
    said = Yourcall(tmp_path).run("completion", shell)
    assert said.code == 0
    assert "_YOURCALL_COMPLETE" in said.out
    if shell == "bash":
        subprocess.run(["/bin/bash", "-n"], input=said.out, text=True, check=True)


def test_completion_knows_open_prompts_and_their_options(yc: Yourcall, claude) -> None:
    claude.asks("Bash", command="ls")
    prompt = yc.wait_prompt()["id"]

    def complete(words: str, at: int) -> list[str]:
        env = {**yc.env, "_YOURCALL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        done = subprocess.run([str(COMMAND)], env=env, capture_output=True, text=True, check=False)
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert complete("yourcall ans", 1) == ["answer"]
    assert complete(f"yourcall answer {prompt[:3]}", 2) == [prompt]
    assert complete(f"yourcall answer {prompt} ", 3) == ["allow", "deny", "stop"]
    assert complete("yourcall show ", 2) == [prompt]


def test_words_that_are_no_text_are_bad_usage_and_no_mistake_of_ours(tmp_path: Path) -> None:
    with Yourcall(tmp_path) as yc:
        for words in (["show", "\udcff"], ["conversation", "\udcff"]):
            said = yc.run(*words)
            assert said.code == 2, said
            assert "valid UTF-8" in said.err
            assert "mistake" not in said.err


def test_back_without_a_home_is_no_mistake_and_makes_none(tmp_path: Path) -> None:
    lone = Yourcall(tmp_path)
    said = lone.run("back")
    assert "There is no way back" in said.err, said
    assert not lone.home.exists()


def test_completion_does_not_hang_with_a_daemon_that_does_nor_print_what_went_wrong(yc: Yourcall) -> None:
    def complete(words: str, at: int) -> tuple[str, str]:
        env = {**yc.env, "_YOURCALL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        # Ten seconds is what a command waits for a daemon that hangs; nobody waits so long for a word.
        done = subprocess.run([str(COMMAND)], env=env, capture_output=True, text=True, timeout=8, check=True)
        return done.stdout.strip(), done.stderr

    assert complete("yourcall answer \udcff ", 3) == ("", "")
    yc.signal(signal.SIGSTOP)
    try:
        assert complete("yourcall answer ", 2) == ("", "")
        assert complete("yourcall answer k3fq ", 3) == ("", "")
    finally:
        yc.signal(signal.SIGCONT)


@pytest.mark.parametrize("home", ["", "~nobody-of-this-name/x"])
def test_a_home_that_is_none_is_bad_usage_and_never_this_folder(tmp_path: Path, home: str) -> None:
    lone = Yourcall(tmp_path)
    (tmp_path / "log").mkdir()
    for words in (["--home", home, "uninstall", "--yes"], ["uninstall", "--yes", "--home", home]):
        said = lone.run(*words)
        assert said.code == 2, said
        assert "--home" in said.err
    assert (tmp_path / "log").is_dir()
