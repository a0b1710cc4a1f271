"""What the inbox knows: the queue, where the person is in it, and what was begun, pressed and said there.

Rule: the place in the queue is a prompt, never a number: whatever comes or goes, it stays. A key answers only what
has stood on the screen unchanged for a second before the key went down, and not within a second after another
answering key, taken or not. What changed by itself is asked for anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from yourcall.cli.inbox.card import OVER
from yourcall.cli.inbox.form import Draft, Ready
from yourcall.cli.panes import Pane
from yourcall.cli.views import Prompt, Result, Session
from yourcall.core.queue_order import in_order
from yourcall.core.taps import STILL_S

TOO_NEW = "Not taken: this has been on the screen for less than a second. Look at it, and press again."
TOO_QUICK = "Not taken: it came within a second of another key. Press it once more."

_NOT_TAKEN = {"refused": "Refused", "too_late": "Too late", "bounced": "Not delivered", "unsure": "Unsure"}


class InboxState:
    def __init__(self, first: str) -> None:
        self.prompts: dict[str, Prompt] = {}
        self.sessions: dict[str, Session] = {}
        self.pressed: dict[str, str] = {}  # prompt -> the label of the answer given here
        self.notes: dict[str, str] = {}
        self.at = first
        self.armed: tuple[str, Ready] | None = None
        self.heard = False
        self._drafts: dict[str, Draft] = {}
        self._face: object = None
        self._shown_at = math.inf
        self._keys = (-math.inf, -math.inf)

    # -- what is asked of it

    def order(self) -> list[Prompt]:
        shown = [p for p in self.prompts.values() if p.state not in OVER or p.id == self.at]
        return in_order(shown)

    def here(self) -> Prompt | None:
        return self.prompts.get(self.at)

    def answerable(self) -> Prompt | None:
        """The prompt here, if it takes an answer from here now."""
        prompt = self.here()
        if prompt is None or prompt.state != "open" or not prompt.held or prompt.id in self.pressed:
            return None
        return prompt

    # -- since when it stands on the screen

    def face(self) -> object:
        """All that a key answers to; another one when there is something else to read first."""
        prompt = self.here()
        if prompt is None:
            return None
        asked = (prompt.id, prompt.state, prompt.held, prompt.hold, prompt.title, prompt.body, prompt.tool)
        armed = self.armed[1].label if self.armed is not None else ""
        return (*asked, prompt.questions, self.draft(prompt).at, prompt.id in self.pressed, armed)

    def drawn(self) -> object:
        """It is about to be painted; the face to say to `painted` then."""
        face = self.face()
        if face != self._face:
            self._face, self._shown_at = face, math.inf
        return face

    def painted(self, face: object, at: float) -> None:
        """It is on the screen now."""
        if face == self._face and self._shown_at == math.inf:
            self._shown_at = at

    def uncovered(self, at: float) -> None:
        """Something else was in front of it until now."""
        if self._shown_at < at:
            self._shown_at = at

    def key_down(self, at: float) -> None:
        """A key that answers where there is something to answer."""
        self._keys = (self._keys[1], at)

    def too_early(self, *, marks: bool = False) -> str:
        """Why the key that went down last answers nothing; empty if it counts. `marks`: it only sets a box."""
        before, at = self._keys
        if self.face() != self._face or at - self._shown_at < STILL_S:
            return TOO_NEW
        return TOO_QUICK if not marks and at - before < STILL_S else ""

    def draft(self, prompt: Prompt) -> Draft:
        return self._drafts.setdefault(prompt.id, Draft())

    def beside(self, by: int) -> str:
        """The id of the prompt so many places further, or of the last in that direction; empty without any."""
        order = self.order()
        place = next((n for n, p in enumerate(order) if p.id == self.at), 0)
        return order[min(max(place + by, 0), len(order) - 1)].id if order else ""

    def following(self) -> str:
        """The first that still waits, besides this one; empty if none does."""
        return next((p.id for p in self.order() if p.id != self.at and p.state == "open"), "")

    def pane_of(self, prompt: Prompt) -> Pane | None:
        session = self.sessions.get(prompt.session_id)
        links = [link for link in session.links if link.kind == "tmux"] if session is not None else []
        return Pane(links[0].server, links[0].target) if links else None

    # -- what it is told

    def whole(self, prompts: Iterable[Prompt], sessions: Iterable[Session]) -> None:
        self.heard = True
        mine = self.here()
        self.prompts = {prompt.id: prompt for prompt in prompts}
        self.sessions = {session.id: session for session in sessions}
        if mine is not None and self.at not in self.prompts:
            self.prompts[self.at] = mine  # it stays to be read; how it ended comes with the feed
        self._settle()

    def came(self, new: Prompt) -> None:
        old = self.prompts.get(new.id)
        if old is None and new.state in OVER:
            return
        self.prompts[new.id] = new
        if old is not None and (old.questions, old.tool, old.body) != (new.questions, new.tool, new.body):
            self._drafts.pop(new.id, None)
            self._unsettled(new.id)
        if new.state == "open" and old is not None and old.state != "open":
            self.pressed.pop(new.id, None)  # it came back
            self._unsettled(new.id)
        if new.state != "open" and self.armed is not None and self.armed[0] == new.id:
            self.armed = None
        if new.state in OVER and new.id != self.at:
            self._forget(new.id)
        self._settle()

    def told(self, prompt_id: str, result: Result) -> None:
        """What became of an answer that was given here."""
        if result.result in _NOT_TAKEN:
            self.pressed.pop(prompt_id, None)
            self.notes[prompt_id] = f"{_NOT_TAKEN[result.result]}: {result.detail}"
        known = self.prompts.get(prompt_id)
        if known is not None and result.prompt is not None and len(result.prompt.history) > len(known.history):
            self.prompts[prompt_id] = result.prompt
        self._settle()

    def select(self, prompt_id: str) -> bool:
        """Look at another one, or at none; what was left behind and is over leaves the queue."""
        if prompt_id == self.at or (prompt_id and prompt_id not in self.prompts):
            return False
        left = self.here()
        self.at, self.armed = prompt_id, None
        if left is not None and left.state in OVER:
            self._forget(left.id)
        return True

    def _unsettled(self, prompt_id: str) -> None:
        """What is under the person's finger changed by itself."""
        if prompt_id == self.at:
            self.armed = None

    def _settle(self) -> None:
        order = self.order()
        if self.here() is None and order:
            self.at = order[0].id
            self._unsettled(self.at)

    def _forget(self, prompt_id: str) -> None:
        for book in (self.prompts, self._drafts, self.pressed, self.notes):
            book.pop(prompt_id, None)
