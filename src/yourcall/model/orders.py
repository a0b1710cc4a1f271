"""Standing orders: instructions that wait until a session can take them, in their order.

Rule: an order is given once, as the answer to the pause of its session, or it is never given.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

# What each word promises is written once, in core/standing_orders.py.
OrderState = Literal["waiting", "checking", "giving", "given", "done", "unsure", "dropped"]

# What an order waits for, besides the end of a turn: nothing more, a time, a command that passes, a limit's reset.
Trigger = Literal["turn", "time", "command", "limit"]


class Order(Struct, frozen=True, forbid_unknown_fields=True):
    """One instruction. `at`: not before then. `command`: what must pass first. `prompt_id`, `answer_id`: how it
    was given. `by`, `via`, `device`, `author_certainty`: who wrote it, as in an answer."""

    id: str
    text: str
    by: str
    via: str
    added_at: float
    trigger: Trigger = "turn"
    at: float = 0.0
    command: str = ""
    state: OrderState = "waiting"
    changed_at: float = 0.0
    detail: str = ""
    prompt_id: str = ""
    answer_id: str = ""
    device: str = ""
    author_certainty: str = ""


class OrderQueue(Struct, frozen=True, forbid_unknown_fields=True):
    """The orders of one session: the settled ones first, then those that wait, in the order they are given in.

    `held`: why nothing is given until a person lets it go on; '' if nothing holds it. `own`: the pause that
    somebody ends through yourcall right now. `seq`: up to where in the log this queue has seen its session.
    """

    session_id: str
    orders: tuple[Order, ...] = ()
    held: str = ""
    held_at: float = 0.0
    resumed_at: float = 0.0
    own: str = ""
    seq: int = 0
