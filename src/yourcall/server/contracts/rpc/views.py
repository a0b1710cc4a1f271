"""From rows to what a client of the JSON-RPC contract is shown: the five states, the permission types, a prompt.

Rule: pure, and only a view; the prompt itself stays the one that every other device shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

from yourcall.core.queue_order import place
from yourcall.model.messages import Message
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session
from yourcall.rules.effects.commands import parts_of
from yourcall.rules.shell.items import Unread
from yourcall.rules.shell.tokens import LONGEST
from yourcall.server.contracts.rpc.wire import PromptType, PtyState
from yourcall.server.ports import Bodies
from yourcall.server.views import tool_input

MOST = 1_000  # names kept; the oldest is forgotten, and the session's own id still works


class Names:
    """One for the whole server: a client that connects again is known by its device."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], str] = {}
        self._names: dict[tuple[str, str], str] = {}

    def give(self, client: str, name: str, session_id: str) -> None:
        if name and name != session_id:
            self._names.pop((client, self._ids.pop((client, name), "")), None)
            self._ids[client, name] = session_id
            self._names[client, session_id] = name
        while len(self._ids) > MOST:
            (owner, oldest), session_id = next(iter(self._ids.items()))
            del self._ids[owner, oldest]
            self._names.pop((owner, session_id), None)

    def id_of(self, client: str, name: str) -> str:
        return self._ids.get((client, name), name)

    def name_of(self, client: str, session_id: str) -> str:
        return self._names.get((client, session_id), session_id)

    def moved(self, client: str, before: str, after: str) -> None:
        """The session goes by another id of its own now; for this client its name stays."""
        self.give(client, self.name_of(client, before), after)


# Nobody asks anything there: the agent has stopped.
PAUSES = frozenset({"ready", "problem"})
# What is decided with a yes or a no; everything else is a question.
DECIDED = frozenset({"permission", "plan", "trust", "startup"})

# Tools by what they do, whichever agent has them.
TYPES: dict[str, PromptType] = {
    "write": "write_file",
    "write_file": "write_file",
    "edit": "edit_file",
    "multiedit": "edit_file",
    "notebookedit": "edit_file",
    "replace": "edit_file",
    "apply_patch": "edit_file",
    "delete": "delete_file",
    "delete_file": "delete_file",
    "bash": "bash_command",
    "shell": "bash_command",
    "exec_command": "bash_command",
    "run_shell_command": "bash_command",
    "powershell": "bash_command",
}
# Where a tool's input says what it is about.
TARGETS = ("file_path", "path", "notebook_path", "command", "url", "query", "pattern")
PREVIEWS = ("content", "new_string", "new_source", "command", "plan")


class Standing(Struct, frozen=True):
    """How a session stands. `prompt` is the one to be answered first, if it asks anything."""

    state: PtyState
    waiting: bool = False
    prompt_type: PromptType = ""
    prompt: Prompt | None = None


def standing(session: Session | None, prompts: Iterable[Prompt], bodies: Bodies) -> Standing:
    if session is None or session.state == "ended":
        return Standing("idle")
    mine = [prompt for prompt in prompts if prompt.session_id == session.id and prompt.state == "open"]
    asks = min(
        (p for p in mine if p.kind not in PAUSES),
        key=lambda p: (not p.answerable, place(p)),
        default=None,
    )
    if asks is not None:
        return Standing(
            "permission" if asks.kind in DECIDED else "question", True, prompt_type(asks, bodies), asks
        )
    if any(prompt.kind == "problem" for prompt in mine):
        return Standing("error")
    # A session that waits with nothing open has just been answered.
    return Standing("thinking" if session.state in ("working", "waiting") else "idle")


def prompt_type(prompt: Prompt, bodies: Bodies) -> PromptType:
    if prompt.kind == "trust":
        return "trust_folder"
    if prompt.kind != "permission" or prompt.tool is None:
        return "unknown"
    name = prompt.tool.name
    kind: PromptType = "mcp_tool" if name.startswith("mcp__") else TYPES.get(name.lower(), "unknown")
    return "delete_file" if kind == "bash_command" and _deletes(prompt, bodies) else kind


def _deletes(prompt: Prompt, bodies: Bodies) -> bool:
    """A command that does nothing but delete."""
    command = _input(prompt, bodies).get("command")
    parts = parts_of(command) if isinstance(command, str) and len(command) <= LONGEST else None
    if parts is None or isinstance(parts, Unread):
        return False
    return bool(parts) and all(part.refs and all(ref.use == "delete" for ref in part.refs) for part in parts)


def target(prompt: Prompt, bodies: Bodies) -> str:
    """What a prompt is about, in a word: a file (as seen from the session's folder), a command, a tool."""
    if prompt.kind == "trust":
        return prompt.cwd
    if prompt_type(prompt, bodies) == "mcp_tool" and prompt.tool is not None:
        return prompt.tool.name
    given = _input(prompt, bodies)
    value = next((str(given[name]) for name in TARGETS if isinstance(given.get(name), str)), "")
    inside = prompt.cwd.rstrip("/") + "/"
    return (value.removeprefix(inside) if len(inside) > 1 else value) or prompt.title


def preview(prompt: Prompt, bodies: Bodies) -> str | None:
    given = _input(prompt, bodies)
    value = next((str(given[name]) for name in PREVIEWS if isinstance(given.get(name), str)), "")
    return value or prompt.body or None


def stop_reason(message: Message) -> str:
    """As this contract has it: `tool_use` only with a call, `end_turn` only with the last words, else empty. An
    agent's record names one reason for all parts of a message, thoughts and first words included."""
    if message.role != "assistant" or not message.stop_reason:
        return ""
    kinds = {block.type for block in message.content}
    if message.stop_reason == "tool_use":
        return "tool_use" if "tool_use" in kinds else ""
    return "end_turn" if "text" in kinds else ""


def workspace_id(path: str) -> str:
    """The same for the same folder, whether it was named or a session was found in it."""
    return "ws-" + hashlib.sha256(path.encode("utf-8", "replace")).hexdigest()[:12]


def is_live(session: Session) -> bool:
    """It was not started by us."""
    return not any(link.kind == "stdio" for link in session.links)


def terminal_app(session: Session) -> str:
    """`tmux`, or `yourcall` for one that `yourcall run` has in a terminal; empty where there is none to reach."""
    kinds = {link.kind for link in session.links}
    return "tmux" if "tmux" in kinds else "yourcall" if "pty" in kinds else ""


def _input(prompt: Prompt, bodies: Bodies) -> dict[str, Any]:
    raw = tool_input(bodies.body(prompt.request))
    try:
        given: Any = msgspec.json.decode(raw) if raw is not None else None
    except (ValueError, RecursionError):
        given = None
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}
