"""One run, several session ids: `/clear`, a fork and a resume of the real Claude; prompts and views follow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kit.claude import start_claude
from kit.poll import until
from kit.turns import text, tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from pathlib import Path

    from kit.claude import Claude, ClaudeHome
    from kit.model_server import ModelServer
    from kit.scene import Scene
    from kit.terminal import Tmux

TOUCH = tool("Bash", command="touch marker", description="Make the marker")


def live(scene: Scene) -> list[str]:
    return [session["id"] for session in scene.yourcall.http("GET", "/api/sessions")[1]]


def settles_on(scene: Scene, claude: Claude, before: str) -> str:
    """The id after it changed, once yourcall knows no other one."""
    new = until(lambda: (now := claude.session.get("sessionId")) not in (None, before) and now, what="a new id")
    until(lambda: run_ids(scene) == [new], what=f"{new} alone", show=lambda: live(scene))
    return str(new)


def ready_of(scene: Scene, session_id: str) -> dict[str, Any]:
    def waits() -> list[dict[str, Any]]:
        return [p for p in scene.yourcall.waiting() if (p["kind"], p["session_id"]) == ("ready", session_id)]

    (found,) = until(waits, what=f"{session_id} ready", show=scene.yourcall.waiting)
    return found


def run_ids(scene: Scene) -> list[str]:
    return [session_id for session_id in live(scene) if session_id != "another-run"]


def test_clear_fork_and_resume_keep_the_prompt_that_waits(scene: Scene) -> None:
    claude = scene.ask([text("Shall I push?")])
    ready = scene.yourcall.pause("ready")
    first = ready["session_id"]
    assert "Shall I push?" in ready["body"]

    claude.say("/clear")
    second = settles_on(scene, claude, first)
    cleared = scene.yourcall.pause("ready")
    assert (cleared["id"], cleared["session_id"]) == (ready["id"], second)
    # A yes to a question that Claude has forgotten would be misunderstood: it is no longer shown.
    assert "push" not in cleared["body"]
    assert "cleared" in cleared["body"]

    # A word from before that comes late (hooks run beside the session) does not bring the old id back.
    settings = json.loads(scene.home.settings.read_text())
    (stop,) = [hook["command"] for entry in settings["hooks"]["Stop"] for hook in entry["hooks"]]
    (transcript,) = [path for path in scene.home.transcripts() if first in path.name]
    late = {"session_id": first, "hook_event_name": "Stop", "transcript_path": str(transcript)}
    scene.yourcall.as_hook(stop, {**late, "cwd": str(scene.home.project), "prompt_id": "x"}, claude.pid)
    scene.yourcall.as_hook(stop, {**late, "session_id": "another-run", "cwd": "/"}, 0)  # heard after the first
    until(lambda: "another-run" in live(scene))
    assert set(live(scene)) == {second, "another-run"}
    assert (ready_of(scene, second)["id"], first in str(scene.yourcall.waiting())) == (ready["id"], False)

    # A view of the session under its old id still reaches what runs there.
    words = scene.model.script("more", [text("Here I am.")])
    claude.terminal.wait_until(lambda screen: "❯\u00a0/clear" not in screen)  # its hooks are ahead of its screen
    status, said = scene.yourcall.http("POST", f"/api/sessions/{first}/send", {"text": words})
    assert (status, said["result"] in ("confirmed", "sent")) == (200, True), said
    scene.yourcall.wait_state(ready["id"], "desk", "ended")  # the end of a turn may overtake its beginning
    again = ready_of(scene, second)
    assert again["body"] == "Here I am."

    claude.say("/branch")
    third = settles_on(scene, claude, second)
    branched = ready_of(scene, third)
    assert (branched["id"], branched["body"]) == (again["id"], "Here I am.")

    claude.say(f"/resume {second}")
    back = settles_on(scene, claude, third)
    assert back == second
    assert ready_of(scene, second)["id"] == again["id"]
    said = scene.yourcall.run(
        "answer", again["id"], "--text", scene.model.script("last", [TOUCH], [text("Made.")])
    )
    assert said.code in (0, 4), said
    asked = scene.yourcall.wait_prompt()
    assert asked["session_id"] == second
    assert scene.yourcall.run("answer", asked["id"], "allow").code == 0
    assert scene.made("marker")


def test_a_prompt_on_a_screen_follows_once_its_session_has_a_name(
    claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, tmp_path: Path, tmux: Tmux
) -> None:
    """Nobody told of this session but its pane: it has a made-up id until it is found by its process."""
    claude = start_claude(tmux, claude_bin, claude_home, model)
    with Yourcall(tmp_path, claude_home) as yourcall:
        place = {"server": str(tmux.socket), "pane": claude.terminal.id}
        assert yourcall.http("POST", "/api/panes", place)[0] == 201
        claude.say(model.script("work", [TOUCH], [text("Made it.")]))
        prompt = yourcall.wait_prompt()
        assert prompt["session_id"].startswith("pid-")
        yourcall.discovery = "tmux"
        yourcall.configure(f"[discovery]\nroot_pid = {claude.pid}\n")
        own = claude.session["sessionId"]
        until(lambda: yourcall.show(prompt["id"])["session_id"] == own, what="its own id")
        until(lambda: [s["id"] for s in yourcall.http("GET", "/api/sessions")[1]] == [own])
        assert [p["id"] for p in yourcall.prompts()] == [prompt["id"]]
        assert not (claude_home.project / "marker").exists()
        assert yourcall.run("answer", prompt["id"], "allow").code == 0
        until(lambda: (claude_home.project / "marker").exists())
