"""A conversation with a Codex that yourcall started, over the pipes of an app-server of its own.

Rule: pure. It is the same protocol as on the control socket, one message a line; nobody but us listens, so what is
answered was answered by us.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.agents.codex import wire
from yourcall.agents.codex.live.calls import NOTHING
from yourcall.agents.codex.live.connection import ServerConnection
from yourcall.agents.jsonrpc import Message
from yourcall.agents.kit.wire import decoded
from yourcall.agents.session_spec import Child, Headless, Output, Speaking, StartOptions
from yourcall.model.prompts import Answer, Prompt, Refused

LINK = "stdio"

# What yourcall calls a mode -> when Codex asks, and what it may do unasked. Anything else is as its config says.
POLICIES: dict[str, dict[str, object]] = {
    "default": {"approvalPolicy": "on-request"},
    "manual": {"approvalPolicy": "on-request"},
    "acceptEdits": {"approvalPolicy": "on-request", "sandbox": "workspace-write"},
    "dontAsk": {"approvalPolicy": "never"},
    "bypassPermissions": {"approvalPolicy": "never", "sandbox": "danger-full-access"},
}
# It may run what its own sandbox lets read, and asks for no more.
READ_ONLY: dict[str, object] = {"approvalPolicy": "never", "sandbox": "read-only"}
# A change while it runs is one of when Codex asks; planning, and what it may do unasked, are settled at the start.
CHANGEABLE = frozenset({"default", "manual", "dontAsk"})
UNBOUND = "bypassPermissions"
NOT_WHILE_IT_RUNS = Refused(
    "Codex takes this mode at the start of a session only: stop it, and resume it in that mode."
)


def arguments(options: StartOptions) -> list[str]:
    return ["app-server"]


class CodexSession:
    """One app-server process with one session of ours."""

    def __init__(self, wish: StartOptions, child: Child) -> None:
        self._wish = wish
        self._server = ServerConnection(LINK, "", child=child)
        self.session_id = ""
        self.speaking = Speaking()
        self._begun = False

    def state(self) -> bytes:
        return b""  # its requests wait for replies in this process

    def open(self) -> list[bytes]:
        return _lines(self._server.open())

    def hear(self, line: bytes, at: float) -> Output:
        output = self._server.hear(line, at)
        self.speaking = self._server.speaking.get(self.session_id, Speaking())
        more = [*output.lines]
        if self._server.ready and not self._begun:
            self._begun = True
            more.append(self._begin())
        return replace(output, lines=tuple(_lines(more)))

    def _begin(self) -> bytes:
        options = self._wish
        policy = READ_ONLY if options.read_only else POLICIES.get(options.permission_mode, {})
        params: dict[str, object] = {"cwd": options.cwd, **policy}
        if options.model:
            params["model"] = options.model
        if not options.resume:
            return self._server.call("thread/start", params, self._started)
        params |= {"threadId": options.resume, "excludeTurns": True}
        return self._server.call("thread/resume", params, self._started)

    def _started(self, message: Message, at: float) -> Output:
        resumed = decoded(wire.Resumed, message.result)
        if resumed is None:
            return _failed(message)
        self.session_id = resumed.thread.id
        met = self._server.own(resumed.thread, at)
        mode = "plan" if self._wish.permission_mode == "plan" else ""
        first = self._server.begin(
            resumed.thread.id,
            self._wish.prompt,
            mode,
            lambda message, at: _failed(message) if message.error is not None else NOTHING,
        )
        return replace(met, lines=(*met.lines, first))

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> bytes | Refused:
        messages = self._server.answer(prompt, answer, request)
        return messages if isinstance(messages, Refused) else b"".join(_lines(messages))

    def say(self, text: str, command: bool) -> bytes | Refused:
        if command:
            return Refused("Codex's own commands are typed at its terminal.")
        said = self._server.say(self.session_id, text)
        return said if isinstance(said, Refused) else said[1] + b"\n"

    def ask(self, what: str, value: str) -> tuple[str, bytes] | Refused:
        match what:
            case "mode":
                if value not in CHANGEABLE or self._wish.permission_mode == UNBOUND:
                    return NOT_WHILE_IT_RUNS
                policy = POLICIES[value]["approvalPolicy"]
                number, message = self._server.change(self.session_id, {"approvalPolicy": policy})
            case "model":
                number, message = self._server.change(self.session_id, {"model": value})
            case _:
                number, message = self._server.stop(self.session_id)
        return number, message + b"\n"


def _failed(message: Message) -> Output:
    return Output(gives_up=(message.error.message if message.error else "") or "Codex gave no reason")


def _lines(messages: list[bytes]) -> list[bytes]:
    return [message + b"\n" for message in messages]


HEADLESS = Headless("codex", arguments, CodexSession, read_only=True)
