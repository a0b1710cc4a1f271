"""JSON-RPC 2.0 over the WebSocket: the specification, prompts that come and go, and whatever else comes in."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_claude import ScriptedClaude
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as websocket

from kit.contract_client import ContractClient, ServerError
from kit.poll import until
from kit.yourcall import Yourcall


@contextmanager
def line(yc: Yourcall) -> Iterator[ClientConnection]:
    # Without pings of its own: one that a full line keeps waiting keeps the client from closing, too.
    sock = yc.connect("api.sock")
    with websocket("ws://localhost/api/rpc", sock=sock, proxy=None, ping_interval=None) as talk:
        yield talk


def said(talk: ClientConnection, message: object) -> Any:
    talk.send(message if isinstance(message, str | bytes) else json.dumps(message))
    return json.loads(talk.recv(timeout=20))


def request(method: str, params: object = None, id: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "id": id, **({} if params is None else {"params": params})}


def code(reply: Any) -> tuple[Any, int]:
    assert set(reply) == {"jsonrpc", "id", "error"}
    return reply["id"], reply["error"]["code"]


def test_the_cases_of_the_specification(yc: Yourcall, tmp_path: Path) -> None:
    with line(yc) as talk:
        assert said(talk, request("workspace/list", id="a")) == {
            "jsonrpc": "2.0", "id": "a", "result": {"workspaces": []},
        }  # fmt: skip
        assert code(said(talk, '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]')) == (None, -32700)
        assert code(said(talk, {"jsonrpc": "2.0", "method": 1, "params": "bar"})) == (None, -32600)
        assert code(said(talk, {"method": "workspace/list", "id": 7})) == (7, -32600)
        assert code(said(talk, request("workspace/list", id={}))) == (None, -32600)
        assert code(said(talk, request("workspace/list", id=True))) == (None, -32600)
        assert code(said(talk, request("foobar", id="1"))) == ("1", -32601)
        assert code(said(talk, request("session/state", {}))) == (1, -32602)
        assert code(said(talk, request("session/state", "s1"))) == (1, -32602)
        assert code(said(talk, request("session/state", ["x", "y", "z"]))) == (1, -32602)
        assert code(said(talk, request("session/state", ["nosuch"], 2.5))) == (2.5, -32001)
        assert code(said(talk, request("session/state", {"session_id": "nosuch"}, None))) == (None, -32001)
        assert code(said(talk, "[]")) == (None, -32600)
        assert [code(each) for each in said(talk, "[1, 2]")] == [(None, -32600), (None, -32600)]
        batch = [
            request("workspace/add", {"path": str(tmp_path)}, "1"),
            {"jsonrpc": "2.0", "method": "workspace/list"},  # a notification: no reply
            {"foo": "boo"},
            request("foo.get", {"name": "myself"}, "5"),
            request("workspace/list", [], "9"),
        ]
        replies = {each["id"]: each for each in said(talk, batch)}
        assert set(replies) == {"1", None, "5", "9"}
        assert replies["9"]["result"]["workspaces"][0]["path"] == str(tmp_path)
        # Nothing but notifications: nothing at all comes back; the next reply is to the next request.
        talk.send(json.dumps([{"jsonrpc": "2.0", "method": "workspace/list"}, {"jsonrpc": "2.0", "method": "x"}]))
        assert said(talk, request("workspace/list", id="next"))["id"] == "next"
        assert said(talk, json.dumps(request("workspace/list", id="bytes")).encode())["id"] == "bytes"


def test_it_describes_itself(yc: Yourcall) -> None:
    with line(yc) as talk:
        document = said(talk, request("rpc.discover"))["result"]
    assert yc.http("GET", "/api/openrpc.json") == (200, document)
    names = {method["name"] for method in document["methods"]}
    assert names == {
        "session/send", "session/input", "session/state", "session/start", "session/stop", "session/list",
        "workspace/list", "workspace/add", "workspace/remove", "workspace/session/watch",
        "workspace/session/unwatch", "session/queue", "session/queue/add", "session/queue/change",
            "session/queue/hold", "session/review", "session/reviews", "session/review/change",
    }  # fmt: skip
    assert set(document["x-events"]) == {
        "pty_output", "pty_permission", "pty_state", "claude_message", "claude_log",
    }  # fmt: skip
    send = next(method for method in document["methods"] if method["name"] == "session/send")
    assert [each["name"] for each in send["params"] if each["required"]] == ["prompt"]


def test_no_key_no_connection_and_a_revoked_device_is_out(yc: Yourcall) -> None:
    base = yc.url.replace("http", "ws")
    url = f"{base}/api/rpc"
    for path in ("/api/rpc", "/ws", "/api/interactive"):
        for origin, status in ((None, 401), ("http://evil.example", 403)):
            with pytest.raises(InvalidStatus) as refused, websocket(base + path, origin=origin, proxy=None):
                pass
            assert refused.value.response.status_code == status
    plain = yc.run("devices", "add", "plain", "--json").json
    with websocket(url, proxy=None, additional_headers={"Authorization": f"Bearer {plain['token']}"}) as talk:
        assert "result" in said(talk, request("workspace/list"))
        for method, params in (("workspace/add", {"path": str(yc.home)}), ("session/start", {"prompt": "x"})):
            refused = said(talk, request(method, params))
            assert code(refused) == (1, -32002)
            assert "yourcall devices scope plain read,answer,steer" in refused["error"]["message"]
    # A library that cannot send a header offers the key as a protocol; a page cannot.
    offered: list[Any] = ["yourcall", f"yourcall.key.{plain['token']}"]
    with websocket(url, proxy=None, subprotocols=offered) as talk:
        assert talk.subprotocol == "yourcall"
        assert "result" in said(talk, request("workspace/list"))
    for wrong, origin in ((["yourcall", "yourcall.key.nonsense"], None), (offered, yc.url)):
        with (
            pytest.raises(InvalidStatus),
            websocket(url, proxy=None, subprotocols=wrong, origin=origin),  # pyright: ignore[reportArgumentType]
        ):
            pass
    made = yc.run("devices", "add", "robot", "--scopes", "read,steer", "--json").json
    headers = {"Authorization": f"Bearer {made['token']}"}
    with websocket(url, proxy=None, additional_headers=headers) as talk:
        assert "result" in said(talk, request("workspace/list"))
        # Switching the asking off is not a thing to do from afar.
        ws = said(talk, request("workspace/add", {"path": str(yc.home)}))["result"]["id"]
        mode = {"prompt": "x", "workspace_id": ws, "permission_mode": "bypassPermissions"}
        assert code(said(talk, request("session/send", mode))) == (1, -32002)
        yc.run("devices", "revoke", made["id"])
        with pytest.raises(ConnectionClosed) as closed:
            talk.recv(timeout=20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4001


def test_workspaces_are_kept(yc: Yourcall, tmp_path: Path) -> None:
    folder = tmp_path / "kite shop"
    folder.mkdir()
    with ContractClient(yc) as client:
        made = client.call("workspace/add", path=f"{folder}/../kite shop/", name="Kites")
        assert (made["name"], made["path"]) == ("Kites", str(folder))
        for wrong in ("kite shop", "/no/such/folder", "\0", str(yc.home / "daemon.json")):
            with pytest.raises(ServerError) as error:
                client.call("workspace/add", path=wrong)
            assert error.value.code == -32002
    yc.kill()
    yc.start()
    assert (yc.home / "workspaces.json").stat().st_mode & 0o777 == 0o600
    with ContractClient(yc) as client:
        (kept,) = client.call("workspace/list")["workspaces"]
        assert kept == {**made, "active_session": None}
        assert client.call("workspace/remove", workspace_id=kept["id"]) == {"status": "removed"}
        assert client.call("workspace/list") == {"workspaces": []}
        with pytest.raises(ServerError):
            client.call("workspace/remove", workspace_id=kept["id"])


def test_up_names_a_workspace(yc: Yourcall, tmp_path: Path) -> None:
    said = yc.run("up", "--repo", str(tmp_path), "--headless", "--detach")
    assert said.code == 0, said
    with ContractClient(yc) as client:
        (named,) = client.call("workspace/list")["workspaces"]
    assert named["path"] == str(tmp_path)


def test_a_digit_answers_the_prompt_that_was_shown_and_no_other(yc: Yourcall, claude: ScriptedClaude) -> None:
    mine = claude.session_id
    first = claude.asks("Write", file_path=str(claude.project / "a.txt"), content="hello")
    yc.wait_prompt()
    with ContractClient(yc) as client, ContractClient(yc) as other:
        client.call("workspace/session/watch", session_id=mine)
        other.call("workspace/session/watch", session_id=mine)
        shown = client.wait("pty_permission")
        assert (shown["type"], shown["target"], shown["preview"]) == ("write_file", "a.txt", "hello")
        other.wait("pty_permission")
        deny = next(option["key"] for option in shown["options"] if option["label"] == "Deny")
        sent = client.begin("session/input", session_id=mine, input=f"{deny} use b.txt")
        decided = first.answer()
        assert decided is not None
        assert decided["hookSpecificOutput"]["decision"]["behavior"] == "deny"
        assert "use b.txt" in json.dumps(decided)
        claude.goes_on(first, decision="reject")
        assert client.end(sent) == {"status": "sent"}
        client.wait("pty_state", lambda p: p["state"] == "thinking")
        # The other connection comes too late; its digit does not become an answer to what is asked next.
        with pytest.raises(ServerError) as late:
            other.send_input(mine, "1")
        assert late.value.code == -32003
        second = claude.asks("Bash", command="rm -rf build")
        shown = client.wait("pty_permission")
        assert (shown["type"], shown["target"]) == ("delete_file", "rm -rf build")
        assert second.process.poll() is None
        with pytest.raises(ServerError, match="no option"):
            client.send_input(mine, "99")
        with pytest.raises(ServerError, match="no option"):
            client.send_input(mine, "yes please")
        with pytest.raises(ServerError, match="claude"):
            client.call("session/input", session_id=mine, input="1", agent_type="codex")
        with pytest.raises(ServerError, match="one of them"):
            client.call("session/input", session_id=mine, input="1", key="enter")
        with pytest.raises(ServerError, match="no key"):
            client.call("session/input", session_id=mine, key="launch")
        assert yc.wait_prompt()["state"] == "open"
        sent = client.begin("session/input", session_id=mine, key="escape")
        decided = second.answer()
        assert decided is not None
        assert decided["hookSpecificOutput"]["decision"]["behavior"] == "deny"


def test_who_asks_for_too_much_at_once_is_told_which_of_it_was_not_done(
    yc: Yourcall, claude: ScriptedClaude
) -> None:
    """Else it would wait for ever to hear what became of an answer."""
    claude.asks("Write", file_path=str(claude.project / "a.txt"), content="hello")
    yc.wait_prompt()
    with line(yc) as talk:
        watching = request("workspace/session/watch", {"session_id": claude.session_id}, "watch")
        talk.send(json.dumps(watching))
        typed = {"session_id": claude.session_id, "input": "1"}  # the first takes a second, and the others wait
        for number in range(60):
            talk.send(json.dumps(request("session/input", typed, number)))
        talk.send(json.dumps([request("session/input", typed, "in a batch"), {"jsonrpc": "2.0", "method": "x"}]))
        missing: set[object] = {"watch", "in a batch", *range(60)}
        while missing:
            told = json.loads(talk.recv(timeout=20))
            for each in told if isinstance(told, list) else [told]:
                if "id" in each:
                    missing.remove(each["id"])


def test_a_digit_that_crosses_the_next_prompt_answers_nothing(yc: Yourcall, claude: ScriptedClaude) -> None:
    """A second prompt takes the place of the first while the digit for the first is on its way."""
    mine = claude.session_id
    first = claude.asks("Bash", command="one")
    yc.wait_prompt()
    with ContractClient(yc) as client:
        client.call("workspace/session/watch", session_id=mine)
        assert client.wait("pty_permission")["target"] == "one"
        first.process.kill()  # it can only be answered at the desk now, so the next one goes before it
        second = claude.asks("Bash", command="two")
        assert client.wait("pty_permission", lambda p: p["target"] == "two")
        with pytest.raises(ServerError, match="look again") as crossed:
            client.send_input(mine, "1")
        assert crossed.value.code == -32003
        assert second.process.poll() is None

        def typed_again() -> bool:
            try:
                client.send_input(mine, "1")
            except ServerError as error:
                if "look again" not in str(error):
                    raise
                return False
            return True

        assert until(typed_again, what="a person's time to read is over")
        decided = second.answer()
        assert decided is not None
        assert decided["hookSpecificOutput"]["decision"]["behavior"] == "allow"


def test_a_prompt_answered_elsewhere_is_over_here_too(yc: Yourcall, claude: ScriptedClaude) -> None:
    held = claude.asks("Bash", command="ls")
    prompt = yc.wait_prompt()
    with ContractClient(yc) as client:
        client.call("workspace/session/watch", session_id=claude.session_id)
        client.wait("pty_permission")
        yc.run("answer", prompt["id"], "allow", "--no-wait")
        held.answer()
        claude.goes_on(held)
        client.wait("pty_state", lambda p: not p["waiting_for_input"])
        state = client.call("session/state", session_id=claude.session_id)
        assert (state["pty_waiting_for_input"], state["pty_prompt_type"], state["is_live"]) == (False, "", True)
        for typed in ("1", "2"):
            with pytest.raises(ServerError) as late:
                client.send_input(claude.session_id, typed)
            assert (late.value.code, late.value.data) == (-32003, {"result": "too_late"})
        # Words are for the session; it runs in no pane here, and that is said.
        with pytest.raises(ServerError) as refused:
            client.send_input(claude.session_id, "go on")
        assert refused.value.code == -32002


def flood(talk: ClientConnection, message: str) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        talk.send(message)


def test_a_client_that_does_not_read_is_let_go_and_the_daemon_lives(yc: Yourcall, claude: ScriptedClaude) -> None:
    with line(yc) as talk:
        talk.send(json.dumps(request("workspace/list", id="first")))
        # Far more replies than any buffer holds, none of them read.
        many = json.dumps([request("rpc.discover", id=n) for n in range(50)])
        with pytest.raises(ConnectionClosed):
            flood(talk, many)
    assert yc.http("GET", "/api/status")[0] == 200


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = [
    "session/send", "session/input", "session/state", "session/start", "session/stop", "session/list",
    "workspace/list", "workspace/remove", "workspace/session/watch", "workspace/session/unwatch", "rpc.discover",
]  # fmt: skip
NAMES = ["session_id", "workspace_id", "prompt", "input", "key", "agent_type", "permission_mode", "model", "path"]
requests = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "method": st.sampled_from(METHODS) | json_values,
        "params": st.dictionaries(st.sampled_from(NAMES), json_values) | json_values,
        "id": json_values,
    },
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yourcall]:
    with Yourcall(tmp_path_factory.mktemp("fuzz")) as running:
        yield running


def test_whatever_comes_in_the_connection_answers_and_goes_on(shared: Yourcall) -> None:
    with line(shared) as talk:

        @settings(max_examples=150)
        @given(st.one_of(requests, json_values, st.lists(requests, max_size=4), st.binary(max_size=40)))
        def fuzz(message: Any) -> None:
            talk.send(message if isinstance(message, bytes) else json.dumps(message))
            marker = f"after {time.monotonic()}"
            talk.send(json.dumps(request("workspace/list", id=marker)))
            while True:
                reply = json.loads(talk.recv(timeout=60))
                for each in reply if isinstance(reply, list) else [reply]:
                    assert ("result" in each) != ("error" in each)
                    assert each.get("error", {}).get("code") != -32603, (message, each)
                if isinstance(reply, dict) and reply["id"] == marker:
                    return

        fuzz()
    assert shared.http("GET", "/api/status")[1]["sessions"] == 0


def test_a_queue_is_arranged(yc: Yourcall, claude: ScriptedClaude) -> None:
    claude.asks("Bash", command="ls")
    yc.wait_prompt()
    with line(yc) as talk:
        # It runs in no terminal that could be typed into.
        refused = said(talk, request("session/queue/add", {"session_id": claude.session_id, "prompt": "x"}))
        assert code(refused) == (1, -32002)
        assert "can't be told anything from here" in refused["error"]["message"]
        empty = said(talk, request("session/queue", {"session_id": claude.session_id}))["result"]
        assert (empty["session_id"], empty["orders"], empty["held"]) == (claude.session_id, [], "")
        both = {"session_id": claude.session_id, "order_id": "x", "place": 1, "remove": True}
        assert code(said(talk, request("session/queue/change", both))) == (1, -32602)
        gone = {"session_id": claude.session_id, "order_id": "x", "remove": True}
        assert code(said(talk, request("session/queue/change", gone))) == (1, -32002)
        assert code(said(talk, request("session/queue", {"session_id": "none"}))) == (1, -32001)


def test_a_review_is_asked_for(yc: Yourcall, claude: ScriptedClaude) -> None:
    claude.asks("Bash", command="ls")
    yc.wait_prompt()
    with line(yc) as talk:
        who = {"session_id": claude.session_id}
        assert said(talk, request("session/reviews", who))["result"] == {"reviews": []}
        # It has no mode in which it only reads.
        refused = said(talk, request("session/review", {**who, "agent_type": "acp"}))
        assert code(refused) == (1, -32002)
        assert "only reads" in refused["error"]["message"]
        assert code(said(talk, request("session/review", {"session_id": "none", "agent_type": "codex"}))) == (
            1,
            -32001,
        )
        gone = {"review_id": "none", "send": True}
        assert code(said(talk, request("session/review/change", gone))) == (1, -32001)
