"""To find the session that a person means in a chat, and to tell it something.

Rule: follows a run that goes by another id now; what waits for the next instruction is answered by it, in the
person's name.
"""

from __future__ import annotations

import secrets

from yourcall.channels.context import ChannelContext
from yourcall.model.prompts import Answer, Refused, Verdict
from yourcall.model.sessions import Session

# Where words go by a protocol: what waits there is answered, not typed at.
_LINKS = frozenset({"stdio", "socket", "plugin"})

# As long as whoever wrote it looks at the chat to see whether it arrived.
TAKEN_S = 5.0

# Nobody goes on with an older one from a chat.
MOST_ENDED = 500


def run_of(desk: ChannelContext, session_id: str) -> Session | None:
    """The session, or what it goes on as; a few steps are enough, and a circle ends."""
    session = desk.loop.store.session(session_id) if session_id else None
    for _ in range(20):
        if session is None or not session.goes_on_as:
            break
        session = desk.loop.store.session(session.goes_on_as)
    return session


def find(desk: ChannelContext, word: str) -> Session | Refused:
    """A session by its number in /list, the beginning of its id, or its project's name."""
    alive = listed(desk)
    if word.isdecimal() and len(word) < 4 and 0 < int(word) <= len(alive):
        return alive[int(word) - 1]
    exact = run_of(desk, word)
    if exact is not None and exact.state != "ended":
        return exact
    alike = [each for each in alive if each.id.startswith(word)] if len(word) >= 4 else []
    alike = alike or [each for each in alive if name_of(each).lower() == word.lower()]
    if len(alike) == 1:
        return alike[0]
    why = f"{len(alike)} sessions match" if alike else "there is no such session"
    return Refused(f"{word[:40]}: {why}. See /list, and give the number or more of the id.")


def find_ended(desk: ChannelContext, word: str) -> Session | Refused:
    """One to go on with: by its number in the list of /resume, the beginning of its id, or its project's name."""
    exact = run_of(desk, word)
    if exact is not None:
        return exact
    over = resumable(desk, MOST_ENDED)
    if word.isdecimal() and len(word) < 3 and 0 < int(word) <= len(over):
        return over[int(word) - 1]
    both = [*over, *listed(desk)]
    alike = [each for each in both if each.id.startswith(word)] if len(word) >= 4 else []
    if len(alike) == 1:
        return alike[0]
    # Of one project's sessions the latest is meant.
    named = [each for each in over if name_of(each).lower() == word.lower()]
    if not alike and named:
        return named[0]
    why = f"{len(alike)} sessions match" if alike else "there is no such session"
    return Refused(f"{word[:40]}: {why}. See /resume, and give the number or more of the id.")


def resumable(desk: ChannelContext, most: int) -> list[Session]:
    """Sessions that are over and did not go on under another id, the latest first."""
    return [each for each in desk.loop.store.ended(most) if not each.goes_on_as]


def listed(desk: ChannelContext) -> list[Session]:
    alive = [session for session in desk.loop.store.live()[1] if session.state != "ended"]
    return sorted(alive, key=lambda session: (session.started_at, session.id))


def name_of(session: Session) -> str:
    return session.cwd.rstrip("/").rpartition("/")[2] or session.cwd or "?"


async def speak(
    desk: ChannelContext, session_id: str, text: str, by: str, via: str
) -> tuple[Verdict, Session | None]:
    session = run_of(desk, session_id)
    if session is None:
        return Verdict("refused", "This session is not known any more. See /list."), None
    if session.state == "ended":
        return Verdict("refused", f"This session is over. To go on: /resume {session.id[:8]} and what to do"), None
    if any(link.kind in _LINKS for link in session.links):
        mine = (p for p in desk.loop.store.live()[0] if p.session_id == session.id and p.link in _LINKS)
        waiting = next((p for p in mine if p.kind in ("ready", "problem") and p.state == "open"), None)
        if waiting is not None and waiting.questions:
            texts = {question.id: text for question in waiting.questions}
            answer = Answer(secrets.token_hex(12), by, via, texts=texts, author_certainty="chat account")
            verdict, _ = await desk.loop.answer(waiting.id, answer, TAKEN_S)
            return verdict, session
    return await desk.voice.send(session, text, False), session
