#!/usr/bin/env python3
"""Play a newcomer: from a wheel to a prompt that is answered on a second device; count seconds and commands.

    python tools/newcomer.py WHEEL          # by uvx; without uvx, in a new environment

The desk is a terminal with nothing of yourcall's in it. The phone is a real Chromium that trusts nobody but the
certificate authority it got from the page that the guide shows, after it compared the fingerprint.

Rule: the newcomer types one command and answers the guide's questions; all else is read from the screens. The
daemon listens on loopback only, so the guide is given the name that the phone opens.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / part) for part in ("browser", "")]

from chromium import Chromium  # noqa: E402

from kit.new_phone import let_in, trusting  # noqa: E402
from kit.poll import until  # noqa: E402
from kit.terminal import Pane, Tmux  # noqa: E402

BASICS = ("sh", "env", "uname", "realpath", "dirname", "cat", "tmux")
# What is passed on of the environment: how packages are fetched on this machine.
FETCHING = ("UV_", "PIP_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
PATIENCE_S = 300.0  # for the packages to be fetched


class Report(NamedTuple):
    """`seconds` from the first command to the answer; `installing` until the guide's first question."""

    seconds: float
    installing: float
    commands: int
    questions: int
    packages: int
    megabytes: float


def play(wheel: Path, folder: Path, uvx: str | None) -> Report:
    home, bin_ = folder / "ada", folder / "bin"
    for each in (home, bin_):
        each.mkdir()
    for name in BASICS:
        if path := shutil.which(name):
            (bin_ / name).symlink_to(path)
    agent = bin_ / "claude"  # enough for the guide to see that there is one
    agent.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    agent.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name.startswith(FETCHING)}
    env |= {"PATH": str(bin_), "HOME": str(home), "LANG": "C.UTF-8", "YOURCALL_DISCOVERY": "off"}
    env |= {"UV_CACHE_DIR": str(folder / "cache"), "YOURCALL_PORT": "0"}
    line = _command(wheel, folder, uvx)
    with Tmux() as tmux:
        began = time.monotonic()
        # The shell of a person: Ctrl-C is for the program in it.
        words = f"trap : INT; {line} guide --name 127.0.0.1; echo ended with $?; read line"
        desk = tmux.start(["/bin/sh", "-c", words], cwd=home, env=env, cols=140, rows=120)
        try:
            return _walk(desk, folder, home, began, 1 if uvx else 2)
        finally:
            _stop(home)


def _command(wheel: Path, folder: Path, uvx: str | None) -> str:
    if uvx:
        return shlex.join([uvx, "--python", sys.executable, "--from", str(wheel), "yourcall"])
    new = folder / "venv"
    made = f"{shlex.quote(sys.executable)} -m venv {new} && {new}/bin/pip install -q {shlex.quote(str(wheel))}"
    return f"{made} && {new}/bin/yourcall"


def _walk(desk: Pane, folder: Path, home: Path, began: float, commands: int) -> Report:
    questions = 0

    def answer(question: str, typed: str = "y", patience: float = PATIENCE_S) -> None:
        nonlocal questions
        desk.wait_until(lambda screen: question in screen.rstrip().rpartition("\n")[2], patience)
        questions += 1
        desk.text(typed)
        desk.key("Enter")

    desk.wait_until(lambda screen: "Connect it?" in screen or "ended with" in screen, PATIENCE_S)
    installing = time.monotonic() - began
    answer("Connect it?")
    answer("Make this change?")
    answer("Start it in the background?")
    answer("Let phones in your own network reach this machine?")
    answer("Do this?")
    answer("Show the page on which the phone gets the certificate to trust?")
    screen = desk.wait_until(lambda screen: "until you press Ctrl-C" in screen)
    phone_home = _trusting(folder, *_page_of(screen))
    desk.key("C-c")
    answer("Show the code that lets a phone in?")
    screen = desk.wait_until(lambda screen: "Open the app in this machine's browser, too?" in screen)
    link = _one(r"Open:  (https://\S+#pair=\S+)", screen)
    with Chromium(folder / "chromium", env={"HOME": str(phone_home)}) as browser:
        phone = browser.page(link)
        let_in(phone)
        answer("Open the app in this machine's browser, too?", "n")
        answer("Send a question there, and wait for your answer?")
        phone.sees("Did this reach your phone?")
        phone.tap("yes")
        desk.wait_until(lambda screen: "ended with 0" in screen)
        seconds = time.monotonic() - began
        assert not phone.errors, phone.errors
        phone.close()
    packages, size = _installed(home)
    return Report(seconds, installing, commands, questions, packages, size / 1e6)


def _page_of(screen: str) -> tuple[str, str]:
    return _one(r"On the phone, open: (http://\S+)", screen), _one(r"((?:[0-9A-F]{2}:){31}[0-9A-F]{2})", screen)


def _one(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, f"no {pattern} in\n{text}"
    return match[1]


def _trusting(folder: Path, page: str, fingerprint: str) -> Path:
    """The home of a phone that trusts the certificate of this page, which must be the one that the desk shows."""
    with urlopen(page) as reply:  # noqa: S310 - what the desk has printed
        assert fingerprint in reply.read().decode()
    certificate = folder / "yourcall.crt"
    with urlopen(f"{page}yourcall.crt") as reply:  # noqa: S310
        certificate.write_bytes(reply.read())
    return trusting(folder, certificate)


def _installed(home: Path) -> tuple[int, int]:
    """How many packages, and how many bytes: of the environment that the daemon runs in."""
    pid = json.loads((home / ".yourcall" / "daemon.json").read_text())["pid"]
    program = Path(os.readlink(f"/proc/{pid}/cwd"), Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0])
    (packages,) = (program.parent.parent / "lib").glob("python*/site-packages")
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    return len(list(packages.glob("*.dist-info"))), size


def _stop(home: Path) -> None:
    """End the daemon that the newcomer started, and see it gone."""
    try:
        pid = int(json.loads((home / ".yourcall" / "daemon.json").read_text())["pid"])
    except (OSError, ValueError):
        return
    os.kill(pid, 15)
    until(lambda: not (home / ".yourcall" / "daemon.json").exists(), what="the daemon ends")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--uvx", default=shutil.which("uvx"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="newcomer-") as folder:
        print(json.dumps(play(given.wheel.absolute(), Path(folder), given.uvx)._asdict(), indent=2))


if __name__ == "__main__":
    main()
