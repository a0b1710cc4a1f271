"""A client of the JSON-RPC contract, written from its document alone: methods, models and events as named there.

It knows nothing of yourcall but where its socket is. What it is sent is decoded strictly: a field that is missing,
or that the document does not have, is an error.
"""

from __future__ import annotations

import json
import time
from itertools import count
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from kit.yourcall import Yourcall

STATES = {"idle", "thinking", "permission", "question", "error"}
TYPES = {
    "write_file",
    "edit_file",
    "delete_file",
    "bash_command",
    "trust_folder",
    "mcp_tool",
    "unknown",
}
WAITING = {"permission": True, "question": True, "idle": False, "thinking": False, "error": False}
FIELDS = {
    "pty_output": {"clean_text", "raw_text", "state", "session_id"},
    "pty_permission": {"type", "target", "description", "preview", "options", "session_id"},
    "pty_state": {"state", "waiting_for_input", "prompt_type", "session_id"},
    "claude_message": {"session_id", "type", "role", "content", "stop_reason", "is_context_compaction"},
}


class ServerError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: dict[str, Any] = error.get("data") or {}


class ContractClient:
    def __init__(self, yc: Yourcall) -> None:
        self._yourcall = yc
        self._ids = count(1)
        self._replies: dict[int, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> ContractClient:
        talk = self._yourcall.connect("api.sock")
        self._open = connect("ws://localhost/ws", sock=talk, proxy=None, max_size=None)
        self._socket = self._open.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def begin(self, method: str, **params: Any) -> int:
        id = next(self._ids)
        self._socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": id}))
        return id

    def end(self, id: int, timeout: float = 90) -> dict[str, Any]:
        self._until(lambda: id in self._replies, timeout, f"a reply to {id}")
        reply = self._replies.pop(id)
        if "error" in reply:
            raise ServerError(reply["error"])
        return reply["result"]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.end(self.begin(method, **params))

    def send_prompt(self, prompt: str, mode: str = "interactive", **more: Any) -> str:
        result = self.call("session/send", prompt=prompt, permission_mode=mode, **{"agent_type": "claude", **more})
        assert set(result) == {"status", "session_id"}
        assert result["status"] == "sent"
        return result["session_id"]

    def send_input(self, session_id: str, input: str) -> None:
        said = self.call("session/input", session_id=session_id, input=input, agent_type="claude")
        assert said == {"status": "sent"}

    def send_key(self, session_id: str, key: str) -> None:
        said = self.call("session/input", session_id=session_id, key=key, agent_type="claude")
        assert said == {"status": "sent"}

    def wait(self, type: str, wanted: Callable[[dict[str, Any]], object] = bool, timeout: float = 60) -> Any:
        """The payload of the first event like this; it and everything before it of its type are used up."""

        def look() -> bool:
            return any(each["type"] == type and wanted(each["payload"]) for each in self.events)

        self._until(look, timeout, f"a {type}")
        for place, each in enumerate(self.events):
            if each["type"] == type and wanted(each["payload"]):
                self.events = [e for e in self.events[:place] if e["type"] != type] + self.events[place + 1 :]
                return each["payload"]
        raise AssertionError

    def listen(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._hear(left)

    def _until(self, done: Callable[[], bool], timeout: float, what: str) -> None:
        deadline = time.monotonic() + timeout
        while not done():
            left = deadline - time.monotonic()
            assert left > 0, f"not within {timeout:g} s: {what}\n{json.dumps(self.events[-20:], indent=1)[:6000]}"
            self._hear(left)

    def _hear(self, timeout: float) -> None:
        try:
            message = json.loads(self._socket.recv(timeout=timeout))
        except TimeoutError:
            return
        if "jsonrpc" in message:
            assert message["jsonrpc"] == "2.0"
            self._replies[message["id"]] = message
        else:
            self.events.append(decoded(message))


def decoded(event: dict[str, Any]) -> dict[str, Any]:
    """The event, checked as a strictly typed client would decode it."""
    assert set(event) == {"type", "timestamp", "payload"}, event
    assert event["timestamp"].endswith("Z")
    payload = event["payload"]
    if event["type"] in FIELDS:
        assert set(payload) == FIELDS[event["type"]], event
    match event["type"]:
        case "pty_output":
            assert payload["state"] in STATES
            assert "\x1b" not in payload["clean_text"]
        case "pty_permission":
            assert payload["type"] in TYPES
            for option in payload["options"]:
                assert set(option) == {"key", "label", "description", "selected"}
        case "pty_state":
            assert WAITING[payload["state"]] == payload["waiting_for_input"]
            assert payload["prompt_type"] in TYPES | {""}
            assert bool(payload["prompt_type"]) == payload["waiting_for_input"]
        case "claude_message":
            assert payload["type"] in ("user", "assistant", "system")
            assert isinstance(payload["stop_reason"], str)
            for block in payload["content"]:
                allowed = {"type", "text", "tool_name", "tool_id", "tool_input", "is_error"}
                assert set(block) <= allowed
        case "claude_log":
            assert payload["session_id"]
        case other:
            raise AssertionError(other)
    return event
