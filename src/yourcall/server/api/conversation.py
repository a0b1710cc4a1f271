"""A session's conversation over HTTP, a page at a time.

Rule: reads the agent's own record and keeps no copy; a place in a file is only good for that file.
"""

from __future__ import annotations

from starlette.requests import Request

from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session
from yourcall.server.auth import Refusal
from yourcall.server.ports import Rows
from yourcall.server.route import Call, Reply, rows

_USUAL = 50
MOST_ENDED = 500  # so many of those that have ended are found by the beginning of their id
_LONGEST_NAME = 200


async def read_page(call: Call) -> Reply | Refusal:
    limit = rows(call.request, _USUAL)
    before, after = place(call.request, "before"), place(call.request, "after")
    for wrong in (limit, before, after):
        if isinstance(wrong, Refusal):
            return wrong
    if before is not None and after is not None:
        return Refusal(400, "Give `before` or `after`, not both.")
    # Who goes on reading goes on with the run, whatever it is called now; what was said before stays where it is.
    find = find_run if isinstance(after, int) else find_session
    session = find(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.conversations is None:
        return Refusal(404, "Conversations are not read here.")
    words = {name: call.request.query_params.get(name, "")[:_LONGEST_NAME] for name in ("subagent", "file")}
    page = await call.conversations.page(
        session,
        words["subagent"],
        before=before if isinstance(before, int) else None,
        after=after if isinstance(after, int) else None,
        file=words["file"],
        limit=limit if isinstance(limit, int) else _USUAL,
    )
    return Refusal(404, page.reason) if isinstance(page, Refused) else Reply(page)


async def pictures(call: Call) -> Reply | Refusal:
    offset = place(call.request, "offset")
    if not isinstance(offset, int):
        return offset or Refusal(400, "Say where: the `offset` of an entry, and the `file` of its page.")
    session = find_session(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    if call.conversations is None:
        return Refusal(404, "Conversations are not read here.")
    words = {name: call.request.query_params.get(name, "")[:_LONGEST_NAME] for name in ("subagent", "file")}
    found = await call.conversations.pictures(session, words["subagent"], file=words["file"], offset=offset)
    return Refusal(404, found.reason) if isinstance(found, Refused) else Reply(list(found))


def place(request: Request, name: str) -> int | Refusal | None:
    """An offset in a file."""
    said = request.query_params.get(name)
    if said is None:
        return None
    if not (said.isascii() and said.isdecimal() and len(said) < 16):
        return Refusal(400, f"`{name}` must be a whole number, as a page gave it.")
    return int(said)


def find_run(store: Rows, name: str) -> Session | Refusal:
    """The same, as it goes by now: a view of a session that was cleared still reaches what runs there."""
    session = find_session(store, name)
    known: set[str] = set()
    while isinstance(session, Session) and session.goes_on_as and session.id not in known:
        known.add(session.id)
        session = store.session(session.goes_on_as) or session
    return session


def find_session(store: Rows, name: str) -> Session | Refusal:
    """The session of this id, or the one whose id starts like this: one that lives, else one that has ended."""
    unknown = Refusal(404, f"There is no session {name[:40]!r}. To see them all: yourcall sessions --all")
    if not 0 < len(name) <= _LONGEST_NAME:
        return unknown
    session = store.session(name)
    if session is not None:
        return session
    alike = [each for each in store.live()[1] if each.id.startswith(name)]
    alike = alike or [each for each in store.ended(MOST_ENDED) if each.id.startswith(name)]
    if len(alike) > 1:
        ids = ", ".join(each.id for each in alike[:5])
        return Refusal(404, f"{len(alike)} sessions start with {name!r}; give more letters: {ids}")
    return alike[0] if alike else unknown
