"""One connection to a Codex app-server: what its messages mean, and what we write back.

Rules
  * Pure: messages go in, events and messages come out; whoever holds the connection carries them.
  * A thread is listened to while it works or waits, and left alone when it rests: the server may let go of it.
  * Threads without a record of their own are Codex's helpers (they make titles): nobody is told of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from yourcall import __version__
from yourcall.agents.codex import pauses, wire
from yourcall.agents.codex import requests as asks
from yourcall.agents.codex.live import threads
from yourcall.agents.codex.live.calls import NOTHING, Calls, Reply
from yourcall.agents.codex.live.proof import EarlierPrompts, Requests
from yourcall.agents.codex.live.threads import SAFE_ID, STATES, Known
from yourcall.agents.codex.reply import plan
from yourcall.agents.codex.wire import Item, Note, Thread, Turn, Whose
from yourcall.agents.jsonrpc import Id, Message
from yourcall.agents.kit.prompts import NEXT
from yourcall.agents.kit.wire import decoded
from yourcall.agents.session_spec import Child, Output, Speaking
from yourcall.core.step import PAUSES
from yourcall.model.events import (
    AnyEvent,
    CallSettled,
    DialogStillOpen,
    HolderConnected,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    SessionSeen,
)
from yourcall.model.prompts import Answer, Outcome, Prompt, Refused
from yourcall.model.sessions import Link, SessionState

MOST_SPOKEN = 200_000
# A request that is answered by a program, not by a person: the one who owns the session answers it.
NOT_OURS = "yourcall does not do this"


class ServerConnection:
    """`link`: how prompts of this connection are answered. `place`: where it is. `child`: a server of our own, to
    which nobody else listens."""

    def __init__(self, link: str, place: str, child: Child | None = None) -> None:
        self._link, self._place, self._child = link, place, child
        self._alone = child is not None
        self._threads: dict[str, Known] = {}
        self._requests = Requests(self._alone)
        self._calls = Calls()
        self.before = EarlierPrompts()
        self.ready = False
        self.speaking: dict[str, Speaking] = {}

    # --- what we write --------------------------------------------------------------------------------------

    def open(self) -> list[bytes]:
        client = {**wire.CLIENT, "version": __version__}
        params = {"clientInfo": client, "capabilities": {"experimentalApi": True}}
        return [self.call("initialize", params, self._initialized)]

    def call(self, method: str, params: object, then: Reply | None = None) -> bytes:
        return self._calls.ask(method, params, then)

    def asks(self, prompt: Prompt) -> bool:
        """Has Codex told this connection of it, and is it still to be answered?"""
        pending = self._requests.get(prompt.id)
        own = prompt.kind in PAUSES or prompt.fingerprint == pauses.PLAN  # made here, of what a thread says
        return own or (pending is not None and not pending.closed)

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> list[bytes] | Refused:
        """The messages that carry this answer to this prompt."""
        if prompt.kind in PAUSES or prompt.fingerprint == pauses.PLAN:
            return self._instruct(prompt, answer)
        pending = self._requests.get(prompt.id)
        if pending is None or pending.closed:
            return Refused("Codex no longer asks this.")
        planned = plan(prompt, answer, request)
        if isinstance(planned, Refused):
            return planned
        known = self._threads[pending.thread]
        try:
            messages = [wire.reply(pending.number, planned.result)]
            if planned.then and planned.wants != "stopped":
                messages.append(self._calls.turn(known.thread, planned.then))
        except UnicodeEncodeError:
            return Refused("The answer contains an invalid character (a lone surrogate); write it again.")
        if planned.wants == "stopped":
            known.afterwards = planned.then
        pending.said = planned.wants
        return messages

    def _instruct(self, prompt: Prompt, answer: Answer) -> list[bytes] | Refused:
        known = next((k for k in self._threads.values() if k.pause == prompt.id), None)
        if known is None:
            return Refused("Codex is at work again: this is not what it waits for.")
        text, mode = answer.texts.get(NEXT, "").strip(), ""
        if prompt.fingerprint == pauses.PLAN and "approve" in answer.choices.get(NEXT, ()):
            text, mode = f"{pauses.IMPLEMENT} {text}".strip(), "default"
        if not text:
            return Refused("Write what Codex shall do.")

        def begun(message: Message, at: float) -> Output:
            known.instructing = False
            if message.error is not None:
                return Output((DialogStillOpen(at, prompt.id), HolderConnected(at, prompt.id)))
            return Output((*self._went_on(known, at, "held"),))

        known.instructing = True
        return [self._calls.turn(known.thread, text, begun, mode)]

    def say(self, session_id: str, text: str) -> tuple[str, bytes] | Refused:
        """Tell a session something, at rest or at work: the id by which it will be granted, and the message."""
        known = self._threads.get(session_id)
        if known is None:
            return Refused("This session has ended, or Codex's server does not run.")
        if not text.strip():
            return Refused("Write what Codex shall do.")
        return self._calls.wish_turn(known.thread, text)

    def interrupt(self, session_id: str) -> tuple[str, bytes] | Refused:
        known = self._threads.get(session_id)
        if known is None or not known.turn:
            return Refused("Codex does nothing that could be stopped.")
        return self.stop(session_id)

    def stop(self, session_id: str) -> tuple[str, bytes]:
        """The end of the turn that runs; without one, Codex refuses."""
        known = self._threads.get(session_id)
        if known is not None:
            known.stopping = True
        return self._calls.wish("turn/interrupt", {"threadId": session_id, "turnId": known.turn if known else ""})

    def change(self, session_id: str, settings: dict[str, object]) -> tuple[str, bytes]:
        """Other settings for the turns to come."""
        return self._calls.wish("thread/settings/update", {"threadId": session_id, **settings})

    def own(self, thread: Thread, at: float) -> Output:
        """A thread that we began ourselves: we listen to it from the beginning."""
        self._threads[thread.id] = Known(thread, subscribed=True)
        return self._met(thread, at)

    def begin(self, thread_id: str, text: str, mode: str, then: Reply) -> bytes:
        return self._calls.turn(self._threads[thread_id].thread, text, then, mode)

    @property
    def awaits_replies(self) -> bool:
        """Is anything that we asked still without a reply, or to be asked again?"""
        return self._calls.unanswered or bool(self._unheard())

    def again(self) -> list[bytes]:
        """What was refused by a server that was too busy: to be asked now and then."""
        return [self._resume(known) for known in self._unheard()]

    def _unheard(self) -> list[Known]:
        """Threads that are at work, or of whose rest we must know more, and that we do not listen to."""
        left = [known for known in self._threads.values() if not known.subscribed and not known.thread.ephemeral]
        return [
            known for known in left
            if known.thread.status.type == "active" or self.before.pauses_in(known.thread.id)
            or known.doubted != known.ended
        ]  # fmt: skip

    def _resume(self, known: Known) -> bytes:
        known.subscribed = True
        page = {"limit": 1, "itemsView": "full"}
        params = {"threadId": known.thread.id, "excludeTurns": True, "initialTurnsPage": page}
        return self.call("thread/resume", params, self._resumed(known.thread.id))

    # --- what we hear ---------------------------------------------------------------------------------------

    def hear(self, data: bytes, at: float) -> Output:
        try:
            data.decode()  # a Raw is not looked into when it is decoded: what is no text is noticed here
        except UnicodeDecodeError:
            return NOTHING
        message = decoded(Message, data)
        if message is None:
            return NOTHING
        if message.method and message.id is not None:
            return self._requested(message, message.id, at)
        if message.method:
            return self._noted(message, at)
        return self._calls.replied(message, at)

    def _initialized(self, message: Message, at: float) -> Output:
        self.ready = True
        first = [wire.notification("initialized")]
        if not self._alone:
            first.append(self.call("thread/loaded/list", {}, self._loaded))
        return Output(lines=tuple(first))

    def _loaded(self, message: Message, at: float) -> Output:
        listed = decoded(wire.Loaded, message.result)
        if listed is None:
            return NOTHING
        ids = listed.data
        lines = [self.call("thread/read", {"threadId": id}, self._read) for id in ids]
        self.before.loaded(ids)
        for prompt_id, params in self.before.to_look_up():
            lines.append(self.call("thread/items/read", params, self._on_record(prompt_id)))
        return Output(lines=tuple(lines))

    def _read(self, message: Message, at: float) -> Output:
        resumed = decoded(wire.Resumed, message.result)
        return self._met(resumed.thread, at) if resumed else NOTHING

    def _met(self, thread: Thread, at: float) -> Output:
        """A thread that we hear of. Those without a record are helpers of Codex's own: they make titles."""
        if not SAFE_ID.fullmatch(thread.id):
            return NOTHING
        known = self._threads.get(thread.id)
        if known is None:
            known = self._threads[thread.id] = Known(thread)
        known.thread = thread
        if thread.ephemeral:
            return NOTHING
        return self._status(known, thread.status, at)

    def _on_record(self, prompt_id: str) -> Reply:
        def found(message: Message, at: float) -> Output:
            items = decoded(wire.Items, message.result)
            return Output(
                self.before.found(prompt_id, [placed.item for placed in items.data] if items else [], at)
            )

        return found

    # --- threads and turns ----------------------------------------------------------------------------------

    def _status(self, known: Known, status: wire.Status, at: float) -> Output:
        known.thread = thread = replace(known.thread, status=status)
        events: list[AnyEvent] = []
        if not thread.parentThreadId and status.type in STATES:
            events.append(self._seen(known, at))
        if status.type == "notLoaded":
            return self._closed(thread.id, at)
        if status.type == "active" and not known.subscribed:
            return Output(tuple(events), lines=(self._resume(known),))
        if not known.subscribed and self.before.pauses_in(thread.id):
            # Which turn was the last? There may have been one while we were away.
            return Output(tuple(events), lines=(self._resume(known),))
        return Output(tuple(events))

    def _seen(self, known: Known, at: float, state: SessionState | None = None) -> SessionSeen:
        link = Link(self._link, known.thread.id, self._place)
        return threads.seen(known.thread, link, self._child, at, state)

    def _resumed(self, thread_id: str) -> Reply:
        def resumed(message: Message, at: float) -> Output:
            told = decoded(wire.Resumed, message.result)
            known = self._threads.get(thread_id)
            if known is None:
                return NOTHING
            if told is None:  # before its first turn is on disk, or the server is too busy: it is asked again
                known.subscribed = False
                return NOTHING
            known.thread = replace(told.thread, status=known.thread.status)
            events: list[AnyEvent] = []
            lines: tuple[bytes, ...] = ()
            for turn in told.initialTurnsPage.data if told.initialTurnsPage else []:
                if turn.status == "inProgress":
                    events += self._begins(known, turn.id, at)
                    known.items |= {item.id: item for item in turn.items if item.status == "inProgress"}
                elif known.thread.status.type == "active" or turn.id == known.ended:
                    continue
                elif turn.status == "interrupted" and known.doubted != turn.id:
                    # So is a turn read whose end is not on disk yet: it is read once more, by `again`.
                    known.doubted, known.subscribed = turn.id, False
                else:
                    # It was over before we listened: nobody will tell us so again.
                    missed = self._turn_over(known, turn, at, self._begins(known, turn.id, at))
                    events, lines = [*events, *missed.events], (*lines, *missed.lines)
            return Output(tuple(events), lines=lines)

        return resumed

    def _noted(self, message: Message, at: float) -> Output:
        if message.method == "thread/started":
            new = decoded(wire.NewThread, message.params)
            return self._met(new.thread, at) if new else NOTHING
        note = decoded(Note, message.params)
        if note is None:
            return NOTHING
        known = self._threads.get(note.threadId)
        if known is None:
            if message.method == "thread/status/changed" and note.threadId:
                return Output(lines=(self.call("thread/read", {"threadId": note.threadId}, self._read),))
            return NOTHING
        if known.thread.ephemeral:
            if message.method == "thread/closed":
                self._threads.pop(note.threadId)
            return NOTHING
        match message.method:
            case "thread/status/changed":
                return self._status(known, note.status, at)
            case "thread/closed" | "thread/deleted" | "thread/archived":
                return self._closed(note.threadId, at)
            case "turn/started":
                return Output(tuple(self._begins(known, note.turn.id, at)))
            case "turn/completed":
                return self._turn_over(known, note.turn, at)
            case "item/started":
                known.items[note.item.id] = note.item
                return Output(tuple(self._requests.went_past(note.threadId, at)))
            case "item/completed":
                return self._item_over(known, note.item, at)
            case "item/agentMessage/delta":
                self._spoke(note)
                return NOTHING
            case "serverRequest/resolved":
                return Output(tuple(self._requests.resolved(note.threadId, note.requestId, at)))
            case _:
                return NOTHING

    def _closed(self, thread_id: str, at: float) -> Output:
        known = self._threads.pop(thread_id, None)
        for pending in self._requests.of(thread_id):
            self._requests.proved(pending.prompt.id)
        if known is None or known.thread.parentThreadId or known.thread.ephemeral:
            return NOTHING
        return Output((SessionEnded(at, thread_id, "Codex has closed it"),))

    def _begins(self, known: Known, turn_id: str, at: float) -> list[AnyEvent]:
        known.turn = turn_id
        return [] if known.instructing else self._went_on(known, at, "desk")

    def _went_on(self, known: Known, at: float, by: str) -> list[AnyEvent]:
        pause, known.pause = known.pause, ""
        if not pause:
            return []
        source = "held" if by == "held" else "desk"
        return [CallSettled(at, pause, "allowed", source, "the next instruction was given")]

    def _turn_over(self, known: Known, turn: Turn, at: float, begun: Sequence[AnyEvent] = ()) -> Output:
        thread = known.thread
        events = [*begun, *self._requests.turn_over(thread.id, turn.status == "interrupted", known.stopping, at)]
        last = next((item for item in reversed(turn.items) if item.text), known.last)
        known.turn, known.last, known.stopping, known.ended, known.doubted = "", Item(), False, turn.id, turn.id
        known.items.clear()
        self.speaking.pop(thread.id, None)
        lines: list[bytes] = []
        afterwards, known.afterwards = known.afterwards, ""
        if afterwards and turn.status == "interrupted":  # else somebody was before us, and it went on
            lines.append(self._calls.turn(known.thread, afterwards))
        elif not thread.parentThreadId:
            pause = pauses.ended(thread, turn, last, self._link, at)
            known.pause = pause.id
            events.append(self._seen(known, at, "idle"))
            waited = [each for each in self.before.pauses_in(thread.id) if self.before.take(each)]
            events += [PromptWithdrawn(at, each, "the session went on") for each in waited if each != pause.id]
            events.append(HolderConnected(at, pause.id) if pause.id in waited else PromptRaised(at, pause))
        if not self._alone and not self._requests.of(thread.id):
            known.subscribed = False
            lines.append(self.call("thread/unsubscribe", {"threadId": thread.id}))
        return Output(tuple(events), lines=tuple(lines))

    def _spoke(self, note: Note) -> None:
        if self._alone:
            now = self.speaking.get(note.threadId, Speaking())
            self.speaking[note.threadId] = Speaking((now.text + note.delta)[:MOST_SPOKEN])

    # --- requests -------------------------------------------------------------------------------------------

    def _requested(self, message: Message, number: Id, at: float) -> Output:
        whose = decoded(Whose, message.params)
        known = self._threads.get(whose.threadId) if whose else None
        raised = None
        if known is not None:
            server = f"{self._child.pid} {self._child.started}" if self._child else ""
            raised = asks.raised(
                known.thread, number, message.method, message.params, known.items, self._link, at, server
            )
        if known is None or raised is None:
            # With others at the desk it is for them; with nobody else, silence would leave Codex waiting for ever.
            return Output(lines=(wire.refusal(number, NOT_OURS),)) if self._alone else NOTHING
        event, bodies = raised
        prompt = event.prompt
        before = self._requests.get(prompt.id)
        if before is not None:
            return NOTHING if before.closed else Output((event,), bodies)  # told again
        events = self._requests.add(prompt, known.thread.id, number, at)
        if self.before.take(prompt.id):
            events.append(DialogStillOpen(at, prompt.id))  # whatever we wrote in an earlier life was not taken
        return Output((*events, event), bodies)

    def _item_over(self, known: Known, item: Item, at: float) -> Output:
        known.items.pop(item.id, None)
        if item.type in ("agentMessage", "plan"):
            known.last = item
            self.speaking.pop(known.thread.id, None)
        return Output(tuple(self._requests.item_over(known.thread.id, item, at)))

    def unproved(self) -> list[tuple[str, str, str]]:
        """Requests that are over and whose end may stand in the rollout alone: prompt, rollout, call."""
        found = ((asked.prompt, self._threads.get(asked.thread)) for asked in self._requests.unproved())
        return [(p.id, known.thread.path, p.call_id) for p, known in found if known and known.thread.path]

    def unnamed(self) -> list[tuple[str, Outcome]]:
        """Forms that have closed after our answer, and what that asked for: only who else was there can tell."""
        return [(asked.prompt.id, asked.said) for asked in self._requests.unnamed() if asked.said is not None]

    def proved(self, prompt_id: str, *, found: bool) -> None:
        """What the rollout told of it, or that it is silent."""
        if found:
            self._requests.proved(prompt_id)
        else:
            self._requests.not_on_record(prompt_id)
