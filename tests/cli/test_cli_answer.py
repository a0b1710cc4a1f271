"""`yourcall answer` against a real daemon and a held request: what is said, and the exit code of every verdict."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from scripted_claude import Held, ScriptedClaude

from kit.poll import until
from kit.yourcall import COMMAND, Yourcall, is_connected
from yourcall.cli.instance import Problem


def ask(claude: ScriptedClaude, yc: Yourcall, command: str = "touch marker") -> tuple[Held, str]:
    held = claude.asks("Bash", command=command, description="Make a file")
    return held, yc.wait_prompt()["id"]


def answered(claude: ScriptedClaude, yc: Yourcall, held: Held, *words: str, decision: str = "accept"):
    """Run `answer`, and play the agent's part as soon as the hook has handed the answer over."""
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(yc.run, "answer", *words)
        got = held.answer()
        claude.goes_on(held, decision=decision)
        return said.result(), got


def test_confirmed_is_zero(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    said, got = answered(claude, yc, held, prompt[:6], "allow")
    assert said.code == 0, said
    assert said.out.startswith("Confirmed: ")
    assert got is not None
    assert got["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    shown = yc.show(prompt)
    assert (shown["state"], shown["outcome"], shown["answered_by"]) == ("confirmed", "allowed", "cli")
    assert [m["state"] for m in shown["history"]][:3] == ["open", "answering", "sent"]


def test_deny_with_a_message_reaches_the_agent(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    said, got = answered(claude, yc, held, prompt, "deny", "--text", "Use pnpm.", "--json", decision="reject")
    assert said.code == 0, said
    assert said.json["result"] == "confirmed"
    assert got is not None
    decision = got["hookSpecificOutput"]["decision"]
    assert (decision["behavior"], decision["message"]) == ("deny", "Use pnpm.")


def test_edited_input_goes_out_as_it_was_written(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    edited = '{"command": "touch other", "timeout": 1.50}'
    said, got = answered(claude, yc, held, prompt, "Allow", "--input", edited)
    assert said.code == 0, said
    assert got is not None
    assert got["hookSpecificOutput"]["decision"]["updatedInput"] == json.loads(edited)


def test_too_late_is_three_and_says_who(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    claude.goes_on(held, source="user_temporary")
    yc.wait_state(prompt, "desk")
    said = yc.run("answer", prompt, "deny")
    assert said.code == 3, said
    assert said.err.startswith("Too late: ")
    assert "desk" in said.err
    assert "ago)" in said.err


def test_second_answer_is_too_late_and_names_the_first(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    assert yc.run("answer", prompt, "allow", "--no-wait").code == 6
    said = yc.run("answer", prompt, "deny")
    assert said.code == 3, said
    assert "by cli" in said.err
    assert held.answer() is not None


def test_not_yet_proven_is_six(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(yc.run, "answer", prompt, "allow", "--wait", "1.5")
        assert held.answer() is not None
        claude.is_("busy")  # the dialog closed; the long command has no result yet
        done = said.result()
    assert done.code == 6, done
    assert done.out.startswith("Accepted: ")
    assert f"show {prompt}" in done.out


def test_no_wait_comes_back_at_once(yc: Yourcall, claude: ScriptedClaude) -> None:
    _, prompt = ask(claude, yc)
    said = yc.run("answer", prompt, "allow", "--no-wait", "--json", timeout=5)
    assert said.code == 6, said
    assert said.json["result"] in ("taken", "sent")


def test_bounced_is_four_and_open_again(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    said = yc.run("answer", prompt, "allow")  # the agent never takes it: its dialog stays
    assert said.code == 4, said
    assert said.err.startswith("Bounced: ")
    assert "open again" in said.err
    assert held.answer() is not None
    assert yc.show(prompt)["state"] == "open"


def test_session_that_ends_leaves_us_unsure_five(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(yc.run, "answer", prompt, "allow")
        assert held.answer() is not None
        claude.ends()
        done = said.result()
    assert done.code == 5, done
    assert done.err.startswith("Unsure: ")


def test_daemon_that_dies_while_we_wait_leaves_us_unsure(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(yc.run, "answer", prompt, "allow")
        assert held.answer() is not None
        yc.kill()
        done = said.result()
    assert done.code == 5, done
    assert "may or may not" in done.err
    yc.start()


def test_wait_longer_than_the_daemon_holds(yc: Yourcall, claude: ScriptedClaude, monkeypatch) -> None:
    from yourcall.cli.commands import answer

    monkeypatch.setattr(answer, "LONGEST_HOLD", 0.2)  # a minute, shortened
    held, prompt = ask(claude, yc)
    with ThreadPoolExecutor(1) as pool:
        given = pool.submit(answer.give, yc.home, prompt, {"option": '"allow"'}, 20.0)
        assert held.answer() is not None
        yc.wait_state(prompt, "sent")
        until(lambda: not given.done())
        claude.goes_on(held)
        reply, result = given.result()
    assert result.result == "confirmed"
    assert reply.data["result"] == "confirmed"
    assert reply.data["prompt"]["state"] == "confirmed"


BAD_USAGE = [
    (["nope"], "There is no option 'nope'"),
    ([], "Say what to answer"),
    (["allow", "--wait", "1", "--no-wait"], "contradict"),
    (["allow", "--input", "[1]"], "JSON object"),
    (["allow", "--input", "{"], "--input is not JSON"),
    (["allow", "--input", '{"a": NaN}'], "--input is not JSON"),
    (["--set", "decision"], "--set takes"),
    (["--set-text", "=x"], "--set-text takes"),
    (["allow", "--wait", "-1"], "--wait"),
    (["deny", "--input", "{}"], "edited input goes with an option that allows"),
    (["allow", "--question", "other"], "no question"),
]


def test_bad_usage_is_two_and_changes_nothing(yc: Yourcall, claude: ScriptedClaude) -> None:
    _, prompt = ask(claude, yc)
    for words, says in BAD_USAGE:
        said = yc.run("answer", prompt, *words)
        assert said.code == 2, (words, said)
        assert says in said.err, (words, said)
        assert "Traceback" not in said.err
    shown = yc.show(prompt)
    assert shown["state"] == "open"
    assert len(shown["history"]) == 1


def test_unknown_and_ambiguous_ids_are_two(yc: Yourcall) -> None:
    for word in ("zzzz", "", "../status", "a/b", "ü", "x" * 300):
        said = yc.run("answer", word, "allow")
        assert said.code == 2, (word, said)
        assert said.err


def test_several_questions_with_set(yc: Yourcall, claude: ScriptedClaude) -> None:
    questions = [
        {"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue, dark"}]},
        {"question": "Which sizes?", "multiSelect": True, "options": [{"label": "S"}, {"label": "M"}]},
    ]
    held = claude.asks("AskUserQuestion", questions=questions)
    prompt = yc.wait_prompt()["id"]
    said, got = answered(claude, yc, held, prompt, "--set", "q1=Blue, dark", "--set", "q2=S,o2")
    assert said.code == 0, said
    assert got is not None
    answers = got["hookSpecificOutput"]["decision"]["updatedInput"]["answers"]
    assert answers["Which colour?"] == "Blue, dark"
    assert "S" in answers["Which sizes?"]
    assert "M" in answers["Which sizes?"]


def test_input_from_stdin(yc: Yourcall, claude: ScriptedClaude) -> None:
    held, prompt = ask(claude, yc)
    done = subprocess.run(
        [str(COMMAND), "answer", prompt, "allow", "--input", "-", "--no-wait"],
        input='{"command": "true"}\n', env=yc.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 6, done
    got = held.answer()
    assert got is not None
    assert got["hookSpecificOutput"]["decision"]["updatedInput"] == {"command": "true"}


def test_not_running_is_one(tmp_path) -> None:
    said = Yourcall(tmp_path).run("answer", "abc", "allow")
    assert said.code == 1
    assert said.err == "yourcall is not running. Start it with: yourcall up\n"


def test_an_error_of_yourcalls_own_is_unsure_and_the_prompt_is_kept(yc: Yourcall, claude: ScriptedClaude) -> None:
    _, prompt = ask(claude, yc)
    with closing(sqlite3.connect(yc.home / "yourcall.db", isolation_level=None)) as disk:
        disk.execute("BEGIN IMMEDIATE")  # nobody else can write: the answer is not kept
        said = yc.run("answer", prompt, "allow")
    assert said.code == 5, said
    # It says so before it leaves, if it comes to that.
    assert "the answer may or may not have been taken" in said.err or "the connection was lost" in said.err
    assert yc.ended() != 0, "it must not go on from what is not on disk"
    yc.start()
    assert yc.show(prompt)["state"] == "open"


def broken_off(yc: Yourcall, *words: str, typed: str) -> tuple[int, str]:
    """The command, ended by Ctrl-C when it has sent what it read, and nothing of it can have been taken."""
    command = subprocess.Popen(
        [str(COMMAND), *words],
        env=yc.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        until(lambda: _reads_its_input(command.pid), what=f"{words[0]} to read its input")
        yc.signal(signal.SIGSTOP)  # from here on nothing can be taken
        assert command.stdin is not None
        command.stdin.write(typed)
        command.stdin.close()
        command.stdin = None
        until(lambda: is_connected(command.pid), what=f"{words[0]} to send")
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=30)
    finally:
        command.kill()
        command.wait(10)
        yc.signal(signal.SIGCONT)
    return command.returncode, said


def test_ctrl_c_before_a_reply_does_not_say_that_it_was_given(yc: Yourcall, claude: ScriptedClaude) -> None:
    _, prompt = ask(claude, yc)
    code, said = broken_off(yc, "answer", prompt, "allow", "--input", "-", typed='{"command": "true"}')
    assert code == 130, said
    assert "was given" not in said
    assert "may or may not" in said
    assert f"show {prompt}" in said


def test_ctrl_c_before_a_reply_does_not_say_that_it_was_sent(yc: Yourcall, claude: ScriptedClaude) -> None:
    ask(claude, yc)
    code, said = broken_off(yc, "send", claude.session_id[:8], "-", typed="Now run the tests.")
    assert code == 130, said
    assert said.startswith("Unsure: stopped waiting"), said
    assert "look at the session's own terminal" in said


def _reads_its_input(pid: int) -> bool:
    return Path(f"/proc/{pid}/syscall").read_text().split()[:2] in (["0", "0x0"], ["63", "0x0"])  # x86, ARM


class Elsewhere:
    """What listens in a home and is not this version's daemon: it replies once, with these bytes, and is gone."""

    def __init__(self, home: Path, reply: bytes, status: str = "200 OK") -> None:
        self._door, self._reply, self._status = socket.socket(socket.AF_UNIX), reply, status
        self._door.bind(str(home / "api.sock"))
        self._door.listen()

    def serve(self) -> None:
        with self._door, self._door.accept()[0] as talk, talk.makefile("rb") as asked:
            length = 0
            while (line := asked.readline()) not in (b"\r\n", b""):
                length = int(line.split(b":")[1]) if line.lower().startswith(b"content-length") else length
            asked.read(length)
            self._door.close()
            head = f"HTTP/1.1 {self._status}\r\nContent-Length: {len(self._reply)}\r\n\r\n"
            talk.sendall(head.encode() + self._reply)


SENT = {
    "result": "sent",
    "prompt": {
        "id": "abc", "kind": "permission", "state": "sent", "agent": "claude", "session_id": "s", "cwd": "/",
        "title": "t", "opened_at": 1.0, "history": [{"at": 1.0, "state": "open"}],
    },
}  # fmt: skip


@pytest.mark.parametrize("reply", [b"what?", b'{"result": 7}', json.dumps(SENT).encode()])
def test_once_an_answer_is_sent_what_is_not_understood_or_gone_leaves_us_unsure(
    tmp_path: Path, reply: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from yourcall.cli.commands import answer

    monkeypatch.setattr(answer, "LONGEST_HOLD", 0.0)
    there = Elsewhere(tmp_path, reply)
    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(there.serve)
        with pytest.raises(Problem) as said:
            answer.give(tmp_path, "abc", {"option": '"allow"'}, 20.0)
        serving.result()
    assert said.value.exit_code == 5, said.value.message
    assert "show abc" in said.value.message


@pytest.mark.parametrize(
    ("status", "reply"), [("500 Oops", b'{"error": "its log says why"}'), ("200 OK", b'{"result": 7}')]
)
def test_what_was_sent_to_a_session_is_unsure_when_yourcall_fails(
    tmp_path: Path, status: str, reply: bytes
) -> None:
    yc = Yourcall(tmp_path)
    yc.home.mkdir()
    there = Elsewhere(yc.home, reply, status)
    with ThreadPoolExecutor(1) as pool:
        serving = pool.submit(there.serve)
        said = yc.run("send", "3f2a", "Now run the tests.")
        serving.result()
    assert said.code == 5, said
    assert said.err.startswith("Unsure: ")


FEATURES = {
    "question": "Which features?",
    "header": "Features",
    "multiSelect": True,
    "options": [{"label": word} for word in ("Login", "Search", "Rss, Atom", "Dark mode")],
}
DATABASE = {
    "question": "Which database?",
    "header": "Database",
    "multiSelect": False,
    "options": [{"label": "PostgreSQL"}, {"label": "SQLite"}],
}


def test_the_command_that_show_prints_answers_several_questions(yc: Yourcall, claude: ScriptedClaude) -> None:
    held = claude.asks("AskUserQuestion", questions=[DATABASE, FEATURES])
    prompt = yc.wait_prompt()["id"]
    line = f"answer {prompt[:6]} q1=o1 q2=o1,o2"
    assert line in yc.run("show", prompt).out
    refused = yc.run("answer", prompt, "o1")
    assert (refused.code, line in refused.err) == (2, True), refused
    said, got = answered(claude, yc, held, prompt, "q1=o1", "q2=o1,o2")
    assert said.code == 0, said
    assert got is not None
    answers = got["hookSpecificOutput"]["decision"]["updatedInput"]["answers"]
    assert list(answers.values()) == ["PostgreSQL", "Login, Search"]
