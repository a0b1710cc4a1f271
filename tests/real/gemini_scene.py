"""What the tests of the real Gemini CLI share: a home, a model, a running yourcall, and a way to start it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kit.gemini import Gemini, GeminiHome, GeminiModel, end_group, start_gemini
from kit.turns import tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.terminal import Tmux
    from kit.turns import Block

# The CLI, two hooks and the daemon share two cores with other tests.


def shell(command: str, description: str = "Do it") -> Block:
    return tool("run_shell_command", command=command, description=description)


@pytest.fixture(scope="session")
def gemini_bin(fetched: Callable[..., Path]) -> Path:
    return fetched("gemini")


@pytest.fixture
def model() -> Iterator[GeminiModel]:
    with GeminiModel() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> GeminiHome:
    return GeminiHome.make(tmp_path)


@pytest.fixture
def yourcall(tmp_path: Path, home: GeminiHome, gemini_bin: Path) -> Iterator[Yourcall]:
    """A running yourcall, connected to the Gemini CLI of `home`."""
    with Yourcall(tmp_path, home) as running:  # type: ignore[arg-type]
        said = running.run("setup", "gemini", "--yes", "--cli", str(gemini_bin))
        assert said.code == 0, said
        yield running


@pytest.fixture
def bare(tmp_path: Path, home: GeminiHome) -> Iterator[Yourcall]:
    """A running yourcall that no agent was connected to: there are no hooks."""
    with Yourcall(tmp_path, home) as running:  # type: ignore[arg-type]
        yield running


def watch(yourcall: Yourcall, gemini: Gemini) -> None:
    pane = gemini.terminal
    wanted = {"server": str(pane.tmux.socket), "pane": pane.id, "agent": "gemini"}  # type: ignore[attr-defined]
    status, said = yourcall.http("POST", "/api/panes", wanted)
    assert status == 201, said


@pytest.fixture
def start(gemini_bin: Path, model: GeminiModel, home: GeminiHome, tmux: Tmux) -> Iterator[Any]:
    """Start Gemini CLI in a pane; every one of them is ended with its child."""
    running: list[Gemini] = []

    def run(**given: Any) -> Gemini:
        running.append(start_gemini(tmux, gemini_bin, home, model, **given))
        return running[-1]

    yield run
    for each in running:
        end_group(each)
