import json
import os
import pty
import re
import select
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from yourcall.agents.claude.setup import EVENTS
from yourcall.cli.main import cli

FILLED = '{\r\n\t"model" : "opus" ,\r\n\t"hooks": {"Stop": []},\r\n\t"é": [1,2 , 3]\r\n}'


class Desk:
    """A person's machine in a folder: a home, Claude's settings, and a `claude` on PATH that tells its version."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.person = root / "ada"
        self.home = self.person / ".yourcall"
        self.settings = self.person / ".claude" / "settings.json"
        self.bin = root / "bin"
        for folder in (self.person, self.bin):
            folder.mkdir()
        self.install("2.1.325 (Claude Code)")
        self.env = {"HOME": str(self.person), "PATH": str(self.bin), "TERM": "xterm", "LANG": "C.UTF-8"}

    def install(self, says: str, folder: Path | None = None) -> Path:
        program = (folder or self.bin) / "claude"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n[ \"$*\" = --version ] || exit 9\necho '{says}'\n")
        program.chmod(0o755)
        return program

    def has(self, text: str | bytes) -> None:
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_bytes(text.encode() if isinstance(text, str) else text)

    def run(self, *words: str, code: int = 0, env: dict[str, str] | None = None) -> Result:
        clean = dict.fromkeys(("YOURCALL_HOME", "YOURCALL_PORT", "CLAUDE_CONFIG_DIR", "NO_COLOR"))
        result = CliRunner().invoke(cli, ["setup", *words], env=clean | self.env | (env or {}))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code == code, result.output
        return result

    def everything(self) -> dict[str, tuple[int, bytes]]:
        return {
            str(path.relative_to(self.root)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
            for path in self.root.rglob("*")
        }

    def commands(self) -> list[str]:
        hooks = json.loads(self.settings.read_text())["hooks"]
        return [hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# --- doing and undoing


@pytest.mark.parametrize("before", [None, "", "\n", "{}", "{}\n", '{"hooks":{}}', FILLED])
def test_undo_brings_back_the_very_bytes(desk: Desk, before: str | None) -> None:
    if before is not None:
        desk.has(before)
        desk.settings.chmod(0o640)
    outside = {name: found for name, found in desk.everything().items() if "yourcall" not in name}
    desk.run("claude", "--yes")
    assert len(desk.commands()) == len(EVENTS)
    if before is not None:
        assert stat.S_IMODE(desk.settings.stat().st_mode) == 0o640
    desk.run("claude", "--undo", "--yes")
    assert {name: found for name, found in desk.everything().items() if "yourcall" not in name} == outside


def test_a_folder_that_others_use_by_now_stays(desk: Desk) -> None:
    desk.run("claude", "--yes")
    (desk.settings.parent / "history").touch()
    desk.run("claude", "--undo", "--yes")
    assert [path.name for path in desk.settings.parent.iterdir()] == ["history"]


def test_a_file_we_made_goes_even_if_we_changed_it_again(desk: Desk) -> None:
    desk.install("2.0.76")
    desk.run("claude", "--yes")
    desk.install("2.1.325")
    desk.run("claude", "--yes")
    desk.run("claude", "--undo", "--yes")
    assert not desk.settings.parent.exists()


def test_what_came_into_a_file_we_made_stays(desk: Desk) -> None:
    desk.run("claude", "--yes")
    rewritten = {"model": "opus"} | json.loads(desk.settings.read_text())
    desk.settings.write_text(json.dumps(rewritten, indent=2))
    desk.run("claude", "--undo", "--yes")
    assert json.loads(desk.settings.read_text()) == {"model": "opus"}


def test_undo_works_without_our_home_and_does_not_bring_it_back(desk: Desk) -> None:
    desk.run("claude", "--yes")
    shutil.rmtree(desk.home)
    desk.run("claude", "--undo", "--yes")
    assert desk.settings.read_text() == "{}\n"
    assert not desk.home.exists()


def test_undo_twice_and_setup_twice_say_that_there_is_nothing_to_do(desk: Desk) -> None:
    desk.has(FILLED)
    desk.run("claude", "--yes")
    before = desk.everything()
    assert "Nothing to change" in desk.run("claude").output
    assert desk.everything() == before
    desk.run("claude", "--undo", "--yes")
    assert "Nothing to change" in desk.run("claude", "--undo").output


def test_what_is_ours_is_private_and_the_old_file_is_kept(desk: Desk) -> None:
    desk.has(FILLED)
    desk.run("claude", "--yes")
    assert stat.S_IMODE(desk.home.stat().st_mode) == 0o700
    assert stat.S_IMODE((desk.home / "backups").stat().st_mode) == 0o700
    [backup] = (desk.home / "backups").iterdir()
    assert backup.read_bytes() == FILLED.encode()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_another_home_takes_over_and_the_diff_shows_it(desk: Desk) -> None:
    desk.run("claude", "--yes")
    other = desk.root / "it's new"
    shown = desk.run("claude", "--yes", env={"YOURCALL_HOME": str(other)}).output
    assert f"-    {json.dumps('Stop')}: [ " in shown
    assert f"+    {json.dumps('Stop')}: [ " in shown
    assert len(desk.commands()) == len(EVENTS)
    assert all("it'\"'\"'s new/hook' claude " in command for command in desk.commands())


# --- asking


def test_diff_only_shows(desk: Desk) -> None:
    desk.has(FILLED)
    before = desk.everything()
    shown = desk.run("claude", "--diff").output
    added = [line for line in shown.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert len(added) == 1
    assert added[0].startswith('+    "hooks": {"Stop": [{"hooks": [')
    assert "PermissionRequest" in shown
    assert desk.everything() == before


def test_without_a_terminal_nothing_changes_unless_told(desk: Desk) -> None:
    desk.has(FILLED)
    before = desk.everything()
    result = desk.run("claude", "--scope", "user", code=2, env={"YOURCALL_HOME": ""})
    assert "PermissionRequest" in result.stdout
    assert "yourcall setup claude --yes" in result.stderr
    assert desk.everything() == before


class AtTheDesk:
    """The command on a real terminal."""

    def __init__(self, desk: Desk, *words: str) -> None:
        self.shown = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            source = str(Path(__file__).parents[2] / "src")
            os.execve(
                sys.executable,
                [sys.executable, "-m", "yourcall.cli.main", "setup", *words],
                desk.env | {"PYTHONPATH": source},
            )

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 20
        while text not in self.shown:
            assert select.select([self.fd], [], [], end - time.monotonic())[0], self.shown
            self.shown += os.read(self.fd, 65536).decode()

    def answer(self, keys: str) -> int:
        os.write(self.fd, keys.encode())
        while True:
            try:
                read = os.read(self.fd, 65536)
            except OSError:
                break
            if not read:
                break
            self.shown += read.decode()
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.mark.parametrize(("keys", "code"), [("y\r", 0), ("n\r", 1), ("\r", 1)])
def test_on_a_terminal_it_asks_and_no_is_the_default(desk: Desk, keys: str, code: int) -> None:
    desk.has(FILLED)
    command = AtTheDesk(desk, "claude")
    command.wait_for("[y/N]")
    assert "\x1b[32m+" in command.shown
    assert desk.settings.read_bytes() == FILLED.encode()
    assert command.answer(keys) == code
    assert (desk.settings.read_bytes() != FILLED.encode()) == (code == 0)
    assert desk.home.exists() == (code == 0)


def test_a_file_that_changed_since_it_was_shown_is_not_deleted(desk: Desk) -> None:
    desk.run("claude", "--yes")
    command = AtTheDesk(desk, "claude", "--undo")
    command.wait_for("[y/N]")
    desk.has('{"model": "opus"}')
    assert command.answer("y\r") == 1
    assert desk.settings.read_text() == '{"model": "opus"}'


def test_a_file_that_changed_since_it_was_shown_is_left_alone(desk: Desk) -> None:
    desk.has(FILLED)
    command = AtTheDesk(desk, "claude")
    command.wait_for("[y/N]")
    desk.has('{"permissions": {"allow": ["Bash"]}}')
    assert command.answer("y\r") == 1
    assert "changed by something else" in command.shown
    assert desk.settings.read_text() == '{"permissions": {"allow": ["Bash"]}}'
    assert [path.name for path in desk.settings.parent.iterdir()] == ["settings.json"]
    assert json.loads((desk.home / "setup.json").read_text()) == []


# --- files as they really are


def test_a_linked_file_is_changed_where_it_lies(desk: Desk) -> None:
    kept = desk.root / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    kept.write_text('{"model": "opus"}\n')
    kept.chmod(0o600)
    desk.settings.parent.mkdir()
    desk.settings.symlink_to("../../dotfiles/claude.json")
    desk.run("claude", "--yes")
    assert desk.settings.is_symlink()
    assert "PermissionRequest" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    desk.run("claude", "--undo", "--yes")
    assert desk.settings.is_symlink()
    assert kept.read_text() == '{"model": "opus"}\n'


def test_a_link_to_nothing_is_a_link_to_nothing_again(desk: Desk) -> None:
    (desk.root / "dotfiles").mkdir()
    desk.settings.parent.mkdir()
    desk.settings.symlink_to("../../dotfiles/claude.json")
    desk.run("claude", "--yes")
    assert (desk.root / "dotfiles" / "claude.json").exists()
    desk.run("claude", "--undo", "--yes")
    assert desk.settings.is_symlink()
    assert list((desk.root / "dotfiles").iterdir()) == []


def broken(text: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(text)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (broken(b'{"a": 1,}'), "line 1, column 9"),
        (broken(b'{"hooks": []}'), "not an object"),
        (broken(b'{"a": "\xff"}'), "not UTF-8"),
        (broken(b" " * 9_000_000), "too long"),
        (lambda path: path.mkdir(), "is not a file"),
        (os.mkfifo, "is not a file"),
        (lambda path: path.symlink_to(path.name), "cannot be read"),
    ],
)
def test_what_cannot_be_edited_is_reported_and_never_overwritten(
    desk: Desk, make: Callable[[Path], object], says: str
) -> None:
    desk.settings.parent.mkdir()
    make(desk.settings)
    before = desk.everything()
    for words in (["claude", "--yes"], ["claude", "--yes", "--json"], ["claude", "--diff"]):
        result = desk.run(*words, code=1)
        assert says in result.stderr
        assert str(desk.settings) in result.stderr
        if "--json" in words:
            assert says in json.loads(result.stdout)["error"]
    assert desk.everything() == before


def test_a_folder_that_cannot_be_made_is_a_sentence(desk: Desk) -> None:
    (desk.person / ".yourcall").write_text("a file")
    result = desk.run("claude", "--yes", code=1)
    assert "cannot be written" in result.stderr
    assert not desk.settings.exists()


def test_text_in_the_settings_cannot_act_on_the_terminal(desk: Desk) -> None:
    desk.has('{"a": "\x9b31m \u202e \x7f"}')
    shown = desk.run("claude", "--diff").output
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)


# --- scopes


def test_a_project_has_its_own_files(desk: Desk) -> None:
    project = desk.root / "project"
    project.mkdir()
    shared = desk.run("claude", "--scope", "project", "--dir", str(project), "--yes").output
    assert "shared" in shared
    desk.run("claude", "--scope", "local", "--dir", str(project), "--yes")
    assert sorted(path.name for path in (project / ".claude").iterdir()) == [
        "settings.json",
        "settings.local.json",
    ]
    assert not desk.settings.exists()
    listed = json.loads(desk.run("--json").output)
    assert [(each["scope"], bool(each["findings"])) for each in listed] == [
        ("user", True), ("project", False), ("local", False),
    ]  # fmt: skip
    desk.run("claude", "--scope", "project", "--dir", str(project), "--undo", "--yes")
    desk.run("claude", "--scope", "local", "--dir", str(project), "--undo", "--yes")
    assert list(project.iterdir()) == []
    assert [each["scope"] for each in json.loads(desk.run("--json").output)] == ["user"]


def test_claude_may_keep_its_settings_elsewhere(desk: Desk) -> None:
    elsewhere = desk.root / "config"
    desk.run("claude", "--yes", env={"CLAUDE_CONFIG_DIR": str(elsewhere)})
    assert "PermissionRequest" in (elsewhere / "settings.json").read_text()
    assert not desk.settings.exists()


@pytest.mark.parametrize("theirs", ["", "a", "a/b"])
def test_folders_that_were_made_for_them_go_with_them(desk: Desk, theirs: str) -> None:
    """Of those that were missing on the way there, only the last went again."""
    there = desk.root / "deep" / theirs
    there.mkdir(parents=True)
    env = {"CLAUDE_CONFIG_DIR": str(desk.root / "deep" / "a" / "b" / "c")}
    desk.run("claude", "--yes", env=env)
    assert (desk.root / "deep" / "a" / "b" / "c" / "settings.json").exists()
    desk.run("claude", "--undo", "--yes", env=env)
    assert list(there.iterdir()) == []


# --- versions


def test_the_oldest_claude_installed_decides(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.root)
    desk.install("2.0.50 (not on an absolute path)", desk.root / "relative")
    old = desk.root / "old"
    desk.install("2.0.76 (Claude Code)", old)
    (desk.root / "again").mkdir()
    (desk.root / "again" / "claude").symlink_to(desk.bin / "claude")
    path = os.pathsep.join(map(str, (desk.bin, "relative", desk.root / "again", old, desk.root / "none")))
    said = json.loads(desk.run("claude", "--json", "--yes", env={"PATH": path}).output)
    assert said["versions"] == ["2.1.325", "2.0.76"]
    assert "Elicitation" in said["notes"][0]
    assert set(json.loads(desk.settings.read_text())["hooks"]) & {"Elicitation", "StopFailure"} == set()
    said = json.loads(desk.run("claude", "--json", "--yes", "--cli", str(desk.bin / "claude")).output)
    assert said["versions"] == ["2.1.325"]
    assert len(desk.commands()) == len(EVENTS)


def test_after_a_downgrade_the_list_says_what_is_wrong(desk: Desk) -> None:
    desk.run("claude", "--yes")
    assert "set up" in desk.run().output
    desk.install("2.0.76 (Claude Code)")
    assert "does not know Elicitation, ElicitationResult, StopFailure" in desk.run().output
    desk.run("claude", "--yes")
    assert json.loads(desk.run("--json").output)[0]["findings"] == []


@pytest.mark.parametrize("says", ["hello", ""])
@pytest.mark.parametrize("alone", [True, False])
def test_a_claude_that_does_not_tell_gets_the_least(desk: Desk, says: str, alone: bool) -> None:
    desk.install(says, desk.bin if alone else desk.root / "other")
    path = f"{desk.bin}:{desk.root / 'other'}"
    said = json.loads(desk.run("claude", "--json", "--yes", env={"PATH": path}).output)
    assert said["versions"] == []
    assert any("not known" in note for note in said["notes"])
    assert any("is unknown" in note for note in said["notes"])
    assert "Elicitation" not in desk.settings.read_text()


def test_a_version_that_is_too_old_is_refused(desk: Desk) -> None:
    desk.install("2.0.44 (Claude Code)")
    assert "2.0.44" in desk.run("claude", "--yes", code=1).stderr
    assert not desk.settings.exists()
    assert not desk.home.exists()


# --- usage


def test_json_for_scripts(desk: Desk) -> None:
    shown = json.loads(desk.run("claude", "--diff", "--json").output)
    assert (shown["changed"], shown["applied"]) == (True, False)
    result = desk.run("claude", "--json", code=2)
    refused = json.loads(result.stdout)
    assert (refused["changed"], refused["applied"], refused["diff"]) == (True, False, shown["diff"])
    assert "--yes" in refused["error"]
    applied = json.loads(desk.run("claude", "--yes", "--json").output)
    assert applied == shown | {"applied": True}
    again = json.loads(desk.run("claude", "--yes", "--json").output)
    assert (again["changed"], again["applied"], again["diff"]) == (False, False, "")


@pytest.mark.parametrize("words", [["nobody"], ["claude", "--dir", "/"], ["claude", "--diff", "--yes"]])
def test_bad_usage(desk: Desk, words: list[str]) -> None:
    assert "Error" in desk.run(*words, code=2).stderr
    assert not desk.home.exists()


# --- what the hooks call

SPY = """\
import os, sys
body = sys.stdin.buffer.read()
with open(os.path.join(os.path.dirname(__file__), "seen"), "wb") as file:
    file.write(repr(sys.argv[1:]).encode() + body)
print("an answer")
sys.exit(2)
"""
LATE_SPY = (
    """\
import os
open(os.path.join(os.path.dirname(__file__), "go")).read()
"""
    + SPY
)


def shell(command: str, payload: bytes = b"", path: str = os.defpath) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", command], input=payload, capture_output=True, timeout=20, check=False, env={"PATH": path}
    )


def of(desk: Desk, event: str) -> str:
    return next(command for command in desk.commands() if f" claude {event} " in command)


def seen(desk: Desk) -> bytes:
    end = time.monotonic() + 20
    while not (desk.home / "seen").exists() or not (desk.home / "seen").read_bytes():
        assert time.monotonic() < end
        time.sleep(0.005)
    return (desk.home / "seen").read_bytes()


@pytest.mark.parametrize("version", ["2.1.325", "2.0.76"])
def test_the_hook_gets_what_the_agent_says_and_its_answer_comes_back(desk: Desk, version: str) -> None:
    desk.install(version)
    desk.run("claude", "--yes")
    (desk.home / "hook.py").write_text(SPY)
    payload = '{"cwd": "/é"}'.encode() + b" " * 300_000 + b"%s\\n"
    done = shell(of(desk, "PermissionRequest"), payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"an answer\n", b"")
    assert seen(desk) == b"['claude', 'PermissionRequest']" + payload


def test_for_an_agent_that_waits_the_hook_goes_to_the_background(desk: Desk) -> None:
    desk.install("2.0.76")
    desk.run("claude", "--yes")
    (desk.home / "hook.py").write_text(LATE_SPY)
    os.mkfifo(desk.home / "go")
    payload = b'{"x": "' + b"y" * 300_000 + b'"}'
    done = shell(of(desk, "Stop"), payload)  # returns although the hook itself cannot go on yet
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (desk.home / "seen").exists()
    (desk.home / "go").write_text("go")
    assert seen(desk) == b"['claude', 'Stop']" + payload


@pytest.fixture
def pythons(tmp_path: Path) -> Path:
    folder = tmp_path / "pythons"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    return folder


@pytest.mark.parametrize("event", ["PermissionRequest", "Stop"])
@pytest.mark.parametrize("version", ["2.1.325", "2.0.76"])
def test_whatever_is_missing_the_agent_sees_nothing(desk: Desk, event: str, version: str, pythons: Path) -> None:
    desk.install(version)
    desk.run("claude", "--yes")
    command = of(desk, event)
    script = desk.home / "hook"
    (desk.home / "hook.py").write_text(SPY)
    script.write_text(re.sub(r"(?m)^python=\S+$", "python=/nowhere/python", script.read_text()))
    no_tools = desk.root / "empty"
    no_tools.mkdir()

    done = shell(command, b"{}", f"{pythons}:{os.defpath}")  # our Python is gone, another is there
    assert (done.returncode, done.stderr) == (0, b"")
    assert seen(desk).endswith(b"{}")
    (desk.home / "seen").unlink()
    silent = (0, b"", b"")
    done = shell(command, b"{}", str(no_tools))  # no Python at all
    assert (done.returncode, done.stdout, done.stderr) == silent
    (desk.home / "hook.py").unlink()
    done = shell(command, b"{}", f"{pythons}:{os.defpath}")
    assert (done.returncode, done.stdout, done.stderr) == silent
    shutil.rmtree(desk.home)
    done = shell(command, b"{}")
    assert (done.returncode, done.stdout, done.stderr) == silent


def test_setting_up_again_repairs_what_the_hooks_call_and_nothing_else(desk: Desk) -> None:
    desk.run("claude", "--yes")
    script, hook = desk.home / "hook", desk.home / "hook.py"
    right, program = script.read_text(), hook.read_bytes()
    kept = script.stat().st_ino
    desk.run("claude")
    assert script.stat().st_ino == kept
    script.write_text("#!/bin/sh\nexec /old/python\n")
    script.chmod(0o600)
    hook.unlink()
    settings = desk.settings.stat().st_ino
    desk.run("claude")
    assert (script.read_text(), hook.read_bytes()) == (right, program)
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert desk.settings.stat().st_ino == settings
