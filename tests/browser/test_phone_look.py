"""How the phone app looks, where it once looked wrong: what is loud, what can be read, what is cut."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from phone_scene import COMPARE, RULE, SEVERAL, Agent

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Tmux

if TYPE_CHECKING:
    from chromium import Page
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).resolve().parent.parent / "corpus" / "claude"
# Smaller letters than these are not read, but guessed.
READABLE = 11

LOOK = """((label, within) => {
    const all = [...document.querySelectorAll(within + " .button")];
    const one = all.find((each) => each.querySelector(".label")?.textContent === label);
    if (!one) return null;
    const { backgroundColor: ground, borderTopColor: edge } = getComputedStyle(one);
    return { ground, edge, size: parseFloat(getComputedStyle(one.querySelector(".label")).fontSize) };
})"""
NOTHING = "rgba(0, 0, 0, 0)"


def look(page: Page, label: str, within: str) -> dict[str, Any]:
    return until(lambda: page.js(f"{LOOK}({label!r}, {within!r})"), what=label, show=page.text)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_rare_no_is_the_quietest_choice_on_a_card(agent: Agent, opens: Opens, dark: bool) -> None:
    page = opens(width=360, height=740, dark=dark)
    call = {"tool_name": "Bash", "tool_input": {"command": "npm test"}, "permission_suggestions": [RULE]}
    agent.raises("PermissionRequest", "quietaaaa2", **call)
    page.js("location.hash = '#/p/quietaaaa2'")
    look(page, "Deny", ".bar")
    assert page.js(f"{LOOK}('Deny and stop', 'body')") is None  # not on the card: one tap away, behind Deny
    page.tap("Deny", ".bar")
    rare, plain = look(page, "Deny and stop", "dialog.sheet"), look(page, "Deny", "dialog.sheet")
    assert (rare["ground"], rare["edge"]) == (NOTHING, NOTHING)
    assert plain["ground"] != NOTHING
    assert rare["size"] < plain["size"]


def test_the_terminal_is_large_enough_to_be_read_and_is_seen_whole_by_a_tap(
    tmp_path: Path, yc: Yourcall, opens: Opens
) -> None:
    page = opens(width=360, height=740)
    size = "parseFloat(getComputedStyle(document.querySelector('.glass')).fontSize)"
    beyond = "((e) => e.scrollWidth - e.clientWidth)(document.querySelector('.glass'))"
    with Tmux() as tmux:
        drawn = Drawn(tmp_path, {"a": (CORPUS / "idle-empty-80x24" / "screen.txt").read_text()}, {})
        with Agent(tmp_path, yc, pane=drawn.start(tmux, 80, 24)) as agent:
            agent.begins()
            page.js(f"location.hash = '#/t/{agent.session_id}'")
            page.sees("80 × 24")
            assert page.js(size) >= READABLE
            assert page.js(beyond) > 0, "the rest is a swipe away"
            assert page.js("document.documentElement.scrollWidth") <= 360
            page.tap("The whole width")
            until(lambda: page.js(beyond) <= 0, what="the whole width", show=lambda: page.js(beyond))
            page.tap("Larger letters")
            until(lambda: page.js(size) >= READABLE, what="letters that can be read")


def test_a_hint_begins_on_a_line_of_its_own(agent: Agent, opens: Opens) -> None:
    page = opens(width=360, height=740)
    asked = {"questions": [SEVERAL, COMPARE]}
    agent.raises("PermissionRequest", "hintaaaaa2", tool_name="AskUserQuestion", tool_input=asked)
    page.js("location.hash = '#/p/hintaaaaa2'")
    page.sees("Choose any number.")
    lines = page.js("""(() => {
        const legend = document.querySelector("legend");
        const hint = [...legend.querySelectorAll(".sub")].find((one) => /any number/.test(one.textContent));
        const range = document.createRange();
        range.selectNodeContents(hint);
        return [...range.getClientRects()].map((r) => r.left - legend.getBoundingClientRect().left);
    })()""")
    assert lines == [0]


CONTRAST = """((selector) => {
    const field = document.querySelector(selector);
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).map((n) => n / 255)
            .map((n) => (n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const letters = light(getComputedStyle(field, "::placeholder").color);
    const ground = light(getComputedStyle(field).backgroundColor);
    return (Math.max(letters, ground) + 0.05) / (Math.min(letters, ground) + 0.05);
})"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_a_field_is_for_can_be_read_in_it(agent: Agent, opens: Opens, dark: bool) -> None:
    page = opens(dark=dark)
    page.js("location.hash = '#/start'")
    page.sees("Folder")
    assert page.js(f"{CONTRAST}('input.mono')") >= 4.5


def test_a_rule_that_is_offered_is_told_as_it_is_in_the_list_of_rules(agent: Agent, opens: Opens) -> None:
    page = opens(width=360, height=740)
    agent.bash("wordsaaaa2", "npm test")
    page.js("location.hash = '#/p/wordsaaaa2'")
    page.tap("More", ".head")
    page.tap("Create rule…")
    page.sees("Add this rule")
    assert "`" not in page.text()
    page.becomes("document.querySelector('.like code').textContent", "npm test")
    page.tap("Add this rule")
    page.sees("From now on")
    assert "`" not in page.text()
