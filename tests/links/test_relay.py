"""`yourcall run` in a terminal is as if yourcall were not there: every byte, every signal, every end."""

from __future__ import annotations

import hashlib
import os
import pty as pseudo
import signal
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

import pytest

from kit.full_screen import FullScreen, Step
from kit.poll import until
from kit.terminal import Pty, alive
from kit.yourcall import COMMAND, Yourcall
from yourcall.links.private_tmux import server
from yourcall.system.sockets import short_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Start = Callable[..., Pty]

# The machine is shared, and a command takes a moment to start.


@pytest.fixture(scope="module")
def yourcall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yourcall]:
    with Yourcall(tmp_path_factory.mktemp("run")) as running:
        yield running


@pytest.fixture
def start(yourcall: Yourcall, tmp_path: Path) -> Iterator[Start]:
    """Start a program in a terminal of its own: bare, or by `yourcall run`."""
    ptys: list[Pty] = []

    def started(*command: str, bare: bool = False, **more: str) -> Pty:
        env = {**yourcall.env, "TERM": "xterm-256color", "COLORTERM": "truecolor", **more}
        words = [*command] if bare else [str(COMMAND), "run", "--", *command]
        ptys.append(Pty(words, cwd=tmp_path, env=env))
        return ptys[-1]

    yield started
    for each in ptys:
        each.close()


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def shell(start: Start) -> Pty:
    """An interactive shell, whose jobs can be stopped."""
    pty = start("bash", "--norc", "-i", bare=True, PS1="ready> ", BASH_SILENCE_DEPRECATION_WARNING="1")
    until(lambda: pty.shows("ready>"))
    return pty


def says(pty: Pty, words: str) -> None:
    """Until it has written this since the last time."""
    since = getattr(pty, "heard", 0)
    until(lambda: words in pty.raw[since:].decode("utf-8", "replace"), what=words, show=lambda: pty.raw)
    pty.heard = since + pty.raw[since:].decode("latin-1").index(words.encode().decode("latin-1")) + len(words)


def test_every_byte_both_ways(start: Start, tmp_path: Path) -> None:
    told: list[tuple[bytes, bytes, int | None]] = []
    for bare in (True, False):
        program = FullScreen(tmp_path / f"bare-{bare}")
        pty = start(*program.command, bare=bare)
        program.play(pty)
        told.append((pty.raw, program.read, pty.returncode))
    without, through = told
    assert without[1] == program.expected()
    assert through[1] == without[1]
    assert through[0] == without[0]
    assert (through[2], without[2]) == (7, 7)


def test_twenty_megabytes_and_a_paste(start: Start, tmp_path: Path) -> None:
    """All values of a byte, faster than anybody reads; and a paste that is larger than any buffer."""
    size = 20 << 20
    code = (
        "import hashlib, os, sys, tty\n"
        "tty.setraw(0)\n"
        f"block = bytes(range(256)) * 4096\ndata = (block * {size >> 20})[:{size}]\n"
        "os.write(1, b'<go>')\n"
        "while data: data = data[os.write(1, data):]\n"
        "heard = b''\n"
        "while len(heard) < 300000: heard += os.read(0, 65536)\n"
        "os.write(1, hashlib.sha256(heard).hexdigest().encode())\n"
    )
    pty = start(*python(code))
    until(lambda: len(pty.raw) >= size + 4)
    block = bytes(range(256)) * 4096
    assert pty.raw[:4] == b"<go>"
    assert pty.raw[4:] == block * (size >> 20)
    paste = os.urandom(150000).hex().encode()
    pty.send(paste)
    until(lambda: pty.returncode is not None)
    pty.settle()
    assert pty.raw[size + 4 :] == hashlib.sha256(paste).hexdigest().encode()
    assert pty.returncode == 0


@pytest.mark.parametrize("bare", [True, False])
def test_jobs_are_stopped_and_go_on(start: Start, bare: bool) -> None:
    """Ctrl-Z at a plain program, and one that stops itself; the shell has its terminal back in between."""
    pty = shell(start)
    run = "" if bare else f"{COMMAND} run -- "
    pty.text(f"{run}sh -c 'echo up; exec cat'\r")
    says(pty, "\rup\r\n")
    pty.text("line\r")
    says(pty, "line\r\nline\r\n")
    pty.text("\x1a")
    says(pty, "ready> ")
    pty.text("stty -a; jobs; fg\r")
    says(pty, " icanon")
    says(pty, " echo ")
    says(pty, "Stopped")
    says(pty, "exec cat'\r\n")
    pty.text("more\r")
    says(pty, "more\r\nmore\r\n")
    pty.text("\x04")
    says(pty, "ready> ")
    itself = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); print('back', os.get_terminal_size())"
    pty.text(f'{run}{sys.executable} -S -c "{itself}"\r')
    says(pty, "Stopped")
    pty.resize(90, 20)
    pty.text("fg\r")
    says(pty, "back os.terminal_size(columns=90, lines=20)")
    says(pty, "ready> ")
    pty.text("echo code-$?\r")
    says(pty, "code-0")


@pytest.mark.parametrize("code", ["os._exit(0)", "os._exit(3)", *(f"os.kill(0, {n})" for n in (9, 15, 6, 2))])
def test_it_ends_as_the_program_does(start: Start, code: str) -> None:
    words = python(f"import os, signal; signal.signal(2, signal.SIG_DFL); os.write(1, b'last words\\n'); {code}")
    ends: list[int | None] = []
    for bare in (True, False):
        pty = start(*words, bare=bare)
        until(lambda pty=pty: pty.returncode is not None)
        until(lambda pty=pty: pty.raw.endswith(b"last words\r\n"))
        ends.append(pty.returncode)
    assert ends[0] == ends[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_terminal_is_as_it_was_however_it_ends(start: Start, number: int) -> None:
    """A signal to the run is one to the program. If the run itself is killed, its leader tidies up."""
    master, slave = pseudo.openpty()
    fresh = termios.tcgetattr(slave)
    os.close(master)
    os.close(slave)
    code = "import os, tty, time; tty.setraw(0); os.write(1, b'\\x1b[?1049hup %d;' % os.getpid()); time.sleep(100)"
    pty = start(*python(code))
    until(lambda: b";" in pty.raw)
    assert pty.settings[3] != fresh[3]
    program = int(pty.raw.partition(b"up ")[2].partition(b";")[0])
    os.kill(pty.pid, number)
    until(lambda: pty.returncode is not None)
    assert pty.returncode == -number
    until(lambda: pty.settings == fresh, show=lambda: (pty.settings, fresh))
    until(lambda: not alive(program))
    if number == signal.SIGKILL:
        until(lambda: b"\x1b[?1049l" in pty.raw)
    else:
        assert b"\x1b[?1049l" not in pty.raw


def test_a_window_that_is_closed_hangs_up(start: Start, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, time\n"
        "def hung(*_): open('hung', 'w').write('up'); sys.exit(0)\n"
        "signal.signal(signal.SIGHUP, hung); print('here', flush=True); time.sleep(100)\n"
    )
    pty = start(*python(code))
    until(lambda: b"here" in pty.raw)
    pty.hang_up()
    until(lambda: (tmp_path / "hung").exists())
    until(lambda: pty.returncode is not None)


def test_errors_and_pipes_go_where_they_were_sent(yourcall: Yourcall, start: Start, tmp_path: Path) -> None:
    """Errors into a file stay out of the terminal; without a terminal there is nothing in between."""
    line = f"{COMMAND} run -- sh -c 'echo out; echo err >&2; test -t 0 && echo tty' 2>errors"
    pty = start("sh", "-c", line, bare=True)
    until(lambda: pty.returncode is not None)
    until(lambda: pty.raw == b"out\r\ntty\r\n", show=lambda: pty.raw)
    assert (tmp_path / "errors").read_text() == "err\n"
    piped = subprocess.run(
        [str(COMMAND), "run", "--", "cat"], env=yourcall.env, input=b"in\x00\xff", capture_output=True, check=True
    )
    assert (piped.stdout, piped.stderr) == (b"in\x00\xff", b"")


def test_what_the_program_left_running_runs_on(start: Start, tmp_path: Path) -> None:
    pty = start("sh", "-c", "(trap 'echo hup > signal' HUP; sleep 1; echo done > left) >/dev/null 2>&1 & echo bye")
    until(lambda: pty.returncode == 0)
    until(lambda: (tmp_path / "left").exists())
    assert not (tmp_path / "signal").exists()


def test_without_a_daemon_one_line_is_said_before_and_nothing_after(start: Start, tmp_path: Path) -> None:
    program = FullScreen(tmp_path / "program", [Step("Name? ", b"Ada\r", arrives=b"Ada\n"), Step("Bye\n")])
    pty = start(*program.command, YOURCALL_HOME=str(tmp_path / "nobody"))
    program.play(pty)
    said, newline, rest = pty.raw.partition(b"\r\n")
    assert b"yourcall is not running" in said
    assert newline
    assert rest == b"Name? <0>Ada\r\nBye\r\n<1>"
    assert pty.returncode == 7


def test_the_daemon_is_killed_and_comes_back(start: Start, yourcall: Yourcall) -> None:
    pty = start("cat")

    def shown() -> str:
        found = [
            s for s in yourcall.http("GET", "/api/sessions")[1] if any(k["kind"] == "pty" for k in s["links"])
        ]
        return yourcall.http("GET", f"/api/sessions/{found[0]['id']}/screen")[1].get("screen", "") if found else ""

    until(lambda: not pty.settings[3] & termios.ECHO)
    pty.text("one\r")
    until(lambda: "one\none" in shown(), show=lambda: pty.raw)
    yourcall.kill()
    pty.text("two\r")
    until(lambda: b"two\r\ntwo\r\n" in pty.raw)
    yourcall.start()
    pty.text("three\r")
    until(lambda: "two\ntwo\nthree\nthree" in shown())
    assert pty.raw == b"one\r\none\r\ntwo\r\ntwo\r\nthree\r\nthree\r\n"
    pty.text("\x04")
    until(lambda: pty.returncode == 0)
    until(lambda: not shown())


def test_it_may_be_told_to_survive_its_terminal(start: Start, yourcall: Yourcall, tmp_path: Path) -> None:
    """Two who look at it see the same, and both can type."""
    pty = start(str(COMMAND), "run", "--keep", "--", "cat", bare=True)
    until(lambda: pty.shows("Ctrl-B D"), show=lambda: pty.raw)
    pty.text("before\r")
    until(lambda: pty.seen().count("before") >= 2)
    (folder,) = {path.parent for path in _sockets(yourcall)}
    (name,) = [path.name for path in folder.iterdir() if path.name.startswith("cat-")]
    try:
        pty.hang_up()
        until(lambda: pty.returncode is not None)
        first, second = (start(str(COMMAND), "attach", name, bare=True) for _ in range(2))
        for each in (first, second):
            until(
                lambda each=each: each.shows("before") and b"leaves" in each.raw, show=lambda each=each: each.raw
            )
        first.text("from one\r")
        second.text("from two\r")
        for each in (first, second):
            until(lambda each=each: each.shows("from one") and each.shows("from two"))
        # Else a key within a millisecond of the one before it is a paste to tmux, and no prefix.
        never = ["tmux", "-S", str(folder / name), "set-option", "-g", "assume-paste-time", "0"]
        subprocess.run(never, capture_output=True, check=True)
        first.text("\x02")
        clients = ["tmux", "-S", str(folder / name), "list-clients", "-F", "#{client_prefix}"]
        until(lambda: b"1" in subprocess.run(clients, capture_output=True, check=True).stdout)
        first.text("d")
        until(lambda: first.returncode == 0)
        second.text("still here\r")
        until(lambda: second.shows("still here"))
    finally:
        assert yourcall.run("stop", name).code == 0
    until(lambda: yourcall.run("attach", name).code == 2)


def _sockets(yourcall: Yourcall) -> list[Path]:
    return list(short_folder(yourcall.home, "tmux").iterdir())


def test_a_terminal_that_tells_no_size_is_read_as_programs_take_it(yourcall: Yourcall, tmp_path: Path) -> None:
    """Over a serial line, or in a container, it is 0 by 0, and every program draws for 80 by 24 then."""
    words = [str(COMMAND), "run", "--", "sh", "-c", "printf 'Do you want to proceed?'; exec sleep 60"]
    env = {**yourcall.env, "TERM": "xterm-256color"}
    pty = Pty(words, cwd=tmp_path, env=env, cols=0, rows=0)
    try:
        until(lambda: pty.shows("proceed?"))

        def shows() -> str:
            shadows = short_folder(yourcall.home, "pty").glob("sh-*.tmux")
            return "".join(server.tmux(shadow, "capture-pane", "-p").stdout for shadow in shadows)

        until(lambda: "Do you want to proceed?" in shows(), show=shows)
    finally:
        pty.close()


def test_nothing_is_left_behind(start: Start, yourcall: Yourcall) -> None:
    folder = short_folder(yourcall.home, "pty")

    def there() -> set[str]:
        return {path.suffix for path in folder.glob("sleep-*")}

    for number in (signal.SIGTERM, signal.SIGKILL):
        pty = start("sleep", "100")
        until(lambda: there() == {".pty", ".tmux", ".fifo"}, show=there)
        (door,) = folder.glob("sleep-*.pty")
        assert (door.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
        os.kill(pty.pid, number)
        until(lambda: not there(), show=there)
    for _ in range(3):  # over before its shadow has begun
        brief = start("true")
        until(lambda brief=brief: brief.returncode == 0)
    until(lambda: not list(folder.iterdir()), show=lambda: list(folder.iterdir()))
