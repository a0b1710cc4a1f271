"""The real Gemini CLI against a scripted model: a home of its own, a terminal of its own, no network but loopback.

The rule it keeps: what the model says follows from the conversation it is sent. The last user text that contains
`DO <name>` picks the script; turn N is played after N turns of the model, and after the last it says "All done.".

    with GeminiModel() as model:
        words = model.script("touch", [tool("run_shell_command", command="touch marker")], [text("Made it.")])
        gemini = start_gemini(tmux, gemini_bin, home, model)
        gemini.say(words)
        gemini.wait_dialog("Allow execution")
"""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.poll import until
from kit.scripted import PICK, Exchange, Scripted
from kit.terminal import Pane, squeezed
from kit.turns import Block, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kit.terminal import Ptys, Terminal, Tmux

COMPOSER = "Type your message"


class GeminiModel(Scripted[Block]):
    """A scripted stand-in for the Gemini API (generativelanguage v1beta)."""

    def __init__(self) -> None:
        super().__init__(_Exchange)
        self.requests: list[dict[str, Any]] = []

    def tool_results(self) -> list[dict[str, Any]]:
        """What the model was told about its calls: `{"name", "response"}`, those of the newest conversation."""
        chats = [r for r in list(self.requests) if r.get("tools")]
        return [
            part["functionResponse"]
            for content in (chats[-1]["contents"] if chats else [])
            for part in content.get("parts", [])
            if "functionResponse" in part
        ]

    def user_texts(self) -> list[str]:
        """What the person was heard to say in the newest conversation."""
        chats = [r for r in list(self.requests) if r.get("tools")]
        return [
            part["text"]
            for content in (chats[-1]["contents"] if chats else [])
            if content.get("role") == "user"
            for part in content.get("parts", [])
            if "text" in part
        ]

    def wait_results(self, count: int = 1) -> list[dict[str, Any]]:
        return until(lambda: len(found := self.tool_results()) >= count and found, what=f"{count} tool results")

    def answer_to(self, body: dict[str, Any]) -> list[Block]:
        self.took(self.requests, body)
        contents = body.get("contents", [])
        name, at = "", -1
        for number, content in enumerate(contents):
            said = " ".join(part.get("text") or "" for part in content.get("parts", []))
            if content.get("role") == "user" and (picked := PICK.findall(said)):
                name, at = picked[-1], number
        if not name:
            return [text("I heard you.")]
        turn = sum(content.get("role") == "model" for content in contents[at + 1 :])
        turns = self._scripts.get(name, ())
        blocks = turns[turn] if turn < len(turns) else [text("All done.")]
        return [_filled(block, body) for block in blocks]


def _filled(block: Block, body: dict[str, Any]) -> Block:
    """A callable among a call's inputs is called with the request's body."""
    if block.kind != "tool_use":
        return block
    given = {key: value(body) if callable(value) else value for key, value in block.body["input"].items()}
    return Block("tool_use", {**block.body, "input": given})


def plans_folder(body: dict[str, Any]) -> str:
    """The folder that Gemini CLI, in plan mode, tells the model to write its plan to."""
    return re.findall(r"(/[^\s`'\"<>\\]*/\.gemini/tmp/[^\s`'\"<>\\]*/plans)\b", json.dumps(body))[-1]


# What the CLI's own helpers (routing, loop check, summaries) ask for as JSON; none of it matters here.
_STUB = {
    "reasoning": "stub",
    "model_choice": "pro",
    "complexity_reasoning": "stub",
    "complexity_score": 50,
    "next_speaker": "user",
    "unproductive_state_analysis": "stub",
    "unproductive_state_confidence": 0.0,
    "corrected_new_string": "",
    "response": "stub",
}


class _Exchange(Exchange):
    def do_GET(self) -> None:
        self.reply(200, {"models": []})

    def do_POST(self) -> None:
        body = self.asked()
        if ":countTokens" in self.path:
            return self.reply(200, {"totalTokens": 100})
        asked = body.get("generationConfig") or {}
        if asked.get("responseMimeType") == "application/json" or "responseJsonSchema" in asked:
            return self.reply(200, _chunk([{"text": json.dumps(_STUB)}], last=True))
        blocks = self.server.model.answer_to(body)
        for block in blocks:
            if block.kind == "error":
                problem = {
                    "code": block.body["status"],
                    "message": block.body["message"],
                    "status": block.body["kind"],
                    "details": block.body.get("details", []),
                }
                return self.reply(block.body["status"], {"error": problem})
        if "streamGenerateContent" not in self.path:
            parts = [part for block in blocks if (part := _part(block)) is not None]
            return self.reply(200, _chunk(parts, last=True))
        return self._stream(blocks)

    def _stream(self, blocks: list[Block]) -> None:
        self.begin_stream()
        for number, block in enumerate(blocks):
            if block.kind == "pause":
                while self.server.model.held_back(block.body["until"]):
                    continue
            part = _part(block)
            if part is not None:
                last = all(later.kind == "pause" for later in blocks[number + 1 :])
                self.data(_chunk([part], last=last))


def _part(block: Block) -> dict[str, Any] | None:
    if block.kind == "text":
        return {"text": block.body["text"]}
    if block.kind == "tool_use":
        return {"functionCall": {"name": block.body["name"], "args": block.body["input"]}}
    return None


def _chunk(parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


# --- the CLI ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GeminiHome:
    """A home folder in which Gemini CLI starts without any first-run dialog."""

    path: Path
    project: Path

    @classmethod
    def make(cls, folder: Path, settings: Mapping[str, Any] | None = None, *, trusted: bool = True) -> GeminiHome:
        home = cls(folder / "home", folder / "project")
        (home.path / ".gemini").mkdir(parents=True)
        home.project.mkdir()
        known: dict[str, Any] = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": True}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "ui": {"theme": "Default"},
            "telemetry": {"enabled": False},
        }
        home.settings.write_text(json.dumps({**known, **(settings or {})}, indent=2))
        if trusted:
            home.trust_file.write_text(json.dumps({str(home.project): "TRUST_FOLDER"}))
        return home

    @property
    def settings(self) -> Path:
        return self.path / ".gemini" / "settings.json"

    @property
    def trust_file(self) -> Path:
        return self.path / ".gemini" / "trustedFolders.json"


class Gemini:
    """One running CLI."""

    def __init__(self, terminal: Terminal, home: GeminiHome) -> None:
        self.terminal, self.home = terminal, home

    @property
    def pid(self) -> int:
        return self.terminal.pid

    @property
    def title(self) -> str:
        assert isinstance(self.terminal, Pane)
        return self.terminal.variable("pane_title")

    def screen(self) -> str:
        assert isinstance(self.terminal, Pane)
        return self.terminal.screen()

    def wait_ready(self) -> None:
        """Wait until the input box is there and the screen has settled."""
        until(lambda: self.terminal.shows(COMPOSER), every=0.1, what="the input box", show=self._show)
        self.terminal.settle(0.3)

    def say(self, words: str) -> None:
        """Wait for the input box, type, see the words there, and send them."""
        self.wait_ready()
        self.terminal.text(words)
        until(lambda: self.terminal.shows(words), what=f"{words!r} in the input box", show=self._show)
        self.terminal.settle(0.2)
        self.terminal.key("Enter")

    def wait_dialog(self, words: str) -> str:
        """Wait until a dialog with these words is up and the screen has settled; returns the screen."""
        until(lambda: self._dialog(words), every=0.05, what=f"a dialog {words!r}", show=self._show)
        return self.terminal.settle(0.2)

    def press(self, *names: str) -> None:
        """One answer at the desk, after the screen has settled."""
        self.terminal.settle(0.2)
        self.terminal.key(*names)

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()

    def _dialog(self, words: str) -> bool:
        screen = self.screen()
        return COMPOSER not in screen and squeezed(words) in squeezed(screen)

    def _show(self) -> str:
        return self.screen() if isinstance(self.terminal, Pane) else ""


def environment(home: GeminiHome, model: GeminiModel) -> dict[str, str]:
    """All that the CLI may know: nothing of the person's own environment gets in."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home.path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": model.base_url,
    }


def start_gemini(
    where: Tmux | Ptys,
    binary: Path,
    home: GeminiHome,
    model: GeminiModel,
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cols: int = 120,
    rows: int = 40,
) -> Gemini:
    """Gemini CLI in the home's project. It leads a process group (its pane's), with a child that does the work."""
    known = {**environment(home, model), **(env or {})}
    command = [str(binary), *args]
    return Gemini(where.start(command, cwd=home.project, env=known, cols=cols, rows=rows), home)


def end_group(gemini: Gemini) -> None:
    """End it with its child, which a signal to the first process alone would leave behind."""
    for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(gemini.pid, number)
            until(lambda: not _anybody(gemini.pid), patience)
        except ProcessLookupError:
            return
        except AssertionError:
            continue


def _anybody(group: int) -> bool:
    """Is anybody left in this process group, whether or not the first one is?"""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
