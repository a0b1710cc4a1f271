"""A prompt, what it asks, the answer to it, and what became of both.

Rule: nothing here knows a particular agent, device or database; a front end can render any prompt of any
agent from these types alone.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from yourcall.model.people import Approval

Kind = Literal[
    "permission", "question", "plan", "trust", "elicitation", "loop", "startup", "ready", "problem", "unknown"
]

Effect = Literal["allow_once", "allow_session", "allow_always", "deny", "stop", "choose", "reply"]

# What each word promises is written once, in core/lifecycle.py.
PromptState = Literal["open", "answering", "sent", "accepted", "confirmed", "desk", "ended", "unsure"]


# What became of the thing that was asked, whoever decided it; `unknown`: nobody will ever tell.
Outcome = Literal["allowed", "denied", "stopped", "unknown"]


class Risk(Struct, frozen=True):
    """How risky a yes to a prompt is, and why, in one sentence. `unclear`: nobody can tell what it would do. A yes
    to what is not `low` needs a confirmation."""

    level: Literal["low", "unclear", "high"]
    reason: str


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to answer a question; `description` says in plain words what it will do in this agent. `digit`: its
    number in the agent's own dialog, '' where that is not known for certain."""

    id: str
    label: str
    effect: Effect
    description: str = ""
    preview: str = ""
    digit: str = ""


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is asked. `type` is set for a field of a form: what the text must be read as. `header`: the
    agent's own short name for the question, if it gave one."""

    id: str
    text: str
    options: tuple[Option, ...] = ()
    multi_select: bool = False
    free_text: bool = False
    required: bool = True
    type: Literal["", "text", "number", "integer"] = ""
    minimum: float | None = None
    maximum: float | None = None
    header: str = ""


class Tool(Struct, frozen=True, forbid_unknown_fields=True):
    """The tool a permission is about. Its input is a body (see `Prompt.request`), not part of the row."""

    name: str


class Moment(Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a prompt's history: when it came to `state`, who brought it there, and why."""

    at: float
    state: PromptState
    by: str
    detail: str = ""
    answer_id: str = ""


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """A decision of a person or a rule. `input` (edited tool input, JSON text) replaces what the agent asked."""

    id: str
    by: str
    via: str
    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    input: str | None = None
    sure: bool = False  # said twice: what a prompt that needs confirmation wants before it is allowed
    seen: str = ""  # the version of the prompt that was looked at; '' if the way it came does not tell
    # How its author is known: `device key`, `terminal`, `local process`, `supervisor agent`, `button`,
    # `chat account`, `rule`; empty in records of before this was kept.
    author_certainty: str = ""
    device: str = ""  # the id of the device it came from: names are given by people, and may change
    person: str = ""  # the id of the person whose device that is; empty: the owner of the machine
    # On its way in, the name of the gesture that stands behind it; once it is taken, the id of the passkey.
    proof: str = ""
    others: tuple[str, ...] = ()  # who else said yes, where that takes more than one


class Prompt(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"answerable": "held", "needs_confirmation": "hold"},  # as stored and on the wire
):
    """What one session waits for. `request` names the stored body that holds what the agent sent, verbatim.

    `link` is the way an answer goes (`hook`, `screen`, `stdio`); `answerable`: that way is open right now.
    `needs_confirmation`: a rule wants a yes to be said twice.
    `record`: the transcript it was asked in, if its session has gone on in another since.
    `stopped`: the turn before this pause was stopped by somebody. `resets_at`: when the limit resets that stopped
    the session; 0: there is none, or nobody told.
    `approvals`: yeses that wait for more of them. `addressed_to`: the persons it was handed to, until
    `addressed_until`.
    """

    id: str
    kind: Kind
    agent: str
    session_id: str
    cwd: str
    title: str
    opened_at: float
    state: PromptState = "open"
    body: str = ""
    tool: Tool | None = None
    questions: tuple[Question, ...] = ()
    request: str = ""
    fingerprint: str = ""
    turn_id: str = ""
    call_id: str = ""
    subagent: str = ""
    permission_mode: str = ""
    link: str = "hook"
    answerable: bool = False
    needs_confirmation: bool = False
    record: str = ""
    answer: Answer | None = None
    outcome: Outcome | None = None
    closed_at: float | None = None
    history: tuple[Moment, ...] = ()
    stopped: bool = False
    resets_at: float = 0.0
    approvals: tuple[Approval, ...] = ()
    addressed_to: tuple[str, ...] = ()
    addressed_until: float = 0.0


class Refused(Struct, frozen=True):
    """A 'no' a person should read: one sentence that says what is wrong and what to do."""

    reason: str


VerdictWord = Literal[
    "taken", "sent", "accepted", "confirmed", "too_late", "bounced", "unsure", "refused", "approved"
]


class Verdict(Struct, frozen=True):
    """What became of one answer, as far as it is known now. `approved`: it counts, and others have to say the
    same. `needs`: what would make this no a yes."""

    result: VerdictWord
    detail: str = ""
    by: str = ""
    at: float = 0.0
    needs: Literal["", "passkey"] = ""


class Receipt(Struct, frozen=True):
    """What was told to whom, and what is needed to take it back.

    `state`: `due` it is to be told · `trying` a telling was begun and its end is not known · `shown` · `over`
    nothing is left to do · `failed`. `prompts` are the ids behind the notice, `times` how often it was told,
    `receipt` is the channel's own word, `face` what was last shown.
    """

    notice: str
    channel: str
    target: str
    prompts: tuple[str, ...]
    state: Literal["due", "trying", "shown", "over", "failed"] = "due"
    at: float = 0.0
    times: int = 1
    receipt: str = ""
    face: str = ""
    why: str = ""


class Tap(Struct, frozen=True):
    """One answer that a single-use token gives. `offer` is the hash of the questions it was made for."""

    prompt_id: str
    question: str
    option: str
    offer: str
    channel: str
    at: float
