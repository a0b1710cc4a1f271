"""What a button says is so: answers on their way, taken elsewhere, bounced, without a line, pressed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from phone_scene import QUESTION, answered

from kit.poll import until

if TYPE_CHECKING:
    import socket

    from chromium import Chromium, Page
    from phone_scene import Agent, Daemon, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser


def story(yc: Yourcall, prompt_id: str) -> dict[str, Any]:
    return yc.http("GET", f"/api/prompts/{prompt_id}")[1]


def answer_id(line: socket.socket) -> str:
    """The id of the answer that the holder of a request is to write."""
    read = b""
    while b"answer " not in read:
        read += line.recv(1 << 16)
    return read.partition(b"answer ")[2].split(b" ")[0].decode()


def row(page: Page, prompt_id: str) -> str:
    return page.js(f"""document.querySelector('li[data-id="{prompt_id}"]')?.innerText ?? ''""")


def test_each_step_is_told_and_none_is_claimed_early(agent: Agent, other: Agent, opens: Opens) -> None:
    page = opens()
    line = other.bash("stepsaaaa2", "npm run slow")
    page.tap("Allow")
    answer_id(line)  # it is here, and not written yet
    page.sees("n its way to Claude…")
    held = agent.asks("Bash", command="npm test")
    page.tap("Allow")
    held.answer()
    page.sees("Allow sent. Waiting for Claude…")
    assert "Allowed" not in page.text()
    agent.is_("busy")
    page.sees("Claude goes on. Waiting for its record…")
    assert "moved on" not in page.text()


def test_an_answer_that_bounced_brings_the_card_back_with_the_reason(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    line = agent.bash("bounceaaa2", "npm test")
    page.tap("Allow")
    line.sendall(f"unwritten {answer_id(line)} busy\n".encode())
    page.sees("Not delivered: the agent's dialog could not be seen to be open")
    assert story(yc, "bounceaaa2")["state"] == "open"
    page.tap("Deny")
    assert answered(line)["decision"]["behavior"] == "deny"


def test_answered_at_the_desk_says_so_and_takes_the_buttons_away(agent: Agent, opens: Opens) -> None:
    page = opens()
    held = agent.asks("Bash", command="npm test")
    page.find("Allow")
    agent.goes_on(held, source="user_temporary")
    page.sees("Answered at the computer at ")
    assert page.box("Allow") is None
    assert page.box("Deny") is None


def test_two_phones_one_answer(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    first, second = opens("first"), opens("second")
    held = agent.asks("Bash", command="npm test")
    first.find("Allow")
    second.find("Allow")
    first.tap("Allow")
    second.sees("Answered by first at ")
    assert second.box("Allow") is None
    held.answer()
    agent.goes_on(held)
    second.sees("Allowed by first at ")
    (line,) = yc.http("GET", "/api/log")[1]
    assert (line["by"], line["state"]) == ("first", "confirmed")


# A line that is open and says nothing, as behind a bad proxy: the browser's part, not ours.
DUMB = "window.WebSocket = class { close() {} }"


def test_a_tap_that_comes_too_late_says_so_and_changes_nothing(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    first, second = opens("first"), opens("second")
    held = agent.asks("Bash", command="npm test")
    for page in (first, second):
        page.find("Allow")
    second.js(DUMB)
    second.line(False)
    second.line(True)
    (waits,) = yc.waiting()
    first.tap("Deny")
    until(lambda: story(yc, waits["id"])["state"] != "open", what="the first answer")
    second.tap("Allow")
    second.sees("Yours came too late: already answered by first")
    assert second.box("Allow") is None
    answer = held.answer()
    assert answer is not None
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "deny"


def test_what_happened_without_a_line_is_told_when_it_is_back(
    yc: Yourcall, agent: Agent, other: Agent, opens: Opens
) -> None:
    page = opens()
    for name in ("gapaaaaaa2", "gapbbbbbb2"):
        agent.bash(name, f"npm run {name}")
        page.sees(f"npm run {name}")
    page.line(False)
    page.sees("No connection")
    # What comes first in the gap must not be the one that is skipped, nor what comes last.
    for name in ("gapaaaaaa2", "gapbbbbbb2"):
        assert yc.http("POST", f"/api/prompts/{name}/answer", {"option": "deny"})[0] == 202
    other.bash("gapccccccc", "npm run third")
    until(lambda: "gapccccccc" in [each["id"] for each in yc.waiting()], what="the third")
    page.line(True)
    page.sees("npm run third")
    until(
        lambda: "after=" in [url for url in page.asked if "/api/live" in url][-1], what="it goes on where it was"
    )
    for name in ("gapaaaaaa2", "gapbbbbbb2"):
        until(lambda: page.box("Allow", f'li[data-id="{name}"]') is None, what=f"{name} answered", show=page.text)  # noqa: B023
    page.tap("Allow", "li[data-id=gapccccccc]")
    until(lambda: story(yc, "gapccccccc")["state"] != "open", what="the third answered")


def test_an_answer_without_a_line_waits_and_is_sent_when_it_is_back(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("offaaaaaa2", "npm test")
    page.find("Allow")
    page.line(False)
    page.sees("No connection")
    page.tap("Allow")
    page.sees("“Allow” is sent when the connection is back.")
    page.line(True)
    assert answered(line)["decision"]["behavior"] == "allow"
    page.sees("Live")
    assert "waits" not in row(page, "offaaaaaa2").replace("waits\n", "")


def test_an_answer_that_waited_too_long_is_dropped_and_says_so(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("dropaaaaa2", "npm test")
    page.find("Allow")
    page.line(False)
    page.tap("Allow")
    page.sees("is sent when the connection is back.")
    yc.http("POST", "/api/prompts/dropaaaaa2/answer", {"option": "deny"})
    assert answered(line)["decision"]["behavior"] == "deny"
    page.line(True)
    page.sees("“Allow” was not sent.")
    assert "the command line" in page.text()
    states = [(m["state"], m["by"]) for m in story(yc, "dropaaaaa2")["history"]]
    assert ("answering", "cli") in states
    assert all(by != "phone" for _, by in states)


def test_an_answer_survives_that_the_app_is_closed_and_is_sent_later(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    line = agent.bash("keptaaaaa2", "npm test -- --secret")
    page.find("Allow")
    page.js("navigator.serviceWorker.ready.then(() => true)")
    until(lambda: page.js("navigator.serviceWorker.controller !== null"), what="the worker to be in charge")
    page.line(False)
    page.tap("Allow")
    page.sees("is sent when the connection is back.")
    page.reload()
    page.sees("“Allow” has been waiting for a connection")
    stored = page.js("JSON.stringify(localStorage)")
    assert "keptaaaaa2" in stored
    assert "secret" not in stored, "an agent's words are not stored"
    page.line(True)
    assert answered(line)["decision"]["behavior"] == "allow"
    until(lambda: "keptaaaaa2" not in page.js("JSON.stringify(localStorage)"), what="it to be forgotten")


def test_an_answer_from_before_is_dropped_with_a_notice_if_its_question_is_gone(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    line = agent.bash("keptbbbbb2", "npm test")
    page.find("Allow")
    page.js("navigator.serviceWorker.ready.then(() => true)")
    until(lambda: page.js("navigator.serviceWorker.controller !== null"), what="the worker to be in charge")
    page.line(False)
    page.tap("Allow")
    page.sees("is sent when the connection is back.")
    page.reload()
    page.sees("“Allow” has been waiting for a connection")
    yc.http("POST", "/api/prompts/keptbbbbb2/answer", {"option": "deny"})
    assert answered(line)["decision"]["behavior"] == "deny"
    page.line(True)
    page.sees("“Allow” was not sent.")
    assert all(moment["by"] != "phone" for moment in story(yc, "keptbbbbb2")["history"])


def test_an_answer_that_waits_can_be_taken_back(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("backaaaaa2", "npm test")
    page.find("Allow")
    page.line(False)
    page.tap("Allow")
    page.tap("Take back")
    page.line(True)
    page.sees("Live")
    page.find("Allow")
    assert story(yc, "backaaaaa2")["state"] == "open"


def test_an_answer_that_was_taken_back_is_not_sent_by_another_tab(
    yc: Yourcall, agent: Agent, opens: Opens, chromium: Chromium
) -> None:
    page = opens()
    agent.bash("tabsaaaaa2", "npm test")
    page.find("Allow")
    page.js("navigator.serviceWorker.ready.then(() => true)")
    until(lambda: page.js("navigator.serviceWorker.controller !== null"), what="the worker to be in charge")
    twin = chromium.beside(page, f"{yc.url}/")
    twin.sees("npm test")
    for tab in (page, twin):
        tab.line(False)
        tab.sees("No connection")
    page.call("Page.bringToFront")
    page.tap("Allow")
    page.sees("is sent when the connection is back.")
    twin.reload()
    twin.sees("“Allow” has been waiting for a connection")
    page.tap("Take back")
    twin.loses("“Allow” has been waiting for a connection")
    twin.line(True)
    twin.sees("Live")
    twin.find("Allow")
    assert story(yc, "tabsaaaaa2")["state"] == "open"


def test_a_double_tap_answers_once_and_nothing_else(
    yc: Yourcall, agent: Agent, other: Agent, opens: Opens
) -> None:
    page = opens()
    held = agent.asks("Bash", command="npm test")
    page.sees("npm test")
    other.bash("doublebbb2", "npm run other")
    page.sees("npm run other")
    box = page.find("Allow")
    for _ in range(4):
        page.touch(box, 0.01)
    held.answer()
    agent.goes_on(held)
    rows = "[...document.querySelectorAll('.rows')].map((each) => each.innerText).join()"
    until(lambda: "npm test" not in page.js(rows), what="the answered row to go", show=page.text)
    page.touch(box, 0.01)  # where the button was, right after the list moved: another one is there now
    assert story(yc, "doublebbb2")["state"] == "open"
    (line,) = yc.http("GET", "/api/log")[1]
    assert [m["state"] for m in story(yc, line["id"])["history"]].count("answering") == 1


def test_a_new_prompt_moves_no_button(agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("stillaaaa2", "npm test")
    before = page.find("Allow", "li[data-id=stillaaaa2]")
    for n in range(5):
        agent.bash(f"still{n}bbb2", f"npm run step{n}")
    page.sees("step4")
    assert page.box("Allow", "li[data-id=stillaaaa2]") == before


def test_nothing_moves_while_a_finger_is_down_and_a_moved_button_takes_no_press(
    yc: Yourcall, agent: Agent, other: Agent, opens: Opens
) -> None:
    page = opens()
    held = agent.asks("AskUserQuestion", questions=[QUESTION])  # a row that loses a whole stack of buttons
    page.sees("Signal red")
    shape = {"question": "Which shape?", "header": "Shape", "multiSelect": False}
    shape["options"] = [{"label": "Round", "description": ""}, {"label": "Square", "description": ""}]
    tool_input = {"questions": [shape]}  # a question too: a permission would be put above
    other.raises("PermissionRequest", "fingerbbb2", tool_name="AskUserQuestion", tool_input=tool_input)
    page.sees("Which shape?")
    box = page.find("Round", "li[data-id=fingerbbb2]")
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": 300, "y": 24}])
    agent.goes_on(held, source="user_temporary")
    page.sees("Answered at the computer")
    before = page.js("performance.now()")
    until(lambda: page.js("performance.now()") > before + 500, what="half a second, in which the list could move")
    now = page.box("Round", "li[data-id=fingerbbb2]")
    assert now is not None
    assert now["y"] == box["y"]
    assert page.box("Signal red") is None
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    moved = until(
        lambda: (to := page.box("Round", "li[data-id=fingerbbb2]")) and to["y"] < now["y"] and to,
        what="the list to close up",
    )
    page.touch(moved, 0.01)  # a tap that was aimed at what had been there
    assert story(yc, "fingerbbb2")["state"] == "open"
    page.tap("Round", "li[data-id=fingerbbb2]")
    until(lambda: story(yc, "fingerbbb2")["state"] != "open", what="a tap on a button at rest to count")


def test_the_feed_comes_back_after_the_daemon_was_away(yc: Daemon, agent: Agent, opens: Opens) -> None:
    page = opens()
    page.sees("All caught up")
    held = agent.asks("Bash", command="npm test")
    page.find("Allow")
    port = int(yc.url.rpartition(":")[2])
    yc.stop()
    page.sees("No connection")
    yc.start_on(port)
    page.sees("Live")
    page.tap("Allow")
    answer = held.answer()
    assert answer is not None
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "allow"


# Lists that take their time, as on a bad line: those from the first one in `HOLDS` on wait for the test's word.
LISTS = """
  const asks = window.fetch.bind(window), Line = window.WebSocket;
  window.told = ""; window.lists = []; window.holds = HOLDS;
  window.fetch = (path, ...more) => {
    const reply = asks(path, ...more);
    if (path !== "/api/prompts") return reply;
    // Without the header that says how far it goes: then the feed asks again.
    if (window.holds-- > 0) return reply.then((first) => first.text()).then((text) => new Response(text));
    return new Promise((comes, fails) => window.lists.push({ comes: () => comes(reply), fails }));
  };
  window.WebSocket = class extends Line {
    constructor(...where) {
      super(...where);
      this.addEventListener("message", ({ data }) => (window.told += data));
    }
  };
"""


def test_what_came_while_the_lists_failed_does_not_hide_the_rest(agent: Agent, other: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("listaaaaa2", "npm run first")
    page.sees("npm run first")
    page.call("Page.addScriptToEvaluateOnNewDocument", source=LISTS.replace("HOLDS", "0"))
    page.reload()
    until(lambda: page.js("window.lists?.length") == 2, what="both lists to be asked for")
    other.bash("listbbbbb2", "npm run second")
    until(lambda: "listbbbbb2" in page.js("window.told"), what="the second, over the feed")
    page.js("window.holds = 99; window.lists.forEach((list) => list.fails(new TypeError('no line')))")
    page.sees("npm run second")
    page.sees("npm run first")
    page.sees("Live")


def test_a_list_from_before_the_answer_does_not_say_that_it_came_back(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("listccccc2", "npm test")
    page.sees("npm test")
    page.call("Page.addScriptToEvaluateOnNewDocument", source=LISTS.replace("HOLDS", "1"))
    page.reload()
    until(lambda: page.js("window.lists?.length") == 1, what="the second list to be asked for")
    page.tap("Allow")
    answer_id(line)
    page.sees("n its way to Claude…")
    page.js("window.lists.forEach((list) => list.comes())")
    page.sees("Live")
    page.sees("n its way to Claude…")
    assert "Not delivered" not in page.text()


# A feed that opens late, as on a slow line: the page's first ones wait for the test's word.
LATE = """
  const Line = window.WebSocket;
  window.opens = [];
  window.WebSocket = class extends EventTarget {
    constructor(where, names) {
      super();
      const opens = () => {
        this.real = new Line(where, names);
        this.real.onmessage = (event) => this.onmessage(event);
        this.real.onclose = (event) => this.onclose(event);
      };
      // What waited for longer than its ticket is good for is refused, and another line is tried.
      if (window.free) opens();
      else window.opens.push(opens);
    }
    get readyState() { return this.real?.readyState ?? 0; }
    send(text) { this.real.send(text); }
    close() { this.real?.close(); }
  };
"""


def test_what_was_answered_and_ended_before_the_feed_opened_is_told_to_its_end(agent: Agent, opens: Opens) -> None:
    page = opens()
    held = agent.asks("Bash", command="npm test")
    page.sees("npm test")
    page.call("Page.addScriptToEvaluateOnNewDocument", source=LATE)
    page.reload()
    until(lambda: page.js("window.opens?.length"), what="the page anew")
    page.tap("Allow")
    assert held.answer() is not None
    agent.goes_on(held)
    (line,) = until(lambda: ended(agent.yourcall), what="its end, on record")
    assert line["by"] == "phone"
    page.js("window.free = true; window.opens.forEach((open) => open())")
    page.sees("Live")
    page.sees("All caught up")


def ended(yc: Yourcall) -> list[dict[str, Any]]:
    return [line for line in yc.http("GET", "/api/log")[1] if line["state"] == "confirmed"]


# Nothing but the one prompt comes through, as on a line that is almost gone; then not even the answer.
BARELY = """
  const asks = window.fetch.bind(window), Line = window.WebSocket;
  window.bad = true;
  window.fetch = (path, init) => window.bad && !(init?.method !== "POST" && /^.api.prompts./.test(path))
    ? Promise.reject(new TypeError("no line")) : asks(path, init);
  window.WebSocket = class extends Line {
    constructor(where, names) { super(window.bad ? where.replace("/api/live", "/api/nowhere") : where, names); }
  };
"""


def test_an_answer_on_the_only_card_that_came_through_is_sent_when_the_line_is_back(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    line = agent.bash("barelyaaa2", "npm test")
    page.sees("npm test")
    page.call("Page.addScriptToEvaluateOnNewDocument", source=BARELY)
    page.js("location.hash = '#/p/barelyaaa2'")
    page.reload()
    until(lambda: page.js("window.bad"), what="the page anew")
    page.tap("Deny", ".bar")
    page.write("Reason (optional)", "not now")
    page.tap("Deny", ".sheet")
    page.sees("is sent when the connection is back.")
    page.js("window.bad = false")
    decision = answered(line)["decision"]
    assert (decision["behavior"], decision["message"].count("not now")) == ("deny", 1)
    until(lambda: "barelyaaa2" not in page.js("JSON.stringify(localStorage)"), what="it to be forgotten")


# An answer arrives, but neither the reply to it nor anything else does: the line broke in between.
BROKE = """
  window.bad = true;
  window.fetch = ((asks) => async (path, init) => {
    if (!window.bad) return asks(path, init);
    if (/answer$/.test(path)) await asks(path, init);
    throw new TypeError("no line");
  })(window.fetch.bind(window));
  window.WebSocket = ((Line) => class extends Line {
    constructor(where, names) { super(window.bad ? where.replace("/api/live", "/api/nowhere") : where, names); }
  })(window.WebSocket);
"""


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_an_answer_that_did_arrive_before_the_desk_won_is_not_said_to_be_unsent(
    yc: Yourcall, agent: Agent, opens: Opens, closed: bool
) -> None:
    page = opens()
    held = agent.asks("Bash", command="npm test")
    page.find("Allow")
    page.js("navigator.serviceWorker.ready.then(() => true)")
    until(lambda: page.js("navigator.serviceWorker.controller !== null"), what="the worker to be in charge")
    page.js(BROKE)
    for up in (False, True):  # the feed that is open breaks, too
        page.line(up)
    (waits,) = yc.waiting()
    page.sees("No connection")
    page.tap("Allow")
    page.sees("is sent when the connection is back.")
    assert held.answer() is not None
    if closed:
        page.line(False)
        page.reload()
        page.sees("“Allow” has been waiting for a connection")
    agent.goes_on(held, source="user_temporary")
    until(lambda: story(yc, waits["id"])["state"] == "desk", what="the desk to have won")
    page.line(True)
    page.js("window.bad = false")
    page.sees("It is not known whether “Allow” arrived in time.")
    page.sees("Answered at the computer")
    assert "was not sent" not in page.text()


# The first answer is slower than its own repetition: it arrives just before that, and nobody hears the reply.
OVERTAKEN = """
  window.tries = 0;
  window.fetch = ((asks) => {
    let first;
    return async (path, init) => {
      if (!/answer$/.test(path)) return asks(path, init);
      if (window.tries++ === 0) {
        first = () => asks(path, init);
        throw new TypeError("no line");
      }
      await first();
      return asks(path, init);
    };
  })(window.fetch.bind(window));
"""


def test_an_answer_that_was_repeated_is_not_told_to_be_late_behind_itself(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    line = agent.bash("againaaaa2", "npm test")
    page.find("Allow")
    page.js(OVERTAKEN)
    page.tap("Allow")
    assert answered(line)["decision"]["behavior"] == "allow"
    until(lambda: page.js("window.tries") == 2, what="the second try")
    until(lambda: len(story(yc, "againaaaa2")["history"]) > 2, what="it to be on record")
    page.sees("n its way to Claude…")
    page.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert "too late" not in page.text()


# An answer whose fate is the test's to decide.
HELD = """
  window.fetch = ((asks) => (path, ...more) => /answer$/.test(path)
    ? new Promise((_, fails) => (window.breaks = () => fails(new TypeError("no line")))) : asks(path, ...more)
  )(window.fetch.bind(window))
"""


def test_an_answer_that_breaks_off_as_the_phone_is_unpaired_is_not_kept(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    agent.bash("goneaaaaa2", "npm test")
    page.find("Allow")
    page.js(HELD)
    page.tap("Allow")
    until(lambda: page.js("Boolean(window.breaks)"), what="the answer to leave")
    (device,) = yc.http("GET", "/api/devices")[1]
    yc.http("DELETE", f"/api/devices/{device['id']}")
    page.sees("Pair this device")
    page.js("window.breaks(); new Promise((done) => requestAnimationFrame(done))")
    assert "goneaaaaa2" not in page.js("JSON.stringify(localStorage)")
