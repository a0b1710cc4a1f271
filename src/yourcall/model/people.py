"""Persons, what each may do where, and what a policy wants before a yes counts.

Rule: where nobody was named there are no persons: whoever has a device of the machine is its owner.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Role = Literal["see", "answer", "steer", "rules", "admin"]


class Grant(Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody may do, and where: in these folders and below, on these machines; empty: everywhere."""

    roles: tuple[Role, ...]
    projects: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()


class Person(Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody with a name. `login`: who they are for the identity provider, if they sign in. `removed_at`: from
    then on nothing of theirs counts."""

    id: str
    name: str
    grants: tuple[Grant, ...] = ()
    groups: tuple[str, ...] = ()
    login: str = ""
    removed_at: float | None = None


class Approval(Struct, frozen=True, forbid_unknown_fields=True):
    """A yes that waits for others. `act`: what exactly was said yes to; one to anything else does not count with
    it. `by`: how the person is named in what is written down."""

    at: float
    answer_id: str
    person: str
    by: str
    act: str
    author_certainty: str = ""
    device: str = ""
    proof: str = ""


class StepUp(Struct, frozen=True, forbid_unknown_fields=True):
    """When a yes takes a passkey.

    `risk`: from which verdict on. `window_minutes`: for how long after one gesture a device needs no other.
    `command_line`: also for what comes from this machine's own command line. `required`: such a yes is refused
    where nobody has registered a passkey; without it, step-up begins with the first one.
    """

    risk: Literal["unclear", "high"] = "unclear"
    window_minutes: Annotated[float, Meta(ge=0, le=15)] = 0.0
    command_line: bool = True
    required: bool = False


class Quorum(Struct, frozen=True, forbid_unknown_fields=True):
    """So many persons say yes before what has one of these effects is allowed. `projects`: in these folders and
    below; empty: everywhere."""

    effects: tuple[str, ...]
    persons: Annotated[int, Meta(ge=2, le=10)] = 2
    projects: tuple[str, ...] = ()


class AnswerPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    """What is wanted before a yes counts. `not_by_who_asked`: a person may not approve what they told the agent to
    do, where it has one of these effects; `any` stands for every yes."""

    step_up: StepUp = StepUp()
    quorum: tuple[Quorum, ...] = ()
    not_by_who_asked: tuple[str, ...] = ()
