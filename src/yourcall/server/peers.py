"""What a process that belongs to an agent may do here: read, and ask; never answer, allow, or change anything.

Rule: closed unless said otherwise. A new route or method that changes something is refused to agents without
anybody thinking of it; only what is named here is theirs too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from yourcall.model.prompts import Prompt, Refused
from yourcall.server import scopes
from yourcall.server.auth import Caller, Refusal
from yourcall.server.option_matching import grants_more_than_once
from yourcall.server.ports import Ties
from yourcall.system.peer import Author

# Routes that change something and are an agent's, too: to ask a person, to try a rule, to be looked after.
_THEIRS = frozenset(
    {
        ("POST", "/api/asks"),
        ("POST", "/api/asks/{id}/wait"),
        ("POST", "/api/asks/{id}/taken"),
        ("DELETE", "/api/asks/{id}"),
        ("POST", "/api/rules/test"),
        ("POST", "/api/panes"),
    }
)

# Whoever cannot be seen counts as one: what it asked is its own.
_UNSEEN = "?"

# Routes that look themselves: they know which prompt it is about, or what is wanted.
_ASKS_ITSELF = frozenset({"/api/prompts/{id}/answer", "/api/interactive-prompts/respond", "/api/may/{what}"})

# What the others do, in words that go behind "only a person may".
_WHAT = (
    ("/api/rules", "change rules"),
    ("/api/pause", "pause rules"),
    ("/api/resume", "let rules decide again"),
    ("/api/lock", "lock yourcall"),
    ("/api/unlock", "unlock yourcall"),
    ("/api/devices", "add, name or revoke devices"),
    ("/api/pair", "pair a device"),
    ("/api/shutdown", "stop yourcall"),
    ("/api/tap", "answer a prompt"),
    ("/api/prompts", "dismiss a prompt"),
    ("/api/reviews", "start, steer or stop sessions"),
    ("/api/sessions", "start, steer or stop sessions"),
    ("/api/channels", "change how people are notified"),
    ("/api/push", "change how people are notified"),
)

ANSWER = "answer a prompt"


async def author_of(
    ties: Ties | None, caller: Caller, what: str, prompt: Prompt | None = None
) -> Author | Refused:
    """Who asks for this; or why it is refused, which is then on record."""
    if ties is None:
        return Author("device key" if caller.device_id else "local process")
    author = await _author(ties, caller)
    if not author.tied:
        return author
    if prompt is not None and author.supervisor and prompt.session_id not in author.own:
        return author
    return Refused(await ties.refused(author, what, prompt))


async def refusal(ties: Ties | None, caller: Caller, method: str, path: str) -> Refusal | None:
    """The 'no' to a process of an agent's, before a route does anything."""
    if method in ("GET", "HEAD") or (method, path) in _THEIRS or path in _ASKS_ITSELF:
        return None
    what = next((words for start, words in _WHAT if path.startswith(start)), "change anything here")
    author = await author_of(ties, caller, what)
    # Its body was not read, so it is not to be mistaken for the next request.
    return Refusal(403, f"{author.reason}.", {"Connection": "close"}) if isinstance(author, Refused) else None


async def asks_as(ties: Ties | None, caller: Caller) -> tuple[str, ...]:
    """By which names whoever raises a question is known later: its process, and the sessions it belongs to."""
    return () if ties is None else _names(await _author(ties, caller), caller)


async def not_its_own(
    ties: Ties | None, caller: Caller, raised_by: Collection[str], prompt: Prompt
) -> Refused | None:
    """The 'no' to an agent's process that waits for, takes or withdraws a question which it did not ask."""
    if ties is None:
        return None
    author = await _author(ties, caller)
    if not author.tied or not {*_names(author, caller)}.isdisjoint(raised_by):
        return None
    return Refused(await ties.refused(author, "speak for the script that asked this", prompt))


def _names(author: Author, caller: Caller) -> tuple[str, ...]:
    # An agent may be noticed while it waits for an answer; then it is known by its process.
    process = f"process {caller.peer.pid}" if caller.peer is not None and caller.peer.pid else ""
    sessions = sorted({tie.session_id for tie in author.ties if tie.session_id})
    return tuple(filter(None, (process, _UNSEEN if author.doubt else "", *sessions)))


async def _author(ties: Ties, caller: Caller) -> Author:
    return await ties.author(caller.peer, caller.via != "socket", caller.signed)


def lasting_refusal(
    caller: Caller, author: Author, prompt: Prompt, choices: Mapping[str, Sequence[str]]
) -> str | None:
    """The 'no' to an answer that also allows what would have been asked later: that is a rule in all but name."""
    if not grants_more_than_once(prompt, choices):
        return None
    if author.supervisor:
        return (
            "A supervisor agent may allow this once, but not what would be asked later: a person may. Use `allow`"
        )
    if caller.may("rules"):
        return None
    why = scopes.refusal(caller.by, caller.scopes, "rules")
    return f"This option also allows what would be asked later. It can be allowed once (`allow`). {why}"


def name_of(caller: Caller, author: Author) -> str:
    return f"{author.supervisor} (supervisor agent)" if author.supervisor else caller.by
