"""Dialogs that no hook reaches: panes are looked at, what waits there becomes a prompt, what has gone is closed.

Rule: only looks and tells; `typing.py` presses keys. A dialog that a hook has raised is that hook's;
a screen is believed only when it says the same thing twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import secrets
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from yourcall.agents.kit.resets import reset_in
from yourcall.agents.registry import USUAL
from yourcall.agents.screen_spec import MatchedCall, ScreenSpec, Snapshot
from yourcall.core.identity import since
from yourcall.links import processes, session_ids
from yourcall.links.event_sink import EventSink
from yourcall.links.pty.pane import DOOR
from yourcall.links.screen import ownership as elsewhere
from yourcall.links.screen import pauses
from yourcall.links.screen.announced_calls import AnnouncedCalls
from yourcall.links.screen.ownership import (
    SeenDialog,
    agent_pid_of,
    explained,
    fingerprint,
    from_screen,
    held,
    left_alone,
    on_record,
    reached,
    told_elsewhere,
)
from yourcall.links.screen.pauses import Rest
from yourcall.links.screen.servers import Servers, pane_of
from yourcall.links.screen.tmux import Gone, Look, Row
from yourcall.links.session_ids import STRANGER
from yourcall.links.terminals import busy, folder, has_terminal, in_front, leader_in_front, unread_keys
from yourcall.model.events import (
    AnswerGiven,
    CallSettled,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Prompt, Tool
from yourcall.model.sessions import Link, Session

log = logging.getLogger(__name__)

TICK_S = 0.25
HURRY_S = 0.04  # between two looks while a dialog is about to be drawn
SOON_S = 2.0  # it is drawn within half a second of its hook; on a busy machine it takes longer
SETTLED_S = 0.3  # a hook tells of the same dialog within a tenth of a second: it gets the first word
HOOKED_S = 3.0  # a session whose hooks work gets longer: on a busy machine a hook takes its time to start
AGAIN_S = 0.05  # between two looks at a dialog that seems to have gone
ANY = "generic"  # the agent that stands for every program that nobody taught us
# What an agent's informing hooks, or its socket, tell of.
HOOKED_KINDS = frozenset({"permission", "question", "plan", "elicitation"})
CLOSING_S = 2.0  # with its last pane a server goes, and the program that ran there a moment after it
SLOW_S = 1.0  # a server that answers does so in milliseconds
DRAWN_S = 3.0  # a window that changes its size is drawn anew, on a busy machine within this
IGNORED_S = 3.0  # a dialog that still stands this long after its agent read our key has not taken it
FRESH_S = 2  # tmux tells in whole seconds when a window last changed


class WatchedPane(Struct, frozen=True):
    """A pane to look at, and the session in it."""

    server: str
    pane: str
    agent: str
    session_id: str


class _Seen(Struct):
    """What was last seen in a pane: how it looked and since when, and when its window had last changed then."""

    mark: str = ""
    since: float = 0.0
    active_at: int = -1
    rest: Rest = field(default_factory=Rest)


class ScreenWatcher:
    """All panes that are looked at, and the prompts that stand for what they show."""

    def __init__(
        self,
        teller: EventSink,
        servers: Servers,
        on_screen: Callable[[str], ScreenSpec | None],
        calls: AnnouncedCalls | None = None,
    ) -> None:
        self._calls = calls
        self._wake = asyncio.Event()
        self._hurry_until = 0.0
        self._read_at: dict[str, float] = {}  # when an agent was first seen to have read the key for a prompt
        self._doubts: dict[str, float] = {}  # since when a dialog cannot be made out, though it still asks
        self._started: set[tuple[str, str]] = set()  # panes in which yourcall itself started the agent
        self._teller = teller
        self._servers = servers
        self._on_screen = on_screen
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._looks: dict[str, asyncio.Task[None]] = {}  # one at a time for each server
        self._bases: dict[str, SeenDialog | None] = {}
        self.raised: Callable[[], None] = lambda: None  # told when a dialog has become a prompt

    async def run(self) -> None:
        await self._adopt()
        try:
            while True:
                await self.look_around()
                hurry = time.monotonic() < self._hurry_until
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(HURRY_S if hurry else TICK_S):
                        await self._wake.wait()
        finally:
            for look in self._looks.values():
                look.cancel()

    def hurry(self) -> None:
        """A hook has told of a dialog: it is about to be drawn."""
        self._hurry_until = time.monotonic() + SOON_S
        self._wake.set()

    async def watch(self, server: str, pane: str, agent: str = USUAL, *, ours: bool = True) -> Session | Gone:
        """Look after this pane from now on, although no hook has told of it. `ours`: nobody sits before it."""
        look = await self._servers.at(server).look(pane)
        if isinstance(look, Gone):
            return look
        if ours:
            self._started.add((server, pane))
        known = next((p for p in self._places() if (p.server, p.pane) == (server, pane)), None)
        if known is not None:
            return self._teller.state.sessions[known.session_id]
        return await self._stranger(server, pane, agent if self._on_screen(agent) else ANY, look.pid)

    async def look_around(self) -> None:
        """One look at every pane that may have something to say."""
        servers: dict[str, list[WatchedPane]] = {}
        for place in self._places():
            servers.setdefault(place.server, []).append(place)
        self._seen = {key: seen for key, seen in self._seen.items() if key[0] in servers}
        self._bases = {id: basis for id, basis in self._bases.items() if id in self._teller.state.prompts}
        self._read_at = {id: at for id, at in self._read_at.items() if id in self._teller.state.prompts}
        # Side by side: a server that hangs keeps nobody else waiting, in this round or the next.
        begun = {
            server: asyncio.create_task(self._look_safely(server, places))
            for server, places in servers.items()
            if server not in self._looks
        }
        self._looks |= begun
        if begun:
            await asyncio.wait(begun.values(), timeout=SLOW_S)

    async def _look_safely(self, server: str, places: list[WatchedPane]) -> None:
        try:
            await self._look_at(server, places)
        except Exception as error:  # one strange pane must not blind us for all the others
            log.error("looking at the panes failed", exc_info=error)
        finally:
            del self._looks[server]

    async def _look_at(self, server: str, places: list[WatchedPane]) -> None:
        rows = await self._servers.at(server).panes()
        for place in places:
            row = rows.get(place.pane) if not isinstance(rows, Gone) else None
            if row is None or row.dead:
                await self._lost(place, rows if isinstance(rows, Gone) else None)
            elif self._matters(place, row):
                await self._look(place)

    # --- where to look --------------------------------------------------------------------------------------

    def _places(self) -> list[WatchedPane]:
        """One for each pane; of several sessions in one, the one that has the terminal and spoke last."""
        found: dict[tuple[str, str], WatchedPane] = {}
        for session in sorted(self._teller.state.sessions.values(), key=_weight):
            link = pane_of(session)
            if link is None or session.mode != "terminal" or self._on_screen(session.agent) is None:
                continue
            front = has_terminal(session.pid) if session.pid else None
            if front is False and not session.id.startswith(STRANGER):
                continue  # stopped, or started by another program in the same pane
            if front is None and _left(session):
                continue  # a window that was closed; what it showed goes on elsewhere
            found[link.server, link.target] = WatchedPane(link.server, link.target, session.agent, session.id)
        return list(found.values())

    def _matters(self, place: WatchedPane, row: Row) -> bool:
        """What has printed nothing since the last look shows what it showed; a held request is no riddle."""
        seen = self._seen.setdefault((place.server, place.pane), _Seen())
        if self._servers.lock(place.server, place.pane).locked():
            return False
        if self._prompt_at(place) is not None:
            return True
        if held(self._teller.state, place.session_id):
            return False
        changed = row.active_at != seen.active_at or time.time() - row.active_at <= FRESH_S
        seen.active_at = row.active_at
        return changed or bool(seen.mark)

    async def _look(self, place: WatchedPane) -> None:
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
        seen.rest.turn = seen.rest.turn or shot.reading.state in ("waiting", "working")
        if not mark:
            await self._retire(place)
            await pauses.told(self._teller, place.session_id, seen.rest, look.screen, shot, on)
        elif shot.reading.kind == "unknown" and self._idle(place.session_id):
            pass  # the turn is over: a menu that the person opened
        elif (
            now - seen.since >= SETTLED_S
            and (left := left_alone(self._teller.state, place.session_id, shot, on)) is not None
        ):
            await self._reach(left, place, look, shot, on)
        elif now - seen.since >= self._patience(place, shot, on) and not explained(
            self._teller.state, place.session_id, shot.reading.kind
        ):
            await self._raise(place, look, shot, on)

    async def shown(self, session: Session) -> str:
        """What its pane shows it to be at; nothing where that cannot be made out."""
        link, on = pane_of(session), self._on_screen(session.agent)
        if link is None or on is None:
            return ""
        look = await self._servers.at(link.server).look(link.target)
        if isinstance(look, Gone) or on.draft(look.screen) is None:
            return ""
        return on.read(look.screen).reading.state

    async def _reach(self, prompt: Prompt, place: WatchedPane, look: Look, shot: Snapshot, on: ScreenSpec) -> None:
        front, body = in_front(look.pid), self._teller.body(prompt.request) or b""
        basis = SeenDialog(place.server, place.pane, front, shot.reading, shot.text, shot.mark)
        told = reached(prompt, body, basis, on, time.time())
        if told is not None:
            self._bases.pop(prompt.id, None)
            await self._teller.post(*told)

    def _patience(self, place: WatchedPane, shot: Snapshot, on: ScreenSpec) -> float:
        """How long a dialog must stand before the screen alone raises it."""
        if on.silence_s:
            return SETTLED_S if on.urgent is not None and on.urgent(shot) else on.silence_s
        if on.explain is not None:
            if self._explained(place, shot, on) is not None:
                # Its hook has had the first word. Of several calls it may not be the one that is asked for first;
                # and what only the screen tells (a plan) must be drawn whole.
                alone = self._calls is not None and self._calls.alone(place.session_id)
                return AGAIN_S if alone and shot.reading.kind == "permission" else SETTLED_S
            return self._hooked_s(place, shot) if shot.reading.kind in HOOKED_KINDS else SETTLED_S
        return self._hooked_s(place, shot)

    def _explained(self, place: WatchedPane, shot: Snapshot, on: ScreenSpec) -> MatchedCall | None:
        """The dialog with what hooks told of it, for an agent whose hooks only inform."""
        if on.explain is None or self._calls is None:
            return None
        return on.explain(shot, self._calls.of(place.session_id))

    def _hooked_s(self, place: WatchedPane, shot: Snapshot) -> float:
        session = self._teller.state.sessions.get(place.session_id)
        hooked = session is not None and any(link.kind == "hook" for link in session.links)
        carried = shot.reading.kind in elsewhere.CARRIED
        served = carried and elsewhere.served(self._teller.state, place.session_id)
        plugged = session is not None and any(link.kind == elsewhere.PLUGIN for link in session.links)
        told = plugged and shot.reading.kind in HOOKED_KINDS
        return HOOKED_S if hooked or served or told else SETTLED_S

    # --- what is there --------------------------------------------------------------------------------------

    def _prompt_at(self, place: WatchedPane) -> tuple[Prompt, SeenDialog] | None:
        """The prompt that stands for this pane's dialog, if there is one that is not settled."""
        # One that can be answered stands before one whose dialog is out of sight.
        for prompt in sorted(self._teller.state.prompts.values(), key=lambda p: not p.answerable):
            waits = prompt.link == "screen" and prompt.state in ("open", "answering", "sent", "unsure")
            basis = self.basis(prompt) if waits else None
            if basis is not None and (basis.server, basis.pane) == (place.server, place.pane):
                return prompt, basis
        return None

    def basis(self, prompt: Prompt) -> SeenDialog | None:
        if prompt.id not in self._bases:
            try:
                found = msgspec.json.decode(self._teller.body(prompt.request) or b"", type=SeenDialog)
            except msgspec.DecodeError:
                found = None
            self._bases[prompt.id] = found
        return self._bases[prompt.id]

    async def _ignored(self, place: WatchedPane, prompt: Prompt, now: float) -> bool:
        """The dialog stands as it was before our key: that means something once the agent has read the key."""
        look = await self._servers.at(place.server).look(place.pane)
        agent_pid = agent_pid_of(self._teller.state, prompt)
        if isinstance(look, Gone) or unread_keys(look.pid, agent_pid):
            self._read_at.pop(prompt.id, None)
            return False
        if self._read_at.get(prompt.id, 0.0) < since(prompt):
            self._read_at[prompt.id] = now
        return now - self._read_at[prompt.id] > IGNORED_S and not busy(agent_pid)

    async def _judge(
        self, place: WatchedPane, mine: tuple[Prompt, SeenDialog], shot: Snapshot, on: ScreenSpec, now: float
    ) -> bool:
        """What the screen says about the prompt that stands for it; True if its dialog is still there.

        `now` is from before the look: what was seen before a key was pressed says nothing about that key.
        """
        prompt, basis = mine
        post = self._teller.post
        if told_elsewhere(self._teller.state, prompt, place.session_id):
            if on.shows is not None and not from_screen(prompt):
                # A request of its own that waits behind another one, or before it: nobody can tell from here.
                if prompt.state == "open":
                    await post(HolderLost(now, prompt.id, "another request of this session is open"))
                return True
            await post(PromptWithdrawn(now, prompt.id, "the agent itself has raised it too"))
            return True
        if fingerprint(shot) == fingerprint(basis.shot):
            self._doubts.pop(prompt.id, None)
            if prompt.state in ("sent", "unsure"):
                if await self._ignored(place, prompt, now):
                    await post(DialogStillOpen(now, prompt.id))
                    await post(HolderConnected(now, prompt.id))
            elif prompt.state == "open" and not prompt.answerable and prompt.questions and on.shows is not None:
                await post(HolderConnected(now, prompt.id))
            return True
        await asyncio.sleep(AGAIN_S)
        look = await self._servers.at(place.server).look(place.pane)
        pressing = self._servers.lock(place.server, place.pane).locked()
        if isinstance(look, Gone) or pressing or self._teller.state.prompts.get(prompt.id) != prompt:
            return True  # nothing to see, or it was answered meanwhile: who presses will tell
        again = on.read(look.screen)
        if fingerprint(again) == fingerprint(basis.shot):
            return True
        if on.shows is not None and prompt.state == "open" and not from_screen(prompt):
            # Out of sight, or over: the agent's own files tell which.
            await post(HolderLost(now, prompt.id, "its dialog is not on the screen any more"))
            return False
        matched_call = self._explained(place, again, on) if prompt.state == "open" else None
        if (
            matched_call
            and self._calls
            and self._calls.prompt_of(place.session_id, matched_call.told[0]) == prompt.id
        ):
            # The same call, drawn anew: the window has another size, or the person unfolded it.
            if matched_call.offer.questions == prompt.questions:
                self._bases[prompt.id] = replace(
                    basis, reading=again.reading, screen=again.text, mark=again.mark
                )  # what the person saw is what the hook told, and that has not changed
                return True
            await post(PromptWithdrawn(now, prompt.id, "the screen has changed"))
            self._calls.stands_for(place.session_id, matched_call.told, "")
            return False
        if prompt.state == "open" and self._calls and on.postponed and on.postponed(basis.shot, again):
            await post(PromptWithdrawn(now, prompt.id, "another call is asked for first"))
            self._calls.free(place.session_id, prompt.id)
            return False
        drawing = prompt.state == "open" and prompt.tool is not None and matched_call is None
        if drawing and (again.asks or again.reading.state == "waiting") and self._doubts_for(prompt) < DRAWN_S:
            return True  # it still asks, and shows none of the calls that we know: it may be drawn in pieces
        self._doubts.pop(prompt.id, None)
        await self._closed(prompt, again)
        return False

    def _doubts_for(self, prompt: Prompt) -> float:
        """For how long this dialog could not be made out."""
        now = time.monotonic()
        return now - self._doubts.setdefault(prompt.id, now)

    async def _closed(self, prompt: Prompt, shot: Snapshot) -> None:
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
        on = self._on_screen(prompt.agent)
        recorded = prompt.tool is not None and on is not None and on.recorded
        found = on is not None and on_record(self._teller.state.prompts.get(prompt.id, prompt), on)
        if prompt.state == "open" and not recorded and not found:  # of a call that was told, its record tells more
            detail = f"the dialog closed; the agent is {shot.reading.state}"
            await self._teller.post(CallSettled(now, prompt.id, "unknown", "desk", detail))

    async def _raise(self, place: WatchedPane, look: Look, shot: Snapshot, on: ScreenSpec) -> None:
        session = self._teller.state.sessions.get(place.session_id)
        if session is None:
            return  # it ended while we looked
        matched_call = self._explained(place, shot, on)
        offer = matched_call.offer if matched_call else on.offer(shot)
        given = msgspec.Raw(matched_call.input or b"null") if matched_call else msgspec.Raw(b"null")
        front = in_front(look.pid)
        basis = SeenDialog(place.server, place.pane, front, shot.reading, shot.text, shot.mark, given)
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
            tool=Tool(matched_call.tool) if matched_call else None,
            fingerprint=matched_call.mark
            if matched_call
            else (on.call(shot) if on.call else "") or fingerprint(shot),
            permission_mode=session.permission_mode,
            link="screen",
            answerable=bool(offer.questions),
            resets_at=reset_in(offer.body, time.time()) if offer.limited else 0.0,
        )
        if matched_call and self._calls:
            self._calls.stands_for(place.session_id, matched_call.told, prompt.id)
        await self._teller.post(PromptRaised(prompt.opened_at, prompt), {body_id: request})
        if not session.transcript:
            self.raised()
        away = on.dismiss(shot) if on.dismiss is not None and (place.server, place.pane) in self._started else ""
        if away:
            # A notice of a session that yourcall started: closed in the open, so that the record says by whom.
            choice = {offer.questions[0].id: (away,)}
            answer = Answer(f"{prompt.id}-notice", "yourcall", "notice", choice, author_certainty="yourcall")
            await self._teller.post(AnswerGiven(time.time(), prompt.id, answer))

    # --- sessions that have not told their name -------------------------------------------------------------

    async def _stranger(self, server: str, pane: str, agent: str, pid: int) -> Session:
        leader = leader_in_front(pid)
        began = processes.started(leader)
        now = time.time()
        session = Session(
            id=f"{STRANGER}{leader}-{began}",
            agent=agent,
            cwd=folder(pid),
            links=(Link("pty" if server.endswith(DOOR) else "tmux", pane, server),),
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

    async def _retire(self, place: WatchedPane) -> None:
        """Once a session has told its own id, the one we made up for its pane is not used any more."""
        if place.session_id.startswith(STRANGER):
            return
        for session in list(self._teller.state.sessions.values()):
            here = any((link.server, link.target) == (place.server, place.pane) for link in session.links)
            if here and session.id.startswith(STRANGER):
                await session_ids.follow(self._teller, session, place.session_id)

    async def _lost(self, place: WatchedPane, silent: Gone | None) -> None:
        """No pane, nothing to see; who it belonged to is over, unless it has a process that others look after.

        `silent`: the server itself says nothing, which may pass as long as the program is there.
        """
        why = silent.why if silent is not None else "its pane is closed"
        session = self._teller.state.sessions.get(place.session_id)
        self._seen.pop((place.server, place.pane), None)
        if self._servers.lock(place.server, place.pane).locked():
            return  # somebody is pressing there, and will tell
        lives = silent is not None and session is not None and await _outlives(session)
        if place.session_id.startswith(STRANGER) and not lives:
            await self._teller.post(SessionEnded(time.time(), place.session_id, why))
        elif mine := self._prompt_at(place):
            await self._teller.post(TraceLost(time.time(), mine[0].id, why))

    async def _adopt(self) -> None:
        """After a start: a key may or may not have been pressed before; that is looked at, never repeated."""
        for prompt in list(self._teller.state.prompts.values()):
            if prompt.link in ("screen", "speech") and prompt.state == "answering":
                why = "yourcall was stopped while it pressed keys"
                await self._teller.post(TraceLost(time.time(), prompt.id, why))


async def _outlives(session: Session) -> bool:
    """Its server says nothing: is its program still there when one that was closed would be gone?"""
    end = time.monotonic() + CLOSING_S
    while not (gone := not session.pid or processes.gone(session.pid, session.pid_started)):
        if time.monotonic() > end:
            break
        await asyncio.sleep(0.05)
    return not gone


def _left(session: Session) -> bool:
    """Its server goes on, and the program that showed it in this pane is gone."""
    elsewhere = any(link.kind == "socket" for link in session.links)
    return elsewhere and processes.gone(session.pid, session.pid_started)


def _weight(session: Session) -> tuple[bool, float]:
    return not session.id.startswith(STRANGER), session.seen_at
