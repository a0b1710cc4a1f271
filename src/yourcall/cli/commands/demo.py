"""`yourcall demo`: feel it in a minute, without any agent installed.

Rule: a demo never looks like the real thing and never leaves anything running; only the agent is played.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType

import click

from yourcall.cli.client import NotRunning, connect
from yourcall.cli.instance import Instance, pass_place


@click.command(
    "demo",
    epilog="""\b
Examples:
  yourcall demo                  answer a scripted agent, here or from another terminal
  yourcall demo --all            every kind of prompt there is, eleven scenes
  yourcall demo --hands-free     watch a scripted phone answer it
""",
)
@click.option("--hands-free", is_flag=True, help="Let a scripted phone answer (the default without a terminal).")
@click.option("--all", "every", is_flag=True, help="Every kind of prompt there is, not just three.")
@pass_place
def command(place: Instance, hands_free: bool, every: bool) -> None:
    """Play a scripted agent that asks three things. Nothing real is run.

    It goes through the same pipeline as a real agent: the same hooks, the same daemon (yours if it runs, else a
    private one until the demo ends), the same answers from anywhere. Ctrl-C ends it.
    """
    from yourcall.demo import stage
    from yourcall.demo.agent import ScriptedAgent
    from yourcall.demo.all_scenes import EVERY
    from yourcall.demo.desk import Desk, Left
    from yourcall.demo.phone import Phone
    from yourcall.demo.play import play, private_home, settled, taken
    from yourcall.demo.scenes import SCENES
    from yourcall.hook.launcher import install_launcher

    at_desk = sys.stdin.isatty() and not hands_free
    private = not _runs(place.home)
    open_prompt, home, code = "", place.home, 0
    with ExitStack() as stack:
        stack.enter_context(_ending_orderly())
        try:
            home = stack.enter_context(private_home()) if private else home
            here = Instance(home)
            with ExitStack() as shown:
                phone = None if at_desk else shown.enter_context(Phone(home))
                reason = "Hands-free: " if hands_free else "There is no keyboard: "
                stage.banner(here, private=private, phone=phone.name if phone else "", reason=reason)
                agent = shown.enter_context(ScriptedAgent(install_launcher(home), home / "demo"))
                desk = shown.enter_context(Desk(present=at_desk))
                try:
                    play(here, agent, desk, phone, EVERY if every else SCENES)
                except (KeyboardInterrupt, Left):
                    open_prompt = taken(home, agent.session_id, 0)
                    raise
            stage.farewell(place, private=private)
        except (KeyboardInterrupt, Left):
            stage.cut_short(settled(home, open_prompt))
            code = 130
    raise click.exceptions.Exit(code)


def _runs(home: Path) -> bool:
    with suppress(NotRunning):
        connect(home).close()
        return True
    return False


@contextmanager
def _ending_orderly() -> Generator[None]:
    """Whatever asks us to leave is taken as Ctrl-C: the session is ended and what was started is stopped."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, leave) for number in numbers]
    try:
        yield
    finally:
        for number, old in zip(numbers, before, strict=True):
            signal.signal(number, old)
