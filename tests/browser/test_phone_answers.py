"""Every kind of prompt, shown on a phone and answered there, against a running daemon."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from phone_scene import COMPARE, PLAN, QUESTION, RULE, SEVERAL, answered, scroll_to_the_end

from kit.poll import until
from kit.terminal import Ptys
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from phone_scene import Agent, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser


def state(yc: Yourcall, prompt_id: str) -> str:
    return yc.http("GET", f"/api/prompts/{prompt_id}")[1]["state"]


def asks(agent: Agent, request_id: str, tool: str, suggestions: list[Any] | None = None, **tool_input: Any) -> Any:
    return agent.raises(
        "PermissionRequest", request_id, tool_name=tool, tool_input=tool_input, permission_suggestions=suggestions
    )


def decided(line: Any) -> dict[str, Any]:
    return answered(line)["decision"]


def test_one_tap_in_the_list_allows_and_the_row_goes_when_the_agent_moved_on(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens("phone")
    page.sees("All caught up")
    held = agent.asks("Bash", command="npm test", description="Run the tests")
    shown = page.sees("npm test")
    assert "kite-shop" in shown
    assert "npm test" in shown
    page.tap("Allow")
    answer = held.answer()
    assert answer is not None
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    page.sees("Allow sent. Waiting for Claude…")
    assert page.box("Allow") is None  # nothing to press twice
    agent.goes_on(held)
    page.sees("Allowed. The agent moved on.")
    page.sees("All caught up")
    assert page.js("document.querySelector('li.row')") is None
    (line,) = yc.http("GET", "/api/log")[1]
    assert (line["by"], line["outcome"], line["state"]) == ("phone", "allowed", "confirmed")


def test_an_answered_prompt_goes_once_the_agent_confirmed_it_and_not_before(agent: Agent, opens: Opens) -> None:
    page = opens()
    held = agent.asks("Bash", command="npm test")
    page.tap("Allow")
    held.answer()
    page.sees("Allow sent.")
    page.js("""(() => {
        const row = document.querySelector("li.row");
        new MutationObserver(() => {
            if (row.dataset.state === "confirmed") window.told = true;
            if (!row.isConnected) window.gone ??= window.told ? "confirmed" : "unconfirmed";
        }).observe(document.body, { childList: true, subtree: true, attributes: true });
    })()""")
    assert page.js("window.gone") is None
    agent.goes_on(held)
    assert until(lambda: page.js("window.gone"), what="the row to go") == "confirmed"


def test_a_dangerous_command_needs_a_hold(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("dangeraaa2", "rm -rf build/")
    page.sees("It deletes files, or work.")
    page.tap("Hold to allow")
    page.hold("Hold", 0.3)
    assert state(yc, "dangeraaa2") == "open"
    page.hold("Hold", 0.9)
    assert decided(line)["behavior"] == "allow"


def test_a_no_needs_no_hold_and_carries_its_reason(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("reasonaaa2", "sudo reboot")
    page.tap("More choices")
    page.tap("Deny", ".bar")
    page.write("Reason (optional)", "Not during <b>work</b>.")
    page.tap("Deny", ".sheet")
    assert decided(line) == {"behavior": "deny", "message": "Not during <b>work</b>."}


def test_the_command_can_be_edited_before_it_is_allowed(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("editaaaaa2", "rm -rf build")
    page.tap("More choices")
    page.tap("More", ".head")
    page.tap("Edit the command")
    page.write("Edit the command", "ls build")
    page.tap("Allow as edited")  # no hold any more: nothing is deleted now
    decision = decided(line)
    assert decision["behavior"] == "allow"
    assert decision["updatedInput"] == {"command": "ls build"}


def test_each_button_says_what_it_does_and_a_lasting_yes_needs_a_hold(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = asks(agent, "alwaysaaa2", "Bash", [RULE], command="npm test")
    page.tap("More choices")
    page.tap("Deny", ".bar")
    page.sees("Refuses this call and stops the turn")
    page.tap("Close", ".sheet")
    page.tap("Other ways to allow")
    page.sees("from now on in this project")
    page.hold("Hold to allow and don't ask again")
    decision = decided(line)
    assert decision["behavior"] == "allow"
    assert decision["updatedPermissions"][0]["rules"] == RULE["rules"]


def test_a_change_is_shown_as_a_change(agent: Agent, opens: Opens) -> None:
    page = opens()
    path = f"{agent.project}/src/prices.py"
    line = asks(agent, "changeaaa2", "Edit", file_path=path, old_string="a = 1\nb = 50", new_string="a = 1\nb = 5")
    page.sees("Edit prices.py")
    page.becomes("document.querySelector('.diff .old mark').textContent", "50")
    page.becomes("document.querySelector('.diff .new mark').textContent", "5")
    page.becomes("document.querySelector('.diff .path').textContent", "src/prices.py")
    page.tap("Deny")
    assert decided(line)["behavior"] == "deny"


def test_a_long_command_must_be_read_before_it_can_be_allowed(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("longaaaaa2", "\n".join(f"echo line {n}" for n in range(200)))
    shown = page.sees("Not all of it: 200 lines")
    assert "line 199" not in shown
    assert page.box("Allow") is None
    page.tap("Review all of it")
    page.sees("lines not shown")
    page.find("Hold to allow")
    scroll_to_the_end(page)
    page.sees("line 199")
    page.loses("not shown")
    page.tap("Allow")
    assert decided(line)["behavior"] == "allow"


def test_a_question_is_answered_by_one_tap_in_the_list(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = asks(agent, "questaaaa2", "AskUserQuestion", questions=[QUESTION])
    page.sees("Seen from everywhere.")
    page.tap("Signal red")
    assert decided(line)["updatedInput"]["answers"] == {QUESTION["question"]: "Signal red"}


def test_a_question_takes_words_of_ones_own(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = asks(agent, "ownaaaaaa2", "AskUserQuestion", questions=[QUESTION])
    page.tap("Other")
    page.sees("Or as free text")
    page.write("Or as free text", "Green, with a tail")
    page.tap("Submit")
    assert decided(line)["updatedInput"]["answers"] == {QUESTION["question"]: "Green, with a tail"}


def test_several_questions_are_sent_together_and_only_when_all_are_answered(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    line = asks(agent, "severaaaa2", "AskUserQuestion", questions=[SEVERAL, COMPARE])
    page.tap("Answer")
    assert "A ........ 20" in page.sees("Which layout for the front page?")
    page.tap("Small")
    page.tap("Large")
    page.tap("Medium")
    page.tap("Medium")  # and off again
    page.tap("Submit")
    page.sees("Choose one.")
    assert state(yc, "severaaaa2") == "open"
    page.tap("List")
    page.tap("Submit")
    answers = decided(line)["updatedInput"]["answers"]
    assert answers == {SEVERAL["question"]: "Small, Large", COMPARE["question"]: "List"}


def test_a_plan_is_read_first_and_then_decided(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = asks(agent, "planaaaaa2", "ExitPlanMode", plan=PLAN)
    page.tap("Read the plan")
    until(lambda: page.js("document.querySelectorAll('.markdown li').length") == 3, what="the plan as Markdown")
    page.becomes("document.querySelector('.markdown h1').textContent", "Move the shop to the new prices")
    page.tap("Keep planning", ".bar")
    page.write("Reason (optional)", "Default to 25.")
    page.tap("Keep planning", ".sheet")
    assert decided(line) == {"behavior": "deny", "message": "Default to 25."}


def test_a_plan_with_a_wider_yes(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = asks(agent, "planbbbbb2", "ExitPlanMode", plan=PLAN)
    page.tap("Read the plan")
    page.tap("Other ways to allow")
    page.sees("file edits are no longer asked for until this session ends")
    page.hold("Hold to approve and accept edits")
    assert decided(line)["updatedPermissions"][0]["mode"] == "acceptEdits"


def test_a_form_is_checked_before_it_is_sent(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.form("formaaaaa2")
    page.sees("parcels asks: Where shall the parcel go?")
    page.tap("Answer")
    page.tap("Submit")
    page.sees("Required")
    page.write("1 of 5", "Ada")
    page.write("2 of 5", "12")
    page.tap("large")
    page.tap("Submit")
    page.sees("At most 9, please.")
    assert state(yc, "formaaaaa2") == "open"
    page.write("2 of 5", "3")
    page.tap("Submit")
    said = answered(line)
    assert said["action"] == "accept"
    assert said["content"] == {"name": "Ada", "count": 3, "size": "large"}


def test_a_form_can_be_declined_empty(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.form("formbbbbb2")
    page.tap("Answer")
    page.tap("Decline", ".bar")
    page.tap("Decline", ".sheet")
    assert answered(line)["action"] == "decline"


def test_what_nobody_holds_says_where_to_answer(agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.raises("Stop", last_assistant_message="All done; the release is out.")
    text = page.sees("All done; the release is out.")
    assert "Claude is done" in text


def test_the_keyboard_does_all_of_it(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("keysaaaaa2", "ls")
    page.find("Allow")
    page.js("[...document.querySelectorAll('button')].find((b) => b.innerText.startsWith('Allow')).focus()")
    page.key("Enter", 13)
    assert decided(line)["behavior"] == "allow"
    line = agent.bash("keysbbbbb2", "rm x")
    page.find("Hold to allow")
    page.js("[...document.querySelectorAll('button')].find((b) => b.textContent.includes('Hold to')).focus()")
    page.press("Enter", 13)
    time.sleep(0.9)  # how long the key is held is what is tested
    page.release("Enter", 13)
    assert decided(line)["behavior"] == "allow"


def test_every_kind_of_prompt_there_is(yc: Yourcall, opens: Opens, tmp_path: Path) -> None:
    """`yourcall demo --all` raises each kind once; the phone shows each for what it is, and answers it."""
    page = opens()
    page.sees("yourcall demo --all")
    with Ptys() as ptys:
        env = {"TERM": "xterm", **yc.env}
        demo = ptys.start([str(COMMAND), "demo", "--all"], cwd=tmp_path, env=env, cols=80, rows=40)

        def scene(words: str, answer: Callable[[], None], after: str) -> None:
            page.sees(words)
            answer()
            until(lambda: "".join(after.split()) in demo.seen(), what=after, show=demo.seen)
            page.loses(words)
            demo.key("x")

        def inside(button: str, then: Callable[[], None]) -> Callable[[], None]:
            def act() -> None:
                page.tap(button)
                then()
                page.sees("The agent moved on.")
                page.tap("Done")

            return act

        def words(label: str, text: str) -> Callable[[], None]:
            return lambda: (page.write(label, text), page.tap("Submit"))[1]

        def form() -> None:
            page.write("1 of 2", "Ada")
            page.write("2 of 2", "2")
            page.tap("Submit")

        scene("Trust this folder?", lambda: page.hold("Hold: Yes, I trust"), "then I look around")
        scene("Dark mode", lambda: page.tap("Dark mode"), "So it is: Dark mode.")
        scene("rm -rf build/", lambda: page.hold("Hold to allow"), "release 2.1 is made")
        scene("prices.py", lambda: page.tap("Deny"), "prices.py stays as it was")
        scene("Which colour shall", lambda: page.tap("Fire red"), "fire red.")
        scene("has a plan", inside("Read the plan", lambda: page.tap("Approve")), "I begin with the tick box")
        scene("Where shall the parcel go?", inside("Answer", form), "on its way: Ada, 2")
        scene("asks whether to continue", lambda: page.tap("Keep going"), "The tenth time it passes")
        scene("The demo is waiting", lambda: page.hold("Hold: y"), "I pressed y.")
        scene("has stopped", inside("Answer", words("What next?", "Try again")), "“Try again”: yes")
        scene("is done", inside("Reply", words("What next?", "Notes")), "“Notes”: gladly")
        until(lambda: demo.returncode is not None, what="the end of the demo", show=demo.seen)
        assert demo.returncode == 0
    log = yc.http("GET", "/api/log")[1]
    asked = [line for line in log if line["by"] == "phone"]
    assert {line["state"] for line in asked} == {"confirmed"}
    kinds = {
        "permission",
        "question",
        "plan",
        "trust",
        "elicitation",
        "loop",
        "startup",
        "ready",
        "problem",
        "unknown",
    }
    assert {line["kind"] for line in asked} == kinds
