"""Codex without the control socket: its dialogs read from the real screen and answered with verified keys."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from codex_desk import ALONE, PLAN, Desk, desk_of, untrusted

from kit.poll import until
from kit.responses_server import call, escalated, pause, say
from kit.terminal import alive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.terminal import Tmux

PATIENCE_S = 5.0  # where a socket tells too, the screen waits for three seconds


@pytest.fixture
def desk(tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> Iterator[Desk]:
    with desk_of(tmp_path, fetched("codex"), tmux) as made:
        yield made


def sessions(desk: Desk) -> list[dict[str, Any]]:
    return desk.yourcall.http("GET", "/api/sessions")[1]


def found_on_record(desk: Desk, count: int) -> None:
    """So many calls that were asked for have been found in the rollout; a person takes longer to answer."""
    until(lambda: desk.yourcall.facts().count("CallBound") == count)


def test_trust_is_given_by_a_person_and_codex_goes_on(desk: Desk) -> None:
    untrusted(desk)
    codex = desk.start(*ALONE)
    prompt = desk.yourcall.wait_prompt()
    assert (prompt["kind"], prompt["held"], prompt["cwd"]) == ("trust", True, str(desk.home.project))
    assert str(desk.home.project) in prompt["title"]
    (question,) = prompt["questions"]
    assert {o["id"]: o["effect"] for o in question["options"]} == {"trust": "allow_always", "quit": "stop"}
    shown = desk.answer(prompt, "trust")
    assert [moment["state"] for moment in shown["history"]][-1] == "confirmed"
    codex.wait_ready()
    assert until(lambda: desk.config().get("projects"))[str(desk.home.project)]["trust_level"] == "trusted"
    assert desk.yourcall.prompts() == []


def test_trust_is_refused_with_an_arrow_and_enter_and_codex_leaves(desk: Desk) -> None:
    untrusted(desk)
    codex = desk.start(*ALONE)
    prompt = desk.yourcall.wait_prompt()
    shown = desk.answer(prompt, "quit")
    assert shown["outcome"] == "stopped"
    until(lambda: not alive(codex.terminal.pid))
    assert "projects" not in desk.config()


def test_a_command_is_allowed_and_the_next_refused(desk: Desk) -> None:
    words = desk.model.script("work", [escalated("touch marker")], [escalated("touch second")], [say("Never.")])
    codex = desk.start(*ALONE)
    codex.say(words)
    first = desk.yourcall.wait_prompt()
    assert (first["kind"], first["title"]) == ("permission", "Command: touch marker")
    assert not desk.made("marker")
    found_on_record(desk, 1)
    shown = desk.answer(first, "allow")
    assert shown["history"][-1]["detail"] == "it ran"  # the rollout's word, not the screen's
    second = until(lambda: [p for p in desk.yourcall.prompts() if p["title"] == "Command: touch second"])[0]
    assert desk.made("marker")
    found_on_record(desk, 2)
    shown = desk.answer(second, "deny")
    assert (shown["outcome"], shown["history"][-1]["detail"]) == ("stopped", "the turn was stopped")
    codex.terminal.wait_until(lambda screen: "Conversation interrupted" in screen)
    assert not desk.made("second")
    until(lambda: desk.yourcall.prompts() == [])
    (session,) = sessions(desk)  # called by its own name, without a hook or a socket: it keeps its record open
    assert str(desk.home.rollouts()[0]).endswith(f"-{session['id']}.jsonl")
    assert "touch marker" in desk.yourcall.run("conversation", session["id"]).out


def test_what_the_desk_decided_is_read_from_the_record(desk: Desk) -> None:
    """A dialog that is gone from the screen does not say how it was answered."""
    words = desk.model.script("work", [escalated("touch marker")], [escalated("touch second")], [say("Never.")])
    codex = desk.start(*ALONE)
    codex.say(words)
    first = desk.yourcall.wait_prompt()
    found_on_record(desk, 1)
    codex.press("y")
    second = until(lambda: [p for p in desk.yourcall.prompts() if p["id"] != first["id"]])[0]
    until(lambda: desk.yourcall.show(first["id"])["outcome"] == "allowed")
    found_on_record(desk, 2)
    codex.press("Escape")
    until(lambda: desk.yourcall.show(second["id"])["outcome"] == "stopped")
    for prompt in (first, second):
        assert desk.yourcall.show(prompt["id"])["state"] == "desk"


def test_a_plan_is_approved_as_the_desk_does_it(desk: Desk) -> None:
    words = desk.model.script("plan", [PLAN])
    codex = desk.start(*ALONE)
    codex.wait_ready()
    codex.terminal.key("BTab")
    codex.terminal.wait_until(lambda screen: "Plan mode" in screen)
    codex.say(words)
    prompt = desk.yourcall.wait_prompt()
    assert (prompt["kind"], prompt["title"]) == ("plan", "Implement this plan?")
    assert "Add GET /health." in prompt["body"]
    (question,) = prompt["questions"]
    assert [o["effect"] for o in question["options"]] == ["allow_once", "allow_session", "deny"]
    desk.answer(prompt, "allow")
    assert desk.model.wait_for(lambda model: "Implement the plan." in model.user_texts())


def test_a_late_answer_presses_nothing_on_the_dialog_behind(desk: Desk) -> None:
    """A second key 150 ms after the first would approve the next command: so there is none."""
    words = desk.model.script("work", [escalated("touch marker")], [escalated("touch second")], [say("Done.")])
    codex = desk.start(*ALONE)
    codex.say(words)
    first = desk.yourcall.wait_prompt()
    codex.press("y")
    codex.terminal.wait_until(lambda screen: "$ touch second" in screen)
    wanted = {"option": "allow", "wait": 5}
    status, reply = desk.yourcall.http("POST", f"/api/prompts/{first['id']}/answer", wanted)
    assert (status, reply["result"] in ("bounced", "too_late")) == (409, True), reply
    second = until(lambda: [p for p in desk.yourcall.prompts() if p["title"].endswith("touch second")])[0]
    assert desk.yourcall.show(first["id"])["state"] == "desk"
    for _ in range(2):  # and one answer given twice is one key
        desk.yourcall.http("POST", f"/api/prompts/{second['id']}/answer", {"option": "allow"})
    until(lambda: desk.made("second"))
    codex.terminal.wait_until(lambda screen: "Done." in screen)
    codex.terminal.settle(0.5)
    assert [words for words in desk.model.user_texts() if not words.startswith("DO")] == []


def test_a_question_is_answered_by_the_digit_of_its_label(desk: Desk) -> None:
    options = [{"label": name, "description": f"Paint it {name}."} for name in ("Red", "Green", "Blue")]
    asked = {"id": "colour", "header": "Colour", "question": "Which colour?", "options": options}
    codex = desk.start(*ALONE)
    codex.say(desk.model.script("ask", [call("request_user_input", questions=[asked])], [say("Fine.")]))
    prompt = desk.yourcall.wait_prompt()
    assert (prompt["kind"], prompt["title"]) == ("question", "Which colour?")
    desk.answer(prompt, "Blue")
    (told,) = desk.model.wait_for(lambda model: model.outputs())
    assert "Blue" in told
    assert "Red" not in told


def test_with_the_control_socket_the_screen_raises_only_the_clients_own_pages(desk: Desk) -> None:
    """Our hooks are there too, and run by the shared server: what they tell is passed over."""
    untrusted(desk)
    assert desk.yourcall.run("setup", "codex", "--yes", "--cli", str(desk.binary)).code == 0
    codex = desk.start(joined=True)
    trust = desk.yourcall.wait_prompt()
    assert (trust["kind"], trust["session_id"].startswith("pid-")) == ("trust", True)
    assert [o["id"] for o in trust["questions"][0]["options"]] == ["trust", "back"]
    desk.answer(trust, "trust")
    review = desk.yourcall.wait_prompt()
    assert review["title"] == "Hooks need review"
    desk.answer(review, "trust")
    codex.say(desk.model.script("work", [escalated("touch marker")], [say("Done.")]))
    asked = desk.yourcall.wait_prompt()
    codex.wait_dialog("Press enter to confirm or esc to cancel")
    assert not asked["session_id"].startswith("pid-")
    until(lambda: time.time() - asked["opened_at"] > PATIENCE_S)  # long enough for the screen to speak up
    assert [prompt["id"] for prompt in desk.yourcall.prompts()] == [asked["id"]]
    desk.answer(asked, "allow")
    until(lambda: desk.made("marker"))
    codex.wait_closed()
    assert desk.yourcall.prompts() == []
    assert "PromptWithdrawn" not in desk.yourcall.facts()
    until(lambda: desk.yourcall.pause("ready"))  # one, not another from the hook
    (session,) = sessions(desk)  # the pane is no second one beside the thread's
    assert (session["id"], {link["kind"] for link in session["links"]}) == (
        asked["session_id"],
        {"socket", "tmux"},
    )
    codex.close()
    until(lambda: [link["kind"] for link in sessions(desk)[0]["links"]] == ["socket"])  # it goes on without


def test_a_form_that_closed_while_nobody_typed_at_its_desk_was_filled_in_by_us(desk: Desk) -> None:
    """Whose answer a form has got, Codex does not say; but in its terminal nobody has touched a key."""
    codex = desk.start(joined=True)
    codex.say(desk.model.script("form", [call("book_table", "mcp__demo")], [say("Booked.")]))
    tool = desk.yourcall.wait_prompt()
    until(lambda: [{each["kind"] for each in s["links"]} for s in sessions(desk)] == [{"socket", "tmux"}])
    path = f"/api/prompts/{tool['id']}/answer"
    assert desk.yourcall.http("POST", path, {"option": "allow"})[0] in (200, 202)
    form = until(lambda: [p for p in desk.yourcall.prompts() if p["kind"] == "elicitation"])[0]
    filled = {"choices": {"action": ["accept"]}, "texts": {"people": "4"}, "wait": 8}
    status, said = desk.yourcall.http("POST", f"/api/prompts/{form['id']}/answer", filled)
    assert (status, said["result"], said["detail"].endswith("nobody typed at the desk")) == (
        200,
        "confirmed",
        True,
    )
    assert '"people": 4' in desk.model.wait_for(lambda model: model.outputs())[0]


def test_a_tool_of_a_server_is_allowed_by_the_highlight(desk: Desk) -> None:
    codex = desk.start(*ALONE)
    codex.say(desk.model.script("tool", [call("add_ticket", "mcp__demo")], [say("Fine.")]))
    prompt = desk.yourcall.wait_prompt()
    assert (prompt["kind"], "add_ticket" in prompt["title"]) == ("permission", True)
    desk.answer(prompt, "allow_session")
    (told,) = desk.model.wait_for(lambda model: model.outputs())
    assert "cancel" not in told.lower()


def test_a_notice_of_a_model_is_answered(desk: Desk) -> None:
    desk.without("[notice.")
    codex = desk.start(*ALONE)
    notice = desk.yourcall.wait_prompt()
    assert (notice["kind"], [o["id"] for o in notice["questions"][0]["options"]]) == ("startup", ["try", "use"])
    desk.answer(notice, "use")
    codex.wait_ready()
    assert desk.config()["model"] == "gpt-5.5"
    codex.close()


def test_signing_in_is_left_to_the_desk(desk: Desk) -> None:
    file = desk.home.config / "config.toml"
    file.write_text("check_for_update_on_startup = false\n")
    desk.start(*ALONE)
    page = desk.yourcall.wait_prompt()
    assert (page["kind"], page["held"], page["questions"]) == ("startup", False, [])
    assert "not signed in" in page["body"]


def test_two_requests_at_once_are_answered_each_for_itself(desk: Desk) -> None:
    """Which of them is on top is not fixed; and a key too many would answer the other one."""
    both = [escalated("touch marker", "First?"), escalated("touch second", "Second?")]
    codex = desk.start(*ALONE)
    codex.say(desk.model.script("work", both, [say("Done.")]))
    first = desk.yourcall.wait_prompt()
    name = first["title"].removeprefix("Command: touch ")
    other = {"marker": "second", "second": "marker"}[name]
    desk.answer(first, "allow")
    until(lambda: desk.made(name))
    then = until(lambda: [p for p in desk.yourcall.prompts() if p["title"] == f"Command: touch {other}"])[0]
    codex.terminal.settle(1.0)
    assert not desk.made(other)
    desk.answer(then, "deny")
    codex.terminal.wait_until(lambda screen: "interrupted" in screen)
    assert not desk.made(other)


def test_a_draft_at_the_desk_outlives_an_answer_from_afar(desk: Desk) -> None:
    """Codex holds a dialog back while somebody types; the answer must neither send nor change what they wrote."""
    codex = desk.start(*ALONE)
    codex.say(desk.model.script("work", [pause("typed"), escalated("touch marker")], [say("Made it.")]))
    codex.terminal.wait_until(lambda screen: "esc to interrupt" in screen)
    codex.terminal.text("y 1 and my own words")
    codex.terminal.wait_until(lambda screen: "y 1 and my own words" in screen)
    desk.model.release("typed")
    asked = desk.yourcall.wait_prompt()
    desk.answer(asked, "allow")
    until(lambda: desk.made("marker"))
    codex.terminal.wait_until(lambda screen: "Made it." in screen and "y 1 and my own words" in screen)
    assert desk.model.user_texts() == ["DO work"]
