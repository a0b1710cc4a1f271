"""What goes over HTTP and the live feed, as structs; the OpenAPI document is generated from these types.

Rule: a field is added, never renamed or taken away; clients and scripts rely on every one of them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct, field

from yourcall.model import Kind, Link, Outcome, PromptState, Question, SessionState, VerdictWord

# Long enough for a person's patience, short enough that a proxy does not cut the connection first.
LONGEST_WAIT = 60.0

Seconds = Annotated[float, Meta(ge=0, le=LONGEST_WAIT)]
# Kept as it was sent. Not `Raw | None`: msgspec takes nothing but null for that.
EditedInput = Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
Name = Annotated[str, Meta(min_length=1, max_length=64)]


class ToolView(Struct, frozen=True):
    """The tool a permission is about; `input` is what the agent sent, untouched, or null if it is not stored."""

    name: str
    input: Raw | None


class MomentView(Struct, frozen=True):
    at: float
    state: PromptState
    by: str
    detail: str


class PromptView(Struct, frozen=True):
    """A prompt as lists show it."""

    id: str
    kind: Kind
    state: PromptState
    agent: str
    session_id: str
    cwd: str
    title: str
    body: str
    tool: ToolView | None
    questions: tuple[Question, ...]
    opened_at: float
    held: bool
    subagent: str
    permission_mode: str
    answered_by: str | None
    outcome: Outcome | Literal["unknown"] | None
    closed_at: float | None


class PromptStory(PromptView, frozen=True):
    """A prompt with everything that happened to it."""

    history: tuple[MomentView, ...]


class SessionView(Struct, frozen=True):
    id: str
    agent: str
    cwd: str
    state: SessionState
    mode: str
    permission_mode: str
    links: tuple[Link, ...]
    pid: int
    version: str
    note: str
    started_at: float
    seen_at: float


class LogLine(Struct, frozen=True):
    """Who answered what, when, after how many seconds, and what then happened."""

    id: str
    agent: str
    session_id: str
    cwd: str
    kind: Kind
    title: str
    opened_at: float
    answered_at: float
    waited: float
    by: str
    via: str
    answer: str
    text: str
    state: PromptState
    outcome: Outcome | Literal["unknown"] | None
    detail: str


class AnswerRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """One question: `option` and/or `text`. Several: `choices` and `texts` by question. Words may be option ids,
    labels or a unique effect word such as `allow` or `deny`. `input` replaces the tool's input."""

    option: str | None = None
    question: str | None = None
    text: str | None = None
    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    input: EditedInput = field(default_factory=Raw)
    wait: Seconds = 0.0


class AnswerReply(Struct, frozen=True):
    result: VerdictWord
    detail: str
    by: str
    at: float
    prompt: PromptStory | None


class SendRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A message for a session. `as_command`: a leading `/` or `!` is meant as the agent's own command."""

    text: str
    as_command: bool = False


class KeyRequest(Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(min_length=1, max_length=40)]


class PaneRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A pane of a tmux server of the user's: the server's socket, and the pane's id such as `%3`."""

    server: Annotated[str, Meta(min_length=1, max_length=4096)]
    pane: Annotated[str, Meta(pattern="^%[0-9]{1,9}$")]


class SpokenReply(Struct, frozen=True):
    """`confirmed`: the session's own hooks, or its screen, show that it worked. `sent`: it left us, whole."""

    result: VerdictWord
    detail: str


class StartRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A session to be started, headless, in the folder `cwd`. `resume`: the id of one that is to go on."""

    prompt: Annotated[str, Meta(min_length=1, max_length=100_000)]
    cwd: Annotated[str, Meta(max_length=4096)] = ""
    agent: Annotated[str, Meta(max_length=40)] = "claude"
    permission_mode: Annotated[str, Meta(max_length=40)] = ""
    model: Annotated[str, Meta(max_length=200)] = ""
    resume: Annotated[str, Meta(max_length=200)] = ""


class NewSession(Struct, frozen=True):
    id: str


class ModeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    permission_mode: Annotated[str, Meta(min_length=1, max_length=40)]


class ModelRequest(Struct, frozen=True, forbid_unknown_fields=True):
    model: Annotated[str, Meta(min_length=1, max_length=200)]


class SpeakingView(Struct, frozen=True):
    """What the agent is saying right now, before the message is whole; empty between messages."""

    text: str
    thinking: str


class Status(Struct, frozen=True):
    """`prompts` counts by state what is not closed; `seq` is where a live feed would go on."""

    version: str
    seq: int
    prompts: dict[str, int]
    sessions: int


class PairRequest(Struct, frozen=True, forbid_unknown_fields=True):
    code: Annotated[str, Meta(max_length=64)]
    name: Name = "browser"


class DeviceRequest(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name


class NewDevice(Struct, frozen=True):
    """The only time the token is shown; just its hash is kept."""

    id: str
    name: str
    token: str


class DeviceView(Struct, frozen=True):
    """`seen_at` is 0 until it came in for the first time; `current` is the one that asks."""

    id: str
    name: str
    created_at: float
    seen_at: float
    revoked_at: float | None
    current: bool


class PairingCode(Struct, frozen=True):
    code: str
    expires_at: float


class Done(Struct, frozen=True):
    done: bool = True


class Problem(Struct, frozen=True):
    """A 'no' as a sentence that says what to do."""

    error: str


class Hello(Struct, frozen=True, tag_field="type", tag="hello"):
    """The first message of a feed. `snapshot`: nothing before `seq` will follow, so fetch the lists now."""

    seq: int
    snapshot: bool


class PromptNews(Struct, frozen=True, tag_field="type", tag="prompt"):
    seq: int
    at: float
    prompt: PromptStory


class SessionNews(Struct, frozen=True, tag_field="type", tag="session"):
    seq: int
    at: float
    session: SessionView
