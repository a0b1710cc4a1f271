"""What the tests of the real Qwen Code share: a home, a model, a running yourcall, and a way to start it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kit.chat_server import ChatServer
from kit.qwen import Qwen, QwenHome, end_group, start_qwen
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.terminal import Tmux


@pytest.fixture(scope="session")
def qwen_bin(fetched: Callable[..., Path]) -> Path:
    return fetched("qwen")


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> QwenHome:
    return QwenHome.make(tmp_path)


@pytest.fixture
def yourcall(tmp_path: Path, home: QwenHome, qwen_bin: Path) -> Iterator[Yourcall]:
    """A running yourcall, connected to the Qwen Code of `home`."""
    with Yourcall(tmp_path, home) as running:  # type: ignore[arg-type]
        done = running.run("setup", "qwen", "--yes", "--cli", str(qwen_bin))
        assert done.code == 0, done
        yield running


@pytest.fixture
def bare(tmp_path: Path, home: QwenHome) -> Iterator[Yourcall]:
    """A running yourcall that no agent was connected to: there are no hooks, and no channel."""
    with Yourcall(tmp_path, home) as running:  # type: ignore[arg-type]
        yield running


def watch(yourcall: Yourcall, qwen: Qwen) -> None:
    pane = qwen.terminal
    wanted = {"server": str(pane.tmux.socket), "pane": pane.id, "agent": "qwen"}  # type: ignore[attr-defined]
    status, body = yourcall.http("POST", "/api/panes", wanted)
    assert status == 201, body


@pytest.fixture
def start(qwen_bin: Path, model: ChatServer, home: QwenHome, tmux: Tmux) -> Iterator[Any]:
    """Start Qwen Code in a pane; every one of them is ended with its child."""
    running: list[Qwen] = []

    def run(**given: Any) -> Qwen:
        running.append(start_qwen(tmux, qwen_bin, home, model, **given))
        return running[-1]

    yield run
    for each in running:
        end_group(each)
