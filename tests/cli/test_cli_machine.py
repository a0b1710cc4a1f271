"""service, uninstall and doctor: what is written outside the home, what is found wrong, what is left behind."""

from __future__ import annotations

import configparser
import json
import os
import plistlib
import shlex
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import COMMAND, Said, Yourcall
from yourcall.cli.commands import service
from yourcall.cli.instance import Instance
from yourcall.system.sockets import short_folder


class Machine:
    """A person's machine in a folder: a home of their own, and programs on PATH that only take notes."""

    def __init__(self, folder: Path) -> None:
        self.person = folder / "ada"
        self.bin = folder / "bin"
        self.settings = self.person / ".claude" / "settings.json"
        self.yourcall = self.person / ".yourcall"
        self.unit = self.person / ".config" / "systemd" / "user" / "yourcall.service"
        self.notes = folder / "notes"
        for each in (self.person, self.bin):
            each.mkdir()
        self.settings.parent.mkdir()

    def program(self, name: str, does: str = "true") -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho {name} "$@" >>{shlex.quote(str(self.notes))}\n{does}\n')
        path.chmod(0o755)

    def noted(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def run(self, *words: str, typed: str = "", cwd: Path | None = None, **env: str) -> Said:
        known = {"PATH": str(self.bin), "HOME": str(self.person), "LANG": "C.UTF-8"}
        known |= {"YOURCALL_DISCOVERY": "off", **env}
        done = subprocess.run(
            [str(COMMAND), *words], env=known, input=typed, capture_output=True, text=True,
            check=False, cwd=cwd or self.person, timeout=60,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def findings(self, **more: Any) -> dict[str, list[dict[str, str]]]:
        found: dict[str, list[dict[str, str]]] = {}
        for finding in self.run("doctor", "--json", **more).json:
            found.setdefault(finding["check"], []).append(finding)
        return found

    def everything(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.person)): path.read_bytes() if path.is_file() else b""
            for path in self.person.rglob("*")
        }


@pytest.fixture
def machine(tmp_path: Path):
    made = Machine(tmp_path)
    yield made
    made.run("down", "--force")


def test_service_is_shown_asked_written_and_removed(machine: Machine) -> None:
    machine.program("systemctl")
    no = machine.run("service", "install", typed="n\n")
    assert no.code == 1
    assert "Nothing was changed." in no.err
    assert not machine.unit.exists()
    yes = machine.run("service", "install", "--yes")
    assert yes.code == 0, yes
    text = machine.unit.read_text()
    assert text in yes.out
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read_string(text)
    words = shlex.split(unit["Service"]["ExecStart"])
    assert words == [str(COMMAND), "--home", str(machine.yourcall), "up"]
    assert machine.noted() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now yourcall.service",
    ]
    assert "already up to date" in machine.run("service", "install").out
    gone = machine.run("service", "remove", "--yes")
    assert gone.code == 0
    assert not machine.unit.exists()
    assert "systemctl --user disable --now yourcall.service" in machine.noted()
    assert not machine.unit.parent.parent.exists()
    assert machine.run("service", "remove").out == "No service is installed.\n"


def test_the_service_takes_the_place_of_what_runs_and_leaves_others_units_alone(machine: Machine) -> None:
    machine.program("systemctl")
    assert machine.run("up", "--detach", "--port", "0").code == 0
    said = machine.run("service", "install", "--yes")
    assert "Stopped the yourcall that was running here" in said.out
    assert machine.run("status").code != 0
    (machine.unit.parent / "other.service").write_text("[Unit]\n")
    assert machine.run("service", "remove", "--yes").code == 0
    assert [each.name for each in machine.unit.parent.iterdir()] == ["other.service"]


def test_a_service_that_is_there_already_takes_the_place_of_what_was_started_by_hand(machine: Machine) -> None:
    """The unit was as it should be, so nothing was stopped: the service failed, was started again, and failed."""
    machine.program("systemctl", '[ "$2" = is-active ] && echo active')
    assert machine.run("service", "install", "--yes").code == 0
    assert machine.run("up", "--detach", "--port", "0").code == 0
    said = machine.run("service", "install", "--yes")  # what runs is the service's own, as far as systemd knows
    assert (said.code, "Stopped" in said.out) == (0, False), said
    assert machine.run("status").code == 0
    for state in ("inactive", "activating"):
        machine.program("systemctl", f'[ "$2" = is-active ] && echo {state} && exit 3')
        said = machine.run("service", "install", "--yes")
        assert (said.code, "Stopped the yourcall that was running here" in said.out) == (0, True), said
        assert machine.run("status").code != 0
        assert machine.run("up", "--detach", "--port", "0").code == 0
    machine.program("systemctl", 'echo "Failed to connect to bus" >&2; exit 1')
    assert "Stopped" not in machine.run("service", "install", "--yes").out


def test_without_systemd_the_command_is_printed(machine: Machine) -> None:
    said = machine.run("service", "install", "--yes")
    assert said.code == 0
    assert "There is no systemctl here. Run it where there is one: systemctl --user enable --now" in said.out
    assert machine.unit.exists()


def test_failing_systemd_is_told(machine: Machine) -> None:
    machine.program("systemctl", 'echo "Failed to connect to bus" >&2; exit 1')
    said = machine.run("service", "install", "--yes")
    assert "did not work (Failed to connect to bus)" in said.out


def test_an_environment_in_a_cache_is_no_home_for_a_service(tmp_path: Path) -> None:
    """uv tags its cache's folder; it also tags the environments that people keep, at their own root."""
    kept, cached = tmp_path / "kept" / "venv", tmp_path / "cache" / "archive-v0" / "x"
    for tagged in (kept, tmp_path / "cache"):
        tagged.mkdir(parents=True)
        (tagged / "CACHEDIR.TAG").write_text("")
    assert not service.is_cached(kept)
    assert service.is_cached(cached)


def test_units_quote_what_systemd_would_expand() -> None:
    unit = service.systemd_unit(["/opt/a b/yourcall", "--home", '/srv/100%/$HOME/"q"/b\\s', "up"])
    line = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert line == 'ExecStart="/opt/a b/yourcall" "--home" "/srv/100%%/$$HOME/\\"q\\"/b\\\\s" "up"'
    with pytest.raises(ValueError, match="plainer path"):
        service.systemd_unit(["/srv/new\nline"])


def test_plist_reads_back(tmp_path: Path) -> None:
    words = ["/opt/a b/yourcall", "--home", "/srv/<&>", "up"]
    told = plistlib.loads(service.plist(words, tmp_path).encode())
    assert told["ProgramArguments"] == words
    assert told["RunAtLoad"] is True


def test_uninstall_leaves_nothing_behind(machine: Machine, tmp_path: Path) -> None:
    machine.program("systemctl")
    machine.program("claude", "echo 2.1.325")
    machine.settings.write_text('{\n  "model": "opus",\n  "hooks": {"Stop": []}\n}\n')
    project = machine.person / "project"
    project.mkdir()
    before = machine.everything()
    assert machine.run("setup", "claude", "--yes").code == 0
    assert machine.run("setup", "claude", "--scope", "local", "--dir", str(project), "--yes").code == 0
    assert machine.run("service", "install", "--yes").code == 0
    assert machine.run("up", "--detach", "--port", "0").code == 0
    pid = json.loads((machine.yourcall / "daemon.json").read_text())["pid"]
    refused = machine.run("uninstall", typed="n\n")
    assert refused.code == 1
    assert "hook.py" in refused.out
    assert machine.run("status").code == 0
    said = machine.run("uninstall", "--yes")
    assert said.code == 0, said
    until(lambda: not Path(f"/proc/{pid}").exists() or ") Z" in Path(f"/proc/{pid}/stat").read_text())
    shutil.rmtree(machine.person / ".config")  # the folders around the unit are systemd's own
    assert machine.everything() == before
    assert "nothing to undo here" in machine.run("uninstall", "--yes").out


def test_uninstall_takes_no_home_from_under_one_that_cannot_be_reached(machine: Machine) -> None:
    assert machine.run("up", "--detach", "--port", "0").code == 0
    pid = json.loads((machine.yourcall / "daemon.json").read_text())["pid"]
    try:
        (machine.yourcall / "api.sock").unlink()
        said = machine.run("uninstall", "--yes")
        assert said.code == 1
        assert f"kill {pid}" in said.err
        assert (machine.yourcall / "yourcall.db").exists()
    finally:
        os.kill(pid, signal.SIGTERM)
    until(lambda: not Path(f"/proc/{pid}").exists() or ") Z" in Path(f"/proc/{pid}/stat").read_text())
    assert machine.run("uninstall", "--yes").code == 0


def test_uninstall_keeps_what_is_not_ours(machine: Machine) -> None:
    machine.yourcall.mkdir()
    for name in ("yourcall.db", "thesis.tex"):
        (machine.yourcall / name).write_text("x")
    said = machine.run("uninstall", "--yes")
    assert said.code == 0
    assert "thesis.tex" in said.out
    assert [path.name for path in machine.yourcall.iterdir()] == ["thesis.tex"]


def test_uninstall_of_one_home_leaves_the_hooks_of_another(machine: Machine) -> None:
    machine.program("claude", "echo 2.1.325")
    assert machine.run("setup", "claude", "--yes").code == 0
    other = machine.person / "other"
    (other / "log").mkdir(parents=True)
    (other / "daemon.lock").write_text("")
    text = machine.settings.read_text()
    assert machine.run("--home", str(other), "uninstall", "--yes").code == 0
    assert machine.settings.read_text() == text
    assert not other.exists()


def test_doctor_when_nothing_is_there(machine: Machine) -> None:
    said = machine.run("doctor")
    assert said.code == 1
    assert "yourcall is not running." in said.out
    assert "yourcall up --detach" in said.out
    found = machine.findings()
    assert found["claude"][0]["level"] == "note"
    assert found["hooks"][0]["level"] == "note"  # who has no Claude Code need not connect it
    assert found["tmux"][0]["level"] == "note"
    assert not machine.yourcall.exists()


def test_doctor_when_all_is_well(machine: Machine) -> None:
    machine.program("claude", "echo '2.1.325 (Claude Code)'")
    machine.program("tmux")
    machine.settings.write_text('{"permissions": {"defaultMode": "default"}}')
    assert machine.run("setup", "claude", "--yes").code == 0
    assert machine.run("up", "--detach", "--port", "0").code == 0
    said = machine.run("doctor")
    assert said.code == 0, said.out
    assert said.out.endswith("No problems found.\n")
    assert "WRONG" not in said.out


@pytest.mark.parametrize(
    ("version", "settings", "check", "says"),
    [
        ("2.0.44", "{}", "hooks", "cannot hand a permission"),
        ("2.1.325", '{"disableAllHooks": true}', "hooks", "`disableAllHooks` is on"),
        ("2.1.325", "{", "hooks", "settings.json"),
        ("2.1.325", "{}", "hooks", "isn't connected yet"),
        ("2.1.325", "{}", "mode", "starts in auto mode"),
        ("2.1.250", "{}", "mode", "may start in auto mode"),
        ("2.1.197", '{"permissions": {"defaultMode": "bypassPermissions"}}', "mode", "bypass-permissions mode"),
        ("2.1.197", '{"permissions": {"defaultMode": "auto"}}', "mode", "no dialog ever comes"),
    ],
)
def test_doctor_explains(machine: Machine, version: str, settings: str, check: str, says: str) -> None:
    machine.program("claude", f"echo '{version} (Claude Code)'")
    machine.settings.write_text(settings)
    wrong = [finding for finding in machine.findings()[check] if finding["level"] == "wrong"]
    assert any(says in finding["says"] for finding in wrong), wrong
    assert all(finding["do"] for finding in wrong)


def test_doctor_has_nothing_to_say_about_a_mode_that_asks(machine: Machine) -> None:
    machine.program("claude", "echo 2.1.197")
    assert "mode" not in machine.findings()
    machine.settings.write_text('{"permissions": {"defaultMode": "plan"}}')
    assert [finding["level"] for finding in machine.findings()["mode"]] == ["well"]


def test_doctor_sees_what_a_project_switches_off(machine: Machine) -> None:
    project = machine.person / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text(
        '{"disableAllHooks": true, "permissions": {"defaultMode": "auto"}}'
    )
    found = machine.findings(cwd=project)
    assert any("disableAllHooks" in finding["says"] for finding in found["hooks"])
    # A project's `auto` is ignored by Claude Code itself, so it is no finding.
    assert "mode" not in found


def test_doctor_sees_open_doors(machine: Machine) -> None:
    machine.yourcall.mkdir(mode=0o755)
    machine.yourcall.chmod(0o755)
    (finding,) = machine.findings()["home"]
    assert finding["level"] == "wrong"
    assert "chmod 700" in finding["do"]
    machine.yourcall.chmod(0o700)
    assert machine.findings()["home"][0]["level"] == "well"


def test_doctor_sees_a_lost_socket_and_another_version(yc: Yourcall) -> None:
    (yc.home / "hook.sock").unlink()
    found = {f["check"]: f for f in yc.run("doctor", "--json").json}
    assert found["socket"]["level"] == "wrong"
    assert "hook.sock" in found["socket"]["says"]
    from yourcall.cli.commands import doctor

    said = doctor.version(Instance(yc.home), {"running": True, "version": "0.0.1"})
    assert [finding.level for finding in said] == ["wrong"]


def test_doctor_looks_for_the_undocumented_signs(yc: Yourcall, claude: ScriptedClaude) -> None:
    claude.asks("Bash", command="ls")
    yc.wait_prompt()

    def signs(config: Path) -> str:
        env = {**yc.env, "CLAUDE_CONFIG_DIR": str(config)}
        done = subprocess.run(
            [str(COMMAND), "doctor", "--json"], env=env, capture_output=True, text=True, check=False
        )
        return next(f["level"] for f in json.loads(done.stdout) if f["check"] == "signs")

    assert signs(claude.config) == "well"
    assert signs(claude.project) == "note"


def test_doctor_notes_a_session_in_auto_mode(tmp_path: Path, yc: Yourcall) -> None:
    with ScriptedClaude(tmp_path, yc, mode="auto") as claude:
        claude.asks("Bash", command="ls")
        yc.wait_prompt()
        notes = [f for f in yc.run("doctor", "--json").json if f["check"] == "session"]
        assert notes
        assert "asks nobody" in notes[0]["says"]
        assert "auto mode" in yc.run("sessions").out


def test_a_session_that_bypasses_permissions_is_pointed_out(tmp_path: Path, yc: Yourcall) -> None:
    with ScriptedClaude(tmp_path, yc, mode="bypassPermissions") as claude:
        claude.asks("Bash", command="ls")
        yc.wait_prompt()
        assert "everything runs without asking" in yc.run("sessions").out


def test_nothing_is_written_outside_the_home(machine: Machine) -> None:
    elsewhere = machine.person / "elsewhere"
    before = machine.everything()
    assert machine.run("--home", str(elsewhere), "up", "--detach", "--port", "0").code == 0
    for words in (
        ["ls"],
        ["status"],
        ["doctor"],
        ["devices"],
        ["log"],
        ["sessions"],
        ["setup", "claude", "--diff"],
    ):
        machine.run("--home", str(elsewhere), *words)
    assert machine.run("--home", str(elsewhere), "down").code == 0
    outside = {name for name in machine.everything() if not name.startswith("elsewhere")}
    assert outside == set(before)
    assert os.stat(elsewhere).st_mode & 0o777 == 0o700


def test_rules_are_told_in_a_folder_whose_name_is_no_text(machine: Machine) -> None:
    odd = Path(os.fsdecode(os.fsencode(machine.person) + b"/\xff"))
    odd.mkdir()
    assert machine.run("up", "--detach", "--port", "0").code == 0
    said = machine.run("rules", cwd=odd)
    assert (said.code, "There are no rules" in said.out) == (0, True), said
    assert machine.run("rules", "test", "ls", cwd=odd).code == 4
    assert machine.run("rules", "test", "ls", "--dir", str(odd)).code == 4


def test_from_a_folder_that_is_gone_everything_still_works(machine: Machine) -> None:
    machine.program("claude", "echo '2.1.325 (Claude Code)'")
    machine.program("gemini", "echo 0.61.0")
    gone = machine.person / "gone"

    def run(*words: str) -> Said:
        env = {"PATH": str(machine.bin), "HOME": str(machine.person), "YOURCALL_DISCOVERY": "off"}
        gone.mkdir()
        line = f'rmdir "$PWD" && exec {shlex.join([str(COMMAND), *words])}'
        done = subprocess.run(
            ["/bin/sh", "-c", line], env={**env, "PATH": f"{machine.bin}:/usr/bin:/bin"}, cwd=gone,
            capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    up = run("up", "--detach", "--port", "0")
    assert up.code == 0, up
    doctor = run("doctor")
    assert "isn't connected yet" in doctor.out, doctor
    assert "failed itself" not in doctor.out
    rules = run("rules")
    assert (rules.code, "There are no rules" in rules.out) == (0, True), rules
    for more in ((), ("--dir", "src")):
        tested = run("rules", "test", "ls", *more)
        assert (tested.code, "Say which one is meant: --dir" in tested.err) == (1, True), tested
    assert run("rules", "test", "ls", "--dir", str(machine.person)).code == 4
    assert run("setup").code == 0
    project = run("setup", "claude", "--scope", "project", "--yes")
    assert project.code == 1
    assert "is gone" in project.err, project
    assert run("setup", "claude", "--yes").code == 0
    assert "yourcall" in machine.settings.read_text()
    uninstall = run("uninstall", "--yes")
    assert uninstall.code == 0, uninstall
    assert not machine.settings.exists()
    assert not machine.yourcall.exists()


def test_doctor_does_not_say_that_all_is_well_when_it_could_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from yourcall.agents.claude.agent import CLAUDE
    from yourcall.agents.registry import AGENTS
    from yourcall.cli.commands import doctor

    def stumbles(_machine: object) -> list[Any]:
        raise OSError("no such thing")

    monkeypatch.setitem(AGENTS, "claude", replace(CLAUDE, doctor=(stumbles,)))
    (found,) = [each for each in doctor.examine(Instance(tmp_path)) if each.check == "stumbles"]
    assert found.level == "wrong"


@pytest.mark.parametrize("breaks", ["not JSON any more", "no text"])
def test_uninstall_does_not_pass_over_settings_that_it_cannot_read(machine: Machine, breaks: str) -> None:
    machine.program("claude", "echo 2.1.325")
    assert machine.run("setup", "claude", "--yes").code == 0
    good = machine.settings.read_bytes()
    bad = good + (b"}" if breaks == "not JSON any more" else b"\xff")
    machine.settings.write_bytes(bad)
    said = machine.run("uninstall", "--yes")
    assert said.code == 1, said
    assert str(machine.settings) in said.err
    assert machine.settings.read_bytes() == bad
    assert (machine.yourcall / "setup.json").exists(), "nothing may be gone before that file is mended"
    machine.settings.write_bytes(good)
    assert machine.run("uninstall", "--yes").code == 0
    assert not machine.settings.exists()
    assert not machine.yourcall.exists()


def test_uninstall_passes_over_broken_settings_that_are_not_ours(machine: Machine) -> None:
    machine.settings.write_text("{ not ours")
    machine.yourcall.mkdir()
    (machine.yourcall / "yourcall.db").write_text("x")
    assert machine.run("uninstall", "--yes").code == 0
    assert machine.settings.read_text() == "{ not ours"
    assert not machine.yourcall.exists()


def test_a_home_that_is_a_link_is_emptied(machine: Machine, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    machine.yourcall.symlink_to(disk)
    assert machine.run("up", "--detach", "--port", "0").code == 0
    said = machine.run("uninstall", "--yes")
    assert said.code == 0, said
    assert list(disk.iterdir()) == []
    assert machine.yourcall.is_symlink()


def test_uninstall_takes_our_block_out_of_tmux_conf_and_leaves_another_homes(machine: Machine) -> None:
    conf = machine.person / ".tmux.conf"
    conf.write_text("set -g mouse on\n")
    elsewhere = machine.person / "elsewhere"
    assert machine.run("tmux", "install", "--yes").code == 0
    assert machine.run("--home", str(elsewhere), "uninstall", "--yes").code == 0
    assert "yourcall" in conf.read_text()
    said = machine.run("uninstall", "--yes")
    assert said.code == 0, said
    assert conf.read_text() == "set -g mouse on\n"
    assert f"take our block out of {conf}" in said.out
    assert machine.run("--home", str(elsewhere), "tmux", "install", "--yes").code == 0
    assert machine.run("uninstall", "--yes").code == 0
    assert str(elsewhere) in conf.read_text()
    assert machine.run("--home", str(elsewhere), "uninstall", "--yes").code == 0
    assert conf.read_text() == "set -g mouse on\n"


def test_uninstall_of_a_home_with_a_long_path_leaves_nothing_in_tmp(machine: Machine) -> None:
    from yourcall.system.sockets import made_private, short_folder

    home = machine.person / ("deep" * 25)
    made = [short_folder(home, name) for name in ("tmux", "pty", "codex")]
    home.mkdir()
    (home / "daemon.lock").write_text("")
    try:
        assert [made_private(folder) for folder in made] == ["", "", ""]
        assert not any(folder.is_relative_to(home) for folder in made)
        (made[0] / "claude-left").write_text("")
        assert machine.run("--home", str(home), "uninstall", "--yes").code == 0
        assert [folder.exists() for folder in made] == [False, False, False]
    finally:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)


def test_uninstall_does_not_lose_a_session_that_runs_in_a_tmux_of_ours(machine: Machine, tmp_path: Path) -> None:
    home = tmp_path / "h"
    folder = short_folder(home, "tmux")
    tmux = shutil.which("tmux")
    assert tmux is not None
    (machine.bin / "tmux").symlink_to(tmux)
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    home.mkdir(exist_ok=True)
    (home / "daemon.lock").write_text("")
    socket = folder / "claude-k3fq"
    line = [tmux, "-S", str(socket), "-f", "/dev/null"]
    subprocess.run([*line, "new-session", "-d", "-s", "claude-k3fq", "sleep 600"], check=True)
    try:
        said = machine.run("--home", str(home), "uninstall", "--yes")
        assert said.code == 1, said
        assert "stop claude-k3fq" in said.err
        assert socket.is_socket()
    finally:
        subprocess.run([*line, "kill-server"], check=True)
    until(lambda: machine.run("--home", str(home), "uninstall", "--yes").code == 0)
    assert not home.exists()
    assert not folder.exists()


def test_a_tmux_conf_that_is_a_link_stays_one_and_one_that_cannot_be_written_is_said(machine: Machine) -> None:
    conf, dotfile = machine.person / ".tmux.conf", machine.person / "dotfiles.conf"
    dotfile.write_text("")
    conf.symlink_to(dotfile)
    assert machine.run("tmux", "install", "--yes").code == 0
    assert "bind-key" in dotfile.read_text()
    assert machine.run("tmux", "install", "--undo", "--yes").code == 0
    assert (conf.is_symlink(), dotfile.read_text()) == (True, "")
    conf.unlink()
    conf.symlink_to("/proc/nowhere/tmux.conf")  # as where another tool manages it
    said = machine.run("tmux", "install", "--yes")
    assert said.code == 1
    assert "cannot be written" in said.err, said


def test_a_unit_that_cannot_be_written_is_said(machine: Machine) -> None:
    machine.program("systemctl")
    machine.unit.parent.mkdir(parents=True)
    machine.unit.symlink_to("/proc/nowhere/yourcall.service")  # as where another tool manages the units
    said = machine.run("service", "install", "--yes")
    assert said.code == 1
    assert "cannot be written" in said.err, said
    assert machine.noted() == [], "nothing is started that was not written"


def test_a_service_that_systemd_cannot_be_asked_about_leaves_no_link_behind(machine: Machine) -> None:
    machine.program("systemctl", 'echo "Failed to connect to bus" >&2; exit 1')
    assert machine.run("service", "install", "--yes").code == 0
    wants = machine.unit.parent / "default.target.wants"
    wants.mkdir()
    (wants / machine.unit.name).symlink_to(machine.unit)  # as `systemctl enable` made it on a better day
    assert machine.run("service", "remove", "--yes").code == 0
    assert not machine.unit.parent.exists(), list(machine.unit.parent.rglob("*"))


@pytest.mark.parametrize(
    ("file", "text", "check"),
    [
        ("config.toml", "[server\n", "config"),
        ("config.toml", "[server]\nprot = 1\n", "config"),
        ("secrets.toml", "what\n", "secrets"),
        ("rules.toml", "[[rule]] x\n", "rules"),
    ],
)
def test_doctor_reads_what_the_person_wrote(machine: Machine, file: str, text: str, check: str) -> None:
    machine.yourcall.mkdir(mode=0o700)
    assert not {"config", "secrets", "rules"} & machine.findings().keys()
    (machine.yourcall / file).write_text(text)
    (machine.yourcall / file).chmod(0o600)
    (finding,) = machine.findings()[check]
    assert finding["level"] == "wrong"
    assert file in finding["says"]
    assert finding["do"]


def test_doctor_sees_that_what_the_hooks_call_is_gone(machine: Machine) -> None:
    machine.program("claude", "echo '2.1.325 (Claude Code)'")
    assert "launcher" not in machine.findings()
    assert machine.run("setup", "claude", "--yes").code == 0
    assert machine.findings()["launcher"][0]["level"] == "well"
    (machine.yourcall / "hook").unlink()
    (finding,) = machine.findings()["launcher"]
    assert finding["level"] == "wrong"
    assert machine.run("setup", "claude", "--yes").code == 0  # as it is told to
    assert machine.findings()["launcher"][0]["level"] == "well"


@pytest.mark.parametrize("more", [["--ask", "Bash", "--ask", "mcp__x__.*"], ["--rules"], ["--no-ask"]])
def test_the_command_that_setup_names_makes_the_change_that_it_showed(machine: Machine, more: list[str]) -> None:
    program = machine.person / "my claude"
    program.write_text("#!/bin/sh\necho 2.1.325\n")
    program.chmod(0o755)
    if more == ["--no-ask"]:
        assert machine.run("setup", "claude", "--ask", "Bash", "--cli", str(program), "--yes").code == 0
    words = ["setup", "claude", *more, "--cli", str(program)]
    shown = machine.run(*words)
    assert shown.code == 2, shown
    named = shlex.split(shown.err.partition("To apply this: ")[2])
    assert machine.run(*named[1:]).code == 0, named
    assert "is up to date" in machine.run(*words).out


def test_uninstall_takes_nothing_out_of_a_folder_that_was_never_a_home(machine: Machine) -> None:
    project = machine.person / "kite-shop"
    for name in ("log", "demo", "backups"):
        (project / name).mkdir(parents=True)
    (project / "config.toml").write_text("theirs")
    said = machine.run("--home", str(project), "uninstall", "--yes")
    assert said.code == 0, said
    assert "nothing to undo here" in said.out
    assert sorted(path.name for path in project.iterdir()) == ["backups", "config.toml", "demo", "log"]
