"""Events are facts, commands are wishes: two closed unions between the world and the core.

Rule: an event says what was seen, when (`at`), and about which prompt or session; it never says what to do.
Ids and times are made at the edge and arrive here, so that replaying the log gives the same state.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from yourcall.model.people import Approval
from yourcall.model.prompts import Answer, Outcome, Prompt, Question
from yourcall.model.sessions import Session


class Event(Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    at: float


class SessionSeen(Event, frozen=True):
    """A session spoke, or was found. The latest word on pane, pid and mode wins; empty fields say nothing."""

    session: Session


class SessionEnded(Event, frozen=True):
    """`goes_on_as`: it is over under this id only; the same run goes by another one now."""

    session_id: str
    why: str = ""
    goes_on_as: str = ""


class PromptRaised(Event, frozen=True):
    """A link saw the agent stop for a person. `prompt.answerable`: somebody can answer it."""

    prompt: Prompt


class PromptFollowed(Event, frozen=True):
    """Its session was cleared, resumed or forked, or has told its own id at last: the prompt went with it.

    `record`: the transcript it was asked in. `body`: what it says from now on, if its conversation is another one.
    """

    prompt_id: str
    session_id: str
    record: str = ""
    body: str = ""


class DialogReached(Event, frozen=True):
    """Nobody holds the request, but its own dialog stands where another link can answer it, with these questions.

    `request` names the stored body that this link answers from.
    """

    prompt_id: str
    link: str
    questions: tuple[Question, ...]
    request: str


class HolderConnected(Event, frozen=True):
    """The program that holds the request is connected again. `wrote`: the id of the answer it has written."""

    prompt_id: str
    wrote: str = ""


class HolderLost(Event, frozen=True):
    """Nobody holds the request any more; the agent's own dialog is the only way left. `why` is for people."""

    prompt_id: str
    why: str = ""


class CallBound(Event, frozen=True):
    """The transcript told which tool call a prompt is about."""

    prompt_id: str
    call_id: str


class AnswerGiven(Event, frozen=True):
    prompt_id: str
    answer: Answer


class ApprovalGiven(Event, frozen=True):
    """A yes that counts, and waits for others to say the same: `given` of `of` are there with this one."""

    prompt_id: str
    answer: Answer
    approval: Approval
    given: int
    of: int


class AnswerWritten(Event, frozen=True):
    """The holder has written this answer to the agent; whether the agent takes it is another matter."""

    prompt_id: str
    answer_id: str


class AnswerNotWritten(Event, frozen=True):
    """The holder did not write it, and never will: nothing reached the agent."""

    prompt_id: str
    answer_id: str
    why: str


class DialogClosed(Event, frozen=True):
    """A sign: the dialog is gone. `to`: the turn goes on (busy), was stopped (idle), or has ended, and nobody saw
    how (over). It does not say who."""

    prompt_id: str
    to: Literal["busy", "idle", "over"]


class DialogStillOpen(Event, frozen=True):
    """We looked, and the agent still waits on this very request."""

    prompt_id: str


class CallSettled(Event, frozen=True):
    """Proof, from the agent's own record: how the call was decided and, if it says so, by whom."""

    prompt_id: str
    outcome: Outcome
    source: Literal["held", "desk", "unknown"] = "unknown"
    detail: str = ""


class PromptWithdrawn(Event, frozen=True):
    """The agent no longer asks this, and nobody answered it."""

    prompt_id: str
    why: str = ""


class PromptDismissed(Event, frozen=True):
    """A person takes it off the list. The agent is told nothing."""

    prompt_id: str
    by: str


class PromptNudged(Event, frozen=True):
    """The agent itself reminds the person of this prompt."""

    prompt_id: str


class AttemptRefused(Event, frozen=True):
    """A process that belongs to an agent tried what only a person may do, and was refused.

    `session_id`: whose process it was, if that is known. `prompt_id`: what it tried to answer, if it was that.
    `by`: who tried, where it was no agent: `fleet` is somebody on another machine.
    """

    what: str
    why: str
    session_id: str = ""
    prompt_id: str = ""
    by: str = "agent process"


class TraceLost(Event, frozen=True):
    """Nobody can tell any more how this prompt stands."""

    prompt_id: str
    why: str


AnyEvent = (
    SessionSeen
    | SessionEnded
    | PromptRaised
    | PromptFollowed
    | DialogReached
    | HolderConnected
    | HolderLost
    | CallBound
    | AnswerGiven
    | ApprovalGiven
    | AnswerWritten
    | AnswerNotWritten
    | DialogClosed
    | DialogStillOpen
    | CallSettled
    | PromptWithdrawn
    | PromptDismissed
    | PromptNudged
    | AttemptRefused
    | TraceLost
)


class SettingsChanged(Event, frozen=True):
    """Somebody changed who may do what: a device, the rules, the channels. No prompt depends on it.

    `about`: which device, rule, channel or person. `by`: who did it, a device by its name and id. `detail` is for
    people and holds no secret. `state`: how the area stands after it, where that can be compared later.
    """

    area: Literal["devices", "rules", "pause", "channels", "people", "lock", "passkeys", "policy"]
    what: str
    about: str
    by: str
    detail: str = ""
    state: str = ""


class Command(Struct, frozen=True, tag=True):
    pass


class Deliver(Command, frozen=True):
    """Carry this answer to whoever holds the request. The row that says so is already on disk."""

    prompt_id: str
    answer: Answer


class Release(Command, frozen=True):
    """Tell the holder to leave without a word: the prompt ended elsewhere."""

    prompt_id: str


AnyCommand = Deliver | Release
