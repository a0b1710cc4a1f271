"""A line that only looks alive is noticed, and nothing that comes late over it is taken for something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kit.poll import until

if TYPE_CHECKING:
    from chromium import Page
    from phone_scene import Agent, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

# Lines as a bad network makes them: `window.dumb` of them never open, and `window.drops` says what does not come
# through. For the page a long time is a short one.
LINES = """
  const Line = window.WebSocket, later = window.setTimeout, often = window.setInterval;
  window.setTimeout = (work, ms, ...more) => later(work, Math.min(ms ?? 0, 700), ...more);
  window.setInterval = (work, ms, ...more) => often(work, Math.min(ms ?? 0, 700), ...more);
  window.dumb = DUMB; window.lines = []; window.said = ""; window.late = [];
  window.WebSocket = class {
    static OPEN = 1;
    constructor(where, names) {
      window.lines.push(this);
      if (window.dumb-- > 0) return;
      this.real = new Line(where, names);
      this.real.onmessage = (event) => {
        if (this.drops?.(event.data)) window.late.push(() => this.onmessage(event));
        else this.onmessage(event);
      };
      this.real.onclose = (event) => this.onclose(event);
    }
    get readyState() { return this.real?.readyState ?? 0; }
    send(text) { window.said += text; this.real.send(text); }
    close() { this.real?.close(); }
  };
"""


def on_bad_lines(opens: Opens, dumb: int = 0) -> Page:
    page = opens()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=LINES.replace("DUMB", str(dumb)))
    page.reload()
    until(lambda: page.js("window.lines?.length"), what="the page anew")
    page.sees("Live")
    return page


def test_a_line_that_never_opens_is_given_up(opens: Opens) -> None:
    page = on_bad_lines(opens, dumb=2)
    assert page.js("window.lines.length") == 3


def test_a_line_that_has_gone_deaf_is_noticed(agent: Agent, opens: Opens) -> None:
    page = on_bad_lines(opens)
    page.js("window.lines.at(-1).drops = () => true")
    agent.bash("deafaaaaa2", "npm test")
    page.sees("npm test")
    page.sees("Live")
    lines = page.js("window.lines.length")
    page.js("new Promise((done) => setTimeout(() => setTimeout(done, 700), 700))")  # two looks
    assert page.js("window.lines.length") == lines, "a line that hears is left alone"


def test_what_comes_late_of_another_conversation_is_not_shown_in_this_one(
    agent: Agent, other: Agent, opens: Opens
) -> None:
    page = on_bad_lines(opens)
    agent.says("Words of the kites.")
    agent.begins()
    other.says("Words of the weather.")
    other.begins()
    page.js(f"location.hash = '#/s/{agent.session_id}'")
    page.sees("Words of the kites.")
    until(lambda: agent.session_id in page.js("window.said"), what="it to be watched")
    page.js("window.lines.at(-1).drops = (text) => text.includes('\"entries\"')")
    agent.says("More of the kites.")
    until(lambda: page.js("window.late.length"), what="what is on its way")
    page.js(f"location.hash = '#/s/{other.session_id}'")
    page.sees("Words of the weather.")
    until(lambda: other.session_id in page.js("window.said"), what="the other to be watched")
    shown = page.js("""(() => {
        let seen = "";
        const watcher = new MutationObserver(() => (seen += document.body.textContent));
        watcher.observe(document.body, { childList: true, subtree: true });
        window.late.splice(0).forEach((comes) => comes());
        const drawn = () => new Promise((done) => requestAnimationFrame(done));
        return drawn().then(drawn).then(() => seen + document.body.textContent);
    })()""")
    assert "of the kites" not in shown
    assert "Words of the weather." in shown


# The lists wait for the test's word.
SLOW = """
  const asks = window.fetch.bind(window);
  window.lists = [];
  window.fetch = (path, ...more) => path !== "/api/prompts" ? asks(path, ...more)
    : new Promise((comes) => window.lists.push(() => comes(asks(path, ...more))));
"""


def test_lists_that_come_after_the_line_broke_do_not_say_that_it_is_there(opens: Opens) -> None:
    page = opens()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=LINES.replace("DUMB", "0") + SLOW)
    page.reload()
    until(lambda: page.js("window.lists?.length") == 2, what="the lists to be asked for: at once, and by the feed")
    page.js("window.dumb = 999; window.lines.at(-1).real.close()")
    page.sees("No connection")
    page.js("window.lists.forEach((list) => list())")
    page.sees("All caught up")
    page.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert "Live" not in page.text()


def test_a_damaged_address_leads_to_the_inbox(yc: Yourcall, opens: Opens) -> None:
    page = opens()
    page.js("location.hash = '#/p/%E0%A4%A'")
    page.reload()
    page.sees("All caught up")


@pytest.mark.parametrize(("view", "words"), [("devices", "since "), ("rules", "No rules yet")])
def test_a_page_that_was_opened_without_a_line_fills_itself_when_it_is_back(
    opens: Opens, view: str, words: str
) -> None:
    page = opens()
    page.js("navigator.serviceWorker.ready.then(() => true)")
    until(lambda: page.js("navigator.serviceWorker.controller !== null"), what="the worker to be in charge")
    page.line(False)
    page.sees("No connection")
    page.js(f"location.hash = '#/{view}'")
    assert "yourcall ." not in page.sees("No connection to yourcall.")
    page.line(True)
    page.sees(words)
    page.loses("No connection to yourcall.")
