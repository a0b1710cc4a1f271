"""Sessions that yourcall starts without a terminal: the real Claude over pipes, answered and confirmed."""

from __future__ import annotations

import json
import os
import shlex
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import environment
from kit.poll import until
from kit.terminal import alive
from kit.turns import error, hang, pause, plan_file, text, tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.turns import Block

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
AGAIN = tool("Bash", command="touch second", description="Make the second marker")
LONG = tool(
    "Bash", command="touch started; while [ ! -e go ]; do sleep 0.05; done; touch ended", description="Long"
)
# What nvm's installer writes stands behind this line, which Debian puts into every .bashrc.
ONLY_INTERACTIVE = "case $- in *i*) ;; *) return;; esac\n"


class Here(Yourcall):
    """As a service manager starts it: with a home and a shell, and nothing of what the shell would add."""

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "SHELL": "/bin/bash", "PATH": os.defpath}


@dataclass
class Driven:
    model: ModelServer
    home: ClaudeHome
    yourcall: Here

    def start(self, *turns: list[Block], name: str = "work", **more: str) -> str:
        words = self.model.script(name, *turns)
        status, told = self.yourcall.http(
            "POST", "/api/sessions", {"cwd": str(self.home.project), "prompt": words, **more}
        )
        assert status == 201, told
        return told["id"]

    def post(self, session: str, what: str, **body: object) -> tuple[int, Any]:
        return self.yourcall.http("POST", f"/api/sessions/{session}/{what}", body or None)

    def session(self, session: str) -> dict[str, Any] | None:
        (found,) = [s for s in self.yourcall.http("GET", "/api/sessions")[1] if s["id"] == session] or [None]
        return found

    def next(self, session: str, kind: str = "") -> dict[str, Any]:
        """The open prompt of this session (of that kind)."""

        def look() -> dict[str, Any] | None:
            for prompt in self.yourcall.http("GET", "/api/prompts")[1]:
                mine = prompt["session_id"] == session and prompt["state"] == "open"
                if mine and kind in ("", prompt["kind"]):
                    return prompt
            return None

        return until(look, what=f"a prompt {kind} of {session}", show=self._all)

    def answer(self, prompt: dict[str, Any], **body: object) -> dict[str, Any]:
        _, told = self.yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {"wait": 20, **body})
        return told

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()

    def _all(self) -> str:
        return json.dumps(self.yourcall.http("GET", "/api/prompts?all=1")[1], indent=1)


def shell_files(home: ClaudeHome, claude: Path, model: ModelServer, *without: str, **more: str) -> None:
    """A person's shell: `claude` is on a PATH that only an interactive login shell has."""
    own = home.path / "node" / "bin"
    own.mkdir(parents=True, exist_ok=True)
    (own / "claude").unlink(missing_ok=True)
    (own / "claude").write_text(f'#!/bin/sh\nexec {shlex.quote(str(claude))} "$@"\n')
    (own / "claude").chmod(0o755)
    known = {**environment(home, model), **more, "PATH": f"{own}:{os.environ['PATH']}"}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in known.items() if name not in without]
    noise = 'echo "Welcome back!"; read -r line\n'
    (home.path / ".bashrc").write_text(ONLY_INTERACTIVE + noise + "\n".join(lines) + "\n")
    (home.path / ".profile").write_text('. "$HOME/.bashrc"\n')


@contextmanager
def drive(folder: Path, home: ClaudeHome, claude: Path, model: ModelServer) -> Iterator[Driven]:
    shell_files(home, claude, model)
    here = Here(folder, home)
    here.home.mkdir(mode=0o700)
    (here.home / "config.toml").write_text("[claude]\nuse_api_billing = true\n")
    with here:
        here.setup_claude(claude)  # its hooks are there too, and must stay silent
        yield Driven(model, home, here)


@pytest.fixture
def driven(tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer) -> Iterator[Driven]:
    with drive(tmp_path, claude_home, claude_bin, model) as scene:
        yield scene


def test_allow_deny_and_an_edited_input_in_one_session(driven: Driven) -> None:
    session = driven.start([TOUCH], [AGAIN], [TOUCH], [text("All made.")])
    first = driven.next(session)
    row = driven.session(session)
    assert row is not None
    assert (row["mode"], [link["kind"] for link in row["links"]], row["version"]) == (
        "headless",
        ["stdio"],
        "2.1.325",
    )
    assert (first["kind"], first["tool"]["input"]["command"]) == ("permission", "touch marker")
    assert len(driven.yourcall.http("GET", "/api/prompts")[1]) == 1  # not a second time through the hook
    assert not driven.made("marker")
    told = driven.answer(first, option="deny", text="Not that one.")
    assert (told["result"], told["prompt"]["outcome"]) == ("confirmed", "denied")
    assert not driven.made("marker")

    second = driven.next(session)
    edited = {"command": "touch edited", "description": "Another one"}
    told = driven.answer(second, option="allow", input=edited)
    assert told["result"] == "confirmed", told
    assert driven.made("edited")
    assert not driven.made("second")

    told = driven.answer(driven.next(session), option="allow")
    assert told["result"] == "confirmed", told
    assert [m["state"] for m in told["prompt"]["history"]] == [
        "open",
        "answering",
        "sent",
        "accepted",
        "confirmed",
    ]
    assert driven.made("marker")
    refused, *_ = driven.model.tool_results()
    assert refused.is_error
    assert refused.text == "Not that one."

    ready = driven.next(session, "ready")
    assert ready["body"] == "All made."
    assert driven.session(session)["state"] == "idle"  # pyright: ignore[reportOptionalSubscript]
    words = driven.model.script("more", [AGAIN], [text("And one more.")])
    told = driven.answer(ready, text=words)
    assert (told["result"], told["prompt"]["outcome"]) == ("confirmed", "allowed")
    told = driven.answer(driven.next(session), option="allow")
    assert driven.made("second")
    assert driven.next(session, "ready")["body"] == "And one more."


def test_questions_and_a_plan_are_answered_in_one_go(driven: Driven) -> None:
    options = [{"label": "SQLite", "description": "One file"}, {"label": "Postgres", "description": "A server"}]
    asked = [
        {"question": "Which database?", "header": "DB", "multiSelect": False, "options": options},
        {"question": "Which parts?", "header": "Parts", "multiSelect": True, "options": options},
    ]
    write = tool("Write", file_path=plan_file, content="# The plan\n\n1. Touch it\n")
    session = driven.start([tool("AskUserQuestion", questions=asked)], [text("Fine.")])
    question = driven.next(session, "question")
    told = driven.answer(question, choices={"q1": ["SQLite"], "q2": ["SQLite", "Postgres"]})
    assert told["result"] == "confirmed", told
    (result,) = driven.model.wait_for(lambda m: m.tool_results())
    assert '"Which database?"="SQLite"' in result.text
    assert '"Which parts?"="SQLite, Postgres"' in result.text

    ready = driven.next(session, "ready")
    status, told = driven.post(session, "mode", permission_mode="plan")
    assert (status, told["result"]) == (200, "confirmed"), told
    until(lambda: (s := driven.session(session)) and s["permission_mode"] == "plan")
    words = driven.model.script("plan", [write], [tool("ExitPlanMode")], [tool("ExitPlanMode")], [text("Go.")])
    assert driven.answer(ready, text=words)["result"] == "confirmed"
    plan = driven.next(session, "plan")
    assert plan["body"] == "# The plan\n\n1. Touch it\n"
    told = driven.answer(plan, option="revise", text="Add a test.")
    assert (told["result"], told["prompt"]["outcome"]) == ("confirmed", "denied")
    told = driven.answer(driven.next(session, "plan"), option="approve_edits")
    assert (told["result"], told["prompt"]["outcome"]) == ("confirmed", "allowed")
    until(lambda: (s := driven.session(session)) and s["permission_mode"] == "acceptEdits")
    driven.next(session, "ready")
    assert "Add a test." in [result.text for result in driven.model.tool_results()]


def test_an_interrupt_withdraws_what_is_asked_and_stop_ends_the_session(driven: Driven) -> None:
    session = driven.start([TOUCH], [text("Never said.")])
    prompt = driven.next(session, "permission")
    status, told = driven.post(session, "interrupt")
    assert (status, told["result"]) == (200, "confirmed"), told
    shown = driven.yourcall.wait_state(prompt["id"], "ended")
    assert shown["history"][-1]["detail"] == "the turn was stopped"
    assert driven.answer(prompt, option="allow")["result"] == "too_late"
    assert driven.next(session, "ready")["body"] == "The turn was stopped."
    status, told = driven.post(session, "interrupt")
    assert (status, told["result"], told["detail"]) == (422, "refused", "It rests: there is no turn to stop.")
    assert not driven.made("marker")

    # "Deny and stop" is the person's own interrupt; a long command that is interrupted was still allowed.
    words = driven.model.script("more", [TOUCH], [text("Never said.")])
    assert driven.post(session, "turn", text=words)[1]["result"] == "confirmed"
    told = driven.answer(driven.next(session, "permission"), option="stop")
    assert (told["result"], told["prompt"]["outcome"]) == ("confirmed", "stopped")
    words = driven.model.script("long", [LONG], [text("Never said.")])
    driven.next(session, "ready")
    assert driven.post(session, "turn", text=words)[1]["result"] == "confirmed"
    prompt = driven.next(session, "permission")
    told = driven.answer(prompt, option="allow", wait=1)
    assert told["result"] == "accepted", told
    until(lambda: driven.made("started"))
    row = driven.session(session)
    assert row is not None
    status, told = driven.post(session, "stop")
    assert (status, told["result"]) == (200, "confirmed"), told
    assert not alive(row["pid"])
    assert driven.session(session) is None
    assert driven.yourcall.show(prompt["id"])["state"] in ("confirmed", "unsure")
    (driven.home.project / "go").touch()
    assert not driven.made("ended")  # its command went with it


def test_two_at_once_speak_while_they_work_and_are_resumed(driven: Driven) -> None:
    one = driven.start([TOUCH], [pause("on"), text("One.")], name="one")
    two = driven.start([AGAIN], [text("Two.")], name="two", permission_mode="manual")
    assert one != two
    asked = {session: driven.next(session) for session in (one, two)}
    assert driven.answer(asked[two], option="deny")["prompt"]["outcome"] == "denied"
    assert driven.answer(asked[one], option="allow")["prompt"]["outcome"] == "allowed"
    assert driven.made("marker")
    assert not driven.made("second")
    driven.next(two, "ready")

    # A follow-up while it works; a leading slash is text; what it says is seen before it is whole.
    driven.model.wait_for(lambda m: [r for r in m.requests if r.script == "one" and r.turn == 1])
    assert driven.post(one, "send", text="/clear is not meant")[1]["result"] == "sent"
    driven.model.release("on")
    driven.next(one, "ready")
    driven.model.script("slow", [text("Half a sent"), pause("half")])
    assert driven.post(one, "turn", text="/please DO slow")[1]["result"] == "confirmed"
    until(lambda: driven.yourcall.http("GET", f"/api/sessions/{one}/speaking")[1]["text"] == "Half a sent")
    driven.model.release("half")
    driven.next(one, "ready")
    heard = "\n".join(driven.model.user_texts())
    assert "/clear is not meant" in heard
    assert "/please DO slow" in heard

    assert driven.post(one, "model", model="claude-sonnet-5")[1]["result"] == "confirmed"
    words = driven.model.script("after", [text("With another model.")])
    driven.post(one, "turn", text=words)
    driven.model.wait_for(lambda m: [r for r in m.requests if r.script == "after"])
    assert driven.model.requests[-1].body["model"] == "claude-sonnet-5"

    assert driven.post(one, "stop")[0] == 200
    again = driven.start([text("I remember.")], name="again", resume=one, cwd="")
    assert again == one
    driven.next(again, "ready")
    assert any("DO one" in said for said in driven.model.user_texts())
    status, told = driven.yourcall.http("POST", "/api/sessions", {"prompt": "x", "resume": again})
    assert status == 422, told
    assert "is running" in told["detail"]


@pytest.mark.parametrize("how", ["claude", "daemon"])
def test_nothing_is_left_behind(driven: Driven, how: str) -> None:
    session = driven.start([LONG], [text("Never said.")])
    prompt = driven.next(session, "permission")
    other = driven.start([TOUCH], name="other")
    driven.next(other, "permission")
    assert driven.answer(prompt, option="allow", wait=1)["result"] == "accepted"
    until(lambda: driven.made("started"))
    row = driven.session(session)
    assert row is not None
    pids = [row["pid"], driven.session(other)["pid"]]  # pyright: ignore[reportOptionalSubscript]
    family = [*pids, *(child for pid in pids for child in below(pid))]
    assert len(family) > 2
    match how:
        case "claude":
            os.kill(pids[1], signal.SIGKILL)
            open_one = driven.yourcall.http("GET", "/api/prompts?all=1")[1]
            (asked,) = [p for p in open_one if p["session_id"] == other]
            assert driven.yourcall.wait_state(asked["id"], "ended")["history"][-1]["by"] == "session"
            assert driven.session(other) is None
            assert alive(pids[0])
            driven.post(session, "stop")
        case _:
            driven.yourcall.stop()
    until(lambda: not any(map(alive, family)), what="the end of all that was started")
    (driven.home.project / "go").touch()
    if how != "claude":
        driven.yourcall.start()
        until(lambda: driven.yourcall.http("GET", "/api/sessions")[1] == [], 3)
        assert driven.yourcall.wait_state(prompt["id"], "unsure", "confirmed")
        driven.yourcall.stop()
        driven.yourcall.start()
    assert not driven.made("ended")


def test_a_killed_daemon_leaves_its_sessions_to_the_next_one(driven: Driven) -> None:
    """One waits for a permission, one works, one is answered between two lives."""
    asks = driven.start([TOUCH], [text("Made.")], name="asks")
    works = driven.start([LONG], [text("Long done.")], name="works")
    first, long = driven.next(asks, "permission"), driven.next(works, "permission")
    assert driven.answer(long, option="allow", wait=1)["result"] == "accepted"
    until(lambda: driven.made("started"))
    pids = {driven.session(each)["pid"] for each in (asks, works)}  # pyright: ignore[reportOptionalSubscript]
    driven.yourcall.kill()
    assert all(map(alive, pids))
    (driven.home.project / "go").touch()
    until(lambda: driven.made("ended"))
    driven.yourcall.start()
    # What waited can be answered at once; what happened meanwhile is known.
    told = driven.answer(first, option="allow")
    assert (told["result"], driven.made("marker")) == ("confirmed", True), told
    assert driven.yourcall.wait_state(long["id"], "confirmed")["outcome"] == "allowed"
    ready = driven.next(works, "ready")
    assert ready["body"] == "Long done."
    driven.next(asks, "ready")
    for _ in range(2):  # and it goes on, through another life
        driven.yourcall.kill()
        driven.yourcall.start()
    pause = driven.next(asks, "ready")
    more = driven.model.script("more", [text("And again.")])
    assert driven.answer(pause, text=more)["result"] == "confirmed"
    until(lambda: driven.next(asks, "ready")["body"] == "And again.")
    history = driven.yourcall.http("GET", "/api/prompts?all=1")[1]
    assert sorted(p["kind"] for p in history if p["session_id"] == asks) == ["permission", "ready", "ready"]
    for session in (asks, works):
        assert driven.post(session, "stop")[1]["result"] == "confirmed"
    until(lambda: not any(map(alive, pids)), what="the end of both")
    assert driven.yourcall.http("GET", "/api/sessions")[1] == []


def test_an_interrupt_reaches_a_session_of_the_daemon_before(driven: Driven) -> None:
    session = driven.start([TOUCH], [text("Never said.")])
    prompt = driven.next(session, "permission")
    driven.yourcall.kill()
    driven.yourcall.start()
    assert driven.post(session, "interrupt")[1]["result"] == "confirmed"
    driven.yourcall.wait_state(prompt["id"], "ended")
    driven.next(session, "ready")
    assert not driven.made("marker")


def test_a_session_that_ended_while_nobody_was_there_is_told_as_ended(driven: Driven) -> None:
    session = driven.start([TOUCH])
    prompt = driven.next(session, "permission")
    pid = driven.session(session)["pid"]  # pyright: ignore[reportOptionalSubscript]
    driven.yourcall.kill()
    os.kill(pid, signal.SIGKILL)
    driven.yourcall.start()
    driven.yourcall.wait_state(prompt["id"], "ended")
    assert driven.session(session) is None


def below(pid: int) -> list[int]:
    """The descendants of a process, from its own list of children."""
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*children, *(each for child in children for each in below(child))]


def test_an_api_key_is_withheld_and_a_login_token_is_passed(
    tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer
) -> None:
    secret = "sk-ant-oat01-of-a-test"
    shell_files(claude_home, claude_bin, model)
    with Here(tmp_path, claude_home) as here:
        driven = Driven(model, claude_home, here)
        session = driven.start([text("Never said.")])
        problem = driven.next(session, "problem")
        assert problem["title"] == "Claude is not logged in, or the login has expired"
        assert "claude setup-token" in problem["body"]
        assert model.requests == []
        here.stop()

        shell_files(claude_home, claude_bin, model, CLAUDE_CODE_OAUTH_TOKEN=secret)
        here.start()
        session = driven.start([text("Heard.")])
        assert driven.next(session, "ready")["body"] == "Heard."
        headers = model.requests[-1].headers
        assert ("authorization" in headers, "x-api-key" in headers) == (True, False)
        pid = driven.session(session)["pid"]  # pyright: ignore[reportOptionalSubscript]
        assert secret.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert not [file for file in here.home.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    with here:
        here.configure("[claude]\nuse_api_billing = true\n")
        shell_files(claude_home, claude_bin, model)
        session = driven.start([text("Billed.")])
        driven.next(session, "ready")
        assert "x-api-key" in model.requests[-1].headers


def test_a_form_of_an_mcp_server_and_a_subagents_request(driven: Driven, tmp_path: Path) -> None:
    from yourcall.live_check import mcp_server

    server = {"command": os.path.realpath("/proc/self/exe"), "args": [str(Path(mcp_server.__file__))]}
    (driven.home.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"demo": server}}))
    driven.home.write_settings(
        {
            **json.loads(driven.home.settings.read_text()),
            "enableAllProjectMcpServers": True,
            "permissions": {"allow": ["mcp__demo__book_table"]},
        }
    )
    session = driven.start([tool("mcp__demo__book_table")], [text("Booked.")])
    form = driven.next(session, "elicitation")
    told = driven.answer(form, choices={"action": ["accept"], "seating": ["terrace"]}, texts={"people": "3"})
    assert (told["result"], told["prompt"]["outcome"]) == ("confirmed", "allowed"), told
    (result,) = driven.model.wait_for(lambda m: m.tool_results())
    assert '"people": 3' in result.text
    assert '"seating": "terrace"' in result.text

    driven.next(session, "ready")
    driven.model.script("child", [TOUCH], [text("Child done.")])
    launch = tool("Agent", description="A child", prompt="DO child", subagent_type="general-purpose")
    words = driven.model.script("parent", [launch], [text("Parent done.")])
    driven.post(session, "turn", text=words)
    asked = driven.next(session, "permission")
    assert asked["subagent"].startswith("general-purpose ")
    told = driven.answer(asked, option="allow")
    assert told["result"] == "confirmed", told
    assert driven.made("marker")


def test_what_a_remote_device_may_not_start(driven: Driven) -> None:
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    said = driven.yourcall.run("devices", "add", "phone", "--scopes", "read,answer,steer", "--json")
    assert said.code == 0, said
    token = said.json["token"]

    def post(path: str, **body: object) -> tuple[int, Any]:
        where = urlsplit(driven.yourcall.url)
        connection = HTTPConnection(where.hostname or "", where.port)
        try:
            connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {token}"})
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()

    project = str(driven.home.project)
    for mode in ("bypassPermissions", "auto"):
        status, told = post("/api/sessions", cwd=project, prompt="x", permission_mode=mode)
        assert (status, told["result"]) == (422, "refused")
        assert "config.toml" in told["detail"]
    status, told = post("/api/sessions", cwd="project", prompt="x")
    assert status == 422, told
    status, told = post("/api/sessions", cwd=project, prompt="x", resume="0b6fc88d-cfb1-40f3-8bee-64ff48d57c62")
    assert (status, "No conversation found" in told["detail"]) == (422, True), told

    words = driven.model.script("far", [hang()])
    status, told = post("/api/sessions", cwd=project, prompt=words)
    assert status == 201, told
    status, refused = post(f"/api/sessions/{told['id']}/mode", permission_mode="auto")
    assert (status, refused["result"]) == (422, "refused")
    status, granted = post(f"/api/sessions/{told['id']}/mode", permission_mode="acceptEdits")
    assert (status, granted["result"]) == (200, "confirmed")


@pytest.mark.soak
@pytest.mark.parametrize("version", ["2.0.76", "2.1.197"])
def test_older_versions_speak_the_same(
    tmp_path: Path, claude_home: ClaudeHome, model: ModelServer, version: str, fetched: Callable[..., Path]
) -> None:
    options = [{"label": "SQLite", "description": "One file"}, {"label": "Postgres", "description": "A server"}]
    asked = [{"question": "Which database?", "header": "DB", "multiSelect": False, "options": options}]
    with drive(tmp_path, claude_home, fetched("claude", version), model) as driven:
        session = driven.start([TOUCH], [AGAIN], [tool("AskUserQuestion", questions=asked)], [text("Done.")])
        assert driven.answer(driven.next(session), option="allow")["result"] == "confirmed"
        assert driven.made("marker")
        told = driven.answer(driven.next(session), option="deny", text="No.")
        assert (told["result"], told["prompt"]["outcome"]) == ("confirmed", "denied")
        assert driven.answer(driven.next(session, "question"), option="SQLite")["result"] == "confirmed"
        ready = driven.next(session, "ready")
        assert driven.post(session, "mode", permission_mode="plan")[1]["result"] == "confirmed"
        write = tool("Write", file_path=plan_file, content="# Plan\n")
        words = model.script("plan", [write], [tool("ExitPlanMode", plan="# Plan\n")], [text("Go.")])
        assert driven.answer(ready, text=words)["result"] == "confirmed"
        plan = driven.next(session, "plan")
        assert "# Plan" in plan["body"]
        assert driven.answer(plan, option="approve")["result"] == "confirmed"
        driven.next(session, "ready")
        assert not driven.made("second")
        assert [r.is_error for r in model.tool_results()][:3] == [False, True, False]
        assert '"Which database?"="SQLite"' in model.tool_results()[2].text


def test_a_cleared_session_goes_on_under_another_id(driven: Driven) -> None:
    first = driven.start([text("Shall I push?")])
    ready = driven.next(first, "ready")
    assert "push" in ready["body"]
    assert driven.post(first, "send", text="/clear", as_command=True)[1]["result"] == "sent"
    # Its new id is told with the next turn, or before; it is reached by both, also at that very moment.
    words = driven.model.script("more", [TOUCH], [text("Made it.")])
    assert driven.post(first, "send", text=words)[1]["result"] in ("sent", "confirmed")
    (second,) = until(
        lambda: [s["id"] for s in driven.yourcall.http("GET", "/api/sessions")[1] if s["id"] != first],
        what="another id",
    )
    asked = driven.next(second, "permission")
    assert driven.answer(asked, option="allow")["result"] == "confirmed"
    assert driven.made("marker")
    again = driven.next(second, "ready")
    assert (again["body"], driven.session(first)) == ("Made it.", None)
    assert driven.yourcall.show(ready["id"])["state"] in ("ended", "desk", "confirmed")
    assert driven.post(first, "send", text=driven.model.script("last", [AGAIN], [text("Done.")]))[0] == 200
    assert driven.answer(driven.next(second, "permission"), option="allow")["result"] == "confirmed"
    assert driven.made("second")


@pytest.mark.soak
def test_a_service_that_does_not_answer_is_told_and_taken_back(driven: Driven) -> None:
    failing = error(500, "api_error", "Internal server error", times=4)
    session = driven.start([failing], [text("Never said.")])
    problem = driven.next(session, "problem")
    assert "does not answer as it should" in problem["title"]
    assert problem["body"].startswith("500 ")
    driven.yourcall.wait_state(problem["id"], "ended")
    assert driven.next(session, "ready")["body"] == "Recovered."
