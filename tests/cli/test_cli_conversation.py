"""`yourcall conversation` against a real daemon and a transcript that grows."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import COMMAND, Yourcall

DATA = Path(__file__).resolve().parent.parent / "data" / "claude"
EVIL = "\x1b[2J\x1b]0;owned\x07 \u202egpj.exe"


def known(yc: Yourcall, claude: ScriptedClaude) -> str:
    """A session the daemon knows, with a real transcript; how a person would name it."""
    claude.asks("Bash", command="touch marker")
    until(yc.prompts)
    claude.transcript.write_bytes((DATA / "conversation-tools.jsonl").read_bytes())
    return claude.session_id[:8]


def says(claude: ScriptedClaude, words: str) -> None:
    with claude.transcript.open("a") as file:
        file.write(json.dumps({"type": "user", "message": {"content": words}}) + "\n")


def test_the_last_page_is_readable_and_leads_to_the_one_before(yc: Yourcall, claude: ScriptedClaude) -> None:
    name = known(yc, claude)
    whole = yc.run("conversation", name, "--limit", "500")
    assert whole.code == 0, whole
    for words in ("DO work", "▸ echo hi; echo err >&2", "✓ echo hi", "✗ exit 3", "+FOUR", "$0.0836 so far"):
        assert words in whole.out, words
    assert "--subagent ad76113d413214e98" in whole.out
    last = yc.run("conversation", name, "--limit", "4").out
    assert "DO work" not in last
    place = re.search(r"--before (\d+)", last)
    assert place is not None
    assert "DO work" in yc.run("conversation", name, "--limit", "500", "--before", place[1]).out


def test_json_is_the_daemons_page(yc: Yourcall, claude: ScriptedClaude) -> None:
    page = yc.run("conversation", known(yc, claude), "--json", "--limit", "500").json
    golden = (DATA / "conversation-tools.entries.jsonl").read_text().splitlines()
    assert [{**entry, "offset": 0} for entry in page["entries"]] == [json.loads(line) for line in golden]
    assert page["end"] == claude.transcript.stat().st_size


def test_nothing_in_it_acts_on_the_terminal(yc: Yourcall, claude: ScriptedClaude) -> None:
    name = known(yc, claude)
    says(claude, EVIL)
    out = yc.run("conversation", name, "--limit", "500").out
    assert "owned" in out
    assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out) == []


def test_following_shows_what_is_added_also_after_a_restart(yc: Yourcall, claude: ScriptedClaude) -> None:
    name = known(yc, claude)
    following = subprocess.Popen(
        [str(COMMAND), "conversation", name, "-f", "--json", "--limit", "1"],
        env=yc.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    try:
        assert json.loads(following.stdout.readline())["type"] == "result"
        says(claude, "first")
        assert json.loads(following.stdout.readline())["text"] == "first"
        yc.stop()
        says(claude, "second")
        yc.start()
        assert json.loads(following.stdout.readline())["text"] == "second"
        following.send_signal(signal.SIGINT)
        assert following.wait(10) == 0
    finally:
        following.kill()
        following.wait(10)
        following.stdout.close()


def test_a_session_that_is_not_there_is_told(yc: Yourcall) -> None:
    said = yc.run("conversation", "nobody")
    assert said.code == 2
    assert "yourcall sessions" in said.err


@pytest.mark.parametrize("name", ["a/b", "../x", ""])
@pytest.mark.parametrize(
    "words",
    [("conversation",), ("send", "x"), ("key", "up"), ("interrupt",), ("changes",), ("stop",), ("attach",)],
    ids=lambda words: words[0],
)
def test_what_can_be_no_id_is_told_in_the_words_of_the_command(
    unasked: Yourcall, words: tuple[str, ...], name: str
) -> None:
    said = unasked.run(words[0], name, *words[1:])
    assert said.code == 2, said
    assert repr(name) in said.err or "session" in said.err
    assert "/api/" not in said.err


@pytest.mark.parametrize(
    "words", [("rules", "explain"), ("rules", "remove"), ("dismiss",), ("show",), ("answer",)]
)
def test_so_is_what_can_be_no_prompt_or_rule(unasked: Yourcall, words: tuple[str, ...]) -> None:
    said = unasked.run(*words, "a/b", *(("allow",) if words == ("answer",) else ()))
    assert said.code == 2, said
    assert "/api/" not in said.err


@pytest.fixture(scope="module")
def unasked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yourcall]:
    """One instance for all that is only refused."""
    with Yourcall(tmp_path_factory.mktemp("unasked")) as running:
        yield running
