"""Prompts, sessions, the log and answers over HTTP, the bad input too."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any

import pytest
from server_house import PERMISSION, House

from kit.poll import until
from yourcall import __version__
from yourcall.model.events import AnswerNotWritten, Deliver, DialogClosed, HolderLost, SessionEnded
from yourcall.model.prompts import Option, Question

KEYS = [
    "id", "kind", "state", "agent", "session_id", "cwd", "title", "body", "tool", "questions", "opened_at",
    "held", "hold", "subagent", "permission_mode", "answered_by", "outcome", "closed_at", "machine", "branch",
    "version", "rank", "action", "risk", "resets_at", "host",
]  # fmt: skip


def test_an_open_prompt_is_listed_with_what_is_needed_to_decide(house: House) -> None:
    house.ask("p2", at=20.0)
    house.ask("p1", b'{"tool_input": {"command":"rm  -rf x", "n": 1.50}, "other": "not shown"}', at=10.0)
    with house.http(house.token()) as phone:
        got = phone.get("/api/prompts")
        first, second = got.json()
        assert [first["id"], second["id"]] == ["p1", "p2"]
        assert list(first) == KEYS
        assert b'"input":{"command":"rm  -rf x", "n": 1.50}' in got.content  # the agent's own bytes
        assert "not shown" not in got.text
        assert first["tool"] == {"name": "Bash", "input": {"command": "rm  -rf x", "n": 1.5}}
        promised = {"id": "allow", "label": "Yes", "effect": "allow_once", "description": "Runs it this once."}
        assert promised.items() <= first["questions"][0]["options"][0].items()
        assert first["risk"] == {"level": "high", "reason": "It deletes files, or work."}
        assert first["questions"][0]["options"][0]["confirm"] is True
        assert first["action"]["command"] == "rm  -rf x"
        assert first["action"]["more"] == [{"name": "n", "value": "1.5"}]
        shown = phone.get("/api/prompts/p1").json()
        assert list(shown) == [*KEYS, "history", "author_certainty"]
        assert shown["history"] == [{"at": 10.0, "state": "open", "by": "agent", "detail": "the agent asks"}]


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"not json", b'{"tool_input": "\xff\xfe"}', b'{"tool_input": ' + b"[" * 200_000, b"{}"],
)
def test_a_body_that_cannot_be_read_hides_nothing_else(house: House, body: bytes) -> None:
    house.ask("bad", body)
    house.ask("good")
    with house.http(house.token()) as phone:
        listed = {each["id"]: each for each in phone.get("/api/prompts").json()}
        assert listed["bad"]["tool"] == {"name": "Bash", "input": None}
        assert listed["good"]["tool"]["input"] == {"command": "ls -la"}
        assert phone.get("/api/prompts/bad").status_code == 200


def test_an_edited_input_is_judged_before_it_can_be_allowed(house: House) -> None:
    house.ask("p1", b'{"tool_name": "Bash", "tool_input": {"command": "ls"}}')
    edit = {"input": {"command": "rm -rf x"}}
    with house.http(house.token()) as phone:
        assert phone.get("/api/prompts/p1").json()["risk"]["level"] == "low"
        judged = phone.post("/api/prompts/p1/risk", json=edit).json()
        assert (judged["risk"]["level"], judged["action"]["command"]) == ("high", "rm -rf x")
        assert judged["confirm"]["allow"] == "It deletes files, or work."
        got = phone.post("/api/prompts/p1/answer", json={"option": "allow", **edit})
        assert (got.status_code, got.json()["result"]) == (422, "refused")
        assert "It deletes files" in got.json()["detail"]
        assert phone.get("/api/prompts/p1").json()["state"] == "open"
        got = phone.post("/api/prompts/p1/answer", json={"option": "allow", "sure": True, **edit})
        assert got.json()["result"] == "taken"


def test_closed_prompts_are_history_and_come_in_pages(house: House) -> None:
    for number in range(5):
        house.ask(f"p{number}", at=float(number))
    house.post(DialogClosed(9.0, "p3", "busy"))
    with house.http(house.token()) as phone:

        def ids(query: str) -> list[str]:
            return [each["id"] for each in phone.get(f"/api/prompts{query}").json()]

        assert ids("") == ["p0", "p1", "p2", "p4"]
        assert ids("?all=1") == ["p4", "p3", "p2", "p1", "p0"]
        assert ids("?all=1&limit=2") == ["p4", "p3"]
        assert ids("?all=1&limit=2&before=3") == ["p2", "p1"]
        for wrong in ("limit=0", "limit=501", "limit=-1", "limit=x", "limit=²", "before=x", "before=nan"):
            got = phone.get(f"/api/prompts?all=1&{wrong}")
            assert got.status_code == 400, wrong
            assert wrong.partition("=")[0] in got.json()["error"]


def test_the_status_counts_what_is_listed(house: House) -> None:
    for number in range(4):
        house.ask(f"p{number}", at=float(number))
    house.post(DialogClosed(9.0, "p3", "busy"))
    with house.http(house.token()) as phone:
        phone.post("/api/prompts/p0/answer", json={"option": "allow"})
        listed = [each["state"] for each in phone.get("/api/prompts").json()]
        status = phone.get("/api/status").json()
        assert status["prompts"] == {state: listed.count(state) for state in set(listed)}
        assert status["sessions"] == len(phone.get("/api/sessions").json())


def test_the_beginning_of_an_id_will_do_if_it_is_unique(house: House) -> None:
    for name in ("abc1", "abc2", "xyz", "xyz1"):
        house.ask(name)
    with house.http(house.token()) as phone:
        assert phone.get("/api/prompts/abc1").json()["id"] == "abc1"
        assert phone.get("/api/prompts/xyz").json()["id"] == "xyz"
        many = phone.get("/api/prompts/abc")
        assert many.status_code == 404
        assert "abc1, abc2" in many.json()["error"]
        taken = phone.post("/api/prompts/abc2/answer", json={"option": "allow"})
        assert taken.json()["prompt"]["id"] == "abc2"
        for unknown in ("nothing", "ab%25", "a_c1", "%20", "a" * 5000, "%F0%9F%98%80", "abc1%00", "'--"):
            for got in (
                phone.get(f"/api/prompts/{unknown}"),
                phone.post(f"/api/prompts/{unknown}/answer", json={"option": "allow"}),
            ):
                assert got.status_code == 404, unknown
                assert "There is no prompt" in got.json()["error"]
    (delivered,) = house.commands
    assert isinstance(delivered, Deliver)
    assert delivered.prompt_id == "abc2"


def test_an_answer_goes_its_way_and_says_how_far_it_is(house: House) -> None:
    house.ask("p1")
    with house.http(house.token("phone")) as phone, house.local() as cli:
        taken = phone.post("/api/prompts/p1/answer", json={"option": "allow"})
        assert taken.status_code == 202
        said = taken.json()
        assert (said["result"], said["by"]) == ("taken", "phone")
        assert said["prompt"]["state"] == "answering"
        (delivered,) = house.commands
        assert isinstance(delivered, Deliver)
        assert (delivered.answer.by, delivered.answer.via) == ("phone", "http")
        assert delivered.answer.choices == {"permission": ("allow",)}
        late = cli.post("/api/prompts/p1/answer", json={"option": "deny"})
        assert late.status_code == 409
        assert (late.json()["result"], late.json()["by"]) == ("too_late", "phone")
        house.written("p1")
        house.settled("p1")
        shown = cli.get("/api/prompts/p1").json()
        assert (shown["state"], shown["answered_by"], shown["outcome"]) == ("confirmed", "phone", "allowed")
        assert phone.get("/api/prompts").json() == []
        again = cli.post("/api/prompts/p1/answer", json={"option": "no such option"})
        assert again.status_code == 409  # too late is the news, not the spelling
    assert len([command for command in house.commands if isinstance(command, Deliver)]) == 1


def test_the_command_line_answers_as_cli(house: House) -> None:
    house.ask("p1")
    with house.local() as cli:
        cli.post("/api/prompts/p1/answer", json={"option": "No", "text": "use git mv"})
    (delivered,) = house.commands
    assert isinstance(delivered, Deliver)
    assert (delivered.answer.by, delivered.answer.via) == ("cli", "socket")
    assert delivered.answer.texts == {"permission": "use git mv"}


def in_background(work: Any) -> tuple[threading.Thread, list[Any]]:
    said: list[Any] = []
    thread = threading.Thread(target=lambda: said.append(work()))
    thread.start()
    return thread, said


def test_who_waits_hears_the_end(house: House) -> None:
    house.ask("p1")
    with house.http(house.token()) as phone:
        body = {"option": "allow", "wait": 20}
        thread, said = in_background(lambda: phone.post("/api/prompts/p1/answer", json=body))
        until(lambda: house.commands, what="the answer is on its way")
        house.written("p1")
        house.settled("p1")
        thread.join(60)
    assert said[0].status_code == 200
    assert said[0].json()["result"] == "confirmed"
    assert said[0].json()["prompt"]["state"] == "confirmed"


def test_a_wait_that_runs_out_says_accepted(house: House) -> None:
    house.ask("p1")
    with house.http(house.token()) as phone:
        body = {"option": "allow", "wait": 0.5}
        thread, said = in_background(lambda: phone.post("/api/prompts/p1/answer", json=body))
        until(lambda: house.commands, what="the answer is on its way")
        house.written("p1")
        house.post(DialogClosed(time.time(), "p1", "busy"))
        thread.join(60)
    assert (said[0].status_code, said[0].json()["result"]) == (202, "accepted")


def test_an_answer_that_bounces_or_is_lost_is_a_conflict(house: House) -> None:
    house.ask("p1")
    house.ask("p2")
    with house.http(house.token()) as phone:
        body = {"option": "allow", "wait": 20}
        thread, said = in_background(lambda: phone.post("/api/prompts/p1/answer", json=body))
        until(lambda: house.commands, what="the answer is on its way")
        command = house.commands[0]
        assert isinstance(command, Deliver)
        house.post(AnswerNotWritten(time.time(), "p1", command.answer.id, "the hook was ended"))
        thread.join(60)
        assert (said[0].status_code, said[0].json()["result"]) == (409, "bounced")
        assert said[0].json()["detail"] == "the hook was ended"
        assert said[0].json()["prompt"]["state"] == "open"
        thread, said = in_background(lambda: phone.post("/api/prompts/p2/answer", json=body))
        until(lambda: len(house.commands) == 2, what="the second answer is on its way")
        house.post(SessionEnded(time.time(), "s1", "killed"))
        thread.join(60)
        assert (said[0].status_code, said[0].json()["result"]) == (409, "unsure")


def test_what_cannot_be_taken_is_refused_in_words(house: House) -> None:
    house.ask("p1")
    pick = Question("pick", "Which colour?", (Option("r", "Red", "choose"), Option("b", "Blue", "choose")))
    house.ask("p2", questions=(PERMISSION, pick))
    with house.http(house.token()) as phone:

        def refusal(name: str, body: dict[str, Any]) -> str:
            got = phone.post(f"/api/prompts/{name}/answer", json=body)
            assert (got.status_code, got.json()["result"]) == (422, "refused"), got.text
            return got.json()["detail"]

        assert "allow (Yes), always (Yes, and don't ask again), deny (No)" in refusal("p1", {"option": "maybe"})
        assert "Say what to answer" in refusal("p1", {})
        assert "Say which question" in refusal("p2", {"option": "allow"})
        assert "not answered" in refusal("p2", {"option": "allow", "question": "permission"})
        assert "edited input" in refusal("p1", {"option": "deny", "input": {"command": "ls"}})
        assert "takes no free text" in refusal(
            "p2", {"choices": {"permission": ["allow"]}, "texts": {"pick": "x"}}
        )
        house.post(HolderLost(time.time(), "p1", "its hook was ended"))
        assert "at the desk" in refusal("p1", {"option": "allow"})
        done = phone.post("/api/prompts/p2/answer", json={"choices": {"permission": ["allow"], "pick": ["blue"]}})
        assert done.status_code == 202
    (delivered,) = house.commands
    assert isinstance(delivered, Deliver)
    assert delivered.answer.choices == {"permission": ("allow",), "pick": ("b",)}


def test_an_edited_input_is_carried_byte_for_byte(house: House) -> None:
    house.ask("p1")
    text = '{ "command" : "echo \\u00e9", "n": 1.0, "big": 123456789012345678901234567890 }'
    with house.http(house.token()) as phone:
        got = phone.post("/api/prompts/p1/answer", content=b'{"option": "allow", "input": ' + text.encode() + b"}")
        assert got.status_code == 202
    (delivered,) = house.commands
    assert isinstance(delivered, Deliver)
    assert delivered.answer.input == text


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"nonsense", "not JSON"),
        (b'{"option": "allow"} x', "not JSON"),
        (b'{"option": "\xff"}', "not JSON"),
        (b'{"option": "\\ud800"}', "not JSON"),
        (b"null", "Expected `object`"),
        (b"[]", "Expected `object`"),
        (b'{"option": 1}', "in option"),
        (b'{"option": "allow", "wait": "long"}', "in wait"),
        (b'{"option": "allow", "wait": 61}', "in wait"),
        (b'{"option": "allow", "wait": -1}', "in wait"),
        (b'{"option": "allow", "wait": NaN}', "not JSON"),
        (b'{"choices": {"permission": "allow"}}', "in choices"),
        (b'{"choices": {"permission": [1]}}', "in choices"),
        (b'{"texts": {"permission": 1}}', "in texts"),
        (b'{"option": "allow", "opt": 1}', "unknown field `opt`"),
        (b'{"option": "allow", "input": [1]}', "`input` must be a JSON object"),
        (b'{"option": "allow", "input": "x"}', "`input` must be a JSON object"),
        (b'{"option": "allow", "input": {"a": "\xff"}}', "`input` must be a JSON object"),
        (b'{"option": "allow", "input": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}", "nested too deeply"),
        (b"[" * 100_000, "not as expected"),
    ],
)
def test_a_malformed_answer_says_which_field(shared: House, body: bytes, part: str) -> None:
    with shared.http(shared.token()) as phone:
        got = phone.post("/api/prompts/p1/answer", content=body)
    assert got.status_code == 400, got.text
    assert part in got.json()["error"]
    assert shared.loop.state.prompts["p1"].state == "open"


def test_a_body_may_be_a_megabyte_and_no_more(shared: House) -> None:
    small = json.dumps({"option": "maybe", "text": "x" * 1_000_000}).encode()
    large = small + b" " * (1_048_577 - len(small))

    def pieces(data: bytes) -> Any:
        for start in range(0, len(data), 65_536):
            yield data[start : start + 65_536]

    with shared.http(shared.token()) as phone:
        for content in (small, pieces(small)):
            assert phone.post("/api/prompts/p1/answer", content=content).status_code == 422
        for content in (large, pieces(large)):
            got = phone.post("/api/prompts/p1/answer", content=content)
            assert got.status_code == 413
            assert "1,048,576" in got.json()["error"]


def test_an_endless_body_is_cut(shared: House) -> None:
    head = f"POST /api/prompts/p1/answer HTTP/1.1\r\nHost: {shared.host}\r\n"
    head += f"Authorization: Bearer {shared.token()}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(head.encode())
        piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        with pytest.raises(OSError):
            talk.sendall(piece * 800)  # 52 MB: far more than is forgotten, and than any buffer on the way


def test_a_huge_length_is_refused_before_a_byte_comes(shared: House) -> None:
    head = f"POST /api/prompts/p1/answer HTTP/1.1\r\nHost: {shared.host}\r\n"
    head += f"Authorization: Bearer {shared.token()}\r\nContent-Length: {10**15}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(head.encode())
        assert talk.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_sessions_are_listed(house: House) -> None:
    house.session("s1", state="idle", permission_mode="default", pid=7, version="2.1")
    house.session("s2", state="working")
    house.post(SessionEnded(time.time(), "s2"))
    house.ask("p1", session="s1")
    with house.http(house.token()) as phone:
        (only,) = phone.get("/api/sessions").json()
    assert {
        name: only[name] for name in ("id", "state", "mode", "permission_mode", "links", "pid", "version")
    } == {
        "id": "s1",
        "state": "waiting",
        "mode": "terminal",
        "permission_mode": "default",
        "links": [],
        "pid": 7,
        "version": "2.1",
    }


def test_the_log_says_who_what_when_and_what_then_happened(house: House) -> None:
    now = time.time()
    for number, name in enumerate(("ours", "desk", "over", "waits")):
        house.ask(name, session=name, at=now - 100 + number)
    with house.http(house.token("phone")) as phone:
        phone.post("/api/prompts/ours/answer", json={"option": "allow", "text": "fine"})
        house.written("ours")
        house.settled("ours")
        house.post(DialogClosed(now, "desk", "idle"))
        house.post(SessionEnded(now, "over", "killed"))
        phone.post("/api/prompts/desk/answer", json={"option": "allow"})  # too late, and only a note
        lines = phone.get("/api/log").json()
        assert [line["id"] for line in lines] == ["over", "desk", "ours"]
        over, desk, ours = lines
        assert (ours["by"], ours["via"], ours["answer"], ours["text"]) == ("phone", "http", "Yes", "fine")
        assert (ours["state"], ours["outcome"], ours["detail"]) == ("confirmed", "allowed", "allowed")
        assert 99 < ours["waited"] < 130
        assert ours["answered_at"] >= now
        assert (desk["by"], desk["answer"], desk["outcome"]) == ("desk", "", "stopped")
        assert desk["detail"] == "stopped at the desk"
        assert (over["by"], over["state"], over["detail"]) == ("session", "ended", "the session ended: killed")
        paged = phone.get(f"/api/log?limit=1&before={over['opened_at']}").json()
        assert [line["id"] for line in paged] == ["desk"]
        assert phone.get("/api/log?limit=0").status_code == 400


@pytest.mark.parametrize("path", ["/api/log?limit=2", "/api/prompts?all=1&limit=2"])
def test_a_page_does_not_end_between_two_of_the_same_instant(house: House, path: str) -> None:
    """The next one begins before it: what was left of that instant would be on no page."""
    at = time.time() - 100
    for number, name in enumerate(("old", "one", "two", "three", "new")):
        house.ask(name, session=name, at=at + (number if name in ("old", "new") else 1))
        house.post(SessionEnded(at + 10, name))
    with house.http(house.token("phone")) as phone:
        seen: list[str] = []
        before = ""
        while page := phone.get(path + before).json():
            seen += [each["id"] for each in page]
            before = f"&before={page[-1]['opened_at']}"
    assert seen[0] == "new"
    assert seen[-1] == "old"
    assert sorted(seen[1:-1]) == ["one", "three", "two"]


def test_an_answer_that_lost_to_the_desk_is_not_said_to_have_decided(house: House) -> None:
    house.ask("p1")
    with house.http(house.token("phone")) as phone:
        phone.post("/api/prompts/p1/answer", json={"option": "allow", "text": "go"})
        house.post(DialogClosed(time.time(), "p1", "busy"))
        (line,) = phone.get("/api/log").json()
        assert (line["by"], line["via"], line["answer"], line["text"]) == ("desk", "", "", "")
        assert phone.get("/api/prompts/p1").json()["answered_by"] == "desk"


def test_status_counts_what_waits(house: House) -> None:
    house.session("s1")
    for name in ("a", "b", "c"):
        house.ask(name)
    house.post(DialogClosed(time.time(), "c", "busy"))
    with house.http(house.token()) as phone:
        phone.post("/api/prompts/a/answer", json={"option": "allow"})
        head = house.store.head()
        assert head is not None
        assert phone.get("/api/status").json() == {
            "version": __version__,
            "seq": house.store.last_seq,
            "prompts": {"answering": 1, "open": 1},
            "sessions": 1,
            "paused": False,
            "locked": False,
            "head": {"place": head.place, "hash": head.hash},
        }


def test_what_is_not_there_is_said_in_json(shared: House) -> None:
    with shared.http(shared.token()) as phone:
        missing = phone.get("/api/nothing")
        assert (missing.status_code, "openapi.json" in missing.json()["error"]) == (404, True)
        wrong = phone.put("/api/status")
        assert wrong.status_code == 405
        assert "GET" in wrong.headers["allow"]
        assert "GET" in wrong.json()["error"]
        assert phone.head("/api/status").status_code == 200


def test_a_long_reply_is_compressed_for_whoever_takes_it(house: House) -> None:
    for number in range(20):
        house.ask(f"p{number}")
    with house.http(house.token()) as phone:
        packed = phone.get("/api/prompts", headers={"Accept-Encoding": "gzip"})
        plain = phone.get("/api/prompts", headers={"Accept-Encoding": "identity"})
        assert packed.json() == plain.json()
        assert packed.headers["content-encoding"] == "gzip"
        assert int(packed.headers["content-length"]) * 5 < int(plain.headers["content-length"])
        assert "content-encoding" not in phone.get("/api/status", headers={"Accept-Encoding": "gzip"}).headers
