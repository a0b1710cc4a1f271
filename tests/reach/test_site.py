"""The script that adds a site to a web server's file, run by a shell as the server would run it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from yourcall.reach import ssh

if TYPE_CHECKING:
    from pathlib import Path

NAME = "call.example.net"


@pytest.mark.parametrize("must_exist", [True, False], ids=["Caddyfile", "file of its own"])
def test_a_site_is_put_in_once_and_taken_out_whole(tmp_path: Path, must_exist: bool) -> None:
    file = tmp_path / "sites file"
    name = "callxexample.net"  # which the dots of our name must not match
    other = f"{name} {{\n  respond hi\n}}\n# yourcall {name} begin\nx\n# yourcall {name} end"
    before = f"{other}\n" if must_exist else None
    if before is not None:
        file.write_text(before)

    def run(check: str, *, add: bool) -> int:
        site = ssh.Site(str(file), f"{NAME} {{\n    $dollars `and` 'quotes'\n}}\n", check, "true", must_exist)
        script = ssh._script(site, NAME, add=add).replace("run='sudo -n'", "run=")
        env = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
        return subprocess.run(["sh", "-c", script], env=env, check=False).returncode

    assert run("true", add=True) == 0
    once = file.read_text()
    assert once.startswith(before or f"# yourcall {NAME} begin\n")
    assert "    $dollars `and` 'quotes'\n" in once
    assert run("true", add=True) == 0
    assert file.read_text() == once
    assert run("true", add=False) == 0
    assert (file.read_text() if file.exists() else None) == before
    assert run("false", add=True) == 1
    assert (file.read_text() if file.exists() else None) == before
    assert [path.name for path in tmp_path.iterdir()] == ([file.name] if must_exist else [])
