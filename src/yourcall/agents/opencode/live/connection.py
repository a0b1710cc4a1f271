"""One connection to our plugin in an opencode process: its sessions, what they ask, and what became of that.

Rules
  * A request belongs to the session that a person sees: a sub-agent's is shown in the session it works for.
  * Whose answer counted is the plugin's word, by the event that closed the request; nothing is concluded from the
    order of messages, or from an answer that was accepted.
  * Of a session that the plugin has not described nothing is believed.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.agents.kit.own_record import written
from yourcall.agents.kit.prompts import NEXT
from yourcall.agents.kit.wire import decoded
from yourcall.agents.opencode import pauses, transcript
from yourcall.agents.opencode.app import App
from yourcall.agents.opencode.reply import reply
from yourcall.agents.opencode.requests import LINK, prompt_id, raised
from yourcall.agents.opencode.wire import (
    SAFE_ID,
    AgentTold,
    Asked,
    Busy,
    Done,
    Ended,
    Greeting,
    History,
    Idle,
    PartTold,
    SessionTold,
    Settled,
    encoded,
    message,
)
from yourcall.agents.session_spec import Output, PluginGreeting, RequestDone
from yourcall.model.events import (
    AnyEvent,
    CallSettled,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Outcome, Prompt, Refused
from yourcall.model.sessions import Link, Session, SessionState

MOST_BUFFERED = 1000
DEEPEST = 10  # sub-agents of sub-agents; a chain without end is a mistake, or hostile
INSTRUCTION = "next "  # how the id of an instruction begins that answers a pause
OUTCOMES: dict[str, Outcome] = {"once": "allowed", "always": "allowed", "reject": "denied"}
WORDS = {"once": "it was allowed", "always": "it was allowed, and the like of it", "reject": "it was refused"}
NOBODY = "the answer was not taken within two seconds: look at the terminal"


class _Known:
    """A session that was described: as it was told, and how its record stands."""

    def __init__(self, session_told: SessionTold) -> None:
        self.told = session_told
        self.recorded: set[str] | None = None  # parts in the record; None: its history has not come yet
        self.buffered: list[PartTold] = []
        self.pause = ""
        self.next = ""  # the pause that an instruction of ours answers
        self.questions: set[str] = set()


class PluginConversation:
    def __init__(self, app: App, greeting: PluginGreeting) -> None:
        self._app = app
        self._pid = greeting.callers[0].pid if greeting.callers else 0
        about = decoded(Greeting, greeting.about) or Greeting()
        in_tmux = about.tmux and about.pane
        pane = (Link("tmux", about.pane or "", (about.tmux or "").split(",")[0]),) if in_tmux else ()
        self._links = (Link(LINK), *pane)
        self._records = greeting.records
        self._sessions: dict[str, _Known] = {}
        self._numbers = 0

    def open(self) -> list[bytes]:
        return []

    # --- what comes in ------------------------------------------------------------------------------------------

    def hear(self, data: bytes, at: float) -> Output:
        told = message(data)
        match told:
            case None:
                return Output()
            case SessionTold():
                return self._described(told, at)
            case Done():
                return self._done(told, at)
            case _:
                known = self._sessions.get(told.session)
                return self._of(known, told, at) if known is not None else Output()

    def _of(
        self,
        known: _Known,
        told: AgentTold | Busy | Idle | Asked | Settled | PartTold | History | Ended,
        at: float,
    ) -> Output:
        person = not known.told.parent
        match told:
            case Asked():
                return self._asked(told, at)
            case Settled():
                return Output(self._settled(told, at))
            case PartTold():
                return self._part(known, told, at)
            case History() if person:
                return self._history(known, told)
            case AgentTold() if person:
                known.told = replace(known.told, agent=told.agent)
                return Output((self._seen(known, at),))
            case Busy() if person:
                return Output((*self._went_on(known, told, at), self._seen(known, at, "working")))
            case Idle() if person and told.turn:
                prompt = pauses.paused(self._app, self._session(known, at), told, at)
                known.pause = prompt.id
                return Output((self._seen(known, at, "idle"), PromptRaised(at, prompt)))
            case Ended() if person:
                del self._sessions[told.session]
                return Output((SessionEnded(at, told.session, "it was deleted"),))
            case _:
                return Output()

    def _described(self, session_told: SessionTold, at: float) -> Output:
        known = self._sessions.get(session_told.session)
        new = known is None
        if known is None:
            known = self._sessions[session_told.session] = _Known(session_told)
        known.told = session_told
        if session_told.parent:
            known.recorded = set() if known.recorded is None else known.recorded
            return Output()
        wants = (encoded(type="history", session=session_told.session),) if new else ()
        return Output((self._seen(known, at),), lines=wants)

    def _asked(self, asking: Asked, at: float) -> Output:
        whose = self._person(asking.session)
        if whose is None or not SAFE_ID.fullmatch(asking.id) or asking.kind not in ("permission", "question"):
            return Output()
        child = self._sessions[asking.session].told if asking.session != whose.told.session else None
        subagent = f"{(child.title or 'sub-agent')[:100]} {child.session}" if child is not None else ""
        event, bodies = raised(self._app, self._session(whose, at), asking, subagent, at)
        if asking.kind == "question":
            whose.questions.add(event.prompt.id)
        return Output((event,), bodies)

    def _settled(self, settled: Settled, at: float) -> tuple[AnyEvent, ...]:
        id = prompt_id(self._app, settled.id)
        whose = self._person(settled.session)
        if whose is not None:
            whose.questions.discard(id)
        match settled.by:
            case "us" | "desk":
                outcome = (
                    "allowed" if settled.answers is not None else OUTCOMES.get(settled.reply or "", "unknown")
                )
                detail = "it was answered" if settled.answers is not None else WORDS.get(settled.reply or "", "")
                return (CallSettled(at, id, outcome, "held" if settled.by == "us" else "desk", detail),)
            case "abort":
                return (PromptWithdrawn(at, id, "the turn was stopped"),)
            case "gone":
                return (PromptWithdrawn(at, id),)
            case _:
                return (TraceLost(at, id, NOBODY),)

    def _went_on(self, known: _Known, busy: Busy, at: float) -> list[AnyEvent]:
        """A turn has begun: by the instruction that answers the pause, or without it."""
        after = pauses.pause_id(self._app, busy.session, busy.after) if busy.after else known.pause
        ours, known.next, known.pause = known.next, "", ""
        if not after:
            return []
        if ours == after:
            return [CallSettled(at, after, "allowed", "held", "the next instruction was given")]
        return [PromptWithdrawn(at, after, "the session went on")]

    def _done(self, done: Done, at: float) -> Output:
        events: tuple[AnyEvent, ...] = ()
        if done.id.startswith(INSTRUCTION) and done.error:
            events = (TraceLost(at, done.id.removeprefix(INSTRUCTION), done.error[:300]),)
        return Output(events, done=RequestDone(done.id, done.error[:300]))

    # --- the record ---------------------------------------------------------------------------------------------

    def _history(self, known: _Known, history: History) -> Output:
        entries, known.recorded = transcript.past(history.messages)
        waiting, known.buffered = known.buffered, []
        lines = [written(entry) for entry in entries]
        for part in waiting:
            lines += self._new(known, part, 0.0)
        return Output(record=tuple(lines), record_of=history.session, record_anew=True)

    def _part(self, known: _Known, part_told: PartTold, at: float) -> Output:
        if known.recorded is None:
            if len(known.buffered) < MOST_BUFFERED:
                known.buffered.append(part_told)
            return Output()
        return Output(record=tuple(self._new(known, part_told, at)), record_of=part_told.session)

    def _new(self, known: _Known, part_told: PartTold, at: float) -> list[bytes]:
        """The lines of a part that is not in the record yet."""
        assert known.recorded is not None
        new = transcript.marks(part_told.part) - known.recorded
        known.recorded |= new
        if not new:
            return []
        return [written(entry) for entry in transcript.entries(part_told.role, part_told.part, at)]

    # --- sessions -----------------------------------------------------------------------------------------------

    def _person(self, session_id: str) -> _Known | None:
        """The session that a person sees, of this one or of the one that it works for."""
        known = self._sessions.get(session_id)
        for _ in range(DEEPEST):
            if known is None or not known.told.parent:
                return known
            known = self._sessions.get(known.told.parent)
        return None

    def _seen(self, known: _Known, at: float, state: SessionState = "unknown") -> SessionSeen:
        return SessionSeen(at, self._session(known, at, state))

    def _session(self, known: _Known, at: float, state: SessionState = "unknown") -> Session:
        session_told, app = known.told, self._app
        mode = {app.usual: "default", app.planning: "plan"}.get(
            session_told.agent or "", (session_told.agent or "")[:40]
        )
        return Session(
            session_told.session,
            app.name,
            session_told.directory,
            state,
            permission_mode=mode,
            links=self._links,
            pid=self._pid,
            version=(session_told.version or "")[:40],
            transcript=f"{self._records}/{session_told.session}.jsonl" if self._records else "",
            note=f"It waits to try again: {session_told.retry[:200]}" if session_told.retry else "",
            cost_usd=session_told.cost or 0.0,
            seen_at=at,
        )

    # --- what goes out ------------------------------------------------------------------------------------------

    def answer(self, prompt: Prompt, answer: Answer, request: bytes) -> list[bytes] | Refused:
        if prompt.kind not in ("ready", "problem"):
            message = reply(prompt, answer, request)
            return message if isinstance(message, Refused) else [message[1]]
        known = self._sessions.get(prompt.session_id)
        if known is None:
            return Refused("This session is not connected any more.")
        known.next = prompt.id
        text = answer.texts.get(NEXT, "")
        return [encoded(type="prompt", id=f"{INSTRUCTION}{prompt.id}", session=prompt.session_id, text=text)]

    def say(self, session_id: str, text: str) -> tuple[str, bytes] | Refused:
        known = self._sessions.get(session_id)
        if known is not None and known.questions and self._app.new_turn_rejects:
            return Refused(f"{self._app.title} would take this for a no to its question: answer that one first.")
        id = self._number()
        return id, encoded(type="prompt", id=id, session=session_id, text=text)

    def interrupt(self, session_id: str) -> tuple[str, bytes] | Refused:
        id = self._number()
        return id, encoded(type="abort", id=id, session=session_id)

    def _number(self) -> str:
        self._numbers += 1
        return f"request {self._numbers}"
