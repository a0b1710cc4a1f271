"""What the tests of the real opencode and Kilo share: a home, a model, yourcall, a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from kit.chat_server import ChatServer
from kit.opencode import ForOpencode, Opencode, OpencodeHome, start
from kit.poll import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.terminal import Tmux
    from kit.turns import Block


@dataclass
class Scene:
    home: OpencodeHome
    model: ChatServer
    yourcall: ForOpencode
    tmux: Tmux

    def start(self, *words: str) -> Opencode:
        return start(self.tmux, self.home, *words)

    def ask(self, *turns: list[Block], cli: Opencode | None = None) -> Opencode:
        """Start it and let the model do these turns."""
        words = self.model.script(f"work{len(self.model.requests)}", *turns)
        cli = cli or self.start()
        cli.say(words)
        return cli

    def session(self) -> dict[str, Any]:
        """The one session there is, once it is known."""
        return until(lambda: next(iter(self.sessions()), None), what="a session")

    def sessions(self) -> list[dict[str, Any]]:
        status, found = self.yourcall.http("GET", "/api/sessions")
        assert status == 200, found
        return [each for each in found if each["state"] != "ended"]

    def settled(self, prompt_id: str) -> tuple[str, str]:
        shown = self.yourcall.wait_state(prompt_id, "confirmed", "desk", "ended", "unsure")
        return shown["state"], shown["outcome"]

    def entries(self, session: str) -> list[dict[str, Any]]:
        status, page = self.yourcall.http("GET", f"/api/sessions/{session}/conversation")
        assert status == 200, page
        return page["entries"]


@pytest.fixture
def app() -> str:
    return "opencode"


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, app: str, fetched: Callable[..., Path], model: ChatServer) -> OpencodeHome:
    return OpencodeHome.make(tmp_path, app, fetched(app), model)


@pytest.fixture
def scene(tmp_path: Path, home: OpencodeHome, model: ChatServer, tmux: Tmux) -> Iterator[Scene]:
    with ForOpencode(tmp_path, home) as yourcall:
        said = yourcall.run("setup", home.app, "--yes")
        assert said.code == 0, said
        yield Scene(home, model, yourcall, tmux)
