"""The ways an answer travels, each with a real agent at its end: asked, answered at the desk, and looked at.

The rule it keeps: a case says what happens in words that no agent owns; the way of an agent spells them.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import signal
import tempfile
from abc import ABC, abstractmethod
from contextlib import ExitStack, suppress
from pathlib import Path

from kit.acp import Stage, stage
from kit.claude import ClaudeHome, start_claude
from kit.codex import CodexHome, start_codex
from kit.gemini import GeminiHome, GeminiModel, end_group, start_gemini
from kit.model_server import ModelServer
from kit.poll import until
from kit.responses_server import ResponsesServer, escalated, say
from kit.terminal import Tmux, alive
from kit.turns import text, tool
from kit.yourcall import Yourcall
from real.test_claude_headless import Driven, drive
from yourcall.live_check.waiting import NotInTime

ROOT = Path(__file__).resolve().parent.parent
REST_S = 60.0  # for the agent to be at rest again


_spec = importlib.util.spec_from_file_location("fetch_clis", ROOT / "tools" / "fetch_clis.py")
assert _spec is not None
assert _spec.loader is not None
_fetch_clis = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fetch_clis)
PINNED: dict[str, str] = _fetch_clis.PINNED


def fetched(name: str) -> Path:
    return _fetch_clis.fetch(name, None)


class Way(ABC):
    """One agent in a folder of its own, with its scripted model and a yourcall beside it."""

    name = ""
    agent = ""
    together = False  # does it ask for two commands of one turn at once?
    outlives = True  # does it go on when yourcall is killed?

    yourcall: Yourcall
    project: Path

    def __init__(self) -> None:
        self.closing = ExitStack()
        self.folder = Path(self.closing.enter_context(tempfile.TemporaryDirectory(prefix="prove-")))
        self.numbers = itertools.count(1)
        self.open()

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def ask(self, *turns: list[str]) -> None:
        """Say something to the agent that makes it want to run these commands, turn by turn."""

    @abstractmethod
    def heard(self, command: str) -> bool:
        """Was the model told what became of this command?"""

    @abstractmethod
    def rest(self) -> None:
        """Wait until the agent is at its input box again."""

    @abstractmethod
    def pid(self) -> int: ...

    def tally(self, key: str) -> int:
        """How often the command of this key ran."""
        with suppress(FileNotFoundError):
            return (self.project / "tally").read_text().split().count(key)
        return 0

    def close(self) -> None:
        self.closing.close()


class WithDesk(Way):
    """It has a terminal, at which a person answers, too."""

    @abstractmethod
    def at_desk(self) -> None:
        """Wait until the desk shows the dialog and takes keys."""

    @abstractmethod
    def desk_yes(self) -> None: ...

    @abstractmethod
    def desk_stop(self) -> None: ...


class ClaudeHook(WithDesk):
    """Claude Code in tmux; its hook is held until somebody answers."""

    name, agent, together = "Claude Code, held hook", "claude", True

    def open(self) -> None:
        self.model = self.closing.enter_context(ModelServer())
        home = ClaudeHome.make(self.folder)
        self.project = home.project
        tmux = self.closing.enter_context(Tmux())
        binary = fetched("claude")
        self.yourcall = self.closing.enter_context(Yourcall(self.folder, home))
        self.yourcall.setup_claude(binary)
        self.claude = start_claude(tmux, binary, home, self.model)

    def ask(self, *turns: list[str]) -> None:
        blocks = [[tool("Bash", command=c, description="Note it") for c in turn] for turn in turns]
        self.claude.say(self.model.script(f"case{next(self.numbers)}", *blocks, [text("Done.")]))

    def heard(self, command: str) -> bool:
        return any(each.input.get("command") == command for each in self.model.tool_results())

    def rest(self) -> None:
        self.claude.wait_status("idle")
        self.claude.wait_ready()
        self.claude.terminal.key("C-u")  # a key that came late is a letter in the input box

    def at_desk(self) -> None:
        self.claude.wait_dialog()

    def desk_yes(self) -> None:
        self.claude.terminal.key("1")

    def desk_stop(self) -> None:
        self.claude.terminal.key("Escape")

    def pid(self) -> int:
        return self.claude.pid


class ClaudePipes(Way):
    """Claude Code without a terminal, started by yourcall and answered over its pipes."""

    name, agent, together = "Claude Code, pipes", "claude", True
    session = ""

    def open(self) -> None:
        self.model = self.closing.enter_context(ModelServer())
        home = ClaudeHome.make(self.folder)
        self.project = home.project
        self.driven: Driven = self.closing.enter_context(drive(self.folder, home, fetched("claude"), self.model))
        self.yourcall = self.driven.yourcall

    def ask(self, *turns: list[str]) -> None:
        blocks = [[tool("Bash", command=c, description="Note it") for c in turn] for turn in turns]
        words = self.model.script(f"case{next(self.numbers)}", *blocks, [text("Done.")])
        if not self.session:
            status, told = self.yourcall.http("POST", "/api/sessions", {"cwd": str(self.project), "prompt": words})
            assert status == 201, told
            self.session = told["id"]
        else:
            said = self.yourcall.run("send", self.session, words)
            assert said.code == 0, said

    def heard(self, command: str) -> bool:
        return any(each.input.get("command") == command for each in self.model.tool_results())

    def rest(self) -> None:
        self.driven.next(self.session, "ready")

    def pid(self) -> int:
        row = self.driven.session(self.session)
        assert row is not None
        return int(row["pid"])


class CodexSocket(WithDesk):
    """Codex in tmux, joined through its own control socket."""

    name, agent = "Codex, control socket", "codex"

    def open(self) -> None:
        self.model = self.closing.enter_context(ResponsesServer())
        home = CodexHome.make(self.folder, self.model)
        self.project = home.project
        self.closing.callback(home.close)
        tmux = self.closing.enter_context(Tmux())
        self.yourcall = Yourcall(self.folder)
        self.yourcall.home.mkdir()
        (self.yourcall.home / "config.toml").write_text(f'[codex]\nhomes = ["{home.config}"]\n')
        self.closing.enter_context(self.yourcall)
        self.codex = start_codex(tmux, fetched("codex"), home)
        self.told = 0

    def ask(self, *turns: list[str]) -> None:
        self.told = len(self.model.outputs())
        steps = [[escalated(command) for command in turn] for turn in turns]
        self.order = [command for turn in turns for command in turn]
        self.codex.say(self.model.script(f"case{next(self.numbers)}", *steps, [say("Done.")]))

    def heard(self, command: str) -> bool:
        return len(self.model.outputs()) > self.told + self.order.index(command)

    def rest(self) -> None:
        def resting() -> bool:
            screen = self.codex.terminal.screen()
            return "›" in screen and "esc to interrupt" not in screen and "Press enter to confirm" not in screen

        until(resting, REST_S, what="Codex to be at rest", show=self.codex.terminal.screen)
        self.codex.terminal.settle(0.5)
        self.codex.terminal.key("C-u")

    def at_desk(self) -> None:
        self.codex.wait_dialog()

    def desk_yes(self) -> None:
        self.codex.terminal.key("y")

    def desk_stop(self) -> None:
        self.codex.terminal.key("Escape")

    def pid(self) -> int:
        return self.codex.terminal.pid


class GeminiKeys(WithDesk):
    """Gemini CLI in tmux: its hooks tell, one verified digit answers."""

    name, agent = "Gemini CLI, verified keys", "gemini"

    def open(self) -> None:
        self.model = self.closing.enter_context(GeminiModel())
        home = GeminiHome.make(self.folder)
        self.project = home.project
        tmux = self.closing.enter_context(Tmux())
        binary = fetched("gemini")
        self.yourcall = self.closing.enter_context(Yourcall(self.folder, home))  # pyright: ignore[reportArgumentType]
        said = self.yourcall.run("setup", "gemini", "--yes", "--cli", str(binary))
        assert said.code == 0, said
        self.gemini = start_gemini(tmux, binary, home, self.model)
        self.closing.callback(end_group, self.gemini)
        self.told = 0

    def ask(self, *turns: list[str]) -> None:
        self.told = len(self.model.tool_results())
        self.order = [command for turn in turns for command in turn]
        blocks = [[tool("run_shell_command", command=c, description="Note it") for c in turn] for turn in turns]
        self.gemini.say(self.model.script(f"case{next(self.numbers)}", *blocks, [text("Done.")]))

    def heard(self, command: str) -> bool:
        if len(self.model.tool_results()) > self.told + self.order.index(command):
            return True
        return self.gemini.terminal.shows("Type your message")  # a no stops the turn

    def rest(self) -> None:
        self.gemini.terminal.key("C-u")  # a digit that came late hides the words by which the empty box is known
        self.gemini.wait_ready()

    def at_desk(self) -> None:
        self.gemini.wait_dialog("Allow execution")

    def desk_yes(self) -> None:
        self.gemini.terminal.key("1")

    def desk_stop(self) -> None:
        self.gemini.terminal.key("Escape")

    def pid(self) -> int:
        return self.gemini.pid


class Acp(Way):
    """Gemini CLI over ACP, started by yourcall."""

    name, agent, outlives = "Gemini CLI, ACP", "gemini", False
    session = ""

    def open(self) -> None:
        self.stage: Stage = stage("gemini-acp", self.folder, fetched("gemini"))
        self.closing.enter_context(self.stage.closing)
        self.yourcall, self.project, self.told = self.stage.yourcall, self.stage.project, 0

    def ask(self, *turns: list[str]) -> None:
        self.told = len(self.stage.model.tool_results())
        self.order = [command for turn in turns for command in turn]
        script = [[("run", command) for command in turn] for turn in turns]
        words = self.stage.script(f"case{next(self.numbers)}", *script, [("speak", "Done.")])
        if not self.session:
            self.session = self.stage.session(words)
        else:
            said = self.yourcall.run("send", self.session, words)
            assert said.code == 0, said

    def heard(self, command: str) -> bool:
        return len(self.stage.model.tool_results()) > self.told + self.order.index(command)

    def rest(self) -> None:
        self.stage.ready()

    def pid(self) -> int:
        return self.stage.pid(self.session)


WAYS: dict[str, type[Way]] = {
    "claude-hook": ClaudeHook,
    "claude-pipes": ClaudePipes,
    "codex-socket": CodexSocket,
    "gemini-keys": GeminiKeys,
    "acp": Acp,
}


def end(pid: int) -> None:
    """End an agent as a crash would."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with suppress(NotInTime):
        until(lambda: not alive(pid), 10, what=f"the end of {pid}")
