"""The methods for second opinions: to ask another agent, to read what it says, to send that back or end it.

Rule: the same as over HTTP; a person starts each review and sends each one back.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.model.prompts import Refused
from yourcall.model.reviews import Review
from yourcall.server.api.conversation import find_run
from yourcall.server.api.reviews import review_view
from yourcall.server.auth import Refusal
from yourcall.server.contracts.rpc.connection import Connection
from yourcall.server.contracts.rpc.method import BAD_PARAMS, NOT_FOUND, REFUSED, Method, Wrong
from yourcall.server.contracts.rpc.wire import ReviewChangeParams, ReviewList, ReviewParams, SessionParams
from yourcall.server.ports import Reviews
from yourcall.server.wire import ReviewView

_NONE = Wrong(NOT_FOUND, "There are no reviews here.")


async def start(line: Connection, params: ReviewParams) -> ReviewView | Wrong:
    session = find_run(line.tools.desk.store, line.id_of(params.session_id))
    if isinstance(session, Refusal):
        return Wrong(NOT_FOUND, session.reason)
    reviews = line.tools.reviews
    if reviews is None:
        return _NONE
    caller = line.caller
    done = await reviews.start(
        session, params.agent_type, caller.by, caller.via, question=params.prompt,
        remote=bool(caller.device_id) or caller.via != "socket",
    )  # fmt: skip
    return await _view(line, reviews, done)


async def listed(line: Connection, params: SessionParams) -> ReviewList | Wrong:
    session = find_run(line.tools.desk.store, line.id_of(params.session_id))
    if isinstance(session, Refusal):
        return Wrong(NOT_FOUND, session.reason)
    reviews = line.tools.reviews
    if reviews is None:
        return _NONE
    return ReviewList(tuple([_named(line, await review_view(reviews, each)) for each in reviews.of(session.id)]))


async def change(line: Connection, params: ReviewChangeParams) -> ReviewView | Wrong:
    reviews = line.tools.reviews
    review = reviews.find(params.review_id) if reviews is not None else None
    if reviews is None or review is None:
        return Wrong(NOT_FOUND, "There is no such review.")
    if params.send == params.end:
        return Wrong(BAD_PARAMS, "Give `send` or `end`, one of them.")
    if params.end:
        return await _view(line, reviews, await reviews.end(review))
    caller = line.caller
    done = await reviews.send_back(review, params.prompt, caller.by, caller.via, caller.device_id, line.certainty)
    return await _view(line, reviews, done)


async def _view(line: Connection, reviews: Reviews, done: Review | Refused) -> ReviewView | Wrong:
    if isinstance(done, Refused):
        return Wrong(REFUSED, done.reason, "refused")
    return _named(line, await review_view(reviews, done))


def _named(line: Connection, view: ReviewView) -> ReviewView:
    return replace(view, session_id=line.name_of(view.session_id), by_session=line.name_of(view.by_session))


REVIEW_METHODS: tuple[Method, ...] = (
    Method(
        "session/review",
        start,
        ReviewParams,
        ReviewView,
        "Ask another agent, which only reads, what it thinks of a session's work.",
        "steer",
    ),
    Method("session/reviews", listed, SessionParams, ReviewList, "The reviews of a session.", "read"),
    Method(
        "session/review/change",
        change,
        ReviewChangeParams,
        ReviewView,
        "Send a review, or your part of it, back to the session; or end it.",
        "steer",
    ),
)
