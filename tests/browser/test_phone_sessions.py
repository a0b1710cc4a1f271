"""Sessions on the phone: the conversation, however long; the composer; the terminal; the context of a card."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import FRAME_MS, TWO_FRAMES, Work
from phone_scene import QUESTION, Agent, give_all_scopes

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Tmux

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chromium import Chromium, Page
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).resolve().parent.parent / "corpus" / "claude"
ICON = Path(__file__).resolve().parent.parent.parent / "web" / "public" / "icon-192.png"
EDIT = {"file_path": "/p/prices.py", "old_string": "LIMIT = 50\nWRAP = 3", "new_string": "LIMIT = 30\nWRAP = 3"}
ANSWERED = (
    'Your questions have been answered: "Which colour shall the kite have?"="Signal red". You can now go on.'
)

# A block is 20 entries and a reach of 1,600 px each way: some 200 entries, whatever there is in all.
MOST_DRAWN = 400
# All that its first page needs, of which no frame has more than a part.
OPENED_MS = 300


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


def talk(page: Page, agent: Agent, words: str) -> None:
    page.js(f"location.hash = '#/s/{agent.session_id}'")
    page.sees(words)


def test_a_conversation_is_told_with_its_calls_changes_and_answered_questions(agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.hears("Lower the limit, please.")
    agent.says("I will change **prices.py** <b onclick=alert(1)>now</b>.")
    agent.does("Edit", "The file has been updated.", **EDIT)
    agent.does("Bash", "no such file", failed=True, command="cat nothing")
    agent.does("AskUserQuestion", ANSWERED, questions=[QUESTION])
    agent.begins()
    talk(page, agent, "Lower the limit, please.")
    until(lambda: page.js("document.querySelector('.talk strong')?.textContent") == "prices.py", what="Markdown")
    assert page.js("document.querySelectorAll('.talk b[onclick], .talk [onclick]').length") == 0
    page.sees("Signal red")
    assert not page.js("document.querySelector('.asked-card').open")
    page.tap("Which colour")
    page.sees("○ Black")
    assert page.js(
        "[...document.querySelectorAll('.asked-card li.on')].map((e) => e.innerText.split('\\n')[0])"
    ) == ["● Signal red"]
    page.js("document.querySelectorAll('details.run').forEach((one) => (one.open = true))")
    page.tap("Edit /p/prices.py")
    marks = "[...document.querySelectorAll('.did mark')].map((e) => e.textContent)"
    until(lambda: page.js(marks) == ["50", "30"], what="the words that changed", show=page.text)
    page.becomes("document.querySelectorAll('.did.failed').length", 1)
    page.call("Network.setBlockedURLs", urls=["*/conversation*after=*"])
    agent.says("And what came later.")  # told by the feed, as it is added: nothing is asked for
    page.sees("And what came later.")
    agent.hears("مرحبا بالعالم")
    page.sees("مرحبا")
    page.becomes("getComputedStyle([...document.querySelectorAll('.you pre')].at(-1)).direction", "rtl")


def test_pictures_of_a_conversation_are_seen(agent: Agent, opens: Opens) -> None:
    page = opens()
    data = base64.b64encode(ICON.read_bytes()).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    acts = {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": data}}
    words = {"type": "text", "text": "What is this?"}
    agent._writes({"type": "user", "message": {"role": "user", "content": [words, image, acts]}})
    agent.begins()
    talk(page, agent, "What is this?")
    seen = "[...document.querySelectorAll('.said img')].map((one) => one.naturalWidth)"
    until(lambda: page.js(seen) == [192], what="the picture, and nothing that could act", show=page.text)


def scrolled_to_the_beginning(page: Page, first: str, deadline: float) -> list[int]:
    """Flick up until the first words are there; how many entries were drawn at each look."""
    drawn: list[int] = []
    while time.monotonic() < deadline:
        drawn.append(page.js("document.querySelectorAll('.block > *').length"))
        page.js("scrollTo(0, Math.max(0, scrollY - 4000))")
        if page.js("scrollY") < 100 and first in page.text():
            return drawn
        page.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    raise AssertionError(f"not at the beginning in time, at {page.js('scrollY')}: {page.text()[:300]}")


def long_talk(agent: Agent, entries: int) -> None:
    with agent.transcript.open("a") as file:
        for n in range(entries):
            text = f"This is entry {n} of many." + (" It is a longer one." * 12 if n % 7 == 0 else "")
            content = [{"type": "text", "text": text}]
            line = {"type": "assistant", "message": {"role": "assistant", "content": content}}
            file.write(json.dumps({**line, "timestamp": "2026-01-01T00:00:00Z"}) + "\n")
    agent.begins()


@pytest.mark.parametrize(
    "many", [1_500, pytest.param(50_000, marks=[pytest.mark.soak, pytest.mark.timeout(1_500)])]
)
def test_a_long_conversation_draws_only_what_is_near(agent: Agent, opens: Opens, many: int) -> None:
    page = opens()
    long_talk(agent, many)
    until(lambda: page.js("document.querySelector('.thread') !== null"), what="its thread", show=page.text)
    work = Work(page)
    talk(page, agent, f"This is entry {many - 1} of many.")
    assert work.since() < OPENED_MS
    at_end = "innerHeight + scrollY >= document.body.scrollHeight - 2"
    until(
        lambda: page.js(at_end) and page.js("Boolean(document.querySelector('.talk .markdown'))"), what="its end"
    )
    # What is drawn late, just when a scroll of ours is told, takes nobody away from the end.
    page.js("""
        window.late = document.querySelector('.blocks').lastElementChild;
        late.style.minHeight = late.offsetHeight + 500 + 'px';
        dispatchEvent(new Event('scroll'));
    """)
    until(lambda: page.js(at_end), what="its end again")
    page.js("late.style.minHeight = ''")
    # What is read stays in its place while earlier pages come in above it.
    page.js("scrollTo(0, 600)")
    seen = "[...document.querySelectorAll('.block > *')].find((e) => e.getBoundingClientRect().top > 100)"
    page.js(f"window.held = {seen}; window.was = held.getBoundingClientRect().top; window.y = scrollY")
    until(lambda: page.js("scrollY > window.y"), what="an earlier page to come")
    until(
        lambda: page.js("document.querySelector('.button.text.wide')?.disabled === false"), what="it to be there"
    )
    assert abs(page.js("held.isConnected ? held.getBoundingClientRect().top - was : 0")) < 3
    drawn = scrolled_to_the_beginning(page, "This is entry 0 of many.", time.monotonic() + many / 50 + 30)
    assert max(drawn) < MOST_DRAWN, max(drawn)
    # A flick through all of it: no frame waits for more than a few blocks.
    work, steps = Work(page), list[float]()
    for _ in range(20):
        page.js(f"scrollBy(0, 900); {TWO_FRAMES}")
        steps.append(work.since())
    assert max(steps) < FRAME_MS, steps


def test_a_draft_survives_and_commands_and_history_are_at_hand(
    tmp_path: Path, yc: Yourcall, tmux: Tmux, opens: Opens
) -> None:
    pane = Drawn(tmp_path, {"idle": (CORPUS / "idle-empty-80x24" / "screen.txt").read_text()}, {}).start(
        tmux, 80, 24
    )
    page = opens()
    with Agent(tmp_path, yc, pane=pane) as agent:
        agent.begins()
        talk(page, agent, "kite-shop")
        focus = "document.querySelector('.composer textarea').focus()"
        until(lambda: page.js("Boolean(document.querySelector('.composer textarea'))"), what="the composer")
        page.js(focus)
        page.call("Input.insertText", text="half a thought")
        page.reload()
        until(
            lambda: page.js("document.querySelector('.composer textarea')?.value") == "half a thought",
            what="the draft after a reload",
        )
        page.js(f"{focus}; document.execCommand('selectAll')")
        page.call("Input.insertText", text="/comp")
        page.tap("/compact")
        page.becomes("document.querySelector('.composer textarea').value", "/compact")
        page.becomes("document.querySelector('.check input').checked", True)
        page.tap("Sent before")
        page.sees("What you send from this device")
        # On glass Enter makes a new line, and sends nothing.
        page.js(focus)
        page.key("Enter", 13)
        assert page.js("document.querySelector('.composer textarea').value").startswith("/compact")
        assert "no sign" not in page.text().lower()


def test_two_tabs_keep_each_others_drafts(
    tmp_path: Path, yc: Yourcall, tmux: Tmux, opens: Opens, chromium: Chromium
) -> None:
    idle = (CORPUS / "idle-empty-80x24" / "screen.txt").read_text()
    (tmp_path / "two").mkdir()
    panes = [Drawn(folder, {"idle": idle}, {}).start(tmux, 80, 24) for folder in (tmp_path, tmp_path / "two")]
    page = opens()
    twin = chromium.beside(page, f"{yc.url}/")
    twin.sees("Live")
    value = "document.querySelector('.composer textarea')?.value"
    with (
        Agent(tmp_path, yc, pane=panes[0]) as agent,
        Agent(tmp_path, yc, "weather-api", pane=panes[1]) as other,
    ):
        for tab, mine in ((page, agent), (twin, other)):
            mine.begins()
            tab.js(f"location.hash = '#/s/{mine.session_id}'")
            until(lambda: tab.js(value) == "", what="the composer", show=tab.text)  # noqa: B023
            tab.call("Page.bringToFront")
            tab.focus(".composer textarea")
            tab.call("Input.insertText", text=f"for {mine.project.name}")
        # What is typed in one is what the other shows for the same session, without a reload, and stays.
        page.js(f"location.hash = '#/s/{other.session_id}'")
        until(lambda: page.js(value) == "for weather-api", what="the twin's draft", show=lambda: page.js(value))
        twin.reload()
        until(lambda: twin.js(value) == "for weather-api", what="its own draft", show=lambda: twin.js(value))
        twin.js(f"location.hash = '#/s/{agent.session_id}'")
        until(lambda: twin.js(value) == "for kite-shop", what="the first tab's draft", show=lambda: twin.js(value))
        # One that is emptied is empty in both: what was sent from one tab is not offered again by the other.
        twin.js("document.querySelector('.composer textarea').select()")
        twin.key("Backspace", 8)
        until(lambda: twin.js(value) == "", what="an empty box")
        page.js(f"location.hash = '#/s/{agent.session_id}'")
        until(lambda: page.js(value) == "", what="an empty box", show=lambda: page.js(value))
        assert not twin.errors


def test_a_session_that_opens_in_the_background_is_whole_once_it_is_looked_at(
    yc: Yourcall, agent: Agent, opens: Opens, chromium: Chromium
) -> None:
    page = opens()
    agent.begins()
    agent.says("The limit is 30 now.")
    twin = chromium.beside(page, f"{yc.url}/")
    twin.sees("Live")
    twin.call("Page.bringToFront")
    page.becomes("document.hidden", True)
    talk(page, agent, "The limit is 30 now.")
    page.becomes("Boolean(document.querySelector('.composer, .bar'))", True)
    asked = [url for url in page.asked if url.endswith("/reviews")]
    assert not asked
    assert not page.errors
    page.call("Page.bringToFront")
    until(lambda: any(url.endswith("/reviews") for url in page.asked), what="the reviews of the session")
    assert not page.errors


def test_a_file_is_uploaded_privately_and_told_as_a_path(
    tmp_path: Path, yc: Yourcall, tmux: Tmux, opens: Opens
) -> None:
    pane = Drawn(tmp_path, {"idle": (CORPUS / "idle-empty-80x24" / "screen.txt").read_text()}, {}).start(
        tmux, 80, 24
    )
    page = opens()
    with Agent(tmp_path, yc, pane=pane) as agent:
        agent.begins()
        talk(page, agent, "kite-shop")
        until(lambda: page.js("Boolean(document.querySelector('input[type=file]'))"), what="the composer")
        page.call("DOM.enable")
        root = page.call("DOM.getDocument")["root"]["nodeId"]
        node = page.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
        page.call("DOM.setFileInputFiles", nodeId=node, files=[str(ICON)])
        until(lambda: page.box("Send"), what="the upload to be done", show=page.text)
        (kept,) = (yc.home / "uploads").iterdir()
        assert kept.read_bytes() == ICON.read_bytes()
        assert kept.stat().st_mode & 0o777 == 0o600
        shown = (
            "(() => { const i = document.querySelector('.files img'); return i.complete && i.naturalWidth; })()"
        )
        until(lambda: page.js(shown) == 192, what="the picture to be seen")
        page.tap("Remove icon-192.png")
        until(lambda: page.box("Send") is None, what="nothing to be sent")


# Uploads that wait for the test's word.
UPLOADS = """
  window.uploads = [];
  window.fetch = ((asks) => async (path, ...more) => {
    if (/uploads/.test(path)) await new Promise((go) => window.uploads.push(go));
    return asks(path, ...more);
  })(window.fetch.bind(window))
"""


def test_files_that_are_chosen_while_others_are_uploaded_are_all_uploaded(
    tmp_path: Path, yc: Yourcall, tmux: Tmux, opens: Opens
) -> None:
    names = ["first.txt", "second.txt", "third.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
    idle = (CORPUS / "idle-empty-80x24" / "screen.txt").read_text()
    pane = Drawn(tmp_path, {"idle": idle}, {}).start(tmux, 80, 24)
    page = opens()
    with Agent(tmp_path, yc, pane=pane) as agent:
        agent.begins()
        talk(page, agent, "kite-shop")
        until(lambda: page.js("Boolean(document.querySelector('input[type=file]'))"), what="the composer")
        page.js(UPLOADS)
        page.call("DOM.enable")
        root = page.call("DOM.getDocument")["root"]["nodeId"]
        node = page.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
        for chosen in (names[:1], names[1:]):
            page.call("DOM.setFileInputFiles", nodeId=node, files=[str(tmp_path / name) for name in chosen])
        until(lambda: page.js("uploads.length") == 2, what="both choices to be uploaded")
        page.js("uploads.shift()()")
        ready = "document.querySelector('.files li .sub').textContent === ''"
        until(lambda: page.js(ready), what="the first one to be there")
        page.js("uploads.shift()()")
        until(
            lambda: page.js("uploads.shift()?.(), true") and page.box("Send"), what="all of them", show=page.text
        )
        told = "[...document.querySelectorAll('.files .once')].map((one) => one.textContent)"
        assert sorted(page.js(told)) == sorted(names)
        assert len(list((yc.home / "uploads").iterdir())) == len(names)


def test_the_terminal_is_mirrored_and_takes_keys_the_safe_way(
    tmp_path: Path, yc: Yourcall, tmux: Tmux, opens: Opens
) -> None:
    idle = (CORPUS / "idle-empty-80x24" / "screen.txt").read_text()
    drawn = Drawn(tmp_path, {"idle": idle}, {})
    page = opens(width=360, height=740)
    with Agent(tmp_path, yc, pane=drawn.start(tmux, 80, 24)) as agent:
        agent.begins()
        page.js(f"location.hash = '#/t/{agent.session_id}'")
        page.sees("80 × 24, as it looks on your computer.")
        page.sees("Claude Code")
        assert page.js("document.documentElement.scrollWidth") <= 360
        drawn.draw(idle.replace("Claude Code", "Another One"))
        page.sees("Another One")
        page.tap("Esc")
        until(lambda: drawn.typed == b"\x1b", what="the key", show=lambda: repr(drawn.typed))
        agent.bash("mirrorask2", "npm test")
        page.sees("npm test")
        page.tap("Enter")
        page.sees("A dialog is open")
        assert drawn.typed == b"\x1b"
        page.tap("npm test")
        until(lambda: page.box("Allow"), what="the card")
        assert page.js("[...document.styleSheets].every((s) => s.href !== null)"), "nothing inline"


def test_a_swipe_over_a_session_shows_the_way_to_its_terminal(
    tmp_path: Path, yc: Yourcall, tmux: Tmux, opens: Opens
) -> None:
    page = opens()
    idle = (CORPUS / "idle-empty-80x24" / "screen.txt").read_text()
    with Agent(tmp_path, yc, pane=Drawn(tmp_path, {"a": idle}, {}).start(tmux, 80, 24)) as agent:
        agent.begins()
        page.becomes("Boolean(document.querySelector('.thread .behind'))", True)
        left = "document.querySelector('.thread .behind').getBoundingClientRect().left"
        right = "document.querySelector('.thread').getBoundingClientRect().right"
        assert page.js(left) >= page.js(right) - 2
        page.js("document.querySelector('.thread .swipe').scrollBy({ left: 200 })")
        page.becomes(f"{left} < {right} - 60", True)
        page.tap("Terminal", ".thread")
        page.sees("as it looks on your computer")


def test_a_card_says_who_asks_where_and_what_was_said_before(agent: Agent, opens: Opens) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(agent.project)}
    subprocess.run(["git", "init", "-q", "-b", "feature/kites"], cwd=agent.project, env=env, check=True)
    page = opens()
    agent.says("The tests are old; I run them first.")
    agent.begins()
    agent.bash("whoaskaaa2", "npm test")
    page.sees("feature/kites")
    page.tap("More choices")
    page.sees("The tests are old; I run them first.")
    text = page.sees("Claude said before")
    assert f"on {os.uname().nodename.partition('.')[0]}" in text
    assert "once" in text


def test_a_device_is_renamed(yc: Yourcall, opens: Opens) -> None:
    page = opens("phone")
    page.tap("Settings", "nav")
    page.sees("This device may not rename or revoke others.")
    page.tap("Change phone")
    assert page.find("Unpair")
    assert page.box("Rename") is None
    page.tap("Close")
    page.tap("Home", "nav")
    give_all_scopes(yc, "phone")
    page.tap("Settings", "nav")
    page.tap("Change phone")
    page.tap("Rename")
    until(lambda: page.js("document.activeElement?.value") == "phone", what="the field")
    page.js("document.activeElement.select()")
    page.call("Input.insertText", text="Ada's phone")
    page.tap("Save")
    page.sees("Ada's phone")
    assert [device["name"] for device in yc.http("GET", "/api/devices")[1]] == ["Ada's phone"]


# The browser's part of dictation, which needs a microphone and its maker: what it does is said by the test.
EARS = """
    window.ears = [];
    window.SpeechRecognition = class {
        constructor() { window.ears.push(this); this.on = false; }
        start() { this.on = true; }
        stop() { this.on = false; this.onend(); }
        says(words, isFinal) {
            const one = Object.assign([{ transcript: words }], { isFinal });
            this.onresult({ resultIndex: 0, results: [one] });
        }
        fails(error) { this.onerror({ error }); this.stop(); }
    };
"""


def test_what_is_dictated_is_added_to_what_was_typed_and_sent_by_a_tap_only(
    tmp_path: Path, yc: Yourcall, tmux: Tmux, opens: Opens
) -> None:
    page = opens()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=EARS)
    page.reload()
    page.sees("Live")
    drawn = Drawn(tmp_path, {"idle": (CORPUS / "idle-empty-80x24" / "screen.txt").read_text()}, {})
    with Agent(tmp_path, yc, pane=drawn.start(tmux, 80, 24)) as agent:
        agent.says("Hello.")
        agent.begins()
        talk(page, agent, "Hello.")
        draft = "document.querySelector('.composer textarea').value"
        page.focus(".composer textarea")
        page.call("Input.insertText", text="Fix the")
        page.tap("Dictate")
        until(lambda: page.js("ears[0]?.on"), what="listening")
        assert page.js("ears[0].continuous && !ears[0].interimResults")
        page.js("ears[0].says(' limit <b>now</b> ', true)")
        page.js("ears[0].says('not yet sure', false)")
        until(lambda: page.js(draft) == "Fix the limit <b>now</b>", what="the words", show=lambda: page.js(draft))
        page.tap("Stop dictating")
        until(lambda: not page.js("ears[0].on"), what="an end")
        page.tap("Dictate")
        until(lambda: page.js("ears[1]?.on"), what="listening again")
        page.js("ears[1].fails('not-allowed')")
        page.sees("This page may not use the microphone.")
        assert page.js(draft) == "Fix the limit <b>now</b>"
        page.tap("Dictate")
        until(lambda: page.js("ears[2]?.on"), what="listening once more")
        page.js("location.hash = '#/'")
        until(lambda: not page.js("ears[2].on"), what="nobody listens behind a closed view")
