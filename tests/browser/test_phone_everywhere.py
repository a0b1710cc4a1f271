"""Every view at every size, light and dark: nothing runs off the page, and axe has nothing to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_phone_shell import AXE, VIEWS, raise_all, visit

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Tmux

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chromium import Page
    from phone_scene import Agent, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

ALL = (*VIEWS, "#/c/SESSION", "#/stats", "#/batch")
SIZES = ((360, 740), (390, 844), (1280, 800))
VIOLATIONS = """axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) =>
    `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + n.failureSummary)}`))"""
# What is wider than the page, and the text it begins with.
WIDE = """[...document.querySelectorAll("main *, .head, .tabs, dialog[open]")]
    .filter((e) => e.getClientRects().length && e.getBoundingClientRect().right > innerWidth + 1)
    .filter((e) => { for (let p = e.parentElement; p; p = p.parentElement) {
        if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(p).overflowX)) return false;
    } return true; })
    .map((e) => `${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 30)}`)"""
# Two frames later, whatever depends on the size is laid out.
LAID_OUT = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture
def scene(tmp_path: Path, yc: Yourcall) -> Iterator[Agent]:
    from phone_scene import Agent

    with Tmux() as tmux:
        pane = Drawn(tmp_path, {"a": "$ \n"}, {}).start(tmux, 80, 24)
        with Agent(tmp_path, yc, pane=pane) as agent:
            yield agent


def fits(page: Page, where: str) -> None:
    page.js(LAID_OUT)
    width = page.js("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], (where, width, page.js(WIDE)[:8])


def test_large_letters_on_a_small_screen_push_nothing_off_the_page(scene: Agent, opens: Opens) -> None:
    """A page of 360 pixels at 200 %: half as wide for what is drawn, or letters twice as large."""
    page = opens(width=180, height=370)
    raise_all(scene)
    page.js("document.documentElement.style.fontSize = '100%'")
    for view in ALL:
        visit_any(page, view, scene)
        for width, size in ((180, "100%"), (360, "200%")):
            page.resize(width, 740)
            page.js(f"document.documentElement.style.fontSize = '{size}'")
            fits(page, f"{view} {width} {size}")


def visit_any(page: Page, view: str, agent: Agent) -> None:
    if view in ALL[-3:]:
        page.js(f"location.hash = '{view.replace('SESSION', agent.session_id)}'")
        until(lambda: page.js("document.querySelector('main section') !== null"), what=view)
    else:
        visit(page, view, agent)


@pytest.mark.soak
def test_every_view_at_every_size_in_light_and_dark(scene: Agent, opens: Opens) -> None:
    page = opens()
    raise_all(scene)
    page.sees("6 waiting")
    page.js(AXE.read_text())
    for view in ALL:
        visit_any(page, view, scene)
        for width, height in SIZES:
            page.resize(width, height)
            for dark in (False, True):
                page.theme(dark)
                fits(page, f"{view} {width}")
                assert page.js(VIOLATIONS) == [], (view, width, dark)
        page.resize(390, 844)
