"""A whole scene: the real Codex in a terminal, a model with a script, and yourcall beside them."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.codex import Codex, CodexHome, run_codex, start_codex
from kit.codex_client import Client
from kit.poll import until
from kit.responses_server import ResponsesServer
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kit.responses_server import Step
    from kit.terminal import Tmux


@dataclass
class CodexScene:
    binary: Path
    model: ResponsesServer
    home: CodexHome
    yourcall: Yourcall
    tmux: Tmux
    clients: ExitStack

    def ask(self, *turns: list[Step]) -> Codex:
        """Start Codex and let the model do these turns."""
        codex = start_codex(self.tmux, self.binary, self.home)
        codex.say(self.model.script("work", *turns))
        return codex

    def begin(self, *turns: list[Step]) -> tuple[Client, str]:
        """The same without a terminal: a client of the server's is the desk. It and its thread."""
        started = run_codex(self.binary, self.home, "app-server", "daemon", "start")
        assert started.returncode == 0, started
        owner = self.clients.enter_context(Client(self.home.socket))
        thread = owner.start(self.home.project)
        owner.say(thread, self.model.script("work", *turns))
        return owner, thread

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()

    def prompt(self, *before: dict[str, Any], kind: str = "") -> dict[str, Any]:
        """The one open prompt that is none of these."""
        known = {prompt["id"] for prompt in before}

        def look() -> list[dict[str, Any]]:
            found = [p for p in self.yourcall.waiting() if p["id"] not in known]
            return [p for p in found if kind in ("", p["kind"])]

        (prompt,) = until(look, what=f"a new prompt {kind}", show=self.yourcall.waiting)
        return prompt

    def answer(self, prompt: dict[str, Any], *words: str) -> None:
        patience = () if "--no-wait" in words else ("--wait", "30")
        said = self.yourcall.run("answer", prompt["id"], *words, *patience)
        assert said.code in ((0, 6) if "--no-wait" in words else (0,)), (said, self.yourcall.show(prompt["id"]))

    def post(self, prompt: dict[str, Any], **body: Any) -> None:
        """An answer to several questions."""
        status, said = self.yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {"wait": 30, **body})
        assert status == 200, said
        assert said["result"] == "confirmed", said

    def fill(self, prompt: dict[str, Any], **body: Any) -> None:
        """A form: whose answer its server got is on no record, if others could give one too."""
        status, said = self.yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", body)
        assert status in (200, 202), said
        self.settled(prompt, "accepted", None)

    def settled(self, prompt: dict[str, Any], state: str, outcome: str | None) -> dict[str, Any]:
        return until(
            lambda: (s := self.yourcall.show(prompt["id"]))["state"] == state and s["outcome"] == outcome and s,
            30,
            what=f"{state}, {outcome}",
            show=lambda: self.yourcall.show(prompt["id"]),
        )


@contextmanager
def joined(folder: Path, binary: Path, tmux: Tmux) -> Iterator[CodexScene]:
    """A home of Codex, and a running yourcall that was told of it."""
    with ResponsesServer() as model:
        home = CodexHome.make(folder, model)
        yourcall = Yourcall(folder)
        yourcall.home.mkdir()
        (yourcall.home / "config.toml").write_text(f'[codex]\nhomes = ["{home.config}"]\n')
        try:
            with yourcall, ExitStack() as clients:
                yield CodexScene(binary, model, home, yourcall, tmux, clients)
        finally:
            home.close()
