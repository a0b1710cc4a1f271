"""What the prompts of all agents have in common: ids that can be derived again, how much of a long text is shown,
and the prompts that a request and the end of a turn become.

Rule: nothing random. What is cut says so; the whole of it stays in the request.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

from yourcall.model.events import PromptRaised
from yourcall.model.prompts import Kind, Prompt, Question, Tool
from yourcall.model.sessions import Session

# The letters of every prompt's id, here and in the hook program: read aloud and typed without a mistake.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"

LONGEST_TITLE = 200
LONGEST_BODY = 20_000

# The end of a turn: `PROBLEM` and the agent's name for it, where a problem ended it.
NEXT = "next"
READY = "ready"
PROBLEM = "problem:"
READY_TITLE = "Ready for the next instruction"
STOPPED = "The turn was stopped."
WHAT_NEXT = (Question(NEXT, "What next?", free_text=True),)


def derived_id(*parts: str) -> str:
    """A prompt's id: the same for the same request, told again or read again."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:10])


def line(text: str, otherwise: str = "") -> str:
    """One line for a list."""
    lines = text.strip().splitlines() or [otherwise]
    more = " …" if len(lines) > 1 or len(lines[0]) > LONGEST_TITLE else ""
    return lines[0][:LONGEST_TITLE] + more


def cut(text: str) -> str:
    if len(text) <= LONGEST_BODY:
        return text
    return text[:LONGEST_BODY] + f"\n… {len(text) - LONGEST_BODY:,} more characters (in the request)"


def paragraphs(*parts: str) -> str:
    return cut("\n\n".join(part for part in parts if part.strip()))


class RequestView(Struct, frozen=True):
    """What a person sees of a request. `call_id`: the call whose end tells how it was decided. `cwd`: where it
    would run, if not in the session's folder. `form`: the agent's own id of a form."""

    kind: Kind
    title: str
    body: str
    tool: str = ""
    input: object = None
    questions: tuple[Question, ...] = ()
    call_id: str = ""
    cwd: str = ""
    form: str = ""


def raised(
    view: RequestView,
    request: bytes,
    session: Session,
    *,
    id: str,
    fingerprint: str,
    link: str,
    at: float,
    turn_id: str = "",
    subagent: str = "",
    answerable: bool | None = None,
) -> tuple[PromptRaised, dict[str, bytes]]:
    """The prompt of a request, and what is kept of the request itself. It can be answered if it asks something."""
    body_id = hashlib.sha256(request).hexdigest()
    prompt = Prompt(
        id=id,
        kind=view.kind,
        agent=session.agent,
        session_id=session.id,
        cwd=view.cwd or session.cwd,
        title=view.title,
        opened_at=at,
        body=view.body,
        tool=Tool(view.tool) if view.tool else None,
        questions=view.questions,
        request=body_id,
        fingerprint=fingerprint,
        turn_id=turn_id,
        call_id=view.call_id,
        subagent=subagent,
        permission_mode=session.permission_mode,
        link=link,
        answerable=bool(view.questions) if answerable is None else answerable,
    )
    return PromptRaised(at, prompt), {body_id: request}


def turn_ended(
    session: Session,
    *,
    id: str,
    link: str,
    at: float,
    body: str,
    kind: Kind = "ready",
    title: str = READY_TITLE,
    mark: str = READY,
    turn_id: str = "",
    questions: tuple[Question, ...] = WHAT_NEXT,
    stopped: bool = False,
    resets_at: float = 0.0,
) -> Prompt:
    """What a session waits for once a turn is over."""
    return Prompt(
        id=id,
        kind=kind,
        agent=session.agent,
        session_id=session.id,
        cwd=session.cwd,
        title=title,
        opened_at=at,
        body=cut(body),
        questions=questions,
        fingerprint=mark,
        turn_id=turn_id,
        permission_mode=session.permission_mode,
        link=link,
        answerable=True,
        stopped=stopped,
        resets_at=resets_at,
    )
