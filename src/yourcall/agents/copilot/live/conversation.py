"""The conversation with our extension inside the person's own Copilot: what it tells, and answers by request id.

Rules
  * An answer of ours counts only if Copilot says that it took it (`success`); then the request's own end says what
    became of it. If Copilot says no, somebody else was first, whatever the answer was.
  * What is told again after a lost connection is the same prompt: its id is made from the request's own.
  * Permissions can be answered only once the person has let the extension handle them.
"""

from __future__ import annotations

import re
from itertools import count

import msgspec
from msgspec.structs import replace

from yourcall.agents.copilot import pauses, requests
from yourcall.agents.copilot.reply import Reply, reply
from yourcall.agents.copilot.requests import AGENT, LINK, prompt_id
from yourcall.agents.copilot.wire import About, Completed, Event, Message, Said, decoded
from yourcall.agents.kit.prompts import NEXT
from yourcall.agents.session_spec import Output, PluginGreeting, RequestDone
from yourcall.model.events import (
    AnyEvent,
    CallSettled,
    DialogReached,
    DialogStillOpen,
    PromptRaised,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Outcome, Prompt, Refused
from yourcall.model.sessions import Link, Session, SessionState

NOTHING = Output()
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
MOST_ENDS = 1000
TAKEN = "Copilot took it"
REQUESTED = frozenset({requests.PERMISSION, requests.FORM, requests.PLAN})
COMPLETED = frozenset({"permission.completed", "elicitation.completed", "exit_plan_mode.completed"})


class CopilotConversation:
    def __init__(self, greeting: PluginGreeting) -> None:
        about = decoded(About, greeting.about)
        if about is None or not SAFE_ID.fullmatch(about.session):
            raise ValueError("a greeting that names no session")
        self._session = _session(about, greeting)
        self._rights = False
        self._numbers = count(1)
        self._asked: dict[str, Event] = {}  # what is asked now, by its id
        self._sent: dict[str, str] = {}  # our answers that Copilot has not replied to: request, answer
        self._ours: set[str] = set()  # requests that Copilot says we have answered
        self._ends: dict[str, tuple[Outcome, str]] = {}  # how requests ended, as Copilot told
        self._instructed = ""  # the text of ours that is on its way
        self._pause = ""

    def open(self) -> list[bytes]:
        return []

    # --- what we hear ---------------------------------------------------------------------------------------

    def hear(self, data: bytes, at: float) -> Output:
        message = decoded(Message, data)
        if message is None:
            return NOTHING
        match message.type:
            case "state":
                return self._state(message, at)
            case "rights":
                return self._granted(message, at)
            case "done":
                return self._done(message, at)
            case "event" if message.event is not None:
                events, bodies = self._event(message.event, at)
                return Output(tuple(events), bodies)
            case _:
                return NOTHING

    def _state(self, message: Message, at: float) -> Output:
        """All that is so now, told at the beginning of each connection."""
        self._rights = message.rights == "granted"
        events: list[AnyEvent] = [self._seen("idle" if message.idle is not None else "unknown", at)]
        bodies: dict[str, bytes] = {}
        for ended in message.ended:
            events += self._completed(ended, at)
        for event in message.open:
            more, kept = self._requested(event, at)
            # Whatever was sent over an earlier connection was not taken: it is still asked.
            events += [DialogStillOpen(at, each.prompt.id) for each in more if isinstance(each, PromptRaised)]
            events += more
            bodies |= kept
        if message.idle is not None and not message.open:
            events += self._idle(message.idle, at)
        return Output(tuple(events), bodies)

    def _granted(self, message: Message, at: float) -> Output:
        """The person has given their consent, or refused it."""
        before, self._rights = self._rights, message.rights == "granted"
        if before or not self._rights:
            return NOTHING
        # What was shown without a way to answer it has one now; its options are part of the prompt.
        events: list[AnyEvent] = []
        bodies: dict[str, bytes] = {}
        for event in list(self._asked.values()):
            match = requests.raised(self._session, event, at, rights=True)
            if match is not None:
                prompt = match[0].prompt
                events.append(DialogReached(at, prompt.id, LINK, prompt.questions, prompt.request))
                bodies |= match[1]
        return Output(tuple(events), bodies)

    def _event(self, event: Event, at: float) -> tuple[list[AnyEvent], dict[str, bytes]]:
        if event.type in REQUESTED:
            events, bodies = self._requested(event, at)
            return ([self._seen("waiting", at), *events] if events else []), bodies
        if event.type in COMPLETED:
            return self._completed(event, at), {}
        if event.agentId:
            return [], {}
        match event.type:
            case "user.message":
                return [self._seen("working", at), *self._went_on(event, at)], {}
            case "assistant.turn_start":
                return [self._seen("working", at)], {}
            case "session.idle":
                return [self._seen("idle", at), *self._idle(event, at)], {}
            case "session.shutdown":
                return [SessionEnded(at, self._session.id, "Copilot has closed it")], {}
            case _:
                return [], {}

    def _seen(self, state: SessionState, at: float) -> SessionSeen:
        return SessionSeen(at, replace(self._session, state=state, seen_at=at))

    def _idle(self, event: Event, at: float) -> list[AnyEvent]:
        pause = pauses.ended(self._session, event, at)
        self._pause = pause.id
        return [PromptRaised(at, pause)]

    def _went_on(self, event: Event, at: float) -> list[AnyEvent]:
        """The next instruction was given: by us if it is the text that we sent, else at the desk."""
        said = decoded(Said, event.data)
        ours = bool(self._instructed) and said is not None and said.content.strip() == self._instructed
        pause, self._pause, self._instructed = self._pause, "", ""
        source = "held" if ours else "desk"
        return [CallSettled(at, pause, "allowed", source, "the next instruction was given")] if pause else []

    # --- requests -------------------------------------------------------------------------------------------

    def _requested(self, event: Event, at: float) -> tuple[list[AnyEvent], dict[str, bytes]]:
        match = requests.raised(self._session, event, at, rights=self._rights)
        whose = decoded(Completed, event.data)
        if match is None or whose is None or whose.requestId in self._ends:
            return [], {}
        self._asked[whose.requestId] = event
        return [match[0]], match[1]

    def _completed(self, event: Event, at: float) -> list[AnyEvent]:
        ended = decoded(Completed, event.data)
        if ended is None or ended.requestId in self._ends:
            return []
        self._asked.pop(ended.requestId, None)
        if event.ours:
            self._ours.add(ended.requestId)
        self._ends[ended.requestId] = _outcome(event.type, ended)
        if len(self._ends) > MOST_ENDS:
            self._ends.pop(next(iter(self._ends)))
        if ended.requestId in self._sent:
            return []  # Copilot says first whether it was our answer
        return self._settled(ended.requestId, at)

    def _settled(self, request_id: str, at: float) -> list[AnyEvent]:
        outcome, detail = self._ends[request_id]
        source = "held" if request_id in self._ours else "desk"
        return [CallSettled(at, prompt_id(self._session.id, request_id), outcome, source, detail)]

    def _done(self, message: Message, at: float) -> Output:
        """Copilot's word on what we asked for."""
        if not message.request:
            error = "" if message.success else message.error or "Copilot did not take it."
            if not message.success:
                self._instructed = ""
            return Output(self._not_said(message, at), done=RequestDone(message.id, error))
        self._sent.pop(message.request, None)
        if message.success:
            self._ours.add(message.request)
        if message.request in self._ends:
            return Output(tuple(self._settled(message.request, at)))
        if message.success:
            return NOTHING  # its end is told in a moment
        if not message.error and message.request in self._asked:
            return NOTHING  # somebody was first; how it ended is told in a moment
        if not message.error:
            why = "Copilot does not know this request any more"
            return Output((TraceLost(at, prompt_id(self._session.id, message.request), why),))
        # It was refused, not lost: the dialog stands as it stood.
        return Output((DialogStillOpen(at, prompt_id(self._session.id, message.request)),))

    def _not_said(self, message: Message, at: float) -> tuple[AnyEvent, ...]:
        """An instruction that answered a pause, and that Copilot did not take."""
        if message.success or message.verb != "say" or not self._pause:
            return ()
        return (DialogStillOpen(at, self._pause),)

    # --- what we say ----------------------------------------------------------------------------------------

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> list[bytes] | Refused:
        if prompt.kind in ("ready", "problem"):
            line = self._say(answer.texts.get(NEXT, ""), answer.id)
            return line if isinstance(line, Refused) else [line]
        planned = reply(prompt, answer, request)
        if isinstance(planned, Refused):
            return planned
        if planned.request in self._ends:
            return Refused("It has been answered at the desk.")
        self._sent[planned.request] = answer.id
        return [msgspec.json.encode(planned)]

    def say(self, session_id: str, text: str) -> tuple[str, bytes] | Refused:
        number = f"say-{next(self._numbers)}"
        line = self._say(text, number)
        return line if isinstance(line, Refused) else (number, line)

    def _say(self, text: str, number: str) -> bytes | Refused:
        if not text.strip():
            return Refused("Enter an instruction.")
        self._instructed = text.strip()
        return msgspec.json.encode(Reply("say", number, text=text))

    def interrupt(self, session_id: str) -> tuple[str, bytes] | Refused:
        number = f"abort-{next(self._numbers)}"
        return number, msgspec.json.encode(Reply("abort", number))


def _session(about: About, greeting: PluginGreeting) -> Session:
    """`cli` is only a claim: the process is believed if it is one of those above the extension, by the kernel."""
    known = {caller.pid for caller in greeting.callers}
    links = [Link(LINK)]
    if about.pane and about.tmux:
        links.append(Link("tmux", about.pane, about.tmux.split(",")[0]))
    folder = about.folder or ""
    recorded = folder.startswith("/") and folder.endswith(f"/{about.session}")
    return Session(
        id=about.session,
        agent=AGENT,
        cwd=about.cwd,
        links=tuple(links),
        pid=about.cli if about.cli in known else 0,
        version=(about.version or "")[:40],
        transcript=f"{folder}/events.jsonl" if recorded else "",
    )


def _outcome(kind: str, ended: Completed) -> tuple[Outcome, str]:
    """What became of a request, by Copilot's own word."""
    match kind:
        case "permission.completed":
            result = ended.result.kind
            if result.startswith("approved"):
                return "allowed", result
            return ("stopped" if result == "cancelled" else "denied"), result or "denied"
        case "elicitation.completed":
            actions: dict[str, Outcome] = {"accept": "allowed", "decline": "denied", "cancel": "stopped"}
            action = ended.action or ""
            return actions.get(action, "unknown"), action or "closed"
        case _:
            if not ended.approved:
                return "denied", "the plan was not approved"
            stays = ended.selectedAction == "exit_only"
            return ("stopped", "plan mode was left") if stays else ("allowed", "the plan was approved")
