"""Full-text search over HTTP."""

from __future__ import annotations

from yourcall.server.auth import Refusal
from yourcall.server.route import Call, Reply, rows
from yourcall.server.wire import SearchHit

_USUAL = 20
_LONGEST = 400


async def find(call: Call) -> Reply | Refusal:
    limit = rows(call.request, _USUAL)
    if isinstance(limit, Refusal):
        return limit
    words = call.request.query_params.get("words", "")
    if not words.strip() or len(words) > _LONGEST:
        return Refusal(400, f"`words` must hold what to look for, at most {_LONGEST} characters.")
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
            for hit in await call.search.find(words, limit)
        ]
    )
