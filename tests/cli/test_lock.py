"""`yourcall lock`: with a daemon, without one, beside one that hangs; nothing gets through until it is lifted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import httpx
from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import Yourcall


def device(yc: Yourcall, name: str, scopes: str = "read,answer,steer,rules") -> Callable[..., httpx.Response]:
    """A paired device: `ask(method, path, body)`."""
    token = yc.run("devices", "add", name, "--scopes", scopes, "--json").json["token"]

    def ask(method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.request(method, yc.url + path, headers=headers, json=body, trust_env=False)

    return ask


def alive(yc: Yourcall) -> list[str]:
    with closing(sqlite3.connect(f"file:{yc.home / 'yourcall.db'}?mode=ro", uri=True)) as db:
        return [name for (name,) in db.execute("SELECT name FROM devices WHERE revoked_at IS NULL ORDER BY name")]


def test_the_lock_shuts_everything_and_gives_held_requests_back(yc: Yourcall, claude: ScriptedClaude) -> None:
    phone, ci = device(yc, "phone"), device(yc, "ci")
    held = claude.asks("Bash", command="make clean")
    prompt = yc.wait_prompt()
    said = yc.run("lock")
    assert said.code == 0, said
    assert phone("GET", "/api/status").status_code in (401, 423)
    assert held.answer() is None  # without a word: Claude's own dialog is there
    assert until(lambda: alive(yc) == [], what="all devices revoked")
    for ask in (phone, ci):
        assert ask("POST", f"/api/prompts/{prompt['id']}/answer", {"option": "allow"}).status_code in (401, 423)
    refused = yc.run("answer", prompt["id"], "allow")
    assert (refused.code, "yourcall is locked" in refused.err) == (1, True), refused
    assert yc.run("devices", "add", "x").code != 0
    assert yc.run("pair").code != 0
    assert "locked" in yc.run("resume").err
    assert "LOCKED" in yc.run("status").out
    assert yc.http("GET", "/api/rules?cwd=/")[1]["paused"]
    # What comes up now is never held: nobody could answer it.
    again = claude.asks("Bash", command="make all")
    assert again.answer() is None
    assert yc.show(prompt["id"])["state"] == "open"

    assert yc.run("unlock").code == 0
    assert alive(yc) == []
    assert phone("GET", "/api/status").status_code == 401
    assert yc.http("GET", "/api/rules?cwd=/")[1]["paused"]
    third = claude.asks("Bash", command="make more")
    asked = until(
        lambda: next((p for p in yc.prompts() if p["title"].endswith("make more") and p["held"]), None),
        what="the third request to be held",
    )
    assert yc.run("answer", asked["id"], "deny", "--no-wait").code in (0, 6)
    assert third.answer() is not None

    def recorded() -> set[tuple[str, str]]:
        return {(line["area"], line["what"]) for line in yc.run("log", "settings", "--json").json}

    # The daemon looks at the file twice a second.
    until(lambda: recorded() >= {("lock", "locked"), ("lock", "unlocked")}, what="the lock and its end on record")
    assert yc.run("log", "verify").code == 0


def test_the_one_button_keeps_its_own_device_which_may_look_and_nothing_else(
    yc: Yourcall, claude: ScriptedClaude
) -> None:
    phone, ci, reader = device(yc, "phone"), device(yc, "ci"), device(yc, "reader", "read,answer,steer")
    held = claude.asks("Bash", command="make clean")
    prompt = yc.wait_prompt()
    assert ci("POST", f"/api/prompts/{prompt['id']}/answer", {"option": "allow"}).status_code == 202
    assert held.answer() is not None
    assert reader("POST", "/api/lock", {}).status_code == 403
    told = phone("POST", "/api/lock", {})
    assert told.status_code == 200
    whole = told.json()
    assert whole["locked"]
    assert whole["by"].startswith("phone (")
    allowed = [line for line in whole["happened"] if line["prompt_id"] == prompt["id"]]
    assert [(line["by"], line["how"]) for line in allowed] == [("ci", "device key")]
    assert alive(yc) == ["phone"]
    assert ci("GET", "/api/status").status_code == 401
    assert phone("GET", "/api/lock").json()["locked"]
    assert phone("GET", "/api/prompts").status_code == 200
    for method, path, body in (
        ("POST", f"/api/prompts/{prompt['id']}/answer", {"option": "allow"}),
        ("POST", "/api/resume", None),
        ("POST", "/api/sessions", {"agent": "claude", "prompt": "x", "cwd": "/"}),
        ("POST", "/api/unlock", None),
    ):
        assert phone(method, path, body).status_code in (404, 423), path
    # Whoever locks again, without that device in hand, has it shut out as well.
    assert yc.run("lock").code == 0
    assert alive(yc) == []


def test_it_works_without_a_daemon(yc: Yourcall) -> None:
    phone = device(yc, "phone")
    yc.kill()
    said = yc.run("lock", "--json").json
    assert (said["daemon"], said["revoked"]) == ("none", ["phone"])
    assert alive(yc) == []
    assert any(line["what"] == "revoked" for line in said["happened"])
    assert yc.run("log", "verify").code == 0
    yc.start()
    assert phone("GET", "/api/status").status_code == 401
    assert "LOCKED" in yc.run("status").out
    yc.stop()
    assert yc.run("unlock").code == 0
    yc.start()
    assert phone("GET", "/api/status").status_code == 401
    assert [line["what"] for line in yc.run("log", "settings", "--json").json if line["area"] == "lock"] == [
        "unlocked",
        "locked",
    ]


def test_it_works_beside_a_daemon_that_hangs(yc: Yourcall) -> None:
    phone = device(yc, "phone")
    yc.hang()
    said = yc.run("lock", "--json").json
    assert said["daemon"] == "hangs"
    yc.wake()
    # The very first request after it woke: the file locks, before anything was revoked.
    assert phone("GET", "/api/prompts").status_code in (401, 423)
    assert until(lambda: alive(yc) == [], what="all devices revoked")


def test_a_lock_that_cannot_be_read_locks(yc: Yourcall) -> None:
    phone = device(yc, "phone")
    (yc.home / "locked").write_text("not what we wrote")
    assert phone("GET", "/api/prompts").status_code in (401, 423)
    assert until(lambda: alive(yc) == [], what="all devices revoked")
    assert "LOCKED" in yc.run("status").out
