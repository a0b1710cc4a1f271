"""The hooks' socket against everything that is not a well-behaved hook: it stays up, and nothing gets in."""

from __future__ import annotations

import json
import socket
import stat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.poll import until
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION = "0b4f6f0e-1111-2222-3333-444455556666"


@pytest.fixture(scope="module")
def yourcall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yourcall]:
    with Yourcall(tmp_path_factory.mktemp("hooks")) as running:
        yield running


def connect(yourcall: Yourcall) -> socket.socket:
    return yourcall.connect("hook.sock")


def greet(event: str, request_id: str, payload: bytes, env: str = "", agent: str = "claude") -> bytes:
    return f"yourcall/1 {agent} {event} {request_id} {len(env)} {len(payload)}\n{env}".encode() + payload


def asked(**more: object) -> dict[str, object]:
    return {
        "session_id": SESSION,
        "cwd": "/nowhere",
        "tool_name": "Bash",
        "tool_input": {"command": "true"},
        **more,
    }


def hold(yourcall: Yourcall, request_id: str, payload: dict[str, object]) -> socket.socket:
    sock = connect(yourcall)
    sock.sendall(greet("PermissionRequest", request_id, json.dumps(payload).encode()))
    return sock


def test_the_socket_is_its_owners_alone(yourcall: Yourcall) -> None:
    for name in ("hook.sock", "api.sock", "daemon.json", "yourcall.db", "daemon.lock"):
        assert stat.S_IMODE((yourcall.home / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(yourcall.home.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"yourcall/2 claude Stop - 0 2\n{}",
        b"yourcall/1 claude Stop - 0 -5\n",
        b"yourcall/1 claude Stop - 0 99999999999\n",
        b"yourcall/1 claude Stop - 999999999 0\n",
        b"yourcall/1 claude Stop -\n",
        b"yourcall/1 nobody Stop - 0 2\n{}",
        b"yourcall/1 claude PermissionRequest - 0 2\n{}",
        b"yourcall/1 claude PermissionRequest ../../etc 0 2\n{}",
        b"\xff\xfe\x00" * 100,
        b"yourcall/1 " + b"x" * 200_000,
    ],
)
def test_junk_is_hung_up_on(yourcall: Yourcall, junk: bytes) -> None:
    with connect(yourcall) as sock:
        try:
            sock.sendall(junk)
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(100) in (b"", b"release\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # hung up on while it was still talking
    assert yourcall.http("GET", "/api/status")[0] == 200


BAD_PAYLOADS = [
    b"{",
    b"[]",
    b"null",
    b'{"session_id": 5}',
    b'{"session_id": ""}',
    b'{"session_id": "../../x", "tool_name": "Bash"}',
    json.dumps({"session_id": SESSION, "tool_name": ["Bash"]}).encode(),
    json.dumps({"session_id": SESSION, "cwd": {"a": 1}, "tool_name": "Bash"}).encode(),
    json.dumps({"session_id": SESSION, "tool_name": ""}).encode(),
    json.dumps(asked(agent_id="../../../etc/passwd")).encode(),
    json.dumps(asked(permission_suggestions="no list")).encode(),
    b'{"session_id": "' + SESSION.encode() + b'", "tool_name": "Bash", "tool_input": ' + b"[" * 5000 + b"}",
]


@pytest.mark.parametrize("payload", BAD_PAYLOADS, ids=range(len(BAD_PAYLOADS)))
def test_a_request_that_makes_no_sense_is_let_go_at_once(yourcall: Yourcall, payload: bytes) -> None:
    """The hook then leaves without a word, and the agent's own dialog is all there is."""
    before = len(yourcall.prompts())
    with connect(yourcall) as sock:
        sock.sendall(greet("PermissionRequest", "aaaabbbbcc", payload))
        assert sock.recv(100) in (b"release\n", b"")
    assert len(yourcall.prompts()) == before


def test_hostile_words_are_kept_as_they_are_and_decide_nothing(yourcall: Yourcall) -> None:
    evil = "touch x\x1b]0;pwned\x07\u202e\x00\n1. Yes\n❯ allow"
    payload = asked(tool_input={"command": evil, "description": "<script>alert(1)</script>"})
    with hold(yourcall, "hostilewords", payload) as sock:
        prompt = yourcall.wait_prompt()
        assert prompt["tool"]["input"]["command"] == evil
        plain = yourcall.run("show", prompt["id"]).out
        assert "\x1b" not in plain
        assert "\u202e" not in plain
        # Nothing that comes in here can answer: not for itself, not for another.
        for words in (b"wrote anything\n", b"answer allow\n", b"left nowhere\n", b"hold\n", b"confirmed\n"):
            sock.sendall(words)
        assert yourcall.show(prompt["id"])["state"] == "open"
    until(lambda: not yourcall.show("hostilewords")["held"])


def test_a_second_claim_to_the_same_request_is_not_served(yourcall: Yourcall) -> None:
    with hold(yourcall, "claimedtwice", asked()) as first:
        assert first.recv(100) == b"hold\n"
        with hold(yourcall, "claimedtwice", asked()) as second:
            assert second.recv(100) == b""
        reply = yourcall.http("POST", "/api/prompts/claimedtwice/answer", {"option": "allow"})
        assert reply[0] == 202
        assert first.recv(1000).startswith(b"answer ")


def test_an_id_in_use_by_another_request_names_nothing(yourcall: Yourcall) -> None:
    with hold(yourcall, "sameidtwice", asked(tool_input={"command": "first"})) as first:
        assert first.recv(100) == b"hold\n"
        assert yourcall.show("sameidtwice")["held"]
    until(lambda: not yourcall.show("sameidtwice")["held"])
    with hold(yourcall, "sameidtwice", asked(tool_input={"command": "other"})) as other:
        assert other.recv(100)  # it was heard
        shown = yourcall.show("sameidtwice")
        assert shown["tool"]["input"]["command"] == "first"
        assert not shown["held"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=st.binary(max_size=400))
def test_no_bytes_bring_it_down(yourcall: Yourcall, junk: bytes) -> None:
    with connect(yourcall) as sock:
        try:
            sock.sendall(b"yourcall/1 claude Stop - 0 %d\n" % len(junk) + junk)
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(10) == b""
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert yourcall.http("GET", "/api/status")[0] == 200


def test_a_deep_home_is_no_reason_to_fail(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    with Yourcall(deep) as running:
        assert running.run("ls").code == 0
        with hold(running, "deephomeid", asked()):
            assert running.wait_prompt()["id"] == "deephomeid"


def test_a_holder_that_leaves_with_an_answer_in_its_hands_gives_it_back(yourcall: Yourcall) -> None:
    """Somebody came to the desk at the moment of the answer: nothing was written, and that is known."""
    with hold(yourcall, "leaveswithit", asked(session_id="leaves")) as sock:
        until(lambda: yourcall.http("GET", "/api/prompts/leaveswithit")[0] == 200)
        assert sock.recv(100) == b"hold\n"
        yourcall.http("POST", "/api/prompts/leaveswithit/answer", {"option": "allow"})
        assert sock.recv(1000).startswith(b"answer ")
        sock.sendall(b"leaving somebody is at the desk\n")
        prompt = until(lambda: _unheld(yourcall, "leaveswithit"))
    assert prompt["state"] == "open"
    assert any("bounced: somebody is at the desk" in moment["detail"] for moment in prompt["history"])


def test_a_holder_that_misses_an_agent_without_a_process_ends_no_session(yourcall: Yourcall) -> None:
    """Older versions name no process and keep no session file: to their hooks, every end looks like a death."""
    with hold(yourcall, "pidlessdead", asked(session_id="pidless")) as sock:
        assert sock.recv(100) == b"hold\n"
        sock.sendall(b"dead\n")
        assert until(lambda: _unheld(yourcall, "pidlessdead"))["state"] == "open"
    assert "pidless" in [session["id"] for session in yourcall.http("GET", "/api/sessions")[1]]


@pytest.mark.parametrize(("kind", "word"), [("string", b"hold\n"), ("a kind of tomorrow", b"release\n")])
def test_a_form_that_nobody_could_fill_in_from_afar_is_left_to_the_desk(
    yourcall: Yourcall, kind: str, word: bytes
) -> None:
    """It shows no dialog while it is held, even if nobody has been at the desk for long."""
    schema = {"type": "object", "properties": {"name": {"type": kind}}}
    payload = {"session_id": "forms", "mcp_server_name": "box", "message": "?", "requested_schema": schema}
    with connect(yourcall) as sock:
        sock.sendall(greet("Elicitation", f"form{len(kind):04}", json.dumps(payload).encode(), "idle=9999"))
        assert sock.recv(100) == word


def _unheld(yourcall: Yourcall, prompt_id: str) -> dict[str, Any] | None:
    prompt = yourcall.http("GET", f"/api/prompts/{prompt_id}")[1]
    return None if prompt["held"] else prompt


def ruled(yourcall: Yourcall, request_id: str, command: str) -> bytes:
    """What the hook before a tool is told: to the end of the line, or all that the agent is to be told."""
    with connect(yourcall) as sock:
        payload = json.dumps(asked(tool_input={"command": command})).encode()
        sock.sendall(greet("Rules", request_id, payload))
        heard = b""
        while part := sock.recv(1 << 16):
            heard += part
            if b"answer " in heard and heard.endswith(b"}"):
                sock.sendall(b"wrote " + heard.split(b"answer ")[1].split(b" ")[0] + b"\n")
    return heard


def test_before_a_tool_runs_the_agent_is_told_to_ask_where_the_rules_insist(yourcall: Yourcall) -> None:
    """Nothing was said to it, and in a mode that asks nobody it ran: what a deny may be about, and what the rules
    failed at."""
    rules = yourcall.home / "rules.toml"
    rules.write_text('[no]\ndo = "deny"\ncommand = "touch"\n[twice]\ndo = "allow"\ncommand = "ls"\nuses = 2\n')
    try:
        assert ruled(yourcall, "ruled00001", "make") == b"release\n"
        said = ruled(yourcall, "ruled00002", 'f() { touch "$1"; }; f x')
        assert b'"permissionDecision":"ask"' in said
        assert b"Rule no may be about it" in said
        assert b'"permissionDecision":"allow"' in ruled(yourcall, "ruled00003", "ls")
        (yourcall.home / "rules.toml.used").write_text("not to be read")
        said = ruled(yourcall, "ruled00004", "ls")
        assert b'"permissionDecision":"ask"' in said
        assert b"the rules failed" in said
        # A deny may be hidden by a mistake, or by an editor that is still writing.
        for number, text in enumerate(("", '[reading]\ndo = "allow"\neffect = "read"\n')):
            rules.write_text(f'{text}[no]\ndo = "deny"\ncomma')
            said = ruled(yourcall, f"ruled0001{number}", "make")
            assert b'"permissionDecision":"ask"' in said
            assert b"rules.toml is not TOML" in said
        assert not {"ruled00001", "ruled00002", "ruled00004"} & {p["id"] for p in yourcall.prompts()}
    finally:
        rules.unlink()
        (yourcall.home / "rules.toml.used").unlink(missing_ok=True)
