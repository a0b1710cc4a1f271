"""The real opencode in a terminal: what it asks comes by id, and the answer goes back to that very request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit.opencode import shell
from kit.poll import until
from kit.turns import text, tool
from real.opencode_scene import app, home, model, scene

if TYPE_CHECKING:
    from real.opencode_scene import Scene

__all__ = ["app", "home", "model", "scene"]


def test_it_is_allowed_refused_answered_and_told(scene: Scene) -> None:
    """One session, since starting it takes most of the time."""
    yc = scene.yourcall
    cli = scene.ask([shell("echo made > a.txt", "Make it")])
    prompt = yc.wait_prompt()
    assert (prompt["agent"], prompt["kind"], prompt["title"]) == ("opencode", "permission", "echo made > a.txt")
    assert prompt["action"]["command"] == "echo made > a.txt"
    cli.asks()
    assert yc.run("answer", prompt["id"], "once").code == 0
    assert scene.settled(prompt["id"]) == ("confirmed", "allowed")
    cli.asks_no_more()
    until(lambda: cli.made("a.txt"), what="the file")

    ready = yc.pause("ready")
    assert ready["body"] == "All done."
    scene.ask([shell("touch b.txt")], cli=cli)
    prompt = yc.wait_prompt()
    assert yc.show(ready["id"])["state"] == "ended"
    assert yc.run("answer", prompt["id"], "reject", "--text", "use mktemp").code == 0
    assert scene.settled(prompt["id"]) == ("confirmed", "denied")
    cli.asks_no_more()
    ready = yc.pause("ready")
    assert ready["body"] == "All done."  # with a reason the turn goes on
    assert not cli.made("b.txt")

    asked = {"question": "Which one?", "header": "Pick", "options": [{"label": "SQLite", "description": "Small"}]}
    words = scene.model.script("ask", [tool("question", questions=[asked])])
    answered = yc.run("answer", ready["id"], "--text", words)
    assert answered.code == 0, answered
    prompt = yc.wait_prompt()
    assert scene.settled(ready["id"]) == ("confirmed", "allowed")
    assert (prompt["kind"], prompt["questions"][0]["text"]) == ("question", "Which one?")
    assert yc.run("answer", prompt["id"], "o0").code == 0
    assert scene.settled(prompt["id"]) == ("confirmed", "allowed")
    yc.pause("ready")
    session = scene.session()
    assert (session["agent"], session["cwd"]) == ("opencode", str(scene.home.project))

    file = str(scene.home.project / "hello.py")
    scene.ask([tool("write", filePath=file, content="print('hello')\n")], [text("Written.")], cli=cli)
    prompt = yc.wait_prompt()
    assert prompt["title"] == "Write hello.py"
    (change,) = prompt["action"]["changes"]
    assert (change["path"], "+print('hello')" in change["diff"]) == (file, True)
    cli.asks()
    cli.pane.key("Enter")
    assert scene.settled(prompt["id"]) == ("desk", "allowed")
    until(lambda: cli.made("hello.py"), what="the file")
    assert yc.pause("ready")["body"] == "Written."
    session = scene.session()
    entries = scene.entries(session["id"])
    assert entries[0]["type"] == "user"
    assert {"bash", "question", "write"} <= {each.get("tool") for each in entries}
    assert any("+print('hello')" in each.get("diff", "") for each in entries)
