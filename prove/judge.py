"""What really happened in a case, beside what yourcall told: every difference has a name.

The rule it keeps: what happened comes from the files that commands wrote and from what the scripted model heard,
never from yourcall. What yourcall told is only compared with that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WRONG = "wrong prompt answered"
LOST = "answer lost"
TWICE = "done twice"
FALSE_CONFIRMED = "false confirmed"
FALSE_LATE = "false too late"
STUCK = "silently stuck"
NOT_SHOWN = "prompt never shown"
SHOWN = "shown though nothing waited"
HINDERED = "agent hindered"

FAILURES = (WRONG, LOST, TWICE, FALSE_CONFIRMED, FALSE_LATE, STUCK, NOT_SHOWN, SHOWN, HINDERED)

UNSURE, BOUNCED = "unsure", "bounced"
HONEST = (UNSURE, BOUNCED)  # not what anybody wants, but told as it is

# States in which yourcall says that it knows what became of a prompt.
SETTLED = ("confirmed", "accepted", "desk", "ended")


@dataclass(frozen=True)
class Given:
    """One answer, from a device or from the desk. `result`: what the device was told; "" if it heard nothing."""

    by: str
    yes: bool
    result: str = ""


@dataclass
class Asked:
    """One request of the agent's, and all that was done about it."""

    key: str
    prompt: str = ""  # its id; "" while it was never shown
    given: list[Given] = field(default_factory=list)
    runs: int = 0  # how often its command ran
    ran_before: int = 0  # and how often the same command had run before, for an earlier request
    counted: bool = False
    heard: bool = False  # the model was told about it, or the agent is at rest again
    state: str = ""  # the last that yourcall says of it
    outcome: str = ""
    history: tuple[str, ...] = ()
    agent_died: bool = False


def judged(asked: Asked) -> list[str]:
    """The names of all that went wrong, and of what was honestly not known."""
    found: list[str] = []
    if not asked.prompt:
        return [NOT_SHOWN]
    yes = any(each.yes for each in asked.given)
    if asked.runs and not yes:
        found.append(WRONG)
    if asked.runs > 1:
        found.append(TWICE)
    if asked.heard or asked.agent_died:
        found += _untrue(asked)
    found += [FALSE_LATE for each in asked.given if each.result == "too_late" and len(asked.given) == 1]
    if asked.state == UNSURE:
        found.append(UNSURE)
    elif BOUNCED in asked.history or any(each.result == "bounced" for each in asked.given):
        found.append(BOUNCED)
    if not asked.agent_died:
        if not asked.heard or asked.state not in (*SETTLED, UNSURE):
            found.append(STUCK)
        elif _lost(asked):
            found.append(LOST)
    return list(dict.fromkeys(found))


def _untrue(asked: Asked) -> list[str]:
    """A word of yourcall's that the world contradicts."""
    ran = asked.runs > 0
    told = [each.yes for each in asked.given if each.result == "confirmed"]
    if asked.state in ("confirmed", "desk"):
        told += [True] if asked.outcome == "allowed" else [False] if asked.outcome in ("denied", "stopped") else []
    return [FALSE_CONFIRMED] if any(yes != ran for yes in told) else []


def _lost(asked: Asked) -> bool:
    """Everybody who answered said yes (or no) and got the opposite, and nobody was told."""
    wanted = {each.yes for each in asked.given}
    return len(wanted) == 1 and asked.state != UNSURE and (asked.runs > 0) not in wanted
