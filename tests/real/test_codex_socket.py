"""A person's own Codex, joined through the control socket of its app-server: asked, answered, proved."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from kit.codex import CodexHome, run_codex
from kit.codex_client import Client
from kit.codex_scene import CodexScene, joined
from kit.poll import until
from kit.responses_server import call, escalated, patch, pause, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.terminal import Tmux

TOUCH = escalated("touch marker", "Make the marker?")


@pytest.fixture
def scene(tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> Iterator[CodexScene]:
    with joined(tmp_path, fetched("codex"), tmux) as made:
        yield made


def test_a_command_is_allowed_from_afar(scene: CodexScene) -> None:
    codex = scene.ask([TOUCH], [say("Made it.")])
    prompt = scene.prompt()
    assert (prompt["kind"], prompt["agent"], prompt["state"]) == ("permission", "codex", "open")
    assert prompt["tool"]["name"] == "Bash"
    assert prompt["tool"]["input"]["command"] == "touch marker"
    codex.wait_dialog()
    assert not scene.made("marker")
    scene.answer(prompt, "allow")
    codex.wait_closed()
    assert scene.made("marker")
    scene.settled(prompt, "confirmed", "allowed")
    ready = scene.prompt(prompt)
    assert (ready["kind"], ready["body"]) == ("ready", "Made it.")


def test_deny_carries_the_reason_and_stop_ends_the_turn(scene: CodexScene) -> None:
    # The no goes first, the words right behind it: the model hears them with it, or with its next step.
    scene.begin([TOUCH], [say("Understood.")], [say("Heard.")], [say("Heard.")])
    prompt = scene.prompt()
    scene.answer(prompt, "deny", "--text", "Use the build folder instead.")
    scene.settled(prompt, "confirmed", "denied")
    scene.model.wait_for(lambda m: m.outputs() and "Use the build folder instead." in m.user_texts())
    assert "rejected by user" in scene.model.outputs()[0]
    said = [scene.prompt(prompt, kind="ready")]
    scene.model.script("second", [escalated("touch second")], [say("Never said.")])
    assert scene.yourcall.run("send", said[0]["session_id"], "DO second").code == 0
    second = scene.prompt(prompt, said[0], kind="permission")
    scene.answer(second, "stop")
    scene.settled(second, "confirmed", "stopped")
    ready = scene.prompt(prompt, second, kind="ready")
    assert ready["body"] == "The turn was stopped."
    assert not scene.made("marker")
    assert not scene.made("second")


def test_a_rule_is_offered_in_words_and_asks_no_second_time(scene: CodexScene) -> None:
    again = escalated("touch marker two", "Again?", prefix_rule=["touch", "marker"])
    scene.begin([escalated("touch marker", "First?", prefix_rule=["touch", "marker"])], [again], [say("Done.")])
    prompt = scene.prompt()
    (rule,) = [o for o in prompt["questions"][0]["options"] if o["effect"] == "allow_always"]
    assert "begins with touch marker" in rule["description"]
    assert "all your projects" in rule["description"]
    scene.answer(prompt, rule["id"])
    scene.model.wait_for(lambda m: len(m.outputs()) == 2)
    assert scene.prompt(prompt)["kind"] == "ready"
    assert scene.made("two")
    assert '["touch", "marker"]' in (scene.home.config / "rules/default.rules").read_text()


def test_a_change_is_shown_with_its_diff_also_to_one_who_comes_late(scene: CodexScene) -> None:
    outside = scene.home.path / "outside.txt"
    scene.yourcall.stop()
    desk, _ = scene.begin([patch(f"*** Add File: {outside}", "+hello there")], [say("Written.")])
    assert desk.asked()["method"] == "item/fileChange/requestApproval"
    scene.yourcall.start()
    prompt = scene.prompt()
    assert prompt["title"] == f"Add {outside}"
    assert "+hello there" in prompt["body"]
    assert not outside.exists()
    scene.answer(prompt, "allow")
    assert outside.read_text() == "hello there\n"
    scene.settled(prompt, "confirmed", "allowed")


def test_questions_permissions_and_what_a_server_asks(scene: CodexScene) -> None:
    """All other kinds of request, one after the other in one turn."""
    options = [
        {"label": "SQLite", "description": "One file."},
        {"label": "PostgreSQL", "description": "A server."},
    ]
    questions = [
        {"id": "db", "header": "Database", "question": "Which database?", "options": options},
        {"id": "name", "header": "Name", "question": "Which name?", "options": options},
    ]
    wish = {"file_system": {"write": [str(scene.home.path)]}, "network": {"enabled": True}}
    codex = scene.ask(
        [call("request_user_input", questions=questions)],
        [call("request_permissions", reason="For the cache.", permissions=wish)],
        [call("add_ticket", namespace="mcp__demo")],
        [call("book_table", namespace="mcp__demo")],
        [call("link_account", namespace="mcp__demo")],
        [say("All asked.")],
    )
    asked = scene.prompt()
    assert [q["text"] for q in asked["questions"]] == ["Which database?", "Which name?"]
    scene.post(asked, choices={"db": ["o2"]}, texts={"name": "zebra"})
    wants = scene.prompt(asked)
    assert wants["title"] == f"More permissions: Use the network, Write {scene.home.path}"
    scene.answer(wants, "session")
    ticket = scene.prompt(asked, wants)
    assert (ticket["kind"], ticket["tool"]["name"]) == ("permission", "mcp__demo__add_ticket")
    scene.answer(ticket, "deny")
    table = scene.prompt(asked, wants, ticket)
    assert table["tool"]["name"] == "mcp__demo__book_table"
    scene.answer(table, "session", "--no-wait")
    form = scene.prompt(asked, wants, ticket, table)
    assert form["kind"] == "elicitation"
    scene.fill(form, choices={"action": ["accept"], "seating": ["o2"]}, texts={"people": "4"})
    link = scene.prompt(asked, wants, ticket, table, form)
    assert link["tool"]["name"] == "mcp__demo__link_account"
    scene.answer(link, "allow", "--no-wait")
    address = scene.prompt(asked, wants, ticket, table, form, link)
    assert "https://example.com/oauth/start?id=1" in address["body"]
    scene.fill(address, choices={"action": ["decline"]})
    told = scene.model.wait_for(lambda m: len(m.outputs()) == 5 and m.outputs())
    answers = {"db": {"answers": ["PostgreSQL"]}, "name": {"answers": ["user_note: zebra"]}}
    assert json.loads(told[0]) == {"answers": answers}
    assert str(scene.home.path) in told[1]
    assert "rejected" in told[2]
    assert '"people": 4' in told[3]
    assert '"seating": "terrace"' in told[3]
    assert '"decline"' in told[4]
    for prompt, outcome in ((asked, "allowed"), (wants, "allowed"), (ticket, "denied"), (table, "allowed")):
        scene.settled(prompt, "confirmed", outcome)
    scene.settled(link, "confirmed", "allowed")
    for prompt in (form, address):
        assert scene.yourcall.show(prompt["id"])["state"] == "accepted"
    codex.wait_ready()


def test_what_the_desk_answers_is_the_desks(scene: CodexScene) -> None:
    codex = scene.ask([TOUCH], [escalated("touch second")], [say("Never said.")])
    first = scene.prompt()
    codex.wait_dialog()
    codex.press("y")
    scene.settled(first, "desk", "allowed")
    assert scene.yourcall.run("answer", first["id"], "deny").code == 3
    second = scene.prompt(first)
    codex.wait_dialog("touch second")
    codex.press("Escape")
    scene.settled(second, "desk", "stopped")
    assert scene.made("marker")
    assert not scene.made("second")


def test_the_next_instruction_more_words_and_an_interrupt(scene: CodexScene) -> None:
    codex = scene.ask([say("First done.")])
    ready = scene.prompt()
    assert ready["kind"] == "ready"
    scene.model.script("slow", [pause("go"), say("Second done.")])
    session = ready["session_id"]
    assert scene.yourcall.run("send", session, "DO slow").code == 0
    scene.settled(ready, "confirmed", "allowed")
    scene.model.wait_for(lambda m: "DO slow" in m.user_texts())
    codex.terminal.wait_until(lambda _: codex.terminal.shows("DO slow"))
    assert scene.yourcall.run("interrupt", session).code == 0
    stopped = scene.prompt(ready)
    assert stopped["body"] == "The turn was stopped."
    codex.say(scene.model.script("third", [say("Third done.")]))  # typed at the desk
    scene.settled(stopped, "desk", "allowed")
    third = scene.prompt(ready, stopped)
    assert third["body"] == "Third done."
    shown = scene.yourcall.run("conversation", session)
    assert "DO slow" in shown.out
    assert "Third done." in shown.out


def turns_of(owner: Client, thread: str) -> str:
    """The thread as the server keeps it, once it rests."""
    read = owner.call("thread/read", {"threadId": thread, "includeTurns": True})
    return json.dumps(read) if read["thread"]["status"]["type"] == "idle" else ""


def test_a_turn_that_was_over_before_we_listened_is_told(scene: CodexScene) -> None:
    owner, thread = scene.begin([pause("joined"), say("First.")])
    # Of a turn that was over before we ever joined nobody can say that it was news.
    until(lambda: thread in [s["id"] for s in scene.yourcall.run("sessions", "--json").json], what="it joins")
    scene.model.release("joined")
    first = scene.prompt(kind="ready")
    words = scene.model.script("more", [say("Second.")])
    scene.yourcall.signal(signal.SIGSTOP)
    try:
        owner.say(thread, words)
        until(lambda: "Second." in turns_of(owner, thread), what="the end of the turn")
    finally:
        scene.yourcall.signal(signal.SIGCONT)
    assert scene.prompt(first, kind="ready")["body"] == "Second."
    scene.settled(first, "desk", "allowed")


def test_a_sub_agent_is_named_and_belongs_to_its_session(scene: CodexScene) -> None:
    scene.model.script("child", [TOUCH], [say("Child done.")])
    scene.ask(
        [call("spawn_agent", namespace="multi_agent_v1", message="DO child")],
        [call("wait_agent", namespace="multi_agent_v1", targets=[], timeout_ms=30000)],
        [say("Spawned.")],
    )
    prompt = scene.prompt(kind="permission")
    sessions = [s for s in scene.yourcall.run("sessions", "--json").json if s["agent"] == "codex"]
    assert [s["id"] for s in sessions] == [prompt["session_id"]]  # neither the child nor the title maker is one
    name, _, thread = prompt["subagent"].partition(" ")
    assert (name[:1].isupper(), len(thread)) == (
        True,
        len(prompt["session_id"]),
    )  # a nickname of Codex's, and its id
    scene.answer(prompt, "allow")
    assert scene.made("marker")
    scene.settled(prompt, "confirmed", "allowed")
    whole = scene.yourcall.run("conversation", prompt["session_id"]).out
    assert f"--subagent {thread}" in whole
    own = until(
        lambda: (
            "Child done."
            in (said := scene.yourcall.run("conversation", prompt["session_id"], "--subagent", thread).out)
            and said
        ),
        30,
    )
    assert "touch marker" in own
    assert "Spawned." not in own


def test_a_server_that_dies_with_a_request_takes_it_along(scene: CodexScene) -> None:
    scene.begin([TOUCH], [say("Never said.")])
    prompt = scene.prompt()
    scene.home.kill_server()
    until(lambda: not scene.yourcall.show(prompt["id"])["held"])
    assert scene.yourcall.show(prompt["id"])["state"] == "open"
    assert scene.yourcall.run("answer", prompt["id"], "allow").code != 0
    assert run_codex(scene.binary, scene.home, "app-server", "daemon", "start").returncode == 0
    scene.settled(prompt, "ended", None)
    assert not scene.made("marker")


def test_a_yourcall_that_was_away_finds_what_is_asked_and_what_was_decided(scene: CodexScene) -> None:
    desk, _ = scene.begin([TOUCH], [escalated("touch second")], [say("Done.")])
    first = scene.prompt()
    scene.yourcall.kill()
    desk.reply(desk.asked()["id"], {"decision": "accept"})
    assert desk.asked()["params"]["command"].endswith("'touch second'")
    scene.yourcall.start()
    second = scene.prompt(first)
    scene.settled(first, "desk", "allowed")
    scene.yourcall.kill()
    scene.yourcall.start()
    until(lambda: scene.yourcall.show(second["id"])["held"])
    scene.answer(second, "allow")
    assert scene.made("second")


def test_a_yourcall_that_was_away_knows_what_codex_said_last(scene: CodexScene) -> None:
    owner, thread = scene.begin([pause("joined"), say("First.")])
    until(lambda: thread in [s["id"] for s in scene.yourcall.run("sessions", "--json").json], what="it joins")
    scene.model.release("joined")
    first = scene.prompt(kind="ready")
    scene.yourcall.kill()
    scene.yourcall.start()
    words = scene.model.script("more", [say("Second.")])
    until(lambda: scene.yourcall.run("answer", first["id"], "--text", words).code == 0, every=0.5)
    second = scene.prompt(first, kind="ready")
    assert second["body"] == "Second."
    scene.yourcall.kill()
    owner.say(thread, scene.model.script("meanwhile", [say("Third.")]))
    until(lambda: "Third." in turns_of(owner, thread), what="the end of the turn")
    scene.yourcall.start()
    third = scene.prompt(first, second, kind="ready")
    assert (third["body"], third["held"]) == ("Third.", True)
    scene.settled(second, "ended", None)


def test_a_no_of_one_who_came_late_is_proved(scene: CodexScene) -> None:
    """To a client that joined while it was pending, Codex does not tell the end of what is declined."""
    outside = scene.home.path / "outside.txt"
    scene.yourcall.stop()
    desk, _ = scene.begin([TOUCH], [patch(f"*** Add File: {outside}", "+hello")], [say("Understood.")])
    desk.asked()
    scene.yourcall.start()
    command = scene.prompt()
    scene.answer(command, "deny")
    scene.settled(command, "confirmed", "denied")
    change = scene.prompt(command)
    scene.yourcall.stop()
    scene.yourcall.start()
    until(lambda: scene.yourcall.show(change["id"])["held"])
    scene.answer(change, "deny")
    scene.settled(change, "confirmed", "denied")
    assert not scene.made("marker")
    assert not outside.exists()


def test_the_sessions_of_two_homes_are_joined_and_kept_apart(scene: CodexScene, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = CodexHome.make(tmp_path / "other", scene.model)
    config = scene.yourcall.home / "config.toml"
    scene.yourcall.configure(f'[codex]\nhomes = ["{scene.home.config}", "{other.config}"]\n')
    assert str(scene.home.config) in config.read_text()
    try:
        scene.begin([TOUCH], [say("Done.")])
        assert run_codex(scene.binary, other, "app-server", "daemon", "start").returncode == 0
        second = scene.clients.enter_context(Client(other.socket))
        second.say(second.start(other.project), "DO work")
        both = until(lambda: len(now := scene.yourcall.prompts()) == 2 and now)
        (mine,) = [p for p in both if p["cwd"] == str(scene.home.project)]
        (theirs,) = [p for p in both if p["cwd"] == str(other.project)]
        scene.answer(mine, "deny")
        scene.answer(theirs, "allow")
        assert not scene.made("marker")
        assert (other.project / "marker").exists()
    finally:
        other.close()


def test_other_kinds_that_the_desk_answers_are_told_with_their_outcome(scene: CodexScene) -> None:
    options = [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]
    question = {"id": "colour", "header": "Colour", "question": "Which colour?", "options": options}
    wish = {"network": {"enabled": True}}
    desk, _ = scene.begin(
        [call("request_user_input", questions=[question])],
        [call("request_permissions", reason="To fetch.", permissions=wish)],
        [call("add_ticket", namespace="mcp__demo")],
        [call("book_table", namespace="mcp__demo")],
        [say("All asked.")],
    )
    replies = [
        ({"answers": {"colour": {"answers": ["Red"]}}}, "allowed"),
        ({"permissions": {}}, "denied"),
        ({"action": "decline"}, "denied"),
        ({"action": "accept", "content": {}}, "allowed"),
        ({"action": "accept", "content": {"people": 2}}, "unknown"),  # what a form's server is told, nobody tells
    ]
    seen: list[dict[str, Any]] = []
    for reply, outcome in replies:
        request = desk.asked()
        prompt = scene.prompt(*seen)
        seen.append(prompt)
        desk.reply(request["id"], reply)
        scene.settled(prompt, "desk", outcome)
    assert scene.prompt(*seen)["body"] == "All asked."


def test_input_for_a_command_that_runs_is_asked_for_and_proved(scene: CodexScene) -> None:
    """Codex names the command's item in it, which may never end; the call that asks is the one that tells."""
    cat = escalated("cat > typed", "Start it?", tty=True, yield_time_ms=500)
    owner, thread = scene.begin([cat], [say("It waits.")])
    start = scene.prompt()
    scene.answer(start, "allow", "--no-wait")
    ready = scene.prompt(start, kind="ready")
    number = int(scene.model.outputs()[0].split("session ID ")[1].split()[0])
    lines = [call("write_stdin", session_id=number, chars=f"{word}\n") for word in ("one", "two", "three")]
    owner.say(thread, scene.model.script("typing", *([line] for line in lines), [say("Typed.")]))
    first = scene.prompt(start, ready)
    assert first["title"] == f"Type into terminal {number}: one"
    assert (first["kind"], first["tool"]["name"]) == ("permission", "write_stdin")
    assert [o["id"] for o in first["questions"][0]["options"]] == ["allow", "deny", "stop"]
    scene.answer(first, "allow")
    scene.settled(first, "confirmed", "allowed")
    second = scene.prompt(start, ready, first)
    scene.answer(second, "deny")
    scene.settled(second, "confirmed", "denied")
    third = scene.prompt(start, ready, first, second)
    assert "three" in third["title"]
    scene.answer(third, "stop")
    scene.settled(third, "confirmed", "stopped")
    assert until(lambda: (scene.home.project / "typed").read_text()) == "one\n"


def test_a_secret_is_asked_for_at_the_desk_and_the_phone_says_why(scene: CodexScene) -> None:
    options = [{"label": label, "description": ""} for label in ("Mine", "Yours")]
    question = {"id": "key", "header": "Key", "question": "Which key?", "options": options, "isSecret": True}
    desk, _ = scene.begin([call("request_user_input", questions=[question])], [say("Thanks.")])
    request, prompt = desk.asked(), scene.prompt()
    assert (prompt["title"], prompt["held"], prompt["questions"]) == ("Which key?", False, [])
    assert "Answer it at the desk" in prompt["body"]
    refused = scene.yourcall.run("answer", prompt["id"], "--text", "hunter2")
    assert refused.code != 0, refused
    kept = [file.read_bytes() for file in scene.yourcall.home.glob("yourcall.db*")]
    assert kept
    assert not any(b"hunter2" in data for data in kept)
    desk.reply(request["id"], {"answers": {"key": {"answers": ["Mine"]}}})
    scene.settled(prompt, "desk", "allowed")
