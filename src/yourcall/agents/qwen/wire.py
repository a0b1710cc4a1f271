"""What Qwen Code emits: hook payloads, the events of its dual output, the lines of its record. Seen on 0.24.4.

Rule: only the fields we rely on are named, most may be missing, and unknown ones are kept out.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field

from yourcall.agents.kit import hooks
from yourcall.agents.kit.wire import empty, null


class HookPayload(hooks.HookPayload, frozen=True):
    prompt_id: str = ""
    last_assistant_message: str = ""


class SessionData(Struct, frozen=True):
    session_id: str = ""
    cwd: str = ""
    version: str = ""


class ControlRequest(Struct, frozen=True):
    """A dialog that is open now; `input` is the call as the model made it."""

    subtype: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    input: Raw = field(default_factory=empty)


class Allowed(Struct, frozen=True):
    allowed: bool = False


class ControlResponse(Struct, frozen=True):
    """`success`: the dialog is over, whoever answered it. `error`: an answer that came too late, or was for
    nothing that is asked."""

    subtype: str = ""
    request_id: str = ""
    response: Allowed = Allowed()


class ChannelEvent(Struct, frozen=True):
    """One line of the event file."""

    type: str = ""
    subtype: str = ""
    session_id: str = ""
    request_id: str = ""
    data: SessionData = SessionData()
    request: ControlRequest = ControlRequest()
    response: ControlResponse = ControlResponse()


class AskOption(Struct, frozen=True):
    label: str = ""
    description: str = ""


class AskQuestion(Struct, frozen=True):
    question: str = ""
    header: str = ""
    options: list[AskOption] = []
    multiSelect: bool = False


class AskInput(Struct, frozen=True):
    questions: list[AskQuestion] = []


class FunctionCall(Struct, frozen=True):
    id: str = ""
    name: str = ""
    args: Raw = field(default_factory=empty)


class FunctionResponse(Struct, frozen=True):
    id: str = ""
    name: str = ""
    response: Raw = field(default_factory=empty)


class Part(Struct, frozen=True):
    text: str = ""
    thought: bool = False
    functionCall: FunctionCall | None = None
    functionResponse: FunctionResponse | None = None


class Message(Struct, frozen=True):
    role: str = ""
    parts: list[Part] = []


class Usage(Struct, frozen=True):
    promptTokenCount: int = 0
    candidatesTokenCount: int = 0
    cachedContentTokenCount: int = 0


class CallEnd(Struct, frozen=True):
    """`status`: success, error or cancelled. `resultDisplay`: another shape for each tool."""

    callId: str = ""
    status: str = ""
    resultDisplay: Raw = field(default_factory=null)


class RecordLine(Struct, frozen=True):
    """One line of the record: `type` user, assistant, tool_result or system."""

    type: str = ""
    subtype: str = ""
    timestamp: str = ""
    provenance: str = ""
    model: str = ""
    message: Message | None = None
    usageMetadata: Usage | None = None
    toolCallResult: CallEnd | None = None


class Registered(Struct, frozen=True):
    """The CLI's own word about a process of its, in its registry. `kind`: tui, headless, serve, external."""

    pid: int = 0
    procStart: str = ""
    sessionId: str = ""
    cwd: str = ""
    qwenVersion: str = ""
    kind: str = ""
