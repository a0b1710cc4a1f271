"""The review of a prompt: long bodies stay smooth, and what was not shown is not allowed by a tap."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from chromium import FRAME_MS, TWO_FRAMES, Work
from phone_scene import answered, scroll_to_the_end

from kit.poll import until

if TYPE_CHECKING:
    from chromium import Page
    from phone_scene import Agent, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

FIRST_PAINT_MS = 300


def state(yc: Yourcall, prompt_id: str) -> str:
    return yc.http("GET", f"/api/prompts/{prompt_id}")[1]["state"]


def edits(agent: Agent, request_id: str, rows: int) -> None:
    """An edit of this many rows, half of them old."""
    old = "\n".join(f"value_{n} = read(settings, {n})" for n in range(rows // 2))
    new = "\n".join(f"value_{n} = read(options, {n})" for n in range(rows // 2))
    path = str(agent.project / "values.py")
    agent.raises(
        "PermissionRequest", request_id, tool_name="Edit",
        tool_input={"file_path": path, "old_string": old, "new_string": new},
    )  # fmt: skip


def test_a_change_of_20_000_rows_is_opened_and_scrolled_without_a_long_frame(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    edits(agent, "manyrows22", 20_000)
    page.sees("values.py")
    work = Work(page)
    page.js(f"location.hash = '#/p/manyrows22'; {TWO_FRAMES}")
    opened = work.since()
    assert "value_5 = read(" in page.text()
    until(lambda: page.js("document.querySelector('.diff .row code span') !== null"), what="the colours")
    work.since()
    steps: list[float] = []
    for _ in range(20):
        page.js(f"scrollBy(0, 3000); {TWO_FRAMES}")
        steps.append(work.since())
    assert page.js("document.querySelectorAll('.diff .row').length") < 300
    assert opened < FIRST_PAINT_MS
    assert max(steps) < FRAME_MS, steps


def test_what_was_not_on_the_screen_is_not_allowed_by_a_tap(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    edits(agent, "unseenaaa2", 1_000)
    page.js("location.hash = '#/p/unseenaaa2'")
    page.sees("of 1,000 lines not shown")
    page.touch(page.find("Hold to allow"))
    page.js("scrollTo(0, document.body.scrollHeight)")  # to jump to the end is not to read it
    page.sees("value_499 = read(options")
    page.touch(page.find("Hold"))
    assert state(yc, "unseenaaa2") == "open"
    page.js(f"scrollTo(0, 0); {TWO_FRAMES}")
    scroll_to_the_end(page)
    page.loses("lines not shown")
    page.tap("Allow")
    until(lambda: state(yc, "unseenaaa2") != "open", what="the answer")


# One line of a command that is some eight screens high on a small phone.
LONG_LINE = "echo " + " ".join(f"part-{n}" for n in range(980))


def jump_to_the_end(page: Page) -> None:
    page.js(f"scrollTo(0, document.body.scrollHeight); {TWO_FRAMES}")
    page.js(f"scrollTo(0, document.body.scrollHeight); {TWO_FRAMES}")


def test_a_long_line_is_read_only_when_all_of_it_was_on_the_screen(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens(width=360, height=740)
    agent.bash("oneline222", LONG_LINE)
    page.js("location.hash = '#/p/oneline222'")
    page.sees("not shown")
    jump_to_the_end(page)
    page.touch(page.find("Hold to allow", ".bar"))
    assert state(yc, "oneline222") == "open"
    page.js(f"scrollTo(0, 0); {TWO_FRAMES}")
    scroll_to_the_end(page)
    page.loses("not shown")
    page.tap("Allow", ".bar")
    until(lambda: state(yc, "oneline222") != "open", what="the answer")


def test_a_row_that_is_higher_than_the_window_is_read_from_its_top_to_its_bottom(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    """Each invisible character is shown by its number: the row is one, and several screens high."""
    page = opens(width=360, height=740)
    agent.bash("tallrow222", f"echo {chr(0x200B) * 390}")
    page.js("location.hash = '#/p/tallrow222'")
    page.sees("Not shown in full")
    jump_to_the_end(page)
    page.sees("Not shown in full")
    page.js(f"scrollTo(0, 0); {TWO_FRAMES}")
    scroll_to_the_end(page)
    page.loses("Not shown in full")


def test_a_plan_of_one_long_line_is_read_only_when_all_of_it_was_on_the_screen(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens(width=360, height=740)
    plan = " ".join(f"step-{n}" for n in range(980))
    agent.raises("PermissionRequest", "longplan22", tool_name="ExitPlanMode", tool_input={"plan": plan})
    page.js("location.hash = '#/p/longplan22'")
    page.sees("not shown")
    jump_to_the_end(page)
    page.sees("not shown")
    page.js(f"scrollTo(0, 0); {TWO_FRAMES}")
    scroll_to_the_end(page)
    page.loses("not shown")


def test_a_hold_allows_what_it_says_was_not_shown(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    text = "x" * 80_000
    agent.raises(
        "PermissionRequest", "longline22", tool_name="Write",
        tool_input={"file_path": str(agent.project / "page.min.js"), "content": text},
    )  # fmt: skip
    page.js("location.hash = '#/p/longline22'")
    page.sees("of 200 lines not shown")
    page.hold("Hold to allow")
    until(lambda: state(yc, "longline22") != "open", what="the answer")


def test_deny_opens_a_sheet_and_the_reason_goes_with_it(agent: Agent, opens: Opens) -> None:
    page = opens(width=360, height=740)
    line = agent.bash("sheetaaaa2", "npm test")
    page.js("location.hash = '#/p/sheetaaaa2'")
    page.tap("Deny", ".bar")
    page.sees("Reason (optional)")
    page.write("Reason (optional)", "Run the linter first.")
    page.tap("Deny", ".sheet")
    assert answered(line)["decision"] == {"behavior": "deny", "message": "Run the linter first."}
    shown = page.sees("Denied · ")
    assert "Reason (optional)" not in shown
    assert page.js("document.querySelector('.standing').className").split()[:2] == ["standing", "no"]


def test_an_answer_can_be_undone_for_a_moment_and_is_not_sent_before(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens("phone", at_once=False)
    line = agent.bash("undoaaaaa2", "npm test")
    page.js("location.hash = '#/p/undoaaaaa2'")
    page.tap("Allow", ".bar")
    page.sees("Allow · sending…")
    assert state(yc, "undoaaaaa2") == "open"
    page.tap("Undo", ".bar")
    page.find("Allow", ".bar")  # it is asked again, and for longer than the answer would have waited
    page.js("new Promise((done) => setTimeout(done, 3500))")
    assert state(yc, "undoaaaaa2") == "open"
    assert not [url for url in page.asked if url.endswith("/answer")]
    page.tap("Allow", ".bar")
    assert answered(line)["decision"]["behavior"] == "allow"


def test_an_answer_is_sent_at_once_when_the_page_is_left(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens("phone", at_once=False)
    agent.bash("leftaaaaa2", "npm test")
    page.js("location.hash = '#/p/leftaaaaa2'")
    page.tap("Allow", ".bar")
    page.sees("Undo")
    page.js("""Object.defineProperty(document, "hidden", { value: true });
        window.left = performance.now(); document.dispatchEvent(new Event("visibilitychange"))""")
    until(lambda: state(yc, "leftaaaaa2") != "open", what="the answer")


def test_the_next_prompt_comes_by_itself_and_takes_no_tap_that_was_meant_for_the_last(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens("phone", at_once=False)
    agent.bash("firstaaaa2", "npm run first")
    agent.bash("secondaaa2", "npm run second")
    page.sees("npm run second")
    page.js("location.hash = '#/p/firstaaaa2'")
    box = page.find("Allow", ".bar")
    page.touch(box)
    page.sees("Allow · sending…")
    page.becomes("location.hash", "#/p/firstaaaa2")
    # As soon as the next one is there, a tap where the last one was.
    page.js("""new Promise((done) => {
        const still = performance.now.bind(performance);
        new MutationObserver((_, watcher) => {
            if (!document.querySelector("[data-id=secondaaa2]")) return;
            watcher.disconnect();
            const now = still();
            performance.now = () => now;
            done();
        }).observe(document, { subtree: true, childList: true });
    })""")
    assert state(yc, "firstaaaa2") != "open"
    page.touch(box)
    page.sees("Just appeared.")
    assert state(yc, "secondaaa2") == "open"


def test_a_swipe_leads_to_the_next_prompt_and_back(agent: Agent, opens: Opens) -> None:
    page = opens()
    for name in ("swipeaaaa2", "swipebbbb2"):
        agent.bash(name, f"npm run {name}")
    page.sees("npm run swipebbbb2")
    page.js("location.hash = '#/p/swipeaaaa2'")
    page.sees(" of 2")

    def swipe(from_x: int, to_x: int) -> None:
        for kind, x in (("touchStart", from_x), ("touchMove", (from_x + to_x) // 2), ("touchMove", to_x)):
            page.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": 400}])
        page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    swipe(330, 100)
    until(lambda: page.js("location.hash") == "#/p/swipebbbb2", what="the other prompt")
    page.becomes("Boolean(document.querySelector('article[data-id=swipebbbb2]'))", True)
    swipe(60, 300)
    until(lambda: page.js("location.hash") == "#/p/swipeaaaa2", what="the first prompt again")


def test_the_focus_goes_to_what_became_of_the_answer(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("focusaaaa2", "npm test")
    page.js("location.hash = '#/p/focusaaaa2'")
    page.find("Allow", ".bar")
    page.js("document.querySelector('.bar .button.primary').focus()")
    page.key("Enter", 13)
    until(lambda: state(yc, "focusaaaa2") != "open", what="the answer")
    page.becomes("document.activeElement.className", "slot")


def test_the_focus_stays_with_the_row_that_was_answered(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    """In the list at home, and in the dock of a session: Enter on Allow leaves the focus in that row."""
    page = opens()
    agent.hears("go")
    agent.begins()
    for name, place in (("focuslist2", "#/"), ("focusdock2", f"#/s/{agent.session_id}")):
        agent.bash(name, f"npm run {name}")
        page.js(f"location.hash = '{place}'")
        row = f"li.row[data-id={name}]"
        page.find("Allow", row)
        page.js(f"document.querySelector('{row} .button.primary').focus()")
        page.key("Enter", 13)
        until(lambda name=name: state(yc, name) != "open", what="the answer")
        page.becomes("document.activeElement.dataset.id", name)
    page.js("location.hash = '#/'")


def test_a_prompt_that_is_over_does_not_go_on_waiting(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    held = agent.asks("Bash", command="npm test")
    (prompt,) = until(yc.waiting, what="the prompt")
    page.js(f"location.hash = '#/p/{prompt['id']}'")
    page.tap("Allow", ".bar")
    held.answer()
    agent.goes_on(held)
    page.sees("Allowed. The agent moved on.")
    page.js("Date.now = ((now) => () => now() + 7_200_000)(Date.now)")
    page.js("new Promise((done) => setTimeout(done, 1500))")  # the page's clock ticks every second
    assert "2 h" not in page.js("document.querySelector('.waited').textContent")


def test_several_are_answered_together_and_a_dangerous_one_never_is(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    for name in ("batchaaaa2", "batchbbbb2", "batchcccc2"):
        agent.bash(name, f"npm run {name}")
    agent.bash("batchrisk2", "rm -rf build")
    page.sees("rm -rf build")
    page.tap("Answer 3 together", ".home")
    shown = page.sees("1 more needs")
    assert "rm -rf" not in page.js("document.querySelector('.batch').innerText")
    assert "1 more needs individual review." in shown
    page.js("document.querySelector('[data-id=batchbbbb2] input').click()")
    page.tap("Allow 2", ".bar")
    for name in ("batchaaaa2", "batchcccc2"):
        until(lambda name=name: state(yc, name) != "open", what="the answers")
    assert [state(yc, name) for name in ("batchbbbb2", "batchrisk2")] == ["open", "open"]


def test_several_are_allowed_only_after_all_were_seen(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens(height=740)
    agent.bash("seenaaaaa2", "npm test")
    agent.bash("seenbbbbb2", "\n".join(f"npm run step-{n}" for n in range(100)))
    page.sees("step-5")
    page.js("location.hash = '#/batch'")
    page.sees("lines not shown")
    assert page.box("Allow", ".bar") is None  # there, but it takes no tap
    scroll_to_the_end(page)
    page.tap("Allow 2", ".bar")
    for name in ("seenaaaaa2", "seenbbbbb2"):
        until(lambda name=name: state(yc, name) != "open", what="the answers")


def test_several_are_not_allowed_while_the_middle_of_a_long_line_was_not_seen(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens(width=360, height=740)
    agent.bash("batchlong2", LONG_LINE)
    agent.bash("batchshrt2", "npm test")
    page.sees("npm test")
    page.js("location.hash = '#/batch'")
    page.sees("not shown")
    jump_to_the_end(page)
    page.sees("not shown")
    assert page.box("Allow", ".bar") is None  # there, but it takes no tap
    page.js(f"scrollTo(0, 0); {TWO_FRAMES}")
    scroll_to_the_end(page)
    page.tap("Allow 2", ".bar")
    for name in ("batchlong2", "batchshrt2"):
        until(lambda name=name: state(yc, name) != "open", what="the answers")


def test_what_a_session_changed_is_shown_file_by_file(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=n@x")
        subprocess.run(["git", *who, *words], cwd=agent.project, check=True, capture_output=True)

    lines = [f"value_{n} = {n}" for n in range(5_000)]
    path = agent.project / "values.py"
    path.write_text("\n".join(lines) + "\n")
    git("init", "-q", "-b", "main")
    git("add", "values.py")
    git("commit", "-qm", "first")
    path.write_text("\n".join(f"{line}0" for line in lines) + "\n")
    (agent.project / "<b>new<b>.txt").write_text("hello\n")
    agent.begins()
    page = opens()
    page.js(f"location.hash = '#/c/{agent.session_id}'")
    page.sees("<b>new<b>.txt")
    page.sees("+5,000 −5,000")
    page.tap("M", ".changed")
    page.sees("value_3 = 3\n")
    assert page.js("document.querySelectorAll('.diff .row').length") < 300
    told = yc.run("changes", agent.session_id, "--against", "head", "--json")
    assert {each["path"] for each in told.json["files"]} >= {"values.py", "<b>new<b>.txt"}


def test_your_time_is_drawn(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    held = agent.asks("Bash", command="npm test")
    page.tap("Allow")
    held.answer()
    agent.goes_on(held)
    until(lambda: not yc.waiting(), what="the answer to arrive")
    page.js("location.hash = '#/history'")
    page.tap("Where your time went")
    page.sees("Waiting for you")
    page.sees("kite-shop")
    page.sees("Phone or browser")
    page.becomes("document.querySelectorAll('.stats figure svg rect[class^=s]').length", 1)
    page.becomes("document.querySelectorAll('.stats .bars .groove i').length >= 2", True)
    said = "You've hit your session limit · resets 3am (UTC)"
    agent.begins()
    agent.raises("StopFailure", error="rate_limit", last_assistant_message=said)
    page.sees("Limits")
    page.sees("resets in ")
