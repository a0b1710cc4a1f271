"""The whole way, with a real daemon: an agent asks, a service shows it, a tap answers, and everything is taken
back.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent.parent
for folder in (TESTS / "browser", TESTS / "cli"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from phone_scene import Agent, Daemon, answered  # noqa: E402
from services import NtfyService, PushService  # noqa: E402

from kit.poll import until  # noqa: E402
from kit.telegram_server import LOOK_S, TOKEN, TelegramServer  # noqa: E402
from kit.yourcall import COMMAND  # noqa: E402


@pytest.fixture
def ntfy() -> Iterator[NtfyService]:
    with NtfyService() as service:
        yield service


@pytest.fixture
def port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def yc(tmp_path: Path, ntfy: NtfyService, port: int) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    daemon.home.mkdir()
    (daemon.home / "config.toml").write_text(
        f'[server]\npublic_url = "http://127.0.0.1:{port}"\n\n'
        f'[channels.phone]\ntype = "ntfy"\nserver = "{ntfy.url}"\ntopic = "abc"\n'
    )
    daemon.start_on(port)
    yield daemon
    daemon.stop()


@pytest.fixture
def agent(tmp_path: Path, yc: Daemon) -> Iterator[Agent]:
    with Agent(tmp_path, yc) as scripted:
        yield scripted


def shown(ntfy: NtfyService) -> dict[str, Any]:
    """The one notification on the phone."""
    (one,) = until(lambda: list(ntfy.shown.values()), what="a notification")
    return one


def tap(action: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """What the ntfy app does when a button is pressed, by somebody who has looked at it for a moment."""
    time.sleep(LOOK_S)
    return hasty_tap(action)


def hasty_tap(action: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(
        action["url"], data=action["body"].encode(), headers=action["headers"], method=action["method"]
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_a_tap_answers_the_held_request_once(ntfy: NtfyService, yc: Daemon, agent: Agent) -> None:
    line = agent.bash("tapaaaaaa2", "npm test")
    told = shown(ntfy)
    assert told["message"] == "npm test"
    allow, deny = told["actions"]
    status, said = tap(allow)
    assert (status, said["result"]) in ((202, "taken"), (202, "sent"), (200, "confirmed"))
    assert answered(line)["decision"]["behavior"] == "allow"
    assert yc.show("tapaaaaaa2")["answered_by"] == "phone button"
    until(lambda: not ntfy.shown, what="withdrawn")
    for again in (allow, deny):
        status, said = tap(again)
        assert (status, said["result"]) == (409, "too_late")
    assert len(ntfy.alerts) == 1


@pytest.mark.parametrize("body", ["{}", '{"token": 3}', '{"token": "yt_nonsense"}', "[", '{"token": "", "x": 1}'])
def test_a_guess_opens_nothing(ntfy: NtfyService, yc: Daemon, agent: Agent, body: str) -> None:
    agent.bash("guessaaaa2", "npm test")
    action = {**shown(ntfy)["actions"][0], "body": body}
    assert tap(action)[0] in (400, 409)
    assert yc.show("guessaaaa2")["state"] == "open"


def test_a_page_of_somebody_else_cannot_tap(ntfy: NtfyService, yc: Daemon, agent: Agent) -> None:
    agent.bash("originaaa2", "npm test")
    action = shown(ntfy)["actions"][0]
    status, _ = tap({**action, "headers": {"Origin": "https://evil.example"}})
    assert status == 403
    assert yc.show("originaaa2")["state"] == "open"


def test_killed_in_the_middle_it_tells_once_and_takes_back(
    ntfy: NtfyService, yc: Daemon, agent: Agent, port: int
) -> None:
    line = agent.bash("killedaaa2", "npm test")
    action = shown(ntfy)["actions"][0]
    until(lambda: _receipts(yc) == [("shown",)], what="the receipt")
    yc.kill()
    line.close()
    yc.start_on(port)
    # The hook of a session that is still there comes back and holds the same request again.
    line = agent.bash("killedaaa2", "npm test")
    until(lambda: yc.show("killedaaa2")["held"], what="held again")
    assert tap(action)[0] in (200, 202), "a token outlives a restart"
    assert answered(line)["decision"]["behavior"] == "allow"
    until(lambda: not ntfy.shown, what="withdrawn by the next daemon")
    assert len(ntfy.alerts) == 1


def test_what_ended_while_nobody_was_there_is_taken_back_at_the_next_start(
    ntfy: NtfyService, yc: Daemon, agent: Agent, port: int
) -> None:
    agent.bash("endedaaaa2", "npm test")
    shown(ntfy)
    until(lambda: _receipts(yc) == [("shown",)], what="the receipt")
    yc.kill()
    with closing(sqlite3.connect(yc.home / "yourcall.db")) as db:  # as if the prompt had been pruned
        db.execute("UPDATE prompts SET state = 'ended', live = 0, row = json_set(row, '$.state', 'ended')")
        db.commit()
    yc.start_on(port)
    until(lambda: not ntfy.shown, what="withdrawn")
    until(lambda: not _receipts(yc), what="no receipt")


def _receipts(yc: Daemon) -> list[Any]:
    with closing(sqlite3.connect(f"file:{yc.home / 'yourcall.db'}?mode=ro", uri=True)) as db:
        return db.execute("SELECT state FROM receipts").fetchall()


def test_while_the_app_is_in_front_the_phone_in_the_pocket_waits(
    ntfy: NtfyService, yc: Daemon, agent: Agent
) -> None:
    assert yc.http("POST", "/api/front")[0] == 200
    agent.bash("frontaaaa2", "npm test")
    until(lambda: yc.waiting(), what="the prompt")
    # Ten more requests, each answered after the prompt came: long enough to have been told otherwise.
    for _ in range(10):
        assert yc.run("status").code == 0
    assert not ntfy.alerts
    assert not _receipts(yc)


def test_channels_are_added_tested_and_removed_by_command(tmp_path: Path, ntfy: NtfyService, yc: Daemon) -> None:
    config = yc.home / "config.toml"
    mine = config.read_text() + "\n# my own remark\n[keep]\ndays = 30\n"
    config.write_text(mine)
    sets = (f"server={ntfy.url}", "topic=xyz", "token=tk_supersecret1")
    options = [word for each in sets for word in ("--set", each)]
    said = yc.run("channels", "add", "ntfy", "--name", "tablet", "--yes", *options)
    assert said.code == 0, said
    assert "tk_supersecret1" not in said.out + said.err + config.read_text()
    assert config.read_text().startswith(mine)
    kept = yc.home / "secrets.toml"
    assert "tk_supersecret1" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    listed = {one["name"]: one for one in yc.run("channels", "--json").json}
    assert set(listed) == {"push", "phone", "tablet"}
    said = yc.run("channels", "test", "tablet", "--wait", "0")
    assert said.code == 0, said
    assert "tablet: sent" in said.out
    assert ntfy.seen[-1].headers["authorization"] == "Bearer tk_supersecret1"
    assert ntfy.alerts[-1]["topic"] == "xyz"

    ntfy.faults.append(500)
    said = yc.run("channels", "test", "tablet", "--wait", "0")
    assert said.code == 1
    assert "not sent: it said 500" in said.out

    said = yc.run("channels", "remove", "tablet")
    assert said.code == 0, said
    assert config.read_text().strip() == mine.strip()
    assert "tk_supersecret1" not in kept.read_text()
    assert {one["name"] for one in yc.run("channels", "list", "--json").json} == {"push", "phone"}
    log = (yc.home / "log" / "yourcall.log").read_text()
    assert "tk_supersecret1" not in log
    assert "xyz" not in log


def test_two_programs_on_one_bot_are_said_by_channels_doctor_and_the_test(tmp_path: Path, yc: Daemon) -> None:
    with TelegramServer() as telegram:
        options = ("--set", f"server={telegram.url}", "--set", f"token={TOKEN}", "--set", "code=ABCD-EFGH")
        assert yc.run("channels", "add", "telegram", "--yes", *options).code == 0
        telegram.say("/pair ABCD-EFGH")
        until(lambda: any("Paired" in m["text"] for m in telegram.shown()), what="paired")
        trial = subprocess.Popen(
            [str(COMMAND), "channels", "test", "telegram", "--wait", "30"],
            env=yc.env,
            stdout=subprocess.PIPE,
            text=True,
        )
        test = until(lambda: next((m for m in telegram.shown() if "test" in m["text"]), None), what="the test")
        telegram.tap(test["message_id"], "Yes, it does")
        assert "sent, and its button was pressed" in trial.communicate(timeout=40)[0]
        assert not [each for each in _doctors(yc) if each["level"] == "wrong"]

        telegram.two_pollers = True
        telegram.say("anybody?")
        until(lambda: "another program reads" in yc.run("channels").out, what="said in the list")
        (found,) = _doctors(yc)
        assert (found["level"], "another program reads this bot's messages" in found["says"]) == ("wrong", True)
        said = yc.run("channels", "test", "telegram", "--wait", "0")
        assert "nobody is heard there: another program" in said.out

        telegram.two_pollers = False
        assert yc.run("channels", "remove", "telegram").code == 0
        again = ("--set", f"server={telegram.url}", "--set", f"token={TOKEN}", "--set", "code=JKMN-PQRS")
        assert yc.run("channels", "add", "telegram", "--yes", *again).code == 0
        listed = {each["name"]: each for each in yc.run("channels", "--json").json}
        assert listed["telegram"]["targets"] == 0, "who was paired before is not any more"


def test_one_person_is_unpaired_at_the_machine(yc: Daemon) -> None:
    with TelegramServer() as telegram:
        options = ("--set", f"server={telegram.url}", "--set", f"token={TOKEN}", "--set", "code=ABCD-EFGH")
        assert yc.run("channels", "add", "telegram", "--yes", *options).code == 0

        def told(word: str, chat: int = 7) -> str:
            return until(
                lambda: next((m["text"] for m in reversed(telegram.shown(chat)) if word in m["text"]), ""), 30
            )

        telegram.say("/pair ABCD-EFGH")
        told("Paired")
        telegram.say("/invite")
        telegram.say(told("/pair ").rpartition("\n")[2], chat=8, user=8, name="Bob")
        told("Paired", 8)
        telegram.say("/invite", chat=8, user=8, name="Bob")
        later = told("/pair ", 8).rpartition("\n")[2]

        said = yc.run("channels", "unpair", "telegram")
        assert said.code == 2, said
        assert "Say who: Ada (7), Bob (8)." in said.err
        assert "no channel" in yc.run("channels", "unpair", "nobody", "Bob").err
        assert "Nobody is paired" in yc.run("channels", "unpair", "phone", "Bob").err
        assert "Say who" in yc.run("channels", "unpair", "telegram", "Eve").err
        said = yc.run("channels", "unpair", "telegram", "bob")
        assert said.code == 0, said
        assert "Say who: Ada (7)." in yc.run("channels", "unpair", "telegram").err
        assert {one["name"]: one["targets"] for one in yc.run("channels", "--json").json}["telegram"] == 1
        telegram.say(later, chat=8, user=8, name="Bob")
        told("wrong", 8)
        telegram.say("/pause", chat=8, user=8, name="Bob")
        telegram.say("/list")
        told("Nothing runs")
        assert not (yc.home / "paused").exists()


def test_who_was_paired_in_a_channel_that_is_removed_is_forgotten_also_while_yourcall_does_not_run(
    yc: Daemon,
) -> None:
    def paired() -> list[Any]:
        with closing(sqlite3.connect(yc.home / "yourcall.db")) as db:
            return db.execute("SELECT channel FROM channel_facts ORDER BY channel").fetchall()

    yc.stop()
    with closing(sqlite3.connect(yc.home / "yourcall.db")) as db:
        db.executemany("INSERT INTO channel_facts VALUES (?, 'chats', '{}')", [("phone",), ("tablet",)])
        db.commit()
    said = yc.run("channels", "remove", "phone")
    assert said.code == 0, said
    assert paired() == [("tablet",)]


def _doctors(yc: Daemon) -> list[dict[str, Any]]:
    return [each for each in yc.run("doctor", "--json").json if each["check"] == "channels"]


def test_secrets_that_others_can_read_leave_the_phone_app_alone(ntfy: NtfyService, yc: Daemon, port: int) -> None:
    (yc.home / "secrets.toml").write_text('[phone]\ntoken = "hush"\n')
    (yc.home / "secrets.toml").chmod(0o644)
    before = (yc.home / "config.toml").read_text()
    said = yc.run("channels", "remove", "phone")
    assert said.code != 0
    assert "chmod 600" in said.err
    assert (yc.home / "config.toml").read_text() == before, "all of it, or nothing"
    yc.stop()
    yc.start_on(port)
    assert [one["name"] for one in yc.run("channels", "--json").json] == ["push"]
    assert yc.http("GET", "/api/push")[0] == 200
    assert "chmod 600" in (yc.home / "log" / "yourcall.log").read_text()


def test_a_test_hears_its_button(ntfy: NtfyService, yc: Daemon) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        testing = pool.submit(yc.run, "channels", "test", "phone", "--wait", "30", "--json")
        (action,) = shown(ntfy)["actions"]
        assert tap(action) == (200, {"result": "confirmed", "detail": "This was a test, and it works."})
        (trial,) = testing.result(60).json
    assert (trial["sent"], trial["tapped"]) == (True, True)
    until(lambda: not ntfy.shown, what="taken back")
    assert yc.waiting() == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "ntfy", "--yes", "--name", "Phone"), "small letters"),
        (("add", "ntfy", "--yes", "--name", "phone"), "already"),
        (("add", "ntfy", "--yes", "--name", "x", "--set", "topic=a b"), "topic"),
        (("add", "webhook", "--yes"), "--set url="),
        (("remove", "nobody"), "no channel"),
        (("test", "nobody"), "no channel"),
    ],
)
def test_a_wrong_word_changes_nothing(yc: Daemon, words: tuple[str, ...], says: str) -> None:
    before = (yc.home / "config.toml").read_text()
    said = yc.run("channels", *words)
    assert said.code in (1, 2)
    assert says in said.err
    assert (yc.home / "config.toml").read_text() == before


def test_a_phone_subscribes_with_its_own_key_and_is_told(
    tmp_path: Path, yc: Daemon, agent: Agent, port: int
) -> None:
    with PushService() as service:
        yc.stop()
        with (yc.home / "config.toml").open("a") as file:
            file.write(f'[channels.push]\nservices = ["{service.url}"]\n')
        yc.start_on(port)
        token = yc.http("POST", "/api/devices", {"name": "phone"})[1]["token"]

        def ask(method: str, body: object = None) -> tuple[int, Any]:
            request = urllib.request.Request(
                f"{yc.url}/api/push", method=method, headers={"Authorization": f"Bearer {token}"},
                data=None if body is None else json.dumps(body).encode(),
            )  # fmt: skip
            try:
                with urllib.request.urlopen(request, timeout=30) as reply:
                    return reply.status, json.loads(reply.read())
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, json.loads(error.read())

        status, state = ask("GET")
        assert (status, state["subscribed"]) == (200, False)
        wrong = {**service.subscribe("evil"), "endpoint": "https://evil.example/x"}
        assert ask("POST", wrong)[0] == 422
        assert ask("POST", service.subscribe("phone")) == (201, {"done": True})
        assert ask("GET")[1] == {"key": state["key"], "subscribed": True}
        agent.bash("pushaaaaa2", "npm test")
        until(lambda: service.pushed, what="a push")
        assert service.pushed[0][1]["prompt"] == "pushaaaaa2"
        assert service.sender == state["key"], "the browser is bound to this very key"
        assert ask("DELETE") == (200, {"done": True})
        assert ask("GET")[1]["subscribed"] is False
