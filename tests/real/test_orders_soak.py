"""Standing orders and the real Claude, while the daemon is killed again and again: each is told once, or never."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kit.poll import until
from kit.turns import text
from real.test_claude_headless import driven as driven

if TYPE_CHECKING:
    from kit.model_server import ModelServer
    from kit.yourcall import Yourcall
    from real.test_claude_headless import Driven

KILLS = 25
WAITING = 3
MOST_S = 2.5


class Queue:
    def __init__(self, yourcall: Yourcall, session: str) -> None:
        self.yourcall, self.path = yourcall, f"/api/sessions/{session}/queue"
        self.numbers, self.taken, self.unsure = count(1), list[str](), set[str]()

    def look(self) -> dict[str, Any]:
        status, queue = self.yourcall.http("GET", self.path)
        assert status == 200, queue
        self.unsure |= {each["text"] for each in queue["orders"] if each["state"] == "unsure"}
        return queue

    def fill(self) -> None:
        while sum(each["state"] == "waiting" for each in self.look()["orders"]) < WAITING:
            words = f"Order number {next(self.numbers)}."
            status, reply = self.yourcall.http("POST", self.path, {"text": words})
            assert status == 201, reply
            self.taken.append(words)

    def go_on(self) -> bool:
        """As a person would who looks; whether all is over."""
        queue = self.look()
        if queue["held"]:
            self.yourcall.http("POST", f"{self.path}/hold", {"held": False})
        return all(each["state"] in ("done", "unsure") for each in queue["orders"])


def told(model: ModelServer) -> Counter[str]:
    """How often each order stands in the conversation, as the model was sent it last."""
    newest: dict[str, Any] = max((r for r in model.requests if r.body.get("tools")), key=lambda r: r.at).body
    said = json.dumps([m for m in newest["messages"] if m["role"] == "user"])
    return Counter(f"Order number {n}." for n in range(1, 400) for _ in range(said.count(f"Order number {n}.")))


def killed_again_and_again(yourcall: Yourcall, queue: Queue, model: ModelServer) -> None:
    chance = random.Random()
    for _ in range(KILLS):
        queue.fill()
        queue.go_on()
        time.sleep(chance.uniform(0.0, MOST_S))  # the moment of death is what is being tried
        yourcall.kill()
        yourcall.start()
    until(lambda: queue.go_on(), 600, what="all to be over", every=0.5, show=lambda: json.dumps(queue.look()))
    found = told(model)
    assert set(found.values()) <= {1}, found
    lost = set(queue.taken) - set(found)
    assert lost <= queue.unsure, (lost, queue.unsure)
    assert len(found) > KILLS / 3, "hardly anything was given: this tried nothing"


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_over_pipes_nothing_is_lost_or_doubled(driven: Driven) -> None:
    session = driven.start([text("Ready.")])
    queue = Queue(driven.yourcall, session)
    killed_again_and_again(driven.yourcall, queue, driven.model)
    assert not queue.unsure  # whoever keeps the pipe knows what was written
