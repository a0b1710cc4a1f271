"""An answer that takes several keys: the agent's own module names each step for a fresh look at the screen.

Rule: look, one key or one paste, look again; between two steps the dialog must still be there, and what is on the
screen must have changed. Whatever goes wrong in between is told as what it is: some of it may be in the dialog.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from yourcall.agents.on_screen import KEYS, OnScreen, Paste, Press, Shot
from yourcall.core.safety import chosen
from yourcall.events import (
    AnswerNotWritten,
    AnswerWritten,
    CallSettled,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    TraceLost,
)
from yourcall.links.foreground import in_front
from yourcall.links.screens import Basis, Screens, Teller, fingerprint
from yourcall.links.tmux import Gone, Servers, Tmux
from yourcall.model import Answer, Outcome, Prompt, Refused

MOST_STEPS = 120  # four questions, each walked through twice
SHOWN_S = 3.0  # so long may a key take to be seen on a busy machine
CALM_S = 0.15  # a screen that has not changed for this long is drawn whole
LOOK_S = 0.02
FILLED = frozenset({"question", "plan", "ready"})


class Filling:
    """Fills in dialogs step by step."""

    def __init__(
        self, teller: Teller, servers: Servers, screens: Screens, on_screen: Callable[[str], OnScreen | None]
    ) -> None:
        self._teller = teller
        self._servers = servers
        self._screens = screens
        self._on_screen = on_screen

    def takes(self, prompt: Prompt) -> bool:
        """Is this a dialog whose answers may take several keys?"""
        on = self._on_screen(prompt.agent)
        return on is not None and on.fill is not None and prompt.kind in FILLED

    async def deliver(self, prompt: Prompt, answer: Answer) -> None:
        basis, on = self._screens.basis(prompt), self._on_screen(prompt.agent)
        if basis is None or on is None or on.fill is None:
            await self._refuse(
                prompt, answer, "What was on the screen is not known any more; answer it at the desk."
            )
            return
        async with self._servers.lock(basis.server, basis.pane):
            why = await self._fill(prompt, answer, basis, on)
        if why is not None:
            await self._refuse(prompt, answer, why.reason)

    async def _fill(self, prompt: Prompt, answer: Answer, basis: Basis, on: OnScreen) -> Refused | None:
        if on.fill is None:
            return None
        server = self._servers.at(basis.server)
        steps = on.fill(prompt, answer)
        next(steps)
        shot = await self._look(server, basis, on)
        if isinstance(shot, Refused):
            return shot
        if fingerprint(shot) != fingerprint(basis.shot):
            return Refused("The screen shows another dialog than the one you saw; nothing was pressed.")
        for _ in range(MOST_STEPS):
            try:
                step = steps.send(shot)
            except StopIteration as end:
                why: Refused | None = end.value
                return why or Refused("The dialog was filled in, but not sent; see to it at the desk.")
            if step is None:
                continue
            pressed_at = time.time()
            failed = await self._do(server, basis.pane, step)
            if failed is not None and failed.unsure:
                await self._teller.post(TraceLost(time.time(), prompt.id, f"a key was sent, but {failed.why}"))
                return None
            if failed is not None:
                return Refused(f"The key could not be sent: {failed.why}.")
            if isinstance(step, Press) and step.decides:
                await self._teller.post(AnswerWritten(time.time(), prompt.id, answer.id))
                await self._see(prompt, answer, basis, on, pressed_at)
                return None
            before = shot
            shot = await self._changed(server, basis, on, before)
            if isinstance(shot, Refused):
                return shot
        return Refused("It took too many keys; see to it at the desk.")

    async def _do(self, server: Tmux, pane: str, step: Press | Paste) -> Gone | None:
        if isinstance(step, Paste):
            return await server.write(pane, step.text, bracketed=True)
        return await server.write(pane, KEYS[step.key])

    async def _look(self, server: Tmux, basis: Basis, on: OnScreen) -> Shot | Refused:
        look = await server.look(basis.pane)
        if isinstance(look, Gone) or look.dead:
            return Refused("Its pane is gone; nothing more was pressed.")
        if in_front(look.pid) != basis.front:
            return Refused("Another program has the terminal now; nothing more was pressed.")
        return on.read(look.screen)

    async def _changed(self, server: Tmux, basis: Basis, on: OnScreen, before: Shot) -> Shot | Refused:
        """The screen after a key, once it is another one and stands still."""
        deadline = time.monotonic() + SHOWN_S
        last, since = before, 0.0
        while time.monotonic() < deadline:
            now = await self._look(server, basis, on)
            if isinstance(now, Refused):
                return now
            if now != last:
                last, since = now, time.monotonic()
            elif last != before and time.monotonic() - since >= CALM_S:
                return last
            await asyncio.sleep(LOOK_S)
        return Refused("A key had no effect; nothing more was pressed. See to it at the desk.")

    async def _see(self, prompt: Prompt, answer: Answer, basis: Basis, on: OnScreen, pressed_at: float) -> None:
        """The look after the key that sends it all."""
        post, server = self._teller.post, self._servers.at(basis.server)
        deadline, times = time.monotonic() + SHOWN_S, 0
        while time.monotonic() < deadline and times < 2:
            now = await self._look(server, basis, on)
            gone = isinstance(now, Refused) or fingerprint(now) != fingerprint(basis.shot)
            times = times + 1 if gone else 0
            await asyncio.sleep(LOOK_S)
        at = time.time()
        if times < 2:
            await post(DialogStillOpen(at, prompt.id))
            await post(HolderConnected(at, prompt.id))
            return
        await post(DialogClosed(at, prompt.id, "busy"))
        if prompt.tool is not None:
            return  # its record tells soon, and tells it even of a key that came from the desk at the same moment
        typed_at = await server.last_typed(basis.pane)
        if isinstance(typed_at, int) and typed_at < int(pressed_at):
            refuses = any(option.effect == "deny" for option in chosen(prompt, answer))
            outcome: Outcome = "denied" if refuses else "allowed"
            await post(CallSettled(at, prompt.id, outcome, "held", "the dialog closed at this key"))

    async def _refuse(self, prompt: Prompt, answer: Answer, why: str) -> None:
        await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer.id, why))
