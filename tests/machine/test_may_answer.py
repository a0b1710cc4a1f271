"""Ten thousand generated attempts against the real verifier, and a second opinion written from the policy alone.

A world has persons, devices, passkeys and rules about who has to agree. Attempts come in any order: with gestures
that were really signed, copied, used before, made for another prompt, option, device or host; by persons that were
removed, devices that were revoked, at clocks that move. What the verifier lets through, the second opinion has to
find allowed by itself; and enough is let through for that to mean something.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import replace

from kit.authenticator import Authenticator, b64
from yourcall.agents.claude.agent import CLAUDE
from yourcall.daemon.authority import Authority
from yourcall.daemon.rules.lazy_rules import LazyRules
from yourcall.model.people import AnswerPolicy, Grant, Person, Quorum, Role, StepUp
from yourcall.model.prompts import Answer, Option, Prompt, Question, Tool, Verdict
from yourcall.rules.may_answer import Agreed
from yourcall.server.step_up import PROVEN_S, Site
from yourcall.server.step_up import StepUp as Gestures
from yourcall.store.sqlite import Store

WORLDS, ATTEMPTS = 40, 250
OPTIONS = (
    Option("once", "Yes", "allow_once"),
    Option("always", "Always", "allow_always"),
    Option("no", "No", "deny"),
)
QUESTION = Question("q", "Run it?", OPTIONS)
COMMANDS = ("ls", "rm -rf build", "./deploy.sh", "sudo reboot", "git push --force")
# By eye, not by our own tables: which of them a person would want to mean, and what they do.
MEANT = {"rm -rf build": "high", "./deploy.sh": "unclear", "sudo reboot": "high", "git push --force": "high"}
DELETES = {"rm -rf build", "./deploy.sh", "sudo reboot"}  # the middle one may: nobody can tell
PROJECTS = ("/srv/shop", "/srv/bank", "/srv/shop-two")
SITE = Site("desk.example.net", "https://desk.example.net")
ROLES: tuple[Role, ...] = ("see", "answer", "steer", "rules", "admin")


class Gesture(Struct):
    """What was really signed, and when; the second opinion keeps its own books."""

    name: str
    device: str
    what: tuple[Any, ...]
    passkey: str
    person: str
    at: float
    used: bool = False


class Truth(Struct):
    """All that the second opinion knows."""

    policy: AnswerPolicy
    persons: dict[str, Person]
    devices: dict[str, tuple[str, str, tuple[str, ...]]]  # id -> name, person, scopes
    revoked: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    dead_keys: set[str] = field(default_factory=set)
    keys: dict[str, tuple[Authenticator, str]] = field(default_factory=dict)  # id -> key, person
    gestures: list[Gesture] = field(default_factory=list)
    asked_by: dict[str, set[str]] = field(default_factory=dict)
    approvals: dict[str, dict[str, tuple[tuple[Any, ...], str, str]]] = field(default_factory=dict)


class Case(Struct):
    prompt: Prompt
    command: str
    answer: Answer

    @property
    def what(self) -> tuple[Any, ...]:
        p, a = self.prompt, self.answer
        return (
            p.id,
            p.title,
            p.request,
            tuple(sorted(a.choices.items())),
            tuple(sorted(a.texts.items())),
            a.input,
        )


def objections(truth: Truth, case: Case, now: float) -> list[str]:
    """Why policy forbids this yes, by the second opinion; the quorum aside."""
    found: list[str] = []
    device = case.answer.device
    _, person, scopes = truth.devices.get(device, ("", "", ("read", "answer", "steer", "rules")))
    at_machine = device == "" and case.answer.author_certainty in ("terminal", "local process")
    lasting = "always" in case.answer.choices["q"]
    if device and (device in truth.revoked or device not in truth.devices):
        found.append("revoked device")
    if person and person in truth.removed:
        found.append("removed person")
    wanted = {"answer", *({"rules"} if lasting else ())}
    if not at_machine:
        may = set(scopes)
        if person:
            granted = {
                role
                for grant in truth.persons[person].grants
                for role in grant.roles
                if not grant.projects
                or any(
                    case.prompt.cwd == each or case.prompt.cwd.startswith(each + "/") for each in grant.projects
                )
            }
            may &= granted
        if not wanted <= may:
            found.append("role")
    people = set(truth.persons) - truth.removed
    if people and not device and not at_machine:
        found.append("nobody knows who")
    deletes = case.command in DELETES or case.answer.input is not None
    mine = truth.asked_by.get(case.prompt.session_id, set()) if people else set()
    if "delete" in truth.policy.not_by_who_asked and deletes and mine and (person == "" or person in mine):
        found.append("own wish")
    live = set(truth.keys) - truth.dead_keys
    level = MEANT.get(case.command, "low")
    if case.answer.input is not None:
        level = "high"  # they are all edited to something that deletes
    dangerous = level == "high" or (level == "unclear" and truth.policy.step_up.risk == "unclear")
    exempt = at_machine and not truth.policy.step_up.command_line
    if (dangerous or lasting) and live and not exempt:
        window = truth.policy.step_up.window_minutes * 60
        good = [
            each
            for each in truth.gestures
            if each.device == device
            and each.passkey in live
            and (each.person == person or at_machine)
            and (
                (
                    each.name == case.answer.proof
                    and not each.used
                    and each.what == case.what
                    and now - each.at < PROVEN_S
                )
                or (device and 0 <= now - each.at < window)
            )
        ]
        if not good:
            found.append("no gesture")
    return found


def wanted_persons(truth: Truth, case: Case) -> int:
    deletes = case.command in DELETES or case.answer.input is not None
    found = [
        each.persons
        for each in truth.policy.quorum
        if deletes and (not each.projects or any(f"{case.prompt.cwd}/".startswith(f"{p}/") for p in each.projects))
    ]
    return max(found, default=1)


def agreeing(truth: Truth, case: Case) -> set[str]:
    """Persons whose earlier yes to the very same still stands."""
    found: set[str] = set()
    live = set(truth.keys) - truth.dead_keys
    for person, (what, device, key) in truth.approvals.get(case.prompt.id, {}).items():
        granted = {
            role
            for grant in truth.persons[person].grants
            for role in grant.roles
            if not grant.projects or any(f"{case.prompt.cwd}/".startswith(f"{p}/") for p in grant.projects)
        }
        still = person not in truth.removed and device not in truth.revoked and (not key or key in live)
        if still and what == case.what and "answer" in granted:
            found.add(person)
    return found


class World:
    def __init__(self, store: Store, dice: random.Random, number: int) -> None:
        self.store, self.dice, self.number = store, dice, number
        self.clock = 1_000_000.0
        self.gestures = Gestures(
            store, store.host_id(), lambda: frozenset({"desk.example.net"}), lambda: self.clock
        )
        self.elsewhere = Gestures(
            store, "another host", lambda: frozenset({"desk.example.net"}), lambda: self.clock
        )
        policy = AnswerPolicy(
            StepUp(
                risk=dice.choice(("unclear", "high")),
                window_minutes=dice.choice((0.0, 0.0, 0.0, 1.0)),
                command_line=dice.random() < 0.8,
            ),
            (Quorum(("delete",), dice.choice((2, 2, 3)), dice.choice(((), ("/srv/shop",)))),)
            if dice.random() < 0.6
            else (),
            ("delete",) if dice.random() < 0.4 else (),
        )
        self.truth = Truth(policy, {}, {})
        self.bodies: dict[str, bytes] = {}
        rules = LazyRules(store.path.parent, store, {CLAUDE.name: CLAUDE}.get, lambda: 30)
        self.authority = Authority(store, lambda: policy, rules.effects, proofs=self.gestures)
        self.prompts: dict[str, tuple[Prompt, str]] = {}

    async def fill(self) -> None:
        dice = self.dice
        for old in (each for each in self.store.devices() if each.revoked_at is None):
            await self.store.revoke_device(old.id)
        for key in (each for each in self.store.passkeys() if each.revoked_at is None):
            await self.store.revoke_passkey(key.id, "test")
        for person in self.store.people():
            if person.removed_at is None:
                await self.store.put_person(replace(person, removed_at=1.0), "removed", "test")
        for n in range(dice.choice((0, 3, 4))):
            grants = tuple(
                Grant(tuple(dice.sample(ROLES, dice.randint(2, 5))), dice.choice(((), ("/srv/shop",))))
                for _ in range(dice.randint(1, 2))
            )
            person = Person(f"w{self.number}p{n}", f"person {n}", grants)
            self.truth.persons[person.id] = person
            await self.store.put_person(person, "added", "test")
        owners = [*self.truth.persons, *self.truth.persons, ""]
        scope_sets = ("read,answer", "read,answer,steer,rules", "read,answer,steer,rules", "read")
        for n in range(6):
            scopes, owner = dice.choice(scope_sets), dice.choice(owners)
            row = await self.store.add_device(f"d{n}", f"{self.number}-{n}", scopes=scopes)
            if owner:
                await self.store.give_device(row.id, owner, "test")
            self.truth.devices[row.id] = (f"d{n}", owner, tuple(scopes.split(",")))
        for owner in dict.fromkeys(owners) if dice.random() < 0.85 else ():
            key = Authenticator(dice.choice((0, 1)))
            kept = self._public(key)
            row = await self.store.add_passkey("k", owner, SITE.rp_id, b64(key.id), kept, 0, "test")
            self.truth.keys[row.id] = (key, owner)
        for n in range(5):
            command, cwd = dice.choice(COMMANDS), dice.choice(PROJECTS)
            self.prompts[f"w{self.number}q{n}"] = (self._prompt(n, command, cwd), command)
            if self.truth.persons and dice.random() < 0.5:
                who = dice.choice(list(self.truth.persons))
                await self.store.note_wish(f"w{self.number}s{n}", who)
                self.truth.asked_by.setdefault(f"w{self.number}s{n}", set()).add(who)

    def _prompt(self, n: int, command: str, cwd: str) -> Prompt:
        data = json.dumps({"tool_name": "Bash", "tool_input": {"command": command}, "cwd": cwd}).encode()
        request = sha256(data).hexdigest()
        self.store._writer.submit(
            lambda tx: tx.db.execute("INSERT OR IGNORE INTO bodies VALUES (?, 0, ?)", (request, data)) and None
        ).result()
        return Prompt(
            f"w{self.number}q{n}", "permission", "claude", f"w{self.number}s{n}", cwd, command, 1.0,
            tool=Tool("Bash"), questions=(QUESTION,), request=request, answerable=True,
        )  # fmt: skip

    @staticmethod
    def _public(key: Authenticator) -> bytes:
        import cbor2

        numbers = key._key.public_key().public_numbers()
        return cbor2.dumps({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)})

    async def gesture(self, case: Case) -> str:
        """Somebody makes a gesture, rightly or not; the name that the answer will bring."""
        dice, truth = self.dice, self.truth
        if not truth.keys:
            return "none"
        owner = truth.devices.get(case.answer.device, ("", "", ()))[1]
        own = [key for key, (_, person) in truth.keys.items() if person == owner]
        key_id = dice.choice(own) if own and dice.random() < 0.9 else dice.choice(list(truth.keys))
        key, person = truth.keys[key_id]
        about = case if dice.random() < 0.85 else self.case()
        device = case.answer.device if dice.random() < 0.92 else dice.choice(list(truth.devices))
        here = self.gestures if dice.random() < 0.95 else self.elsewhere
        from yourcall.core.prompt_version import act_of

        asked = here.ask(act_of(about.prompt, about.answer), device, "words")
        origin = SITE.origin if dice.random() < 0.95 else "https://evil.example.net"
        flags = 5 if dice.random() < 0.95 else 1
        signed = key.signs(b64(asked.challenge), origin, SITE.rp_id, flags)
        if dice.random() < 0.04:
            signed["response"]["signature"] = b64(dice.randbytes(70))
        if dice.random() < 0.05:
            self.clock += 130
        proof = await self.gestures.prove(asked.id, signed, SITE)
        honest = here is self.gestures and origin == SITE.origin and flags == 5
        if not hasattr(proof, "reason"):
            assert honest, "a gesture that was made elsewhere, or by nobody, was taken"
            truth.gestures.append(Gesture(asked.id, device, about.what, key_id, person, self.clock))
            if dice.random() < 0.05:
                self.clock += dice.choice((61.0, -300.0, 3600.0))
        elif "copy" in proof.reason:
            truth.dead_keys.add(key_id)
        return asked.id

    def case(self) -> Case:
        dice = self.dice
        prompt, command = self.prompts[dice.choice(list(self.prompts))]
        option = dice.choice(("once", "once", "always"))
        edited = '{"command": "rm -rf /"}' if dice.random() < 0.06 else None
        device = dice.choice(list(self.truth.devices)) if dice.random() < 0.85 else ""
        certainty = (
            "device key" if device else dice.choice(("terminal", "local process", "chat account", "button"))
        )
        texts = {"q": "and more"} if dice.random() < 0.05 else {}
        answer = Answer(
            f"a{dice.random()}", "x", "http" if device else "socket", {"q": (option,)}, texts, edited, True, "",
            certainty, device,
        )  # fmt: skip
        return Case(prompt, command, answer)

    async def disturb(self) -> None:
        dice, truth = self.dice, self.truth
        roll = dice.random()
        if roll < 0.02:
            device = dice.choice(list(truth.devices))
            await self.store.revoke_device(device)
            self.gestures.forget(device)
            truth.revoked.add(device)
        elif roll < 0.03 and truth.persons:
            person = dice.choice(list(truth.persons))
            await self.store.put_person(replace(truth.persons[person], removed_at=1.0), "removed", "test")
            truth.removed.add(person)
        elif roll < 0.04 and truth.keys:
            key = dice.choice(list(truth.keys))
            await self.gestures.revoke(key, "test")
            truth.dead_keys.add(key)
        elif roll < 0.06:
            name = dice.choice(list(self.prompts))
            prompt, command = self.prompts[name]
            self.prompts[name] = (replace(prompt, title=f"{prompt.title} ", approvals=prompt.approvals), command)
        elif roll < 0.10:
            self.clock += dice.choice((1.0, 30.0, 70.0))

    async def attempt(self) -> str:
        await self.disturb()
        case = self.case()
        if self.dice.random() < 0.7:
            proof = await self.gesture(case)
            if self.dice.random() < 0.1 and self.truth.gestures:
                proof = self.dice.choice(self.truth.gestures).name  # an old one again
            case.answer = replace(case.answer, proof=proof)
        # As the row stands: with the yeses of others in it.
        case.prompt = self.prompts[case.prompt.id][0]
        why = objections(self.truth, case, self.clock)
        ruling = self.authority.judge(case.prompt, case.answer)
        for each in self.truth.gestures:
            each.used = each.used or (each.name == case.answer.proof and each.device == case.answer.device)
        if isinstance(ruling, Verdict):
            return "no" if why else "cautious no"
        assert not why, (why, case, ruling)
        person = self.truth.devices.get(case.answer.device, ("", "", ()))[1]
        wanted, agreed = wanted_persons(self.truth, case), agreeing(self.truth, case) - {person}
        if isinstance(ruling, Agreed):
            assert wanted > 1
            assert person
            books = self.truth.approvals.setdefault(case.prompt.id, {})
            books[person] = (case.what, case.answer.device, ruling.approval.proof)
            others = tuple(each for each in case.prompt.approvals if each.person != person)
            changed = replace(case.prompt, approvals=(*others, ruling.approval))
            self.prompts[case.prompt.id] = (changed, case.command)
            return "counts"
        assert wanted == 1 or (person and len(agreed) + 1 >= wanted), (wanted, agreed, case, ruling)
        return "yes by several" if wanted > 1 else "yes"


@pytest.mark.long
def test_ten_thousand_attempts_and_no_yes_that_policy_forbids(tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    dice = random.Random(seed)
    found: Counter[str] = Counter()

    async def walk() -> None:
        store = Store.open(tmp_path / "yourcall.db")
        try:
            for number in range(WORLDS):
                world = World(store, dice, number)
                await world.fill()
                for _ in range(ATTEMPTS):
                    found[await world.attempt()] += 1
        finally:
            store.close()

    try:
        asyncio.run(walk())
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error
    assert sum(found.values()) == WORLDS * ATTEMPTS
    assert found["yes"] > 500, found
    assert found["yes by several"] >= 1, found
    assert found["counts"] > 20, found
    assert found["no"] > 1000, found
