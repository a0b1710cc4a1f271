"""Full-text search over HTTP."""

from __future__ import annotations

from yourcall.server.auth import Refusal
from yourcall.server.route import Call, Reply, rows
from yourcall.server.wire import MessageHit, MessageHits, SearchHit

_USUAL = 20
_LONGEST = 400


async def find(call: Call) -> Reply | Refusal:
    limit, text = rows(call.request, _USUAL), _words(call)
    if isinstance(limit, Refusal):
        return limit
    if isinstance(text, Refusal):
        return text
    if call.search is None:
        return Refusal(404, "There is no search here.")
    return Reply(
        [
            SearchHit(
                hit.prompt.id,
                hit.prompt.kind,
                hit.prompt.agent,
                hit.prompt.session_id,
                hit.prompt.cwd,
                hit.prompt.title,
                hit.excerpt,
                hit.prompt.state,
                hit.prompt.opened_at,
            )
            for hit in await call.search.find(text, limit)
        ]
    )


async def find_messages(call: Call) -> Reply | Refusal:
    limit, text = rows(call.request, _USUAL), _words(call)
    if isinstance(limit, Refusal):
        return limit
    if isinstance(text, Refusal):
        return text
    if call.talk_search is None:
        return Refusal(404, "There is no search here.")
    hits = await call.talk_search.find(text, limit)
    return Reply(
        MessageHits(
            tuple(
                MessageHit(hit.session.id, hit.session.agent, hit.session.cwd, hit.offset, hit.at, hit.excerpt)
                for hit in hits.messages
            ),
            hits.complete,
        )
    )


def _words(call: Call) -> str | Refusal:
    words = call.request.query_params.get("words", "")
    if words.strip() and len(words) <= _LONGEST:
        return words
    return Refusal(400, f"`words` must hold what to look for, at most {_LONGEST} characters.")
