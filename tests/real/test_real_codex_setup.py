"""`yourcall setup codex` against the real Codex: reviewed by a person, called, taken out again to the byte."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from kit.codex import CodexHome, start_codex
from kit.poll import until
from kit.responses_server import ResponsesServer, call, escalated, say
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.codex import Codex
    from kit.terminal import Ptys, Tmux

ALONE = "--no-daemon"
# A person's own file, as they wrote it: odd spacing, and a hook of theirs with a key that nobody knows.
THEIRS = (
    '{"description":"mine" ,\n\t"hooks": {\n'
    '\t\t"Stop": [ {"hooks":[{"type":"command","command":"true","mine":5}]} ]\n\t}\n}'
)


@pytest.fixture(scope="module")
def codex_bin(fetched: Callable[..., Path]) -> Path:
    return fetched("codex")


@pytest.fixture
def model() -> Iterator[ResponsesServer]:
    with ResponsesServer() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, model: ResponsesServer) -> Iterator[CodexHome]:
    made = CodexHome.make(tmp_path, model)
    yield made
    made.close()


@pytest.fixture
def yourcall(tmp_path: Path, home: CodexHome) -> Iterator[Yourcall]:
    with Yourcall(tmp_path, home) as running:  # type: ignore[arg-type]  # only its folder is used
        yield running


def connect(yourcall: Yourcall, binary: Path) -> None:
    said = yourcall.run("setup", "codex", "--yes", "--cli", str(binary))
    assert said.code == 0, said
    assert "Hooks need review" in said.out


def doctor(yourcall: Yourcall) -> list[dict[str, Any]]:
    return [each for each in yourcall.run("doctor", "--json").json if "odex" in each["says"]]


def warnings(codex: Codex) -> str:
    """All that Codex warns of at its start, page by page."""
    screen = codex.terminal.screen()
    if "f2 to view" not in screen:
        return ""
    codex.terminal.key("F2")
    found = codex.terminal.wait_until(lambda shown: "Warnings ·" in shown)
    for number in range(2, int(found.split("1 of ")[1].split()[0]) + 1):
        codex.terminal.key("Right")
        page = f"Warnings · {number} of"
        found += codex.terminal.wait_until(lambda shown, page=page: page in shown)
    codex.terminal.key("Escape")
    codex.terminal.wait_until(lambda shown: "Warnings ·" not in shown)
    return found


def look_after(yourcall: Yourcall, codex: Codex) -> None:
    """Let yourcall find it by its process, as it finds a person's own."""
    yourcall.discovery = "tmux"
    yourcall.configure(f"[discovery]\nroot_pid = {codex.terminal.pid}\n")


def test_set_up_reviewed_by_a_person_used_and_undone(
    codex_bin: Path, home: CodexHome, model: ResponsesServer, yourcall: Yourcall, tmux: Tmux
) -> None:
    file = home.config / "hooks.json"
    file.write_text(THEIRS)
    shown = yourcall.run("setup", "codex", "--diff", "--cli", str(codex_bin))
    assert (shown.code, file.read_text()) == (0, THEIRS)
    assert "+" in shown.out
    connect(yourcall, codex_bin)
    assert any(each["level"] == "wrong" and "trust our hooks" in each["says"] for each in doctor(yourcall))

    codex = start_codex(tmux, codex_bin, home, ALONE, cols=100)
    look_after(yourcall, codex)
    review = yourcall.wait_prompt()
    assert (review["kind"], review["title"]) == ("startup", "Hooks need review")
    assert review["session_id"].startswith("pid-")
    assert yourcall.run("answer", review["id"], "trust").code == 0
    codex.wait_ready()
    assert [each["level"] for each in doctor(yourcall) if "trusts its hooks" in each["says"]] == ["well"]
    assert "hooks.json" not in warnings(codex)

    codex.say(model.script("work", [escalated("touch marker")], [say("Made it.")]))
    asked = yourcall.wait_prompt()
    assert (asked["title"], asked["held"]) == ("Command: touch marker", True)
    assert asked["tool"]["input"]["command"] == "touch marker"
    assert not asked["session_id"].startswith("pid-")  # its hook has told its name
    assert codex.wait_dialog("$ touch marker")  # the desk sees it as ever
    assert not (home.project / "marker").exists()
    assert yourcall.run("answer", asked["id"], "allow").code == 0
    until(lambda: (home.project / "marker").exists())
    ready = yourcall.pause("ready")
    assert (ready["session_id"], ready["body"]) == (asked["session_id"], "Made it.")
    sessions = yourcall.http("GET", "/api/sessions")[1]
    assert [each["id"] for each in sessions] == [asked["session_id"]]
    assert yourcall.run("answer", ready["id"], "--text", "and now DO nothing").code == 0
    assert model.wait_for(lambda m: "and now DO nothing" in m.user_texts())

    undone = yourcall.run("setup", "codex", "--undo", "--yes")
    assert undone.code == 0, undone
    assert file.read_text() == THEIRS


def test_outside_of_tmux_a_request_is_shown_and_left_to_the_desk(
    codex_bin: Path, home: CodexHome, model: ResponsesServer, yourcall: Yourcall, ptys: Ptys
) -> None:
    """The hook returns at once, so the dialog is there; and the prompt goes when the turn does."""
    connect(yourcall, codex_bin)
    words = model.script("work", [escalated("touch marker")], [say("Made it.")])
    command = [str(codex_bin), ALONE, "--dangerously-bypass-hook-trust", words]
    pty = ptys.start(command, cwd=home.project, env=home.env, cols=100)
    asked = yourcall.wait_prompt()
    assert (asked["title"], asked["held"], asked["questions"]) == ("Command: touch marker", False, [])
    until(lambda: pty.shows("Press enter to confirm or esc to cancel"))
    said = yourcall.run("answer", asked["id"], "allow")
    assert said.code != 0
    assert not (home.project / "marker").exists()
    pty.key("y")
    until(lambda: (home.project / "marker").exists())
    until(lambda: yourcall.prompts() == [])


def test_a_broken_file_is_reported_and_left_alone(home: CodexHome, codex_bin: Path, yourcall: Yourcall) -> None:
    file = home.config / "hooks.json"
    file.write_text('{"hooks": {,}}')
    said = yourcall.run("setup", "codex", "--yes", "--cli", str(codex_bin))
    assert (said.code, file.read_text()) == (1, '{"hooks": {,}}')
    assert "not valid JSON" in said.err
    file.unlink()
    connect(yourcall, codex_bin)
    assert set(json.loads(file.read_text())["hooks"]) >= {"PermissionRequest", "Stop"}
    assert os.access(yourcall.home / "hook", os.X_OK)
    assert yourcall.run("setup", "codex", "--undo", "--yes").code == 0
    assert not file.exists()


@pytest.mark.soak
def test_a_sub_agent_asks_while_the_session_rests(
    codex_bin: Path, home: CodexHome, model: ResponsesServer, yourcall: Yourcall, tmux: Tmux
) -> None:
    connect(yourcall, codex_bin)
    codex = start_codex(tmux, codex_bin, home, ALONE, "--dangerously-bypass-hook-trust", cols=100)
    look_after(yourcall, codex)
    model.script("child", [escalated("touch marker")], [say("Made by the child.")])
    spawn = call("spawn_agent", "multi_agent_v1", message="please DO child")
    codex.say(model.script("work", [spawn], [say("It is on its way.")]))
    asked = yourcall.wait_prompt()
    assert asked["title"] == "Command: touch marker"
    assert not asked["session_id"].startswith("pid-")
    assert yourcall.run("answer", asked["id"], "allow").code == 0
    until(lambda: (home.project / "marker").exists())
    sessions = yourcall.http("GET", "/api/sessions")[1]
    assert [each["id"] for each in sessions] == [asked["session_id"]]
