"""An administrator's drop-in really locks our hooks out, and `doctor` says so; with a private /etc."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import environment
from kit.poll import PATIENCE_S, until
from kit.turns import text
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.yourcall import Yourcall

ONLY, NOT_ONLY = {"allowManagedHooksOnly": True}, {"allowManagedHooksOnly": False}
IN_PRIVATE = 'mount --bind "$0" /etc && exec "$@"'  # seen by this command alone: it has its own view of the disk
KNOWN = ("passwd", "group", "hosts", "nsswitch.conf", "ld.so.cache", "localtime")


class Machine:
    """Commands that see another /etc, with these settings of an administrator in it."""

    def __init__(self, folder: Path) -> None:
        self.etc = folder / "etc"
        self.etc.mkdir()
        for name in KNOWN:
            if os.path.exists(f"/etc/{name}"):
                shutil.copy(f"/etc/{name}", self.etc / name)
        self.unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        if shutil.which("unshare") is None or self.run(["true"], {}).returncode:
            pytest.skip("no private mounts here (unshare -m)")

    def says(self, files: dict[str, Any]) -> None:
        root = self.etc / "claude-code"
        shutil.rmtree(root, ignore_errors=True)
        (root / "managed-settings.d").mkdir(parents=True)
        for name, settings in files.items():
            (root / name).write_text(json.dumps(settings))

    def run(self, command: list[str], env: dict[str, str], cwd: Path | None = None) -> Any:
        return subprocess.run(
            [*self.unshare, "/bin/sh", "-c", IN_PRIVATE, str(self.etc), *command], cwd=cwd, check=False,
            env={"PATH": os.environ["PATH"], **env}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("files", "locks"),
    [
        ({}, ""),
        ({"managed-settings.json": ONLY}, "managed-settings.json"),
        ({"managed-settings.d/50-hooks.json": ONLY}, "managed-settings.d/50-hooks.json"),
        ({"managed-settings.json": ONLY, "managed-settings.d/50-hooks.json": NOT_ONLY}, ""),
    ],
    ids=["nothing", "base", "drop-in", "taken back"],
)
def test_doctor_names_what_locks_our_hooks_out(
    tmp_path: Path, claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, yourcall: Yourcall,
    files: dict[str, Any], locks: str,
) -> None:  # fmt: skip
    machine = Machine(tmp_path)
    machine.says(files)
    words = model.script("hi", [text("Hi.")])
    ran = machine.run([str(claude_bin), "-p", words], environment(claude_home, model), claude_home.project)
    assert ran.stdout.strip() == "Hi.", ran
    if not locks:
        until(lambda: "SessionSeen" in yourcall.facts(), what="our hooks to be called")
    env = {**yourcall.env, "PATH": f"{claude_bin.parent}{os.pathsep}{yourcall.env['PATH']}"}
    found = json.loads(machine.run([str(COMMAND), "doctor", "--json"], env, claude_home.path).stdout)
    hooks = [each for each in found if each["check"] == "hooks"]
    wrong = [each["says"] for each in hooks if each["level"] == "wrong" and "Codex" not in each["says"]]
    assert [f"/etc/claude-code/{locks} " in says for says in wrong] == ([True] if locks else []), wrong
    assert any("calls yourcall" in each["says"] for each in hooks) == (not locks)
    assert ("SessionSeen" in yourcall.facts()) == (not locks), "what Claude itself does"
