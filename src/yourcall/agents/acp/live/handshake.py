"""How a session over ACP begins: who are you, a session please, in this mode and with this model.

Rules
  * We offer the agent nothing but questions to a person: no files, no terminals. What it writes and runs, it does
    itself, so nothing gets past its own asking.
  * Nothing that asks a person is begun here (a browser, a login); what stands in the way is a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from yourcall import __version__
from yourcall.agents.acp import table, wire, wording
from yourcall.agents.acp.live.peer import NOTHING, Peer, Reply
from yourcall.agents.acp.live.settings import Settings
from yourcall.agents.acp.table import Row
from yourcall.agents.jsonrpc import Message, Problem
from yourcall.agents.kit import prompts
from yourcall.agents.kit.wire import decoded
from yourcall.agents.session_spec import Output, StartOptions
from yourcall.model.prompts import Refused

SAFE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}")  # it names a file, and is part of an address

LONGEST_NAME = 40
# `fs` and `terminal` are never named here: with `fs`, an agent was seen to write a file without asking.
CAPABILITIES: dict[str, dict[str, dict[str, str]]] = {"elicitation": {"form": {}, "url": {}}}


class Handshake:
    """From the first line to the session. `ready` is called once, with the time."""

    def __init__(
        self, peer: Peer, settings: Settings, row: Row, options: StartOptions, ready: Callable[[float], Output]
    ) -> None:
        self._peer, self._settings, self._wish, self._ready = peer, settings, options, ready
        self.row = row
        self.session_id = ""
        self._told = wire.Initialized()
        self._tried: set[str] = set()  # ways to sign in
        self._awaits_replay = False

    @property
    def info(self) -> wire.Info:
        return self._told.agentInfo or wire.Info()

    def open(self) -> bytes:
        client = {"name": "yourcall", "title": "yourcall", "version": __version__}
        params: dict[str, object] = {
            "protocolVersion": wire.VERSION,
            "clientCapabilities": CAPABILITIES,
            "clientInfo": client,
        }
        return self._peer.call("initialize", params, self._met)

    def updated(self, kind: str, at: float) -> Output:
        """An update came before the session was told of: the last one of a replay may be waited for."""
        if not self._awaits_replay or kind != self.row.replays_until:
            return NOTHING
        self._awaits_replay = False
        return self._arranged(at) if self.session_id else NOTHING  # else the reply to the load is still to come

    def _met(self, message: Message, at: float) -> Output:
        initialized = decoded(wire.Initialized, message.result) if message.error is None else None
        if initialized is None:
            why = wording.reason(message.error)
            return Output(gives_up=f"it does not speak the Agent Client Protocol{': ' + why if why else ''}")
        version = decoded(int, initialized.protocolVersion)
        if version != wire.VERSION:
            speaks = f"version {version}" if version is not None else "another version"
            newer = version is not None and version > wire.VERSION
            return Output(
                gives_up=f"it speaks {speaks} of the Agent Client Protocol, and yourcall speaks {wire.VERSION}:"
                f" update {'yourcall' if newer else 'the agent'}"
            )
        self._told = initialized
        title = prompts.line(self.info.title or self.info.name)[:LONGEST_NAME]
        self.row = table.introduced(self.info.name, title, self.row)
        return self._begin()

    def _begin(self) -> Output:
        params: dict[str, object] = {"cwd": self._wish.cwd, "mcpServers": []}
        if not self._wish.resume:
            return Output(lines=(self._peer.call("session/new", params, self._begun),))
        params["sessionId"] = self._wish.resume
        can = self._told.agentCapabilities
        if can.loadSession:
            self._awaits_replay = bool(self.row.replays_until)
            return Output(lines=(self._peer.call("session/load", params, self._begun),))
        if "resume" in can.sessionCapabilities:
            return Output(lines=(self._peer.call("session/resume", params, self._begun),))
        return Output(gives_up="it cannot go on with an earlier session; begin a new one")

    def _begun(self, message: Message, at: float) -> Output:
        if message.error is not None:
            return self._sign_in(message.error)
        begun = decoded(wire.Begun, message.result) or wire.Begun()
        session_id = self._wish.resume or begun.sessionId
        if not SAFE_ID.fullmatch(session_id):
            return Output(gives_up="it gave its session no name that can be used")
        self.session_id = session_id
        self._settings.told(begun)
        return NOTHING if self._awaits_replay else self._arranged(at)

    def _sign_in(self, problem: Problem) -> Output:
        """What it wants may be in its environment already."""
        why = wording.reason(problem)
        if problem.code != wire.AUTH_REQUIRED:
            return Output(gives_up=why or "it gave no reason")
        for method in self._told.authMethods or []:
            if method.type == "env_var" and method.id not in self._tried:
                self._tried.add(method.id)
                line = self._peer.call("authenticate", {"methodId": method.id}, self._signed_in(problem))
                return Output(lines=(line,))
        how = self.row.sign_in or "Sign in with its own command first."
        return Output(gives_up=f"it is not signed in ({why or 'authentication required'}). {how}")

    def _signed_in(self, problem: Problem) -> Reply:
        return lambda message, at: self._sign_in(problem) if message.error is not None else self._begin()

    def _arranged(self, at: float) -> Output:
        """Mode and model as wished, one after the other; a session in another mode than that does not begin."""
        for what, value in (("mode", self._wish.permission_mode), ("model", self._wish.model)):
            own = self.row.own(what, value)
            if not value or self._settings.is_set(what, own):
                continue
            change = self._settings.change(self.session_id, what, own)
            if isinstance(change, Refused):
                return Output(gives_up=change.reason)
            return Output(lines=(self._peer.call(*change, self._changed(what, value)),))
        return self._ready(at)

    def _changed(self, what: str, value: str) -> Reply:
        def changed(message: Message, at: float) -> Output:
            if message.error is not None:
                return Output(gives_up=f"it refused the {what} {value}: {wording.reason(message.error)}")
            self._settings.now(what, self.row.own(what, value))
            return self._arranged(at)

        return changed
