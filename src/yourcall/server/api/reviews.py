"""Second opinions over HTTP: to ask another agent, to read what it says, to send that back.

Rule: passes on what was asked, and by whom; a person starts each review and sends each one back.
"""

from __future__ import annotations

from yourcall.model.prompts import Refused
from yourcall.model.reviews import Review
from yourcall.server.api.conversation import find_run
from yourcall.server.auth import Refusal
from yourcall.server.peers import author_of
from yourcall.server.ports import Reviews
from yourcall.server.route import Call, Reply, body
from yourcall.server.wire import ReviewRequest, ReviewView, SendBackRequest, StartableView

_NONE = Refusal(404, "There are no reviews here.")


async def reviewers(call: Call) -> Reply | Refusal:
    if call.reviews is None:
        return _NONE
    return Reply([StartableView(agent) for agent in await call.reviews.reviewers()])


async def list_reviews(call: Call) -> Reply | Refusal:
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.reviews is None:
        return _NONE
    return Reply([await review_view(call.reviews, each) for each in call.reviews.of(session.id)])


async def start_review(call: Call) -> Reply | Refusal:
    asked = await body(call.request, ReviewRequest)
    if isinstance(asked, Refusal):
        return asked
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.reviews is None:
        return _NONE
    done = await call.reviews.start(
        session,
        asked.agent,
        call.caller.by,
        call.caller.via,
        question=asked.text,
        subject=asked.subject,
        prompt_id=asked.prompt,
        remote=bool(call.caller.device_id) or call.caller.via != "socket",
    )
    if isinstance(done, Refused):
        return Refusal(422, done.reason)
    return Reply(await review_view(call.reviews, done), 201)


async def show_review(call: Call) -> Reply | Refusal:
    match = _review(call)
    return match if isinstance(match, Refusal) else Reply(await review_view(*match))


async def send_back(call: Call) -> Reply | Refusal:
    asked = await body(call.request, SendBackRequest)
    if isinstance(asked, Refusal):
        return asked
    match = _review(call)
    if isinstance(match, Refusal):
        return match
    author = await author_of(call.ties, call.caller, "steer sessions")
    if isinstance(author, Refused):
        return Refusal(403, author.reason)
    reviews, review = match
    caller = call.caller
    session = call.desk.store.session(review.session_id)
    if session is not None and not call.devices.may_there(caller.device_id, session.cwd, "steer"):
        return Refusal(403, f"You may not steer sessions in {session.cwd}. An admin changes that: yourcall people")
    await call.devices.note_wish(caller.device_id, review.session_id)
    done = await reviews.send_back(review, asked.text, caller.by, caller.via, caller.device_id, author.certainty)
    if isinstance(done, Refused):
        return Refusal(422, done.reason)
    return Reply(await review_view(reviews, done))


async def end_review(call: Call) -> Reply | Refusal:
    match = _review(call)
    if isinstance(match, Refusal):
        return match
    reviews, review = match
    return Reply(await review_view(reviews, await reviews.end(review)))


def _review(call: Call) -> tuple[Reviews, Review] | Refusal:
    if call.reviews is None:
        return _NONE
    review = call.reviews.find(call.part("review"))
    return (call.reviews, review) if review is not None else Refusal(404, "There is no such review.")


async def review_view(reviews: Reviews, review: Review) -> ReviewView:
    return ReviewView(
        review.id, review.session_id, review.reviewer, review.by_session, review.question, review.at, review.by,
        review.round, review.subject, review.prompt_id, review.state, await reviews.text_of(review), review.detail,
        review.cost_usd, review.done_at, review.sent_at, review.order_id, review.files, review.whole_diff,
    )  # fmt: skip
