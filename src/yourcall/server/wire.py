"""What goes over HTTP and the live feed, as structs; the OpenAPI document is generated from these types.

Rule: a field is added, never renamed or taken away; clients and scripts rely on every one of them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Raw, Struct, field

from yourcall.agents.git.requests import GitAction
from yourcall.agents.registry import USUAL
from yourcall.model.action import ActionView
from yourcall.model.conversation import Page
from yourcall.model.orders import OrderState, Trigger
from yourcall.model.people import Grant
from yourcall.model.prompts import Effect, Kind, Outcome, PromptState, Risk, VerdictWord
from yourcall.model.reviews import ReviewState
from yourcall.model.sessions import Link, SessionState
from yourcall.server.fleet.wire import HostRef
from yourcall.server.scopes import FOR_SCRIPT, Scope

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


class Option(Struct, frozen=True):
    """One way to answer a question; `description` says in plain words what it will do in this agent. `confirm`: it
    needs a confirmation by the person, and `confirm_reason` says why. `digit`: its number in the agent's own
    dialog, '' where that is not known for certain."""

    id: str
    label: str
    effect: Effect
    description: str
    preview: str
    confirm: bool
    confirm_reason: str
    digit: str


class Question(Struct, frozen=True):
    """One thing that is asked. `type` is set for a field of a form: what the text must be read as. `header`: the
    agent's own short name for the question, if it gave one."""

    id: str
    text: str
    options: tuple[Option, ...]
    multi_select: bool
    free_text: bool
    required: bool
    type: Literal["", "text", "number", "integer"]
    minimum: float | None
    maximum: float | None
    header: str


class PromptView(Struct, frozen=True):
    """A prompt as lists show it. `version` is another one as soon as anything else is asked under this id.
    `rank`: its place in any list, before its age; the lower, the more it blocks its agent.

    `action`: what the tool of a permission would do, in the same words for every agent; null if there is
    none, or it cannot be read. `risk`: how risky a yes is, the same wherever the prompt is shown.
    `resets_at`: when the limit resets that stopped the session; 0: there is none, or nobody told. `host`: the
    machine it is of, null where there is no fleet."""

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
    hold: bool
    subagent: str
    permission_mode: str
    answered_by: str | None
    outcome: Outcome | Literal["unknown"] | None
    closed_at: float | None
    machine: str
    branch: str
    version: str
    rank: int
    action: ActionView | None
    risk: Risk
    resets_at: float
    host: HostRef | None = None


class PromptStory(PromptView, frozen=True):
    """A prompt with everything that happened to it. `author_certainty`: how the author of its answer is known."""

    history: tuple[MomentView, ...] = ()
    author_certainty: str = ""


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
    goes_on_as: str = ""
    machine: str = ""
    branch: str = ""
    cost_usd: float = 0.0
    warning: str = ""
    host: HostRef | None = None


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
    author_certainty: str = ""
    device_id: str = ""


class SearchHit(Struct, frozen=True):
    """A prompt that holds the words; `excerpt` is the place where it does."""

    id: str
    kind: Kind
    agent: str
    session_id: str
    cwd: str
    title: str
    excerpt: str
    state: PromptState
    opened_at: float


class MessageHit(Struct, frozen=True):
    """A message that holds the words. `offset`: where it stands in the record of its session."""

    session_id: str
    agent: str
    cwd: str
    offset: int
    at: float
    excerpt: str


class MessageHits(Struct, frozen=True):
    """`complete`: all that is on record was searched. If not, ask again: each search reads some more of it."""

    messages: tuple[MessageHit, ...]
    complete: bool


class WaitedView(Struct, frozen=True):
    """How long prompts of one project waited for a person on one day, in seconds. `day`: when it began."""

    day: float
    project: str
    seconds: float
    prompts: int


class CountView(Struct, frozen=True):
    name: str
    count: int


class CostView(Struct, frozen=True):
    session_id: str
    agent: str
    project: str
    cost_usd: float
    started_at: float


class StatsView(Struct, frozen=True):
    """Where the time went. `complete`: False if there are more prompts than were counted. `median_wait`: half of
    the prompts waited longer for a person. `saved`: an estimate, that median for each prompt a rule decided."""

    since: float
    until: float
    complete: bool
    waiting: tuple[WaitedView, ...]
    median_wait: float
    kinds: tuple[CountView, ...]
    answered: tuple[CountView, ...]
    by_rule: int
    saved: float
    costs: tuple[CostView, ...]


class AnswerRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """One question: `option` and/or `text`. Several: `choices` and `texts` by question. Words may be option ids,
    labels or a unique effect word such as `allow` or `deny`. `input` replaces the tool's input; it is judged like
    the tool's own. `sure`: the person confirmed it; a prompt on `hold`, and a risky edited `input`, are allowed
    only with this. `seen`: the prompt's `version` that was looked at; if what
    is asked has changed since, the answer is refused."""

    option: str | None = None
    question: str | None = None
    text: str | None = None
    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    input: EditedInput = field(default_factory=Raw)
    sure: bool = False
    seen: Annotated[str, Meta(max_length=64)] = ""
    wait: Seconds = 0.0


class EditedRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`input`: the tool's whole input as it would be sent with a yes."""

    input: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class JudgedView(Struct, frozen=True):
    """What a tool would do with an edited input, and how risky a yes to that is. `confirm`: by option, why it
    needs a confirmation."""

    action: ActionView | None
    risk: Risk
    confirm: dict[str, str]


class AnswerReply(Struct, frozen=True):
    result: VerdictWord
    detail: str
    by: str
    at: float
    prompt: PromptStory | None


class WaitRequest(Struct, frozen=True, forbid_unknown_fields=True):
    wait: Seconds = 0.0


class TakenRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`answer`: the id of the answer that the script has."""

    answer: Annotated[str, Meta(min_length=1, max_length=64)]


class GivenView(Struct, frozen=True):
    """An answer as a script reads it; `options` are ids. `input`: the edited tool input, or null."""

    id: str
    by: str
    options: tuple[str, ...]
    text: str
    input: Raw | None


class AskView(Struct, frozen=True):
    """A question of a script's. `waiting`, `answered`, or `withdrawn`: it is over without an answer."""

    id: str
    state: Literal["waiting", "answered", "withdrawn"]
    detail: str
    answer: GivenView | None
    prompt: PromptStory


class SendRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A message for a session. `as_command`: a leading `/` or `!` is meant as the agent's own command."""

    text: str
    as_command: bool = False


class OrderView(Struct, frozen=True):
    """An instruction in the queue of a session. `trigger`: what it waits for besides the end of a turn. `detail`:
    what became of it, in words."""

    id: str
    text: str
    by: str
    via: str
    added_at: float
    trigger: Trigger
    at: float
    command: str
    state: OrderState
    changed_at: float
    detail: str


class QueueView(Struct, frozen=True):
    """What waits for a session, in the order in which it is given, after what is over. `held`: why nothing is
    given until a person lets it go on. `waits_for`: why the first is not given now, in words."""

    session_id: str
    orders: tuple[OrderView, ...]
    held: str
    waits_for: str


class NewOrder(Struct, frozen=True, forbid_unknown_fields=True):
    """`at`: with the trigger `time`, in seconds since 1970. `command`: with the trigger `command`, from this
    machine only; it runs in the session's folder when the turn has ended, and must pass."""

    text: Annotated[str, Meta(min_length=1, max_length=100_000)]
    trigger: Trigger = "turn"
    at: float = 0.0
    command: Annotated[str, Meta(max_length=4_000)] = ""


class OrderChange(Struct, frozen=True, forbid_unknown_fields=True):
    """A new `text`, or a new `place` among those that wait, counted from 1."""

    text: Annotated[str, Meta(max_length=100_000)] | None = None
    place: Annotated[int, Meta(ge=1, le=1000)] | None = None


class HoldRequest(Struct, frozen=True, forbid_unknown_fields=True):
    held: bool


class QueueNews(Struct, frozen=True, tag_field="type", tag="queue"):
    """The queue of a session has changed. Without a `seq`: after a reconnect, fetch the queues."""

    queue: QueueView


class ReviewRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`agent`: one of `/api/reviewers`. `text`: the question; empty: the usual one. `subject`: what it is about,
    if not what the session said last. `prompt`: the id of what it asks for."""

    agent: Annotated[str, Meta(min_length=1, max_length=40)]
    text: Annotated[str, Meta(max_length=4_000)] = ""
    subject: Annotated[str, Meta(max_length=100_000)] = ""
    prompt: Annotated[str, Meta(max_length=200)] = ""


class SendBackRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`text`: what the session is told; empty: the whole review, quoted."""

    text: Annotated[str, Meta(max_length=100_000)] = ""


class ReviewView(Struct, frozen=True):
    """A second opinion. `by_session`: the reviewer's own session. `text`: what it has said so far, or in all;
    `detail`: why there is no more. `files`: how many differ; `whole_diff`: the reviewer was given all of it."""

    id: str
    session_id: str
    reviewer: str
    by_session: str
    question: str
    at: float
    by: str
    round: int
    subject: str
    prompt_id: str
    state: ReviewState
    text: str
    detail: str
    cost_usd: float
    done_at: float
    sent_at: float
    order_id: str
    files: int
    whole_diff: bool


class GitRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`files`: ids from the list of changes; a commit without any is of what is staged. `branch`: a worktree's."""

    action: GitAction
    files: Annotated[tuple[Annotated[str, Meta(max_length=8192)], ...], Meta(max_length=500)] = ()
    message: Annotated[str, Meta(max_length=20_000)] = ""
    branch: Annotated[str, Meta(max_length=200)] = ""


class LineComment(Struct, frozen=True, forbid_unknown_fields=True):
    """A comment on one line of a change. `line` counts from 1 in the file as it is now; with `old`, as it was.
    `code`: that line, as it was looked at."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    line: Annotated[int, Meta(ge=1, le=10_000_000)]
    text: Annotated[str, Meta(min_length=1, max_length=10_000)]
    code: Annotated[str, Meta(max_length=2_000)] = ""
    old: bool = False


class CommentsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    comments: Annotated[tuple[LineComment, ...], Meta(min_length=1, max_length=100)]


class KeyRequest(Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(min_length=1, max_length=40)]


class PaneRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A pane of a tmux server of the user's: the server's socket, the pane's id such as `%3`, and which agent is
    in it (one that yourcall does not know is looked at as any program)."""

    server: Annotated[str, Meta(min_length=1, max_length=4096)]
    pane: Annotated[str, Meta(pattern="^%[0-9]{1,9}$")]
    agent: Annotated[str, Meta(pattern="^[a-z0-9-]{1,40}$")] = USUAL


class SpokenReply(Struct, frozen=True):
    """`confirmed`: the session's own hooks, or its screen, show that it worked. `sent`: it left us, whole."""

    result: VerdictWord
    detail: str


class StartRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A session to be started, headless, in the folder `cwd`. `resume`: the id of one that is to go on.
    `command`: from this machine only, a program that speaks ACP, with its arguments. Over ACP a session may begin
    without a `prompt`."""

    prompt: Annotated[str, Meta(max_length=100_000)] = ""
    cwd: Annotated[str, Meta(max_length=4096)] = ""
    agent: Annotated[str, Meta(max_length=40)] = USUAL
    permission_mode: Annotated[str, Meta(max_length=40)] = ""
    model: Annotated[str, Meta(max_length=200)] = ""
    resume: Annotated[str, Meta(max_length=200)] = ""
    command: Annotated[tuple[Annotated[str, Meta(max_length=4096)], ...], Meta(max_length=200)] = ()


class StartableView(Struct, frozen=True):
    """An agent whose program is on this machine, and which yourcall can start."""

    agent: str


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


class ScreenView(Struct, frozen=True):
    """A terminal as it looks now, colours as escapes. `tag`: what to give as `seen`. No cursor: -1."""

    tag: str
    columns: int
    rows: int
    screen: str
    cursor_x: int
    cursor_y: int


class UploadView(Struct, frozen=True):
    """Where the file is on the machine: what to tell an agent."""

    path: str
    name: str
    size: int


class HeadView(Struct, frozen=True):
    """One link of the chain over the record: its place, and the hash that seals everything up to it."""

    place: int
    hash: str


class SettingsLine(Struct, frozen=True):
    """Who changed which device, rule, channel or person, and when. `number` counts them from 1."""

    number: int
    at: float
    area: Literal["devices", "rules", "pause", "channels", "people", "lock", "passkeys", "policy"]
    what: str
    about: str
    by: str
    detail: str


class LockRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`since`: from when on to tell what happened; a day ago, unless said. `keep`: do not revoke the device that
    asks for it."""

    since: float | None = None
    keep: bool = True


class HappenedView(Struct, frozen=True):
    """`what` was done, to what it was `about`, and how its author is known."""

    at: float
    what: str
    about: str
    by: str
    how: str
    prompt_id: str


class LockView(Struct, frozen=True):
    """`happened` since then, the oldest first; `all`: that is all of it, not only the latest."""

    locked: bool
    at: float
    by: str
    since: float
    happened: tuple[HappenedView, ...]
    all: bool


class Status(Struct, frozen=True):
    """`prompts` counts by state what is not closed; `seq` is where a live feed would go on. `head`: the end of the
    chain over the record; note it, and ask for it later."""

    version: str
    seq: int
    prompts: dict[str, int]
    sessions: int
    paused: bool = False
    locked: bool = False
    head: HeadView | None = None


class GestureView(Struct, frozen=True):
    """A gesture with a passkey that is waited for, and what it is for. `challenge` is what it signs, in base64url;
    `credentials` are the passkeys that will do on this page. `problem`: why none can be used here."""

    id: str
    words: str
    challenge: str
    rp_id: str
    credentials: tuple[str, ...]
    expires_in: float
    problem: str = ""


class StepUpView(Struct, frozen=True):
    """This takes a passkey. Send the same request again, with the header `Yourcall-Step-Up: ID.ASSERTION`."""

    error: str
    result: Literal["refused"]
    detail: str
    step_up: GestureView


class NewPasskeyRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`code`: from `yourcall passkeys add`, instead of the word of a passkey that is there."""

    code: str = ""


class NewPasskey(Struct, frozen=True):
    """What a browser makes a passkey from. `known`: those that are there already."""

    id: str
    challenge: str
    rp_id: str
    user: str
    known: tuple[str, ...]


class PasskeyRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`credential`: as the browser gives it, as JSON."""

    id: str
    name: str
    credential: dict[str, Any]


class GestureRequest(Struct, frozen=True, forbid_unknown_fields=True):
    credential: dict[str, Any]


class PasskeyCode(Struct, frozen=True):
    """Shown once, good for five minutes and one passkey."""

    code: str


class PasskeyView(Struct, frozen=True):
    """`here`: it can be used on the page that asks, which has the name `rp_id`."""

    id: str
    name: str
    rp_id: str
    created_at: float
    used_at: float
    here: bool


class PersonView(Struct, frozen=True):
    """`devices`: the names of the devices that are theirs."""

    id: str
    name: str
    grants: tuple[Grant, ...]
    devices: tuple[str, ...]


class PersonRequest(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    grants: Annotated[tuple[Grant, ...], Meta(min_length=1, max_length=50)]


class PersonRemoved(Struct, frozen=True):
    """How many devices and passkeys of theirs were revoked."""

    devices: int
    passkeys: int


class GiveRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`person`: the name of one; empty: the device is the owner's of the machine."""

    person: str


class DryRunRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`organisation`: the text of an organisation's rules, to be tried in the place of those that hold."""

    organisation: str


class PairRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`key`: a browser's own public key, a P-256 point in base64url; it then signs, and gets no token."""

    code: Annotated[str, Meta(max_length=64)]
    name: Name = "browser"
    key: Annotated[str, Meta(max_length=100)] = ""


class NewDeviceRequest(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    scopes: tuple[Scope, ...] = FOR_SCRIPT


class ScopesRequest(Struct, frozen=True, forbid_unknown_fields=True):
    scopes: tuple[Scope, ...]


class DeviceRequest(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name


class NewDevice(Struct, frozen=True):
    """The only time the token is shown; just its hash is kept. A browser with a key has none.

    `run` and `now` (milliseconds) are the server's own: what a browser signs has them in it.
    """

    id: str
    name: str
    token: str
    scopes: tuple[Scope, ...]
    run: str
    now: int


class Ticket(Struct, frozen=True):
    """It opens the live feed once, within `seconds`."""

    ticket: str
    seconds: float


class DeviceView(Struct, frozen=True):
    """`seen_at` is 0 until it came in for the first time; `current` is the one that asks.

    `key`: a script's token, a browser's own key; void: it was let in by a cookie, and has to be paired again.
    `passkeys`: of the one that asks: somebody has registered one, so a dangerous yes takes it.
    """

    id: str
    name: str
    created_at: float
    seen_at: float
    revoked_at: float | None
    current: bool
    scopes: tuple[Scope, ...]
    key: Literal["token", "browser", "void"]
    passkeys: bool = False


class PushKeys(Struct, frozen=True):
    p256dh: Annotated[str, Meta(min_length=1, max_length=200)]
    auth: Annotated[str, Meta(min_length=1, max_length=100)]


class PushRequest(Struct, frozen=True):
    """A browser's subscription, as its `toJSON` gives it."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=2000)]
    keys: PushKeys


class PushView(Struct, frozen=True):
    """`key`: what a browser subscribes with; `subscribed`: whether the device that asks is told."""

    key: str
    subscribed: bool


class TapRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The single-use token of one button of one notification."""

    token: Annotated[str, Meta(min_length=1, max_length=200)]


class TapReply(Struct, frozen=True):
    result: VerdictWord
    detail: str


class ChannelView(Struct, frozen=True):
    """A way people are told. `targets`: how many are told there; `problem`: what is wrong since it last worked."""

    name: str
    kind: str
    rung: str
    targets: int
    worked_at: float
    problem: str


class ChannelTestRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """All channels, or the named one. `wait`: so long for somebody to tap the test's button."""

    name: Annotated[str, Meta(max_length=64)] = ""
    wait: Seconds = 0.0


class UnpairRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A person who is paired with this channel, by name or number."""

    name: Annotated[str, Meta(max_length=64)]
    person: Annotated[str, Meta(max_length=100)] = ""


class TrialView(Struct, frozen=True):
    channel: str
    kind: str
    target: str
    sent: bool
    detail: str
    tapped: bool


class PairingCode(Struct, frozen=True):
    code: str
    expires_at: float


class Done(Struct, frozen=True):
    done: bool = True


class Problem(Struct, frozen=True):
    """A 'no' as a sentence that says what to do."""

    error: str


class Hello(Struct, frozen=True, tag_field="type", tag="hello"):
    """The first message of a feed. `snapshot`: nothing before `seq` will follow, so fetch the lists now.

    `paused`: nothing is decided by rule now; null where there are no rules. `now`: the time here, in seconds: a
    phone's own clock may be wrong. `head`: the end of the chain over the record; a client that keeps it can ask
    later whether the record still holds it.
    """

    seq: int
    snapshot: bool
    paused: bool | None = None
    now: float = 0.0
    head: HeadView | None = None


class PromptNews(Struct, frozen=True, tag_field="type", tag="prompt"):
    seq: int
    at: float
    prompt: PromptStory


class SessionNews(Struct, frozen=True, tag_field="type", tag="session"):
    seq: int
    at: float
    session: SessionView


class EntriesNews(Struct, frozen=True, tag_field="type", tag="entries"):
    """What was added to the conversation that this client watches; it goes on at `page.end` of `page.file`.

    `session_id`: the session as it goes by now. `page.restarted`: another file, whose last page this is.
    """

    session_id: str
    subagent: str
    page: Page


class PauseNews(Struct, frozen=True, tag_field="type", tag="pause"):
    """Somebody pulled the brake, or let it go: whether rules are paused from now on. Without a `seq`."""

    paused: bool


class WatchRequest(Struct, frozen=True):
    """What a client says on the feed: which conversation it looks at from now on, '' for none.

    `after` and `file` are `end` and `file` of the page it has; without them it hears what is added from now on.
    """

    watch: Annotated[str, Meta(max_length=200)]
    subagent: Annotated[str, Meta(max_length=200)] = ""
    after: Annotated[int, Meta(ge=0)] | None = None
    file: Annotated[str, Meta(max_length=200)] = ""


Do = Literal["allow", "deny", "ask", "hold"]


class PartView(Struct, frozen=True):
    """One thing that would happen, its effects, and what was said to it by which rule. `layer`: whose rule that is
    (`organisation`, `yours`, `project`)."""

    text: str
    effects: tuple[str, ...]
    do: Do
    rule: str
    layer: str = ""


class RulingView(Struct, frozen=True):
    """What the rules say. `hold`: ask, and a yes must be said twice."""

    do: Do
    why: str
    rules: tuple[str, ...]
    message: str
    parts: tuple[PartView, ...]


class TriedView(Struct, frozen=True):
    """Over the recorded past: how many prompts were looked at, how many would have been decided, and how many of
    those as people had decided them, or otherwise."""

    looked: int
    decided: int
    same: int
    other: int
    examples: tuple[str, ...]


class RuleView(Struct, frozen=True):
    """`words` says all that the rule does; `text` is its section of the file. `project`: whose file it is in.

    `used`: how often since `since`, in the last thousand prompts; `by`: who made it, if it was made here.
    """

    name: str
    do: Do
    words: str
    text: str
    project: str
    used: int
    uses: int | None = None
    until: float | None = None
    since: float = 0.0
    by: str = ""


class RulesView(Struct, frozen=True):
    """`problems`: sentences about files that cannot be used as they are; then nothing they allow counts."""

    path: str
    rules: tuple[RuleView, ...]
    problems: tuple[str, ...]
    paused: bool
    paused_by: str
    paused_at: float


class ProposalView(Struct, frozen=True):
    """A rule that was not made yet, what it would have decided, and what the rules say to the prompt now."""

    rule: RuleView
    tried: TriedView
    now: RulingView


class RuleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A new rule: like a `prompt`, or as `text`, one section of TOML. `until`: seconds since 1970."""

    prompt: Annotated[str, Meta(max_length=200)] = ""
    text: Annotated[str, Meta(max_length=20_000)] = ""
    do: Do = "allow"
    message: Annotated[str, Meta(max_length=2_000)] = ""
    uses: Annotated[int, Meta(ge=1)] | None = None
    until: float | None = None


class RuleTestRequest(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(max_length=100_000)]
    cwd: Annotated[str, Meta(max_length=4096)] = ""
    agent: Annotated[str, Meta(max_length=40)] = USUAL


class WaitView(Struct, frozen=True):
    """How long prompts of a kind waited in a project, in seconds."""

    project: str
    kind: Kind
    count: int
    median: float
    longest: float
    total: float


class SavingView(Struct, frozen=True):
    words: str
    text: str
    taps: int


class ReportView(Struct, frozen=True):
    """Who decided how many, how long prompts waited, and the rules that would have saved most taps."""

    decided: dict[str, int]
    waits: tuple[WaitView, ...]
    savings: tuple[SavingView, ...]
