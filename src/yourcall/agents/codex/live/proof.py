"""What became of the requests of an app-server: closed, settled, stopped.

Rules
  * `serverRequest/resolved` says that a request is over, never who answered it.
  * The end of its item tells what became of it; a turn's end tells what was stopped. A question and a grant of
    permissions are no items, and an item that was declined has no end for a client that joined late: there the
    rollout tells.
  * What the server of a form was told is on no record: of ours it is known that the form closed, and no more.
  * What the desk declined may have been refused, or stopped with its turn: the next thing in the turn tells.
  * A turn that is stopped after our yes was taken may have run the call first. Only an item that was declined
    proves that it did not.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from yourcall.agents.codex import requests
from yourcall.agents.codex.requests import TYPING
from yourcall.agents.codex.wire import Item
from yourcall.agents.jsonrpc import Id
from yourcall.agents.kit.wire import decoded
from yourcall.core.step import PAUSES
from yourcall.model.events import AnyEvent, CallSettled, DialogClosed, PromptWithdrawn, SessionEnded, TraceLost
from yourcall.model.prompts import Outcome, Prompt


class PendingRequest(Struct):
    """A request of the server's, from its asking to the proof of what became of it."""

    prompt: Prompt
    thread: str
    number: Id
    said: Outcome | None = None  # what our answer asks for
    closed: bool = False  # the server has its answer
    declined: bool = False  # its item was; whether the turn stopped with it is not known yet


class Requests:
    """The requests of one connection that are not settled. `alone`: nobody but us could answer them."""

    def __init__(self, alone: bool) -> None:
        self._alone = alone
        self._asked: dict[str, PendingRequest] = {}
        self._unnamed: list[PendingRequest] = []

    def get(self, prompt_id: str) -> PendingRequest | None:
        return self._asked.get(prompt_id)

    def of(self, thread_id: str) -> list[PendingRequest]:
        return [asked for asked in self._asked.values() if asked.thread == thread_id]

    def add(self, prompt: Prompt, thread_id: str, number: Id, at: float) -> list[AnyEvent]:
        """A new request; what it tells about an earlier one within the same call: that it went on."""
        events: list[AnyEvent] = []
        for pending in self.of(thread_id):
            if pending.closed and prompt.call_id and pending.prompt.call_id == prompt.call_id:
                went_on = self._settle(pending, "allowed", at, "it went on")
                events += self._form_over(pending, at) if unrecorded(pending.prompt) else went_on
        self._asked[prompt.id] = PendingRequest(prompt, thread_id, number)
        return events

    def resolved(self, thread_id: str, number: Id | None, at: float) -> list[AnyEvent]:
        pending = next((each for each in self.of(thread_id) if each.number == number), None)
        if pending is None or pending.closed:
            return []
        pending.closed = True
        if self._alone and pending.said is not None and not told_by_item(pending.prompt):
            return self._settle(pending, pending.said, at, "it was answered", ours=True)
        return [DialogClosed(at, pending.prompt.id, "idle" if pending.said == "stopped" else "busy")]

    def item_over(self, thread_id: str, item: Item, at: float) -> list[AnyEvent]:
        events = self.went_past(thread_id, at)
        for pending in self.of(thread_id):
            if item.id and pending.prompt.call_id == item.id:
                events += self._item_told(pending, item, at)
        return events

    def _item_told(self, pending: PendingRequest, item: Item, at: float) -> list[AnyEvent]:
        if unrecorded(pending.prompt):
            return self._form_over(pending, at)
        outcome = outcome_of(item)
        if outcome is None:
            return []
        if outcome == "denied" and pending.said != "denied":
            pending.declined = True
            return []
        return self._settle(pending, outcome, at, in_words(item, outcome))

    def _form_over(self, pending: PendingRequest, at: float) -> list[AnyEvent]:
        """Without an answer of ours it was the desk's; with one, nobody says whose it took: it stays as it is."""
        if pending.said is None:
            return self._settle(pending, "unknown", at, "the server was answered")
        self._unnamed.append(self._asked.pop(pending.prompt.id))
        return []

    def unnamed(self) -> list[PendingRequest]:
        """Forms that are over since the last look, and to which we gave an answer: nobody says whose was taken."""
        pending_requests, self._unnamed = self._unnamed, []
        return pending_requests

    def went_past(self, thread_id: str, at: float) -> list[AnyEvent]:
        """The turn goes on after something was declined: it was refused, not stopped."""
        declined = [asked for asked in self.of(thread_id) if asked.declined]
        return [event for asked in declined for event in self._settle(asked, "denied", at, "it was refused")]

    def turn_over(self, thread_id: str, stopped: bool, by_us: bool, at: float) -> list[AnyEvent]:
        if not stopped:
            return self.went_past(thread_id, at)
        events: list[AnyEvent] = []
        for pending in self.of(thread_id):
            if by_us and pending.said is None and not pending.closed:
                self._asked.pop(pending.prompt.id)
                events.append(PromptWithdrawn(at, pending.prompt.id, "the turn was stopped"))
            elif pending.closed and pending.said == "allowed" and not pending.declined:
                self._asked.pop(pending.prompt.id)
                events.append(
                    TraceLost(at, pending.prompt.id, "the turn was stopped, and the call may have run first")
                )
            else:
                events += self._settle(pending, "stopped", at, "the turn was stopped")
        return events

    def unproved(self) -> list[PendingRequest]:
        """Those that are over and whose end may stand in the rollout."""
        return [asked for asked in self._asked.values() if asked.closed and asked.prompt.call_id]

    def proved(self, prompt_id: str) -> None:
        self._asked.pop(prompt_id, None)

    def not_on_record(self, prompt_id: str) -> None:
        """The rollout is silent; an item may still end, however long it takes."""
        pending = self._asked.get(prompt_id)
        if pending is not None and not told_by_item(pending.prompt):
            self._asked.pop(prompt_id)

    def _settle(
        self, pending: PendingRequest, outcome: Outcome, at: float, detail: str, *, ours: bool = False
    ) -> list[AnyEvent]:
        self._asked.pop(pending.prompt.id, None)
        source = "held" if ours else "desk" if pending.said is None else "unknown"
        return [CallSettled(at, pending.prompt.id, outcome, source, detail)]


def by_rollout(prompt: Prompt) -> bool:
    """Does only the rollout tell what became of it? Permissions and input for a command are no items."""
    return prompt.tool is not None and prompt.tool.name in ("request_permissions", TYPING)


def unrecorded(prompt: Prompt) -> bool:
    """Is it a form? What was said to its server, neither an item nor the rollout tells."""
    return prompt.kind in ("elicitation", "unknown")


def told_by_item(prompt: Prompt) -> bool:
    """Does the end of an item tell what became of it?"""
    return prompt.tool is not None and bool(prompt.call_id) and not by_rollout(prompt)


def outcome_of(item: Item) -> Outcome | None:
    """How the call was decided, as its end shows it; None where it does not."""
    if item.status == "declined":
        return "denied"
    if item.type == "mcpToolCall" and item.error is not None and "rejected" in (item.error.message or ""):
        return "denied"
    if item.status == "completed":
        return "allowed"
    if item.status == "failed":
        # Without an exit code it never ran; why, nobody says.
        return None if item.type == "commandExecution" and item.exitCode is None else "allowed"
    return None


def in_words(item: Item, outcome: Outcome) -> str:
    if outcome == "denied":
        return "it was refused"
    done = {"fileChange": "the files were changed", "mcpToolCall": "the tool was called"}.get(item.type, "it ran")
    return f"{done}, and ended with an error" if item.status == "failed" else done


class EarlierPrompts:
    def __init__(self) -> None:
        self._prompts: dict[str, tuple[Prompt, str]] = {}  # with the thread it was asked in
        self._sessions: set[str] = set()
        self._gone: set[str] = set()

    def add_session(self, session_id: str) -> None:
        self._sessions.add(session_id)

    def loaded(self, ids: Collection[str]) -> None:
        """What the server has now; a session that is not among it is over."""
        self._gone = self._sessions - set(ids)

    def add(self, prompt: Prompt, request: bytes) -> None:
        kept_request = decoded(requests.Request, request)
        params = decoded(requests.Params, kept_request.params) if kept_request else None
        self._prompts[prompt.id] = (prompt, params.threadId if params else prompt.session_id)

    def take(self, prompt_id: str) -> bool:
        """It is asked again; False if it is new."""
        return self._prompts.pop(prompt_id, None) is not None

    def pauses_in(self, thread_id: str) -> list[str]:
        """The pauses that waited in this thread."""
        told = self._prompts.values()
        return [p.id for p, t in told if t == thread_id and p.kind in PAUSES and p.state == "open"]

    def to_look_up(self) -> list[tuple[str, dict[str, object]]]:
        """The items to be read, by prompt: their end may be on record, also of a thread that is not loaded."""
        return [
            (prompt.id, {"threadId": thread, "turnId": prompt.turn_id, "itemIds": [prompt.call_id]})
            for prompt, thread in self._prompts.values()
            if prompt.call_id and prompt.turn_id
        ]

    def found(self, prompt_id: str, items: list[Item], at: float) -> tuple[AnyEvent, ...]:
        for item in items if prompt_id in self._prompts else []:
            outcome = outcome_of(item)
            if outcome is not None:
                self._prompts.pop(prompt_id)
                return (CallSettled(at, prompt_id, outcome, "unknown", in_words(item, outcome)),)
        return ()

    def give_up(self, at: float) -> list[AnyEvent]:
        """What was neither asked again nor found: the server knows nothing of it."""
        events: list[AnyEvent] = []
        for prompt, _ in self._prompts.values():
            if prompt.state == "desk":
                events.append(CallSettled(at, prompt.id, "unknown", "desk", "nobody tells what was answered"))
            elif prompt.state == "open":
                why = "Codex no longer asks this: it was answered, or its server was started anew"
                events.append(PromptWithdrawn(at, prompt.id, why))
            else:
                events.append(TraceLost(at, prompt.id, "Codex's server was started anew, and does not know it"))
        events += [SessionEnded(at, session_id, "Codex has closed it") for session_id in sorted(self._gone)]
        self._prompts.clear()
        self._gone.clear()
        return events
