"""The director: lets the scripted agent ask, lets the desk or anybody else answer, and shows what became of it.

Rule: it knows nothing that yourcall's own API does not tell it; whoever answers first has answered.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from yourcall.cli.client import get
from yourcall.cli.commands.daemon import STOP_PATIENCE, stop
from yourcall.cli.instance import Instance, Problem
from yourcall.cli.views import Prompt, read
from yourcall.demo import stage
from yourcall.demo.agent import Held, ScriptedAgent
from yourcall.demo.desk import Desk
from yourcall.demo.phone import Phone
from yourcall.demo.scenes import GO_ON, SCENES, TASK, Decision, Scene, by_hook, by_key

YOURCALL = [sys.executable, "-P", "-m", "yourcall.cli.main"]


@contextmanager
def private_home() -> Generator[Path]:
    """The home of a private daemon that listens."""
    keeper = subprocess.Popen(
        [sys.executable, "-P", "-m", "yourcall.demo.play"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C at the desk is not for it
        cwd="/",
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    with keeper.stdout:
        try:
            home = keeper.stdout.readline().rstrip(b"\n")
            if not home:
                raise Problem("The demo's private yourcall did not start. Start one, then try again: yourcall up")
            yield Path(os.fsdecode(home))
        finally:
            keeper.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                keeper.wait(STOP_PATIENCE + 10)


def keep() -> None:
    """What the keeper does."""
    home = Path(tempfile.mkdtemp(prefix="yc-demo-"))
    try:
        # The person's own sessions are no part of the play.
        (home / "config.toml").write_text('[discovery]\nmode = "off"\n')
        up = [*YOURCALL, "--home", str(home), "up", "--detach", "--port", "0", "--json"]
        if subprocess.run(up, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            sys.stdout.buffer.write(os.fsencode(home) + b"\n")
            sys.stdout.flush()
            sys.stdin.buffer.read()
        with suppress(Problem):
            stop(home, force=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    keep()


TAKEN_S = 5.0  # a request is taken within 0.1 s; after this nobody is there to take it
SETTLED_S = 5.0
THINKS_S = 1.0  # how long the demo's phone takes to answer
GIVE_UP_S = 30.0  # with nobody at the desk, a demo that hangs must end


def play(
    place: Instance, agent: ScriptedAgent, desk: Desk, phone: Phone | None, scenes: Sequence[Scene] = SCENES
) -> None:
    text = TASK
    for number, scene in enumerate(scenes, 1):
        stage.opening(scene, number, len(scenes), text)
        if text:
            agent.hears(text)
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
        text = GO_ON if decision.stop else ""
        if number < len(scenes):
            desk.pause("  any key: the next scene")
    if not text:
        agent.rests()


def _decided(scene: Scene, held: Held, desk: Desk, phone: Phone | None, prompt_id: str) -> Decision:
    """Whoever comes first: a key at the desk, or what the hook prints."""
    began, phoned = time.monotonic(), phone is None
    while True:
        waited = time.monotonic() - began
        if desk.present:
            stage.wait(waited)
        key, spoke = desk.look(held.fd, 1 - waited % 1 if phoned else max(THINKS_S - waited, 0))
        decision = by_key(scene, key)
        if decision is None and spoke and held.hear():
            decision = by_hook(scene, held.output)
            if decision is None and desk.present:
                stage.unwait()
                stage.alone()
        if decision is not None:
            stage.unwait()
            return decision
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
