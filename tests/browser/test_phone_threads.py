"""Home as threads, a session as a chat, a wide page with its keys, and the first minutes on a new device."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from phone_scene import QUESTION, Agent, answered

from kit.poll import until

if TYPE_CHECKING:
    from pathlib import Path

    from chromium import Chromium, Page
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

TITLES = "[...document.querySelectorAll('.thread .name b')].map((one) => one.textContent)"
EDIT = {"old_string": "a = 1", "new_string": "a = 2"}
# Longer than the second that a button needs to be there, for whoever presses a key.
STILL = "new Promise((done) => setTimeout(done, 1300))"


def state(yc: Yourcall, prompt: str) -> str:
    return yc.http("GET", f"/api/prompts/{prompt}")[1].get("state", "")


def key(page: Page, name: str) -> None:
    code = 27 if name == "Escape" else ord(name.upper())
    page.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=name if len(name) == 1 else "", windowsVirtualKeyCode=code)  # fmt: skip # noqa: E501
    page.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_two_sessions_in_one_folder_are_told_apart_by_what_they_work_on(
    tmp_path: Path, yc: Yourcall, agent: Agent, opens: Opens, dark: bool
) -> None:
    page = opens(width=360, height=740, dark=dark)
    with Agent(tmp_path, yc) as twin:
        agent.hears("Lower the price limit\nand run the tests")
        agent.says("I'll look at the prices first.")
        agent.begins()
        twin.hears("Write the docs")
        twin.begins()
        until(
            lambda: sorted(page.js(TITLES)) == ["Lower the price limit", "Write the docs"],
            what="both titles",
            show=page.text,
        )
        assert "I'll look at the prices first." in page.sees("kite-shop · Claude")
        agent.bash("threadaaa2", "npm test")
        page.tap("npm test")
        page.sees("Claude said before")


def test_several_prompts_of_a_session_stack_and_the_rest_is_one_line_each(
    yc: Yourcall, agent: Agent, other: Agent, opens: Opens
) -> None:
    for n in range(5):
        agent.bash(f"stack{n}aaa2", f"npm run step{n}")
        until(lambda: state(yc, f"stack{n}aaa2") == "open", what="the prompt")  # noqa: B023
    other.bash("stackzaaa2", "make")
    page = opens()
    page.sees("6 waiting")
    whole = "document.querySelectorAll('.thread .row .buttons').length"
    page.becomes("document.querySelectorAll('.thread').length", 2)
    page.becomes("document.querySelectorAll('.thread .compact').length", 2)
    assert page.js(whole) == 4, "three of the one session, one of the other"
    page.tap("Review 5")
    page.sees("npm run step0")
    page.becomes("location.hash", "#/p/stack0aaa2")


def test_the_list_is_filtered(tmp_path: Path, yc: Yourcall, agent: Agent, other: Agent, opens: Opens) -> None:
    page = opens()
    with Agent(tmp_path, yc, "notes") as third, Agent(tmp_path, yc, "blog") as fourth:
        for each in (agent, other, third, fourth):
            each.begins()
        page.tap("weather-api", ".filters")
        until(lambda: page.js("document.querySelectorAll('.thread').length") == 1, what="one", show=page.text)
        page.tap("weather-api", ".filters")
        until(lambda: page.js("document.querySelectorAll('.thread').length") == 4, what="all", show=page.text)


def test_a_run_of_calls_is_one_line_and_opens(agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.hears("Look around")
    for name in ("a", "b", "c"):
        agent.does("Read", "text", file_path=f"/home/ada/{name}.py")
    agent.does("Bash", "2 failed", failed=True, command="npm test")
    agent.says("I **looked**.")
    agent.begins()
    page.js(f"location.hash = '#/s/{agent.session_id}'")
    text = page.sees("Read 3 files, ran tests")
    assert "1 failed" in text
    assert "a.py" not in text
    page.js("document.querySelector('details.run summary').click()")
    page.sees("a.py")
    until(lambda: page.js("document.querySelector('.said .markdown') !== null"), what="Markdown")
    boxed = "getComputedStyle(document.querySelector('.said .markdown')).borderTopWidth"
    assert page.js(boxed) == "0px", "what the agent says stands on the page itself"


def test_all_that_waits_is_answered_above_the_composer(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens(width=360, height=740)
    agent.says("Hello.")
    agent.begins()
    first, second = agent.bash("dockaaaaa2", "npm test"), agent.bash("dockbbbbb2", "git status")
    page.js(f"location.hash = '#/s/{agent.session_id}'")
    page.sees("2 waiting")
    # One at a time, whole; the next one comes below it.
    assert page.js("document.querySelectorAll('.dock li.row').length") == 1
    page.tap("Allow", ".dock [data-id=dockaaaaa2]")
    assert answered(first)["decision"]["behavior"] == "allow"
    page.tap("Deny", ".dock [data-id=dockbbbbb2]")
    assert answered(second)["decision"]["behavior"] == "deny"


def test_a_prompt_is_dismissed(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("dismissaa2", "npm test")
    page.js("location.hash = '#/p/dismissaa2'")
    page.tap("More", ".head")
    page.tap("Dismiss", ".sheet")
    until(lambda: yc.waiting() == [], what="the prompt to leave the list", show=page.text)
    assert yc.show("dismissaa2")["history"][-1]["detail"] == "dismissed; the agent was told nothing"


def test_a_message_is_linked_to(agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.says("The first thing.")
    for n in range(150):
        agent.says(f"Line {n} of what came then.")
    agent.begins()
    page.js(f"location.hash = '#/s/{agent.session_id}'")
    page.sees("Line 149 of")
    assert "The first thing." not in page.text()
    page.js("location.hash = '#/'")
    page.js(f"location.hash = '#/s/{agent.session_id}/0'")
    page.sees("The first thing.")
    seen = "(r => r.top > 0 && r.bottom < innerHeight)(document.querySelector('.linked').getBoundingClientRect())"
    until(lambda: page.js(f"document.querySelector('.linked') && {seen}"), what="the message in view")


def test_an_at_names_a_file_of_the_conversation(tmp_path: Path, yc: Yourcall, opens: Opens) -> None:
    from kit.drawn import Drawn
    from kit.terminal import Tmux

    page = opens()
    with Tmux() as tmux, Agent(tmp_path, yc, pane=Drawn(tmp_path, {"a": "> \n"}, {}).start(tmux, 80, 24)) as agent:
        agent.does("Read", "text", file_path=f"{agent.project}/src/prices.py")
        agent.begins()
        page.js(f"location.hash = '#/s/{agent.session_id}'")
        page.sees("prices.py")
        page.focus(".composer textarea")
        page.call("Input.insertText", text="look at @pri")
        page.tap("src/prices.py", ".panel")
        page.becomes("document.querySelector('.composer textarea').value", "look at @src/prices.py ")


def test_a_wide_page_has_rail_list_and_detail(agent: Agent, other: Agent, opens: Opens) -> None:
    page = opens(width=1280, height=800)
    agent.bash("wideaaaaa2", "npm test")
    other.says("Nothing to do.")
    other.begins()
    page.sees("prompt is waiting for you")
    page.tap("weather-api", ".thread")
    page.sees("Nothing to do.")
    left = "((q) => Math.round(document.querySelector(q).getBoundingClientRect().left))"
    rail, middle, detail = (page.js(f"{left}({q!r})") for q in ("nav", ".list-side", "main"))
    assert rail < middle < detail
    assert "npm test" in page.text(), "the list stays"
    assert page.js("document.documentElement.scrollWidth") <= 1280
    for place, words in (
        (f"c/{other.session_id}", "Changes in"),
        ("batch", "Answer several"),
        ("start", "Folder"),
    ):
        page.js(f"location.hash = '#/{place}'")
        assert "npm test" in page.sees(words), "and beside every page that one comes to from it"


KEYS = """((names) => {
    for (const key of names)
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
})"""
# A key that is pressed as soon as there is something to press.
AT_ONCE = f"""new Promise((done) => {{
    const look = () =>
        document.querySelector("[data-answer]") && (watcher.disconnect(), {KEYS}(["a"]), done(true));
    const watcher = new MutationObserver(look);
    watcher.observe(document, {{ subtree: true, childList: true }});
}})"""


def test_the_keys_of_a_wide_page_obey_the_guard(yc: Yourcall, agent: Agent, other: Agent, opens: Opens) -> None:
    page = opens(width=1280, height=800)
    page.js(f"window.pressed = {AT_ONCE}; true")
    first = agent.bash("keyaaaaaa2", "npm test")
    assert page.js("window.pressed")
    page.sees("Just ")
    other.bash("keybbbbbb2", "git status")
    page.sees("2 waiting")
    page.js(STILL)
    assert state(yc, "keyaaaaaa2") == "open"
    # On to the other one, and pressed at once: what the keys are aimed at is another thing now.
    page.js(f"{KEYS}([...'jjjjd'])")
    page.becomes("document.activeElement.closest('.row').dataset.id", "keybbbbbb2")
    page.sees("Just changed.")
    page.js(STILL)
    assert (state(yc, "keyaaaaaa2"), state(yc, "keybbbbbb2")) == ("open", "open")
    page.js(f"{KEYS}([...'kk'])")
    page.js(STILL)
    page.js(f"{KEYS}(['a'])")
    assert answered(first)["decision"]["behavior"] == "allow"
    page.js(STILL)
    assert state(yc, "keybbbbbb2") == "open"
    key(page, "?")
    page.becomes("document.querySelector('dialog[open] h2').textContent", "Keys")
    key(page, "Escape")
    page.becomes("document.querySelector('dialog[open]')", None)


@pytest.mark.parametrize("width", [360, 1280])
def test_search_finds_what_waits_and_what_was_answered(
    yc: Yourcall, agent: Agent, other: Agent, opens: Opens, width: int
) -> None:
    agent.bash("searchaaa2", "npm run ancient")
    until(
        lambda: yc.http("POST", "/api/prompts/searchaaa2/answer", {"option": "deny"})[0] == 202, what="an answer"
    )
    other.bash("searchbbb2", "make kites")
    page = opens(width=width, height=740)
    page.sees("make kites")
    page.tap("Search")
    until(lambda: page.js("document.querySelector('.palette input') === document.activeElement"), what="the field")
    page.call("Input.insertText", text="ancient")
    found = "[...document.querySelectorAll('[role=option] .once')].map((one) => one.textContent)"
    until(lambda: "npm run ancient" in page.js(found), what="the past", show=page.text)
    assert "make kites" not in page.js(found)
    page.key("Enter", 13)
    until(lambda: page.js("location.hash") == "#/p/searchaaa2", what="the prompt")


def test_the_first_minutes_end_with_a_prompt_that_was_answered_here(
    yc: Yourcall, chromium: Chromium, opens: Opens
) -> None:
    page = chromium.page(f"{yc.url}/")
    code: dict[str, Any] = yc.http("POST", "/api/pairing")[1]
    page.write("Code", code["code"])
    page.tap("Pair", "form")
    page.sees("Turn on notifications")
    page.tap("Not now")
    page.sees("home screen")
    page.tap("Continue")
    page.tap("Send a demo prompt")
    page.sees("It's here")
    page.tap("Open the prompt")
    page.tap("Yes, it works")
    (asked,) = until(lambda: yc.http("GET", "/api/log?limit=5")[1], what="the answer")
    assert asked["answer"] == "Yes, it works"
    assert not page.errors
    page.close()


def test_a_text_that_is_shared_becomes_an_instruction(yc: Yourcall, opens: Opens) -> None:
    page = opens()
    page.go(f"{yc.url}/?text=Mend%20the%20kite&url=x")
    page.sees("What should it do?")
    until(lambda: page.js("document.querySelector('textarea')?.value") == "Mend the kite\nx", what="the text")
    page.becomes("location.search", "")


def test_the_manifest_names_files_that_are_there(yc: Yourcall, opens: Opens) -> None:
    page = opens()
    manifest = json.loads(page.js("fetch('/manifest.webmanifest').then((reply) => reply.text())"))
    assert manifest["share_target"]["action"] == "/"
    drawn = page.js("fetch('/icon.svg').then((reply) => reply.text())")
    assert {"#14171d", "#f4f5f7"} == set(re.findall(r"#\w{6}", drawn)), "no dot that looks like a status light"
    pictures = [*manifest["screenshots"], *(icon for each in manifest["shortcuts"] for icon in each["icons"])]
    assert {each["form_factor"] for each in manifest["screenshots"]} == {"narrow", "wide"}
    for picture in [*pictures, {"src": "/badge-96.png", "sizes": "96x96"}]:
        size = page.js(f"""new Promise((done) => {{
            const one = new Image();
            one.onload = () => done(one.naturalWidth + "x" + one.naturalHeight);
            one.onerror = () => done("none");
            one.src = {picture["src"]!r};
        }})""")
        assert size == picture["sizes"], picture["src"]


def test_a_question_in_a_thread_is_answered_in_the_list(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.raises("PermissionRequest", "threadqaa2", tool_name="AskUserQuestion", tool_input={"questions": [QUESTION]})  # fmt: skip # noqa: E501
    page.sees("Claude has a question")
    page.tap("Black")
    assert answered(line)["decision"]["behavior"] == "allow"


def test_prompts_of_27_sessions_are_four_screens_and_what_blocks_more_stays_above(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    for n in range(26):
        agent.raises(
            "PermissionRequest", f"many{chr(97 + n)}aaaa2", session_id=str(uuid.uuid4()),
            tool_name="Bash", tool_input={"command": f"npm run step-{n}"},
        )  # fmt: skip
    agent.bash("manylast22", "npm run last")
    until(lambda: len(yc.waiting()) == 27, what="the prompts")
    page = opens()
    page.sees("npm run last")
    until(
        lambda: page.js("document.body.scrollHeight") <= 4 * 844,
        what="few screens",
        show=lambda: page.js("document.body.scrollHeight"),
    )
    assert page.js("document.querySelectorAll('li.row [data-answer=yes]').length") == 5
    assert page.js("document.querySelectorAll('.thread').length") == 27


def test_a_question_of_one_session_does_not_stand_above_a_permission_of_another(
    yc: Yourcall, agent: Agent, other: Agent, opens: Opens
) -> None:
    agent.bash("rankaaaaa2", "npm run first")
    other.bash("rankbbbbb2", "npm run second")
    agent.raises(
        "PermissionRequest", "rankccccc2", tool_name="AskUserQuestion", tool_input={"questions": [QUESTION]}
    )
    until(lambda: len(yc.waiting()) == 3, what="the prompts")
    order = [prompt["id"] for prompt in yc.http("GET", "/api/prompts")[1]]
    page = opens()
    page.sees("Signal red")
    drawn = page.js("[...document.querySelectorAll('li.row')].map((row) => row.dataset.id)")
    assert drawn == order


def test_a_pull_asks_for_the_lists_anew(agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("pullaaaaa2", "npm test")
    page.sees("npm test")
    page.asked.clear()
    for kind, y in (("touchStart", 100), ("touchMove", 140), ("touchMove", 260)):
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": 180, "y": y}])
    page.becomes("Boolean(document.querySelector('.pulled.far'))", True)
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    until(lambda: any(url.endswith("/api/prompts") for url in page.asked), what="the list")
    page.becomes("document.querySelectorAll('.pulled.far').length", 0)
