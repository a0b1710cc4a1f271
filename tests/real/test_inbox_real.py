"""The inbox with the real Claude Code: a key pressed in one terminal, and the agent in the other moves on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit.turns import text, tool
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from kit.scene import Scene
    from kit.terminal import Tmux

TOUCH = tool("Bash", command="touch marker", description="Make the marker")


def test_a_key_in_the_inbox_lets_claude_go_on(scene: Scene, tmux: Tmux) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    env = {**scene.yourcall.env, "TERM": "tmux-256color"}
    inbox = tmux.start([str(COMMAND), "inbox"], cwd=scene.home.path, env=env, cols=120, rows=40)
    inbox.wait_until(lambda screen: "$ touch marker" in screen and "its terminal, live" in screen)
    # In the queue, on the card, and in Claude's own dialog.
    inbox.wait_until(lambda screen: screen.count("touch marker") >= 3)
    inbox.settle(1.3)  # a key counts only after a second
    assert not scene.made("marker")
    inbox.key("a")
    inbox.wait_until(lambda screen: "Allowed. The agent moved on." in screen)
    scene.model.wait_for(lambda m: m.tool_results())
    assert scene.made("marker")
    assert scene.states(prompt["id"]) == ["open", "answering", "sent", "accepted", "confirmed"]
    claude.wait_status("idle")
