"""Dialogs that no hook reaches: panes are looked at, what waits there becomes a prompt, what has gone is closed.

Rule: only looks and tells; keys are another file's (pressing.py). A dialog that a hook has raised is that hook's;
a screen is believed only when it says the same thing twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.on_screen import OnScreen, Shot
from yourcall.core.state import State
from yourcall.events import (
    AnyEvent,
    CallSettled,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.links import processes
from yourcall.links.foreground import folder, has_terminal, in_front, leader_in_front
from yourcall.links.tmux import Gone, Look, Row, Servers
from yourcall.model import Link, Prompt, Session, SessionState
from yourcall.reading import Reading

log = logging.getLogger(__name__)

TICK_S = 0.25
SETTLED_S = 0.3  # a hook tells of the same dialog within a tenth of a second: it gets the first word
HOOKED_S = 3.0  # a session whose hooks work gets longer: on a busy machine a hook takes its time to start
AGAIN_S = 0.05  # between two looks at a dialog that seems to have gone
PLAIN_S = 1.0  # between two looks where each one costs a process
DOUBT_S = 1.0  # so long must a screen contradict what the hooks said last
FRESH_S = 2  # tmux tells in whole seconds when a window last changed
STRANGER = "pid-"  # how the id of a session begins that has not told its own; discovery gives the same ones


class Place(Struct, frozen=True):
    """A pane to look at, and the session in it."""

    server: str
    pane: str
    agent: str
    session_id: str


class Basis(Struct, frozen=True):
    """What the person was shown, and where; stored as the body of the prompt."""

    server: str
    pane: str
    front: str
    reading: Reading
    screen: str

    @property
    def shot(self) -> Shot:
        return Shot(self.reading, self.screen)


class Teller(Protocol):
    @property
    def state(self) -> State: ...

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> object: ...

    def body(self, id: str, /) -> bytes | None: ...


class _Seen(Struct):
    """What was last seen in a pane: how it looked and since when, and when its window had last changed then."""

    mark: str = ""
    since: float = 0.0
    active_at: int = -1
    state: str = ""
    state_since: float = 0.0


class Screens:
    """All panes that are looked at, and the prompts that stand for what they show."""

    def __init__(self, teller: Teller, servers: Servers, on_screen: Callable[[str], OnScreen | None]) -> None:
        self._teller = teller
        self._servers = servers
        self._on_screen = on_screen
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._looked: dict[str, float] = {}
        self._bases: dict[str, Basis | None] = {}

    async def run(self) -> None:
        await self._adopt()
        while True:
            await self.look_around()
            await asyncio.sleep(TICK_S)

    async def watch(self, server: str, pane: str, agent: str = "claude") -> Session | Gone:
        """Look after this pane from now on, although no hook has told of it."""
        look = await self._servers.at(server).look(pane)
        if isinstance(look, Gone):
            return look
        known = next((p for p in self._places() if (p.server, p.pane) == (server, pane)), None)
        if known is not None:
            return self._teller.state.sessions[known.session_id]
        return await self._stranger(server, pane, agent, look.pid)

    async def look_around(self) -> None:
        """One look at every pane that may have something to say."""
        servers: dict[str, list[Place]] = {}
        for place in self._places():
            servers.setdefault(place.server, []).append(place)
        self._seen = {key: seen for key, seen in self._seen.items() if key[0] in servers}
        self._bases = {id: basis for id, basis in self._bases.items() if id in self._teller.state.prompts}
        # Side by side: a server that hangs must not keep the others waiting.
        done = await asyncio.gather(*(self._look_at(*each) for each in servers.items()), return_exceptions=True)
        for error in done:
            if error is not None:  # one strange pane must not blind us for all the others
                log.error("looking at the panes failed", exc_info=error)

    async def _look_at(self, server: str, places: list[Place]) -> None:
        now = time.monotonic()
        if not self._servers.at(server).attached and now - self._looked.get(server, -PLAIN_S) < PLAIN_S:
            return
        self._looked[server] = now
        rows = await self._servers.at(server).panes()
        for place in places:
            row = rows.get(place.pane) if not isinstance(rows, Gone) else None
            if row is None or row.dead:
                await self._lost(place, rows.why if isinstance(rows, Gone) else "its pane is closed")
            elif self._matters(place, row):
                await self._look(place)

    # --- where to look --------------------------------------------------------------------------------------

    def _places(self) -> list[Place]:
        """One for each pane; of several sessions in one, the one that has the terminal and spoke last."""
        found: dict[tuple[str, str], Place] = {}
        for session in sorted(self._teller.state.sessions.values(), key=_weight):
            link = next((link for link in session.links if link.kind == "tmux"), None)
            if link is None or session.mode != "terminal" or self._on_screen(session.agent) is None:
                continue
            if session.pid and has_terminal(session.pid) is False and not session.id.startswith(STRANGER):
                continue  # stopped, or started by another program in the same pane
            found[link.server, link.target] = Place(link.server, link.target, session.agent, session.id)
        return list(found.values())

    def _matters(self, place: Place, row: Row) -> bool:
        """What has printed nothing since the last look shows what it showed; a held request is no riddle."""
        seen = self._seen.setdefault((place.server, place.pane), _Seen())
        if self._servers.lock(place.server, place.pane).locked():
            return False
        if self._prompt_at(place) is not None:
            return True
        if _held(self._teller.state, place.session_id):
            return False
        changed = row.active_at != seen.active_at or time.time() - row.active_at <= FRESH_S
        seen.active_at = row.active_at
        return changed or bool(seen.mark)

    async def _look(self, place: Place) -> None:
        on = self._on_screen(place.agent)
        looked_at = time.time()
        look = await self._servers.at(place.server).look(place.pane)
        if on is None or isinstance(look, Gone) or self._servers.lock(place.server, place.pane).locked():
            return
        shot = on.read(look.screen)
        mine = self._prompt_at(place)
        if mine is not None and await self._judge(place, mine, shot, on, looked_at):
            return
        seen = self._seen.setdefault((place.server, place.pane), _Seen())
        mark = fingerprint(shot) if shot.reading.state == "waiting" else ""
        now = time.monotonic()
        if mark != seen.mark:
            seen.mark, seen.since = mark, now
        if not mark:
            await self._retire(place)
            await self._rests(place, look, shot, on)
        elif shot.reading.kind == "unknown" and self._idle(place.session_id):
            pass  # the turn is over: a menu that the person opened
        elif now - seen.since >= self._patience(place) and not explained(self._teller.state, place.session_id):
            await self._raise(place, look, shot, on)

    def _patience(self, place: Place) -> float:
        """How long a dialog must stand before the screen alone raises it."""
        session = self._teller.state.sessions.get(place.session_id)
        hooked = session is not None and any(link.kind == "hook" for link in session.links)
        return HOOKED_S if hooked else SETTLED_S

    # --- what is there --------------------------------------------------------------------------------------

    def _prompt_at(self, place: Place) -> tuple[Prompt, Basis] | None:
        """The prompt that stands for this pane's dialog, if there is one that is not settled."""
        for prompt in self._teller.state.prompts.values():
            waits = prompt.link == "screen" and prompt.state in ("open", "answering", "sent", "unsure")
            basis = self.basis(prompt) if waits else None
            if basis is not None and (basis.server, basis.pane) == (place.server, place.pane):
                return prompt, basis
        return None

    def basis(self, prompt: Prompt) -> Basis | None:
        if prompt.id not in self._bases:
            try:
                found = msgspec.json.decode(self._teller.body(prompt.request) or b"", type=Basis)
            except msgspec.DecodeError:
                found = None
            self._bases[prompt.id] = found
        return self._bases[prompt.id]

    async def _judge(self, place: Place, mine: tuple[Prompt, Basis], shot: Shot, on: OnScreen, now: float) -> bool:
        """What the screen says about the prompt that stands for it; True if its dialog is still there.

        `now` is from before the look: what was seen before a key was pressed says nothing about that key.
        """
        prompt, basis = mine
        post = self._teller.post
        if explained(self._teller.state, place.session_id):
            await post(PromptWithdrawn(now, prompt.id, "its hook has raised it too"))
            return True
        if fingerprint(shot) == fingerprint(basis.shot):
            if prompt.state in ("sent", "unsure"):
                await post(DialogStillOpen(now, prompt.id))
                await post(HolderConnected(now, prompt.id))
            return True
        await asyncio.sleep(AGAIN_S)
        look = await self._servers.at(place.server).look(place.pane)
        if isinstance(look, Gone):
            return True
        again = on.read(look.screen)
        if fingerprint(again) == fingerprint(basis.shot):
            return True
        await self._closed(prompt, again)
        return False

    async def _closed(self, prompt: Prompt, shot: Shot) -> None:
        """Gone, and we did not press: somebody at the desk did, and the screen does not tell what."""
        now = time.time()
        if (
            prompt.state == "open"
            and shot.reading.state == "waiting"
            and shot.reading.kind == prompt.kind == "unknown"
        ):
            # Nobody can say whether this is the same dialog: the person judges the new screen.
            await self._teller.post(PromptWithdrawn(now, prompt.id, "the screen has changed"))
            return
        await self._teller.post(DialogClosed(now, prompt.id, "busy"))
        if prompt.state == "open":
            detail = f"the dialog closed; the agent is {shot.reading.state}"
            await self._teller.post(CallSettled(now, prompt.id, "unknown", "desk", detail))

    async def _raise(self, place: Place, look: Look, shot: Shot, on: OnScreen) -> None:
        session = self._teller.state.sessions.get(place.session_id)
        if session is None:
            return  # it ended while we looked
        offer = on.offer(shot)
        basis = Basis(place.server, place.pane, in_front(look.pid), shot.reading, shot.text)
        request = msgspec.json.encode(basis)
        body_id = hashlib.sha256(request).hexdigest()
        prompt = Prompt(
            id=secrets.token_hex(8),
            kind=offer.kind,
            agent=place.agent,
            session_id=session.id,
            cwd=session.cwd,
            title=offer.title,
            opened_at=time.time(),
            body="\n\n".join(part for part in (offer.why, offer.body) if part),
            questions=offer.questions,
            request=body_id,
            fingerprint=fingerprint(shot),
            permission_mode=session.permission_mode,
            link="screen",
            held=bool(offer.questions),
        )
        await self._teller.post(PromptRaised(prompt.opened_at, prompt), {body_id: request})

    # --- sessions that have not told their name -------------------------------------------------------------

    async def _stranger(self, server: str, pane: str, agent: str, pid: int) -> Session:
        leader = leader_in_front(pid)
        began = processes.started(leader)
        now = time.time()
        session = Session(
            id=f"{STRANGER}{leader}-{began}",
            agent=agent,
            cwd=folder(pid),
            links=(Link("tmux", pane, server),),
            pid=leader,
            pid_started=began,
            started_at=now,
            seen_at=now,
        )
        await self._teller.post(SessionSeen(now, session))
        return self._teller.state.sessions.get(session.id, session)

    def _idle(self, session_id: str) -> bool:
        session = self._teller.state.sessions.get(session_id)
        return session is not None and session.state == "idle"

    async def _rests(self, place: Place, look: Look, shot: Shot, on: OnScreen) -> None:
        """At work or at rest, as the input box shows. Hooks know sooner, but their words may come in any order."""
        session = self._teller.state.sessions.get(place.session_id)
        if session is None or on.draft(look.screen) is None:
            return
        state: SessionState = "working" if shot.reading.state == "working" else "idle"
        seen, now = self._seen.setdefault((place.server, place.pane), _Seen()), time.monotonic()
        if seen.state != state:
            seen.state, seen.state_since = state, now
        hooked = any(link.kind != "tmux" for link in session.links)
        if session.state != state and now - seen.state_since >= (DOUBT_S if hooked else 0.0):
            await self._teller.post(SessionSeen(time.time(), replace(session, state=state, seen_at=time.time())))

    async def _retire(self, place: Place) -> None:
        """Once a session has told its own id, the one we made up for its pane is over."""
        if place.session_id.startswith(STRANGER):
            return
        for session in list(self._teller.state.sessions.values()):
            here = any((link.server, link.target) == (place.server, place.pane) for link in session.links)
            if here and session.id.startswith(STRANGER):
                await self._teller.post(SessionEnded(time.time(), session.id, "it goes by its own id now"))

    async def _lost(self, place: Place, why: str) -> None:
        """No pane, nothing to see; who it belonged to is over, unless it has a process that others look after."""
        self._seen.pop((place.server, place.pane), None)
        if self._servers.lock(place.server, place.pane).locked():
            return  # somebody is pressing there, and will tell
        if place.session_id.startswith(STRANGER):
            await self._teller.post(SessionEnded(time.time(), place.session_id, why))
        elif mine := self._prompt_at(place):
            await self._teller.post(TraceLost(time.time(), mine[0].id, why))

    async def _adopt(self) -> None:
        """After a start: a key may or may not have been pressed before; that is looked at, never repeated."""
        for prompt in list(self._teller.state.prompts.values()):
            if prompt.link == "screen" and prompt.state == "answering":
                why = "yourcall was stopped while it pressed keys"
                await self._teller.post(TraceLost(time.time(), prompt.id, why))


def fingerprint(shot: Shot) -> str:
    """The same for the same dialog, wherever its highlight is."""
    identity = replace(shot.reading, selected=None, checked=None)
    told = msgspec.json.encode([identity, shot.text if identity.kind == "unknown" else ""])
    return f"screen:{hashlib.sha256(told).hexdigest()}"


def explained(state: State, session_id: str) -> bool:
    """A hook has told of what this session waits for. A subagent's request shows no dialog while it is held."""
    return any(
        p.link == "hook" and p.state in ("open", "answering", "sent") and not (p.subagent and p.held)
        for p in _asked(state, session_id)
    )


def _held(state: State, session_id: str) -> bool:
    return any(p.link == "hook" and p.held and not p.subagent for p in _asked(state, session_id))


def _asked(state: State, session_id: str) -> list[Prompt]:
    return [p for p in state.of_session(session_id) if p.kind not in ("ready", "problem")]


def _weight(session: Session) -> tuple[bool, float]:
    return not session.id.startswith(STRANGER), session.seen_at
