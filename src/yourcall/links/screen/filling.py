"""An answer that takes several keys: the agent's own module names each step for a fresh look at the screen.

Rule: look, one key or one paste, look again; between two steps the dialog must still be there, and what is on the
screen must have changed. Whatever goes wrong in between is told as what it is: some of it may be in the dialog.
"""

from __future__ import annotations

import asyncio
import time

from yourcall.agents.screen_spec import KEYS, Paste, Press, ScreenSpec, Snapshot
from yourcall.core.safety import chosen
from yourcall.links.presence import HANDS_S, hands_on
from yourcall.links.screen.ownership import SeenDialog, agent_pid_of, fingerprint, over_meanwhile, told_elsewhere
from yourcall.links.screen.servers import Server
from yourcall.links.screen.tmux import Gone
from yourcall.links.screen.typing import BY_A_PERSON, ONLY_A_PERSON, UNREAD, Typist, dialog_gone, keys_unread
from yourcall.links.terminals import in_front, line_mode
from yourcall.model.events import (
    AnswerWritten,
    CallSettled,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    TraceLost,
)
from yourcall.model.prompts import Answer, Outcome, Prompt, Refused

LONGEST_S = 120.0  # a form has fifty fields at most, and each takes a few keys
SHOWN_S = 3.0  # so long may a key take to be seen on a busy machine
CALM_S = 0.15  # a screen that has not changed for this long is drawn whole
LOOK_S = 0.02


class DialogFiller(Typist):
    """Fills in dialogs step by step."""

    def takes(self, prompt: Prompt, answer: Answer) -> bool:
        """Is this a dialog whose answers may take several keys, or an answer with words in it?"""
        on = self._on_screen(prompt.agent)
        if on is None or on.fill is None:
            return False
        return prompt.kind in on.filled or any(answer.texts.values())

    async def deliver(self, prompt: Prompt, answer: Answer) -> None:
        basis, on = self._screens.basis(prompt), self._on_screen(prompt.agent)
        if basis is None or on is None or on.fill is None:
            await self._refuse(
                prompt, answer, "yourcall no longer knows what was on the screen; answer it at the desk."
            )
            return
        if answer.via == "rule" and prompt.kind in BY_A_PERSON:
            await self._refuse(prompt, answer, ONLY_A_PERSON)
            return
        async with self._servers.lock(basis.server, basis.pane):
            why = await self._fill(prompt, answer, basis, on)
        if why is not None:
            await self._refuse(prompt, answer, why.reason)

    async def _fill(self, prompt: Prompt, answer: Answer, basis: SeenDialog, on: ScreenSpec) -> Refused | None:
        if on.fill is None:
            return None
        if told_elsewhere(self._teller.state, prompt, prompt.session_id):
            return Refused(
                "The agent has raised this itself in the meantime: answer that prompt. Nothing was pressed."
            )
        server = self._servers.at(basis.server)
        steps = on.fill(prompt, answer)
        next(steps)
        rested, agent_pid = time.monotonic() + HANDS_S, agent_pid_of(self._teller.state, prompt)
        while await hands_on(server, basis.pane, prompt.opened_at):
            if time.monotonic() > rested:
                return Refused("Somebody is typing there, at the desk; nothing was pressed.")
            await asyncio.sleep(LOOK_S)
        while await keys_unread(server, basis.pane, agent_pid):
            if time.monotonic() > rested:
                return Refused(UNREAD)
            await asyncio.sleep(LOOK_S)
        began = time.time()
        shot = await self._look(server, basis, on)
        if isinstance(shot, Refused):
            return shot
        if fingerprint(shot) != fingerprint(basis.shot):
            return Refused("The screen shows another dialog than the one you saw; nothing was pressed.")
        deadline = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline:
            try:
                step = steps.send(shot)
            except StopIteration as end:
                why: Refused | None = end.value
                return why or Refused("The dialog was filled in, but not sent; finish it at the desk.")
            if step is None:
                await asyncio.sleep(LOOK_S)
                shot = await self._look(server, basis, on)
                if isinstance(shot, Refused):
                    return shot
                continue
            if over_meanwhile(self._teller.state, prompt):
                return Refused("It ended meanwhile; nothing more was pressed.")
            if await hands_on(server, basis.pane, began):
                return Refused("Somebody is typing there, at the desk; nothing more was pressed.")
            pressed_at = time.time()
            failed = await self._do(server, basis.pane, step)
            if failed is not None and failed.unsure:
                await self._teller.post(TraceLost(time.time(), prompt.id, f"a key was sent, but {failed.why}"))
                return None
            if failed is not None:
                return Refused(f"The key could not be sent: {failed.why}.")
            if isinstance(step, Press) and step.decides:
                await self._teller.post(AnswerWritten(time.time(), prompt.id, answer.id))
                await self._see(prompt, answer, basis, on, pressed_at, shot)
                return None
            before = shot
            shot = await self._changed(server, basis, on, before)
            if isinstance(shot, Refused):
                return shot
        return Refused("It took too long; finish it at the desk.")

    async def _do(self, server: Server, pane: str, step: Press | Paste) -> Gone | None:
        if isinstance(step, Paste):
            return await server.write(pane, step.text, bracketed=True)
        return await server.write(pane, KEYS[step.key])

    async def _look(self, server: Server, basis: SeenDialog, on: ScreenSpec) -> Snapshot | Refused:
        look = await server.look(basis.pane)
        if isinstance(look, Gone) or look.dead:
            return Refused("Its pane is gone; nothing more was pressed.")
        if in_front(look.pid) != basis.front:
            return Refused("Another program has the terminal now; nothing more was pressed.")
        if on.raw and line_mode(look.pid):
            return Refused(UNREAD)
        return on.read(look.screen)

    async def _changed(
        self, server: Server, basis: SeenDialog, on: ScreenSpec, before: Snapshot
    ) -> Snapshot | Refused:
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

    async def _see(
        self,
        prompt: Prompt,
        answer: Answer,
        basis: SeenDialog,
        on: ScreenSpec,
        pressed_at: float,
        before: Snapshot,
    ) -> None:
        """The look after the key that sends it all; `before` is the page on which it was pressed."""
        post, server = self._teller.post, self._servers.at(basis.server)
        gone = await dialog_gone(server, basis, on, before, agent_pid_of(self._teller.state, prompt))
        if gone is None:
            return  # the agent has not read it yet: it stays sent, and the screen is looked at later
        at = time.time()
        if not gone:
            await post(DialogStillOpen(at, prompt.id))
            await post(HolderConnected(at, prompt.id))
            return
        effects = {option.effect for option in chosen(prompt, answer)}
        outcome: Outcome = "stopped" if "stop" in effects else "denied" if "deny" in effects else "allowed"
        await post(DialogClosed(at, prompt.id, "idle" if outcome == "stopped" else "busy"))
        if prompt.tool is not None:
            return  # its record tells soon, and tells it even of a key that came from the desk at the same moment
        typed_at = await server.last_typed(basis.pane)
        if isinstance(typed_at, int) and typed_at < int(pressed_at):
            await post(CallSettled(at, prompt.id, outcome, "held", "the dialog closed at this key"))
