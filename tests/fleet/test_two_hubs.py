"""Two hubs tell people once: one leads by a lease, and the other goes on where it was when it dies."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kit.fleet import Machines, asking
from kit.poll import until

pytestmark = pytest.mark.long


class Told(ThreadingHTTPServer):
    """What people are told: each call of a webhook, with the id that stays the same when it is repeated."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/in"

    def waiting(self, prompt: str) -> list[dict[str, Any]]:
        """The first notices of a prompt; a repetition of the same delivery is not another one."""
        found = {
            name: told["notice"]
            for name, told in list(self.calls)
            if told["type"] == "prompt.waiting" and prompt in told["notice"]["prompts"]
        }
        return list(found.values())

    def over(self, prompt: str) -> bool:
        return any(told["type"] == "prompt.over" and prompt in told["notice"]["prompts"] for _, told in self.calls)


class _Call(BaseHTTPRequestHandler):
    server: Told

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.calls.append((self.headers["webhook-id"], json.loads(body)))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def told() -> Iterator[Told]:
    with Told() as server:
        yield server
        server.shutdown()
        server.thread.join()


def leaders(fleet: Machines, *names: str) -> list[str]:
    return [name for name in names if fleet[name].http("GET", "/api/fleet")[1]["leader"]]


def test_people_are_told_once_and_the_other_hub_takes_over(
    tmp_path_factory: pytest.TempPathFactory, told: Told
) -> None:
    roles = {"carl": "host"}
    with Machines(tmp_path_factory.mktemp("hubs"), "anna", "bert", "dora", "carl", roles=roles) as fleet:
        for name in ("bert", "dora"):
            fleet[name].configure(f'[channels.hook]\ntype = "webhook"\nurl = "{told.url}"\n')
        fleet.wait_online("bert", "dora", "carl")
        (first,) = until(lambda: leaders(fleet, "anna", "bert", "dora"), what="a leader")
        assert first in ("bert", "dora"), "Anna has nobody to tell"
        second = "dora" if first == "bert" else "bert"
        with asking(fleet["carl"], "Told once?", "-o", "yes", "-o", "no"):
            prompt = fleet.wait_prompt("anna", "carl", "Told once?")
            (notice,) = until(lambda: told.waiting(prompt["id"]), what="a notice")
            assert notice["title"].endswith("on carl")
            assert notice["answers"] == []
            # Each machine with channels tells of its own.
            with asking(fleet[second], "Mine?", "-o", "yes"):
                own = fleet.wait_prompt("anna", second, "Mine?")
                until(lambda: told.waiting(own["id"]), what="the notice of its own")
                assert leaders(fleet, "bert", "dora") == [first]
                assert len(told.waiting(own["id"])) == 1
            fleet[first].kill()
            died = time.monotonic()
            until(lambda: leaders(fleet, second), what="the other one to lead", every=0.05)
            assert time.monotonic() - died < 5
            with asking(fleet["carl"], "After?", "-o", "yes"):
                after = fleet.wait_prompt("anna", "carl", "After?")
                until(lambda: told.waiting(after["id"]), what="a notice of the other hub")
                assert len(told.waiting(after["id"])) == 1
            # The receipts of the first one are the second's now: it says that the prompt is over, and tells
            # it not again.
            assert fleet["anna"].run("answer", prompt["id"], "yes").code == 0
            until(lambda: told.over(prompt["id"]), what="the first notice to be taken back")
            assert len(told.waiting(prompt["id"])) == 1
        fleet[first].start()
        fleet.wait_online(first)
        assert leaders(fleet, "bert", "dora") == [second]
        assert fleet[second].run("down").code == 0
        fleet[second].ended()
        stopped = time.monotonic()
        until(lambda: leaders(fleet, first), what="it to lead again", every=0.05)
        assert time.monotonic() - stopped < 4, "one that goes in order lets the lease go"
