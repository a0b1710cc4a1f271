"""The real Claude Code asks; a phone is told through a stand-in of ntfy; a tap, or the desk, answers."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "channels"))

from services import NtfyService

from kit.poll import until
from kit.turns import text, tool

if TYPE_CHECKING:
    from kit.scene import Scene

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
SECRET = tool("Bash", command="touch marker # token=abcdefgh", description="Make the marker")


@pytest.fixture
def phone(scene: Scene) -> Iterator[NtfyService]:
    with NtfyService() as service:
        # The test itself types at the desk; without patience for that, the phone is told at once.
        scene.yourcall.configure(
            '[server]\npublic_url = "http://desk.example.net"\n[notify]\ndesk_s = 0\n'
            f'[channels.phone]\ntype = "ntfy"\nserver = "{service.url}"\ntopic = "abc"\n'
        )
        yield service


def shown(phone: NtfyService) -> dict[str, Any]:
    (one,) = until(lambda: list(phone.shown.values()), what="a notification")
    return one


def test_what_is_masked_is_not_allowed_by_a_tap(scene: Scene, phone: NtfyService) -> None:
    scene.ask([SECRET], [text("Never said.")])
    told = shown(phone)
    assert "abcdefgh" not in json.dumps(told)
    assert "Allow" not in [action["label"] for action in told["actions"]]
    assert "Deny" in [action["label"] for action in told["actions"]]


def test_a_tap_lets_the_real_agent_go_on(scene: Scene, phone: NtfyService) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    told = shown(phone)
    allow = next(action for action in told["actions"] if action["label"] == "Allow")
    assert allow["url"] == "http://desk.example.net/api/tap"
    port = json.loads((scene.yourcall.home / "daemon.json").read_text())["port"]
    address = allow["url"].replace("desk.example.net", f"127.0.0.1:{port}")
    request = urllib.request.Request(address, data=allow["body"].encode(), headers=allow["headers"], method="POST")

    def tapped() -> dict[str, Any] | None:
        """A tap on a button that has just come is refused, and may be repeated."""
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as refused:
            if refused.code != 422:
                raise
            return None

    said = until(tapped, what="a tap that counts", every=1.5)
    assert said["result"] in ("confirmed", "accepted", "sent", "taken")
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert not result.is_error
    assert scene.made("marker")
    until(
        lambda: not any(n["title"].startswith("Claude asks") for n in phone.shown.values()), 20, what="withdrawn"
    )
    done = scene.yourcall.wait_state(told["sequence_id"], "confirmed")
    assert done["answered_by"] == "phone button"
    claude.wait_status("idle")


def test_what_the_desk_answers_leaves_the_phone(scene: Scene, phone: NtfyService) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    told = shown(phone)
    claude.wait_dialog()
    claude.press("1")
    scene.yourcall.wait_state(told["sequence_id"], "desk")
    until(lambda: told["sequence_id"] not in phone.shown, what="withdrawn")
    assert sum(one["sequence_id"] == told["sequence_id"] for one in phone.alerts) == 1
    claude.wait_status("idle")
