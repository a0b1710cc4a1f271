"""The wheel holds all that an installed yourcall needs: it runs without the clone, and without node."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_wheel_runs_on_its_own(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("yourcall-*-py3-none-any.whl")
    place = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        packed.extractall(place)
    assert "yourcall/cli/hook.py" in names
    assert "yourcall/server/assets/index.html" in names
    assert not [name for name in names if name.startswith(("tests/", "bench/")) or name.endswith(".pyc")]

    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(place),
        "YOURCALL_HOME": str(tmp_path / "home"),
    }
    script = "import yourcall, yourcall.cli.main as m; print(yourcall.__file__); m.main()"
    said = subprocess.run(
        [sys.executable, "-c", script, "--version"],
        cwd=tmp_path, env=env, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert str(place) in said.stdout
    assert "0.1.0" in said.stdout
