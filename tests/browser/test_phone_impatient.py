"""Extra taps of an impatient thumb approve nothing that nobody has looked at: in the list, on the card, by push.

An agent asks for one command after another, without a pause. A thumb answers one of them and goes on tapping at
the same spot. However many taps follow, and however fast: one answer, to the prompt the thumb was put on.
"""

# ruff: noqa: F811 - a fixture is imported, and named again by those who use it

from __future__ import annotations

import itertools
import json
import threading
import time
from typing import TYPE_CHECKING

import pytest
from chromium import signed
from phone_scene import enter
from test_phone_push import Worker, away, word, worker  # noqa: F401 - a fixture

from kit.poll import until
from kit.turns import text, tool
from real.conftest import *  # noqa: F403 - the fixtures of the real agents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chromium import Chromium, Page
    from phone_scene import Agent, Opens

    from kit.scene import Scene
    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

# From here on no time passes for the page, until it is told `goesOn()`: what comes now has come just now, however
# busy this machine is.
STILL = """(() => {
    const real = performance.now.bind(performance), now = real();
    performance.now = () => now;
    window.goesOn = () => void (performance.now = real);
})()"""

EXTRA_TAPS = (1, 3, 8, 20)
INTERVALS_S = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
# How many extra taps, this many seconds apart.
QUICK = ((3, 0.4), (1, 0.8), (8, 0.1), (20, 0.05))
RUNS = 200
PARTS = 10  # each with an agent of its own: a scripted one lives for ten minutes
PART = pytest.mark.parametrize("part", range(PARTS))


def some(part: int) -> list[tuple[int, float]]:
    """A tenth of two hundred runs; all of them have every number of taps at every interval."""
    cells = itertools.islice(itertools.cycle(itertools.product(EXTRA_TAPS, INTERVALS_S)), RUNS)
    return list(cells)[part * RUNS // PARTS : (part + 1) * RUNS // PARTS]


class Asking:
    """An agent that asks for the next command as soon as it has the answer to the last one."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.answers: list[tuple[str, str]] = []
        self._over = threading.Event()
        self._asks = threading.Thread(target=self._run, daemon=True)
        self._asks.start()

    def stop(self) -> None:
        self._over.set()
        self.agent.ends()
        self._asks.join(30)

    def _run(self) -> None:
        for number in itertools.count(1):
            held = self.agent.asks("Bash", command=command(number))
            answer = held.answer(timeout=600)
            if self._over.is_set() or answer is None:
                return
            self.answers.append((command(number), answer["hookSpecificOutput"]["decision"]["behavior"]))
            self.agent.goes_on(held)


def command(number: int) -> str:
    return f"npm run step-{number}"


@pytest.fixture
def asking(agent: Agent) -> Iterator[Asking]:
    runs = Asking(agent)
    yield runs
    runs.stop()


def tap_on(page: Page, box: dict[str, float], extra: int, interval: float) -> None:
    """One tap, and `extra` more at the same spot, a fixed time from each to the next."""
    point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    began = time.monotonic()
    for number in range(extra + 1):
        time.sleep(max(0.0, began + number * interval - time.monotonic()))  # the rhythm is what is tested
        page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
        page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def waits(yc: Yourcall, words: str) -> str:
    """The id of the open prompt for this command, once it is there."""

    def found() -> str:
        return next((one["id"] for one in yc.waiting() if one["title"] == words and one["state"] == "open"), "")

    return until(found, what=words, show=yc.waiting)


def answer_and_go_on_tapping(
    yc: Yourcall, page: Page, asking: Asking, cells: list[tuple[int, float]], *, card: bool
) -> None:
    for number, (extra, interval) in enumerate(cells, 1):
        if card:
            # Whoever answered is where they were: no tap has led to the next card.
            page.js(f"location.hash = '#/p/{waits(yc, command(number))}'")
            page.sees(command(number))
            box = page.find("Allow", ".bar")
        else:
            waits(yc, command(number))
            box = page.find("Allow", f"li.row[data-id='{waits(yc, command(number))}']")
        tap_on(page, box, extra, interval)
        # The page has seen every tap once it says so, and what it sent is with the daemon before its next request.
        page.js("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        page.js("fetch('/api/status').then((reply) => reply.status)")
        try:
            until(lambda n=number: len(asking.answers) >= n, 20)
        except AssertionError:
            # On a busy machine what we saw at rest may have moved for the page just now: look again, and tap.
            page.tap("Allow", ".bar" if card else f"li.row[data-id='{waits(yc, command(number))}']")
        waits(yc, command(number + 1))
        assert asking.answers == [(command(n), "allow") for n in range(1, number + 1)], (extra, interval)


def test_extra_taps_on_the_list_answer_nothing_else(yc: Yourcall, asking: Asking, opens: Opens) -> None:
    answer_and_go_on_tapping(yc, opens(), asking, list(QUICK), card=False)


def test_extra_taps_on_the_card_answer_nothing_else(yc: Yourcall, asking: Asking, opens: Opens) -> None:
    answer_and_go_on_tapping(yc, opens(), asking, list(QUICK), card=True)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@PART
@pytest.mark.parametrize("card", [False, True], ids=["list", "card"])
def test_extra_taps_two_hundred_times(yc: Yourcall, asking: Asking, opens: Opens, card: bool, part: int) -> None:
    answer_and_go_on_tapping(yc, opens(), asking, some(part), card=card)


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    across = one["x"] < other["x"] + other["width"] and other["x"] < one["x"] + one["width"]
    return across and one["y"] < other["y"] + other["height"] and other["y"] < one["y"] + one["height"]


def row(prompt_id: str) -> str:
    return f"li.row[data-id='{prompt_id}']"


def state(yc: Yourcall, prompt_id: str) -> str:
    return yc.http("GET", f"/api/prompts/{prompt_id}")[1]["state"]


def test_what_was_answered_keeps_its_place_and_the_others_theirs(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    held = agent.asks("Bash", command="npm test")
    first = waits(yc, "npm test")
    agent.bash("queuedaaa2", "npm run build")
    agent.bash("queuedbbb2", "npm run lint")
    page.sees("npm run lint")
    box = page.find("Allow", row(first))
    others = [page.box("Allow", row(name)) for name in ("queuedaaa2", "queuedbbb2")]
    page.touch(box)
    held.answer()
    agent.goes_on(held)
    page.sees("Allowed. The agent moved on.")
    tap_on(page, box, 4, 0.7)  # longer than a row that nobody taps on would stay
    assert [page.box("Allow", row(name)) for name in ("queuedaaa2", "queuedbbb2")] == others
    assert "Allowed. The agent moved on." in page.text()
    assert [state(yc, name) for name in ("queuedaaa2", "queuedbbb2")] == ["open", "open"]
    for name in ("queuedaaa2", "queuedbbb2"):
        page.tap("Allow", row(name))
        until(lambda name=name: state(yc, name) != "open", what="a tap that was meant")
    page.loses("Allowed. The agent moved on.")  # once nothing below it can be answered, and nobody taps


def test_what_is_new_comes_in_below(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("newbelowa2", "npm test")
    box = page.find("Allow", row("newbelowa2"))
    for number in range(3):
        agent.bash(f"newbelow{number}b", f"npm run step-{number}")
        page.sees(f"npm run step-{number}")
        assert page.box("Allow", row("newbelowa2")) == box


@pytest.mark.parametrize("answer", ["Allow", "Deny"])
def test_on_the_card_nothing_takes_the_place_of_an_answer(
    yc: Yourcall, agent: Agent, opens: Opens, answer: str
) -> None:
    page = opens(width=360, height=740)
    for name in ("placecard2", "placenext2"):
        agent.bash(name, f"npm run {name}")
    page.js("location.hash = '#/p/placecard2'")
    page.find("Allow", ".bar")
    pressed = [page.box(label, ".bar") for label in ("Allow", "Deny")]
    page.tap(answer, ".bar")
    if answer == "Deny":
        page.tap("Deny", ".sheet")
    page.sees("Next (1)")
    there = [page.box(label) for label in ("Next", "Back")]
    assert not [(a, b) for a in pressed for b in there if a and b and overlap(a, b)]
    tap_on(page, there[0] or {}, 2, 0.3)  # nor does a thumb that is quick get to the next one
    assert page.js("location.hash") == "#/p/placecard2"
    page.tap("Next")
    page.sees("npm run placenext2")
    assert state(yc, "placenext2") == "open"


def test_a_refused_tap_is_seen_and_the_next_one_after_a_second_counts(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    page.js(STILL)
    agent.bash("refuseda2x", "npm test")
    page.touch(until(lambda: page.box("Allow"), what="the button"))
    page.sees("Just appeared.")
    page.sees("Tap again in a second.")
    assert state(yc, "refuseda2x") == "open"
    page.js("goesOn()")
    page.loses("Tap again in a second.")  # it says so as long as it holds, and no longer
    page.touch(page.box("Allow") or {})
    until(lambda: state(yc, "refuseda2x") != "open", what="the answer")


# Hands the page a message of the feed, as the daemon would have sent it.
FEED = """
    const Real = WebSocket;
    window.WebSocket = class extends Real { constructor(...all) { super(...all); window.feed = this; } };
"""
CHANGES = """((prompt) => feed.onmessage({ data: JSON.stringify({
    type: "prompt", seq: 1e6, prompt: { ...prompt, history: [...prompt.history, prompt.history[0]],
    body: "npm run other", tool: { name: "Bash", input: { command: "npm run other" } },
    action: { ...prompt.action, command: "npm run other" }, version: "another" },
}) }))"""


def test_a_button_whose_prompt_has_changed_takes_no_tap(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=FEED)
    page.reload()
    page.sees("Live")
    agent.bash("changesaa2", "npm test")
    box = page.find("Allow")
    story = yc.http("GET", "/api/prompts/changesaa2")[1]
    page.js(STILL)
    page.js(f"{CHANGES}({json.dumps(story)})")
    page.sees("npm run other")
    page.touch(box, 0.01)
    page.sees("Just changed.")
    assert state(yc, "changesaa2") == "open"


def test_an_answer_to_another_version_is_refused(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    """The page shows what the daemon never asked: whatever made it so, the tap answers nothing."""
    page = opens()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=FEED)
    page.reload()
    page.sees("Live")
    agent.bash("versionaa2", "npm test")
    page.find("Allow")
    story = yc.http("GET", "/api/prompts/versionaa2")[1]
    page.js(f"{CHANGES}({json.dumps(story)})")
    page.sees("npm run other")
    page.tap("Allow")
    page.sees("The request has changed since you saw it.")
    assert state(yc, "versionaa2") == "open"


def focus(page: Page, prompt_id: str, label: str) -> None:
    code = f"""(() => {{
        const all = [...document.querySelectorAll({json.dumps(row(prompt_id) + " button")})];
        const one = all.find((each) => each.textContent.trim().startsWith({json.dumps(label)}));
        one?.focus();
        return document.activeElement === one && Boolean(one);
    }})()"""
    until(lambda: page.js(code), what="the focus", show=page.text)


def test_a_key_that_is_held_down_answers_once(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    for name in ("keyheldaa2", "keyheldbb2"):
        agent.bash(name, f"npm run {name}")
    page.find("Allow", row("keyheldbb2"))
    focus(page, "keyheldaa2", "Allow")
    page.press("Enter", 13)
    focus(page, "keyheldbb2", "Allow")
    for _ in range(30):
        page.call(
            "Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r", autoRepeat=True,
            windowsVirtualKeyCode=13,
        )  # fmt: skip
    page.release("Enter", 13)
    until(lambda: state(yc, "keyheldaa2") != "open", what="the answer by a key")
    assert state(yc, "keyheldbb2") == "open"
    page.key("Enter", 13)  # at once: as refused as a tap
    page.sees("Too quick.")
    assert state(yc, "keyheldbb2") == "open"
    page.loses("Too quick.")
    page.key("Enter", 13)
    until(lambda: state(yc, "keyheldbb2") != "open", what="a key that was meant")


def test_a_screen_reader_answers_and_not_what_has_just_come(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    """It sends a click without a finger and without a key."""
    page = opens()
    agent.bash("readeraaa2", "npm test")
    page.sees("npm test")
    click = "document.querySelector('.button.primary').click()"
    at_once = f"""new MutationObserver((_, watcher) => {{
        if (!document.querySelector(".button.primary")) return;
        watcher.disconnect();
        {click};
    }}).observe(document, {{ subtree: true, childList: true }})"""
    page.call("Page.addScriptToEvaluateOnNewDocument", source=at_once)
    page.reload()
    page.sees("Just appeared.")
    assert state(yc, "readeraaa2") == "open"
    page.loses("Just appeared.")
    page.js(click)
    until(lambda: state(yc, "readeraaa2") != "open", what="the answer")


def test_a_second_answer_of_the_same_device_is_told_so(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    first, second = opens("first"), opens("second")
    agent.bash("twiceaaaa2", "npm test")
    first.tap("Allow")
    until(lambda: state(yc, "twiceaaaa2") != "open", what="the answer")
    again = signed("""
        signedFetch("/api/prompts/twiceaaaa2/answer", { method: "POST", body: '{"option": "allow"}' })
        .then((reply) => reply.json()).then((told) => `${told.result}: ${told.detail}`)""")
    assert first.js(again) == "too_late: you already answered: Allow"
    assert second.js(again) == "too_late: already answered by first, from another device"


# --- notifications that take each other's place


def answer_notifications_and_go_on_tapping(
    yc: Yourcall, worker: Worker, asking: Asking, cells: list[tuple[int, float]]
) -> None:
    """The thumb is on the first button of the topmost notification, whichever that is by then."""
    pushed: set[str] = set()

    def push_what_is_new() -> None:
        for one in yc.waiting():
            if one["id"] not in pushed and one["state"] == "open":
                pushed.add(one["id"])
                worker.js(f"told({json.dumps(word(one['id'], text=one['title'], seen=one['version']))})")

    away(worker)
    for number, (extra, interval) in enumerate(cells, 1):
        prompt_id = waits(yc, command(number))
        push_what_is_new()
        until(lambda name=prompt_id: [one["tag"] for one in worker.shown()] == [name], what="the notification")
        worker.looks()
        began = time.monotonic()
        for tap in range(extra + 1):
            time.sleep(max(0.0, began + tap * interval - time.monotonic()))  # the rhythm is what is tested
            push_what_is_new()
            if worker.js("registration.getNotifications().then((all) => all.length)"):
                worker.tap("0")
        worker.js("turn.then(() => fetch('/api/status')).then((reply) => reply.status)")
        try:
            until(lambda n=number: len(asking.answers) >= n, 20)
        except AssertionError:
            # On a busy machine the first tap, too, may come right behind what the worker was doing: once more.
            worker.looks()
            worker.tap("0")
        waits(yc, command(number + 1))
        assert asking.answers == [(command(n), "allow") for n in range(1, number + 1)], (extra, interval)


def test_extra_taps_on_notifications_answer_nothing_else(
    yc: Yourcall,
    worker: Worker,
    asking: Asking,
) -> None:
    answer_notifications_and_go_on_tapping(yc, worker, asking, [(3, 0.4), (8, 0.1)])


@pytest.mark.soak
@pytest.mark.timeout(1800)
@PART
def test_extra_taps_on_notifications_two_hundred_times(
    yc: Yourcall,
    worker: Worker,
    asking: Asking,
    part: int,
) -> None:
    answer_notifications_and_go_on_tapping(yc, worker, asking, some(part))


def test_a_notification_that_was_tapped_too_soon_stays_and_says_so(
    yc: Yourcall,
    worker: Worker,
    agent: Agent,
) -> None:
    agent.bash("hastyaaaa2", "npm test")
    until(yc.waiting, what="the prompt")
    away(worker)
    worker.push(word("hastyaaaa2"))
    until(worker.shown, what="a notification")
    worker.js("stirredAt = Date.now(); 1")  # another one has come or gone just now
    worker.tap("0")
    (one,) = until(lambda: [n for n in worker.shown() if "too quick" in n["body"]], what="a word about it")
    assert (one["tag"], one["actions"]) == ("hastyaaaa2", ["Allow", "Deny"])
    assert one["body"].endswith("npm test")
    assert state(yc, "hastyaaaa2") == "open"
    worker.looks()
    worker.tap("0")
    until(lambda: state(yc, "hastyaaaa2") != "open", what="the answer")


def test_a_second_tap_on_a_notification_is_no_news(
    yc: Yourcall,
    worker: Worker,
    agent: Agent,
) -> None:
    """Answered in the app by this very phone: the button of the notification has nothing to complain about."""
    agent.bash("sametapaa2", "npm test")
    until(yc.waiting, what="the prompt")
    away(worker)
    worker.push(word("sametapaa2"))
    until(worker.shown, what="a notification")
    worker.js("""signedFetch("/api/prompts/sametapaa2/answer", { method: "POST", body: '{"option": "allow"}' })
        .then((reply) => reply.status)""")
    assert state(yc, "sametapaa2") != "open"
    worker.looks()
    worker.js("""globalThis.replies = 0;
        globalThis.answer = ((real) => (...all) => real(...all).finally(() => replies++))(answer); 1""")
    worker.tap("0")
    until(lambda: worker.js("replies"), what="all that follows from the tap")
    assert worker.shown() == []


# --- the real thing, once


@pytest.mark.real
def test_extra_taps_approve_no_second_command_of_the_real_claude_code(
    built: None, scene: Scene, chromium: Chromium
) -> None:
    page = enter(chromium, scene.yourcall)
    first = tool("Bash", command="touch first", description="Make the first")
    second = tool("Bash", command="touch second", description="Make the second")
    claude = scene.ask([first], [second], [text("Made both.")])
    page.sees("touch first")
    claude.wait_dialog()
    tap_on(page, page.find("Allow"), 5, 0.4)
    until(lambda: scene.made("first"), what="the first command")
    name = waits(scene.yourcall, "touch second")
    page.js("fetch('/api/status').then((reply) => reply.status)")
    assert state(scene.yourcall, name) == "open"
    assert not scene.made("second")
    page.tap("Deny", row(name))
    until(lambda: state(scene.yourcall, name) == "confirmed", what="the no")
    assert not scene.made("second")
    assert not page.errors
    page.close()


@pytest.mark.real
@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("card", [False, True], ids=["list", "card"])
def test_three_extra_taps_approve_no_next_command_of_the_real_claude_code_in_twenty_tries(
    built: None, scene: Scene, chromium: Chromium, card: bool
) -> None:
    """A thumb at 0, 0.4, 0.8 and 1.2 s, on one command after the other."""
    page = enter(chromium, scene.yourcall)
    names = [f"step-{number}" for number in range(21)]
    scene.ask(
        *([tool("Bash", command=f"touch {name}", description="Go on")] for name in names), [text("All made.")]
    )
    for name, following in itertools.pairwise(names):
        prompt_id = waits(scene.yourcall, f"touch {name}")
        if card:
            page.js(f"location.hash = '#/p/{prompt_id}'")
            page.sees(f"touch {name}")
        tap_on(page, page.find("Allow", ".bar" if card else row(prompt_id)), 3, 0.4)
        until(lambda name=name: scene.made(name), what=name)
        unseen = waits(scene.yourcall, f"touch {following}")
        page.js("fetch('/api/status').then((reply) => reply.status)")
        assert state(scene.yourcall, unseen) == "open"
        assert not scene.made(following)
    assert not page.errors
    page.close()
