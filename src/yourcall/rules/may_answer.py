"""May this person, from this device, with this proof, give this answer to this prompt now? The one place for it.

    yes · it takes a passkey · so many more persons · no, and why

Rules
  * Pure. Whoever asks brings what is known, and asks at the moment at which the answer takes effect.
  * A no from somebody who may answer at all is never held up: it takes no passkey and no second person.
  * What is not known is not there: an author nobody knows, a proof nobody checked, a yes to something else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from yourcall.model.people import AnswerPolicy, Approval, Grant, Person, Role
from yourcall.model.prompts import Risk

# sudo's own window; what is longer is a login, and no word for one act.
LONGEST_WINDOW_S = 15 * 60.0

# Authors that are no person: what they may say was decided before, by rules, by the config, by yourcall itself.
NO_PERSON = frozenset({"rule", "yourcall"})
# Who sits at this machine, as far as a machine can tell. Persons or none, it is its owner.
AT_THE_MACHINE = frozenset({"terminal", "local process"})

ROLE_OF: dict[str, Role] = {
    "read": "see", "answer": "answer", "steer": "steer", "rules": "rules", "admin": "admin",
}  # fmt: skip
_ALL: frozenset[Role] = frozenset(ROLE_OF.values())


class Author(Struct, frozen=True):
    """Who says it, as far as that is known.

    `gone`: why nothing of theirs counts any more (revoked, removed, unpaired); empty: they are there. `scopes`:
    what their device was given. `person`: who it belongs to; None: the owner of the machine, or somebody unknown.
    `known`: it cannot be anybody else (an ntfy topic is everybody's who reads it).
    """

    certainty: str
    device: str = ""
    gone: str = ""
    scopes: Collection[str] = ()
    person: Person | None = None
    known: bool = True


class Answered(Struct, frozen=True):
    """What is said to which prompt.

    `act`: a digest of exactly this answer to exactly this version. `allows`: it lets the agent do something.
    `confirm`: why a yes to this wants to be meant (risk, or that it lasts); empty where a tap is enough.
    `lasts`: it also allows what would be asked later. `effects`: what it would do, by the names that rules use;
    None: nobody can tell. `asked_by`: the persons who told the agent to do this. `approvals`: the yeses that are
    there. `addressed_to`: to whom it was handed, until `addressed_until`.
    """

    act: str
    cwd: str
    machine: str
    allows: bool
    confirm: str = ""
    risk: Risk | None = None
    lasts: bool = False
    effects: frozenset[str] | None = frozenset()
    asked_by: frozenset[str] = frozenset()
    approvals: Sequence[Approval] = ()
    addressed_to: frozenset[str] = frozenset()
    addressed_until: float = 0.0


class Proof(Struct, frozen=True):
    """What a passkey has proven, checked by whoever brings it: for this act, on this host, for this device.

    `person`: whose passkey it is; `device`: who asked for the gesture. `at`: when it was made.
    """

    passkey: str
    act: str
    device: str
    at: float
    person: str = ""


class Standing(Struct, frozen=True):
    """How things stand here now: the passkeys that are not revoked, the devices that are, and all persons."""

    passkeys: frozenset[str] = frozenset()
    revoked_devices: frozenset[str] = frozenset()
    persons: Mapping[str, Person] = {}

    @property
    def has_people(self) -> bool:
        return any(each.removed_at is None for each in self.persons.values())


class Yes(Struct, frozen=True):
    """`passkey`: the one that stood behind it; empty if none was needed. `others`: who else said yes."""

    passkey: str = ""
    others: tuple[str, ...] = ()


class NeedsStepUp(Struct, frozen=True):
    reason: str


class NeedsMore(Struct, frozen=True):
    """This yes counts, and so many more persons have to say the same. `passkey`: what stood behind this one."""

    count: int
    of: int
    reason: str
    passkey: str = ""


class No(Struct, frozen=True):
    reason: str


class Agreed(Struct, frozen=True):
    """A yes that waits for others: as it is recorded, and how many there are with it, of how many."""

    approval: Approval
    given: int
    of: int
    reason: str


Ruling = Yes | NeedsStepUp | NeedsMore | No


def may_answer(
    author: Author, answered: Answered, proof: Proof | None, policy: AnswerPolicy, standing: Standing, now: float
) -> Ruling:
    """The whole policy, in the order in which a person would want to hear of it."""
    if author.gone:
        return No(author.gone)
    if author.certainty in NO_PERSON:
        return Yes()
    refused = _not_allowed(author, answered, standing)
    if refused is not None:
        return refused
    if not answered.allows:
        return Yes()
    refused = _addressed(author, answered, now) or _own_wish(author, answered, policy)
    if refused is not None:
        return refused
    passkey = ""
    why = steps_up(answered, author.certainty, policy, standing)
    if why:
        if not standing.passkeys:
            return No(f"{why} Here this takes a passkey, and none is registered. In the app: Settings, Passkeys")
        if author.certainty == "supervisor agent":
            return No(f"{why} This takes a person with a passkey; an agent has none.")
        unproven = _unproven(author, answered, proof, policy, standing, now)
        if unproven:
            return NeedsStepUp(f"{why} {unproven}".strip())
        assert proof is not None
        passkey = proof.passkey
    return _enough(author, answered, passkey, policy, standing)


def _not_allowed(author: Author, answered: Answered, standing: Standing) -> No | None:
    """Who may answer here at all, and who may say what lasts."""
    roles = roles_of(author, answered.cwd, answered.machine, standing)
    if "answer" not in roles:
        where = f" in {answered.cwd}" if author.person is not None else ""
        return No(f"{_name(author)} may not answer{where}. An admin changes that: yourcall people")
    if answered.allows and standing.has_people and not author.known:
        return No("Nobody knows who pressed this. Open it in the app, or sign in.")
    if answered.lasts and author.certainty == "supervisor agent":
        return No("A supervisor agent may allow this once, but not what would be asked later: a person may.")
    if answered.lasts and "rules" not in roles:
        return No(
            "This option also allows what would be asked later, which takes the role `rules`. Allow it once."
        )
    return None


def roles_of(author: Author, cwd: str, machine: str, standing: Standing) -> frozenset[Role]:
    """What this author may do there: what the device was given, and no more than the person may."""
    if author.certainty in AT_THE_MACHINE and author.person is None:
        return _ALL
    by_device: frozenset[Role] = frozenset(ROLE_OF[scope] for scope in author.scopes if scope in ROLE_OF)
    if author.person is None:
        return by_device
    person = standing.persons.get(author.person.id)
    if person is None or person.removed_at is not None:
        return frozenset()
    return by_device & roles_at(person, cwd, machine)


def roles_at(person: Person, cwd: str, machine: str) -> frozenset[Role]:
    return frozenset(role for grant in person.grants if _covers(grant, cwd, machine) for role in grant.roles)


def _covers(grant: Grant, cwd: str, machine: str) -> bool:
    here = not grant.machines or machine in grant.machines
    return here and within(cwd, grant.projects)


def within(cwd: str, folders: Sequence[str]) -> bool:
    """Is it one of these folders, or below one? No folders: it is."""
    if ".." in cwd.split("/"):
        return not folders  # where it leads is not known here
    return not folders or any(f"{cwd.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _addressed(author: Author, answered: Answered, now: float) -> No | None:
    if not answered.addressed_to or now >= answered.addressed_until:
        return None
    if author.person is not None and author.person.id in answered.addressed_to:
        return None
    return No("This was handed to somebody else. It comes back to everybody if they do not answer.")


def _own_wish(author: Author, answered: Answered, policy: AnswerPolicy) -> No | None:
    mine = author.person is not None and author.person.id in answered.asked_by
    unknown = author.person is None and bool(answered.asked_by)
    if not (mine or unknown) or not _touches(policy.not_by_who_asked, answered.effects):
        return None
    return No("You told the agent to do this, so somebody else has to approve it.")


def _touches(named: Collection[str], effects: frozenset[str] | None) -> bool:
    """Does it have one of these effects? What nobody can tell may have all of them."""
    if effects is None or "unknown" in effects:
        return bool(named)
    return "any" in named or not effects.isdisjoint(named)


def steps_up(answered: Answered, certainty: str, policy: AnswerPolicy, standing: Standing) -> str:
    """Why this yes takes a passkey; empty if it takes none."""
    active = bool(standing.passkeys) or policy.step_up.required
    if not answered.allows or not active:
        return ""
    if certainty in AT_THE_MACHINE and not policy.step_up.command_line:
        return ""
    return needs_passkey(answered.confirm, answered.risk, lasts=answered.lasts, policy=policy)


def needs_passkey(confirm: str, risk: Risk | None, *, lasts: bool, policy: AnswerPolicy) -> str:
    """Why a yes to this is one that takes a passkey where somebody has one."""
    if lasts:
        return confirm or "It allows more than this once."
    if risk is not None and risk.level == "unclear" and policy.step_up.risk == "high":
        return ""
    return confirm


def _unproven(
    author: Author, answered: Answered, proof: Proof | None, policy: AnswerPolicy, standing: Standing, now: float
) -> str:
    """What is wrong with the proof; empty if it will do."""
    if proof is None:
        return "Confirm it with your passkey, in the app."
    if proof.passkey not in standing.passkeys:
        return "That passkey was revoked."
    if proof.device != author.device:
        return "That was confirmed for another device."
    mine = author.person.id if author.person is not None else ""
    if proof.person != mine and author.certainty not in AT_THE_MACHINE:
        return "That is somebody else's passkey."
    if proof.act and proof.act == answered.act:
        return ""
    window = min(policy.step_up.window_minutes * 60.0, LONGEST_WINDOW_S)
    if author.device and 0 <= now - proof.at < window:
        return ""
    return "Confirm it with your passkey, in the app."


def _enough(author: Author, answered: Answered, passkey: str, policy: AnswerPolicy, standing: Standing) -> Ruling:
    """Have enough persons said the same?"""
    wanted = [
        each
        for each in policy.quorum
        if _touches(each.effects, answered.effects) and within(answered.cwd, each.projects)
    ]
    most = max((each.persons for each in wanted), default=1)
    if most <= 1:
        return Yes(passkey)
    if author.person is None:
        return No(f"It takes {most} persons, and nobody knows who you are. Sign in, or see: yourcall people")
    others = {each.person: each for each in answered.approvals if _counts(each, answered, policy, standing)}
    others.pop(author.person.id, None)
    if len(others) + 1 < most:
        missing = most - len(others) - 1
        effects = ", ".join(sorted({effect for each in wanted for effect in each.effects}))
        reason = (
            f"It takes {most} persons ({effects}); {missing} more {'has' if missing == 1 else 'have'} to agree."
        )
        return NeedsMore(missing, most, reason, passkey)
    return Yes(passkey, tuple(each.by for each in others.values()))


def _counts(approval: Approval, answered: Answered, policy: AnswerPolicy, standing: Standing) -> bool:
    """Does this earlier yes still stand? To the very same act, by somebody who may still give it."""
    person = standing.persons.get(approval.person)
    if person is None or person.removed_at is not None or approval.act != answered.act:
        return False
    if approval.device in standing.revoked_devices:
        return False
    if approval.proof and approval.proof not in standing.passkeys:
        return False
    mine = approval.person in answered.asked_by and _touches(policy.not_by_who_asked, answered.effects)
    return not mine and "answer" in roles_at(person, answered.cwd, answered.machine)


def _name(author: Author) -> str:
    return author.person.name if author.person is not None else "This device"
