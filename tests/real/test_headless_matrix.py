"""Runs of Claude Code that show no dialog end as they would without yourcall, in whatever state yourcall is."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, get_args

import pytest

from kit.claude import ClaudeHome, start_claude
from kit.headless import Run, Way, run_headless
from kit.poll import until
from kit.turns import pause, text, tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from pathlib import Path

    from kit.model_server import ModelServer
    from kit.terminal import Ptys

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
STATES = ("up", "down", "hung", "killed")
SETUPS: dict[str, tuple[str, ...]] = {"plain": (), "ask": ("--ask", "Bash"), "rules": ("--rules",)}
SETUPS |= {f"{name}, ruled": words for name, words in SETUPS.items()}  # with a rules file, too
MODES = ("manual", "acceptEdits", "plan", "auto", "bypassPermissions", "dontAsk")
STARTS = {mode: ("--permission-mode", mode) for mode in MODES} | {
    "allowed": ("--permission-mode", "manual", "--allowedTools", "Bash")
}
AS_ROOT = {"IS_SANDBOX": "1"}  # else `bypassPermissions` is refused to root
SLOWER, MORE_S = 1.5, 0.7  # what counts as the same time; a busy machine gets three tries


class Stage:
    """Yourcall in one state, set up in one way, and fresh homes that call it."""

    def __init__(self, folder: Path, binary: Path, model: ModelServer, state: str, setup: str) -> None:
        self.folder, self.binary, self.model, self.state, self.setup = folder, binary, model, state, setup
        self._numbers = itertools.count()
        self.model.script("touch", [TOUCH], [text("Done.")])
        self.settings = ""
        if state == "none":
            return
        home = self.home()
        self.yourcall = Yourcall(folder, home)
        self.yourcall.start()
        try:
            said = self.yourcall.run("setup", "claude", "--yes", "--cli", str(binary), *SETUPS[setup])
            assert said.code == 0, said
            self.settings = home.settings.read_text()
            if setup.endswith("ruled"):
                (self.yourcall.home / "rules.toml").write_text('[no-rm]\ndo = "deny"\ncommand = "rm"\n')
            if state == "down":
                self.yourcall.stop()
            if state == "hung":
                self.yourcall.hang()
        except BaseException:
            self.yourcall.stop()
            raise

    def close(self) -> None:
        if self.state != "none":
            self.yourcall.stop()

    def home(self) -> ClaudeHome:
        folder = self.folder / f"run-{next(self._numbers)}"
        folder.mkdir(parents=True)
        home = ClaudeHome.make(folder)
        if self.settings:
            home.settings.write_text(self.settings)
        return home

    def run(self, way: Way, start: str, *, pauses: bool = False) -> Run:
        """`pauses`: the model makes a pause before its call, as it does where yourcall is killed meanwhile."""
        if not pauses:
            return run_headless(
                self.binary, self.home(), self.model, "DO touch", way=way, args=STARTS[start], env=AS_ROOT
            )
        # Killed while the run is under way: after its start, before its request.
        name = f"killed_{next(self._numbers)}"
        words = self.model.script(name, [pause(name), TOUCH], [text("Done.")])
        began = len(self.model.requests)

        def meanwhile() -> None:
            self.model.wait_for(lambda m: len(m.requests) > began)
            if self.state == "killed":
                self.yourcall.kill()
            self.model.release(name)

        run = run_headless(
            self.binary, self.home(), self.model, words,
            way=way, args=STARTS[start], env=AS_ROOT, meanwhile=meanwhile,
        )  # fmt: skip
        if self.state == "killed":
            self.yourcall.start()
        return run


Make = Callable[..., Stage]


@pytest.fixture
def stage(tmp_path: Path, claude_bin: Path, model: ModelServer) -> Iterator[Make]:
    stages: list[Stage] = []

    def make(state: str, setup: str = "plain") -> Stage:
        stages.append(Stage(tmp_path / f"{len(stages)}", claude_bin, model, state, setup))
        return stages[-1]

    yield make
    for each in stages:
        each.close()


def as_quick(with_us: float, without: float) -> bool:
    return with_us <= SLOWER * without + MORE_S


def compare(alone: Stage, beside: Stage, way: Way, start: str) -> None:
    """The same outcome in the same time, or nearly: of up to three runs our quickest, and the slowest without us;
    a machine that has other things to do slows down whichever it likes."""
    times: list[tuple[float, float]] = []
    for _ in range(3):
        heard = len(alone.model.requests)
        without = alone.run(way, start, pauses=beside.state == "killed")
        assert len(alone.model.requests) > heard, (way, start, without)
        with_us = beside.run(way, start, pauses=beside.state == "killed")
        assert with_us.outcome == without.outcome, (way, start, with_us, without)
        times.append((without.seconds, with_us.seconds))
        if as_quick(min(with_us for _, with_us in times), max(without for without, _ in times)):
            return
    raise AssertionError(f"{way} {start}: slower beside yourcall ({beside.state}, {beside.setup}): {times}")


@pytest.mark.parametrize("state", ["up", "down", "hung"])
def test_a_run_without_a_dialog_ends_as_without_us(stage: Make, state: str) -> None:
    alone = stage("none")
    compare(alone, stage(state, "plain"), "-p", "manual")
    asking = stage(state, "ask")
    for start in ("acceptEdits", "allowed"):
        compare(alone, asking, "-p", start)


@pytest.mark.parametrize("setup", ["rules", "ask, ruled"])
def test_a_daemon_that_hangs_makes_no_run_slower_rules_or_not(stage: Make, setup: str) -> None:
    compare(stage("none"), stage("hung", setup), "-p", "acceptEdits")


def test_an_sdks_host_is_asked_as_without_us(stage: Make) -> None:
    """Its callback is asked in `manual`, and in `acceptEdits`, in spite of `--ask`, it is not."""
    alone, asking = stage("none"), stage("up", "ask")
    assert alone.run("sdk", "manual").asked == 1
    compare(alone, asking, "sdk", "manual")
    compare(alone, asking, "sdk", "acceptEdits")


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("way", get_args(Way))
@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("state", STATES)
def test_every_way_in_every_mode(stage: Make, state: str, setup: str, way: Way) -> None:
    alone, beside = stage("none"), stage(state, setup)
    for start in STARTS:
        compare(alone, beside, way, start)


def at_the_desk(stage: Stage, ptys: Ptys, mode: str) -> tuple[str, float]:
    """What a person in the terminal gets, and after how long: a dialog, or the end of the turn with or without the
    call."""
    home = stage.home()
    claude = start_claude(ptys, stage.binary, home, stage.model, args=STARTS[mode], env=AS_ROOT)
    if mode == "bypassPermissions":
        until(lambda: claude.terminal.shows("Yes, I accept"), what="the warning of this mode")
        claude.press("Down", "Enter")
    claude.say("DO touch")
    began = time.monotonic()
    if stage.state == "killed":
        stage.yourcall.kill()
    marker = home.project / "marker"

    def seen() -> str:
        if claude.status == "waiting":
            return "dialog"
        return ("ran" if marker.exists() else "denied") if claude.terminal.shows("Done.") else ""

    found = until(seen, what=f"a dialog or an end in {mode}")
    seconds = time.monotonic() - began
    if found == "dialog":
        claude.wait_dialog()
        claude.press("Escape")  # every dialog has it; not all have digits
        until(lambda: claude.status != "waiting", what=f"the key at the desk to count in {mode}")
    claude.kill()
    if stage.state == "killed":
        stage.yourcall.start()
    return found, seconds


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("state", STATES)
def test_a_terminal_in_every_mode(stage: Make, ptys: Ptys, state: str, setup: str) -> None:
    """In a terminal `--ask` asks, which is what it is for; else all is as without us, and the desk answers."""
    alone, beside = stage("none"), stage(state, setup)
    for mode in STARTS:
        times: list[tuple[float, float]] = []
        while not times or not as_quick(times[-1][1], times[-1][0]):
            assert len(times) < 3, f"{mode}: slower beside yourcall ({state}, {setup}): {times}"
            wanted, without = at_the_desk(alone, ptys, mode)
            found, with_us = at_the_desk(beside, ptys, mode)
            assert found == ("dialog" if "--ask" in SETUPS[setup] else wanted), mode
            times.append((without, with_us))


def hold(stage: Stage) -> None:
    stage.yourcall.configure('[claude]\nheadless = "hold"\n')


def test_with_the_setting_a_real_run_is_answered_from_afar(stage: Make) -> None:
    """Claude's own record proves it. `--ask` is no obstacle: Claude would take an "ask" for a no."""
    asking = stage("up", "ask")
    hold(asking)
    home, runs = asking.home(), list[Run]()
    words = asking.model.script("held", [TOUCH], [text("Done.")])

    def start() -> None:
        runs.append(run_headless(asking.binary, home, asking.model, words, args=STARTS["manual"]))

    thread = threading.Thread(target=start)
    thread.start()
    prompt = asking.yourcall.wait_prompt()
    said = asking.yourcall.run("answer", prompt["id"], "allow")
    thread.join()
    assert said.code == 0, said
    assert runs[0].outcome == (True, 0, "Done.", 0)
    assert asking.yourcall.show(prompt["id"])["state"] == "confirmed"


def test_with_the_setting_a_real_run_goes_on_when_yourcall_is_killed(stage: Make) -> None:
    plain, alone = stage("up", "plain"), stage("none")
    hold(plain)
    words = plain.model.script("held", [TOUCH], [text("Done.")])

    def meanwhile() -> None:
        plain.yourcall.wait_prompt()
        plain.yourcall.kill()

    run = run_headless(plain.binary, plain.home(), plain.model, words, args=STARTS["manual"], meanwhile=meanwhile)
    assert run.outcome == alone.run("-p", "manual").outcome
    plain.yourcall.start()
    until(lambda: not plain.yourcall.prompts(), what="the prompt of a run that is over to end")
