"""`setup codex`, what doctor says of Codex, and uninstall; with a program on PATH that only tells its version."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit.yourcall import COMMAND, Said

THEIRS = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}'


class Person:
    """A home of their own, with a Codex of some version on PATH."""

    def __init__(self, folder: Path) -> None:
        self.home, self.bin = folder / "ada", folder / "bin"
        self.codex = self.home / ".codex"
        self.hooks, self.config = self.codex / "hooks.json", self.codex / "config.toml"
        for each in (self.bin, self.codex):
            each.mkdir(parents=True)

    def installs(self, version: str) -> None:
        program = self.bin / "codex"
        program.write_text(f"#!/bin/sh\necho {shlex.quote('codex-cli ' + version)}\n")
        program.chmod(0o755)

    def run(self, *words: str, **env: str) -> Said:
        known = {"PATH": str(self.bin), "HOME": str(self.home), "LANG": "C.UTF-8", "YOURCALL_DISCOVERY": "off"}
        done = subprocess.run(
            [str(COMMAND), *words], env=known | env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, cwd=self.home, timeout=60,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def doctor(self) -> dict[str, str]:
        """What it says of Codex, with how bad that is."""
        found: list[dict[str, Any]] = self.run("doctor", "--json").json
        return {each["says"]: each["level"] for each in found if "odex" in each["says"]}

    def level(self, words: str) -> list[str]:
        return [level for says, level in self.doctor().items() if words in says]

    def trusts_all(self) -> None:
        """As Codex writes it when all hooks were trusted."""
        entries: list[str] = []
        for event, groups in json.loads(self.hooks.read_text())["hooks"].items():
            name = re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()
            for number in range(len(groups)):
                place = f"{self.hooks}:{name}:{number}:0"
                entries.append(f'[hooks.state."{place}"]\ntrusted_hash = "sha256:00"\n')
        self.config.write_text("\n".join(entries))


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_put_in_and_taken_out_to_the_byte(person: Person) -> None:
    person.installs("0.166.0")
    person.hooks.write_text(THEIRS)
    shown = person.run("setup", "codex", "--diff")
    assert (shown.code, person.hooks.read_text()) == (0, THEIRS)
    assert "codex PermissionRequest $PPID" in shown.out
    asked = person.run("setup", "codex")
    assert (asked.code, person.hooks.read_text()) == (2, THEIRS)
    done = person.run("setup", "codex", "--yes")
    assert done.code == 0, done
    assert "Codex 0.166.0" in done.out
    assert "Trust all and continue" in done.out
    again = person.run("setup", "codex", "--yes")
    assert "Nothing to change" in again.out
    listed = json.loads(person.run("setup", "--json").out)
    assert [(s["agent"], s["findings"]) for s in listed if s["agent"] == "codex"] == [("codex", [])]
    assert person.run("setup", "codex", "--undo", "--yes").code == 0
    assert person.hooks.read_text() == THEIRS


def test_codex_home_is_respected(person: Person, tmp_path: Path) -> None:
    person.installs("0.166.0")
    other = tmp_path / "other"
    other.mkdir()
    assert person.run("setup", "codex", "--yes", CODEX_HOME=str(other)).code == 0
    assert (other / "hooks.json").exists()
    assert not person.hooks.exists()
    gone = person.run("uninstall", "--yes")
    assert gone.code == 0, gone
    assert not (other / "hooks.json").exists()


@pytest.mark.parametrize("words", [("--ask", "Bash"), ("--scope", "project"), ("--scope", "local")])
def test_what_codex_does_not_have_is_refused(person: Person, words: tuple[str, ...]) -> None:
    said = person.run("setup", "codex", *words)
    assert (said.code, "Codex has no" in said.err) == (2, True)


def test_an_old_or_broken_one_is_told_and_nothing_is_written(person: Person) -> None:
    person.installs("0.98.0")
    assert "0.142.5 is the first" in person.run("setup", "codex", "--yes").err
    person.installs("0.166.0")
    person.hooks.write_text('{"$schema": "x"}')
    assert "skips the whole hooks file" in person.run("setup", "codex", "--yes").err
    assert person.hooks.read_text() == '{"$schema": "x"}'


def test_doctor_says_nothing_of_a_codex_that_is_not_there(person: Person) -> None:
    assert person.doctor() == {}


def test_doctor_knows_trust(person: Person) -> None:
    person.installs("0.166.0")
    assert person.level("isn't connected yet") == ["note"]  # its control socket is enough
    assert person.run("setup", "codex", "--yes").code == 0
    assert person.level("has not been told to trust our hooks") == ["wrong"]
    person.trusts_all()
    assert person.level("trusts its hooks") == ["well"]
    person.config.write_text(person.config.read_text() + "[features]\nhooks = false\n")
    assert person.level("calls no hook at all") == ["wrong"]


def test_trust_is_found_where_a_link_leads(person: Person, tmp_path: Path) -> None:
    person.installs("0.166.0")
    assert person.run("setup", "codex", "--yes").code == 0
    person.trusts_all()
    person.codex.rename(tmp_path / "elsewhere")
    person.codex.symlink_to(tmp_path / "elsewhere")
    assert person.level("trusts its hooks") == ["well"]
    person.config.write_text(person.config.read_text().replace(str(person.codex), str(tmp_path / "elsewhere")))
    assert person.level("trusts its hooks") == ["well"]


def test_doctor_knows_versions_the_socket_and_the_login(person: Person) -> None:
    person.installs("0.150.1")
    assert person.level("has no control socket") == ["note"]
    assert person.level("isn't connected yet") == ["wrong"]
    person.installs("0.166.0")
    assert person.level("No Codex runs with a control socket") == ["note"]
    assert person.level("is not signed in") == ["note"]
    person.config.write_text('model_provider = "own"\n[features]\ndaemon_auto_start = false\n')
    assert person.level("`daemon_auto_start` is off") == ["note"]
    assert person.level("is not signed in") == []
    person.installs("9.0.0")
    assert person.level("is newer than the one") == ["note"]
