"""Codex at a person's desk, without the control socket: found by its process, read from its screen."""

from __future__ import annotations

import subprocess
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.codex import Codex, CodexHome, start_codex
from kit.responses_server import ResponsesServer, say
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kit.terminal import Tmux

ALONE = ("--no-daemon",)
PLAN = say("<proposed_plan>\n# Add a health check\n\n- Add GET /health.\n- Test it.\n</proposed_plan>")


@dataclass
class Desk:
    """Codex in a private tmux, a scripted model behind it, and a yourcall that finds it by its process."""

    binary: Path
    model: ResponsesServer
    home: CodexHome
    yourcall: Yourcall
    tmux: Tmux

    def start(self, *args: str, joined: bool = False) -> Codex:
        """`joined`: yourcall is also told where the control socket may be."""
        codex = start_codex(self.tmux, self.binary, self.home, *args, cols=100)
        self.yourcall.discovery = "tmux"
        homes = f'[codex]\nhomes = ["{self.home.config}"]\n' if joined else ""
        self.yourcall.configure(f"[discovery]\nroot_pid = {codex.terminal.pid}\n{homes}")
        return codex

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()

    def answer(self, prompt: dict[str, Any], option: str) -> dict[str, Any]:
        said = self.yourcall.run("answer", prompt["id"], option)
        assert said.code == 0, said
        return self.yourcall.show(prompt["id"])

    def config(self) -> dict[str, Any]:
        return tomllib.loads((self.home.config / "config.toml").read_text())

    def without(self, *tables: str) -> None:
        """As if the person had never decided this."""
        file = self.home.config / "config.toml"
        kept = [part for part in file.read_text().split("\n\n") if not part.startswith(tables)]
        file.write_text("\n\n".join(kept))


@contextmanager
def desk_of(folder: Path, binary: Path, tmux: Tmux) -> Iterator[Desk]:
    with ResponsesServer() as model:
        home = CodexHome.make(folder, model)
        try:
            with Yourcall(folder, home) as yourcall:  # type: ignore[arg-type]  # only its folder is used
                yield Desk(binary, model, home, yourcall, tmux)
        finally:
            home.close()


def untrusted(desk: Desk) -> None:
    """A folder that Codex asks about: a repository, and no approval policy that would settle it."""
    subprocess.run(["git", "init", "-q", desk.home.project], check=True)
    desk.without("[projects.")
    file = desk.home.config / "config.toml"
    lines = file.read_text().split("\n")
    file.write_text("\n".join(line for line in lines if not line.startswith(("approval_policy", "sandbox_mode"))))
