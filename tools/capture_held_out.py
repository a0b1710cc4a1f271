#!/usr/bin/env python3
"""Capture screens of a version that nobody tuned to, for tests/held_out.

    .venv/bin/python tools/capture_held_out.py codex 0.59.0 /tmp/screens

The rule it keeps: what is known of a screen follows from the script that led to it, never from our own reading.
Each file begins with one line of JSON: the version, whether it waits, for what, and the options that the model
named. The rows of a permission are named by no script: they are written into `options` by a person who looks.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "src")]

from fetch_clis import fetch  # noqa: E402

from yourcall.agents.model_turns import Block, text  # noqa: E402
from yourcall.cli import machine  # noqa: E402
from yourcall.live_check.sandbox import Sandbox, sandbox  # noqa: E402
from yourcall.live_check.specs import checks  # noqa: E402
from yourcall.live_check.terminal import Pane, squeezed  # noqa: E402
from yourcall.live_check.waiting import NotInTime, until  # noqa: E402

SIZES = ((120, 40), (80, 24))
WAIT_S = 40
LONG = "touch marker && " + " && ".join(f"echo a-long-enough-argument-number-{n}" for n in range(9))
FOUR = ("PostgreSQL", "SQLite", "MySQL with replicas", "Redis")
PLAN = "# Add a health check\n\n1. Add `GET /health`\n2. Test it\n"


class Camera:
    def __init__(self, folder: Path, agent: str, version: str) -> None:
        self.folder, self.agent, self.version = folder / f"{agent}-{version}", agent, version
        self.folder.mkdir(parents=True, exist_ok=True)

    def shoot(self, pane: Pane, name: str, waits: str = "", options: tuple[str, ...] = ()) -> None:
        with suppress(NotInTime):
            pane.settle(0.5, 5.0)
        screen = pane.screen()
        about = {"agent": self.agent, "version": self.version, "title": pane.variable("pane_title")}
        about |= {"waits": waits, "options": options}
        size = f"{pane.variable('pane_width')}x{pane.variable('pane_height')}"
        (self.folder / f"{name}-{size}").write_text(json.dumps(about, ensure_ascii=False) + "\n" + screen)


def rested(box: Sandbox, pane: Pane) -> None:
    left = dict(box.spec.first)

    def ready() -> bool:
        screen = pane.screen()
        for words, keys in list(left.items()):
            if squeezed(words) in squeezed(screen):
                del left[words]
                for key in keys:
                    with suppress(NotInTime):
                        pane.settle(0.3, 3.0)
                    pane.key(key)
                return False
        return re.search(box.spec.ready, screen) is not None

    until(ready, WAIT_S, every=0.1, show=pane.screen)
    with suppress(NotInTime):
        pane.settle(0.6, 4.0)


def say(box: Sandbox, pane: Pane, name: str, turns: list[list[Block]], *, drafted: Camera | None = None) -> str:
    words = box.script(name, turns)
    rested(box, pane)
    pane.text(words)
    until(lambda: pane.shows(words), WAIT_S, show=pane.screen)
    if drafted is not None:
        drafted.shoot(pane, "draft")
    with suppress(NotInTime):
        pane.settle(0.4, 3.0)
    pane.key("Enter")
    until(lambda: box.heard(words), WAIT_S, show=pane.screen)
    return words


def calls(box: Sandbox) -> dict[str, tuple[str, list[list[Block]], tuple[str, ...], str]]:
    """By name: what it waits for, the turns, the options that the model names, and words in the dialog."""
    spec = box.spec
    found = {
        "command": ("permission", [[spec.command("touch marker")], [text("Done.")]], (), "marker"),
        "long": ("permission", [[spec.command(LONG)], [text("Done.")]], (), "argument-number"),
    }
    if spec.question is not None:
        two = spec.question("Which database should we use?", FOUR[:2])
        four = spec.question("Which of these four databases shall the shop use from now on?", FOUR)
        found["question"] = ("question", [[two], [text("Thanks.")]], FOUR[:2], FOUR[1])
        # A window may be too small for the last row.
        found["four"] = ("question", [[four], [text("Thanks.")]], FOUR, "these four databases")
    return found


def play(camera: Camera, box: Sandbox, columns: int, rows: int) -> None:
    spec = box.spec
    pane = box.start(*spec.arguments, columns=columns, rows=rows)
    rested(box, pane)
    camera.shoot(pane, "idle")
    say(box, pane, "talk", [[text("All is well.\n\n1. One\n2. Two\n\nShall I go on? (y/n)")]], drafted=camera)
    rested(box, pane)
    camera.shoot(pane, "talked")
    for name, (waits, turns, options, words) in calls(box).items():
        said = say(box, pane, name, turns)
        until(
            lambda words=words, said=said, turns=turns: (
                words in pane.screen() or box.heard(said, tools=True) >= len(turns)
            ),
            WAIT_S,
            show=pane.screen,
        )
        with suppress(NotInTime):
            pane.settle(1.0, 5.0)
        if box.heard(said, tools=True) >= len(turns):
            camera.shoot(pane, f"{name}-not-asked")
            continue
        camera.shoot(pane, name, waits, options)
        pane.key("Escape")
        rested(box, pane)
        camera.shoot(pane, f"after-{name}")


def plan(camera: Camera, box: Sandbox, columns: int, rows: int) -> None:
    spec = box.spec
    assert spec.plan is not None
    pane = box.start(*(spec.planning or spec.arguments), columns=columns, rows=rows)
    rested(box, pane)
    for key in spec.planning_keys:
        pane.key(key)
    camera.shoot(pane, "planning")
    say(box, pane, "plan", [*map(list, spec.plan(PLAN)), [text("Begun.")]])
    until(lambda: "health" in pane.screen(), WAIT_S, show=pane.screen)
    with suppress(NotInTime):
        pane.settle(1.0, 5.0)
    if re.search(spec.ready, pane.screen()):  # it takes an instruction: it was not in plan mode
        camera.shoot(pane, "plan-not-asked")
    else:
        camera.shoot(pane, "plan", "plan")


def main(agent: str, version: str, folder: str) -> int:
    program = machine.ask([fetch(agent, version)], 60)[0]
    spec, camera = checks()[agent], Camera(Path(folder), agent, version)
    for columns, rows in SIZES:
        for scene in (play, *((plan,) if spec.plan else ())):
            try:
                with sandbox(spec, program, connected=False) as box:
                    scene(camera, box, columns, rows)
            except AssertionError as failure:
                print(agent, version, columns, scene.__name__, str(failure)[:1500], flush=True)
        if spec.untrusted is not None:
            with sandbox(spec, program, trusted=False, connected=False) as box:
                pane = box.start(columns=columns, rows=rows)
                with suppress(NotInTime):
                    until(lambda pane=pane: "rust" in pane.screen(), WAIT_S)
                camera.shoot(pane, "trust", "trust")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
