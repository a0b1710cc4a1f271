"""From the POST of an answer to the real Claude Code going on: through us, and through a bare held hook.

The rule it keeps: each side is a Claude Code of its own that asks for the same file write; the clock starts with
the POST, a moment after the dialog is up, and stops when the file is there.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.clock import in_turn, ms
from bench.latency import OF_BARE
from bench.place import PYTHON, ROOT, Bare, Yourcall, until
from bench.row import Row
from bench.size import Size
from bench.turn import claude_code, subfolder
from bench.wires import Live, Poster
from kit.claude import Claude, ClaudeHome, start_claude
from kit.model_server import ModelServer
from kit.terminal import Ptys
from kit.turns import text, tool

NAME = "held"
ALLOW = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}


def reached(at: Path, size: Size) -> Iterator[Row]:
    binary = claude_code()
    with ExitStack() as stack:
        model, ptys = stack.enter_context(ModelServer()), stack.enter_context(Ptys())
        homes = {name: ClaudeHome.make(subfolder(at, name)) for name in ("ours", "bare")}
        ours = stack.enter_context(Yourcall(at, homes["ours"].path))
        ours.run("setup", "claude", "--yes", "--cli", str(binary))
        bare = stack.enter_context(Bare(at))
        program = shlex.join([PYTHON, "-I", "-S", str(ROOT / "bench" / "bare_hook.py"), str(bare.home), NAME])
        hook = {"type": "command", "command": program, "timeout": 600}
        homes["bare"].write_settings({"hooks": {"PermissionRequest": [{"hooks": [hook]}]}})
        sides = {
            "ours": Asking(start_claude(ptys, binary, homes["ours"], model), model, ours),
            "bare": Asking(start_claude(ptys, binary, homes["bare"], model), model, bare),
        }
        taken = in_turn(size.of(30, 1), {name: side.once for name, side in sides.items()})
    against = "a bare held hook, answer on disk first"
    name = "an answer reaches the agent: Claude Code acts on it"
    yield Row(name, "ms", ms(taken["ours"]), against, ms(taken["bare"]), most_ratio=OF_BARE)


class Asking:
    """One Claude Code that asks, and what its hook talks to."""

    def __init__(self, claude: Claude, model: ModelServer, served: Yourcall | Bare) -> None:
        self._claude, self._model, self._served = claude, model, served
        self._rounds = 0
        self._answered: set[str] = set()

    def once(self) -> float:
        self._rounds += 1
        name = f"ask{self._claude.pid}x{self._rounds}"
        file = self._claude.home.project / f"{name}.txt"
        words = self._model.script(name, [tool("Write", file_path=str(file), content="made\n")], [text("Made.")])
        self._claude.wait_ready()
        path, body = self._asked(words)
        self._claude.wait_status("waiting")
        time.sleep(0.2)  # a person needs longer
        with Poster(self._served.port, self._served.token) as poster:
            began = time.perf_counter()
            poster.send(path, body)
            until(file.exists, "the agent does what was allowed", 0.0005)
            took = time.perf_counter() - began
            assert poster.reply() in (200, 202)
        self._claude.wait_status("idle")
        return took

    def _asked(self, words: str) -> tuple[str, bytes]:
        """Say these words; where the prompt that follows is to be answered, and with what."""
        ours = isinstance(self._served, Yourcall)
        with Live(self._served.port, "/api/live" if ours else "/live", self._served.token) as live:
            self._claude.say(words)
            while True:
                news = live.next()
                if not ours and news["id"] == NAME:
                    return f"/answer/{NAME}?disk", json.dumps(ALLOW).encode()
                prompt = news.get("prompt")
                if prompt and prompt["kind"] == "permission" and prompt["id"] not in self._answered:
                    self._answered.add(prompt["id"])
                    return f"/api/prompts/{prompt['id']}/answer", b'{"option": "allow"}'
