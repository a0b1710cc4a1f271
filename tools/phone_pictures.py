#!/usr/bin/env python3
"""Take the pictures of the phone app: a real daemon, prompts through the hooks' socket, a real Chromium.

    python tools/phone_pictures.py              # the few for the docs and the manifest
    python tools/phone_pictures.py FOLDER       # every screen, at every size, light and dark: to be looked at

Rule: what is shown is what a person would see; nothing is drawn by hand.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / part) for part in ("browser", "cli", "")]

from chromium import Chromium, Page, signed  # noqa: E402
from phone_scene import COMPARE, PLAN, QUESTION, RULE, SEVERAL, Agent, Daemon, enter  # noqa: E402

from kit.drawn import Drawn  # noqa: E402
from kit.terminal import Tmux  # noqa: E402

SHOP, WEATHER = "/home/ada/kite-shop", "/home/ada/weather-api"
EDIT = {
    "file_path": f"{SHOP}/src/prices.py",
    "old_string": 'CURRENCY = "EUR"\nFREE_SHIPPING_FROM = 50\nGIFT_WRAP = 3',
    "new_string": 'CURRENCY = "EUR"\nFREE_SHIPPING_FROM = 30\nGIFT_WRAP = 3',
}

LONG = "/home/ada/work/clients/north-sea-wind-and-weather-services/monorepo/packages/quarterly-report-generator-v2"
LONG_COMMAND = "./gradlew --no-daemon --stacktrace -Pversion=2026.11.15-rc.3+build.4711 " + " ".join(
    f":packages:module-{n}:integrationTest --tests 'org.example.weather.very.long.package.Name{n}IT'"
    for n in range(9)
)

TERMINAL = ROOT / "tests" / "corpus" / "claude" / "idle-after-answer-80x24" / "screen.txt"

REVOKE = signed("""
    signedFetch("/api/devices").then((r) => r.json())
        .then((all) => signedFetch("/api/devices/" + all.find((d) => d.current).id, { method: "DELETE" }))
""")

# Long enough for what was asked to be drawn; there is no sign of "all is painted" to wait for.
SETTLED = 0.4

SIZES = ((360, 740), (390, 844), (1280, 800))

# A phone's own typeface is not on a build machine: the closest there is, where it is installed.
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <alias binding="same">
    <family>sans-serif</family><prefer><family>Inter</family><family>Roboto</family></prefer>
  </alias>
  <alias binding="same">
    <family>DejaVu Sans</family><prefer><family>Inter</family><family>Roboto</family></prefer>
  </alias>
  <alias binding="same"><family>DejaVu Sans Mono</family><prefer><family>JetBrains Mono</family></prefer></alias>
</fontconfig>
"""


def permission(agent: Agent, name: str, cwd: str, tool: str, **tool_input: Any) -> None:
    offers = [RULE] if str(tool_input.get("command")).startswith("npm test") else []
    agent.raises(
        "PermissionRequest", name, cwd=cwd, tool_name=tool, tool_input=tool_input, permission_suggestions=offers
    )
    time.sleep(0.1)  # one after the other, so that they are listed in this order


def conversation(agent: Agent) -> None:
    """What may have been said and done in an hour."""
    agent.hears("Few people reach free shipping. Look into it, and run the tests before you finish.")
    agent.says("I'll look at the prices first, then at who reaches the limit.")
    agent.does("Read", "1\tCURRENCY = 'EUR'\n2\tFREE_SHIPPING_FROM = 50", file_path=f"{SHOP}/src/prices.py")
    agent.does("Bash", "42 passed in 3.1 s", command="npm test -- --watch=false", description="Run the tests")
    agent.does("Bash", "sh: 1: deno: not found", failed=True, command="deno check src/")
    agent.says(
        "**3 of 100** orders reach the limit. The limit is in `src/prices.py`:\n\n"
        "1. lower it to 30\n2. show what is missing in the cart\n\n```python\nFREE_SHIPPING_FROM = 30\n```"
    )
    chosen = 'Your questions have been answered: "Which colour shall the kite have?"="Signal red". Go on.'
    agent.does("AskUserQuestion", chosen, questions=[QUESTION])
    agent.does("Edit", "The file has been updated.", **EDIT)
    agent.hears("Good. And the colour of the button?")
    agent.says("It follows the kite: signal red.")


def see(page: Page, place: str, words: str) -> None:
    page.js(f"location.hash = '#/{place}'")
    page.sees(words)
    page.js("scrollTo(0, 0)")
    time.sleep(SETTLED)


def scenes(page: Page, agent: Agent, other: Agent) -> Any:
    """Each screen in turn: its name, once it is there."""
    page.sees("All caught up")
    yield "empty"
    conversation(agent)
    agent.begins(cwd=SHOP)
    other.mode = "bypassPermissions"
    other.hears("Make the release build reproducible")
    other.says("The timestamps come from the zip step: I'll set `SOURCE_DATE_EPOCH` and build it **twice**.")
    other.begins(cwd=WEATHER)
    page.sees("2 sessions are running")
    time.sleep(SETTLED)
    yield "running"
    page.js(f"location.hash = '#/s/{agent.session_id}'")
    page.sees("It follows the kite")
    time.sleep(SETTLED)
    yield "talk"
    page.tap("More", ".thread-top")
    page.tap("Terminal", ".sheet")
    page.sees("as it looks on your computer")
    time.sleep(SETTLED)
    yield "terminal"
    other.mode = "default"
    permission(
        agent, "picbashaa2", SHOP, "Bash", command="npm test -- --watch=false", description="Run the tests once"
    )
    permission(other, "picdanger2", WEATHER, "Bash", command="rm -rf build/ && make release", description="Make the release anew")  # fmt: skip # noqa: E501
    permission(agent, "piceditaa2", SHOP, "Edit", **EDIT)
    see(page, "", "prices.py")
    page.sees("Live")  # once the news of the last one is old
    yield "inbox"
    see(page, f"s/{other.session_id}", "timestamps")
    yield "thread"
    see(page, "p/picbashaa2", "npm test")
    yield "command"
    see(page, "p/picdanger2", "Hold to allow")
    yield "danger"
    see(page, "p/piceditaa2", "src/prices.py")
    yield "change"
    permission(agent, "picaskaaa2", SHOP, "AskUserQuestion", questions=[QUESTION])
    see(page, "p/picaskaaa2", "Seen from everywhere")
    yield "question"
    permission(other, "picplanaa2", WEATHER, "ExitPlanMode", plan=PLAN)
    see(page, "p/picplanaa2", "Nothing is deployed")
    yield "plan"
    permission(agent, "picsevera2", SHOP, "AskUserQuestion", questions=[SEVERAL, COMPARE])
    see(page, "p/picsevera2", "Which layout")
    page.tap("Small")
    page.js("scrollTo(0, 0)")
    yield "several"
    agent.form("picformaa2", SHOP)
    see(page, "p/picformaa2", "Gift wrap")
    yield "form"
    see(page, "", "prices.py")
    page.tap("Allow", "li[data-id=picbashaa2]")
    page.sees("on its way")
    page.js("scrollTo(0, 0)")
    yield "answered"
    page.line(False)
    page.tap("Deny", "li[data-id=picdanger2]")
    page.sees("is sent when the connection is back")
    page.js("scrollTo(0, 0)")
    yield "offline"
    page.line(True)
    page.sees("Live")
    see(page, "", "kite-shop")
    yield "threads"
    page.js(f"location.hash = '#/s/{agent.session_id}'")
    page.sees("It follows the kite")
    time.sleep(SETTLED)
    yield "dock"
    page.js("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    time.sleep(SETTLED)
    page.js("scrollTo(0, 0)")
    time.sleep(SETTLED)
    yield "talk-open"
    see(page, f"s/{agent.session_id}", "It follows the kite")
    page.tap("Commands")
    page.js("scrollTo(0, 1e6)")
    time.sleep(SETTLED)
    yield "commands"
    see(page, "start", "Start Claude")
    yield "start"
    see(page, "history", "waited")
    yield "history"
    see(page, "devices", "Add a device")
    yield "devices"
    see(page, "rules", "Everything waits for you")
    yield "rules-none"
    see(page, "history", "waited")
    page.line(False)
    page.sees("Trying again")
    yield "history-offline"
    page.line(True)
    page.sees("Live")
    permission(
        agent, "piclongaa2", LONG, "Bash", command=LONG_COMMAND, description="Words without a space: " + "x" * 90
    )
    permission(other, "pichidden2", WEATHER, "Bash", command="git commit -m 'tidy up\u202e\u200b gnp.exe'")
    see(page, "", "gnp")
    page.js("scrollTo(0, 1e6)")
    time.sleep(SETTLED)
    yield "long-row"
    see(page, "p/piclongaa2", "gradle")
    yield "long"
    see(page, "p/pichidden2", "U+200B")
    yield "hidden"
    see(page, "p/nobodyaaa2", "not on record")
    yield "gone"
    see(page, "s/nobody", "ession")
    yield "gone-session"
    see(page, "devices", "Add a device")
    page.tap("Pause all rules")
    page.sees("Rules decide nothing now")
    time.sleep(SETTLED)
    yield "paused-settings"
    see(page, "", "Rules are paused")
    yield "paused"
    page.tap("Resume", ".paused")
    page.loses("Rules are paused")
    page.js(REVOKE)
    page.sees("Pair")
    time.sleep(SETTLED)
    yield "pair"


def each_size(page: Page, folder: Path, name: str) -> None:
    at = page.js("scrollY")
    for width, height in SIZES:
        page.resize(width, height)
        for dark in (False, True):
            page.theme(dark)
            page.js(f"scrollTo(0, {at})")
            time.sleep(SETTLED / 2)
            page.picture(folder / f"{name}-{width}-{'dark' if dark else 'light'}.png")
    page.resize(390, 844)
    page.theme(False)
    page.js(f"scrollTo(0, {at})")


def take(
    browser: Chromium,
    width: int,
    height: int,
    dark: bool,
    wanted: dict[str, list[Path]] | Path,
    only: list[str] | None = None,
) -> None:
    with tempfile.TemporaryDirectory() as folder, Daemon(place := Path(folder)) as yc, Tmux() as tmux:
        agent = Agent(place, yc, pane=Drawn(place, {"a": TERMINAL.read_text()}, {}).start(tmux, 80, 24))
        other = Agent(place, yc, "weather-api")
        page = enter(browser, yc, "Ada's phone", width=width, height=height, dark=dark)
        for name in scenes(page, agent, other):
            if isinstance(wanted, Path):
                if not only or name in only:
                    each_size(page, wanted, name)
                if only and name == only[-1]:
                    break
            else:
                for file in wanted.pop(name, []):
                    page.picture(file)
                if not wanted:
                    break
        page.close()
        other.__exit__()
        agent.__exit__()


@contextmanager
def fonts() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "fonts.conf"
        file.write_text(FONTS)
        yield {"FONTCONFIG_FILE": str(file)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="take every screen, and put the pictures here")
    parser.add_argument("only", nargs="*", help="take these screens only, and stop after the last")
    wish = parser.parse_args()
    folder: Path | None = wish.folder
    subprocess.run([sys.executable, str(ROOT / "tools" / "build_app.py")], check=True)
    images, public = ROOT / "docs" / "images", ROOT / "web" / "public"
    with tempfile.TemporaryDirectory() as profile, fonts() as env, Chromium(Path(profile), env) as browser:
        if folder:
            take(browser, 390, 844, False, folder, wish.only)
        else:
            docs = {name: [images / f"phone-{name}.png"] for name in ("inbox", "change", "talk")}
            docs["inbox"].append(public / "screen-home.png")
            docs["talk"].append(public / "screen-thread.png")
            take(browser, 390, 844, False, docs)
            take(
                browser,
                390,
                844,
                True,
                {name: [images / f"phone-{name}.png"] for name in ("plan", "danger", "terminal")},
            )
            take(browser, 1280, 800, False, {"thread": [images / "phone-wide.png", public / "screen-wide.png"]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
