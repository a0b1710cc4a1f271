"""Standing orders: which instruction is given next, when, and what became of the ones before. Pure.

    waiting     it is in the queue
    checking    its command runs; if that passes, it is given
    giving      recorded: it is about to become the answer to one pause
    given       that pause took it as its answer; it is on its way
    done        the agent has it
    unsure      it cannot be known whether the agent has it
    dropped     it was not needed: the session went on by itself

Rules
  * The first in the queue is given, and only to an open pause that says a turn ended well. While the agent asks
    anything, works or has failed, it waits. One that waits for a limit is given to the pause that tells of it.
  * Nothing is given twice. Before it becomes an answer, the id of that answer is recorded; after a crash the
    prompt's own history tells whether it was taken. What may have reached the agent never waits again.
  * A person comes first. Who spoke at the desk, said no, or stopped the turn holds the queue, and so does an order
    that came back. It goes on when a person says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from yourcall.core.identity import WENT_ON, since
from yourcall.core.outcomes import verdict_of
from yourcall.core.safety import LONGEST_TEXT, REFUSING, chosen
from yourcall.core.step import PAUSES
from yourcall.model.orders import Order, OrderQueue, OrderState
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.model.sessions import Session

# Each is read by a person before it is given; a longer list is a script, and can wait for its own answers.
MOST_WAITING = 50
# All texts of one queue: it is one row of the database, written whole.
MOST_TEXT = 400_000
LONGEST_COMMAND = 4_000
# So many that are over are kept, to be looked at.
MOST_SETTLED = 20
# Hooks overtake each other: a pause that is taken back is taken back within this.
SETTLES_S = 0.5
# An agent that goes on by itself when its limit resets does so within this.
GRACE_S = 15.0
# A time further away than this is a mistake.
LATEST_S = 366 * 86_400.0

VIA = "queue"
UNDER_WAY: frozenset[OrderState] = frozenset({"checking", "giving", "given"})
SETTLED: frozenset[OrderState] = frozenset({"done", "unsure", "dropped"})

SPOKEN = "somebody spoke to it at the desk"
STOPPED = "its turn was stopped"
ENDED = "the session has ended"
ANOTHER = "its conversation is another one now"
INTERRUPTED = "yourcall was stopped while the command ran"
LOST = "it is not known whether it got what it was told last: look, and tell it something"


class Give(Struct, frozen=True):
    """This order is the answer to this pause now."""

    order: Order
    prompt: Prompt


class Check(Struct, frozen=True):
    """Run this order's command; it is given if that passes."""

    order: Order


class Drop(Struct, frozen=True):
    """This order is not needed any more."""

    order: Order
    why: str


class Wait(Struct, frozen=True):
    """Nothing is given, and why, in words. `until`: look again then; 0: when something happens."""

    why: str
    until: float = 0.0


# --- what a person does ---------------------------------------------------------------------------------------


def added(queue: OrderQueue, order: Order) -> OrderQueue | Refused:
    waiting = [each for each in queue.orders if each.state not in SETTLED]
    if len(waiting) >= MOST_WAITING:
        return Refused(f"{MOST_WAITING} instructions wait here already; remove some first.")
    wrong = _objection(order, sum(len(each.text) for each in queue.orders))
    return wrong or _with(queue, (*queue.orders, replace(order, state="waiting", changed_at=order.added_at)))


def _objection(order: Order, before: int) -> Refused | None:
    if not order.text.strip():
        return Refused("Write what the session shall do.")
    if len(order.text) > LONGEST_TEXT:
        return Refused(f"The text is longer than {LONGEST_TEXT:,} characters; shorten it.")
    if before + len(order.text) > MOST_TEXT:
        return Refused(f"All instructions of a queue together have at most {MOST_TEXT:,} characters.")
    if any("\ud800" <= character <= "\udfff" for character in order.text + order.command):
        return Refused("The text contains an invalid character (a lone surrogate); write it again.")
    if (order.trigger == "command") != bool(order.command.strip()) or len(order.command) > LONGEST_COMMAND:
        return Refused(f"Give a command of at most {LONGEST_COMMAND:,} characters.")
    if order.trigger == "time" and not order.added_at - LATEST_S < order.at < order.added_at + LATEST_S:
        return Refused("Give a time within a year from now.")
    return None


def edited(queue: OrderQueue, order_id: str, text: str) -> OrderQueue | Refused:
    order = _waiting(queue, order_id)
    if isinstance(order, Refused):
        return order
    after = replace(order, text=text)
    others = sum(len(each.text) for each in queue.orders if each.id != order_id)
    return _objection(after, others) or _put(queue, after)


def moved(queue: OrderQueue, order_id: str, place: int) -> OrderQueue | Refused:
    """`place` counts from 1, among those that wait."""
    order = _waiting(queue, order_id)
    if isinstance(order, Refused):
        return order
    waiting = [each for each in queue.orders if each.state == "waiting"]
    if not 1 <= place <= len(waiting):
        return Refused(f"There are {len(waiting)} that wait: give a place from 1 to {len(waiting)}.")
    waiting.remove(order)
    waiting.insert(place - 1, order)
    return _with(queue, (*(each for each in queue.orders if each.state != "waiting"), *waiting))


def removed(queue: OrderQueue, order_id: str) -> OrderQueue | Refused:
    """One that waits, or is over. One that is under way is not taken back."""
    order = next((each for each in queue.orders if each.id == order_id), None)
    if order is None:
        return Refused("There is no such instruction in this queue.")
    if order.state in UNDER_WAY:
        return Refused("This instruction is on its way: wait for what becomes of it.")
    return _with(queue, tuple(each for each in queue.orders if each.id != order_id))


def hold(queue: OrderQueue, why: str, at: float) -> OrderQueue:
    return queue if queue.held else replace(queue, held=why[:200], held_at=at)


def resumed(queue: OrderQueue, at: float) -> OrderQueue:
    """What happened before this holds it no more."""
    return replace(queue, held="", held_at=0.0, resumed_at=at)


def _waiting(queue: OrderQueue, order_id: str) -> Order | Refused:
    order = next((each for each in queue.orders if each.id == order_id), None)
    if order is None:
        return Refused("There is no such instruction in this queue.")
    if order.state != "waiting":
        return Refused("This instruction is no longer waiting.")
    return order


# --- what is done with it -------------------------------------------------------------------------------------


def due(
    queue: OrderQueue, session: Session | None, prompts: Iterable[Prompt], now: float
) -> Give | Check | Drop | Wait:
    """What is to be done now with the first that waits. `prompts`: what is not settled in the session."""
    first = next((order for order in queue.orders if order.state == "waiting"), None)
    if first is None:
        return Wait("")
    unsettled = list(prompts)
    waiting = [prompt for prompt in unsettled if prompt.state == "open"]
    ready = next((each for each in waiting if each.kind == "ready"), None)
    if any(_under_way(order, ready) for order in queue.orders):
        return Wait("the one before it is on its way")
    if queue.held:
        return Wait(f"held: {queue.held}")
    if session is None or session.state == "ended":
        return Wait(ENDED)
    asks = next((each for each in waiting if each.kind not in PAUSES and each.link != "ask"), None)
    if asks is not None:
        return Wait(f"it asks: {asks.title}")
    if any(_told_since(prompt, ready) for prompt in unsettled):
        return Wait("what it was told last is on its way")
    failed = next((each for each in waiting if each.kind == "problem"), None)
    if first.trigger == "limit" and (failed is None or not failed.resets_at):
        return Drop(first, "the session went on by itself")
    if failed is not None:
        return _after_limit(first, failed, now)
    if ready is not None:
        return _to_ready(first, ready, now)
    lost = session.state == "idle" and any(p.kind in PAUSES and p.state == "unsure" for p in unsettled)
    return Wait(LOST if lost else "after this turn")


def _under_way(order: Order, ready: Prompt | None) -> bool:
    """A turn that has ended since shows that the one before it was taken, whatever its pause says."""
    ended_since = order.state == "given" and ready is not None and ready.opened_at > order.changed_at
    return order.state in UNDER_WAY and not ended_since


def _told_since(prompt: Prompt, ready: Prompt | None) -> bool:
    """Is something that somebody said after this pause began still on its way?"""
    if prompt.kind not in PAUSES:
        return False
    return prompt.state == "answering" or (
        prompt.state == "sent" and ready is not None and since(prompt) >= ready.opened_at
    )


def _to_ready(first: Order, ready: Prompt, now: float) -> Give | Check | Wait:
    if not _takes_text(ready):
        return Wait("it can't be told anything from here")
    if now < ready.opened_at + SETTLES_S:
        return Wait("the turn has just ended", ready.opened_at + SETTLES_S)
    match first.trigger:
        case "time" if now < first.at:
            return Wait("at its time", first.at)
        case "command":
            return Check(first)
        case _:
            return Give(first, ready)


def _after_limit(first: Order, failed: Prompt, now: float) -> Give | Wait:
    if first.trigger != "limit":
        return Wait(f"it stopped: {failed.title}")
    if now < failed.resets_at + GRACE_S:
        return Wait("when its limit has reset", failed.resets_at + GRACE_S)
    if not _takes_text(failed):
        return Wait("its limit has reset, but it can't be told anything from here")
    return Give(first, failed)


def _takes_text(prompt: Prompt) -> bool:
    return prompt.answerable and len(prompt.questions) == 1 and prompt.questions[0].free_text


def checking(queue: OrderQueue, order_id: str, at: float) -> OrderQueue:
    return _change(queue, order_id, "checking", at, "its command runs")


def checked(queue: OrderQueue, order_id: str, failed: str, at: float) -> OrderQueue:
    """Its command ended. `failed`: how, in words; '' if it passed: then it is given to the next open pause."""
    if not any(order.id == order_id and order.state == "checking" for order in queue.orders):
        return queue
    queue = _change(queue, order_id, "waiting", at, failed)
    if failed:
        return hold(queue, failed, at)
    order = next(each for each in queue.orders if each.id == order_id)
    return _put(queue, replace(order, trigger="turn", detail="its command passed"))


def giving(queue: OrderQueue, give: Give, answer_id: str, at: float) -> OrderQueue:
    """To be on disk before the answer is."""
    order = replace(give.order, state="giving", prompt_id=give.prompt.id, answer_id=answer_id, changed_at=at)
    return _put(queue, replace(order, detail=""))


def answer(order: Order, prompt: Prompt) -> Answer:
    return Answer(
        order.answer_id,
        order.by,
        VIA,
        texts={question.id: order.text for question in prompt.questions},
        device=order.device,
        author_certainty=order.author_certainty,
    )


def dropped(queue: OrderQueue, order_id: str, why: str, at: float) -> OrderQueue:
    return _change(queue, order_id, "dropped", at, why)


def not_taken(queue: OrderQueue, order_id: str, why: str, at: float) -> OrderQueue:
    """The pause did not take it as its answer: nothing was sent."""
    return hold(_change(queue, order_id, "waiting", at, why), f"it came back: {why}", at)


# --- what happens in the session ------------------------------------------------------------------------------


def seen(queue: OrderQueue, prompt: Prompt, at: float) -> OrderQueue:
    """A prompt of its session changed. Seeing the same twice changes nothing."""
    for order in queue.orders:
        if order.prompt_id == prompt.id and order.answer_id:
            queue = _followed(queue, order, prompt, at)
    added = min((order.added_at for order in queue.orders if order.state == "waiting"), default=None)
    if added is None or queue.held:
        return queue
    asked_for = max(added, queue.resumed_at)  # what was done before is what the person knew
    if prompt.kind in PAUSES:
        mine = any(order.prompt_id == prompt.id and order.answer_id for order in queue.orders)
        ended = prompt.closed_at is not None and prompt.closed_at > asked_for
        if ended and not mine and prompt.id != queue.own and _by_the_desk(prompt):
            return hold(queue, SPOKEN, at)
        return hold(queue, STOPPED, at) if prompt.stopped and prompt.opened_at > asked_for else queue
    refused = _refused_at(prompt)
    return hold(queue, f"somebody said no: {prompt.title}", at) if refused > asked_for else queue


def _by_the_desk(pause: Prompt) -> bool:
    """Did somebody end it in the agent's own terminal? One that has a terminal goes on by itself only when its
    limit has reset."""
    unseen = any(m.state == "ended" and m.detail == WENT_ON for m in pause.history)
    return pause.state == "desk" or (pause.link != "stdio" and unseen and not pause.resets_at)


def _followed(queue: OrderQueue, order: Order, prompt: Prompt, at: float) -> OrderQueue:
    """What became of the answer that this order was given as, read off the prompt's own row."""
    moments = [moment for moment in prompt.history if moment.answer_id == order.answer_id]
    if order.state == "waiting":
        # It had come back. If it was written after all, it must not be given again.
        late = prompt.state == "unsure" or (
            bool(moments) and moments[-1].state in ("sent", "accepted", "confirmed")
        )
        return _change(queue, order.id, "unsure", at, "it may have arrived after all") if late else queue
    if order.state in SETTLED and not (order.state == "unsure" and prompt.state == "confirmed"):
        return queue
    if not moments:
        return queue  # not taken yet
    verdict = verdict_of(prompt, order.answer_id)
    handed = any(moment.state in ("sent", "accepted") for moment in moments)
    match verdict.result:
        case "taken" | "sent":
            return _change(queue, order.id, "given", at, verdict.detail)
        case "accepted" | "confirmed":
            return _change(queue, order.id, "done", at, verdict.detail)
        case "bounced":
            return not_taken(queue, order.id, verdict.detail, at)
        case "too_late" if not handed:
            queue = _change(queue, order.id, "waiting", at, verdict.detail)
            return hold(queue, SPOKEN if verdict.by == "desk" else f"it came back: {verdict.detail}", at)
        case _:
            text = verdict.detail or "it cannot be known whether the agent has it"
            return hold(_change(queue, order.id, "unsure", at, text), "one before it may not have arrived", at)


def _refused_at(prompt: Prompt) -> float:
    """When a person said no to it, or stopped the turn over it; 0 if nobody did. A rule's no doesn't count."""
    given = prompt.answer
    if given is not None and given.via != "rule" and prompt.state not in ("open", "desk"):
        if any(option.effect in REFUSING for option in chosen(prompt, given)):
            return max((m.at for m in prompt.history if m.answer_id == given.id), default=0.0)
        return 0.0
    if prompt.state == "desk" and prompt.outcome in ("denied", "stopped"):
        return prompt.closed_at or 0.0
    return 0.0


def session_seen(queue: OrderQueue, session: Session, at: float) -> OrderQueue:
    """Its session's row changed."""
    if session.state != "ended" or not any(order.state == "waiting" for order in queue.orders):
        return queue
    return queue if session.goes_on_as else hold(queue, ENDED, at)


def carried_over(queue: OrderQueue, other: OrderQueue | None, session: Session, at: float) -> OrderQueue:
    """The run of `session` goes by another id now; what waits goes with it. `other`: the queue it has there."""
    before = other or OrderQueue(session.goes_on_as)
    ids = {order.id for order in before.orders}
    orders = (*before.orders, *(order for order in queue.orders if order.id not in ids))
    joined = replace(before, orders=orders, held=before.held or queue.held, own=before.own or queue.own)
    # A run that had a conversation, and goes by another id, was cleared, or took up another one.
    waits = any(order.state == "waiting" for order in orders)
    return hold(joined, ANOTHER, at) if session.transcript and waits else joined


def recovered(queue: OrderQueue, prompt: Prompt | None, order: Order, at: float) -> OrderQueue:
    """After a start: an order that was under way. `prompt`: the pause that it was given to, as it is on disk."""
    if order.state == "checking":
        return hold(_change(queue, order.id, "waiting", at, INTERRUPTED), INTERRUPTED, at)
    if prompt is None:
        return _change(queue, order.id, "unsure", at, "its pause is not on record any more")
    taken = any(moment.answer_id == order.answer_id for moment in prompt.history)
    if order.state == "giving" and not taken:
        return _change(queue, order.id, "waiting", at, "")  # it was never handed to anybody
    return seen(queue, prompt, at)


def _change(queue: OrderQueue, order_id: str, state: OrderState, at: float, detail: str) -> OrderQueue:
    order = next((each for each in queue.orders if each.id == order_id), None)
    if order is None or (order.state, order.detail) == (state, detail[:200]):
        return queue
    return _put(queue, replace(order, state=state, changed_at=at, detail=detail[:200]))


def _put(queue: OrderQueue, order: Order) -> OrderQueue:
    return _with(queue, tuple(order if each.id == order.id else each for each in queue.orders))


def _with(queue: OrderQueue, orders: tuple[Order, ...]) -> OrderQueue:
    over = [each for each in orders if each.state in SETTLED]
    under_way = [each for each in orders if each.state in UNDER_WAY]
    waiting = [each for each in orders if each.state == "waiting"]
    return replace(queue, orders=(*over[-MOST_SETTLED:], *under_way, *waiting))
