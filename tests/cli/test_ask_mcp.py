"""`yourcall mcp`: the protocol line by line, against a real daemon. The real Claude is in tests/real."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from kit.yourcall import COMMAND, Yourcall


@pytest.fixture(scope="module")
def yc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yourcall]:
    """One daemon for all of them; each leaves nothing open behind."""
    with Yourcall(tmp_path_factory.mktemp("ask")) as running:
        yield running


class Peer:
    """A client that speaks MCP as its specification has it."""

    def __init__(self, yc: Yourcall) -> None:
        self._process = subprocess.Popen(
            [str(COMMAND), "mcp", "--name", "Robot"],
            env=yc.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, message: object) -> None:
        assert self._process.stdin
        self._process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout
        said = json.loads(self._process.stdout.readline())
        assert said["jsonrpc"] == "2.0"
        return said

    def call(self, id: object, method: str, params: object = None) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        said = self.hear()
        assert said["id"] == id
        return said

    def ask(self, id: object, **arguments: Any) -> None:
        params = {"name": "ask_human", "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def leave(self) -> tuple[int, str]:
        out, _ = self._process.communicate(timeout=20)
        return self._process.returncode, out


@pytest.fixture
def peer(yc: Yourcall) -> Iterator[Peer]:
    peer = Peer(yc)
    yield peer
    assert peer.leave()[0] == 0


def test_it_introduces_itself_and_its_tool(peer: Peer) -> None:
    for wanted, got in (("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")):
        said = peer.call(1, "initialize", {"protocolVersion": wanted, "capabilities": {}})["result"]
        assert (said["protocolVersion"], said["serverInfo"]["name"]) == (got, "yourcall")
        assert "tools" in said["capabilities"]
    peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"})  # gets no reply
    (tool,) = peer.call("two", "tools/list")["result"]["tools"]
    assert (tool["name"], tool["inputSchema"]["required"]) == ("ask_human", ["question"])
    assert peer.call(3, "ping")["result"] == {}


def test_what_is_wrong_is_an_error_and_not_the_end(peer: Peer) -> None:
    peer.send("{nonsense")
    assert peer.hear()["error"]["code"] == -32700
    peer.send([])
    assert peer.hear()["error"]["code"] == -32600
    assert peer.call(1, "resources/list")["error"]["code"] == -32601
    assert peer.call(2, "tools/call", {"name": "rm"})["error"]["code"] == -32602
    wrong = {"name": "ask_human", "arguments": {"question": 7}}
    assert peer.call(3, "tools/call", wrong)["error"]["code"] == -32602
    assert peer.call(4, "ping")["result"] == {}


def test_a_person_answers_two_calls_in_either_order(yc: Yourcall, peer: Peer) -> None:
    peer.ask(1, question="Which colour?", options=["red", "blue"], details="For the door.")
    first = yc.wait_prompt(1)
    assert "Robot" in first["body"]
    assert "For the door." in first["body"]
    peer.ask("b", question="What name?")
    second = yc.wait_prompt(2)
    yc.run("answer", second["id"], "--text", "Ada")
    said = peer.hear()
    assert (said["id"], said["result"]["content"][0]["text"]) == ("b", "Ada")
    yc.run("answer", first["id"], "blue", "--text", "Dark.")
    said = peer.hear()
    assert said["id"] == 1
    assert said["result"]["isError"] is False
    assert said["result"]["content"] == [
        {"type": "text", "text": "The person chose: blue\nThe person wrote: Dark."}
    ]  # fmt: skip
    assert yc.show(first["id"])["state"] == "confirmed"


def test_a_call_that_is_cancelled_asks_nobody(yc: Yourcall, peer: Peer) -> None:
    peer.ask(5, question="Still there?", options=["yes"])
    prompt = yc.wait_prompt()
    told = {"requestId": 5, "reason": "timed out"}
    peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": told})
    yc.wait_state(prompt["id"], "ended")
    assert peer.call(6, "ping")["id"] == 6  # and no reply to the cancelled one before it


def test_a_client_that_leaves_asks_nobody(yc: Yourcall) -> None:
    peer = Peer(yc)
    peer.ask(1, question="Still there?", options=["yes"])
    prompt = yc.wait_prompt()
    assert peer.leave() == (0, "")
    assert yc.show(prompt["id"])["state"] == "ended"


def test_a_daemon_that_is_down_is_said_to_the_model(yc: Yourcall, peer: Peer) -> None:
    yc.stop()
    peer.ask(1, question="Anybody?")
    said = peer.hear()["result"]
    assert said["isError"] is True
    assert "not running" in said["content"][0]["text"]
    yc.start()
