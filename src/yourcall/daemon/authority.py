"""Gathers what is known about an answer and has the one policy decide, at the moment at which it takes effect.

Rule: nothing here decides; `rules/may_answer.py` does. Nothing is awaited between the decision and the fact that
follows from it, so what was revoked a moment ago counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Protocol

from msgspec.structs import replace

from yourcall.agents.assess import assessed, edited, unconfirmed
from yourcall.core.prompt_version import act_of
from yourcall.core.safety import REFUSING, chosen, confirmation
from yourcall.model.people import AnswerPolicy, Approval
from yourcall.model.prompts import Answer, Prompt, Refused, Verdict
from yourcall.rules.may_answer import (
    AT_THE_MACHINE,
    Agreed,
    Answered,
    Author,
    NeedsMore,
    NeedsStepUp,
    No,
    Proof,
    Standing,
    may_answer,
    needs_passkey,
)
from yourcall.server.option_matching import LASTING, grants_more_than_once
from yourcall.server.project import machine
from yourcall.server.scopes import FOR_PHONE, FOR_SCRIPT
from yourcall.store.sqlite import Store

# Who speaks for people that it cannot tell apart.
_UNKNOWN = frozenset({"button", "chat account"})


class Proofs(Protocol):
    @property
    def now(self) -> float: ...
    def use(self, name: str, device: str, /) -> Proof | None: ...
    def last(self, device: str, /) -> Proof | None: ...


class Authority:
    """`policy`: what is wanted here now. `effects`: what a prompt would do, by the names that rules use; None if
    nobody can tell. `barred`: why nothing may be answered at all."""

    def __init__(
        self,
        facts: Store,
        policy: Callable[[], AnswerPolicy],
        effects: Callable[[Prompt], frozenset[str] | None],
        barred: Callable[[], Refused | None] = lambda: None,
        proofs: Proofs | None = None,
    ) -> None:
        self._facts, self._policy, self._effects, self._barred = facts, policy, effects, barred
        self.proofs = proofs
        # What a device of the fleet may do here now; None: it is in no fleet of ours, or was removed.
        self.of_fleet: Callable[[str], Collection[str] | None] = lambda _device: None

    def judge(self, prompt: Prompt, answer: Answer) -> Answer | Agreed | Verdict:
        """The answer as it may be taken, with what stands behind it; or a yes that waits for others; or the no."""
        barred = self._barred()
        if barred is not None:
            return Verdict("refused", barred.reason)
        policy, standing = self._policy(), self._standing()
        author = self._author(answer, standing)
        answered = self._answered(prompt, answer, policy, standing)
        ruling = may_answer(author, answered, self._proof(answer, policy), policy, standing, self._now)
        match ruling:
            case No(reason=reason):
                return Verdict("refused", reason)
            case NeedsStepUp(reason=reason):
                return Verdict("refused", reason, needs="passkey")
            case NeedsMore(count=missing, of=of, reason=reason, passkey=passkey):
                assert author.person is not None
                approval = Approval(
                    time.time(), answer.id, author.person.id, answer.by, answered.act, answer.author_certainty,
                    answer.device, passkey,
                )  # fmt: skip
                return Agreed(approval, of - missing, of, reason)
            case _:
                person = author.person.id if author.person is not None else ""
                return replace(answer, person=person, proof=ruling.passkey, others=ruling.others)

    def still_there(self, answer: Answer) -> Refused | None:
        """Why an answer that was taken must not go out any more: it waited, and its author is gone."""
        barred = self._barred()
        if barred is not None:
            return barred
        gone = self._author(answer, self._standing()).gone
        return Refused(gone) if gone else None

    def passkey_options(self, prompt: Prompt) -> frozenset[tuple[str, str]]:
        """Which options take a passkey here, by their question's id and their own: for who offers buttons."""
        policy = self._policy()
        if prompt.state != "open" or not (self._standing().passkeys or policy.step_up.required):
            return frozenset()
        risk = assessed(prompt, self._facts.body(prompt.request)).risk
        return frozenset(
            (question.id, option.id)
            for question in prompt.questions
            for option in question.options
            if option.effect not in REFUSING
            and needs_passkey(confirmation(option, risk), risk, lasts=option.effect in LASTING, policy=policy)
        )

    def may_say(self, command: str) -> Refused | None:
        """Why this may not be typed into a session: an agent runs what begins with `!` itself, and asks nobody."""
        barred = self._barred()
        shell = command.lstrip()
        if barred is not None or not shell.startswith("!") or not self._standing().passkeys:
            return barred
        from yourcall.rules.risk import UNCLEAR, in_command

        why = in_command(shell[1:])
        unclear = why.startswith(UNCLEAR) and self._policy().step_up.risk == "high"
        return (
            Refused(f"{why} It would run without being asked: type it at the desk.")
            if why and not unclear
            else None
        )

    @property
    def _now(self) -> float:
        return self.proofs.now if self.proofs is not None else time.time()

    def _standing(self) -> Standing:
        keys = frozenset(each.id for each in self._facts.passkeys() if each.revoked_at is None)
        gone = frozenset(each.id for each in self._facts.devices() if each.revoked_at is not None)
        return Standing(keys, gone, {each.id: each for each in self._facts.people()})

    def _author(self, answer: Answer, standing: Standing) -> Author:
        certainty = answer.author_certainty or ("device key" if answer.device else "local process")
        if not answer.device:
            scopes = FOR_SCRIPT if certainty == "supervisor agent" else FOR_PHONE
            known = certainty in AT_THE_MACHINE or certainty == "supervisor agent"
            return Author(certainty, scopes=scopes, known=known)
        if answer.via == "fleet":
            may = self.of_fleet(answer.device)
            gone = "This device was removed from the fleet." if may is None else ""
            return Author(certainty, answer.device, gone, may or ())
        row = next((each for each in self._facts.devices() if each.id == answer.device), None)
        if row is None or row.revoked_at is not None or row.void:
            return Author(certainty, answer.device, gone="This device was revoked.")
        person = standing.persons.get(row.person) if row.person else None
        if row.person and (person is None or person.removed_at is not None):
            return Author(certainty, answer.device, gone="The person whose device this is was removed.")
        return Author(
            certainty, answer.device, "", tuple(row.scopes.split(",")), person, certainty not in _UNKNOWN
        )

    def _answered(self, prompt: Prompt, answer: Answer, policy: AnswerPolicy, standing: Standing) -> Answered:
        body = self._facts.body(prompt.request)
        allows = not any(option.effect in REFUSING for option in chosen(prompt, answer))
        risk = assessed(prompt, body).risk
        confirm = unconfirmed(prompt, body, answer.choices)
        if answer.input is not None:
            risk = edited(prompt, answer.input.encode("utf-8", "surrogatepass")).risk
            confirm = next((why for each in chosen(prompt, answer) if (why := confirmation(each, risk))), "")
        people = standing.has_people
        named = bool(policy.quorum or policy.not_by_who_asked)
        return Answered(
            act=act_of(prompt, answer),
            cwd=prompt.cwd,
            machine=machine(),
            allows=allows,
            confirm=confirm,
            risk=risk,
            lasts=grants_more_than_once(prompt, answer.choices),
            # An edited input would have to be taken apart anew: it may do anything.
            effects=None
            if answer.input is not None
            else self._effects(prompt)
            if named and allows
            else frozenset(),
            asked_by=self._facts.who_asked(prompt.session_id) if people else frozenset(),
            approvals=prompt.approvals,
            addressed_to=frozenset(prompt.addressed_to) if people else frozenset(),
            addressed_until=prompt.addressed_until,
        )

    def _proof(self, answer: Answer, policy: AnswerPolicy) -> Proof | None:
        if self.proofs is None:
            return None
        used = self.proofs.use(answer.proof, answer.device) if answer.proof else None
        if used is not None or policy.step_up.window_minutes <= 0:
            return used
        return self.proofs.last(answer.device)
