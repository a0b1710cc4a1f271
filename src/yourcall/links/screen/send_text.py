"""Speaking to a session in a tmux pane: a message, a key, an interrupt.

Rule: the screen is read first, and nothing is typed into a dialog or over somebody's draft. A message is pasted,
seen in the input box, and only then sent; what was not seen to go is taken back or told as unsure.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.registry import USUAL
from yourcall.agents.screen_spec import KEYS, PreparedText, ScreenSpec, Snapshot, key_named
from yourcall.links.event_sink import EventSink
from yourcall.links.screen.ownership import over_meanwhile
from yourcall.links.screen.servers import Server, Servers, pane_of
from yourcall.links.screen.tmux import Gone, Look
from yourcall.links.screen.typing import UNREAD, Typist
from yourcall.links.screen.watcher import ScreenWatcher
from yourcall.links.terminals import in_pane, line_mode
from yourcall.model.events import (
    AnswerNotWritten,
    AnswerWritten,
    DialogStillOpen,
    HolderConnected,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Prompt, Refused, Verdict
from yourcall.model.sessions import Session
from yourcall.system.tasks import Tasks

LOOK_S = 0.02
SHOWN_S = 3.0  # 100 kB take Claude about a second to draw
TAKEN_S = 3.0
HEARD_S = 4.0  # the hook that tells of a new turn comes within half a second, on a busy machine within two
CLEARING = "\x15\x7f"  # to the start of the line, and up into the line before
MOST_LINES = 60


class OpenPane(Struct, frozen=True):
    """A pane with the session in front, as it looks now."""

    server: Server
    pane: str
    on: ScreenSpec
    shot: Snapshot
    draft: str | None


class TextSender(Typist):
    def __init__(
        self,
        teller: EventSink,
        servers: Servers,
        screens: ScreenWatcher,
        on_screen: Callable[[str], ScreenSpec | None],
    ) -> None:
        super().__init__(teller, servers, screens, on_screen)
        self._told: dict[str, list[str]] = {}  # what sessions say they were told, while we speak to them
        self.tasks = Tasks()

    async def send(
        self,
        session: Session,
        text: str,
        as_command: bool = False,
        written: Callable[[], Awaitable[object]] | None = None,
        over: Callable[[], bool] = lambda: False,
    ) -> Verdict:
        """Give the next instruction, or a follow-up while it works. `as_command`: its `/` or `!` is meant.
        `over`: it is not wanted any more, asked when it is our turn at the pane."""
        on = self._on_screen(session.agent)
        typed = on.typed(text, as_command) if on is not None else Refused("This agent cannot be typed to.")
        if isinstance(typed, Refused):
            return Verdict("refused", typed.reason)

        async def say(scene: OpenPane) -> Verdict:
            if over():
                return Verdict("refused", "It ended meanwhile; nothing was typed.")
            return await self._say(session, scene, typed, as_command, written)

        return await self._in_pane(session, say)

    def heard(self, session_id: str, text: str) -> None:
        """A session's own hook tells what it was told."""
        if text and session_id in self._told:
            self._told[session_id].append(text.strip())

    async def press(self, session: Session, key: str) -> Verdict:
        """Press one special key, outside of dialogs."""
        name = key_named(key)
        if name is None or name.isdecimal():
            known = ", ".join(each for each in KEYS if not each.isdecimal())
            return Verdict("refused", f"There is no key {key[:40]!r} here; there are: {known}.")
        return await self._in_pane(session, lambda scene: _press(scene, name))

    async def interrupt(self, session: Session) -> Verdict:
        """Stop the turn that is running."""
        verdict = await self._in_pane(session, _interrupt)
        now = self._teller.state.sessions.get(session.id)
        if verdict.result == "confirmed" and now is not None and now.state == "working":
            await self._teller.post(SessionSeen(time.time(), replace(now, state="idle")))
        return verdict

    async def watch(self, server: str, pane: str, agent: str = USUAL) -> Session | Refused:
        """Look after this pane, although no hook has told of it: a session that is about to start there."""
        session = await self._screens.watch(server, pane, agent)
        return Refused(f"This pane cannot be looked at: {session.why}.") if isinstance(session, Gone) else session

    async def deliver(self, prompt: Prompt, answer: Answer) -> None:
        """Answer a session that is ready for the next instruction."""
        session = self._teller.state.sessions.get(prompt.session_id)
        text = "\n".join(text for text in answer.texts.values() if text)
        if session is None or not text:
            verdict = Verdict("refused", "The session is gone." if session is None else "Write what to do next.")
        else:
            # Told at once: the session's own word that a turn has begun may come before we have looked again.
            post = self._teller.post
            verdict = await self.send(
                session,
                text,
                False,
                lambda: post(AnswerWritten(time.time(), prompt.id, answer.id)),
                lambda: over_meanwhile(self._teller.state, prompt),
            )
        now = time.time()
        if verdict.result == "unsure":
            await self._teller.post(TraceLost(now, prompt.id, verdict.detail))
        elif verdict.result == "refused":
            # One of these is news: either it was never sent, or it was taken back.
            await self._teller.post(AnswerNotWritten(now, prompt.id, answer.id, verdict.detail))
            await self._teller.post(DialogStillOpen(now, prompt.id))
            await self._teller.post(HolderConnected(now, prompt.id))

    def reaches(self, session_id: str) -> bool:
        """Is there a pane in which this session can be spoken to?"""
        session = self._teller.state.sessions.get(session_id)
        known = session is not None and self._on_screen(session.agent) is not None
        return session is not None and known and pane_of(session) is not None

    async def _in_pane(self, session: Session, act: Callable[[OpenPane], Awaitable[Verdict]]) -> Verdict:
        """To its end, even if whoever asked hangs up: half of it would stand in the box as somebody's draft."""
        return await asyncio.shield(self.tasks.spawn(self._typed(session, act)))

    async def _typed(self, session: Session, act: Callable[[OpenPane], Awaitable[Verdict]]) -> Verdict:
        """Do this in the session's pane, if the session is in front there and no dialog is open."""
        link = pane_of(session)
        on = self._on_screen(session.agent)
        if link is None or on is None:
            why = "This session runs neither in tmux nor by `yourcall run`, so nothing can be typed into it."
            return Verdict("refused", why)
        server = self._servers.at(link.server)
        async with self._servers.lock(link.server, link.target):
            look = await server.look(link.target)
            if isinstance(look, Gone) or look.dead:
                why = look.why if isinstance(look, Gone) else "its program has ended"
                return Verdict("refused", f"Its pane cannot be reached: {why}.")
            if session.pid and in_pane(session.pid, look.pid) is False:
                return Verdict("refused", "Another program has its terminal now; nothing was typed.")
            if on.raw and line_mode(look.pid):
                return Verdict("refused", UNREAD)
            shot = on.read(look.screen)
            if shot.reading.state == "waiting" or self._asks(session.id):
                return Verdict(
                    "refused", "A dialog is open: answer that first. Nothing was typed. See: yourcall ls"
                )
            return await act(OpenPane(server, link.target, on, shot, on.draft(look.screen)))

    def _asks(self, session_id: str) -> bool:
        """A request whose dialog may be about to be drawn. What a subagent asks while it is held has no dialog."""
        return any(
            p.state in ("open", "answering") and p.link in ("hook", "screen") and not (p.subagent and p.answerable)
            for p in self._teller.state.of_session(session_id)
            if p.kind not in ("ready", "problem")
        )

    async def _say(
        self,
        session: Session,
        scene: OpenPane,
        typed: PreparedText,
        as_command: bool,
        written: Callable[[], Awaitable[object]] | None,
    ) -> Verdict:
        if scene.draft is None:
            return Verdict(
                "refused", "Its input box is not on the screen (a menu may be open); nothing was typed."
            )
        if scene.draft:
            return Verdict("refused", "There is a draft in its input box at the desk; nothing was typed.")
        lines = self._told[session.id] = []
        try:
            return await self._paste(session, scene, typed, as_command, written, lines)
        finally:
            del self._told[session.id]

    async def _paste(
        self,
        session: Session,
        scene: OpenPane,
        typed: PreparedText,
        as_command: bool,
        written: Callable[[], Awaitable[object]] | None,
        lines: list[str],
    ) -> Verdict:
        failed = await scene.server.write(scene.pane, typed.paste, bracketed=True)
        if failed is not None:
            return _failed(failed, "The text")
        if not await _until(scene, lambda draft: draft is not None and scene.on.arrived(draft, typed), SHOWN_S):
            return await _take_back(scene, "The input box did not show the text as it was written")
        await asyncio.sleep(scene.on.breath_s)
        failed = await scene.server.write(scene.pane, KEYS["enter"])
        if failed is not None:
            return _failed(failed, "Enter")
        if written is not None:
            await written()

        def taken(draft: str | None) -> bool:
            # A command may open a menu in place of the input box.
            return draft == "" or (as_command and draft is None) or typed.paste.strip() in lines

        queued = scene.shot.reading.state == "working"
        if not await _until(scene, taken, TAKEN_S):
            back = await _take_back(scene, "The agent did not take the text")
            # The box is empty. Enter may have been read late, but before what was to take the text out.
            if back.result == "refused" and (queued or as_command):
                return Verdict("unsure", "The agent was slow to take the text; it may have, or it was taken back.")
            if back.result != "refused" or not await _begins(session, scene, lambda: typed.paste.strip() in lines):
                return back
        words = [
            *(["it is read when the running turn allows"] if queued else []),
            *([typed.note] if typed.note else []),
        ]
        if not queued and not as_command and await _begins(session, scene, lambda: typed.paste.strip() in lines):
            # The hook may be ahead of the screen: whoever speaks next must not find our own text for a draft.
            await _until(scene, lambda draft: draft == "", 1.0)
            return Verdict("confirmed", "; ".join(["the turn has begun", *words]))
        return Verdict("sent", "; ".join(words))


async def _begins(session: Session, scene: OpenPane, heard: Callable[[], bool]) -> bool:
    """Does the session's own hook tell that a turn began with this text? If it has none, its screen does."""
    hooked = any(link.kind == "hook" for link in session.links)
    deadline = time.monotonic() + HEARD_S
    while time.monotonic() < deadline:
        if heard():
            return True
        look = None if hooked else await scene.server.look(scene.pane)
        if isinstance(look, Look) and scene.on.read(look.screen).reading.state == "working":
            return True
        await asyncio.sleep(LOOK_S)
    return False


async def _press(scene: OpenPane, key: str) -> Verdict:
    if scene.draft:
        return Verdict("refused", "There is a draft in its input box at the desk; nothing was pressed.")
    harm = scene.on.harm(key) if scene.on.harm is not None and scene.draft == "" else ""
    if harm:
        return Verdict("refused", f"{harm} Nothing was pressed.")
    failed = await scene.server.write(scene.pane, KEYS[key])
    if failed is not None:
        return _failed(failed, "The key")
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        look = await scene.server.look(scene.pane)
        if isinstance(look, Gone) or scene.on.read(look.screen).text != scene.shot.text:
            return Verdict("sent", "the screen has changed")
        await asyncio.sleep(LOOK_S)
    return Verdict("sent", "the screen did not change")


async def _interrupt(scene: OpenPane) -> Verdict:
    if scene.shot.reading.state != "working":
        return Verdict("refused", "Nothing is running; nothing was pressed.")
    if scene.draft:
        return Verdict("refused", "There is a draft in its input box at the desk; nothing was pressed.")
    failed = await scene.server.write(scene.pane, KEYS["escape"])
    if failed is not None:
        return _failed(failed, "Escape")
    deadline = time.monotonic() + TAKEN_S
    while time.monotonic() < deadline:
        look = await scene.server.look(scene.pane)
        if not isinstance(look, Gone) and scene.on.read(look.screen).reading.state in ("idle", "error"):
            return Verdict("confirmed", "the turn was stopped")
        await asyncio.sleep(LOOK_S)
    return Verdict("unsure", "Escape was pressed, but the session still looks busy.")


async def _until(scene: OpenPane, wanted: Callable[[str | None], bool], patience: float) -> bool:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        look = await scene.server.look(scene.pane)
        if not isinstance(look, Gone) and wanted(scene.on.draft(look.screen)):
            return True
        await asyncio.sleep(LOOK_S)
    return False


async def _take_back(scene: OpenPane, why: str) -> Verdict:
    """What we put into an empty input box is taken out again; each step is looked at."""
    for _ in range(MOST_LINES):
        look = await scene.server.look(scene.pane)
        if isinstance(look, Gone) or scene.on.read(look.screen).reading.state == "waiting":
            break
        draft = scene.on.draft(look.screen)
        if draft == "":
            return Verdict("refused", f"{why}; it was taken back and not sent.")
        if draft is None or await scene.server.write(scene.pane, CLEARING) is not None:
            break
        await _until(scene, lambda now, before=draft: now != before, 0.5)
    return Verdict("unsure", f"{why}; a part of it may still be in the input box.")


def _failed(failed: Gone, what: str) -> Verdict:
    if failed.unsure:
        return Verdict("unsure", f"{what} was sent, but {failed.why}.")
    return Verdict("refused", f"{what} could not be sent: {failed.why}.")
