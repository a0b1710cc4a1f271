"""A chat in Telegram and the real Claude: started, asked, answered, spoken to, interrupted, resumed from there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_claude_headless import Here, shell_files

from kit.poll import until
from kit.telegram_server import TOKEN, TelegramServer
from kit.turns import pause, text, tool

if TYPE_CHECKING:
    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer

TOUCH = tool("Bash", command="touch marker", description="Make the marker")


@dataclass
class Chat:
    server: TelegramServer
    yourcall: Here
    home: ClaudeHome
    model: ModelServer

    def see(self, words: str, count: int = 1) -> dict[str, Any]:
        """The newest message with these words."""

        def look() -> Any:
            found = [m for m in self.server.shown() if words in m["text"]]
            return found[-1] if len(found) >= count else None

        return until(look, what=words, show=lambda: [m["text"] for m in self.server.shown()])

    def row(self, session: str) -> dict[str, Any]:
        return next((s for s in self.yourcall.http("GET", "/api/sessions")[1] if s["id"].startswith(session)), {})


@pytest.fixture
def chat(tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer) -> Iterator[Chat]:
    shell_files(claude_home, claude_bin, model)
    here = Here(tmp_path, claude_home)
    here.home.mkdir(mode=0o700)
    (here.home / "config.toml").write_text("[claude]\nuse_api_billing = true\n")
    with TelegramServer() as server, here:
        sets = ("--set", f"token={TOKEN}", "--set", f"server={server.url}")
        said = here.run("channels", "add", "telegram", "--yes", *sets)
        assert said.code == 0, said
        found = re.search(r"/pair ([A-Z0-9-]{9})", said.out)
        assert found, said.out
        server.say(f"/pair {found[1]}")
        scene = Chat(server, here, claude_home, model)
        scene.see("Paired")
        yield scene
        log = (here.home / "log" / "yourcall.log").read_text()
        assert TOKEN.partition(":")[2] not in log
        assert "could not be" not in log, log


def test_a_session_from_its_start_to_its_resumption(chat: Chat) -> None:
    server, project = chat.server, chat.home.project
    words = chat.model.script("work", [TOUCH], [text("The marker is made.")])
    server.say("/mode default")
    chat.see("New sessions of this chat: default")
    server.say(f"/start {project}\n{words}")
    started = chat.see("Started: ")
    session = re.search(r"Started: (\w{8})", started["text"])
    assert session
    asked = chat.see("asks for permission")
    assert "touch marker" in asked["text"]
    assert chat.row(session[1])["permission_mode"] == "default"

    server.say("/list")
    assert session[1] in chat.see("1. ")["text"]

    query = server.tap(asked["message_id"], "✅ Allow")
    assert server.toast(query)["text"] == "Sending…"
    until(lambda: (project / "marker").exists(), what="the real command")
    chat.see("✓ Done (Ada: Allow)")
    over = chat.see("Turn over in ")
    assert "The marker is made." in over["text"]
    assert "touch marker" in over["text"] or "Make the marker" in over["text"]

    # A reply to what it said is the next instruction; it is seen working in a new message, then interrupted.
    more = chat.model.script("more", [text("So far "), pause("more"), text("and so on.")])
    server.say(more, reply_to=over["message_id"])
    working = chat.see("So far")
    assert "Working in" in working["text"]
    server.say("/interrupt")
    chat.see("Done")
    until(lambda: chat.row(session[1]).get("state") in ("idle", "waiting"), what="interrupted")
    third = chat.model.script("third", [text("Steered well.")])
    server.say(f"/steer 1 {third}")
    chat.see("Steered well.")
    server.say(f"/mode {session[1]} plan")
    until(lambda: chat.row(session[1]).get("permission_mode") == "plan", what="the mode")
    server.say("/stop 1")
    chat.see("the session has ended")

    again = chat.model.script("again", [text("Back again.")])
    server.say(f"/resume {session[1]} {again}")
    chat.see("Started: ", 2)
    assert "Back again." in chat.see("Back again.")["text"]


def test_what_may_not_be_done_from_afar_is_refused(chat: Chat) -> None:
    server = chat.server
    server.say("/mode bypassPermissions")
    chat.see("bypassPermissions")
    server.say(f"/start {chat.home.project} hello")
    assert "at the machine itself" in chat.see("Not started: ")["text"]
    server.say("/start nowhere hello")
    chat.see("is not a folder here")
    server.say("/pause")
    chat.see("Paused: nothing is decided by rule")
    assert (chat.yourcall.home / "paused").exists()
    server.say("/pause off")
    chat.see("Rules decide again")
    assert not (chat.yourcall.home / "paused").exists()
    said = chat.yourcall.run("channels", "test", "telegram", "--wait", "0")
    assert said.code == 0, said
    assert "This was a test" in chat.see("This was a test")["text"]
