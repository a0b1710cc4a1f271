"""What the toy's plugin reports, and how an answer is said to it."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec
from msgspec import Struct

from yourcall.agents.session_spec import Output, PluginGreeting, RequestDone
from yourcall.model.events import CallSettled, PromptRaised, SessionSeen
from yourcall.model.prompts import Answer, Option, Prompt, Question, Refused, Tool
from yourcall.model.sessions import Link, Session

NAME = "toy"
ASKED = "run"


class Message(Struct, frozen=True):
    """Of the plugin: `asked` with a command, `replied` with what was said to it, `granted` with an id."""

    type: Literal["asked", "replied", "granted"]
    id: str
    command: str = ""
    allowed: bool = False


class About(Struct, frozen=True):
    session: str
    cwd: str


class ToyConversation:
    def __init__(self, greeting: PluginGreeting) -> None:
        self._about = msgspec.json.decode(greeting.about, type=About)
        self._pid = greeting.callers[0].pid if greeting.callers else 0

    def open(self) -> list[bytes]:
        return [b'{"type":"welcome"}']

    def hear(self, data: bytes, at: float) -> Output:
        try:
            message = msgspec.json.decode(data, type=Message)
        except msgspec.DecodeError:
            return Output()
        prompt_id = _prompt_id(self._about.session, message.id)
        match message.type:
            case "asked":
                return self._asked(message, prompt_id, at)
            case "replied":
                outcome = "allowed" if message.allowed else "denied"
                return Output((CallSettled(at, prompt_id, outcome, "held", "the toy went on"),))
            case "granted":
                return Output(done=RequestDone(message.id))

    def _asked(self, message: Message, prompt_id: str, at: float) -> Output:
        body = msgspec.json.encode({"id": message.id, "tool_input": {"command": message.command}})
        request = hashlib.sha256(body).hexdigest()
        options = (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny"))
        session = Session(
            self._about.session,
            NAME,
            self._about.cwd,
            "waiting",
            links=(Link("plugin"),),
            pid=self._pid,
            seen_at=at,
        )
        prompt = Prompt(
            prompt_id,
            "permission",
            NAME,
            session.id,
            session.cwd,
            f"Run {message.command}",
            at,
            body=message.command,
            tool=Tool("run"),
            questions=(Question(ASKED, "Run it?", options),),
            request=request,
            link="plugin",
            answerable=True,
        )
        return Output((SessionSeen(at, session), PromptRaised(at, prompt)), {request: body})

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> list[bytes] | Refused:
        asked = msgspec.json.decode(request)["id"]
        allow = answer.choices.get(ASKED) == ("allow",)
        return [msgspec.json.encode({"type": "answer", "id": asked, "allow": allow})]

    def say(self, session_id: str, text: str) -> tuple[str, bytes] | Refused:
        return "say-1", msgspec.json.encode({"type": "say", "id": "say-1", "text": text})

    def interrupt(self, session_id: str) -> tuple[str, bytes] | Refused:
        return Refused("The toy has no turns.")


def _prompt_id(session: str, request: str) -> str:
    """The same for the same request, whenever it is reported."""
    return "toy" + hashlib.sha256(f"{session} {request}".encode()).hexdigest()[:12]
