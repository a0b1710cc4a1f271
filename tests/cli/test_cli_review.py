"""`yourcall review` with a real daemon: a small agent is reviewed by one that calls itself Qwen Code."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import small_acp
from kit.poll import until
from kit.yourcall import Yourcall


class Pair:
    """A session of the small agent, and a reviewer on the PATH of the person's shell."""

    def __init__(self, yc: Yourcall, folder: Path) -> None:
        self.yc, self.project = yc, folder / "project"
        self.log, self.reviewed = folder / "told.jsonl", folder / "reviewer.jsonl"
        self.project.mkdir()
        own = folder / "bin"
        own.mkdir()
        words = shlex.join([sys.executable, small_acp.__file__, str(self.reviewed), "qwen-code"])
        (own / "qwen").write_text(f"#!/bin/sh\nexec {words}\n")
        (own / "qwen").chmod(0o755)
        (folder / ".bash_profile").write_text(f'export PATH="{own}:$PATH"\n')
        started = yc.run(
            "run", "--acp", "--cwd", str(self.project), "--", sys.executable, small_acp.__file__, str(self.log)
        )
        assert started.code == 0, started
        self.id = started.out.strip()

    def review(self, question: str, *words: str, code: int = 0) -> Any:
        done = self.yc.run("review", self.id, "--by", "qwen", "--text", question, "--json", *words)
        assert done.code == code, done
        return done.json

    def rounds(self) -> list[dict[str, Any]]:
        return self.yc.http("GET", f"/api/sessions/{self.id}/reviews")[1]


@pytest.fixture
def pair(yc: Yourcall, tmp_path: Path) -> Iterator[Pair]:
    found = Pair(yc, tmp_path)
    yield found
    yc.run("stop", found.id)


def lines(log: Path) -> list[str]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def test_the_reviewer_only_reads_and_its_words_go_back(pair: Pair) -> None:
    pair.yc.run("send", pair.id, "SAY I made it ```` odd")
    until(lambda: pair.yc.http("GET", f"/api/sessions/{pair.id}/conversation")[1]["entries"][1:], what="its reply")
    review = pair.review("ASK Is it good?")
    # It asked for more than to read, and was refused by yourcall; nobody else was asked.
    assert review["text"].startswith("The answer was no.")
    assert (review["state"], review["round"]) == ("done", 1)
    mode, asked = lines(pair.reviewed)
    assert mode == "MODE plan"
    assert "Review of what ACP agent did in project." in asked
    assert "`````\nI made it ```` odd\n`````" in asked
    assert pair.yc.waiting() == [] or {p["session_id"] for p in pair.yc.waiting()} == {pair.id}
    logged = pair.yc.run("log", "--json").json
    assert "review" in {line["via"] for line in logged if line["session_id"] == review["by_session"]}

    assert pair.review("Once more?", "--send")["sent_at"] > 0
    told = until(lambda: lines(pair.log)[1:], what="the review", show=lambda: str(pair.rounds()))
    assert told[0].startswith("Qwen Code reviewed this and says:\n\n> ")
    assert [each["round"] for each in pair.rounds()] == [1, 2]
    listed = pair.yc.run("review", pair.id, "--list").out
    assert "2. qwen: done, sent back" in listed
    gone = pair.yc.http("GET", "/api/sessions")[1]
    assert pair.rounds()[1]["by_session"] not in {each["id"] for each in gone}


def test_a_review_that_is_ended_keeps_what_it_said(pair: Pair) -> None:
    status, review = pair.yc.http(
        "POST", f"/api/sessions/{pair.id}/reviews", {"agent": "qwen", "text": "HOLD never"}
    )
    assert (status, review["state"]) == (201, "running")
    path = f"/api/reviews/{review['id']}"
    until(lambda: "at it" in pair.yc.http("GET", path)[1]["text"], what="its first words")
    assert pair.yc.http("POST", f"{path}/send", {})[0] == 422
    status, ended = pair.yc.http("POST", f"{path}/end")
    assert (status, ended["state"]) == (200, "ended")
    assert "at it" in ended["text"]


def test_a_review_is_over_when_its_session_dies_also_while_we_are_away(pair: Pair) -> None:
    _, review = pair.yc.http("POST", f"/api/sessions/{pair.id}/reviews", {"agent": "qwen", "text": "HOLD never"})
    pair.yc.kill()
    pair.yc.start()
    path = f"/api/reviews/{review['id']}"
    until(lambda: pair.yc.http("GET", path)[1]["state"] == "failed", what="the end of it")
    assert pair.yc.http("GET", path)[1]["detail"] == "its session has ended"


def test_what_is_wrong_is_said(pair: Pair) -> None:
    for words, why in (
        ((), "Say who reviews: --by AGENT. On this machine: qwen."),
        (("--by", "acp"), "no mode in which it only reads"),
        (("--by", "nobody"), "knows no agent 'nobody'"),
        (("--by", "codex"), "There is no codex on the PATH"),
    ):
        done = pair.yc.run("review", pair.id, *words)
        assert done.code == 2, done
        assert why in done.err
    assert pair.yc.run("review", "none", "--by", "qwen").code == 2
    assert pair.rounds() == []
    assert lines(pair.reviewed) == []


def test_what_was_said_is_found_from_the_command_line(pair: Pair) -> None:
    pair.yc.run("send", pair.id, "SAY the crimson kite flies")
    until(lambda: "kite" in pair.yc.run("search", "crimson", "ki", "--messages").out, what="the index to have it")
    found = pair.yc.run("search", "crimson", "kite", "--messages", "--json").json
    assert {each["session_id"] for each in found["messages"]} == {pair.id}
    assert "Nothing found." in pair.yc.run("search", "nowhere").out
