"""`next`, `prev`, `back`, `skip` and the tmux segment, in real tmux servers with a person's client attached."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.terminal import Pane, Pty, Tmux
from kit.yourcall import COMMAND, Yourcall

SHELL = ["sh", "-c", "while :; do sleep 600; done"]


class Desk:
    """A person at a terminal: a tmux server with a pane of their own, and a client that shows it."""

    def __init__(self, folder: Path, yc: Yourcall, stack: ExitStack) -> None:
        self.folder, self.yc, self.stack = folder, yc, stack
        self.tmux = stack.enter_context(Tmux())
        self.own = self.pane(self.tmux)
        self.client = self.attach()

    def attach(self) -> Pty:
        words = ["tmux", "-S", str(self.tmux.socket), "attach-session", "-t", self.own.id]
        pty = Pty(words, cwd=self.folder, env={"TERM": "xterm-256color", "PATH": os.environ["PATH"]})
        self.stack.callback(pty.close)
        until(lambda: pty.tty in self.tmux.run("list-clients", "-F", "#{client_name}"))
        return pty

    def pane(self, tmux: Tmux, command: list[str] = SHELL) -> Pane:
        return tmux.start(command, cwd=self.folder, env={"PATH": os.environ["PATH"]})

    def waits(self, name: str, tmux: Tmux | None = None, command: list[str] = SHELL) -> Pane:
        """A session in a pane of its own asks for something; its prompt has reached yourcall."""
        pane = self.pane(tmux or self.tmux, command)
        folder = self.folder / name
        folder.mkdir()
        agent = self.stack.enter_context(ScriptedClaude(folder, self.yc, pane=pane))
        agent.asks("Bash", command=f"touch {name}")
        until(lambda: any(p["title"].endswith(name) for p in self.yc.prompts()), show=self.yc.prompts)
        return pane

    def shown(self) -> str:
        """The pane that the person has in front of them."""
        lines = self.tmux.run("list-clients", "-F", "#{client_name} #{pane_id}").splitlines()
        return dict(line.split(" ") for line in lines)[self.client.tty]

    def key(self, keys: str) -> None:
        """A key behind tmux's prefix, once tmux has read that: what comes in one burst it may take for a paste."""
        self.client.text("\x02")
        until(lambda: "1" in self.tmux.run("list-clients", "-F", "#{client_prefix}"), what="the prefix to be read")
        self.client.text(keys)

    def do(self, *words: str) -> tuple[int, str]:
        """Run `yourcall …` in the pane that is in front, as its shell would."""
        out, code = self.folder / "out", self.folder / "code"
        code.unlink(missing_ok=True)
        line = (
            f"{shlex.join([str(COMMAND), '--home', str(self.yc.home), *words])} >{out} 2>&1; echo $? >{code}.new"
        )
        env = f"TMUX={self.tmux.socket},1,0 TMUX_PANE={self.shown()}"
        # Not in the background: tmux 3.3a crashes if the client is gone by the time it hears of the end.
        self.tmux.run("run-shell", f"export {env}; ({line}); mv {code}.new {code}")
        return int(code.read_text()), out.read_text()


@pytest.fixture
def desk(tmp_path: Path, yc: Yourcall) -> Iterator[Desk]:
    with ExitStack() as stack:
        yield Desk(tmp_path, yc, stack)


def test_there_and_back_again(desk: Desk) -> None:
    assert desk.do("next")[0] == 3
    assert desk.shown() == desk.own.id
    first, second = desk.waits("one"), desk.waits("two")
    assert desk.do("next")[0] == 0
    assert desk.shown() == first.id
    assert desk.do("next")[0] == 0
    assert desk.shown() == second.id
    assert desk.do("next")[0] == 0
    assert desk.shown() == first.id
    assert desk.do("prev")[0] == 0
    assert desk.shown() == second.id
    assert desk.do("back")[0] == 0
    assert desk.shown() == desk.own.id
    code, said = desk.do("back")
    assert code == 3
    assert "no way back" in said
    assert desk.shown() == desk.own.id


def test_a_new_prompt_moves_nobody(desk: Desk) -> None:
    desk.waits("one")
    assert desk.shown() == desk.own.id


def test_skip_leaves_it_out_and_only_then(desk: Desk) -> None:
    assert desk.do("skip")[0] == 2
    first, second = desk.waits("one"), desk.waits("two")
    desk.do("next")
    assert desk.shown() == first.id
    assert desk.do("skip")[0] == 0
    assert desk.shown() == second.id
    assert desk.do("next")[0] == 3
    assert desk.shown() == second.id
    desk.do("back")
    assert desk.do("next")[0] == 0
    assert desk.shown() == second.id
    # The other one is still put off: there is nowhere to go on to.
    assert desk.do("skip", "--for", "0")[0] == 3
    assert desk.shown() == second.id


def test_the_backlog_outlives_a_detached_terminal(desk: Desk) -> None:
    first = desk.waits("one")
    desk.do("next")
    desk.tmux.run("detach-client", "-t", desk.client.tty)
    until(lambda: desk.client.tty not in desk.tmux.run("list-clients"))
    second = desk.waits("two")
    desk.client = desk.attach()
    assert desk.shown() == desk.own.id
    desk.do("next")
    assert desk.shown() == first.id
    desk.do("next")
    assert desk.shown() == second.id
    desk.do("back")
    assert desk.shown() == desk.own.id


def test_panes_that_moved_are_found_and_dead_ones_passed_over(desk: Desk) -> None:
    moved, dead = desk.waits("one"), desk.waits("two")
    desk.tmux.run("join-pane", "-d", "-s", moved.id, "-t", desk.own.id)
    desk.tmux.run("move-window", "-r")
    desk.tmux.run("kill-pane", "-t", dead.id)
    assert desk.do("next")[0] == 0
    assert desk.shown() == moved.id
    assert desk.do("next")[0] == 3
    assert desk.shown() == moved.id


def test_a_pane_of_the_same_name_in_another_life_of_the_server_is_not_taken_for_it(desk: Desk) -> None:
    """Pane ids begin anew with a new server on the same socket; another program in it is another pane."""
    other = desk.stack.enter_context(Tmux())
    waiting = desk.waits("one", other)
    server = int(other.run("display-message", "-p", "#{pid}"))
    other.run("kill-server")
    until(lambda: not psutil.pid_exists(server) and not psutil.pid_exists(waiting.pid))
    again = desk.pane(other)
    assert again.id == waiting.id
    assert desk.do("next")[0] == 3


def test_a_session_on_another_server_comes_in_a_window_of_its_own(desk: Desk) -> None:
    other = desk.stack.enter_context(Tmux())
    far = desk.waits("far", other)
    assert desk.do("next")[0] == 0
    until(lambda: f"0 {far.id}" in other.run("list-clients", "-F", "#{client_control_mode} #{pane_id}"))
    assert desk.shown() != desk.own.id
    assert desk.tmux.run("display-message", "-p", "-t", desk.shown(), "#{window_name}").strip() == "yourcall"
    assert desk.do("back")[0] == 0
    assert desk.shown() == desk.own.id


def test_link_brings_the_window_here(desk: Desk) -> None:
    far = desk.waits("far")
    session = desk.tmux.run("display-message", "-p", "-t", desk.own.id, "#{session_id}").strip()
    assert desk.do("next", "--link")[0] == 0
    assert desk.shown() == far.id
    assert f"{desk.client.tty} {session}" in desk.tmux.run("list-clients", "-F", "#{client_name} #{session_id}")


def test_the_segment_tells_waiting_from_none_from_down(desk: Desk) -> None:
    def segment() -> str:
        return desk.yc.run("tmux", "status").out

    assert "none waiting" in segment()
    desk.waits("one")
    assert "1 waiting" in segment()
    desk.yc.run("down")
    assert "down" in segment()


def test_the_picker_shows_what_an_agent_wrote_as_text_only(desk: Desk) -> None:
    hostile = "#(touch owned)"
    pane = desk.waits(hostile)
    line = shlex.join([str(COMMAND), "--home", str(desk.yc.home), "tmux", "pick", "--pane", desk.own.id])
    window = desk.tmux.run(
        "new-window", "-d", "-P", "-F", "#{pane_id}", f"{line} --client {desk.client.tty}"
    ).strip()
    picker = Pane(desk.tmux, window, 0)
    until(lambda: hostile in picker.screen(), show=picker.screen)
    picker.key("9")
    picker.key("1")
    until(lambda: desk.shown() == pane.id)
    assert not list(desk.folder.rglob("owned"))


def test_install_is_a_diff_that_undo_takes_out_byte_for_byte(desk: Desk, tmp_path: Path) -> None:
    conf = tmp_path / "tmux.conf"
    mine = "# mine\nset -g mouse on\nset -g status-right '#H'"  # without a last line end
    conf.write_text(mine)
    shown = desk.yc.run("tmux", "install", "--diff", "--file", str(conf))
    assert "+bind-key y run-shell" in shown.out
    assert conf.read_text() == mine
    assert desk.yc.run("tmux", "install", "--yes", "--file", str(conf)).code == 0
    once = conf.read_text()
    assert once.startswith(mine)
    assert "already" in desk.yc.run("tmux", "install", "--yes", "--file", str(conf)).out
    assert conf.read_text() == once
    # tmux itself takes it, and the key does what it says.
    desk.tmux.run("source-file", str(conf))
    pane = desk.waits("one")
    desk.key("y")
    until(lambda: desk.shown() == pane.id)
    desk.key("\x1by")
    until(lambda: desk.shown() == desk.own.id)
    assert desk.yc.run("tmux", "install", "--undo", "--yes", "--file", str(conf)).code == 0
    assert conf.read_text() == mine


def test_install_makes_and_removes_a_file_of_its_own(desk: Desk, tmp_path: Path) -> None:
    conf = tmp_path / "none" / "tmux.conf"
    assert desk.yc.run("tmux", "install", "--yes", "--file", str(conf)).code == 0
    assert desk.yc.run("tmux", "install", "--undo", "--yes", "--file", str(conf)).code == 0
    assert not conf.exists()


def test_a_key_says_its_line_in_the_status_bar_and_leaves_the_dialog_alone(desk: Desk, tmp_path: Path) -> None:
    conf, got = tmp_path / "tmux.conf", tmp_path / "got"
    assert desk.yc.run("tmux", "install", "--yes", "--file", str(conf)).code == 0
    desk.tmux.run("source-file", str(conf))
    # A dialog that takes one key.
    asks = ["sh", "-c", f"stty -icanon -echo; printf 'Do you want to proceed?'; head -c1 >{got}; exec sleep 600"]
    pane = desk.waits("#(touch owned)", command=asks)
    until(lambda: "proceed?" in pane.screen(), show=pane.screen)
    desk.key("y")
    until(lambda: desk.client.shows("yourcall: 1 of 1, permission, waiting for"), show=desk.client.seen)
    assert desk.shown() == pane.id
    assert desk.client.shows("proceed?")
    assert desk.tmux.run("display-message", "-p", "-t", pane.id, "#{pane_in_mode}").strip() == "0"
    desk.client.text("1")
    until(lambda: got.exists() and got.read_text() == "1")
    # There is nowhere else to go: that is a line, too.
    desk.key("y")
    until(lambda: desk.client.shows("the only session"), show=desk.client.seen)
    assert desk.tmux.run("display-message", "-p", "-t", pane.id, "#{pane_in_mode}").strip() == "0"
    assert not list(tmp_path.rglob("owned"))


def test_the_segment_is_not_cut_off_by_what_is_there_already(desk: Desk, tmp_path: Path) -> None:
    conf = tmp_path / "tmux.conf"
    desk.tmux.run("set-option", "-g", "status-right", "x" * 39)
    assert desk.yc.run("tmux", "install", "--yes", "--file", str(conf)).code == 0
    desk.tmux.run("source-file", str(conf))
    until(lambda: desk.client.shows("x none waiting"), show=desk.client.seen)
    desk.tmux.run("set-option", "-g", "status-right-length", "120")
    desk.tmux.run("source-file", str(conf))
    assert desk.tmux.run("show-options", "-gv", "status-right-length").strip() == "120"
