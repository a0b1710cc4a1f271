"""A conversation with a Claude that yourcall started, over its stream-json protocol.

Rule: pure. What Claude asks becomes the same prompts as through a hook; nobody but us can answer them, and its
own word (the echo of our answer, the tool's result, the echo of our instruction) is the proof that it did.
"""

from __future__ import annotations

from math import isfinite
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from yourcall.agents.claude import pauses
from yourcall.agents.claude.hooks import AGENT
from yourcall.agents.claude.live import requests
from yourcall.agents.claude.live.wire import (
    Limited,
    Line,
    Request,
    Requested,
    Responded,
    Result,
    Spoken,
    Streamed,
    System,
    ToolMeta,
    Unsendable,
    control_error,
    control_request,
    control_response,
    derived_uuid,
    mended,
    plain,
    user_message,
)
from yourcall.agents.claude.wire import Block, HookPayload
from yourcall.agents.kit.hooks import LONGEST_PATH, SAFE_ID
from yourcall.agents.kit.resets import sound
from yourcall.agents.session_spec import Child, Headless, Output, RequestDone, Speaking, StartOptions
from yourcall.core.step import PAUSES
from yourcall.model.events import (
    AnyEvent,
    CallSettled,
    DialogClosed,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    SessionSeen,
)
from yourcall.model.prompts import Answer, Kind, Outcome, Prompt, Refused
from yourcall.model.sessions import Link, Session, SessionState

NOTHING = Output()
MOST_SPOKEN = 200_000
TOLD_AT = 3  # tries of a call: one that works at the second or third is no news
T = TypeVar("T")

# Told once a turn, before the turn begins: where the conversation is written. Answered at once, with nothing.
HOOKS = {"UserPromptSubmit": [{"hookCallbackIds": ["yourcall"]}]}

_line = msgspec.json.Decoder(Line)
_blocks = msgspec.json.Decoder(list[Block])
_payload = msgspec.json.Decoder(HookPayload)


# Every tool of Claude's own that does more than read.
WRITING = (
    "Bash,BashOutput,KillShell,KillBash,Edit,MultiEdit,Write,NotebookEdit,Task,Agent,Skill,SlashCommand,"
    "EnterWorktree,ExitWorktree,PowerShell"
)


def arguments(options: StartOptions) -> list[str]:
    """How `claude` is called for a session that is driven over pipes."""
    words = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    # The echo of what we write is our proof that it was read.
    words += ["--replay-user-messages", "--include-partial-messages", "--permission-prompt-tool", "stdio"]
    return words + _wished(options)


def in_terminal(options: StartOptions) -> list[str]:
    """How it is called for one in a terminal, whose first instruction is given with it."""
    return [*_wished(options), "--", options.prompt]


def _wished(options: StartOptions) -> list[str]:
    words: list[str] = []
    if options.read_only:
        # What is disallowed is not even offered to the model; servers of the person's own may do anything.
        words += ["--permission-mode", "default", "--disallowedTools", WRITING, "--strict-mcp-config"]
    elif options.skip_permissions and not options.permission_mode:
        words += ["--dangerously-skip-permissions"]
    else:
        # `manual` is what new versions call it; all of them know `default`, and the new ones must be told.
        words += ["--permission-mode", (options.permission_mode or "default").replace("manual", "default")]
    words += ["--model", options.model] if options.model else []
    words += ["--resume", options.resume] if options.resume else []
    words += ["--allowedTools", ",".join(options.allowed_tools)] if options.allowed_tools else []
    return words


class Standing(msgspec.Struct, frozen=True):
    """How a conversation stands: the fields of `ClaudeSession` that change."""

    session_id: str
    seen: Session
    count: int
    asked: dict[str, str]
    requests: dict[str, str]
    kinds: dict[str, Kind]
    calls: dict[str, str]
    said: dict[str, Outcome]
    taken: set[str]
    wishes: dict[str, str]
    subagents: dict[str, str]
    tasks: list[msgspec.Raw]
    unheard: set[str]
    error: str
    pause: str
    trouble: str
    next: str
    resets_at: float = 0.0


class ClaudeSession:
    """One process of Claude's, from its first line to its last."""

    def __init__(self, wish: StartOptions, child: Child) -> None:
        self._wish, self._child = wish, child
        self.session_id = ""
        self.speaking = Speaking()
        self._seen = Session("", AGENT, child.cwd, mode="headless", links=(Link(requests.LINK),), pid=child.pid)
        self._count = 0
        self._asked: dict[str, str] = {}  # request id -> prompt id, while it is asked
        self._requests: dict[str, str] = {}  # prompt id -> request id
        self._kinds: dict[str, Kind] = {}
        self._calls: dict[str, str] = {}  # tool call -> prompt id
        self._said: dict[str, Outcome] = {}  # prompt id -> what our answer asks for
        self._taken: set[str] = set()  # prompts whose answer Claude has read
        self._wishes: dict[str, str] = {}  # ids of requests of ours
        self._subagents: dict[str, str] = {}
        self._tasks: list[msgspec.Raw] = []
        self._unheard: set[str] = set()  # messages that Claude has not echoed yet
        self._error = ""
        self._pause = ""  # the prompt that waits for the next instruction
        self._resets_at = 0.0  # of the limit that this turn has met
        self._trouble = ""  # the prompt that says that the service does not answer
        self._next = ""  # the uuid of the instruction that answers it

    # --- what the next daemon must know ---------------------------------------------------------------------

    def state(self) -> bytes:
        fields = {name: getattr(self, f"_{name}") for name in Standing.__struct_fields__ if name != "session_id"}
        return msgspec.json.encode(Standing(session_id=self.session_id, **fields))

    @classmethod
    def restored(cls, options: StartOptions, child: Child, state: bytes) -> ClaudeSession:
        session = cls(options, child)
        standing = msgspec.json.decode(state, type=Standing)
        session.session_id = standing.session_id
        for name in Standing.__struct_fields__:
            if name != "session_id":
                setattr(session, f"_{name}", getattr(standing, name))
        return session

    # --- what we write --------------------------------------------------------------------------------------

    def open(self) -> list[bytes]:
        first = control_request(self._new("initialize"), {"subtype": "initialize", "hooks": HOOKS})
        return [first, self._message(self._wish.prompt)]

    def say(self, text: str, command: bool) -> bytes | Refused:
        if not text.strip():
            return Refused("Write what Claude shall do.")
        # A command may have no echo, and no turn.
        return user_message(text, self._uuid()) if command else self._message(text)

    def ask(self, what: str, value: str) -> tuple[str, bytes]:
        match what:
            case "mode":
                request = {"subtype": "set_permission_mode", "mode": plain(value).replace("manual", "default")}
            case "model":
                request = {"subtype": "set_model", "model": plain(value)}
            case _:
                request = {"subtype": "interrupt"}
        request_id = self._new(what)
        return request_id, control_request(request_id, dict(request))

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> bytes | Refused:
        if prompt.kind in PAUSES:
            return self._instruct(prompt, answer)
        request_id = self._requests.get(prompt.id)
        if request_id is None:
            return Refused("Claude no longer asks this.")
        decision = requests.reply(prompt, answer, request)
        if isinstance(decision, Refused):
            return decision
        try:
            line = control_response(request_id, decision)
        except Unsendable as error:
            return Refused(f"This answer cannot be sent: {error}")
        self._said[prompt.id] = requests.wanted(prompt, answer)
        return line

    def _instruct(self, prompt: Prompt, answer: Answer) -> bytes | Refused:
        if prompt.id != self._pause:
            return Refused("Claude is at work again: this is not what it waits for.")
        line = self.say(answer.texts.get(pauses.NEXT, ""), command=False)
        if isinstance(line, bytes):
            self._next = self._last_uuid
        return line

    def _message(self, text: str) -> bytes:
        uuid = self._uuid()
        self._unheard.add(uuid)
        return user_message(_inert(text), uuid)

    def _new(self, what: str) -> str:
        self._count += 1
        request_id = f"yourcall-{self._count}"
        self._wishes[request_id] = what
        return request_id

    def _uuid(self) -> str:
        self._count += 1
        self._last_uuid = derived_uuid(str(self._child.pid), self._child.started, str(self._count))
        return self._last_uuid

    # --- what we hear ---------------------------------------------------------------------------------------

    def hear(self, line: bytes, at: float) -> Output:
        told = _read(_line, line)
        if told is None:
            line = mended(line)
            told = _read(_line, line) if line else None
        if told is None:
            return NOTHING
        match told.type:
            case "control_request":
                return self._requested(line, at)
            case "control_cancel_request":
                return self._cancelled(line, at)
            case "control_response":
                return self._responded(line, at)
            case "system":
                return self._system(told, line, at)
            case "assistant" | "user":
                return self._spoken(told, line, at)
            case "stream_event":
                return self._streamed(line)
            case "rate_limit_event":
                return self._limited(line, at)
            case "result":
                return self._result(told, line, at)
            case _:
                return NOTHING

    def _requested(self, line: bytes, at: float) -> Output:
        asked = _as(Requested, line)
        if asked is None:
            return NOTHING
        request = _as(Request, bytes(asked.request))
        match request.subtype if request else "":
            case "hook_callback" if request:
                events = self._turn_begins(bytes(request.input), at)
                return Output(events, lines=(control_response(asked.request_id, {}),))
            case "can_use_tool" | "elicitation" if request and self.session_id:
                raised = self._raise(asked.request_id, request, at)
                if raised is not None:
                    return raised
            case _:
                pass
        # Silence would leave Claude waiting for ever.
        return Output(lines=(control_error(asked.request_id, "yourcall cannot show this request to a person"),))

    def _turn_begins(self, payload: bytes, at: float) -> tuple[AnyEvent, ...]:
        told = _read(_payload, payload)
        if told is None or not SAFE_ID.fullmatch(told.session_id):
            return ()
        return self._session(
            at,
            told.session_id,
            "working",
            transcript=(told.transcript_path or "")[:LONGEST_PATH],
            permission_mode=told.permission_mode[:40],
        )

    def _raise(self, request_id: str, request: Request, at: float) -> Output | None:
        agent_type = self._subagents.get(request.agent_id or "", "")
        told = requests.raised(self._seen, request_id, request, agent_type, at)
        if told is None:
            return None
        raised, bodies = told
        prompt = raised.prompt
        self._asked[request_id] = prompt.id
        self._requests[prompt.id] = request_id
        self._kinds[prompt.id] = prompt.kind
        if prompt.call_id:
            self._calls[prompt.call_id] = prompt.id
        return Output((raised,), bodies)

    def _cancelled(self, line: bytes, at: float) -> Output:
        requested = _as(Requested, line)
        prompt_id = self._asked.pop(requested.request_id, "") if requested else ""
        if not prompt_id:
            return NOTHING
        self._requests.pop(prompt_id, None)
        if prompt_id in self._said:
            return NOTHING  # our answer and this crossed; the call's result will tell
        return Output((PromptWithdrawn(at, prompt_id, "the turn was stopped"),))

    def _responded(self, line: bytes, at: float) -> Output:
        responded = _as(Responded, line)
        if responded is None:
            return NOTHING
        response = responded.response
        if what := self._wishes.pop(response.request_id, ""):
            error = (response.error or "Claude refused this.") if response.subtype == "error" else ""
            if what == "interrupt":
                self._unheard.clear()  # what it had not begun with may be dropped
            return Output(done=RequestDone(response.request_id, error)) if what != "initialize" else NOTHING
        # The echo of an answer of ours: it was read, and decides.
        prompt_id = self._asked.pop(response.request_id, "")
        if not prompt_id or prompt_id not in self._said:
            return NOTHING
        self._taken.add(prompt_id)
        outcome = self._said[prompt_id]
        if self._kinds[prompt_id] == "elicitation":
            return Output((CallSettled(at, prompt_id, outcome, "held", "the server was answered"),))
        return Output((DialogClosed(at, prompt_id, "idle" if outcome == "stopped" else "busy"),))

    def _system(self, told: Line, line: bytes, at: float) -> Output:
        system = _as(System, line)
        if system is None:
            return NOTHING
        mode = (system.permissionMode or "")[:40]
        match told.subtype:
            case "init" if told.session_id and SAFE_ID.fullmatch(told.session_id):
                version = (system.claude_code_version or "")[:40]
                cwd = (system.cwd or "")[:LONGEST_PATH] or self._seen.cwd
                events = self._session(
                    at, told.session_id, "working", permission_mode=mode, version=version, cwd=cwd
                )
                return Output((*self._went_on(at), *events))
            case "status" if mode and self.session_id:
                return Output(self._session(at, self.session_id, permission_mode=mode))
            case "task_started" if system.task_id and system.subagent_type:
                self._subagents[system.task_id] = system.subagent_type[:100]
            case "api_retry" if (system.attempt or 0) >= TOLD_AT and self.session_id:
                return self._retries(told, system, at)
            case "background_tasks_changed":
                self._tasks = system.tasks or []
            case _:
                pass
        return NOTHING

    def _retries(self, told: Line, system: System, at: float) -> Output:
        """The service does not answer: told once, and taken back as soon as it does."""
        if self._trouble:
            return NOTHING
        error = f"{system.error_status or ''} {system.error or 'no answer'}".strip()[:200]
        prompt = requests.trouble(self._seen, error, told.uuid or str(at), at)
        self._trouble = prompt.id
        return Output((PromptRaised(at, prompt),))

    def _answers(self, at: float) -> tuple[AnyEvent, ...]:
        trouble, self._trouble = self._trouble, ""
        return (PromptWithdrawn(at, trouble, "it is over"),) if trouble else ()

    def _session(
        self, at: float, session_id: str, state: SessionState = "unknown", **told: str
    ) -> tuple[AnyEvent, ...]:
        """What is known of the session by now. Under a new id (`/clear`) it is another one in the same process."""
        before = self.session_id
        self.session_id = session_id
        known = {name: value for name, value in told.items() if value}
        if before not in ("", session_id):
            known = {"transcript": "", **known}
        self._seen = replace(
            self._seen, id=session_id, state=state, pid_started=self._child.started, seen_at=at, **known
        )
        self._seen = replace(self._seen, started_at=self._seen.started_at or at)
        seen = SessionSeen(at, self._seen)
        if before in ("", session_id):
            return (seen,)
        return seen, SessionEnded(at, before, f"it goes on as {session_id}", session_id)

    def _spoken(self, told: Line, line: bytes, at: float) -> Output:
        spoken = _as(Spoken, line)
        if spoken is None or spoken.message is None:
            return NOTHING
        if spoken.agent_id and spoken.subagent_type:
            self._subagents[spoken.agent_id] = spoken.subagent_type[:100]
        if told.type == "assistant":
            if not spoken.parent_tool_use_id:
                self._error = (spoken.error or "")[:80]
            return Output(self._answers(at))
        if spoken.isReplay:
            self._unheard.discard(told.uuid or "")
            return Output(tuple(self._went_on(at, told.uuid or "")))
        meta = {each.id: each for each in spoken.tool_result_meta or []}
        events: list[AnyEvent] = []
        for block in _read(_blocks, bytes(spoken.message.content)) or []:
            prompt_id = self._calls.pop(block.tool_use_id, "") if block.type == "tool_result" else ""
            if prompt_id:
                events += self._settled(prompt_id, meta.get(block.tool_use_id, ToolMeta()), block.is_error, at)
        return Output(tuple(events))

    def _settled(self, prompt_id: str, meta: ToolMeta, failed: bool, at: float) -> list[AnyEvent]:
        """The call is over: whose answer was it?"""
        asked = prompt_id in self._requests
        self._asked.pop(self._requests.pop(prompt_id, ""), None)
        said, decision = self._said.pop(prompt_id, None), meta.permission_decision
        if decision is not None and decision.source == "hook":
            outcome = "allowed" if decision.decision == "accept" else "denied"
            return [CallSettled(at, prompt_id, outcome, "desk", "decided by another program, through a hook")]
        if said is None:
            return [PromptWithdrawn(at, prompt_id, "the turn was stopped")] if asked else []
        if prompt_id not in self._taken:
            return [CallSettled(at, prompt_id, "stopped", "desk", "the turn was stopped first")]
        self._taken.discard(prompt_id)
        detail = requests.in_words(self._kinds.pop(prompt_id), said, failed)
        return [CallSettled(at, prompt_id, said, "held", detail)]

    def _went_on(self, at: float, uuid: str = "") -> list[AnyEvent]:
        """A turn began: by the instruction that answers the pause (its echo tells), or by itself."""
        if not self._pause or (self._next and uuid != self._next):
            return []
        pause, ours = self._pause, bool(self._next)
        self._pause = self._next = ""
        if ours:
            return [CallSettled(at, pause, "allowed", "held", "the next instruction was given")]
        return [PromptWithdrawn(at, pause, "the session went on")]

    def _limited(self, line: bytes, at: float) -> Output:
        """How the account's usage stands; it counts once it stops the turn."""
        limited = _as(Limited, line)
        info = limited.rate_limit_info if limited is not None else None
        if info is not None and info.status == "rejected":
            self._resets_at = sound(info.resetsAt or 0.0, at)
        return NOTHING

    def _streamed(self, line: bytes) -> Output:
        streamed = _as(Streamed, line)
        if streamed is None or streamed.parent_tool_use_id:
            return NOTHING
        if streamed.event.type == "message_start":
            self.speaking = Speaking()
        elif streamed.event.type == "content_block_delta":
            delta, now = streamed.event.delta, self.speaking
            text, thinking = now.text + delta.text, now.thinking + delta.thinking
            self.speaking = Speaking(text[:MOST_SPOKEN], thinking[:MOST_SPOKEN])
        return NOTHING

    def _result(self, told: Line, line: bytes, at: float) -> Output:
        """The turn is over, once. Whether it failed is for `is_error` to say, and for nothing else."""
        result = _as(Result, line)
        self.speaking = Speaking()
        if result is None or not self.session_id:
            return NOTHING
        cost = result.total_cost_usd or 0.0
        self._seen = replace(self._seen, cost_usd=cost if isfinite(cost) and cost > 0 else self._seen.cost_usd)
        if self._unheard or (result.queued_turn_count or 0) > 0:
            return Output(self._session(at, self.session_id, "working"))  # more was said already
        events = [*self._answers(at), *self._went_on(at), *self._session(at, self.session_id, "idle")]
        prompt = requests.pause(self._seen, told, result, self._error, self._tasks, self._resets_at, at)
        self._resets_at = 0.0
        self._pause = prompt.id
        return Output((*events, PromptRaised(at, prompt)))


def _as(kind: type[T], line: bytes) -> T | None:
    try:
        return msgspec.json.decode(line, type=kind)
    except (ValueError, RecursionError):
        return None


def _read(decoder: msgspec.json.Decoder[T], line: bytes) -> T | None:
    try:
        return decoder.decode(line)
    except (ValueError, RecursionError):
        return None


def _inert(text: str) -> str:
    """A leading slash would run a command; after a space it is text."""
    return f" {text}" if text.startswith("/") else text


HEADLESS = Headless(
    "claude", arguments, ClaudeSession, in_terminal=in_terminal, restored=ClaudeSession.restored, read_only=True
)
