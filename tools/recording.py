#!/usr/bin/env python3
"""Record how a question of the real Claude Code is answered on a phone: desk and phone side by side, one picture.

    python tools/recording.py               # writes docs/images/on-the-phone.svg: needs tmux, npm, chromium

Claude Code asks in its own terminal (a private tmux, a scripted model), a real Chromium answers, and Claude's
record confirms it. Each screen is captured when it is there: the terminal letter by letter, the phone as the
browser paints it. Only the ring that marks the finger is drawn.

Rule: what is shown is what a person would see, in the order in which it came. How long a picture stands is set
here, so that it can be read; what really happened takes a second or two.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from chromium import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / part) for part in ("browser", "cli", "")] + [str(ROOT / "tools")]

import fetch_clis  # noqa: E402
import screen_svg  # noqa: E402
from chromium import Chromium  # noqa: E402
from phone_pictures import fonts  # noqa: E402
from phone_scene import enter  # noqa: E402

from kit.claude import ClaudeHome, start_claude  # noqa: E402
from kit.model_server import ModelServer  # noqa: E402
from kit.poll import until  # noqa: E402
from kit.terminal import Pane, Tmux  # noqa: E402
from kit.turns import pause, text, tool  # noqa: E402
from kit.yourcall import Yourcall  # noqa: E402

OUT = ROOT / "docs" / "images" / "on-the-phone.svg"
LARGEST = 600_000  # bytes: it is loaded with the first page that people see
ABOUT = (
    "On the left, Claude Code asks in its own terminal whether it may change a file. On the right, the same"
    " question appears on a phone; a finger allows it; the phone says so, and Claude goes on."
)
COLS, ROWS = 76, 31
PHONE = (390, 844)  # in the phone's own pixels
ROUND = 26  # the phone's corners
SHARP = 1.5  # pixels of the picture for one of those
DOING = "Lower the limit for free shipping to 30, and DO nothing else."
PRICES = 'CURRENCY = "EUR"\nFREE_SHIPPING_FROM = 50\nGIFT_WRAP = 3\n'


class Moment(NamedTuple):
    """Both screens, and how long they stand. `finger`: where it is, in the phone's pixels."""

    desk: str
    phone: bytes
    seconds: float
    finger: tuple[float, float] | None = None


def play(folder: Path, browser: Chromium) -> Iterator[Moment]:
    home = at_home(ClaudeHome.make(folder), "kite-shop")
    prices = home.project / "src" / "prices.py"
    prices.parent.mkdir(parents=True)
    prices.write_text(PRICES)
    change = {"old_string": "FREE_SHIPPING_FROM = 50", "new_string": "FREE_SHIPPING_FROM = 30"}
    with ModelServer() as model, Tmux() as tmux, Yourcall(folder, home) as yourcall:
        binary = fetch_clis.fetch("claude")
        yourcall.setup_claude(binary)
        model.script(
            "nothing",
            [text("I'll look at the prices first."), tool("Read", file_path=str(prices))],
            [pause("asked"), tool("Edit", file_path=str(prices), **change)],
            [text("Free shipping now starts at 30. Nothing else is changed.")],
        )
        phone = enter(browser, yourcall, "Ada's phone", width=PHONE[0], height=PHONE[1], dark=True)
        phone.sees("All caught up")
        claude = start_claude(tmux, binary, home, model, cols=COLS, rows=ROWS)
        claude.wait_ready()
        desk = claude.terminal
        assert isinstance(desk, Pane)
        desk.wait_until(lambda screen: any(block in screen for block in "▛█▐"))  # all of its first screen
        claude.type(DOING)
        desk.settle()
        yield Moment(desk.ansi(), painted(phone), 1.6)
        desk.key("Enter")
        model.release("asked")
        claude.wait_dialog("Do you want to make this edit")
        phone.sees("prices.py")
        card = phone.find("Allow")
        asked = desk.ansi()
        yield Moment(asked, painted(phone), 3.0)
        finger = (card["x"] + card["width"] / 2, card["y"] + card["height"] / 2)
        yield Moment(asked, painted(phone), 0.7, finger)
        phone.tap("Allow")
        until(lambda: "= 30" in prices.read_text(), what="the change")
        desk.wait_until(lambda screen: "Nothing else is changed." in screen)
        until(lambda: confirmed(yourcall), what="the proof")
        phone.sees("Nothing else is changed.")
        desk.settle()
        yield Moment(desk.ansi(), painted(phone), 4.5)
        phone.close()


def at_home(home: ClaudeHome, name: str) -> ClaudeHome:
    """With the project in the home, as people have it."""
    state = home.path / ".claude.json"
    project = home.path / name
    state.write_text(state.read_text().replace(str(home.project), str(project)))
    return ClaudeHome(home.path, project)


def confirmed(yourcall: Yourcall) -> bool:
    return any(line["state"] == "confirmed" for line in yourcall.http("GET", "/api/log")[1])


def painted(phone: Page) -> bytes:
    """The phone's screen, as WebP."""
    metrics = {"width": PHONE[0], "height": PHONE[1], "deviceScaleFactor": SHARP, "mobile": True}
    phone.call("Emulation.setDeviceMetricsOverride", **metrics)
    phone.js("Promise.all(document.getAnimations().map((each) => each.finished.catch(() => 0)))")
    shot = phone.call("Page.captureScreenshot", format="webp", quality=82)
    return base64.b64decode(shot["data"])


def draw(moments: list[Moment]) -> str:
    """One SVG: every moment a layer, shown in its turn by an animation. Who wants no motion sees the question."""
    margin, gap = screen_svg.MARGIN, 26.0
    wide = COLS * screen_svg.CELL_W + 2 * screen_svg.PAD
    tall = screen_svg.BAR + ROWS * screen_svg.CELL_H + 2 * screen_svg.PAD - 4
    scale = tall / PHONE[1]
    left, phone_wide = margin + wide + gap, PHONE[0] * scale
    width, height = left + phone_wide + 2 * margin, tall + 2 * margin
    total = sum(each.seconds for each in moments)
    style, layers, at = [], [], 0.0
    for number, each in enumerate(moments):
        begins, ends = 100 * at / total, 100 * (at + each.seconds) / total
        at += each.seconds
        after = f"{ends:.2f}%,100%{{opacity:0}}" if number + 1 < len(moments) else ""
        style.append(f"@keyframes m{number}{{0%{{opacity:0}}{begins:.2f}%{{opacity:1}}{after}}}")
        style.append(f"#m{number}{{opacity:0;animation:m{number} {total:g}s step-end infinite}}")
        layers.append(f'<g id="m{number}">{_desk(each.desk, wide, tall)}{_phone(each, left, margin, scale)}</g>')
    style.append("@media(prefers-reduced-motion:reduce){g[id]{animation:none!important}#m1{opacity:1}}")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" role="img" font-family="{escape(screen_svg.FONT)}" '
            f'font-size="{screen_svg.SIZE}">',
            f"<title>{escape(ABOUT)}</title>",
            f"<style>{''.join(style)}</style>",
            f'<clipPath id="phone"><rect x="{left:g}" y="{margin:g}" width="{phone_wide:g}" height="{tall:g}" '
            f'rx="{ROUND}"/></clipPath>',
            *layers,
            "</svg>",
            "",
        ]
    )


def _desk(ansi: str, wide: float, tall: float) -> str:
    screen = screen_svg.read_screen(ansi, "your terminal")
    return "\n".join(screen_svg.window(screen, screen_svg.MARGIN, wide, tall))


def _phone(moment: Moment, left: float, top: float, scale: float) -> str:
    wide, tall = PHONE[0] * scale, PHONE[1] * scale
    data = base64.b64encode(moment.phone).decode()
    parts = [
        f'<image x="{left:g}" y="{top:g}" width="{wide:g}" height="{tall:g}" clip-path="url(#phone)" '
        f'href="data:image/webp;base64,{data}"/>',
        f'<rect x="{left:g}" y="{top:g}" width="{wide:g}" height="{tall:g}" rx="{ROUND}" fill="none" '
        f'stroke="{screen_svg.EDGE}" stroke-width="3"/>',
    ]
    if moment.finger:
        x, y = left + moment.finger[0] * scale, top + moment.finger[1] * scale
        ring = 'r="24" fill="#fff" fill-opacity=".35" stroke="#fff" stroke-width="2"'
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" {ring}/>')
    return "\n".join(parts)


def main() -> int:
    subprocess.run([sys.executable, str(ROOT / "tools" / "build_app.py")], check=True)
    with tempfile.TemporaryDirectory() as place, fonts() as env:
        folder = Path(place)
        (folder / "scene").mkdir()
        with Chromium(folder / "chromium", env) as browser:
            moments = list(play(folder / "scene", browser))
    picture = draw(moments)
    if len(picture) > LARGEST:
        print(f"It has {len(picture)} bytes; at most {LARGEST} are wanted.", file=sys.stderr)
        return 1
    OUT.write_text(picture)
    print(f"{OUT.relative_to(ROOT)}: {len(moments)} moments, {len(picture)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
