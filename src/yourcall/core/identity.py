"""Is this prompt the one that is meant, and is anything still to be learnt of it?

Rule: an id decides where there is one. Where an agent gives none, a watch (links/proof.py) binds calls to prompts
by session, call and order of arrival: two identical calls in a row are two prompts, the older one meant first.
"""

from __future__ import annotations

from yourcall.core.lifecycle import CLOSED
from yourcall.model.prompts import Prompt

# The line that a reminder of the agent's own leaves in a prompt's history.
NUDGED = "the agent reminds you"
# The line of a pause that ended because a turn began that nobody here knows the beginning of.
WENT_ON = "the session went on"
# The line of a person who took a prompt off the list.
DISMISSED = "dismissed; the agent was told nothing"


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


def desk_word(outcome: str | None) -> str:
    """What somebody did at the desk, never more than is known: a dialog that closes may be answered or stopped."""
    if outcome in (None, "unknown"):
        return "closed"
    return "stopped" if outcome == "stopped" else "answered"


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
