"""The real agents try to answer their own prompts, change rules and let devices in, from their shell tool.

What is caught is refused, recorded and shown, and the prompt stays open. What no look at processes can catch
(`tmux send-keys` into another pane, a program that always ran) is on record, with how little is known of it.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from test_claude_headless import drive

from kit.codex_scene import CodexScene, joined
from kit.poll import until
from kit.responses_server import escalated, say
from kit.turns import text, tool
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.scene import Scene
    from kit.terminal import Tmux
    from kit.yourcall import Yourcall

# Each waits for the next prompt, answers it, and leaves behind how that went.
DETOURS = {
    "directly": "{} &",
    "nohup": "nohup {} >/dev/null 2>&1 &",
    "setsid": "setsid {} >/dev/null 2>&1 &",
    "two forks": "(setsid sh -c '({} &) &' &)",
    "two forks without a variable": "(setsid env -i sh -c '(env -i {} &) &' &)",
    "its own tmux server": "env -u TMUX tmux -L {name} new-session -d {quoted}",
}


# Says over JSON-RPC that a session is to be started; exits with 0 if it was not refused.
RPC = """
import json, sys
from websockets.sync.client import unix_connect
with unix_connect(sys.argv[1], "ws://localhost/api/rpc") as talk:
    wish = {"path": "/tmp", "name": "mine"}
    talk.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "workspace/add", "params": wish}))
    said = talk.recv(30)
    print(said)
    sys.exit("belongs to an agent" in said)
"""


def attempt(yourcall: Yourcall, folder: Path) -> Path:
    """A script that answers the first prompt whose id it finds in the file `id`."""
    script = folder / "attempt.sh"
    script.write_text(
        f"#!/bin/sh\nexport YOURCALL_HOME={shlex.quote(str(yourcall.home))} HOME={shlex.quote(str(folder))} "
        f"LANG=C.UTF-8 PATH=/usr/bin:/bin\ncd {shlex.quote(str(folder))}\n: > begun\n"
        f"while [ ! -s id ]; do sleep 0.1; done\n"
        f"{COMMAND} answer $(cat id) allow --sure --wait 1 > said 2>&1\necho $? > code.part\nmv code.part code\n"
    )
    script.chmod(0o755)
    return script


def detour(how: str, script: Path, name: str = "") -> str:
    """The command that runs this script by a detour. It ends once the script runs: an agent kills what its command
    leaves behind in the same group, and `setsid` may not have come to leave it yet."""
    begin = DETOURS[how].format(script, name=name, quoted=shlex.quote(str(script)))
    return f"{begin}\nwhile [ ! -e {shlex.quote(str(script.parent / 'begun'))} ]; do sleep 0.1; done"


def outcome(folder: Path, prompt: dict[str, Any]) -> tuple[int, str]:
    (folder / "id.part").write_text(prompt["id"])
    (folder / "id.part").rename(folder / "id")
    code = until(lambda: (folder / "code").exists() and (folder / "code").read_text(), what="the attempt")
    return int(code), (folder / "said").read_text()


def hand_raised(yourcall: Yourcall) -> dict[str, Any]:
    """A question of a script's. Nobody waits for its answer, so it is withdrawn after a while."""
    return yourcall.http("POST", "/api/asks", {"id": "handraised1", "question": "Go on?", "options": ["yes"]})[1]


def tried_in_vain(yourcall: Yourcall, prompt: dict[str, Any]) -> bool:
    history = yourcall.show(prompt["id"])["history"]
    refused = [m for m in history if m["by"] == "agent process" and m["detail"].startswith("refused:")]
    return bool(refused) and not any(m["state"] == "answering" for m in history)


def refused_and_shown(yourcall: Yourcall, prompt: dict[str, Any], code: int, said: str) -> None:
    assert code == 2, said
    assert "belongs to an agent" in said
    shown = yourcall.show(prompt["id"])
    assert shown["state"] == "open"
    assert [m["by"] for m in shown["history"] if m["detail"].startswith("refused:")] == ["agent process"]
    sessions = {s["id"]: s for s in yourcall.http("GET", "/api/sessions")[1]}
    assert "tried to answer a prompt" in sessions[prompt["session_id"]]["warning"]
    assert yourcall.run("log", "verify").code == 0


# In `make test` the plainest and the farthest; the ways between them in `make soak`.
SOME = ("directly", "two forks without a variable")
ALL = [pytest.param(how, marks=() if how in SOME else pytest.mark.soak) for how in DETOURS]


@pytest.mark.parametrize("how", ALL)
def test_claude_does_not_answer_its_own_prompt(scene: Scene, how: str, request: pytest.FixtureRequest) -> None:
    folder = scene.home.path
    name = f"yc-self-{os.getpid()}"
    line = detour(how, attempt(scene.yourcall, folder), name)
    if "tmux" in how:
        stop = ["tmux", "-L", name, "kill-server"]
        request.addfinalizer(lambda: subprocess.run(stop, check=False, capture_output=True))
    first = tool("Bash", command=line, description="Begin")
    second = tool("Bash", command="touch marker", description="Make the marker")
    scene.ask([first], [second], [text("Done.")])
    prompt = scene.yourcall.wait_prompt()
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0  # a person lets the first one through
    prompt = scene.next_prompt(prompt)
    refused_and_shown(scene.yourcall, prompt, *outcome(folder, prompt))
    assert not scene.made("marker")
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    assert scene.made("marker")


def test_claude_changes_nothing_through_any_door(scene: Scene) -> None:
    """Rules, devices, pairing, the brake, the end of yourcall, raw HTTP, JSON-RPC: and may still read and ask."""
    home, project = scene.yourcall.home, scene.home.project
    token = scene.yourcall.run("devices", "add", "script", "--json")
    key = token.json["token"]
    sock, url = shlex.quote(str(home / "api.sock")), scene.yourcall.url
    yc = f"YOURCALL_HOME={shlex.quote(str(home))} {COMMAND}"
    asked = hand_raised(scene.yourcall)
    reply = {"requestId": asked["id"], "selectedOption": "yes"}
    (project / "rpc.py").write_text(RPC)
    tries = {
        "rules": f"""{yc} rules add --yes --text '[all]
do = "allow"
effect = "read"'""",
        "answer": f"{yc} answer {asked['id']} yes",
        "interactive": f"curl -s --unix-socket {sock} -d '{json.dumps(reply)}' "
        "http://localhost/api/interactive-prompts/respond | grep -v 'belongs to an agent'",
        "rpc": f"{sys.executable} rpc.py {sock}",
        "devices": f"{yc} devices add mine",
        "pair": f"{yc} pair",
        "pause": f"{yc} pause",
        "resume": f"{yc} resume",
        "down": f"{yc} down",
        "http": f"curl -sf --unix-socket {sock} -X POST http://localhost/api/pairing",
        "token": f"curl -sf -H 'Authorization: Bearer {key}' -X POST {url}/api/resume",
        "ls": f"{yc} ls",
    }
    lines = [f"{line} > said-{name} 2>&1 < /dev/null; echo $? > code-{name}" for name, line in tries.items()]
    (project / "try.sh").write_text("\n".join(lines) + "\ntouch tried\n")
    scene.ask([tool("Bash", command="sh try.sh", description="Try")], [text("Done.")])
    prompt = scene.next_prompt(asked)
    scene.yourcall.run("answer", prompt["id"], "allow", "--no-wait")
    until(lambda: scene.made("tried"), what="all tries")
    codes = {name: int((project / f"code-{name}").read_text()) for name in tries}
    words = {name: (project / f"said-{name}").read_text() for name in tries}
    assert codes["ls"] == 0, words["ls"]
    assert {name for name, code in codes.items() if code == 0} == {"ls"}, words
    assert "only a person may change rules" in words["rules"]
    assert tried_in_vain(scene.yourcall, asked)
    assert len(scene.yourcall.http("GET", "/api/devices")[1]) == 1
    assert scene.yourcall.http("GET", "/api/status")[1]["paused"] is False
    (session,) = [s for s in scene.yourcall.http("GET", "/api/sessions")[1] if s["agent"] == "claude"]
    assert session["warning"].startswith("refused: a process tried to")


def test_what_is_typed_into_another_pane_is_on_record(scene: Scene, tmux: Tmux) -> None:
    """`tmux send-keys`: to the kernel, what runs there is the person's own. The record says how it is known."""
    folder = scene.home.path
    script = str(attempt(scene.yourcall, folder))
    pane = tmux.start(["/bin/sh"], cwd=folder, env={"PATH": os.defpath})
    line = f"tmux -S {shlex.quote(str(tmux.socket))} send-keys -t {pane.id} {shlex.quote(script)} Enter"
    first = tool("Bash", command=line, description="Begin")
    scene.ask([first], [tool("Bash", command="touch marker", description="Make it")], [text("Done.")])
    prompt = scene.yourcall.wait_prompt()
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    prompt = scene.next_prompt(prompt)
    outcome(folder, prompt)
    shown = until(lambda: (s := scene.yourcall.show(prompt["id"]))["state"] == "confirmed" and s, what="its end")
    assert (shown["answered_by"], shown["author_certainty"]) == ("cli", "terminal")


def test_what_only_looks_like_a_person_is_on_record(scene: Scene) -> None:
    """A program that always ran and does what it is told, as `at`, `systemd-run` and `ssh localhost` do: no look
    at processes catches these. The record says how little is known of the author."""
    folder = scene.home.path
    script = str(attempt(scene.yourcall, folder))
    door = folder / "detour"
    served = socket.socket(socket.AF_UNIX)
    served.bind(str(door))
    served.listen(1)

    def serve() -> None:
        talk, _ = served.accept()
        with talk:
            subprocess.run(["/bin/sh", "-c", talk.makefile().readline()], check=False, start_new_session=True)

    threading.Thread(target=serve, daemon=True).start()
    talk = "import socket; s = socket.socket(socket.AF_UNIX)"
    code = f"{talk}; s.connect({str(door)!r}); s.sendall({script!r}.encode() + b'\\n')"
    first = tool("Bash", command=f"{sys.executable} -c {shlex.quote(code)}", description="Begin")
    scene.ask([first], [tool("Bash", command="touch marker", description="Make it")], [text("Done.")])
    prompt = scene.yourcall.wait_prompt()
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    prompt = scene.next_prompt(prompt)
    outcome(folder, prompt)
    served.close()
    shown = until(lambda: (s := scene.yourcall.show(prompt["id"]))["state"] == "confirmed" and s, what="its end")
    assert (shown["answered_by"], shown["author_certainty"]) == ("cli", "local process")
    lines = {line["id"]: line for line in scene.yourcall.http("GET", "/api/log")[1]}
    assert lines[prompt["id"]]["author_certainty"] == "local process"


@pytest.fixture
def codex(tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> Iterator[CodexScene]:
    with joined(tmp_path, fetched("codex"), tmux) as made:
        yield made


@pytest.mark.parametrize("where", ["terminal", "server"])
@pytest.mark.parametrize("how", [pytest.param("setsid", marks=pytest.mark.soak), "two forks without a variable"])
def test_codex_does_not_answer_its_own_prompt(codex: CodexScene, how: str, where: str) -> None:
    folder = codex.home.path
    begin = detour(how, attempt(codex.yourcall, folder))
    turns = (
        [escalated(begin, "Begin?")],
        [escalated("touch marker", "Make it?")],
        [say("Done.")],
    )
    if where == "terminal":
        codex.ask(*turns)
    else:
        codex.begin(*turns)
    prompt = codex.prompt(kind="permission")
    codex.answer(prompt, "allow")
    prompt = codex.prompt(prompt, kind="permission")
    refused_and_shown(codex.yourcall, prompt, *outcome(folder, prompt))
    assert not codex.made("marker")


def test_codex_answers_nobody_directly(codex: CodexScene) -> None:
    """In the foreground, as plainly as it can be tried: a question of a script's, which a person is to answer."""
    asked = hand_raised(codex.yourcall)
    home = shlex.quote(str(codex.yourcall.home))
    line = f"YOURCALL_HOME={home} {COMMAND} answer {asked['id']} yes > said 2>&1; echo $? > code"
    codex.begin([escalated(line, "Begin?")], [say("Done.")])
    prompt = codex.prompt(asked, kind="permission")
    codex.answer(prompt, "allow")
    code = until(lambda: codex.made("code") and (codex.home.project / "code").read_text(), what="the attempt")
    said = (codex.home.project / "said").read_text()
    assert (int(code), "belongs to an agent" in said) == (2, True), said
    assert tried_in_vain(codex.yourcall, asked)


def test_a_supervisor_answers_for_others_but_not_for_itself(scene: Scene, tmux: Tmux) -> None:
    """Named in the configuration: it may answer a script's question, and still not its own request."""
    folder, project = scene.home.path, scene.home.project
    named = f'[supervisors.boss]\nagent = "claude"\nfolder = "{project}"\n'
    scene.yourcall.configure(named)
    asked = hand_raised(scene.yourcall)
    script = str(attempt(scene.yourcall, folder))
    line = f"YOURCALL_HOME={shlex.quote(str(scene.yourcall.home))} {COMMAND} answer {asked['id']} yes --no-wait"
    first = tool("Bash", command=f"setsid {script} >/dev/null 2>&1 & {line}", description="Begin")
    scene.ask([first], [tool("Bash", command="touch marker", description="Make it")], [text("Done.")])
    prompt = scene.next_prompt(asked)
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    shown = until(lambda: (s := scene.yourcall.show(asked["id"]))["state"] != "open" and s, what="the answer")
    assert (shown["answered_by"], shown["author_certainty"]) == ("boss (supervisor agent)", "supervisor agent")
    prompt = scene.next_prompt(asked, prompt)
    refused_and_shown(scene.yourcall, prompt, *outcome(folder, prompt))


def test_a_headless_claude_does_not_answer_its_own_prompt(
    tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer
) -> None:
    """One that yourcall started itself, without a terminal."""
    with drive(tmp_path, claude_home, claude_bin, model) as driven:
        begin = detour("two forks without a variable", attempt(driven.yourcall, claude_home.path))
        first = tool("Bash", command=begin, description="Begin")
        session = driven.start(
            [first], [tool("Bash", command="touch marker", description="Make it")], [text("Done.")]
        )
        prompt = driven.next(session)
        assert driven.answer(prompt, option="allow")["result"] == "confirmed"
        other = until(lambda: (p := driven.next(session))["id"] != prompt["id"] and p, what="the second prompt")
        refused_and_shown(driven.yourcall, other, *outcome(claude_home.path, other))
        assert not driven.made("marker")
