"""What the tests of the real Copilot CLI share: a home, a model, a running yourcall, and a way to start it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kit.chat_server import ChatServer
from kit.copilot import Copilot, CopilotHome, start_copilot
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.terminal import Tmux


@pytest.fixture(scope="session")
def copilot_bin(fetched: Callable[..., Path]) -> Path:
    return fetched("copilot")


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> CopilotHome:
    return CopilotHome.make(tmp_path)


@pytest.fixture
def yourcall(tmp_path: Path, home: CopilotHome, copilot_bin: Path) -> Iterator[Yourcall]:
    """A running yourcall, connected to the Copilot CLI of `home`."""
    with Yourcall(tmp_path, home) as running:  # type: ignore[arg-type]
        said = running.run("setup", "copilot", "--yes", "--cli", str(copilot_bin))
        assert said.code == 0, said
        yield running


@pytest.fixture
def start(copilot_bin: Path, model: ChatServer, home: CopilotHome, tmux: Tmux) -> Callable[..., Copilot]:
    """Start Copilot CLI in a pane; it is ended with its terminal."""

    def run(*, consent: str = "2", **given: Any) -> Copilot:
        copilot = start_copilot(tmux, copilot_bin, home, model, **given)
        if consent:
            copilot.consent(consent)
        return copilot

    return run
