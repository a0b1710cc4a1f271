"""The rules on the phone: each in words, taken away and brought back by a tap; the brake; what a rule answered."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from phone_scene import Agent, answered

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Tmux

if TYPE_CHECKING:
    from chromium import Page
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parent.parent.parent
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
BY_HAND = """# mine
[reading]
do = "allow"
effect = "read"

# never
[no-force]
do = "deny"
command = "git push --force"
message = "Make a new branch."

[tests]
do = "allow"
command = "npm test"
uses = 3
until = 2099-01-31T18:00:00Z
"""


def names(yc: Yourcall) -> list[str]:
    return [rule["name"] for rule in yc.http("GET", "/api/rules")[1]["rules"]]


def is_clean(page: Page) -> None:
    page.js(AXE.read_text())
    found = page.js("""axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) =>
        `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + n.failureSummary)}`))""")
    assert found == []
    assert page.js("document.documentElement.scrollWidth <= innerWidth")


def test_a_rule_is_told_whole_taken_away_by_a_tap_and_brought_back(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    file = yc.home / "rules.toml"
    file.write_text(BY_HAND)
    theirs = agent.project / ".yourcall" / "rules.toml"
    theirs.parent.mkdir()
    theirs.write_text('[slowly]\ndo = "ask twice"\ncommand = "make deploy"\n')
    agent.begins()
    assert answered(agent.bash("usedaaaaa2", "npm test"))["decision"]["behavior"] == "allow"
    made = yc.http("POST", "/api/rules", {"text": '[look]\ndo = "allow"\ncommand = "git status"\n'})
    assert made[0] == 201
    page = opens(width=360, height=740)
    page.tap("Settings")
    page.tap("Rules", ".list")
    shown = page.sees("slowly")
    for words in (
        "Allow commands npm test … doing what it usually does, in every project, 3 times, until 2099-01-31",
        "Used 1 of 3 times",
        "Until Jan 31, 2099",
        "It is told: Make a new branch.",
        "Written by hand",
        "by you, on the command line",
        "Ask twice about commands make deploy …, in this project only.",
        "No expiry · From the project’s own file, in kite-shop",
    ):
        assert words in shown
    assert page.box("Remove slowly") is None
    is_clean(page)
    before = file.read_text()

    page.tap("Remove no-force")
    page.sees("It decides nothing any more.")
    assert names(yc) == ["reading", "tests", "look"]
    page.tap("Undo")
    page.loses("It decides nothing any more.")
    assert file.read_text() == before

    # Somebody else changed the rules meanwhile: their change is not undone in place of ours.
    page.tap("Remove tests")
    page.sees("It decides nothing any more.")
    assert yc.http("DELETE", "/api/rules/look")[0] == 200
    page.tap("Undo")
    page.sees("The rules were changed since: tests was not brought back.")
    assert names(yc) == ["reading", "no-force"]
    page.tap("Back")
    page.sees("Devices that may answer")


def test_a_phone_whose_clock_is_wrong_calls_no_rule_expired_that_still_decides(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    until_ = datetime.now(UTC) + timedelta(hours=1)
    (yc.home / "rules.toml").write_text(
        f'[tests]\ndo = "allow"\ncommand = "npm test"\nuntil = {until_.isoformat(timespec="seconds")}\n'
    )
    page = opens()
    ahead = "Date.now = ((now) => () => now() + 2 * 86_400_000)(Date.now.bind(Date)); window.ahead = true"
    page.call("Page.addScriptToEvaluateOnNewDocument", source=ahead)
    page.reload()
    until(lambda: page.js("window.ahead"), what="the page anew")
    page.sees("Live")
    agent.bash("clockaaaa2", "npm run other")
    page.sees("npm run other")
    assert "2 days" not in page.text()
    page.js("location.hash = '#/rules'")
    page.sees("npm test")
    assert "allows" in page.text()
    assert "expired" not in page.text()


def test_everything_waits_while_paused_and_one_tap_resumes(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    (yc.home / "rules.toml").write_text(BY_HAND)
    page = opens("phone", dark=True)
    assert answered(agent.bash("brakeaaaa2", "ls"))["decision"]["behavior"] == "allow"
    page.tap("Settings")
    page.tap("Pause all rules")
    page.sees("Rules decide nothing now")
    assert yc.http("GET", "/api/status")[1]["paused"] is True
    page.tap("Rules", ".list")
    page.sees("Paused by you")
    is_clean(page)
    page.js("location.hash = '#/'")
    page.sees("Rules are paused")
    held = agent.bash("brakebbbb2", "ls")
    page.find("Allow")
    is_clean(page)
    page.tap("Resume")
    page.loses("Rules are paused")
    assert yc.http("GET", "/api/status")[1]["paused"] is False
    page.tap("Allow")
    assert answered(held)["decision"]["behavior"] == "allow"

    page.asked.clear()
    assert yc.run("pause").code == 0  # at the desk: the phone is told, and need not ask
    page.sees("Rules are paused")
    assert not [url for url in page.asked if url.endswith("/api/status")]
    assert yc.run("resume").code == 0
    page.loses("Rules are paused")
    assert yc.run("pause").code == 0
    page.sees("Rules are paused")
    page.reload()
    page.sees("Rules are paused")
    page.line(False)
    page.sees("Trying again")
    page.tap("Resume", ".paused")
    page.sees("it is not known whether rules are on again")
    page.line(True)
    page.sees("Live")
    page.tap("Resume", ".paused")
    page.loses("Rules are paused")

    page.js("location.hash = '#/history'")
    page.sees("by rule reading")
    assert page.text().count("by rule") == 1  # the other was a person's
    is_clean(page)


def test_an_open_session_goes_on_under_its_new_id_with_what_was_typed(
    yc: Yourcall, tmp_path: Path, opens: Opens
) -> None:
    screen = (ROOT / "tests" / "corpus" / "claude" / "idle-after-answer-120x40" / "screen.txt").read_text()
    with Tmux() as tmux:
        pane = Drawn(tmp_path, {"a": screen}, {}).start(tmux)
        with Agent(tmp_path, yc, pane=pane) as agent:
            agent.says("What was said before.")
            agent.begins()
            page = opens()
            old = agent.session_id
            page.js("location.hash = '#/'")
            page.tap("kite-shop")
            page.sees("What was said before.")
            until(lambda: page.js("document.querySelector('.composer textarea') !== null"), what="the composer")
            page.focus(".composer textarea")
            page.call("Input.insertText", text="half a thought")

            agent.session_id = str(uuid.uuid4())
            agent.transcript = agent.transcript.with_name(f"{agent.session_id}.jsonl")
            agent.says("A new beginning.")
            agent.raises("SessionStart", source="clear", transcript_path=str(agent.transcript))
            until(lambda: page.js("location.hash") == f"#/s/{agent.session_id}", what="the new id")
            page.sees("A new beginning.")
            typed = "document.querySelector('.composer textarea')?.value"
            until(lambda: page.js(typed) == "half a thought", what="what was typed", show=page.text)
            assert "has ended" not in page.text()

            # An old address, as a notification may hold it, leads there too; back does not lead in a circle.
            page.js(f"location.hash = '#/s/{old}'")
            until(lambda: page.js("location.hash") == f"#/s/{agent.session_id}", what="the new id again")
            page.tap("Back")
            page.sees("All caught up")
