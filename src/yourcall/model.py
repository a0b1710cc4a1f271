"""The nouns of yourcall, as frozen structs: the same types go to disk, over the wire and to the browser.

Rule: nothing here knows a particular agent, device or database; a front end can render any prompt of any
agent from these types alone.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "permission", "question", "plan", "trust", "elicitation", "loop", "startup", "ready", "problem", "unknown"
]

Effect = Literal["allow_once", "allow_session", "allow_always", "deny", "stop", "choose", "reply"]

# What each word promises is written once, in core/lifecycle.py.
PromptState = Literal["open", "answering", "sent", "accepted", "confirmed", "desk", "ended", "unsure"]

SessionState = Literal["working", "waiting", "idle", "ended", "unknown"]

# The links by which a session's own screen is read and typed on: a pane of tmux, a pseudo-terminal of ours.
TERMINALS = ("tmux", "pty")

# What became of the thing that was asked, whoever decided it; `unknown`: nobody will ever tell.
Outcome = Literal["allowed", "denied", "stopped", "unknown"]


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to answer a question; `description` says in plain words what it will do in this agent."""

    id: str
    label: str
    effect: Effect
    description: str = ""
    preview: str = ""


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is asked. `type` is set for a field of a form: what the text must be read as."""

    id: str
    text: str
    options: tuple[Option, ...] = ()
    multi_select: bool = False
    free_text: bool = False
    required: bool = True
    type: Literal["", "text", "number", "integer"] = ""
    minimum: float | None = None
    maximum: float | None = None


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
    sure: bool = False  # said twice: what a prompt on `hold` wants before it is allowed


class Prompt(Struct, frozen=True, forbid_unknown_fields=True):
    """What one session waits for. `request` names the stored body that holds what the agent sent, verbatim.

    `link` is the way an answer goes (`hook`, `screen`, `stdio`); `held` says that it is open right now.
    `hold`: a rule wants a yes to be said twice.
    `record`: the transcript it was asked in, if its session has gone on in another since.
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
    held: bool = False
    hold: bool = False
    record: str = ""
    answer: Answer | None = None
    outcome: Outcome | None = None
    closed_at: float | None = None
    history: tuple[Moment, ...] = ()


class Link(Struct, frozen=True, forbid_unknown_fields=True):
    """A way we touch a session: `hook`, or `tmux` with the server's socket and the pane, or `pty` with the run's
    socket and its name."""

    kind: str
    target: str = ""
    server: str = ""


class Session(Struct, frozen=True, forbid_unknown_fields=True):
    """One run of an agent. `note`: what a person should know about it, such as why it can only be watched.

    `goes_on_as`: the id under which this run went on when this one ended. `cost_usd`: what it has cost so far,
    where the agent tells; 0: not known.
    """

    id: str
    agent: str
    cwd: str
    state: SessionState = "unknown"
    mode: str = "terminal"
    permission_mode: str = ""
    links: tuple[Link, ...] = ()
    pid: int = 0
    pid_started: str = ""
    version: str = ""
    transcript: str = ""
    note: str = ""
    goes_on_as: str = ""
    cost_usd: float = 0.0
    outlines: int = 0
    outlined_at: float = 0.0
    started_at: float = 0.0
    seen_at: float = 0.0


class Refused(Struct, frozen=True):
    """A 'no' a person should read: one sentence that says what is wrong and what to do."""

    reason: str


VerdictWord = Literal["taken", "sent", "accepted", "confirmed", "too_late", "bounced", "unsure", "refused"]


class Verdict(Struct, frozen=True):
    """What became of one answer, as far as it is known now."""

    result: VerdictWord
    detail: str = ""
    by: str = ""
    at: float = 0.0


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
