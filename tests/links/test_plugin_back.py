"""A plugin that is away for a moment: what is answered meanwhile waits for it, and is written once."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from conformance.test_add_an_agent import GIVEN, plugs_in, waiting, yc
from kit.poll import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.test_add_an_agent import Plugin
    from kit.yourcall import Yourcall

__all__ = ["plugs_in", "yc"]  # fixtures

pytestmark = pytest.mark.long


def answering(yc: Yourcall, prompt: dict[str, Any]) -> tuple[threading.Thread, dict[str, Any]]:
    """An answer that is given now, and what becomes of it."""
    verdict: dict[str, Any] = {}

    def answer() -> None:
        path = f"/api/prompts/{prompt['id']}/answer"
        verdict["status"], verdict["said"] = yc.http("POST", path, {"option": "allow", "wait": 20})

    thread = threading.Thread(target=answer)
    thread.start()
    until(lambda: yc.show(prompt["id"])["state"] == "answering", what="the answer")
    return thread, verdict


def restarted(yc: Yourcall) -> None:
    yc.kill()
    yc.start()


def test_an_answer_waits_for_the_plugin_that_comes_back(yc: Yourcall, plugs_in: Callable[[str], Plugin]) -> None:
    plugin = plugs_in("s1")
    plugin.tells(type="asked", id="r1", command="make")
    prompt = waiting(yc)
    restarted(yc)
    thread, verdict = answering(yc, prompt)
    plugin.dials_again()
    plugin.tells(type="asked", id="r1", command="make")
    assert plugin.hears() == {"type": "answer", "id": "r1", "allow": True}
    plugin.tells(type="replied", id="r1", allowed=True)
    thread.join()
    assert verdict["said"]["result"] == "confirmed", verdict
    # It was written once: the next thing that is heard is another answer.
    plugin.tells(type="asked", id="r2", command="make test")
    assert yc.run("answer", waiting(yc)["id"], "deny", "--no-wait").code == GIVEN
    assert plugin.hears() == {"type": "answer", "id": "r2", "allow": False}


def test_an_answer_to_what_ended_meanwhile_is_too_late(yc: Yourcall, plugs_in: Callable[[str], Plugin]) -> None:
    plugin = plugs_in("s1")
    plugin.tells(type="asked", id="r1", command="make")
    prompt = waiting(yc)
    restarted(yc)
    thread, verdict = answering(yc, prompt)
    plugin.dials_again()
    plugin.tells(type="asked", id="r2", command="make test")
    plugin.tells(type="replied", id="r1", allowed=False)
    thread.join()
    assert verdict["said"]["result"] == "too_late", verdict


def test_an_answer_comes_back_if_the_plugin_does_not(yc: Yourcall, plugs_in: Callable[[str], Plugin]) -> None:
    plugs_in("s1").tells(type="asked", id="r1", command="make")
    prompt = waiting(yc)
    restarted(yc)
    thread, verdict = answering(yc, prompt)
    thread.join()
    assert (verdict["status"], verdict["said"]["result"]) == (409, "bounced"), verdict
    shown = until(lambda: (s := yc.show(prompt["id"])) and not s["held"] and s)
    assert shown["state"] == "open"
    assert "desk" in json.dumps(shown["history"])
