"""Codex sessions that yourcall starts: over pipes, and in the person's terminal with a server of its own."""

from __future__ import annotations

import json
import os
import shlex
import signal
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest

from kit.codex import Codex, CodexHome
from kit.codex_scene import CodexScene
from kit.poll import until
from kit.responses_server import ResponsesServer, call, escalated, failure, pause, say
from kit.terminal import alive
from kit.yourcall import COMMAND, Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.terminal import Tmux


class OfCodex(Yourcall):
    """One whose sessions find the Codex of the test, and its home."""

    def __init__(self, folder: Path, home: CodexHome, binary: Path) -> None:
        super().__init__(folder)
        self._codex = {
            **home.env,
            "PATH": f"{binary.parent}{os.pathsep}{home.env['PATH']}",
            "HOME": str(home.path),
        }

    @property
    def env(self) -> dict[str, str]:
        ours = super().env
        return {**ours, **self._codex, "PATH": f"{self._codex['PATH']}{os.pathsep}{ours['PATH']}"}


@pytest.fixture
def scene(tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> Iterator[CodexScene]:
    binary = fetched("codex")
    with ResponsesServer() as model:
        home = CodexHome.make(tmp_path, model)
        (home.path / ".bash_profile").write_text(f'export PATH="{binary.parent}:$PATH"\n')
        try:
            with OfCodex(tmp_path, home, binary) as yourcall, ExitStack() as clients:
                yield CodexScene(binary, model, home, yourcall, tmux, clients)
        finally:
            home.close()


def start(scene: CodexScene, *words: str) -> str:
    said = scene.yourcall.run(
        "run", "--headless", "--agent", "codex", "--cwd", str(scene.home.project), *words, timeout=90
    )
    assert said.code == 0, said
    return said.out.strip()


def test_a_headless_session_asks_is_told_more_and_stops(scene: CodexScene) -> None:
    words = scene.model.script("work", [escalated("touch marker")], [say("Made it.")])
    session = start(scene, words)
    prompt = scene.prompt()
    assert prompt["session_id"] == session
    assert not scene.made("marker")
    scene.answer(prompt, "allow")
    assert scene.made("marker")
    ready = scene.prompt(prompt)
    assert (ready["kind"], ready["body"]) == ("ready", "Made it.")
    scene.model.script("slow", [pause("go"), say("Slow.")])
    assert scene.yourcall.run("send", session, "DO slow").code == 0
    scene.settled(ready, "confirmed", "allowed")
    scene.model.wait_for(lambda m: "DO slow" in m.user_texts())
    assert scene.yourcall.run("send", session, "And more.").code == 0  # steers the turn that runs
    scene.model.release("go")
    scene.model.wait_for(lambda m: "And more." in m.user_texts())
    more = scene.prompt(prompt, ready)
    scene.model.script("stuck", [pause("never"), say("Never.")])
    assert scene.yourcall.run("send", session, "DO stuck").code == 0
    scene.model.wait_for(lambda m: "DO stuck" in m.user_texts())
    assert scene.yourcall.run("interrupt", session).code == 0
    stopped = scene.prompt(prompt, ready, more)
    assert stopped["body"] == "The turn was stopped."
    (found,) = [s for s in scene.yourcall.run("sessions", "--json").json if s["id"] == session]
    assert found["mode"] == "headless"
    pid = found["pid"]
    assert scene.yourcall.run("stop", session).code == 0
    until(lambda: not alive(pid), what="the end of the app-server")
    unknown = "0b6fc88d-cfb1-40f3-8bee-64ff48d57c62"
    where = ("run", "--headless", "--agent", "codex", "--cwd", str(scene.home.project))
    refused = scene.yourcall.run(*where, "--resume", unknown, "x", timeout=30)  # at once, and in Codex's words
    assert (refused.code, unknown in refused.err) == (2, True), refused
    again = start(scene, "--resume", session, "DO work")
    assert again == session
    assert scene.prompt(prompt, ready, more, stopped)["kind"] == "permission"


def test_a_plan_is_approved_and_a_failure_told(scene: CodexScene) -> None:
    plan = "<proposed_plan>\n# Add a page\n\n- Write it.\n</proposed_plan>"
    words = scene.model.script("plan", [say(plan)])
    session = start(scene, "--permission-mode", "plan", words)
    asked = scene.prompt()
    assert (asked["kind"], asked["body"]) == ("plan", "# Add a page\n\n- Write it.\n")
    scene.answer(asked, "approve")
    scene.model.wait_for(lambda m: "Implement the plan." in m.user_texts())
    done = scene.prompt(asked)
    limit = failure(429, type="usage_limit_reached", message="The limit.", plan_type="plus", resets_at=4102444800)
    scene.model.script("limit", [limit])
    assert scene.yourcall.run("send", session, "DO limit").code == 0
    stuck = scene.prompt(asked, done)
    assert (stuck["kind"], stuck["title"]) == ("problem", "Codex's usage limit is reached")


def test_what_a_headless_session_asks_besides(scene: CodexScene) -> None:
    options = [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]
    question = {"id": "colour", "header": "Colour", "question": "Which colour?", "options": options}
    words = scene.model.script(
        "ask",
        [call("request_user_input", questions=[question])],
        [call("book_table", namespace="mcp__demo")],
        [say("Asked.")],
    )
    start(scene, words)
    asked = scene.prompt()
    scene.answer(asked, "Blue")
    tool = scene.prompt(asked)
    scene.answer(tool, "allow", "--no-wait")
    form = scene.prompt(asked, tool)
    scene.post(form, choices={"action": ["accept"]}, texts={"people": "2"})
    told = scene.model.wait_for(lambda m: len(m.outputs()) == 2 and m.outputs())
    assert '["Blue"]' in told[0]
    assert '"people": 2' in told[1]
    scene.settled(tool, "confirmed", "allowed")


def test_a_sub_agent_of_a_headless_session_asks_too(scene: CodexScene) -> None:
    scene.model.script("child", [escalated("touch marker")], [say("Child done.")])
    words = scene.model.script(
        "work",
        [call("spawn_agent", namespace="multi_agent_v1", message="DO child")],
        [call("wait_agent", namespace="multi_agent_v1", targets=[], timeout_ms=30000)],
        [say("Spawned.")],
    )
    session = start(scene, words)
    prompt = scene.prompt(kind="permission")
    assert (prompt["session_id"], bool(prompt["subagent"])) == (session, True)
    scene.answer(prompt, "allow")
    assert scene.made("marker")
    assert [s["id"] for s in scene.yourcall.run("sessions", "--json").json] == [session]


class Phone:
    """A paired device, over the network's door as the web page uses it."""

    def __init__(self, yourcall: Yourcall) -> None:
        self._url, self._token = yourcall.url, ""
        code = yourcall.http("POST", "/api/pairing")[1]["code"]
        self._token = self.call("POST", "/api/pair", {"code": code, "name": "phone"})[1]["token"]

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        head = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        data = json.dumps(body).encode() if body is not None else None
        head |= {"Content-Type": "application/json"} if data else {}
        connection = HTTPConnection(self._url.removeprefix("http://").rstrip("/"), timeout=90)
        try:
            connection.request(method, path, data, head)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()


def test_a_phone_starts_codex_answers_it_and_goes_on(scene: CodexScene) -> None:
    phone = Phone(scene.yourcall)
    words = scene.model.script("work", [escalated("touch marker")], [say("Made it.")])
    wish = {"prompt": words, "cwd": str(scene.home.project), "agent": "codex", "permission_mode": "", "model": ""}
    status, said = phone.call(
        "POST", "/api/sessions", {**wish, "resume": "", "permission_mode": "bypassPermissions"}
    )
    assert (status, said["result"]) == (422, "refused"), said  # nobody lets go of the reins from afar
    status, begun = phone.call("POST", "/api/sessions", {**wish, "resume": ""})
    assert status == 201, begun
    prompt = scene.prompt()
    assert (prompt["session_id"], prompt["tool"]["input"]["command"]) == (begun["id"], "touch marker")
    answer = {"option": "allow", "wait": 30}
    status, told = phone.call("POST", f"/api/prompts/{prompt['id']}/answer", answer)
    assert (status, told["result"]) == (200, "confirmed"), told
    assert scene.made("marker")
    assert scene.prompt(prompt)["body"] == "Made it."
    scene.model.script("more", [say("More is done.")])
    assert phone.call("POST", f"/api/sessions/{begun['id']}/send", {"text": "DO more"})[0] == 200
    until(lambda: [p for p in scene.yourcall.waiting() if p["body"] == "More is done."])
    page = phone.call("GET", f"/api/sessions/{begun['id']}/conversation")[1]
    assert "More is done." in json.dumps(page)
    assert phone.call("POST", f"/api/sessions/{begun['id']}/stop")[0] == 200


def run_in_pane(scene: CodexScene, **more: str) -> Codex:
    """`yourcall run -- codex`, typed at a terminal."""
    line = ["env", "-u", "TMUX", *(f"{k}={v}" for k, v in {**scene.yourcall.env, **more}.items())]
    command = [*line, str(COMMAND), "run", "--", "codex"]
    pane = scene.tmux.start(["sh", "-c", f"exec {shlex.join(command)}"], cwd=scene.home.project, env={})
    return Codex(pane, scene.home)


def in_its_terminal(scene: CodexScene) -> dict[str, Any]:
    """The one session that there is, once it is known in which terminal it runs."""

    def look() -> list[dict[str, Any]]:
        found = [s for s in scene.yourcall.http("GET", "/api/sessions")[1] if s["agent"] == "codex"]
        return found if [{link["kind"] for link in s["links"]} for s in found] == [{"socket", "pty"}] else []

    return until(look, what="one session with its terminal")[0]


def test_the_persons_codex_is_joined_through_a_server_of_its_own(scene: CodexScene) -> None:
    codex = run_in_pane(scene)
    codex.say(scene.model.script("work", [escalated("touch marker")], [say("Made it.")]))
    prompt = scene.prompt()
    codex.wait_dialog()
    assert scene.home.server_pid() == 0  # not the shared one
    found = in_its_terminal(scene)
    scene.answer(prompt, "allow")
    codex.wait_closed()
    assert scene.made("marker")
    scene.prompt(prompt)
    (socket,) = [link["server"] for link in found["links"] if link["kind"] == "socket"]
    codex.close()
    until(lambda: not _listens(socket), what="the end of its server")


def test_what_codex_leaves_behind_does_not_keep_its_server_alive(scene: CodexScene, tmp_path: Path) -> None:
    """An editor that it starts, and that leaves a helper running with all that it inherited."""
    left = tmp_path / "left"
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntrap '' HUP\nsleep 120 &\necho $! > {left}.new && mv {left}.new {left}\n")
    editor.chmod(0o755)
    codex = run_in_pane(scene, VISUAL=str(editor), EDITOR=str(editor))
    codex.wait_ready()
    found = in_its_terminal(scene)
    (socket,) = [link["server"] for link in found["links"] if link["kind"] == "socket"]
    codex.terminal.key("C-g")
    until(left.exists, what="the editor", show=codex.terminal.screen)
    helper = int(left.read_text())
    try:
        codex.close()
        until(lambda: not _listens(socket), what="the end of its server")
        assert alive(helper)
    finally:
        os.kill(helper, signal.SIGKILL)


def _listens(path: str) -> bool:
    import socket

    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(path)
        except OSError:
            return False
        return True
