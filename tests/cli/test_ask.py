"""`yourcall ask`: from a script's question to its exit code, through a real daemon that may come and go."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kit.poll import until
from kit.yourcall import COMMAND, Yourcall, is_connected


@pytest.fixture(scope="module")
def yc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yourcall]:
    """One daemon for all of them; each leaves nothing open behind."""
    with Yourcall(tmp_path_factory.mktemp("ask")) as running:
        yield running


@contextmanager
def asking(yc: Yourcall, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`yourcall ask … --wait`, under way."""
    process = subprocess.Popen(
        [str(COMMAND), "ask", *words, "--wait"],
        env=yc.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=10)


def told(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, _ = process.communicate(timeout=30)
    return process.returncode, out


@pytest.mark.parametrize(
    ("answer", "code", "out"),
    [
        (["yes"], 0, "yes\n"),
        (["no"], 11, "no\n"),
        (["later"], 12, "later\n"),
        (["--text", "Ask me tomorrow."], 10, "Ask me tomorrow.\n"),
        (["no", "--text", "Too risky."], 11, "no\nToo risky.\n"),
    ],
)
def test_stdout_and_exit_code_tell_the_answer(yc: Yourcall, answer: list[str], code: int, out: str) -> None:
    with asking(yc, "Deploy?", "-o", "yes", "-o", "no", "-o", "later", "--text") as script:
        prompt = yc.wait_prompt()
        said = yc.run("answer", prompt["id"], *answer)
        assert said.code == 0, said
        assert told(script) == (code, out)
    shown = yc.show(prompt["id"])
    assert (shown["kind"], shown["agent"], shown["state"]) == ("question", "script", "confirmed")
    assert yc.http("GET", "/api/sessions")[1] == []


def test_without_options_a_text_is_the_answer(yc: Yourcall) -> None:
    with asking(yc, "What shall the branch be called?", "--text", "--name", "release.sh") as script:
        prompt = yc.wait_prompt()
        assert "release.sh" in prompt["body"]
        yc.run("answer", prompt["id"], "--text", "spring\ncleaning")
        assert told(script) == (0, "spring\ncleaning\n")


def test_several_may_be_chosen(yc: Yourcall) -> None:
    with asking(yc, "Which?", "-o", "a", "-o", "b", "-o", "c", "--multi") as script:
        prompt = yc.wait_prompt()
        yc.run("answer", prompt["id"], "--set", "answer=c,b")
        assert told(script) == (0, "b\nc\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_script_that_stops_asking_withdraws_its_question(yc: Yourcall, number: int) -> None:
    with asking(yc, "Deploy?", "-o", "yes") as script:
        prompt = yc.wait_prompt()
        script.send_signal(number)
        code, out = told(script)
    assert (code, out) == (130, "")
    assert yc.show(prompt["id"])["state"] == "ended"
    late = yc.run("answer", prompt["id"], "yes")
    assert late.code == 3, late


def test_nobody_in_time_is_not_an_answer(yc: Yourcall) -> None:
    with asking(yc, "Deploy?", "-o", "yes", "--timeout", "1") as script:
        prompt = yc.wait_prompt()
        assert told(script) == (4, "")
    assert yc.show(prompt["id"])["state"] == "ended"


def test_it_survives_a_kill_of_the_daemon(yc: Yourcall) -> None:
    with asking(yc, "Deploy?", "-o", "yes", "-o", "no") as script:
        prompt = yc.wait_prompt()
        yc.kill()
        yc.start()
        assert [each["id"] for each in yc.waiting()] == [prompt["id"]]
        assert yc.run("answer", prompt["id"], "no", "--wait", "20").code == 0
        assert told(script) == (11, "no\n")


def test_a_daemon_that_forgot_the_question_is_asked_again(yc: Yourcall) -> None:
    with asking(yc, "Deploy?", "-o", "yes", "-o", "no") as script:
        prompt = yc.wait_prompt()
        yc.kill()
        for file in yc.home.glob("yourcall.db*"):
            file.unlink()
        yc.start()
        again = until(lambda: yc.waiting(), what="the question again")
        assert [each["id"] for each in again] == [prompt["id"]]
        yc.run("answer", prompt["id"], "yes")
        assert told(script) == (0, "yes\n")


def test_a_question_whose_script_was_killed_goes_by_itself(yc: Yourcall) -> None:
    with asking(yc, "Deploy?", "-o", "yes") as script:
        prompt = yc.wait_prompt()
        script.kill()
        gone = yc.wait_state(prompt["id"], "ended")
    assert "gone" in gone["history"][-1]["detail"]


def test_one_that_nobody_stays_for_is_looked_up_later(yc: Yourcall) -> None:
    said = yc.run("ask", "Which region?", "-o", "eu", "-o", "us")
    assert said.code == 0
    id = said.out.strip()
    assert yc.run("ask", "--of", id).code == 3
    assert yc.run("answer", id, "us").code == 0
    assert yc.run("answer", id, "eu").code == 3
    found = yc.run("ask", "--of", id, "--json")
    assert (found.code, found.json["options"], found.json["by"]) == (11, ["us"], "cli")


def test_what_makes_no_sense_is_said(yc: Yourcall) -> None:
    for words in (["Deploy?"], [], ["Deploy?", "-o", "a", "-o", "a"], ["--of", "nosuchid1"], ["x", "--of", "y"]):
        said = yc.run("ask", *words)
        assert (said.code, said.out) == (2, ""), (words, said)
    yc.stop()
    said = yc.run("ask", "Deploy?", "-o", "yes", "--wait")
    assert said.code == 1
    assert "not running" in said.err
    yc.start()


def test_the_same_id_is_the_same_question_and_no_other(yc: Yourcall) -> None:
    wish: dict[str, Any] = {
        "question": "Deploy?",
        "options": ["yes", {"label": "No!", "id": "no"}],
        "id": "abcdefgh22",
    }
    first = yc.http("POST", "/api/asks", wish)
    assert first[0] == 201
    assert yc.http("POST", "/api/asks", wish) == first
    status, why = yc.http("POST", "/api/asks", {**wish, "question": "Delete?"})
    assert (status, "id" in why["error"]) == (409, True)
    assert len(yc.waiting()) == 1
    # An answer that the script has not taken is sent, not confirmed; another's id takes nothing.
    _, answered = yc.http("POST", "/api/prompts/abcdefgh22/answer", {"option": "No!", "wait": 1})
    assert answered["result"] == "sent"
    assert yc.http("POST", "/api/asks/abcdefgh22/taken", {"answer": "0" * 24})[0] == 409
    assert yc.show("abcdefgh22")["state"] == "sent"
    _, now = yc.http("POST", "/api/asks/abcdefgh22/wait", {"wait": 5})
    assert (now["state"], now["answer"]["options"]) == ("answered", ["no"])
    _, done = yc.http("POST", "/api/asks/abcdefgh22/taken", {"answer": now["answer"]["id"]})
    assert done["prompt"]["state"] == "confirmed"


def test_waiting_for_what_was_asked_before_survives_a_restart(yc: Yourcall) -> None:
    id = yc.run("ask", "Which region?", "-o", "eu", "-o", "us").out.strip()
    with asking(yc, "--of", id) as script:
        until(lambda: is_connected(script.pid), what="the script to wait")
        yc.kill()
        yc.start()
        assert yc.run("answer", id, "us", "--no-wait").code in (0, 6)
        assert told(script) == (11, "us\n")


def test_ctrl_c_leaves_what_was_asked_before(yc: Yourcall) -> None:
    id = yc.run("ask", "Which region?", "-o", "eu", "-o", "us").out.strip()
    with asking(yc, "--of", id) as script:
        until(lambda: is_connected(script.pid), what="the script to wait")
        script.send_signal(signal.SIGINT)
        _, said = script.communicate(timeout=30)
    assert script.returncode == 130
    assert "the question stays" in said
    assert yc.show(id)["state"] == "open"
    assert yc.run("answer", id, "us", "--no-wait").code in (0, 6)
