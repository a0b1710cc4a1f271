"""ls, show, sessions, log, devices and watch, against a real daemon."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import COMMAND, Yourcall

PROMPT_FIELDS = {
    "id", "kind", "state", "agent", "session_id", "cwd", "title", "body", "tool", "questions", "opened_at",
}  # fmt: skip
EVIL = "echo \x1b[2J\x1b]0;owned\x07 \u202etxt.sh\r\nrm -rf /"


def raw(text: str) -> list[str]:
    return re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_ls_and_show_keep_the_contract(yc: Yourcall, claude: ScriptedClaude) -> None:
    tool_input = {"command": "touch marker", "timeout": 1500}
    claude.asks("Bash", **tool_input)
    (prompt,) = until(yc.prompts)
    assert set(prompt) >= PROMPT_FIELDS
    assert prompt["tool"] == {"name": "Bash", "input": tool_input}
    assert (prompt["agent"], prompt["state"], prompt["kind"]) == ("claude", "open", "permission")
    assert (prompt["cwd"], prompt["session_id"]) == (str(claude.project), claude.session_id)
    (question,) = prompt["questions"]
    assert set(question) >= {"id", "text", "multi_select", "free_text", "options"}
    assert all(set(option) >= {"id", "label", "description", "effect"} for option in question["options"])
    shown = yc.show(prompt["id"][:4])
    assert {**shown, "history": None, "author_certainty": None} == {
        **prompt,
        "history": None,
        "author_certainty": None,
    }
    assert [set(moment) for moment in shown["history"]] == [{"at", "state", "by", "detail"}]

    listing = yc.run("ls").out
    assert prompt["id"][:6] in listing
    assert "project" in listing
    page = yc.run("show", prompt["id"][:5]).out
    assert "touch marker" in page
    assert f"yourcall answer {prompt['id'][:6]} allow" in page


def test_oldest_first_and_all(yc: Yourcall, claude: ScriptedClaude, tmp_path: Path) -> None:
    first = claude.asks("Bash", command="one")
    one = yc.wait_prompt()["id"]
    with ScriptedClaude(tmp_path / "other", yc) as other:
        other.asks("Bash", command="two")
        two = yc.wait_prompt(2)["id"]
        assert [p["id"] for p in yc.prompts()] == [one, two]
        assert yc.run("answer", one, "allow", "--no-wait").code == 6
        assert first.answer() is not None
        claude.goes_on(first)
        yc.wait_state(one, "confirmed")
        assert [p["id"] for p in yc.prompts()] == [two]
        assert [p["id"] for p in yc.run("ls", "--all", "--json").json] == [one, two]
        assert "confirmed" in yc.run("ls", "--all").out


def test_hostile_text_is_shown_and_never_obeyed(yc: Yourcall, claude: ScriptedClaude) -> None:
    held = claude.asks("Bash", command=EVIL, description=EVIL)
    prompt = yc.wait_prompt()["id"]
    assert yc.show(prompt)["tool"]["input"]["command"] == EVIL
    page = yc.run("show", prompt).out
    assert "␛[2J" in page
    assert "<U+202E>" in page
    refused = yc.run("answer", prompt, EVIL)
    assert refused.code == 2
    yc.run("answer", prompt, "allow", "--no-wait")
    assert held.answer() is not None
    claude.goes_on(held)
    yc.wait_state(prompt, "confirmed")
    for text in (page, refused.err, yc.run("ls", "--all").out, yc.run("log").out, yc.run("sessions").out):
        assert text
        assert not raw(text)
    for words in (["ls", "--all", "--json"], ["show", prompt, "--json"], ["log", "--json"]):
        assert yc.run(*words).out.isascii()


def test_sessions(yc: Yourcall, claude: ScriptedClaude) -> None:
    claude.asks("Bash", command="ls")
    yc.wait_prompt()
    (session,) = yc.run("sessions", "--json").json
    assert set(session) >= {"id", "agent", "cwd", "state", "mode", "permission_mode", "links"}
    assert (session["id"], session["state"], session["permission_mode"]) == (
        claude.session_id,
        "waiting",
        "default",
    )
    assert "hook" in yc.run("sessions").out


def test_log_tells_who_when_and_what_then_happened(yc: Yourcall, claude: ScriptedClaude) -> None:
    assert yc.run("log").out == "Nothing has been answered yet.\n"
    held = claude.asks("Bash", command="touch marker")
    prompt = yc.wait_prompt()["id"]
    yc.run("answer", prompt, "deny", "--text", "no", "--no-wait")
    assert held.answer() is not None
    claude.goes_on(held, decision="reject")
    yc.wait_state(prompt, "confirmed")
    (line,) = yc.run("log", "--json").json
    assert (line["by"], line["answer"], line["state"], line["outcome"]) == ("cli", "Deny", "confirmed", "denied")
    text = yc.run("log").out
    assert prompt[:6] in text
    assert re.search(r" cli +Deny +denied +touch marker", text)


def test_devices_are_added_listed_and_revoked(yc: Yourcall) -> None:
    made = yc.run("devices", "add", "ci", "--json").json
    assert set(made) >= {"id", "token"}

    def status(token: str) -> int:
        request = urllib.request.Request(f"{yc.url}/api/prompts", headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    assert status(made["token"]) == 200
    assert [d["name"] for d in yc.run("devices", "--json").json] == ["ci"]
    listed = yc.run("devices").out
    assert made["id"] in listed
    assert made["token"] not in listed
    plain = yc.run("devices", "add", "other")
    assert plain.out.strip().startswith("yc_")
    assert yc.run("devices", "revoke", "nobody").code == 2
    assert yc.run("devices", "revoke", made["id"][:5]).code == 0
    assert status(made["token"]) == 401
    assert [d["name"] for d in yc.run("devices", "--json").json] == ["other"]


def test_pairing_shows_a_code_that_works_once(yc: Yourcall) -> None:
    told = yc.run("devices", "pair", "--json").json
    assert told["url"] == f"{yc.url}/#pair={told['code']}"
    body = json.dumps({"code": told["code"].lower(), "name": "phone"}).encode()
    request = urllib.request.Request(f"{yc.url}/api/pair", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as reply:
        assert json.load(reply)["name"] == "phone"
    words = yc.run("pair").out
    assert "Code:" in words
    assert "this machine only" in words


@contextmanager
def watching(yc: Yourcall, *words: str) -> Iterator[list[tuple[str, str]]]:
    """`yourcall watch` in the background; its lines so far, each with where it said them."""
    process = subprocess.Popen(
        [str(COMMAND), "watch", *words], env=yc.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines: list[tuple[str, str]] = []

    def read(stream, name: str) -> None:
        for line in stream:
            lines.append((name, line.rstrip("\n")))

    readers = [
        threading.Thread(target=read, args=(stream, name))
        for stream, name in ((process.stdout, "out"), (process.stderr, "err"))
    ]
    for reader in readers:
        reader.start()
    try:
        yield lines
    finally:
        process.terminate()
        process.wait(10)
        for reader in readers:
            reader.join(10)
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def test_watch_shows_what_waits_and_what_changes(yc: Yourcall, claude: ScriptedClaude) -> None:
    held = claude.asks("Bash", command="touch marker")
    prompt = yc.wait_prompt()["id"]
    with watching(yc) as lines:
        until(lambda: any(prompt[:6] in line and " open " in line for _, line in lines), show=lambda: str(lines))
        yc.run("answer", prompt, "allow", "--no-wait")
        assert held.answer() is not None
        claude.goes_on(held)
        until(
            lambda: any(prompt[:6] in line and " confirmed " in line for _, line in lines), show=lambda: str(lines)
        )


def test_watch_goes_on_after_a_restart_and_misses_nothing(yc: Yourcall, claude: ScriptedClaude) -> None:
    with watching(yc, "--json") as lines:

        def messages() -> list[dict]:
            return [json.loads(line) for where, line in lines if where == "out"]

        until(lambda: messages() and messages()[0]["type"] == "hello")
        held = claude.asks("Bash", command="touch marker")
        prompt = yc.wait_prompt()["id"]
        until(lambda: any(m.get("prompt", {}).get("id") == prompt for m in messages()))
        before = messages()[-1]["seq"]
        yc.kill()
        until(lambda: any("waiting for it to come back" in line for where, line in lines if where == "err"))
        claude.goes_on(held, source="user_temporary")  # while nobody was there to see it
        yc.start()
        until(lambda: any(m.get("prompt", {}).get("state") == "desk" for m in messages()), show=lambda: str(lines))
        assert any("is back" in line for where, line in lines if where == "err")
        seqs = [m["seq"] for m in messages() if m["type"] != "hello"]
        assert seqs == sorted(set(seqs))
        assert seqs[-1] > before


def test_watch_needs_a_daemon_to_begin_with(tmp_path) -> None:
    said = Yourcall(tmp_path).run("watch")
    assert said.code == 1
    assert said.err.startswith("yourcall is not running.")


def test_watch_goes_on_when_yourcall_leaves_before_it_has_told_what_waits(tmp_path: Path) -> None:
    from websockets.sync.server import ServerConnection, unix_serve

    def leaving(feed: ServerConnection) -> None:
        feed.send('{"type": "hello", "seq": 0, "snapshot": true}')
        feed.recv()  # until it is closed; the list of what waits is not given

    yc = Yourcall(tmp_path)
    yc.home.mkdir()
    with unix_serve(leaving, str(yc.home / "api.sock")) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            with watching(yc) as lines:
                until(lambda: any("waiting for it to come back" in line for _, line in lines), show=lambda: lines)
        finally:
            server.shutdown()
            serving.join()
