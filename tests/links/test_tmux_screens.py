"""Dialogs drawn by a program that writes down every key: what is shown, what is pressed, what is told."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvloop
from msgspec.structs import replace

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Ptys, Tmux
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links.screen.watcher import SETTLED_S
from yourcall.model.events import AnswerGiven, HolderLost, PromptRaised, SessionSeen
from yourcall.model.prompts import Answer, Prompt, Question, Verdict
from yourcall.model.sessions import Link, Session
from yourcall.store.sqlite import Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from kit.terminal import Pane, Pty

CORPUS = Path(__file__).parents[1] / "corpus" / "claude"
DOWN, UP = "\x1b[B", "\x1b[A"


def captured(name: str) -> str:
    return (CORPUS / name / "screen.txt").read_text()


BASH, RM, IDLE = captured("bash-120x40"), captured("bash-rm-120x40"), captured("idle-after-answer-120x40")
TRUST, QUESTION = captured("trust-120x40"), captured("ask-single-120x40")
TRUSTED = TRUST.replace(" ❯ No, exit", "   No, exit").replace("   Yes, I trust", " ❯ Yes, I trust")
CLIPPED = captured("mcp-tool-80x24")
STRANGE = "\n".join(
    ["─" * 80, " Something new under the sun", "", " It wants a key.", "", " Enter to go on · Esc to cancel"]
)


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


class House:
    """The daemon's own parts, looked through by hand: nothing happens between two looks."""

    def __init__(self, daemon: Daemon, pane: Pane) -> None:
        self.daemon, self.pane = daemon, pane

    @property
    def open(self) -> list[Prompt]:
        return [p for p in self.daemon.loop.state.prompts.values() if p.state == "open"]

    async def look_until(self, wanted: Callable[[], object]) -> None:
        deadline = time.monotonic() + 5
        while not wanted():
            assert time.monotonic() < deadline, self.daemon.loop.state.prompts
            await self.daemon.screens.look_around()
            await asyncio.sleep(0.02)

    async def shown(self) -> Prompt:
        await self.look_until(lambda: self.open)
        (prompt,) = self.open
        return prompt

    async def answer(self, prompt: Prompt, option: str, via: str = "http") -> Verdict:
        answer = Answer(f"answer-{option}", "me", via, {prompt.questions[0].id: (option,)})
        return (await self.daemon.loop.answer(prompt.id, answer, 60.0))[0]

    def stored(self, prompt: Prompt) -> Prompt:
        found = self.daemon.loop.store.prompt(prompt.id)
        assert found is not None
        return found


@asynccontextmanager
async def house(tmp_path: Path, pane: Pane) -> AsyncIterator[House]:
    store = Store.open(tmp_path / "yourcall.db")
    daemon = Daemon(store, Config(), lambda: None)
    try:
        seen = await daemon.speaker.watch(str(pane.tmux.socket), pane.id)
        assert isinstance(seen, Session), seen
        yield House(daemon, pane)
    finally:
        await daemon.close()
        store.close()


def test_a_dialog_is_shown_once_it_stands_and_allowed_by_the_digit_of_its_row(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"ask": BASH, "idle": IDLE}, {("ask", "4"): ["idle"]})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            began = time.monotonic()
            prompt = await at.shown()
            assert time.monotonic() - began >= SETTLED_S
            assert (prompt.kind, prompt.link, prompt.answerable) == ("permission", "screen", True)
            await at.daemon.screens.look_around()
            assert at.open == [prompt]
            verdict = await at.answer(prompt, "deny")
            assert verdict.result == "confirmed", verdict
            assert at.stored(prompt).outcome == "stopped"
            assert at.daemon.loop.state.sessions[prompt.session_id].state == "idle"

    uvloop.run(act())
    assert drawn.typed == b"4"


def test_no_rule_answers_trust_and_a_person_needs_one_key_to_leave(tmux: Tmux, tmp_path: Path) -> None:
    moves = {("no", DOWN): ["yes"], ("yes", "\r"): ["idle"], ("no", "\r"): ["exit"]}
    drawn = Drawn(tmp_path, {"no": TRUST, "yes": TRUSTED, "idle": IDLE}, moves)
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            assert prompt.kind == "trust"
            refused = await at.answer(prompt, "yes", via="rule")
            assert (refused.result, drawn.typed) == ("bounced", b"")
            assert "Only a person" in refused.detail
            verdict = await at.answer(prompt, "no")
            assert verdict.result == "confirmed", verdict
            until(lambda: drawn.typed == b"\r")

    uvloop.run(act())


def test_the_highlight_is_moved_and_read_again(tmux: Tmux, tmp_path: Path) -> None:
    moves = {("no", DOWN): ["yes"], ("yes", "\r"): ["idle"]}
    drawn = Drawn(tmp_path, {"no": TRUST, "yes": TRUSTED, "idle": IDLE}, moves)
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            verdict = await at.answer(await at.shown(), "yes")
            assert verdict.result == "confirmed", verdict

    uvloop.run(act())
    assert drawn.typed == (DOWN + "\r").encode()


def test_a_highlight_that_does_not_move_is_not_confirmed_with_enter(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"no": TRUST}, {})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            verdict = await at.answer(prompt, "yes")
            assert (verdict.result, "no effect" in verdict.detail) == ("bounced", True), verdict
            assert at.stored(prompt).answerable

    uvloop.run(act())
    assert drawn.typed == DOWN.encode()


@pytest.mark.parametrize("after", ["other", "idle", "clipped"])
def test_nothing_is_pressed_when_the_screen_is_not_what_was_seen(tmux: Tmux, tmp_path: Path, after: str) -> None:
    screens = {"ask": BASH, "other": RM, "idle": IDLE, "clipped": "\n".join(BASH.split("\n")[-22:])}
    drawn = Drawn(tmp_path, screens, {})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            drawn.show(after)
            verdict = await at.answer(prompt, "allow")
            assert (verdict.result, "nothing was pressed" in verdict.detail) == ("bounced", True), verdict
            await at.look_until(lambda: prompt.id not in at.daemon.loop.state.prompts)
            ended = at.stored(prompt)
            assert (ended.state, ended.outcome) == ("desk", "unknown")
            if after == "other":
                assert (await at.shown()).title.endswith("rm -rf node_modules")

    uvloop.run(act())
    assert drawn.typed == b""


@pytest.mark.parametrize("first", [BASH, QUESTION], ids=["one key", "filled in"])
def test_a_key_of_the_desk_that_is_not_read_yet_is_waited_for(tmux: Tmux, tmp_path: Path, first: str) -> None:
    """The screen still shows the first dialog, and it is answered already: our key would have met the second."""
    drawn = Drawn(tmp_path, {"ask": first, "rm": RM}, {("ask", "1"): ["ask", "rm"]}, moment=0.7)
    pane = drawn.start(tmux)
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"}

    async def act(desk: Pty) -> Verdict:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            desk.key("1")
            await asyncio.to_thread(until, lambda: drawn.typed == b"1")
            return await at.answer(prompt, prompt.questions[0].options[1].id)

    with Ptys() as ptys:
        desk = ptys.start(["tmux", "-u", "-S", str(tmux.socket), "attach", "-t", "t0"], cwd=tmp_path, env=env)
        until(lambda: pane.variable("session_attached") == "1")
        verdict = uvloop.run(act(desk))
        drawn.wait("rm")
    assert verdict.result == "bounced", verdict
    assert "another dialog" in verdict.detail
    assert drawn.typed == b"1"


def test_a_key_without_effect_is_pressed_once_and_the_prompt_comes_back(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"ask": BASH}, {})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            verdict = await at.answer(prompt, "allow")
            assert verdict.result == "bounced", verdict
            await at.look_until(lambda: [(p.id, p.answerable) for p in at.open] == [(prompt.id, True)])

    uvloop.run(act())
    assert drawn.typed == b"1"


def test_the_same_dialog_twice_in_a_row_is_two(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"ask": BASH, "idle": IDLE}, {("ask", "1"): ["idle"]})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            first = await at.shown()
            assert (await at.answer(first, "allow")).result == "confirmed"
            drawn.show("ask")
            second = await at.shown()
            assert second.id != first.id

    uvloop.run(act())
    assert drawn.typed == b"1"


def test_what_a_hook_tells_is_not_shown_twice(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"ask": BASH}, {})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            now = time.time()
            links = (Link("hook"), Link("tmux", pane.id, str(tmux.socket)))
            hooked = Session("named", "claude", "/x", links=links, pid=pane.pid, seen_at=now)
            early = await at.shown()
            await at.daemon.events.post(SessionSeen(now, hooked))
            question = Question("decision", "May it?")
            told = Prompt(
                "hookhook",
                "permission",
                "claude",
                "named",
                "/x",
                "Bash",
                now,
                questions=(question,),
                answerable=True,
            )
            await at.daemon.events.post(PromptRaised(now, told))
            await at.look_until(lambda: early.id not in at.daemon.loop.state.prompts)
            assert at.stored(early).state == "ended"
            deadline = time.monotonic() + 3 * SETTLED_S
            while time.monotonic() < deadline:
                await at.daemon.screens.look_around()
                assert [p.id for p in at.open] == [told.id]
                await asyncio.sleep(0.02)
            # Nobody holds it any more, but everybody knows of it.
            await at.daemon.events.post(HolderLost(time.time(), told.id, "its hook is gone"))
            deadline = time.monotonic() + 3 * SETTLED_S
            while time.monotonic() < deadline:
                await at.daemon.screens.look_around()
                assert [p.id for p in at.open] == [told.id]
                await asyncio.sleep(0.02)

    uvloop.run(act())
    assert drawn.typed == b""


def test_what_is_clipped_is_shown_with_the_reason_and_takes_no_answer(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"ask": CLIPPED}, {})
    pane = drawn.start(tmux, cols=80, rows=24)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            assert (prompt.answerable, prompt.questions) == (False, ())
            assert "window larger" in prompt.body
            given = AnswerGiven(time.time(), prompt.id, Answer("a", "me", "http", {"decision": ("allow",)}))
            verdict = (await at.daemon.events.post(given)).verdict
            assert verdict is not None
            assert verdict.result == "refused"

    uvloop.run(act())
    assert drawn.typed == b""


def test_an_unknown_dialog_comes_with_its_screen_and_a_key_bar(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"new": STRANGE, "idle": IDLE}, {("new", "\x1b"): ["idle"]})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            assert (prompt.kind, prompt.answerable) == ("unknown", True)
            assert "Something new under the sun" in prompt.body
            keys = [option.id for option in prompt.questions[0].options]
            assert keys == ["enter", "escape", "up", "down", "tab", "space", *"123456789"]
            assert (await at.answer(prompt, "escape")).result == "confirmed"

    uvloop.run(act())
    assert drawn.typed == b"\x1b"


def test_a_menu_in_a_session_that_is_idle_is_the_persons_own(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"menu": STRANGE}, {})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            (session,) = at.daemon.loop.state.sessions.values()
            await at.daemon.events.post(SessionSeen(time.time(), replace(session, state="idle")))
            deadline = time.monotonic() + 3 * SETTLED_S
            while time.monotonic() < deadline:
                await at.daemon.screens.look_around()
                assert at.open == []
                await asyncio.sleep(0.02)
            await at.daemon.events.post(SessionSeen(time.time(), replace(session, state="working")))
            assert (await at.shown()).kind == "unknown"

    uvloop.run(act())


def child_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_another_program_in_front_gets_no_key_although_it_shows_the_same(tmux: Tmux, tmp_path: Path) -> None:
    (tmp_path / "shell").mkdir()
    drawn = Drawn(tmp_path, {"ask": BASH}, {})
    pane = tmux.start(["bash", "--norc", "-i"], cwd=tmp_path, env={"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"})
    line = " ".join(drawn.command)
    pane.text(line + "\n")
    drawn.wait("ask")

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            (drawn.folder / "shown").unlink()
            # Stopped with its dialog left on the screen, and another one started over it.
            drawn.show("ask")
            (first, *_) = child_of(pane.pid)
            tmux.run("run-shell", f"kill -STOP {first}")
            (drawn.folder / "shown").unlink()
            pane.text(line + "\n")
            drawn.wait("ask")
            before = drawn.typed
            verdict = await at.answer(prompt, "allow")
            assert (verdict.result, "Another program" in verdict.detail) == ("bounced", True), verdict
            assert drawn.typed == before
            tmux.run("run-shell", f"kill -KILL {first}")

    uvloop.run(act())


def test_a_pane_that_closes_takes_its_prompt_with_it(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"ask": BASH}, {})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            tmux.run("kill-pane", "-t", pane.id)
            await at.look_until(lambda: not at.open)
            assert at.stored(prompt).state == "ended"
            assert at.daemon.loop.state.sessions == {}

    uvloop.run(act())


def test_after_a_crash_between_key_and_record_the_dialog_is_looked_at_again(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"ask": BASH}, {})
    pane = drawn.start(tmux)

    async def act() -> None:
        async with house(tmp_path, pane) as at:
            prompt = await at.shown()
            # The answer is on record; then the power fails.
            at.daemon.loop._perform = lambda _: None
            await at.daemon.events.post(
                AnswerGiven(time.time(), prompt.id, Answer("a", "me", "http", {"decision": ("allow",)}))
            )
        async with house(tmp_path, pane) as at:
            looking = asyncio.create_task(at.daemon.screens.run())
            async with at.daemon.loop.subscribe(0) as changes, asyncio.timeout(5):
                async for change in changes:
                    row = change.prompt
                    if row is not None and row.state == "open" and len(row.history) > 2:
                        break
            looking.cancel()
            (again,) = at.open
            assert (again.id, again.answerable) == (prompt.id, True)
            assert "unsure" in [moment.state for moment in again.history]

    uvloop.run(act())
    assert drawn.typed == b""
