"""When do a held hook, a transcript line and a finished call speak of the same prompt?

Rule: an id decides where there is one. Without an id, the same session, the same call (tool and input) and the
order of arrival decide; two identical calls in a row are two prompts, and the older one is meant first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from yourcall.core.lifecycle import CLOSED
from yourcall.model import Prompt


def unsettled(prompt: Prompt) -> bool:
    """Something is still to be learnt: it is not closed, or nobody knows yes from no, and its session lives.

    What an ended session left open in doubt is on disk, and is recalled from there if its record still speaks.
    """
    known = prompt.state in CLOSED and (prompt.state != "desk" or prompt.outcome is not None)
    return not known and not over(prompt)


def over(prompt: Prompt) -> bool:
    """The session ended under this prompt, and nothing since then has shown that it lives after all."""
    for moment in reversed(prompt.history):
        # A person may be called `session` too; their late answer bears an id that is not the prompt's own.
        ours = moment.answer_id in ("", prompt.answer.id if prompt.answer else "")
        if moment.by == "session" and moment.state in ("unsure", "desk", "ended") and ours:
            return True
        if moment.state == "open":
            return False
    return False


def decided(prompt: Prompt) -> bool:
    """The agent's record told what became of it."""
    return prompt.outcome not in (None, "unknown")


def since(prompt: Prompt) -> float:
    """When the prompt came to the state it is in; notes made since then do not count."""
    at = prompt.opened_at
    for moment in reversed(prompt.history):
        if moment.state != prompt.state:
            break
        at = moment.at
    return at


def handed(prompt: Prompt) -> bool:
    """The holder said that it has written the answer this prompt has."""
    answer = prompt.answer
    return answer is not None and any(m.state == "sent" and m.answer_id == answer.id for m in prompt.history)


def same_request(old: Prompt, new: Prompt) -> bool:
    """Is `new` the same raising as `old`, told again (a holder that reconnects), not another one?"""
    return (old.session_id, old.fingerprint, old.agent) == (new.session_id, new.fingerprint, new.agent)


def unbound(prompts: Iterable[Prompt], session_id: str, fingerprint: str) -> Prompt | None:
    """The prompt that a call just seen in the transcript belongs to: the oldest alike that has no call yet."""
    alike = (
        p
        for p in prompts
        if p.session_id == session_id and p.fingerprint == fingerprint and not p.call_id and unsettled(p)
    )
    return min(alike, key=lambda p: (p.opened_at, p.id), default=None)


def by_call(prompts: Mapping[str, Prompt], session_id: str, call_id: str) -> Prompt | None:
    """The prompt bound to this call, if any."""
    return next(
        (p for p in prompts.values() if call_id and p.call_id == call_id and p.session_id == session_id), None
    )
