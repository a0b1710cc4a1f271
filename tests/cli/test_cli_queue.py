"""`yourcall queue`, with a real daemon and an agent that writes down what it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import small_acp
from kit.poll import until
from kit.yourcall import Yourcall


class Small:
    """One session of the small agent."""

    def __init__(self, yc: Yourcall, folder: Path) -> None:
        self.yc, self.project, self.log = yc, folder / "project", folder / "told.jsonl"
        self.project.mkdir()
        done = yc.run(
            "run", "--acp", "--cwd", str(self.project), "--", sys.executable, small_acp.__file__, str(self.log)
        )
        assert done.code == 0, done
        self.id = done.out.strip()

    @property
    def told(self) -> list[str]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def hears(self, *texts: str) -> None:
        until(lambda: self.told == list(texts), what=f"{texts}", show=lambda: f"{self.told} {self.queue()}")

    def queue(self, *words: str, code: int = 0) -> Any:
        done = self.yc.run("queue", self.id, *words, *(["--json"] if code == 0 else []))
        assert done.code == code, done
        return done.json if code == 0 else done.err

    def is_over(self, *texts: str) -> None:
        def look() -> bool:
            _, queue = self.yc.http("GET", f"/api/sessions/{self.id}/queue")
            return [each["text"] for each in queue["orders"] if each["state"] == "done"] == list(texts)

        until(look, what=f"{texts} to be done", show=self.queue)


@pytest.fixture
def small(yc: Yourcall, tmp_path: Path) -> Iterator[Small]:
    session = Small(yc, tmp_path)
    yield session
    yc.run("stop", session.id)


def test_one_after_the_other(small: Small) -> None:
    small.yc.run("send", small.id, "HOLD held")
    small.hears("HOLD held")
    small.queue("add", "one")
    small.queue("add", "two")
    three = small.queue("add", "three")
    assert [each["text"] for each in three["orders"]] == ["one", "two", "three"]
    assert {each["by"] for each in three["orders"]} != {""}
    assert [each["text"] for each in small.queue("move", "3", "1")["orders"]] == ["three", "one", "two"]
    assert [each["text"] for each in small.queue("remove", "3")["orders"]] == ["three", "one"]
    assert [each["text"] for each in small.queue("edit", "2", "ONE")["orders"]] == ["three", "ONE"]
    listed = small.yc.run("queue", small.id).out
    assert " 1. next: three" in listed
    assert "The first is given: after this turn." in listed
    (small.project / "held").touch()
    small.hears("HOLD held", "three", "ONE")
    small.is_over("three", "ONE")
    assert "Nothing waits." in small.yc.run("queue", small.id).out


def test_a_command_must_pass_first(small: Small) -> None:
    small.queue("add", "refactor", "--when-passes", "test -e passed || { echo 'no such test' >&2; exit 3; }")
    held = until(lambda: small.queue()["held"], what="the queue to be held")
    assert "failed (exit 3): no such test" in held
    assert small.told == []
    assert "Held: " in small.yc.run("queue", small.id).out
    (small.project / "passed").touch()
    small.queue("resume")
    small.hears("refactor")


def test_a_command_of_a_queue_is_one_of_the_agents(small: Small) -> None:
    """What it runs may have been written by the agent: it changes nothing here."""
    command = f"{sys.executable} -m yourcall.cli.main --home {small.yc.home} queue {small.id} add more"
    small.queue("add", "x", "--when-passes", f"{command} 2>said; exit 1")
    held = until(lambda: small.queue()["held"], what="the queue to be held")
    assert "failed" in held
    assert "only a person may start, steer or stop sessions" in (small.project / "said").read_text().lower()
    assert [each["text"] for each in small.queue()["orders"]] == ["x"]


def test_held_after_a_no_and_after_a_failure(small: Small) -> None:
    small.yc.run("send", small.id, "ASK")
    prompt = small.yc.wait_prompt()
    small.queue("add", "next")
    assert small.queue()["waits_for"].startswith("it asks: ")
    small.yc.run("answer", prompt["id"], "deny")
    held = until(lambda: small.queue()["held"], what="the queue to be held")
    assert "somebody said no" in held
    small.queue("resume")
    small.hears("ASK", "next")
    small.is_over("next")
    small.yc.run("send", small.id, "FAIL")
    small.yc.pause("problem")
    small.queue("add", "after the failure")
    assert small.queue()["waits_for"].startswith("it stopped: ")
    small.yc.run("send", small.id, "go on")
    small.hears("ASK", "next", "FAIL", "go on", "after the failure")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("remove", "1"), "there is no number 1"),
        (("move", "1", "2"), "there is no number 1"),
        (("add", " "), "Write what the session shall do"),
        (("add", "x", "--after-limit"), "No usage limit"),
        (("add", "x", "--at", "never"), "is no time"),
        (("add", "x", "--at", "25:00"), "is no time of the day"),
        (("add", "x", "--at", "+30m", "--after-limit"), "Give one of"),
        (("hold",), "Nothing waits in this queue"),
        (("frobnicate",), "No such command"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(small: Small, words: tuple[str, ...], why: str) -> None:
    assert why in small.queue(*words, code=2)
    assert small.queue()["orders"] == []


def test_no_session_no_queue(yc: Yourcall) -> None:
    assert yc.run("queue", "nobody", "add", "x").code == 2
    assert yc.run("queue", "../x").code == 2


def test_a_phone_gives_no_command(small: Small) -> None:
    token = small.yc.run("devices", "add", "phone", "--scopes", "read,answer,steer", "--json")
    assert token.code == 0, token
    asked = subprocess.run(
        ["curl", "-s", "-w", "%{http_code}", "-H", f"Authorization: Bearer {token.json['token']}",
         "-d", json.dumps({"text": "x", "trigger": "command", "command": "touch here"}),
         f"{small.yc.url}/api/sessions/{small.id}/queue"],
        capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert asked.stdout.endswith("422")
    assert "at the machine itself" in asked.stdout
