"""Real ACP agents against scripted models: for each, a home of its own, its model, and how that model does things.

The rule it keeps: a test says what the model does in words that no agent owns (`run`, `write`, `speak`, `halt`);
the stage of an agent spells it. Nothing is reached but loopback and the folder of the test.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kit import claude, gemini, responses_server, turns
from kit.chat_server import ChatServer
from kit.claude import ClaudeHome
from kit.codex import CodexHome
from kit.gemini import GeminiHome, GeminiModel
from kit.model_server import ModelServer
from kit.poll import until
from kit.responses_server import ResponsesServer
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kit.yourcall import Said

NOWHERE = "http://127.0.0.1:9"  # nobody listens on this port


class OfAgent(Yourcall):
    """One whose sessions find the agent of the test, in a home of its own."""

    def __init__(self, folder: Path, env: dict[str, str], binary: Path) -> None:
        super().__init__(folder)
        self._given = {name: value for name, value in env.items() if name != "PATH"}
        self._binary = binary

    @property
    def env(self) -> dict[str, str]:
        ours = super().env
        return {**ours, **self._given, "PATH": f"{self._binary.parent}{os.pathsep}{ours['PATH']}"}


@dataclass
class Stage:
    """One agent, ready to be started by yourcall."""

    name: str
    project: Path
    model: Any
    yourcall: Yourcall
    spell: Callable[[str, tuple[str, ...]], Any]
    closing: ExitStack = field(repr=False)

    def script(self, name: str, *turns: list[tuple[str, ...]]) -> str:
        """Register what the model does; returns the words that start it."""
        return self.model.script(
            name, *([self.spell(word, tuple(rest)) for word, *rest in turn] for turn in turns)
        )

    def start(self, *words: str, say: str = "", code: int = 0) -> Said:
        said = self.yourcall.run(
            "run", "--acp", "--cwd", str(self.project), *(["--say", say] if say else []), *words, timeout=120
        )
        assert said.code == code, said
        return said

    def session(self, say: str = "", *words: str) -> str:
        return self.start(*words, self.name, say=say).out.strip()

    def prompt(self) -> dict[str, Any]:
        return self.yourcall.wait_prompt()

    def ready(self) -> dict[str, Any]:
        return self.yourcall.pause("ready")

    def settled(self, prompt: dict[str, Any]) -> tuple[str, str]:
        shown = self.yourcall.wait_state(prompt["id"], "confirmed", "desk", "ended", "unsure")
        return shown["state"], shown["outcome"]

    def entries(self, session: str) -> list[dict[str, Any]]:
        status, page = self.yourcall.http("GET", f"/api/sessions/{session}/conversation")
        assert status == 200, page
        return page["entries"]

    def made(self, name: str) -> bool:
        return (self.project / name).exists()

    def pid(self, session: str) -> int:
        status, found = self.yourcall.http("GET", "/api/sessions")
        assert status == 200, found
        return next(each["pid"] for each in found if each["id"] == session)

    def gone(self, group: int) -> None:
        """Nothing of this process group is left."""
        until(lambda: not _anybody(group), what=f"the end of group {group}")


def _anybody(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _blocks(shell: Callable[..., Any], write: Callable[..., Any]) -> Callable[[str, tuple[str, ...]], Any]:
    def spell(word: str, rest: tuple[str, ...]) -> Any:
        match word:
            case "run":
                return shell(*rest)
            case "write":
                return write(*rest)
            case "speak":
                return turns.text(*rest)
            case "call":
                return turns.tool(rest[0], **json.loads(rest[1]))
            case _:
                return turns.pause(*rest)

    return spell


def _steps(word: str, rest: tuple[str, ...]) -> Any:
    match word:
        case "run":
            return responses_server.escalated(*rest)
        case "write":
            return responses_server.patch(
                f"*** Add File: {rest[0]}", *(f"+{line}" for line in rest[1].splitlines())
            )
        case "speak":
            return responses_server.say(*rest)
        case _:
            return responses_server.pause(*rest)


def stage(name: str, folder: Path, binary: Path) -> Stage:
    """The agent of this name with its model and a running yourcall; close it with `stage.closing.close()`."""
    closing = ExitStack()
    with ExitStack() as opening:
        spell: Callable[[str, tuple[str, ...]], Any]
        match name:
            case "gemini-acp":
                model: Any = opening.enter_context(GeminiModel())
                google = GeminiHome.make(folder)
                path, project, env = google.path, google.project, gemini.environment(google, model)
                spell = _blocks(
                    lambda command: turns.tool("run_shell_command", command=command, description="Do it"),
                    lambda file, text: turns.tool("write_file", file_path=str(project / file), content=text),
                )
            case "claude-agent-acp":
                model = opening.enter_context(ModelServer())
                anthropic = ClaudeHome.make(folder)
                path, project, env = anthropic.path, anthropic.project, claude.environment(anthropic, model)
                env["ANTHROPIC_AUTH_TOKEN"] = env.pop("ANTHROPIC_API_KEY")  # the key itself is withheld by default
                spell = _blocks(
                    lambda command: turns.tool("Bash", command=command, description="Do it"),
                    lambda file, text: turns.tool("Write", file_path=str(project / file), content=text),
                )
            case "codex-acp":
                model = opening.enter_context(ResponsesServer())
                openai = CodexHome.make(folder, model)
                path, project, env = openai.path, openai.project, {**openai.env, "OPENAI_API_KEY": "dummy"}
                opening.callback(openai.close)
                spell = _steps
            case _:
                model = opening.enter_context(ChatServer())
                path, project = folder / "user", folder / "project"
                path.mkdir()
                project.mkdir()
                env = {"HOME": str(path), "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/bash"}
                env |= any_provider(name, path, model)
                shell = "run_shell_command" if name == "qwen" else "bash"
                more = {"is_background": False} if name == "qwen" else {}
                write, where = ("write_file", "file_path") if name == "qwen" else ("write", "filePath")
                spell = _blocks(
                    lambda command: turns.tool(shell, command=command, description="Do it", **more),
                    lambda file, text: turns.tool(write, **{where: str(project / file), "content": text}),
                )
        (path / ".bash_profile").write_text(f'export PATH="{binary.parent}:$PATH"\n')
        running = opening.enter_context(OfAgent(folder, env, binary))
        closing = opening.pop_all()
    return Stage(name, project, model, running, spell, closing)


def any_provider(name: str, home: Path, model: ChatServer) -> dict[str, str]:
    """How an agent for any provider is told of ours."""
    if name == "qwen":
        settings = {"security": {"auth": {"selectedType": "openai"}}, "general": {"enableAutoUpdate": False}}
        settings["tools"] = {"approvalMode": "default"}  # by itself a model decides what is asked
        (home / ".qwen").mkdir()
        (home / ".qwen" / "settings.json").write_text(
            json.dumps({**settings, "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}})
        )
        return {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": model.base_url, "OPENAI_MODEL": "scripted"}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": model.base_url, "apiKey": "dummy"},
        "models": {"scripted": {"name": "scripted", "limit": {"context": 100_000, "output": 10_000}}},
    }
    config = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }
    folder = home / ".config" / name
    folder.mkdir(parents=True)
    (folder / f"{name}.json").write_text(json.dumps(config))
    # Each of these would look for models, plugins or a newer version of itself elsewhere.
    off = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE", "SESSION_INGEST", "PRESENCE")
    quiet = {f"{name.upper()}_DISABLE_{what}": "1" for what in off}
    elsewhere = {f"KILO_{what}_URL": NOWHERE for what in ("API", "MODELS", "EVENT_SERVICE", "SESSION_INGEST")}
    return {**quiet, **elsewhere, "KILO_TELEMETRY_LEVEL": "off", "npm_config_registry": NOWHERE}
