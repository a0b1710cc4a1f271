"""Rules on the phone: "always, like this" is shown, made and taken back by taps; a hold is a hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kit.poll import until

if TYPE_CHECKING:
    from phone_scene import Agent, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser


def test_always_like_this_is_seen_made_and_taken_back(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.asks("Bash", command="git diff HEAD~1")
    (prompt,) = until(yc.prompts)
    page.js(f"location.hash = '#/p/{prompt['id']}'")
    page.tap("More", ".head")
    page.tap("Create rule…")
    shown = page.sees("Add this rule")
    assert "Allow commands git diff … for reading" in shown
    assert "Would have handled 1 of your last 1 request." in shown
    assert yc.http("GET", "/api/rules")[1]["rules"] == []
    page.tap("Add this rule")
    page.sees("From now on:")
    assert [rule["name"] for rule in yc.http("GET", "/api/rules")[1]["rules"]] == ["git-diff"]
    answer = agent.asks("Bash", command="git diff HEAD~2").answer()
    assert answer is not None
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    page.tap("Remove rule")
    page.sees("Rule removed.")
    assert yc.http("GET", "/api/rules")[1]["rules"] == []


def test_a_rules_hold_is_a_hold_on_the_phone(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    (yc.home / "rules.toml").write_text('[push]\ndo = "ask twice"\ncommand = "git push"\n')
    page = opens()
    held = agent.asks("Bash", command="git push origin main")
    page.sees("One of your rules requires confirmation.")
    page.tap("Hold to allow")
    page.hold("Hold", 0.9)
    answer = held.answer()
    assert answer is not None
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "allow"
