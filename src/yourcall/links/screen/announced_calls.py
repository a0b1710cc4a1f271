"""What hooks told of dialogs that only the screen can answer, kept until the screen shows them.

Rule: a call is for one prompt. What was told and is on no screen that we can read is raised all the same, to be
answered at the desk: never silently lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.sightings import AnnouncedCall
from yourcall.links.event_sink import EventSink
from yourcall.model.events import PromptRaised

# A turn has some calls, not hundreds at once; what is older belongs to dialogs that are long over.
MOST_CALLS = 64
# A dialog is drawn within half a second of its hook, on a busy machine within three.
UNSEEN_S = 6.0


class _Call(Struct):
    told: AnnouncedCall
    heard_at: float
    prompt_id: str = ""


class AnnouncedCalls:
    """The calls of all sessions that hooks told of."""

    def __init__(self, teller: EventSink, reaches: Callable[[str], bool]) -> None:
        self._teller = teller
        self._reaches = reaches
        self._calls: dict[str, list[_Call]] = {}

    async def heard(self, session_id: str, told: AnnouncedCall) -> None:
        calls = self._calls.setdefault(session_id, [])
        calls.append(_Call(told, time.monotonic()))
        del calls[:-MOST_CALLS]
        if told.asked and not self._reaches(session_id):
            await self._raise(session_id, calls[-1], "")

    def new_turn(self, session_id: str, at: float) -> None:
        """What was told before is over."""
        calls = [call for call in self._calls.get(session_id, []) if call.told.at >= at]
        self._calls[session_id] = calls

    def of(self, session_id: str) -> Sequence[AnnouncedCall]:
        """What may still be meant: what no prompt stands for, or one that is open."""
        return [call.told for call in self._calls.get(session_id, []) if self._free(call)]

    def _free(self, call: _Call) -> bool:
        if not call.prompt_id:
            return True
        prompt = self._teller.state.prompts.get(call.prompt_id)
        return prompt is not None and prompt.state == "open"

    def prompt_of(self, session_id: str, told_id: str) -> str:
        """The prompt that stands for this call, if one does."""
        calls = (call for call in self._calls.get(session_id, []) if call.told.id == told_id)
        return next((call.prompt_id for call in calls), "")

    def stands_for(self, session_id: str, told_ids: Sequence[str], prompt_id: str) -> None:
        for call in self._calls.get(session_id, []):
            if call.told.id in told_ids:
                call.prompt_id = prompt_id

    def free(self, session_id: str, prompt_id: str) -> None:
        """That prompt does not stand for its call any more: it is asked for later."""
        for call in self._calls.get(session_id, []):
            if call.prompt_id == prompt_id:
                call.prompt_id = ""

    def alone(self, session_id: str) -> bool:
        """Is there only one call that may be asked for?"""
        return sum(not told.asked for told in self.of(session_id)) <= 1

    async def look_for_lost(self) -> None:
        """Dialogs that hooks told of some time ago, and that no screen has shown."""
        now = time.monotonic()
        for session_id in [each for each in self._calls if each not in self._teller.state.sessions]:
            del self._calls[session_id]
        for session_id, calls in list(self._calls.items()):
            waiting = any(p.kind not in ("ready", "problem") for p in self._teller.state.of_session(session_id))
            for call in calls:
                late = call.told.asked and not call.prompt_id and now - call.heard_at > UNSEEN_S
                if late and not waiting:
                    await self._raise(session_id, call, "Its dialog could not be found on the screen.")
                    break  # the others of a queue are shown one by one

    async def _raise(self, session_id: str, call: _Call, why: str) -> None:
        calls = self._calls.get(session_id, [])
        prompt = call.told.prompt
        behind = [each for each in calls if not each.told.asked and not each.prompt_id]
        same = [each for each in behind if each.told.prompt.kind == prompt.kind != "permission"]
        if same:  # a question, a plan: its own call tells more than the notice does
            prompt = replace(same[-1].told.prompt, id=prompt.id, opened_at=prompt.opened_at)
        session = self._teller.state.sessions.get(session_id)
        if session is not None and session.state == "idle":
            call.prompt_id = prompt.id  # the turn is over: nobody asks any more
            return
        body = "\n\n".join(part for part in (why, prompt.body) if part)
        self.stands_for(session_id, [call.told.id, *(each.told.id for each in same[-1:])], prompt.id)
        raised = replace(prompt, session_id=session_id, body=body, answerable=False)
        await self._teller.post(PromptRaised(prompt.opened_at, raised))
