"""An agent's process asks, and speaks for its own questions; never for those of a person's script."""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from kit.agent_world import World, tell
from kit.poll import until
from kit.yourcall import Yourcall

ASK = {"question": "Deploy?", "options": ["yes", "no"], "attended": False}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Yourcall(tmp_path) as yc:
        world = World(tmp_path, yc)
        try:
            yield world
        finally:
            world.close()


def known_agent(world: World, session: str) -> Popen[str]:
    agent = world.runner()
    tell(agent, world.greeting(agent.pid, session))
    world.heard(session)
    return agent


def requests(world: World, runner: Popen[str], method: str, path: str, body: object = None) -> tuple[int, Any]:
    """What the daemon says to a process that this one starts."""
    out = world.folder / f"{uuid.uuid4().hex}.reply"
    said = "" if body is None else f"-d {shlex.quote(json.dumps(body))}"
    sock = f"--unix-socket {world.yc.home}/api.sock http://localhost{path}"
    tell(runner, f"curl -s -X {method} {said} -w '\\n%{{http_code}}' {sock} > {out}.new; mv {out}.new {out}")
    until(out.exists, what="a reply")
    reply, _, status = out.read_text().rpartition("\n")
    return int(status), json.loads(reply)


def test_an_agent_does_not_speak_for_a_script_of_a_persons(world: World) -> None:
    agent = known_agent(world, "s1")
    assert world.yc.http("POST", "/api/asks", {**ASK, "id": "deploynow1", "attended": True})[0] == 201
    for method, what, body in (
        ("DELETE", "", None),
        ("POST", "/wait", {"wait": 0}),
        ("POST", "/taken", {"answer": "x"}),
    ):
        status, reply = requests(world, agent, method, f"/api/asks/deploynow1{what}", body)
        assert (status, "only a person may speak for the script" in reply["error"]) == (403, True)
    # Asked again in the same words it is still the person's.
    assert requests(world, agent, "POST", "/api/asks", {**ASK, "id": "deploynow1", "attended": True})[0] == 201
    assert requests(world, agent, "DELETE", "/api/asks/deploynow1")[0] == 403
    assert world.yc.show("deploynow1")["state"] == "open"
    assert world.yc.http("DELETE", "/api/asks/deploynow1")[1]["state"] == "withdrawn"


def test_an_agent_speaks_for_its_own_question_and_another_agent_does_not(world: World) -> None:
    agent, other = known_agent(world, "s1"), known_agent(world, "s2")
    assert requests(world, agent, "POST", "/api/asks", {**ASK, "id": "mayideploy"})[0] == 201
    assert requests(world, other, "DELETE", "/api/asks/mayideploy")[0] == 403
    assert requests(world, agent, "POST", "/api/asks/mayideploy/wait", {"wait": 0})[1]["state"] == "waiting"
    world.yc.kill()
    world.yc.start()
    tell(agent, world.greeting(agent.pid, "s1"))
    assert requests(world, agent, "DELETE", "/api/asks/mayideploy")[1]["state"] == "withdrawn"


def test_an_agent_that_is_noticed_while_it_waits_keeps_its_question(world: World) -> None:
    """One process asks, and is known for an agent only then."""
    agent = world.runner()
    out, go = world.folder / "status", world.folder / "go"
    (world.folder / "asks.py").write_text(
        f"""
import http.client, json, os, socket, time
os.chdir({str(world.yc.home)!r})
def request(method, path, body=None):
    line = http.client.HTTPConnection("localhost")
    line.sock = socket.socket(socket.AF_UNIX)
    line.sock.connect("api.sock")
    line.request(method, path, json.dumps(body))
    return line.getresponse().status
assert request("POST", "/api/asks", {{**{ASK!r}, "id": "asksfirst1"}}) == 201
while not os.path.exists({str(go)!r}):
    time.sleep(0.02)
status = request("DELETE", "/api/asks/asksfirst1")
open({str(out)!r} + ".new", "w").write(str(status))
os.rename({str(out)!r} + ".new", {str(out)!r})
"""
    )
    tell(agent, world.script("asks"))
    until(lambda: any(p["id"] == "asksfirst1" for p in world.yc.waiting()), what="the question")
    tell(agent, world.greeting(agent.pid, "s1"))
    world.heard("s1")
    go.touch()
    until(out.exists, what="its status")
    assert out.read_text() == "200"
