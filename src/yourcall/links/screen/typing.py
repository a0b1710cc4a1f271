"""An answer carried to a dialog on a screen, by keys: look, compare with what the person saw, one key, look again.

Rule: never a key "to be sure". Each key has its own look right before it and its own look after it; what cannot be
seen to have worked is told as such, and the prompt comes back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from yourcall.agents.screen_spec import KEYS, Press, ScreenSpec, Snapshot
from yourcall.core.safety import chosen
from yourcall.links.event_sink import EventSink
from yourcall.links.presence import HANDS_S, hands_on
from yourcall.links.screen.ownership import (
    SeenDialog,
    agent_pid_of,
    fingerprint,
    on_record,
    over_meanwhile,
    told_elsewhere,
)
from yourcall.links.screen.servers import Server, Servers
from yourcall.links.screen.tmux import Gone
from yourcall.links.screen.watcher import ScreenWatcher
from yourcall.links.terminals import busy, in_front, unread_keys
from yourcall.model.events import (
    AnswerNotWritten,
    AnswerWritten,
    CallSettled,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    TraceLost,
)
from yourcall.model.prompts import Answer, Effect, Outcome, Prompt, Refused

MOST_KEYS = 20  # no dialog has more rows than this; a highlight that runs in circles is not chased
PATIENCE_S = 3.0  # Claude needs 0.1 s, and on a busy machine nearly one; only then is a key called without effect
UNREAD_S = 15.0  # a key that lies unread for so long is left to the next looks; the pane is not kept locked for it
LOOK_S = 0.01  # Claude needs 50 ms and more from one dialog to the next: in between this sees that it was gone
AGAIN_S = 0.03
# A command that is over is in Codex's record within a tenth of a second; with others of the same message, when all
# of them are.
RECORD_S = 3.0
STANDS_S = 1.0  # a program that starts draws a page before it reads keys: one sent at once may be swallowed
UNREAD = "The agent isn't reading its terminal right now; nothing was pressed."
BY_A_PERSON = frozenset({"trust", "startup", "unknown"})
ONLY_A_PERSON = "Only a person decides this; no rule ever does."

OUTCOMES: dict[Effect, Outcome] = {"deny": "denied", "stop": "stopped"}


class Typist:
    """What everything has that types into a pane: where panes are, what they show, and whom to tell."""

    def __init__(
        self,
        teller: EventSink,
        servers: Servers,
        screens: ScreenWatcher,
        on_screen: Callable[[str], ScreenSpec | None],
    ) -> None:
        self._teller = teller
        self._servers = servers
        self._screens = screens
        self._on_screen = on_screen

    async def _refuse(self, prompt: Prompt, answer: Answer, why: str) -> None:
        await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer.id, why))


class Keyboard(Typist):
    """Presses the keys of answers."""

    async def deliver(self, prompt: Prompt, answer: Answer) -> None:
        """Carry this answer, and tell how that went."""
        basis, on = self._screens.basis(prompt), self._on_screen(prompt.agent)
        options = chosen(prompt, answer)
        if basis is None or on is None or len(options) != 1:
            await self._refuse(
                prompt, answer, "yourcall no longer knows what was on the screen; answer it at the desk."
            )
            return
        if answer.via == "rule" and prompt.kind in BY_A_PERSON:
            await self._refuse(prompt, answer, ONLY_A_PERSON)
            return
        if prompt.kind in BY_A_PERSON:  # a person takes longer; only a script could be so quick
            await asyncio.sleep(max(0.0, min(STANDS_S, prompt.opened_at + STANDS_S - time.time())))
        async with self._servers.lock(basis.server, basis.pane):
            await self._press(prompt, answer, basis, on, options[0].id, options[0].effect)

    async def _written(self, prompt: Prompt, answer: Answer, server: Server, pane: str, step: Press) -> bool:
        failed = await server.write(pane, KEYS[step.key])
        if failed is not None and failed.unsure:
            await self._teller.post(TraceLost(time.time(), prompt.id, f"a key was sent, but {failed.why}"))
        elif failed is not None:
            await self._refuse(prompt, answer, f"The key could not be sent: {failed.why}.")
        return failed is None

    async def _press(
        self, prompt: Prompt, answer: Answer, basis: SeenDialog, on: ScreenSpec, option: str, effect: Effect
    ) -> None:
        server = self._servers.at(basis.server)
        for _ in range(MOST_KEYS):
            now = await self._next(prompt, basis, on, option)
            if isinstance(now, Refused):
                await self._refuse(prompt, answer, now.reason)
                return
            press, shot = now
            pressed_at = time.time()
            if not await self._written(prompt, answer, server, basis.pane, press):
                return
            if press.decides:
                await self._teller.post(AnswerWritten(time.time(), prompt.id, answer.id))
                await self._see(prompt, basis, on, effect, pressed_at, shot, press.key)
                return
            if not await self._moved(server, basis.pane, on, shot):
                await self._refuse(prompt, answer, "The key had no effect; nothing was chosen.")
                return
        await self._refuse(prompt, answer, "The highlight did not come to the option; nothing was chosen.")

    async def _next(
        self, prompt: Prompt, basis: SeenDialog, on: ScreenSpec, option: str
    ) -> tuple[Press, Snapshot] | Refused:
        deadline = time.monotonic() + HANDS_S
        server, agent_pid = self._servers.at(basis.server), agent_pid_of(self._teller.state, prompt)
        unread = False
        while time.monotonic() < deadline:
            typing = await hands_on(server, basis.pane, prompt.opened_at)
            unread = await keys_unread(server, basis.pane, agent_pid)
            shot = await self._looked(prompt, basis, on)
            if isinstance(shot, Refused):
                return shot
            press = on.next_key(basis.shot, shot, option)
            if isinstance(press, Refused):
                return press
            if not typing and not unread:
                return press, shot
            await asyncio.sleep(AGAIN_S)
        if unread:
            return Refused(UNREAD)
        return Refused("Somebody is typing there, at the desk; nothing was pressed.")

    async def _looked(self, prompt: Prompt, basis: SeenDialog, on: ScreenSpec) -> Snapshot | Refused:
        """The look right before a key."""
        look = await self._servers.at(basis.server).look(basis.pane)
        if isinstance(look, Gone) or look.dead:
            return Refused("Its pane is gone; nothing was pressed.")
        if in_front(look.pid) != basis.front:
            return Refused("Another program has the terminal now; nothing was pressed.")
        if over_meanwhile(self._teller.state, prompt):
            return Refused("It ended meanwhile; nothing was pressed.")
        if told_elsewhere(self._teller.state, prompt, prompt.session_id):
            return Refused(
                "The agent has raised this itself in the meantime: answer that prompt. Nothing was pressed."
            )
        return on.read(look.screen)

    async def _moved(self, server: Server, pane: str, on: ScreenSpec, before: Snapshot) -> bool:
        """Has the highlight moved, within a moment? Whether to the right place is the next look's matter."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            look = await server.look(pane)
            if isinstance(look, Gone) or on.read(look.screen).reading.selected != before.reading.selected:
                return True
            await asyncio.sleep(LOOK_S)
        return False

    async def _see(
        self,
        prompt: Prompt,
        basis: SeenDialog,
        on: ScreenSpec,
        effect: Effect,
        pressed_at: float,
        before: Snapshot,
        key: str,
    ) -> None:
        """The look after the deciding key; `before` is the page it was pressed on."""
        post = self._teller.post
        server, agent_pid = self._servers.at(basis.server), agent_pid_of(self._teller.state, prompt)
        gone = await dialog_gone(server, basis, on, before, agent_pid)
        if gone is None:
            return  # the agent has not read it yet: it stays sent, and the screen is looked at later
        if not gone:
            now = time.time()
            await post(DialogStillOpen(now, prompt.id))
            await post(HolderConnected(now, prompt.id))
            return
        stopped = effect == "stop"
        await post(DialogClosed(time.time(), prompt.id, "idle" if stopped else "busy"))
        draft = await self._draft(basis, on)
        if key.isdecimal() and draft == key:
            detail = "the dialog was closed by something else; the key now lies in the input box"
            await post(CallSettled(time.time(), prompt.id, "unknown", "desk", detail))
            return
        if key.isdecimal() and draft.endswith(key):
            return  # the end of somebody's own draft, or our key behind it
        if await self._on_record(prompt, on):
            return  # its record tells soon, and tells it even of a key that came from the desk at the same moment
        typed_at = await self._servers.at(basis.server).last_typed(basis.pane)
        if not isinstance(typed_at, int) or typed_at >= int(pressed_at):
            return  # somebody typed there in that very second, or nobody can tell: it may have been their key
        outcome = OUTCOMES.get(effect, "allowed")
        await post(CallSettled(time.time(), prompt.id, outcome, "held", "the dialog closed at this key"))

    async def _on_record(self, prompt: Prompt, on: ScreenSpec) -> bool:
        """Does its own record tell, or will it surely? What was merely found there may be written late."""
        if on_record(prompt, on) and on.recorded:
            return True
        deadline = time.monotonic() + RECORD_S
        while time.monotonic() < deadline:
            now = self._teller.state.prompts.get(prompt.id)
            if now is None or now.state != "accepted":
                return True
            if not on_record(now, on):
                return False
            await asyncio.sleep(AGAIN_S)
        return False

    async def _draft(self, basis: SeenDialog, on: ScreenSpec) -> str:
        """What is in the input box now: a key that came too late has become a letter there."""
        look = await self._servers.at(basis.server).look(basis.pane)
        return "" if isinstance(look, Gone) else on.draft(look.screen) or ""


async def dialog_gone(
    server: Server, basis: SeenDialog, on: ScreenSpec, before: Snapshot, agent_pid: int
) -> bool | None:
    """Is the dialog gone, seen twice? A screen is drawn in pieces, and a look may fall between two of them.
    None: nobody can say, because the agent has not read the key yet."""
    began = time.monotonic()
    deadline = began + PATIENCE_S
    known = fingerprint(before)
    times = 0
    while (now := time.monotonic()) < began + UNREAD_S:
        look = await server.look(basis.pane)
        # An agent that leaves may leave its dialog on the screen.
        if isinstance(look, Gone) or look.dead or in_front(look.pid) != basis.front:
            return True
        times = times + 1 if fingerprint(on.read(look.screen)) != known else 0
        if times == 2:
            return True
        if unread_keys(look.pid, agent_pid):
            deadline = now + PATIENCE_S
        elif now >= deadline and not busy(agent_pid):
            return False
        await asyncio.sleep(AGAIN_S if times else LOOK_S)
    return None


async def keys_unread(server: Server, pane: str, agent_pid: int) -> bool:
    """Do other keys lie there unread? What the screen shows is then not what a key of ours would meet."""
    look = await server.look(pane)
    return not isinstance(look, Gone) and unread_keys(look.pid, agent_pid)
