"""The requests of an ACP agent that wait for an answer, or for the sign that an answer was taken.

Rule: a call that goes on after our answer was let go; a call that is over, or a turn that is, settles it. Nobody
but us can answer, so what we refused is refused as soon as the agent speaks of something else; but what we allowed
and the agent never speaks of again is *unsure*.
"""

from __future__ import annotations

from msgspec import Struct

from yourcall.agents.acp.transcript import OVER
from yourcall.agents.acp.wire import Call, Withdrawn
from yourcall.agents.jsonrpc import Id
from yourcall.model.events import AnyEvent, CallSettled, DialogClosed, PromptWithdrawn, TraceLost
from yourcall.model.prompts import Kind, Outcome, Prompt

STOPPED = "the turn was stopped"


class Pending(Struct):
    """`said`: what our answer asks for. `dropped`: answered with "cancelled", because the turn shall end.
    `closed`: the agent was seen to go on; `settled`: it is known how it ended. `form`: the name of a form."""

    prompt: Prompt
    number: Id
    method: str
    form: str = ""
    said: Outcome | None = None
    dropped: bool = False
    closed: bool = False
    settled: bool = False


class Requests:
    def __init__(self) -> None:
        self._pending: dict[str, Pending] = {}
        self.count = 0  # of all there ever were: an agent may name two requests alike

    def add(self, pending: Pending) -> None:
        self.count += 1
        self._pending[pending.prompt.id] = pending

    def get(self, prompt_id: str) -> Pending | None:
        return self._pending.get(prompt_id)

    def open(self) -> list[Pending]:
        """Those that nobody has answered."""
        return [each for each in self._pending.values() if each.said is None and not each.dropped]

    def refused(self) -> list[str]:
        """The calls that we refused; an agent may never speak of them again."""
        return [each.prompt.call_id for each in self._pending.values() if each.said in ("denied", "stopped")]

    def moved(self, call: Call, at: float) -> list[AnyEvent]:
        """A call was spoken of."""
        events: list[AnyEvent] = []
        for each in [p for p in self._pending.values() if p.prompt.call_id == call.toolCallId]:
            if call.status in OVER:
                del self._pending[each.prompt.id]
                events += _settled(each, call.status == "failed", at)
            elif call.status != "pending":
                events += _closed(each, at)
        return [*events, *self.went_past(call.toolCallId, at)]

    def went_past(self, call_id: str, at: float) -> list[AnyEvent]:
        """The agent speaks of something else: what was refused, or has no call of its own, is behind it."""
        events: list[AnyEvent] = []
        for each in self._pending.values():
            own = bool(each.prompt.call_id)
            if each.said is None or (own and each.prompt.call_id == call_id):
                continue
            if each.said == "denied" or not own:
                events += _settled(each, False, at)
            elif each.said == "stopped":
                events += _closed(each, at)
        return events

    def over(self, told: Withdrawn, at: float) -> list[AnyEvent]:
        """The agent takes a request back, or a form was filled in elsewhere."""
        events: list[AnyEvent] = []
        for each in list(self._pending.values()):
            named = told.requestId is not None and each.number == told.requestId
            filled = bool(told.elicitationId) and each.form == told.elicitationId
            if (named or filled) and each.said is None:
                del self._pending[each.prompt.id]
                why = "the agent took it back" if named else "it was done at that address"
                events.append(PromptWithdrawn(at, each.prompt.id, why))
        return events

    def turn_over(self, cancelled: bool, by_us: bool, at: float) -> list[AnyEvent]:
        events: list[AnyEvent] = []
        for each in self._pending.values():
            prompt_id = each.prompt.id
            if each.settled:
                continue
            if each.said is None:
                why = STOPPED if cancelled or by_us else "the turn is over"
                events.append(PromptWithdrawn(at, prompt_id, why))
            elif each.said in ("denied", "stopped") or not each.prompt.call_id:
                events += _settled(each, False, at)
            elif cancelled or by_us:
                events.append(CallSettled(at, prompt_id, "stopped", "desk", "the turn was stopped first"))
            else:
                events.append(TraceLost(at, prompt_id, "its turn ended without a word on what became of it"))
        self._pending.clear()
        return events


def _settled(each: Pending, failed: bool, at: float) -> list[AnyEvent]:
    if each.settled:
        return []
    each.settled = True
    if each.said is None:
        why = STOPPED if each.dropped else "the agent went on without an answer"
        return [PromptWithdrawn(at, each.prompt.id, why)]
    text = in_words(each.prompt.kind, each.said, failed)
    return [CallSettled(at, each.prompt.id, each.said, "held", text)]


def _closed(each: Pending, at: float) -> list[AnyEvent]:
    if each.said is None or each.closed or each.settled:
        return []
    each.closed = True
    return [DialogClosed(at, each.prompt.id, "idle" if each.said == "stopped" else "busy")]


def in_words(kind: Kind, outcome: Outcome, failed: bool) -> str:
    """What became of a call, for the history."""
    if outcome == "denied":
        return "it was refused"
    if outcome == "stopped":
        return "refused, and the turn stopped" if kind != "elicitation" else "it was dismissed"
    ran = {"question": "it was answered", "plan": "the plan was approved", "elicitation": "the form was sent"}
    did = ran.get(kind, "it ran")
    return f"{did}, and ended with an error" if failed else did
