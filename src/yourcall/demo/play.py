"""The director: lets the scripted agent ask, lets the desk or anybody else answer, and shows what became of it.

Rule: it knows nothing that yourcall's own API does not tell it; whoever answers first has answered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from yourcall.cli.client import get
from yourcall.cli.instance import Instance, Problem
from yourcall.cli.views import Prompt, read
from yourcall.demo import stage
from yourcall.demo.agent import Held, ScriptedAgent
from yourcall.demo.desk import Desk
from yourcall.demo.phone import Phone
from yourcall.demo.scenes import GO_ON, SCENES, TASK, Decision, Scene, by_hook, by_key

TAKEN_S = 5.0  # a request is taken within 0.1 s; after this nobody is there to take it
SETTLED_S = 5.0
THINKS_S = 1.0  # how long the demo's phone takes to answer
GIVE_UP_S = 30.0  # with nobody at the desk, a demo that hangs must end


def play(
    place: Instance, agent: ScriptedAgent, desk: Desk, phone: Phone | None, scenes: Sequence[Scene] = SCENES
) -> None:
    told = TASK
    for number, scene in enumerate(scenes, 1):
        stage.opening(scene, number, len(scenes), told)
        if told:
            agent.hears(told)
        desk.forget()
        held = agent.asks(scene)
        stage.dialog(scene)
        prompt_id = taken(place.home, agent.session_id)
        if phone is not None and not prompt_id:
            raise Problem(f"yourcall did not take the demo's request. See: {stage.command(place, 'doctor')}")
        if phone is None:
            stage.hint(scene, prompt_id, place)
        decision = _decided(scene, held, desk, phone, prompt_id)
        agent.takes(held, scene, decision)
        stage.ending(scene, decision, settled(place.home, prompt_id))
        told = GO_ON if decision.stop else ""
        if number < len(scenes):
            desk.pause("  any key: the next scene")
    if not told:
        agent.rests()


def _decided(scene: Scene, held: Held, desk: Desk, phone: Phone | None, prompt_id: str) -> Decision:
    """Whoever comes first: a key at the desk, or what the hook prints."""
    began, phoned = time.monotonic(), phone is None
    while True:
        waited = time.monotonic() - began
        if desk.present:
            stage.wait(waited)
        key, spoke = desk.look(held.fd, 1 - waited % 1 if phoned else max(THINKS_S - waited, 0))
        found = by_key(scene, key)
        if found is None and spoke and held.hear():
            found = by_hook(scene, held.output)
            if found is None and desk.present:
                stage.unwait()
                stage.alone()
        if found is not None:
            stage.unwait()
            return found
        if phone is not None and not phoned and time.monotonic() - began >= THINKS_S:
            phoned = True
            stage.phones(phone.name, prompt_id, scene.phone)
            phone.answer(prompt_id, scene.phone)
        if not desk.present and (held.fd is None or waited > GIVE_UP_S):
            raise Problem("The demo's request was let go without an answer. See: yourcall doctor")


def taken(home: Path, session_id: str, patience: float = TAKEN_S) -> str:
    """The id under which yourcall shows the request that the session waits with; empty if it does not."""
    end = time.monotonic() + patience
    while True:
        try:
            for prompt in read(get(home, "/api/prompts"), list[Prompt]):
                if prompt.session_id == session_id and prompt.state == "open" and prompt.tool is not None:
                    return prompt.id
        except Problem:
            return ""
        if time.monotonic() > end:
            return ""
        time.sleep(0.02)


def settled(home: Path, prompt_id: str) -> Prompt | None:
    """The prompt once nothing more is to be learnt about it; None if yourcall cannot tell."""
    end = time.monotonic() + SETTLED_S
    prompt: Prompt | None = None
    while prompt_id and time.monotonic() < end:
        try:
            prompt = read(get(home, f"/api/prompts/{prompt_id}"), Prompt)
        except Problem:
            return None
        if prompt.state in ("confirmed", "ended") or prompt.outcome:
            break
        time.sleep(0.03)
    return prompt
