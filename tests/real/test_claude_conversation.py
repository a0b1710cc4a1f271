"""The conversation of a real Claude Code: a turn with thoughts, commands, edits and a subagent, entry by entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect as unix_connect

from kit.claude import start_claude
from kit.poll import until
from kit.turns import text, thinking, tool

if TYPE_CHECKING:
    from kit.scene import Scene


def actions(entries: list[dict[str, Any]], phase: str) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry["type"] == "action" and entry["phase"] == phase]


def test_a_turn_is_told_exactly(scene: Scene) -> None:
    project = scene.home.project
    old, new = project / "old.txt", project / "new.txt"
    old.write_text("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n")
    settings = json.loads(scene.home.settings.read_text())
    settings["permissions"] = {"allow": ["Bash", "Edit", "Write", "Agent"]}
    scene.home.write_settings(settings)
    words = scene.model.script(
        "work",
        [
            thinking("First I look, then I change."),
            text("I will change a file."),
            tool("Bash", command="echo out; echo err >&2; exit 3", description="Try it", timeout=5000),
        ],
        [tool("Read", file_path=str(old))],
        [
            tool("Edit", file_path=str(old), old_string="five", new_string="FIVE"),
            tool("Write", file_path=str(new), content="fresh\n"),
        ],
        [tool("Agent", description="Look around", prompt="please DO below", subagent_type="general-purpose")],
        [text("All changed.")],
    )
    scene.model.script(
        "below", [tool("Bash", command="echo below", description="Below")], [text("Below is done.")]
    )
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model)
    claude.say(words)
    session = claude.session["sessionId"]

    def told(**query: object) -> list[dict[str, Any]]:
        asked = "&".join(f"{name}={value}" for name, value in {"limit": 500, **query}.items())
        status, page = scene.yourcall.http("GET", f"/api/sessions/{session}/conversation?{asked}")
        assert status == 200, page
        return page["entries"]

    # The subagent works in the background: its end is a notice, and the model then speaks once more.
    def over() -> list[dict[str, Any]]:
        entries = told()
        ended = [entry for entry in entries if entry["type"] == "result"]
        return entries if len(ended) == 2 else []

    entries = until(over, what="two turns that are over", show=lambda: str(told()))
    assert new.read_text() == "fresh\n"
    assert "FIVE" in old.read_text()

    spoken = [(e["type"], e["text"]) for e in entries if e["type"] in ("user", "assistant", "thinking", "notice")]
    assert spoken == [
        ("user", words),
        ("thinking", "First I look, then I change."),
        ("assistant", "I will change a file."),
        ("assistant", "All changed."),
        ("notice", 'Agent "Look around" finished\n\nBelow is done.'),
        ("assistant", "All changed."),
    ]
    begun, done = actions(entries, "started"), actions(entries, "completed")
    assert [(a["kind"], a["title"], a["paths"]) for a in begun] == [
        ("command", "echo out; echo err >&2; exit 3", []),
        ("tool", f"Read {old}", [str(old)]),
        ("file_change", f"Edit {old}", [str(old)]),
        ("file_change", f"Write {new}", [str(new)]),
        ("tool", "Agent general-purpose: Look around", []),
    ]
    assert begun[0]["detail"] == "Try it, at most 5 s"
    assert begun[3]["detail"] == "fresh"
    results = {action["call_id"]: action for action in done}
    assert results.keys() == {action["call_id"] for action in begun}
    ran, _, edited, written, helped = (results[action["call_id"]] for action in begun)
    assert all(results[a["call_id"]]["title"] == a["title"] for a in begun)
    assert (ran["is_error"], ran["detail"]) == (True, "Exit code 3\nout\nerr")
    assert edited["diff"].splitlines() == [
        f"--- {old}", f"+++ {old}", "@@ -2,7 +2,7 @@",
        " two", " three", " four", "-five", "+FIVE", " six", " seven", " eight",
    ]  # fmt: skip
    assert not written["is_error"]
    assert [(e["scope"], e["seconds"] > 0) for e in entries if e["type"] == "result"] == [("turn", True)] * 2
    assert sum(e["tokens"]["input"] for e in entries if e.get("tokens")) == 6_000  # six requests of 1000

    below = told(subagent=helped["child"])
    assert [(e["type"], e.get("text") or e.get("title")) for e in below] == [
        ("user", "please DO below"),
        ("action", "echo below"),
        ("action", "echo below"),
        ("assistant", "Below is done."),
    ]
    assert {e["subagent"] for e in below} == {helped["child"]}

    said = scene.yourcall.run("conversation", session[:8], "--limit", "500")
    assert said.code == 0, said
    assert "+FIVE" in said.out


def test_the_web_and_several_edits_at_once_are_actions(scene: Scene) -> None:
    """No version that we know offers MultiEdit: a model that asks for it is shown with what it wanted."""
    file = scene.home.project / "a.py"
    file.write_text("one\ntwo\n")
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "two", "new_string": "2"}]
    scene.ask(
        [tool("WebSearch", query="python asyncio")],
        [tool("MultiEdit", file_path=str(file), edits=edits)],
        [text("Done.")],
    )
    prompt = scene.yourcall.wait_prompt()
    assert (prompt["tool"]["name"], prompt["title"]) == ("WebSearch", "Search the web: python asyncio")
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    scene.yourcall.pause("ready")
    path = f"/api/sessions/{prompt['session_id']}/conversation?limit=500"

    def whole() -> list[dict[str, Any]] | None:
        """Claude says that it is done a moment before all of it is written down."""
        entries = scene.yourcall.http("GET", path)[1]["entries"]
        return entries if len(actions(entries, "completed")) == 2 else None

    entries = until(whole)
    search, change = actions(entries, "completed")
    assert (search["kind"], search["title"], search["is_error"]) == ("web", prompt["title"], False)
    assert "Web search results" in search["detail"]
    assert (change["kind"], change["paths"], change["is_error"]) == ("file_change", [str(file)], True)
    (wanted,) = [entry for entry in actions(entries, "started") if entry["tool"] == "MultiEdit"]
    for line in ("-one", "+1", "-two", "+2"):
        assert line in wanted["diff"].splitlines()
    assert file.read_text() == "one\ntwo\n"


def test_a_watched_conversation_streams_to_the_phone(scene: Scene) -> None:
    """What the real Claude says and does, pushed as it writes it down."""
    claude = scene.ask([text("Ready.")])
    session = scene.yourcall.pause("ready")["session_id"]

    def so_far() -> dict[str, Any] | None:
        """Claude says that it is done a moment before all of it is written down."""
        _, page = scene.yourcall.http("GET", f"/api/sessions/{session}/conversation")
        return page if any(entry.get("text") == "Ready." for entry in page["entries"]) else None

    page = until(so_far)
    with unix_connect(sock=scene.yourcall.connect("api.sock"), uri="ws://localhost/api/live", proxy=None) as feed:
        feed.send(json.dumps({"watch": session, "after": page["end"], "file": page["file"]}))
        touch = tool("Bash", command="touch made", description="Make it")
        claude.say(scene.model.script("more", [touch], [text("Over.")]))
        asked = scene.yourcall.wait_prompt()
        assert scene.yourcall.run("answer", asked["id"], "allow").code == 0
        entries: list[dict[str, Any]] = []

        def heard() -> bool:
            news = json.loads(feed.recv(timeout=60))
            if news["type"] == "entries":
                assert news["session_id"] == session
                entries.extend(news["page"]["entries"])
            return any(entry["type"] == "assistant" and entry["text"] == "Over." for entry in entries)

        until(heard)
    assert [entry["text"] for entry in entries if entry["type"] == "user"] == ["DO more"]
    assert [entry["title"] for entry in actions(entries, "completed")] == ["touch made"]
    whole = scene.yourcall.http("GET", f"/api/sessions/{session}/conversation?limit=500")[1]["entries"]
    assert [entry["offset"] for entry in whole if entry["offset"] >= page["end"]][: len(entries)] == [
        entry["offset"] for entry in entries
    ]
