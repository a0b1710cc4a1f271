"""Qwen Code's dual output: each dialog as a request with an id, and yes or no by that id.

Rule: who was first is told by the order of the channel, never by time. The CLI takes its lines one after the
other, and says of each answer that it could not use. So an answer is sent with a second line behind it that
nobody can have asked for: once the CLI has refused that one, the answer before it was used, unless it was
refused too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from yourcall.agents.kit.hooks import SAFE_ID
from yourcall.agents.kit.wire import decoded
from yourcall.agents.qwen.requests import AGENT, ALLOW, DECISION, DENY, Request, prompt_of
from yourcall.agents.qwen.wire import ChannelEvent
from yourcall.agents.session_spec import Output, PluginGreeting
from yourcall.model.events import AnyEvent, CallSettled, DialogClosed, PromptRaised, SessionSeen
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.model.sessions import Session

# Most lines are words of the model as they come; these alone are read.
SIGNS = (b'{"type":"control_', b'{"type":"system","subtype":"session_start"', b'{"type":"user"')
BARRIER = "yourcall-"  # how the id of the line behind an answer begins
LONGEST_PATH = 4096
NO_WORDS = "Qwen Code takes instructions only in its own terminal."

_event = msgspec.json.Decoder(ChannelEvent)


class _Confirmation(Struct, frozen=True):
    request_id: str
    allowed: bool
    type: str = "confirmation_response"


HELLO = "hello"
_HELLO = msgspec.json.encode(_Confirmation(BARRIER + HELLO, allowed=False))


class _Asked(Struct):
    """A request that is not over. `sent`: our answer, of this run of ours; `used`: the CLI has used it, or not.
    `allowed`: what became of the dialog, as far as it was told. `raised`: people were told of it."""

    prompt: Prompt
    bodies: dict[str, bytes]
    sent: bool | None = None
    refused: bool = False
    used: bool | None = None
    allowed: bool | None = None
    raised: bool = False


class Channel:
    """One run of the CLI in a terminal. Nothing is raised before the CLI has been seen to read what we write: then
    what was written before is known to be read as well, and of an old file only what is still asked counts."""

    def __init__(self, greeting: PluginGreeting) -> None:
        self._pid = greeting.callers[0].pid if greeting.callers else 0
        self._session_id = ""
        self._cwd = ""
        self._joined = False
        self._asked: dict[str, _Asked] = {}

    def open(self) -> list[bytes]:
        return [_HELLO]

    def hear(self, data: bytes, at: float) -> Output:
        if not data.strip():
            return Output() if self._joined else Output(lines=(_HELLO,))
        if data.startswith(b'{"type":"user"'):
            return self._moved_on()
        if not data.startswith(SIGNS):
            return Output()
        try:
            data.decode()
            event = _event.decode(data)
        except (ValueError, RecursionError):
            return Output()
        match event.type:
            case "system":
                return self._begins(event, at)
            case "control_request" if event.request.subtype == "can_use_tool" and self._session_id:
                return self._asks(event, at)
            case "control_response":
                return self._told(event, at)
            case _:
                return Output()

    def _begins(self, event: ChannelEvent, at: float) -> Output:
        if not SAFE_ID.fullmatch(event.data.session_id):
            return Output()
        self._session_id, self._cwd = event.data.session_id, event.data.cwd[:LONGEST_PATH]
        session = Session(
            id=self._session_id,
            agent=AGENT,
            cwd=self._cwd,
            pid=self._pid,
            version=event.data.version[:40],
            seen_at=at,
        )
        return Output((SessionSeen(at, session),))

    def _moved_on(self) -> Output:
        """In an old file: nothing runs, and nobody speaks, while a dialog is open. Of a live one its record
        tells."""
        if not self._joined:
            self._asked = {known: asked for known, asked in self._asked.items() if asked.used is False}
        return Output()

    def _asks(self, event: ChannelEvent, at: float) -> Output:
        request_id = event.request_id
        if not SAFE_ID.fullmatch(request_id) or request_id.startswith(BARRIER) or request_id in self._asked:
            return Output()
        prompt = prompt_of(event.request, request_id, self._session_id, self._cwd, at)
        body = msgspec.json.encode(Request(request_id, event.request.tool_name, Raw(bytes(event.request.input))))
        body_id = hashlib.sha256(body).hexdigest()
        asked = self._asked[request_id] = _Asked(replace(prompt, request=body_id), {body_id: body})
        return self._raise([asked], at)

    def _raise(self, every: Iterable[_Asked], at: float) -> Output:
        """Those that people were not told of yet."""
        fresh = [asked for asked in every if not asked.raised] if self._joined else []
        bodies: dict[str, bytes] = {}
        for asked in fresh:
            asked.raised = True
            bodies |= asked.bodies
        return Output(tuple(PromptRaised(at, replace(each.prompt, opened_at=at)) for each in fresh), bodies)

    def _told(self, event: ChannelEvent, at: float) -> Output:
        response = event.response
        request_id = response.request_id.removeprefix(BARRIER)
        behind = response.request_id.startswith(BARRIER)
        if behind and request_id == HELLO:
            self._joined = True
            return self._raise(self._asked.values(), at)
        asked = self._asked.get(request_id)
        if asked is None:
            return Output()
        if response.subtype == "success" and not behind:
            asked.allowed = response.response.allowed
        elif response.subtype == "error" and behind:
            asked.used = not asked.refused
        elif response.subtype == "error":
            asked.refused = True
        return Output(tuple(self._news(request_id, asked, at)))

    def _news(self, request_id: str, asked: _Asked, at: float) -> list[AnyEvent]:
        """What is known of it now. A question or a plan is answered on the screen, and its record tells the
        rest."""
        prompt = asked.prompt
        if prompt.kind != "permission":
            if asked.allowed is not None:
                del self._asked[request_id]
            return []
        if asked.used is None:
            waits = asked.sent is not None or asked.allowed is None
            return [] if waits else self._over(request_id, asked, at, ours=False)
        if not asked.used:
            return self._over(request_id, asked, at, ours=False)
        if asked.allowed is None or asked.sent not in (None, asked.allowed):
            # Used, and not told what came of it, or told something else: the record knows.
            return [DialogClosed(at, prompt.id, "idle" if asked.sent is False else "busy")]
        return self._over(request_id, asked, at, ours=True)

    def _over(self, request_id: str, asked: _Asked, at: float, *, ours: bool) -> list[AnyEvent]:
        del self._asked[request_id]
        prompt_id, outcome = asked.prompt.id, "allowed" if asked.allowed else "denied"
        if ours:
            return [CallSettled(at, prompt_id, outcome, "held", "the CLI used the answer")]
        if asked.allowed:
            return [CallSettled(at, prompt_id, outcome, "desk", "it was allowed")]
        if asked.used is False:
            known = "unknown" if asked.allowed is None else "denied"
            return [CallSettled(at, prompt_id, known, "desk", "it was answered before")]
        # A refusal, or an error before it began: the record tells which.
        return [DialogClosed(at, prompt_id, "busy")]

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> list[bytes] | Refused:
        kept_request = decoded(Request, request)
        asked = self._asked.get(kept_request.request_id) if kept_request is not None else None
        choice = answer.choices.get(DECISION)
        if (
            kept_request is None
            or asked is None
            or asked.prompt.kind != "permission"
            or choice not in ((ALLOW,), (DENY,))
        ):
            return Refused("Qwen Code does not ask this any more; look at its terminal.")
        if asked.sent is not None:
            return Refused("An answer to this was sent already.")
        asked.sent = choice == (ALLOW,)
        lines = (kept_request.request_id, asked.sent), (BARRIER + kept_request.request_id, False)
        return [msgspec.json.encode(_Confirmation(*each)) for each in lines]

    def say(self, session_id: str, text: str) -> tuple[str, bytes] | Refused:
        return Refused(NO_WORDS)

    def interrupt(self, session_id: str) -> tuple[str, bytes] | Refused:
        return Refused(NO_WORDS)
