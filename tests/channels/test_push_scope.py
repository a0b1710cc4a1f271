"""A notification shows what an agent asks, so only devices that may read are told."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

TESTS = Path(__file__).resolve().parent.parent
for folder in (TESTS / "browser", TESTS / "cli"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from phone_scene import Agent, Daemon  # noqa: E402
from services import PushService  # noqa: E402

from kit.poll import until  # noqa: E402


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as service:
        yield service


@pytest.fixture
def yc(tmp_path: Path, service: PushService) -> Iterator[Daemon]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = Daemon(tmp_path)
    daemon.home.mkdir()
    (daemon.home / "config.toml").write_text(
        f'[server]\npublic_url = "http://127.0.0.1:{port}"\n\n[channels.push]\nservices = ["{service.url}"]\n'
    )
    daemon.start_on(port)
    yield daemon
    daemon.stop()


def test_a_device_that_may_not_read_any_more_is_not_told(tmp_path: Path, yc: Daemon, service: PushService) -> None:
    made = {name: yc.http("POST", "/api/devices", {"name": name})[1] for name in ("lost", "kept")}
    for name, device in made.items():
        key = {"Authorization": f"Bearer {device['token']}"}
        subscription = service.subscribe(name)
        assert httpx.post(f"{yc.url}/api/push", json=subscription, headers=key, trust_env=False).status_code == 201
    assert yc.http("POST", f"/api/devices/{made['lost']['id']}/scopes", {"scopes": ["answer"]})[0] == 200

    def told(name: str) -> list[str]:
        return [word.get("prompt", "") for to, word in service.pushed if to == name]

    with Agent(tmp_path, yc) as agent:
        agent.bash("pushscope1", "cat secret-plan.txt")
        until(lambda: "pushscope1" in told("kept"), what="a push to the device that may read")
        # Given back, it is told again: of what comes from now on, or still waits.
        yc.http("POST", f"/api/devices/{made['lost']['id']}/scopes", {"scopes": ["read"]})
        assert told("lost") == []
        agent.bash("pushscope2", "npm test")
        until(lambda: "pushscope2" in told("lost"), what="a push once it may read again")
