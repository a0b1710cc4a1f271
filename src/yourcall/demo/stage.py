"""How the demo looks: plain lines that fit 80 columns, and a scene that fits 24 rows.

Rule: it is always said that this is a demo; what comes back from the daemon may hold others' words, and goes
through `safe`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from difflib import unified_diff
from typing import Any

import click

from yourcall.cli.instance import Instance
from yourcall.cli.terminal.render import columns, safe, span, style, width, wrapped
from yourcall.cli.terminal.sheet import ID_SHOWN, STATE_COLOURS
from yourcall.cli.views import Prompt
from yourcall.demo.scenes import ASK, Decision, Scene, reaction

READ_S = 1.5
LONGEST_BODY = 30  # so that the line fits 80 columns

say = click.echo


def dim(text: str) -> str:
    return style(text, dim=True)


def command(place: Instance, text: str) -> str:
    """A command line that works in another terminal here."""
    return place.command(text)


def banner(place: Instance, *, private: bool, phone: str, reason: str) -> None:
    say()
    say(f"  {style('DEMO', 'yellow', bold=True)} — {style('a scripted agent, nothing real is run', bold=True)}")
    say("  The agent will stop and ask. Answer in its own dialog or from anywhere else:")
    say("  the first answer wins. Only the agent is played; the way to you is real.")
    if private:
        say("  yourcall is not running here, so a private one runs until the demo ends:")
    else:
        say("  Your running yourcall is used; its other devices see this, marked [demo]:")
    say(f"    {style(command(place, 'watch'), bold=True)}")
    if phone:
        say(f"  {reason}{style(phone, 'cyan')}, a device of its own, will answer.")


def opening(scene: Scene, number: int, total: int, told: str) -> None:
    title = f" DEMO · {number} of {total} · {scene.name} "
    say()
    say(style("──" + title + "─" * max(_room() - width(title) - 2, 2), "yellow"))
    if told:
        say(f"{dim('  you  ')} {told}")
    say(f"{dim('  agent')} {scene.says}")
    say()


def dialog(scene: Scene) -> None:
    """The agent's own dialog, as it would be on its screen."""
    bar = style("  │ ", "blue")
    match scene.tool:
        case "Bash":
            lines = [style(str(scene.input["command"]), bold=True), dim(str(scene.input["description"]))]
        case "Edit":
            lines = [style(str(scene.input["file_path"]), bold=True), *_diff(scene)]
        case "ExitPlanMode":
            lines = str(scene.input["plan"]).split("\n")[:6]
        case _:
            lines = str(scene.input.get("body", "")).split("\n") if scene.input.get("body") else []
    tool = scene.name if scene.tool == ASK else scene.tool
    for line in [f"{style('[demo]', 'yellow')} {tool}", *lines, "", style(scene.question, bold=True)]:
        say(bar + line)
    about = scene.input["questions"][0]["options"] if "questions" in scene.input else ()
    room = max(map(width, scene.choices))
    for number, choice in enumerate(scene.choices, 1):
        more = " " * (room - width(choice) + 2) + dim(about[number - 1]["description"]) if about else ""
        say(f"{bar}  {style(str(number), 'cyan', bold=True)}  {choice}{more}")
    say()


def _diff(scene: Scene) -> list[str]:
    old, new = str(scene.input["old_string"]), str(scene.input["new_string"])
    colours = {"-": "red", "+": "green"}
    return [
        style(line, colours.get(line[0], "")) for line in list(unified_diff(old.split("\n"), new.split("\n")))[3:]
    ]


def hint(scene: Scene, prompt_id: str, place: Instance) -> None:
    if not prompt_id:
        alone()
        return
    last = len(scene.choices)
    keys = " or ".join([", ".join(str(n) for n in range(1, last)), str(last)])
    say(f"  Press {style(keys, 'cyan', bold=True)} here, or answer from another terminal:")
    for text in ("ls", f"answer {prompt_id[:ID_SHOWN]} {scene.away}"):
        say(f"    {style(command(place, text), bold=True)}")


def alone() -> None:
    """yourcall did not take the request: the agent's own dialog is there all the same."""
    say("  yourcall cannot be reached now. The dialog is the agent's own: answer it here.")


def wait(seconds: float) -> None:
    """One line that lives while somebody is waited for."""
    if _lively():
        sys.stdout.write("\r\x1b[K" + dim(f"  waiting for you, {seconds:.0f} s · Ctrl-C ends the demo"))
        sys.stdout.flush()


def phones(name: str, prompt_id: str, answer: dict[str, Any]) -> None:
    body = json.dumps(answer, separators=(",", ":"))
    body = body if len(body) <= LONGEST_BODY else f"{body[:LONGEST_BODY]}…"
    say(f"  {style(name, 'cyan')} {dim(f'POST /api/prompts/{prompt_id[:ID_SHOWN]}…/answer {body}')}")


def unwait() -> None:
    if _lively():
        sys.stdout.write("\r\x1b[K")
        sys.stdout.flush()


def ending(scene: Scene, decision: Decision, prompt: Prompt | None) -> None:
    """Who answered, what the agent made of it, and each step with its time."""
    say()
    mark, colour = ("✓", "green") if decision.allowed else ("✗", "red")
    what = (
        "Answered"
        if "questions" in scene.input or (scene.tool == ASK and decision.allowed)
        else "Allowed"
        if decision.allowed
        else "Denied"
    )
    say(f"  {style(f'{mark} {what} {_who(decision, prompt)}', colour, bold=True)}")
    text = wrapped(reaction(scene, decision), 8).lstrip()
    say(f"{dim('  agent')} {text}")
    if prompt is None:
        return
    before = prompt.opened_at
    for moment in prompt.history:
        state = style(f"{safe(moment.state):<9}", STATE_COLOURS.get(moment.state, ""))
        by = f"{moment.by}: " if moment.state == "answering" else ""
        delay = "" if moment.state == "open" else "+" + span(moment.at - before)
        say(f"{dim(f'{delay:>10}')}  {state}  {wrapped(by + moment.detail, 23).lstrip()}")
        before = moment.at


def _who(decision: Decision, prompt: Prompt | None) -> str:
    if decision.source != "hook":
        return "by you, at the desk"
    by = prompt.answered_by if prompt else None
    return "by you, with yourcall answer" if by == "cli" else f"by {safe(by or 'a device')}"


def farewell(place: Instance, *, private: bool) -> None:
    say()
    say(style("── That's all ".ljust(_room(), "─"), "yellow"))
    if not private:
        say(f"  What happened is on record:  {style(command(place, 'log'), bold=True)}")
    say("  With an agent of your own:")
    for text in (*(("up --detach",) if private else ()), "setup claude"):
        say(f"    {style(command(place, text), bold=True)}")


def cut_short(prompt: Prompt | None) -> None:
    text = "The demo is over, and so is its session."
    if prompt is not None and prompt.state == "ended":
        text += f" Prompt {prompt.id[:ID_SHOWN]} was withdrawn."
    say(f"\n  {text}")


def breathe() -> None:
    """Time to read, where somebody watches without a hand on the keys."""
    if sys.stdout.isatty():
        time.sleep(READ_S)


def _room() -> int:
    return min(columns(), 80)


def _lively() -> bool:
    return sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM") != "dumb"
