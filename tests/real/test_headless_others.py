"""`codex exec` and `gemini -p` end as they would without yourcall, in whatever state yourcall is."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kit.codex import CodexHome
from kit.gemini import GeminiHome, GeminiModel
from kit.gemini import environment as gemini_environment
from kit.poll import PATIENCE_S, until
from kit.responses_server import ResponsesServer, call, escalated, say
from kit.responses_server import pause as codex_pause
from kit.turns import pause, text, tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from pathlib import Path

STATES = ("up", "down", "hung", "killed")
SLOWER, MORE_S = 1.5, 1.0  # what counts as the same time; a busy machine gets three tries
CODEX = {
    "default": (),
    "on-request": ("-c", 'approval_policy="on-request"'),
    "never": ("-c", 'approval_policy="never"'),
    "bypass": ("--dangerously-bypass-approvals-and-sandbox",),
}
GEMINI = {mode: ("--approval-mode", mode) for mode in ("default", "auto_edit", "yolo", "plan")}


class Stage:
    """One agent, with or without our hooks, and yourcall in one state."""

    def __init__(self, folder: Path, agent: str, binary: Path, model: Any, state: str) -> None:
        self.folder, self.agent, self.binary, self.model, self.state = folder, agent, binary, model, state
        self._numbers = itertools.count()
        self._homes: list[CodexHome] = []
        self.yourcall: Yourcall | None = None
        if state == "none":
            return
        self.yourcall = Yourcall(folder)
        self.yourcall.start()
        if state == "down":
            self.yourcall.stop()
        if state == "hung":
            self.yourcall.hang()

    def close(self) -> None:
        if self.yourcall is not None:
            self.yourcall.stop()
        for home in self._homes:
            home.close()

    def home(self) -> CodexHome | GeminiHome:
        folder = self.folder / f"run-{next(self._numbers)}"
        folder.mkdir(parents=True)
        if self.agent == "codex":
            home = CodexHome.make(folder, self.model)
            self._homes.append(home)
        else:
            home = GeminiHome.make(folder)
        if self.yourcall is not None:
            known = Yourcall(self.folder, home)  # type: ignore[arg-type]  # only its folder is used
            said = known.run("setup", self.agent, "--yes", "--cli", str(self.binary))
            assert said.code == 0, said
        return home

    def run(self, args: tuple[str, ...], *, pauses: bool = False) -> tuple[tuple[bool, int, str], float]:
        """`pauses`: the model makes a pause before its call, as it does where yourcall is killed meanwhile."""
        home, name = self.home(), f"touch_{next(self._numbers)}"
        stop = name if pauses else ""
        if self.agent == "codex":
            asks = args != CODEX["bypass"]  # where nothing is asked, asking is refused
            plain = call("exec_command", cmd="touch marker")
            steps = [*([codex_pause(stop)] if stop else []), escalated("touch marker") if asks else plain]
            words = self.model.script(name, steps, [say("Done.")])
            command = ["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", *args, words]
            env = home.env if isinstance(home, CodexHome) else {}
        else:
            steps = [*([pause(stop)] if stop else []), tool("run_shell_command", command="touch marker")]
            words = self.model.script(name, steps, [text("Done.")])
            command = [*args, "-p", words]
            env = gemini_environment(home, self.model) if isinstance(home, GeminiHome) else {}
        before = len(self.model.requests)
        began = time.monotonic()
        process = subprocess.Popen(
            [str(self.binary), *command], cwd=home.project, env=env, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            if stop:
                until(lambda: len(self.model.requests) > before, what="the model to be asked")
                if self.yourcall is not None:
                    self.yourcall.kill()
                self.model.release(stop)
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
            process.communicate()
        took = time.monotonic() - began
        if stop and self.yourcall is not None:
            self.yourcall.start()
        return ((home.project / "marker").exists(), process.returncode, said.strip()), took


Make = Callable[[str], Stage]


@pytest.fixture
def codex(tmp_path: Path, fetched: Callable[..., Path]) -> Iterator[Make]:
    with ResponsesServer() as model:
        yield from _stages(tmp_path, "codex", fetched("codex"), model)


@pytest.fixture
def gemini(tmp_path: Path, fetched: Callable[..., Path]) -> Iterator[Make]:
    with GeminiModel() as model:
        yield from _stages(tmp_path, "gemini", fetched("gemini"), model)


def _stages(folder: Path, agent: str, binary: Path, model: object) -> Iterator[Make]:
    made: list[Stage] = []

    def make(state: str) -> Stage:
        made.append(Stage(folder / f"{len(made)}", agent, binary, model, state))
        return made[-1]

    try:
        yield make
    finally:
        for each in made:
            each.close()


def compare(make: Make, state: str, args: tuple[str, ...]) -> None:
    """The same outcome in the same time, or nearly: the shortest of up to three runs counts."""
    alone, beside = make("none"), make(state)
    times: list[tuple[float, float]] = []
    for _ in range(3):
        pauses = state == "killed"
        (wanted, without), (found, with_us) = alone.run(args, pauses=pauses), beside.run(args, pauses=pauses)
        assert found == wanted, (state, args)
        times.append((without, with_us))
        if with_us <= SLOWER * without + MORE_S:
            return
    raise AssertionError(f"slower beside yourcall ({state}): {times}")


def test_codex_exec_ends_as_without_us(codex: Make) -> None:
    compare(codex, "hung", CODEX["default"])


def test_gemini_p_ends_as_without_us(gemini: Make) -> None:
    compare(gemini, "hung", GEMINI["default"])


@pytest.mark.soak
@pytest.mark.parametrize("mode", CODEX)
@pytest.mark.parametrize("state", STATES)
def test_codex_exec_in_every_mode(codex: Make, state: str, mode: str) -> None:
    compare(codex, state, CODEX[mode])


@pytest.mark.soak
@pytest.mark.parametrize("mode", GEMINI)
@pytest.mark.parametrize("state", STATES)
def test_gemini_p_in_every_mode(gemini: Make, state: str, mode: str) -> None:
    compare(gemini, state, GEMINI[mode])
