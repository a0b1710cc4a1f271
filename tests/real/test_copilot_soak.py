"""The real Copilot CLI, at length: every kind of request, races with the desk, and ends nobody asked for."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from kit.copilot import CONSENT, SHELL, CopilotHome, shell, start_copilot
from kit.poll import until
from kit.turns import Block, pause, text, tool
from real.copilot_scene import copilot_bin, home, model, start, yourcall
from real.test_copilot import answered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kit.chat_server import ChatServer
    from kit.copilot import Copilot
    from kit.terminal import Tmux
    from kit.yourcall import Yourcall

__all__ = ["copilot_bin", "home", "model", "start", "yourcall"]  # fixtures

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

GAPS_MS = (0, 5, 10, 20, 40, 60)


def next_prompt(yourcall: Yourcall, *before: str) -> dict[str, Any]:
    return until(lambda: next((p for p in yourcall.prompts() if p["id"] not in before), None), what="a prompt")


def test_every_other_kind_is_answered_by_id(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer, home: CopilotHome
) -> None:
    """A path, an address, tools and forms of an MCP server, a lasting yes, a plan sent back and one approved."""
    home.mcp_server()
    copilot = start()
    outside = "/etc/hostname"  # neither in the project nor a temporary file
    plan = [tool("exit_plan_mode", summary="# Plan\n1. Extract the parser")]
    copilot.say(
        model.script(
            "work",
            [shell(f"cat {outside}")],
            [tool("demo-add_ticket")],
            [tool("demo-book_table")],
            [tool("demo-link_account")],
            [shell("touch once")],
            [shell("touch twice")],
            [text("All asked.")],
        )
    )
    seen: list[str] = []
    kinds: list[str] = []
    for _ in range(20):
        prompt = until(
            lambda: next((p for p in yourcall.waiting() if p["id"] not in seen), None), show=copilot.screen
        )
        seen.append(prompt["id"])
        tools = (prompt.get("tool") or {}).get("name", prompt["kind"])
        kinds.append(tools)
        if prompt["kind"] == "ready":
            break
        if tools == "path":
            assert f"cat {outside}" in prompt["body"]  # the box itself does not show the command
            assert "session" not in {o["id"] for o in prompt["questions"][0]["options"]}
        if prompt["kind"] == "elicitation":
            form = len(prompt["questions"]) > 1
            choices = {"action": ["accept"], **({"seating": ["o2"], "window": ["o1"]} if form else {})}
            answered(yourcall, prompt, choices=choices, texts={"people": "4", "name": "Ann"} if form else {})
        elif prompt["title"] == "touch once":
            answered(yourcall, prompt, option="session", sure=True)
        else:
            answered(yourcall, prompt, option="allow", sure=True)
    assert "path" in kinds
    assert "mcp__demo__add_ticket" in kinds
    assert kinds.count("elicitation") == 2
    # `touch twice` was not asked: the yes to the one before lasts for the session.
    assert (copilot.made("once"), copilot.made("twice")) == (True, True)
    assert "touch twice" not in str([yourcall.show(each)["title"] for each in seen])
    told = str(model.requests[-1]["messages"])
    assert "terrace" in told
    # Plan mode: the desk switches it on; the plan comes back once with words, then it is approved.
    copilot.press("BTab")
    copilot.wait_screen("Plan")
    copilot.say(model.script("plan", plan, plan, [text("Planned.")]))
    first = next_prompt(yourcall, *seen)
    assert first["kind"] == "plan", first
    answered(yourcall, first, option="revise", texts={"decision": "shorter, please"})
    second = next_prompt(yourcall, *seen, first["id"])
    assert "shorter, please" in str(model.requests[-1]["messages"])
    approve = [o["id"] for o in second["questions"][0]["options"]]
    assert approve[0] == "approve"
    answered(yourcall, second, option="approve", sure=True)
    assert yourcall.pause("ready")["body"] == "Planned."


def test_fifty_races_between_the_desk_and_the_phone_have_one_outcome_each(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer, home: CopilotHome
) -> None:
    copilot = start(rows=50)
    won = {"desk": 0, "phone": 0}
    seen: list[str] = []
    for number in range(50):
        gap = GAPS_MS[number % len(GAPS_MS)] / 1000
        desk_first = (number // len(GAPS_MS)) % 2 == 0
        copilot.say(model.script(f"race{number}", [shell(f"touch marker{number}")], [text(f"End {number}.")]))
        prompt = next_prompt(yourcall, *seen)
        seen.append(prompt["id"])
        copilot.wait_screen(SHELL)
        verdict: dict[str, Any] = {}

        def answer(prompt: dict[str, Any] = prompt, verdict: dict[str, Any] = verdict) -> None:
            path = f"/api/prompts/{prompt['id']}/answer"
            verdict["status"], verdict["said"] = yourcall.http("POST", path, {"option": "deny", "wait": 20})

        acts = [lambda: copilot.terminal.key("1"), answer]
        threads = [threading.Thread(target=act) for act in (acts if desk_first else reversed(acts))]
        threads[0].start()
        time.sleep(gap)  # the gap is what is being tried, not a wait for anything
        threads[1].start()
        for thread in threads:
            thread.join()
        shown = yourcall.wait_state(prompt["id"], "confirmed", "desk")
        shown = until(lambda p=prompt: (s := yourcall.show(p["id"]))["outcome"] and s)
        until(lambda n=number: yourcall.pause("ready")["body"] in (f"End {n}.", ""), show=copilot.screen)
        ends = [e for e in home.events() if e["type"] == "permission.completed" and "toolCallId" in e["data"]]
        assert len(ends) == number + 1
        kind = ends[-1]["data"]["result"]["kind"]
        ran = copilot.made(f"marker{number}")
        if shown["state"] == "confirmed":
            won["phone"] += 1
            assert (shown["outcome"], ran, kind) == ("denied", False, "denied-interactively-by-user"), shown
            assert verdict["said"]["result"] == "confirmed", verdict
        else:
            won["desk"] += 1
            assert (shown["outcome"], ran, kind) == ("allowed", True, "approved"), shown
            assert verdict["said"]["result"] == "too_late", verdict
        clear_composer(copilot)
    print(f"50 races: {won}")
    assert min(won.values()) > 0


def clear_composer(copilot: Copilot) -> None:
    """A key of the desk that came too late is a draft now."""
    copilot.wait_ready()
    copilot.terminal.key("BSpace")
    copilot.terminal.settle(0.1)


def test_two_requests_at_once_are_never_mixed(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer
) -> None:
    """Answers go out side by side, in an order that is not the order of the boxes."""
    copilot = start()
    for number in range(8):
        copilot.say(
            model.script(
                f"two{number}", [shell(f"touch yes{number}"), shell(f"touch no{number}")], [text("Done.")]
            )
        )
        until(lambda: len(yourcall.prompts()) == 2, what="two prompts", show=copilot.screen)
        threads = [
            threading.Thread(
                target=yourcall.http,
                args=(
                    "POST",
                    f"/api/prompts/{prompt['id']}/answer",
                    {"option": "allow" if "yes" in prompt["title"] else "deny", "wait": 20},
                ),
            )
            for prompt in sorted(yourcall.prompts(), key=lambda p: p["title"], reverse=bool(number % 2))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        yourcall.pause("ready")
        assert (copilot.made(f"yes{number}"), copilot.made(f"no{number}")) == (True, False)


def test_a_request_is_noticed_within_300_ms(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer, home: CopilotHome
) -> None:
    """From Copilot's own time of the event to the row in yourcall's log."""
    copilot = start()
    turns = [[shell(f"touch n{number}")] for number in range(20)]
    copilot.say(model.script("many", *turns, [text("Done.")]))
    late: list[float] = []
    seen: list[str] = []
    for _ in turns:
        prompt = next_prompt(yourcall, *seen)
        seen.append(prompt["id"])
        late.append(1000 * (yourcall.show(prompt["id"])["history"][0]["at"] - prompt["opened_at"]))
        answered(yourcall, prompt, option="allow")
    print(f"noticed: median {statistics.median(late):.0f} ms, longest {max(late):.0f} ms, n={len(late)}")
    assert max(late) <= 300


def box(copilot: Copilot) -> str:
    """The dialog as it stands; above it a clock may tick."""
    return copilot.terminal.settle(0.3).partition("\n╭──")[2]


def test_a_daemon_that_is_killed_leaves_the_desk_as_it_was_and_finds_the_request_again(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer
) -> None:
    copilot = start()
    copilot.say(
        model.script("work", [shell("touch one")], [shell("touch two")], [shell("touch three")], [text("Done.")])
    )
    first = yourcall.wait_prompt()
    copilot.wait_screen(SHELL)
    before = box(copilot)
    yourcall.kill()
    copilot.terminal.settle(2.0)
    assert box(copilot) == before
    copilot.press("1")
    until(lambda: copilot.made("one"))
    yourcall.start()
    # What the desk said meanwhile is told, and what it asks now is the same request as before the fall.
    settled = yourcall.wait_state(first["id"], "desk")
    assert settled["outcome"] == "allowed"
    second = next_prompt(yourcall)
    assert second["title"] == "touch two"
    yourcall.kill()
    yourcall.start()
    # The extension is not back yet: the answer waits for it.
    answered(yourcall, second, option="allow")
    third = next_prompt(yourcall, second["id"])
    answered(yourcall, third, option="deny")
    yourcall.pause("ready")
    assert (copilot.made("two"), copilot.made("three")) == (True, False)


def test_an_extension_that_is_killed_leaves_the_desk_as_it_was(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer
) -> None:
    copilot = start()
    copilot.say(model.script("work", [shell("touch one")], [shell("touch two")], [text("Done.")]))
    first = yourcall.wait_prompt()
    copilot.wait_screen(SHELL)
    before = box(copilot)
    (child,) = copilot.children()
    os.kill(child, signal.SIGKILL)
    until(lambda: not yourcall.show(first["id"])["held"], what="the loss")
    copilot.terminal.settle(1.0)
    assert box(copilot) == before
    assert copilot.children() == []  # it is not started again
    copilot.press("1")
    # The record still tells what became of it; what comes then is only seen on the screen.
    settled = until(lambda: (s := yourcall.show(first["id"]))["outcome"] and s)
    assert (settled["state"], settled["outcome"]) == ("desk", "allowed")
    second = next_prompt(yourcall, first["id"])
    assert (second["kind"], second["questions"]) == ("permission", [])
    copilot.press("1")
    until(lambda: copilot.made("two"))
    until(lambda: yourcall.prompts() == [])


def test_the_extension_is_inert_while_yourcall_is_away(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer, home: CopilotHome
) -> None:
    """Nothing is asked and nothing is drawn; when yourcall comes, the consent is asked for, and the open request
    can be answered."""
    yourcall.stop()
    copilot = start(consent="")
    copilot.say(model.script("work", [shell("touch one")], [shell("touch two")], [text("Done.")]))
    copilot.wait_screen(SHELL)
    assert not copilot.terminal.shows(CONSENT)
    assert len(copilot.children()) == 1
    copilot.press("1")
    until(lambda: copilot.made("one"))
    copilot.wait_screen(SHELL)
    yourcall.start()
    shown = next_prompt(yourcall)
    assert (shown["title"], shown["held"]) == ("touch two", False)
    # The box of the request stands first, that of the consent waits behind it.
    copilot.press("1")
    until(lambda: copilot.made("two"))
    copilot.consent("1")
    ready = yourcall.pause("ready")
    answered(yourcall, ready, texts={"next": model.script("more", [shell("touch three")], [text("Done.")])})
    answered(yourcall, next_prompt(yourcall, shown["id"]), option="allow")
    until(lambda: copilot.made("three"))


def test_a_turn_is_stopped_cleared_and_taken_up_again(
    start: Callable[..., Copilot],
    yourcall: Yourcall,
    model: ChatServer,
    home: CopilotHome,
    copilot_bin: Path,
    tmux: Tmux,
) -> None:
    copilot = start()
    slow: list[Block] = [text("Well"), pause("never")]
    copilot.say(model.script("slow", slow))
    copilot.wait_screen("Well")
    session = until(lambda: next(iter(yourcall.http("GET", "/api/sessions")[1]), None))["id"]
    status, said = yourcall.http("POST", f"/api/sessions/{session}/interrupt", {})
    assert status == 200, said
    ready = yourcall.pause("ready")
    model.release("never")
    # Words that would be commands if they were typed are words.
    answered(yourcall, ready, texts={"next": "!touch bang"})
    again = until(lambda: next((p for p in yourcall.waiting() if p["id"] != ready["id"]), None))
    assert not copilot.made("bang")
    answered(yourcall, again, texts={"next": model.script("stop", [shell("touch one")], [text("Never said.")])})
    prompt = next_prompt(yourcall)
    shown = answered(yourcall, prompt, option="stop")
    assert shown["outcome"] in ("denied", "stopped")
    yourcall.pause("ready")
    assert not copilot.made("one")
    assert "Never said." not in copilot.screen()
    # Cleared: the extension is started anew, for another session.
    copilot.say("/clear")
    until(
        lambda: [s for s in yourcall.http("GET", "/api/sessions")[1] if s["id"] != session],
        what="the new session",
        show=copilot.screen,
    )
    copilot.say(model.script("after", [shell("touch after")], [text("Done.")]))
    prompt = next_prompt(yourcall)
    assert prompt["session_id"] != session
    (left,) = [s for s in yourcall.http("GET", "/api/sessions")[1] if s["state"] != "ended"]
    assert left["id"] == prompt["session_id"]
    answered(yourcall, prompt, option="allow")
    until(lambda: copilot.made("after"))
    yourcall.pause("ready")
    # Killed with a request open, and continued: the old request is over, the session the same.
    copilot.say(model.script("last", [shell("touch last")], [text("Done.")]))
    open_one = next_prompt(yourcall)
    os.kill(copilot.pid, signal.SIGKILL)
    ended = yourcall.wait_state(open_one["id"], "ended", "desk", "unsure")
    assert ended["state"] == "ended"
    back = start_copilot(tmux, copilot_bin, home, model, args=["--continue"])
    back.say(model.script("back", [shell("touch back")], [text("Done.")]))
    prompt = next_prompt(yourcall, open_one["id"])
    assert prompt["session_id"] == open_one["session_id"]
    answered(yourcall, prompt, option="allow")
    until(lambda: back.made("back"))
    assert not back.made("last")


def test_the_trust_dialog_takes_the_digit_of_its_row(
    tmp_path: Path, copilot_bin: Path, model: ChatServer, tmux: Tmux
) -> None:
    from kit.yourcall import Yourcall

    home = CopilotHome.make(tmp_path, trusted=False)
    with Yourcall(tmp_path, home) as yourcall:  # type: ignore[arg-type]
        assert yourcall.run("setup", "copilot", "--yes", "--cli", str(copilot_bin)).code == 0
        copilot = start_copilot(tmux, copilot_bin, home, model)
        wanted = {"server": str(tmux.socket), "pane": copilot.terminal.id, "agent": "copilot"}
        status, said = yourcall.http("POST", "/api/panes", wanted)
        assert status == 201, said
        prompt = yourcall.wait_prompt()
        assert (prompt["kind"], [o["id"] for o in prompt["questions"][0]["options"]]) == (
            "trust",
            ["session", "trust", "no"],
        )
        status, said = yourcall.http(
            "POST", f"/api/prompts/{prompt['id']}/answer", {"option": "session", "sure": True, "wait": 20}
        )
        assert status == 200, said
        copilot.wait_gone("Confirm folder trust")
        assert not copilot.terminal.shows("Confirm folder trust")
        # The session goes by its own name once the extension speaks.
        copilot.consent()
        copilot.say(model.script("work", [shell("touch one")], [text("Done.")]))
        prompt = yourcall.wait_prompt()
        answered(yourcall, prompt, option="allow")
        (left,) = [s for s in yourcall.http("GET", "/api/sessions")[1] if s["state"] != "ended"]
        assert (left["id"], {link["kind"] for link in left["links"]}) == (prompt["session_id"], {"plugin", "tmux"})
