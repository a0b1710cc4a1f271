"""A conversation with an agent that yourcall started, over the Agent Client Protocol.

Rules
  * Pure: lines go in and come out. The same talk for every agent; in what they differ is told by its row.
  * We offer the agent nothing but questions to a person: no files, no terminals. What it writes and runs, it does
    itself, so nothing gets past its own asking.
  * No word of the protocol says that an answer was taken: the call that goes on, or the turn that ends, does.
"""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from yourcall.agents.acp import pauses, requests, table, wire, wording
from yourcall.agents.acp.live.handshake import Handshake
from yourcall.agents.acp.live.peer import NOTHING, Peer
from yourcall.agents.acp.live.pending import Pending, Requests
from yourcall.agents.acp.live.settings import Settings
from yourcall.agents.acp.requests import ELICITATION, LINK, PERMISSION
from yourcall.agents.acp.table import Row
from yourcall.agents.acp.transcript import Transcript
from yourcall.agents.acp.wire import Call, Update
from yourcall.agents.jsonrpc import Id, Message
from yourcall.agents.kit.own_record import written
from yourcall.agents.kit.prompts import NEXT
from yourcall.agents.kit.wire import decoded
from yourcall.agents.session_spec import Child, Headless, Output, RequestDone, Speaking, StartOptions
from yourcall.core.step import PAUSES
from yourcall.model.conversation import AnyEntry, UserMessage
from yourcall.model.events import AnyEvent, CallSettled, PromptRaised, PromptWithdrawn, SessionSeen
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.model.sessions import Link, Session, SessionState

NOT_OURS = "yourcall does not do this for an agent"
# Agents take a text that begins like this for a command of theirs, even behind a space.
COMMAND_SIGNS = ("/", "$")
AS_TEXT = "This is no command: "

CHUNKS = {"agent_message_chunk": "agent", "agent_thought_chunk": "thought", "user_message_chunk": "user"}
CALLS = frozenset({"tool_call", "tool_call_update"})
OF_A_TURN = frozenset({"agent_message_chunk", "agent_thought_chunk", "plan"}) | CALLS


class AcpSession:
    """One process of an agent, with one session of ours."""

    def __init__(self, row: Row, options: StartOptions, child: Child) -> None:
        self._wish, self._child = options, child
        self.session_id = ""
        self.speaking = Speaking()
        self._seen = Session("", row.name, child.cwd, mode="headless", links=(Link(LINK),), pid=child.pid)
        self._peer = Peer()
        self._settings = Settings()
        self._begin = Handshake(self._peer, self._settings, row, options, self._ready)
        self._story = Transcript()
        self._heard: list[AnyEntry] = []  # what is to be written down
        self._requests = Requests()
        self._turns: set[int] = set()  # instructions that are not answered yet
        self._pause = ""  # the prompt that waits for the next instruction
        self._next = 0  # the instruction that answers it
        self._stopping = ""  # our wish that the turn ends

    @property
    def _row(self) -> Row:
        return self._begin.row

    # --- the beginning --------------------------------------------------------------------------------------

    def state(self) -> bytes:
        return b""  # its requests wait for replies in this process

    def open(self) -> list[bytes]:
        return [self._begin.open()]

    def _ready(self, at: float) -> Output:
        """The session is there, in the mode and with the model that were wished for."""
        self.session_id = self._begin.session_id
        info = self._begin.info
        self._seen = replace(
            self._seen,
            id=self.session_id,
            agent=self._row.name,
            version=info.version[:40],
            note=self._row.title if self._row.name == table.OTHER.name else "",
            pid_started=self._child.started,
            transcript=f"{self._child.records}/{self.session_id}.jsonl" if self._child.records else "",
            started_at=at,
        )
        self._heard += self._story.whole(0.0)
        if self._wish.prompt.strip():
            line = self._instruct(self._wish.prompt, command=False)
            return self._spoke([self._session(at, "working")], at, lines=(line,))
        return self._rests("end_turn" if self._wish.resume else "", "", at)

    # --- what we write --------------------------------------------------------------------------------------

    def say(self, text: str, command: bool) -> bytes | Refused:
        if not text.strip():
            return Refused(f"Write what {self._row.title} shall do.")
        if self._turns and not self._row.queues:
            return Refused(
                f"{self._row.title} takes one instruction at a time, and a second one would end its turn:"
                " wait until it is ready, or interrupt it first."
            )
        try:
            return self._instruct(text, command)
        except UnicodeEncodeError:
            return Refused("The text contains an invalid character (a lone surrogate); write it again.")

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> bytes | Refused:
        if prompt.kind in PAUSES:
            if prompt.id != self._pause:
                return Refused(f"{self._row.title} is at work again: this is not what it waits for.")
            line = self.say(answer.texts.get(NEXT, ""), command=False)
            if isinstance(line, bytes):
                self._next = self._peer.count
            return line
        pending = self._requests.get(prompt.id)
        if pending is None or pending.said or pending.dropped:
            return Refused(f"{self._row.title} no longer asks this.")
        decision = requests.reply(prompt, answer, request)
        if isinstance(decision, Refused):
            return decision
        result, wants = decision
        try:
            line = wire.reply(pending.number, result)
        except UnicodeEncodeError:
            return Refused("The answer contains an invalid character (a lone surrogate); write it again.")
        pending.said = wants
        if result != requests.CANCELLED:
            return line
        # A request that is answered with "cancelled" is a part of a turn that is cancelled.
        self._stopping = self._stopping or ("stop" if self._turns else "")
        return line + self._cancel()

    def ask(self, what: str, value: str) -> tuple[str, bytes] | Refused:
        if what == "interrupt":
            if not self._turns:  # the wish would stay, and be taken for one about the next turn
                return Refused("It rests: there is no turn to stop.")
            if self._stopping:
                return Refused("It is being stopped already.")
            self._stopping = f"stop-{self._peer.count}"
            return self._stopping, self._cancel()
        own = self._row.own(what, value)
        change = self._settings.change(self.session_id, what, own)
        if isinstance(change, Refused):
            return change

        def done(message: Message, at: float) -> Output:
            number = str(message.id)
            if message.error is not None:
                return Output(done=RequestDone(number, wording.reason(message.error) or "It was refused."))
            self._settings.now(what, own)
            return replace(self._spoke([self._session(at)], at), done=RequestDone(number))

        line = self._peer.call(*change, done)
        return str(self._peer.count), line

    def _instruct(self, text: str, command: bool) -> bytes:
        if not command and text.lstrip().startswith(COMMAND_SIGNS):
            text = AS_TEXT + text
        said = [{"type": "text", "text": text}]
        line = self._peer.call("session/prompt", {"sessionId": self.session_id, "prompt": said}, self._turn_over)
        self._turns.add(self._peer.count)
        self._heard.append(UserMessage(text=text))
        return line

    def _cancel(self) -> bytes:
        """The turn shall end. What is still asked in it is answered with that, or the agent waits for it."""
        lines = [wire.notification("session/cancel", {"sessionId": self.session_id})]
        for pending in self._requests.open():
            pending.dropped = True
            lines.append(wire.reply(pending.number, requests.withdrawn_reply(pending.method)))
        return b"".join(lines)

    # --- what we hear ---------------------------------------------------------------------------------------

    def hear(self, line: bytes, at: float) -> Output:
        message = decoded(Message, wire.whole(line))
        output = NOTHING if message is None else self._means(message, at)
        self.speaking = self._story.speaking
        return output

    def _means(self, message: Message, at: float) -> Output:
        if message.method and message.id is not None:
            return self._requested(message.method, message.id, message.params, at)
        if message.method:
            return self._noted(message, at)
        return self._peer.replied(message, at)

    def _noted(self, message: Message, at: float) -> Output:
        match message.method:
            case "session/update":
                told = decoded(wire.Updated, message.params)
                update = decoded(Update, told.update) if told else None
                if told is None or update is None:
                    return NOTHING
                if told.sessionId != self.session_id and self.session_id:
                    return self._spoke(self._of_another(update, told.update, at), at)
                return self._updated(update, told.update, at)
            case "$/cancel_request" | "elicitation/complete":
                told = decoded(wire.Withdrawn, message.params)
                return self._spoke(self._requests.over(told, at), at) if told else NOTHING
            case _:
                return NOTHING

    def _updated(self, update: Update, raw: Raw, at: float) -> Output:
        if not self.session_id:
            return self._replayed(update, raw, at)
        kind = update.sessionUpdate
        events: list[AnyEvent] = []
        if kind in OF_A_TURN:
            events += self._went_on(at)
        if kind in CHUNKS:
            if (mode := self._mode_in(update)) is not None:
                self._settings.now("mode", mode)
                return self._spoke([*events, self._session(at)], at)
            events += self._requests.went_past("", at)
        elif kind in CALLS:
            call = decoded(Call, raw)
            events += self._requests.moved(call, at) if call and call.toolCallId else []
        elif kind == "current_mode_update" and update.currentModeId:
            self._settings.now("mode", update.currentModeId)
            events.append(self._session(at))
        elif kind == "config_option_update" and update.configOptions:
            self._settings.told(wire.Begun(configOptions=update.configOptions))
            events.append(self._session(at))
        self._tell(update, raw, at)
        return self._spoke(events, at)

    def _of_another(self, update: Update, raw: Raw, at: float) -> list[AnyEvent]:
        """A sub-agent's session: its conversation is not told, but what it asked for may be over."""
        call = decoded(Call, raw) if update.sessionUpdate in CALLS else None
        return self._requests.moved(call, at) if call and call.toolCallId else []

    def _mode_in(self, update: Update) -> str | None:
        """The mode that a message of the agent's own tells of, and nothing else."""
        echo = self._row.mode_echo
        content = decoded(wire.Content, update.content)
        if not echo or content is None or not content.text.startswith(echo):
            return None
        mode = content.text.removeprefix(echo).strip()
        return mode if mode in self._row.modes.values() else None

    def _tell(self, update: Update, raw: Raw, at: float) -> None:
        """What was said and done goes into the record."""
        kind = update.sessionUpdate
        if kind in CHUNKS:
            content = decoded(wire.Content, update.content)
            text = content.text or (content.uri or "") if content else ""
            self._heard += self._story.chunk(CHUNKS[kind], update.messageId or "", text, at)
        elif kind in CALLS:
            call = decoded(Call, raw)
            if call is not None and call.toolCallId:
                self._heard += self._story.call(call, self._row, at)
        elif kind == "plan":
            self._heard += self._story.plan(update.entries or [], at)

    def _replayed(self, update: Update, raw: Raw, at: float) -> Output:
        """What was said before we were there: written down, unless we were there then, too."""
        content = decoded(wire.Content, update.content)
        noise = content is not None and bool(self._row.noise) and content.text.startswith(self._row.noise)
        if self._wish.resume and not self._child.recorded and not noise:
            # A replay tells whole messages; without a name for each, two would run into one.
            self._heard += [] if update.messageId else self._story.whole(0.0)
            self._tell(update, raw, 0.0)
        return self._begin.updated(update.sessionUpdate, at)

    # --- turns ----------------------------------------------------------------------------------------------

    def _went_on(self, at: float) -> list[AnyEvent]:
        """A turn has begun: by the instruction that answers the pause, or without it."""
        pause, ours = self._pause, self._next
        if not pause or not self._turns:
            return []
        self._pause, self._next = "", 0
        working = self._session(at, "working")
        if ours:
            return [CallSettled(at, pause, "allowed", "held", "the next instruction was given"), working]
        return [PromptWithdrawn(at, pause, "the session went on"), working]

    def _turn_over(self, message: Message, at: float) -> Output:
        events = self._went_on(at)
        if isinstance(message.id, int):
            self._turns.discard(message.id)
        ended = decoded(wire.Ended, message.result) if message.error is None else None
        reason = (ended.stopReason if ended else "")[:80] or "end_turn"
        self._heard += self._story.whole(at)
        if self._turns:
            return self._spoke(events, at)
        lines = tuple(
            wire.reply(asked.number, requests.withdrawn_reply(asked.method)) for asked in self._requests.open()
        )
        for call_id in self._requests.refused():
            self._heard += self._story.refused(call_id, at)
        events += self._requests.turn_over(reason == "cancelled", bool(self._stopping), at)
        error = (wording.reason(message.error) or "It gave no reason.") if message.error is not None else ""
        rest = self._rests("cancelled" if self._stopping and error else reason, error, at, events)
        done = RequestDone(self._stopping) if self._stopping else None
        self._stopping = ""
        return replace(rest, lines=lines, done=done)

    def _rests(self, reason: str, error: str, at: float, events: list[AnyEvent] | None = None) -> Output:
        error = "" if reason == "cancelled" else error
        key = f"{self._child.pid} {self._child.started} {self._peer.count}"
        seen = self._session(at, "idle")
        prompt = pauses.pause(self._seen, self._row, key, reason, self._story.last, error, at)
        self._story.last = ""
        self._pause, self._next = prompt.id, 0
        return self._spoke([*(events or []), seen, PromptRaised(at, prompt)], at)

    def _session(self, at: float, state: SessionState = "unknown") -> SessionSeen:
        mode = self._settings.mode
        ours = next((word for word, own in self._row.modes.items() if own == mode), mode)
        self._seen = replace(self._seen, state=state, permission_mode=ours[:40], seen_at=at)
        return SessionSeen(at, self._seen)

    def _spoke(self, events: list[AnyEvent], at: float, lines: tuple[bytes, ...] = ()) -> Output:
        """Events, with all that is to be written down by now; what we said has its time from here."""
        heard = (
            replace(each, at=at) if isinstance(each, UserMessage) and not each.at else each for each in self._heard
        )
        record = tuple(written(each) for each in heard)
        self._heard = []
        return Output(tuple(events), lines=lines, record=record)

    # --- requests -------------------------------------------------------------------------------------------

    def _requested(self, method: str, number: Id, params: Raw, at: float) -> Output:
        shown, call, whose = None, Call(), self.session_id
        if self.session_id and method == PERMISSION:
            permission = decoded(wire.Permission, params)
            if permission is not None:
                call, whose = self._story.told(replace(permission.call, status=None)), permission.sessionId
                plan = self._story.texts.get(requests.plan_file(self._row, call), "")
                shown = requests.permission(self._row, permission, call, plan)
        elif self.session_id and method == ELICITATION:
            form = decoded(wire.Elicitation, params)
            shown = (
                requests.elicitation(self._row, form)
                if form is not None and form.sessionId == self.session_id
                else None
            )
        if shown is None:
            # Silence would leave the agent waiting for ever, and a person could not see why.
            return Output(lines=(wire.refusal(number, NOT_OURS),))
        events = self._went_on(at)
        if method == PERMISSION and call.toolCallId and whose == self.session_id:
            self._heard += self._story.call(call, self._row, at, asked=True)
        self._heard += self._story.whole(at)
        key = f"{self._child.pid} {self._child.started} {number!r} {self._requests.count}"
        subagent = "" if whose == self.session_id else "sub-agent"
        raised, bodies = requests.raised(self._seen, key, method, params, shown, subagent, at)
        events += self._requests.went_past(shown.call_id, at)
        self._requests.add(Pending(raised.prompt, number, method, shown.form))
        return replace(self._spoke([*events, raised], at), bodies=bodies)


def headless(row: Row) -> Headless:
    return Headless(
        row.program,
        lambda wish: [*row.arguments],
        lambda wish, child: AcpSession(
            row, replace(wish, permission_mode=row.read_only) if wish.read_only else wish, child
        ),
        idles=True,
        missing=f"To install it: {row.install}" if row.install else "",
        read_only=bool(row.read_only),
    )
