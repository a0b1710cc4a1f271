"""Speaking to the real Claude in its tmux pane: what the model hears, and what is never typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import start_claude
from kit.poll import until
from kit.turns import pause, text, tool
from yourcall.agents.claude.screen.read import read_screen

if TYPE_CHECKING:
    from kit.claude import Claude
    from kit.model_server import ModelServer
    from kit.scene import Scene

TOUCH = tool("Bash", command="touch marker", description="Make the marker")

LINES = [f"{n}: été 日本語 😀 “quoted” $HOME `ls` #{{x}} ;\\ %0 \\" for n in range(150)]
LONG = "\n".join(LINES)


@pytest.fixture
def claude(scene: Scene) -> Claude:
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model)
    claude.wait_ready()
    until(lambda: sessions(scene))
    return claude


def sessions(scene: Scene) -> list[dict[str, Any]]:
    return scene.yourcall.http("GET", "/api/sessions")[1]


def post(scene: Scene, verb: str, body: object = None) -> tuple[int, dict[str, Any]]:
    (session,) = sessions(scene)
    return scene.yourcall.http("POST", f"/api/sessions/{session['id']}/{verb}", body)


def said(model: ModelServer) -> list[str]:
    """What the person was heard to say, unstripped, in the newest conversation."""
    asked = [r for r in model.requests if r.path.endswith("/messages") and not r.auxiliary]
    heard: list[str] = []
    for message in asked[-1].messages if asked else []:
        if message["role"] == "user":
            content = message["content"]
            blocks = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
            heard += [block for block in blocks if not block.startswith("<")]
    return heard


# What is written, and what the model must hear.
TEXTS = [
    ("Say hello.", "Say hello."),
    ("two lines\n  and é", "two lines\n  and é"),
    (LONG, LONG),
    ("one line of " + "very " * 2000 + "long", "one line of " + "very " * 2000 + "long"),
    ("ends in a backslash \\", "ends in a backslash \\"),
    ("!touch marker", " !touch marker"),
    ("/clear", "/clear\n\n\n"),
    ("exit", "exit\n\n\n"),
    ("a family 👨‍👩‍👧 in one letter", "a family 👨‍👩‍👧 in one letter"),
    ("it has a\u200b hidden\u200f letter", "it has a hidden letter"),
]


def test_a_text_reaches_the_model_as_it_was_written(scene: Scene, claude: Claude) -> None:
    for number, (written, heard) in enumerate(TEXTS):
        status, reply = post(scene, "send", {"text": written})
        assert (status, reply["result"]) == (200, "confirmed"), (written[:40], reply, claude.terminal.screen())
        scene.model.wait_for(lambda m, n=number: len(said(m)) > n)
        assert said(scene.model)[number:] == [heard]
        # Told by its hook, in its own file, and drawn: whatever comes last, the turn is over then.
        until(lambda: sessions(scene)[0]["state"] == "idle")
        claude.wait_status("idle")
        claude.terminal.wait_until(lambda screen: read_screen(screen).state == "idle")
        claude.terminal.settle(quiet=0.5)
    assert not scene.made("marker")
    assert claude.alive


def test_the_next_instruction_answers_the_session_that_is_ready(scene: Scene, claude: Claude) -> None:
    post(scene, "send", {"text": "First."})
    ready = scene.yourcall.pause("ready")
    assert ready["held"] is True
    claude.wait_status("idle")
    done = scene.yourcall.run("answer", ready["id"], "--text", "/help, second\nof two")
    assert done.code == 0, done
    scene.model.wait_for(lambda m: len(said(m)) == 2)
    assert said(scene.model)[1].rstrip("\n") == "/help, second\nof two"


def test_the_command_sends_what_it_reads(scene: Scene, claude: Claude) -> None:
    (session,) = sessions(scene)
    done = scene.yourcall.run("send", session["id"][:8], "-", typed=LONG)
    assert done.code == 0, done
    scene.model.wait_for(lambda m: said(m) == [LONG])
    claude.wait_status("idle")
    done = scene.yourcall.run("send", session["id"][:8], "--command", "/clear")
    assert done.code == 0, done
    until(lambda: session["id"] not in [s["id"] for s in sessions(scene)])


def test_nothing_is_typed_over_a_draft_or_into_a_dialog(scene: Scene, claude: Claude) -> None:
    claude.type("a draft of mine")
    for verb, body in (("send", {"text": "hello"}), ("key", {"key": "enter"}), ("key", {"key": "backspace"})):
        status, reply = post(scene, verb, body)
        assert (status, reply["result"]) == (422, "refused"), reply
        assert "draft" in reply["detail"]
    assert claude.terminal.shows("❯ a draft of mine")
    assert said(scene.model) == []

    claude.terminal.key("C-u")
    claude.terminal.text(scene.model.script("work", [TOUCH], [text("Made it.")]))
    claude.press("Enter")
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    for verb, body in (("send", {"text": "1"}), ("key", {"key": "enter"}), ("interrupt", None)):
        status, reply = post(scene, verb, body)
        assert (status, reply["result"]) == (422, "refused"), reply
        assert "dialog" in reply["detail"]
    assert scene.yourcall.show(prompt["id"])["state"] == "open"
    assert not scene.made("marker")
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    until(lambda: scene.made("marker"))


def test_a_follow_up_is_queued_and_an_interrupt_stops_the_turn(scene: Scene, claude: Claude) -> None:
    assert post(scene, "interrupt")[1]["result"] == "refused"
    words = scene.model.script("slow", [text("Starting."), pause("go"), text("Never said.")])
    assert post(scene, "send", {"text": words})[1]["result"] == "confirmed"
    claude.terminal.wait_until(lambda screen: "esc to interrupt" in screen)
    status, reply = post(scene, "send", {"text": "And then\nsay more."})
    assert (status, reply["result"]) == (200, "sent"), reply
    assert "turn" in reply["detail"]
    scene.model.release("go")
    scene.model.wait_for(lambda m: any("And then\nsay more." in words for words in said(m)))
    claude.wait_status("idle")

    again = scene.model.script("again", [text("Starting."), pause("never"), text("Never said.")])
    post(scene, "send", {"text": again})
    claude.terminal.wait_until(lambda screen: "esc to interrupt" in screen)
    (session,) = sessions(scene)
    done = scene.yourcall.run("interrupt", session["id"][:8])
    assert done.code == 0, done
    claude.wait_status("idle")
    assert claude.terminal.shows("Interrupted")
    assert sessions(scene)[0]["state"] == "idle"


def test_keys_move_in_a_menu_that_was_opened_from_afar(scene: Scene, claude: Claude) -> None:
    status, reply = post(scene, "send", {"text": "/help", "as_command": True})
    assert status == 200, reply
    claude.terminal.wait_until(lambda screen: "Shortcuts" in screen)
    assert post(scene, "send", {"text": "hello"})[1]["result"] == "refused"
    assert post(scene, "key", {"key": "esc"}) == (200, {"result": "sent", "detail": "the screen has changed"})
    claude.wait_ready()
    assert post(scene, "key", {"key": "F13"})[0] == 422
    before = claude.terminal.screen()
    status, reply = post(scene, "key", {"key": "left"})
    assert (status, reply["result"]) == (422, "refused")
    assert "background" in reply["detail"]
    assert claude.terminal.settle(quiet=0.5) == before
    assert said(scene.model) == []
