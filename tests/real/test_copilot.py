"""The real Copilot CLI in a tmux pane: its extension tells of each request, and answers it by its id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.copilot import CONSENT, SHELL, ask, shell
from kit.poll import until
from kit.turns import error, text, tool
from real.copilot_scene import copilot_bin, home, model, start, yourcall

if TYPE_CHECKING:
    from collections.abc import Callable

    from kit.chat_server import ChatServer
    from kit.copilot import Copilot, CopilotHome
    from kit.yourcall import Yourcall

__all__ = ["copilot_bin", "home", "model", "start", "yourcall"]  # fixtures


def states(yourcall: Yourcall, prompt_id: str) -> list[str]:
    return [moment["state"] for moment in yourcall.show(prompt_id)["history"]]


def answered(yourcall: Yourcall, prompt: dict[str, Any], **answer: Any) -> dict[str, Any]:
    status, said = yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {**answer, "wait": 30})
    assert (status, said["result"]) == (200, "confirmed"), said
    return yourcall.show(prompt["id"])


def test_a_day_with_copilot(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer, home: CopilotHome
) -> None:
    """Permissions, two at once, a question, a change, a refusal with words, a pause, the next instruction."""
    copilot = start()
    copilot.say(
        model.script(
            "work",
            [shell("touch one"), shell("touch two")],
            [
                ask(
                    "Before I start:",
                    db={"type": "string", "title": "Database", "enum": ["PostgreSQL", "SQLite"]},
                    parts={
                        "type": "array",
                        "title": "Parts",
                        "items": {"type": "string", "enum": ["A", "B", "C"]},
                    },
                    name={"type": "string", "title": "Name"},
                )
            ],
            [tool("create", path=str(home.project / "hello.py"), file_text="print('hello')\n")],
            [shell("touch three")],
            [text("That is all.")],
        )
    )
    # Two at once: each is its own, whichever box is on the screen.
    until(lambda: len(yourcall.prompts()) == 2, what="both requests", show=copilot.screen)
    both = {prompt["title"]: prompt for prompt in yourcall.prompts()}
    assert set(both) == {"touch one", "touch two"}
    assert {p["kind"] for p in both.values()} == {"permission"}
    assert both["touch two"]["action"]["command"] == "touch two"
    until(lambda: "remaining" in copilot.screen() or copilot.terminal.shows(SHELL))
    shown = answered(yourcall, both["touch two"], option="allow")
    assert (shown["state"], shown["outcome"]) == ("confirmed", "allowed")
    until(lambda: copilot.made("two"))
    assert not copilot.made("one")
    answered(yourcall, both["touch one"], option="deny", texts={"decision": "no\nnot that one"})
    question = yourcall.wait_prompt()
    assert (question["kind"], [q["id"] for q in question["questions"]]) == ("question", ["db", "parts", "name"])
    assert "no\\nnot that one" in str(model.requests[-1]["messages"])
    answered(
        yourcall,
        question,
        choices={"parts": ["o1", "o3"]},
        texts={"db": "an own one", "name": "line one\nligne déux 😀"},
    )
    change = yourcall.wait_prompt()
    assert (change["kind"], change["action"]["kind"]) == ("permission", "write")
    assert "print('hello')" in change["action"]["changes"][0]["diff"]
    told = str(model.requests[-1]["messages"])
    assert "an own one" in told
    assert "ligne déux 😀" in told
    answered(yourcall, change, option="allow")
    last = yourcall.wait_prompt()
    assert (home.project / "hello.py").read_text() == "print('hello')\n"
    # The desk is first: its word counts, and a late answer is told so.
    copilot.wait_screen(SHELL)
    copilot.terminal.settle(0.3)
    copilot.terminal.key("1")
    yourcall.wait_state(last["id"], "desk")
    status, late = yourcall.http("POST", f"/api/prompts/{last['id']}/answer", {"option": "deny", "wait": 5})
    assert (status, late["result"]) == (409, "too_late")
    ready = yourcall.pause("ready")
    assert ready["body"] == "That is all."
    assert (copilot.made("one"), copilot.made("three")) == (False, True)
    # The next instruction, and a problem at its end.
    words = model.script("more", [error(400, "bad", "no such thing")])
    answered(yourcall, ready, texts={"next": words})
    problem = yourcall.pause("problem")
    assert "400" in problem["title"]
    entries = yourcall.http("GET", f"/api/sessions/{ready['session_id']}/conversation")[1]["entries"]
    done = [e for e in entries if e["type"] == "action" and e["phase"] == "completed"]
    assert [e for e in done if e["kind"] == "command"]
    assert any("+print('hello')" in e.get("diff", "") for e in entries if e["type"] == "action")
    assert [e["text"] for e in entries if e["type"] == "user"][-1] == words
    assert yourcall.prompts() == []


def test_until_the_person_has_consented_permissions_are_shown_and_answered_at_the_desk(
    start: Callable[..., Copilot], yourcall: Yourcall, model: ChatServer, home: CopilotHome
) -> None:
    copilot = start(consent="")
    copilot.wait_screen(CONSENT)
    # The box is the person's: it is shown, and no key is pressed in it.
    consent = yourcall.wait_prompt()
    assert (consent["kind"], consent["questions"]) == ("startup", [])
    copilot.terminal.settle(0.3)
    copilot.terminal.key("3")
    copilot.wait_gone(CONSENT)
    until(lambda: yourcall.prompts() == [])
    plain = {"type": "string", "title": "Colour", "enum": ["Red", "Green"]}
    copilot.say(model.script("work", [shell("touch one")], [ask("Which?", colour=plain)], [text("Done.")]))
    prompt = yourcall.wait_prompt()
    assert (prompt["title"], prompt["held"], prompt["questions"]) == ("touch one", False, [])
    assert "answered at the desk" in prompt["body"]
    copilot.wait_screen(SHELL)
    copilot.terminal.settle(0.3)
    copilot.terminal.key("1")
    settled = yourcall.wait_state(prompt["id"], "desk")
    assert settled["outcome"] == "allowed"
    # Questions need no consent.
    question = yourcall.wait_prompt()
    answered(yourcall, question, choices={"colour": ["o2"]})
    yourcall.pause("ready")
    assert "Green" in str(model.requests[-1]["messages"])
    assert not (home.path / ".copilot" / "permissions-config.json").exists()
