"""More of the real Gemini CLI: plans, edits, MCP tools, loops, start-up, no tmux, restarts, instructions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.gemini import Gemini, GeminiHome, end_group, environment, plans_folder, start_gemini
from kit.poll import until
from kit.terminal import Ptys, Tmux
from kit.turns import Block, text, tool
from kit.yourcall import COMMAND
from real.gemini_scene import bare, gemini_bin, home, model, shell, start, watch, yourcall
from yourcall.live_check import mcp_server

if TYPE_CHECKING:
    from kit.gemini import GeminiModel
    from kit.yourcall import Yourcall

__all__ = ["bare", "gemini_bin", "home", "model", "start", "yourcall"]  # fixtures

MCP = Path(mcp_server.__file__)


def plan(content: str) -> tuple[list[Block], list[Block]]:
    def path(body: dict[str, Any]) -> str:
        return plans_folder(body) + "/refactor.md"

    write = tool("write_file", file_path=path, content=content)
    return [write], [tool("exit_plan_mode", plan_path=path, plan_filename="refactor.md")]


def test_a_plan_is_sent_back_with_words_and_then_approved(
    start: Any, yourcall: Yourcall, model: GeminiModel
) -> None:
    write, leave = plan("# Refactor plan\n\n1. Extract the parser\n2. Delete `legacy.py`\n")
    gemini = start(args=("--approval-mode", "plan"))
    gemini.say(model.script("work", write, leave, leave, [text("Plan received.")]))
    first = yourcall.wait_prompt()
    assert first["kind"] == "plan"
    assert "Extract the parser" in first["body"]
    words = "Please also\nkeep legacy.py"
    body = {"option": "feedback", "text": words, "wait": 20}
    status, said = yourcall.http("POST", f"/api/prompts/{first['id']}/answer", body)
    assert (status, said["result"]) == (200, "confirmed"), (yourcall.show(first["id"])["history"], gemini.screen())
    second = until(lambda: [p for p in yourcall.prompts() if p["id"] != first["id"]], show=gemini.screen)[0]
    assert words in json.dumps(model.tool_results(), ensure_ascii=False).replace("\\n", "\n")
    status, said = yourcall.http("POST", f"/api/prompts/{second['id']}/answer", {"option": "allow", "wait": 20})
    assert (status, said["result"]) == (200, "confirmed"), (said, gemini.screen())
    until(lambda: "approved" in str(model.tool_results()[-1]).lower())


@pytest.mark.soak
def test_files_are_written_and_edited_with_the_diff_shown(
    start: Any, yourcall: Yourcall, model: GeminiModel, home: GeminiHome
) -> None:
    file = home.project / "app.py"
    file.write_text("def main():\n    print('hi')\n")
    new = str(home.project / "hello.py")
    write = tool("write_file", file_path=new, content="print('new')\n")
    read = tool("read_file", file_path=str(file))
    edit = tool(
        "replace", file_path=str(file), old_string="print('hi')", new_string="print('ho')", instruction="Change it"
    )
    gemini = start()
    gemini.say(model.script("work", [write], [read], [edit], [text("Done.")]))
    first = yourcall.wait_prompt()
    assert (first["title"], first["tool"]["name"]) == (f"Write {new}", "write_file")
    assert "+print('new')" in first["body"]
    assert yourcall.run("answer", first["id"], "deny").code == 0
    gemini.say("DO work")
    again = yourcall.wait_prompt()
    assert yourcall.run("answer", again["id"], "allow").code == 0
    second = until(lambda: [p for p in yourcall.prompts() if p["id"] != again["id"]], show=gemini.screen)[0]
    assert "-    print('hi')" in second["body"]
    assert yourcall.run("answer", second["id"], "allow").code == 0
    until(lambda: "ho" in file.read_text())
    assert Path(new).read_text() == "print('new')\n"


@pytest.mark.soak
def test_an_mcp_tool_is_shown_with_its_arguments(
    start: Any, yourcall: Yourcall, model: GeminiModel, home: Any
) -> None:
    settings = json.loads(home.settings.read_text())
    settings["mcpServers"] = {"demo": {"command": sys.executable, "args": [str(MCP)]}}
    home.settings.write_text(json.dumps(settings))
    long = {"title": "A ticket " + "with a long title " * 20, "priority": 1}
    gemini = start(cols=80, rows=24)
    gemini.say(model.script("work", [tool("mcp_demo_add_ticket", **long)], [text("Done.")]))
    prompt = yourcall.wait_prompt()
    assert prompt["tool"]["input"] == long, (prompt, gemini.screen())
    effects = [option["effect"] for option in prompt["questions"][0]["options"]]
    assert effects == ["allow_once", "allow_session", "allow_session", "deny"]
    assert yourcall.run("answer", prompt["id"], "allow").code == 0
    (result,) = model.wait_results()
    assert "error" not in result["response"]


@pytest.mark.soak
def test_a_fetch_is_shown_with_its_address_and_refused(start: Any, yourcall: Yourcall, model: GeminiModel) -> None:
    """Its dialog has another shape than a command's. Allowed, it would be fetched: here it is refused."""
    gemini = start(cols=80, rows=24)
    words = "Read http://127.0.0.1:9/kites and say what it tells."
    gemini.say(model.script("work", [tool("web_fetch", prompt=words)], [text("Never said.")]))
    prompt = yourcall.wait_prompt()
    assert prompt["kind"] == "permission"
    assert prompt["tool"] == {"name": "web_fetch", "input": {"prompt": words}}, (prompt, gemini.screen())
    assert "allow_once" in {option["effect"] for option in prompt["questions"][0]["options"]}
    said = yourcall.run("answer", prompt["id"], "deny")
    assert said.code == 0, (said, gemini.screen())
    gemini.wait_ready()
    assert yourcall.show(prompt["id"])["outcome"] == "denied"


def test_a_row_that_is_out_of_sight_is_brought_into_sight_and_picked(
    start: Any, yourcall: Yourcall, model: GeminiModel
) -> None:
    long = "Pick one of these:\n\n- a list\n- in the question\n\n1. first\n2. second\n\nReally?"
    options = [{"label": label, "description": f"About {label}"} for label in ("Aa", "Bb", "Cc", "Dd")]
    asked = {"question": long, "header": "One", "type": "choice", "options": options}
    gemini = start(cols=80, rows=24)
    gemini.say(model.script("work", [tool("ask_user", questions=[asked])], [text("Fine.")]))
    prompt = yourcall.wait_prompt()
    assert prompt["kind"] == "question"
    assert "Dd" not in gemini.screen()
    body = {"choices": {"q1": ["o4"]}, "wait": 20}
    status, said = yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", body)
    assert (status, said["result"]) in ((200, "confirmed"), (200, "accepted")), (said, gemini.screen())
    (result,) = model.wait_results(1)
    assert json.loads(result["response"]["output"])["answers"] == {"0": "Dd"}


def test_start_up_trust_goes_to_a_person_and_the_dead_dialog_is_not_asked_again(
    start: Any, yourcall: Yourcall, model: GeminiModel, home: GeminiHome
) -> None:
    home.trust_file.unlink()
    gemini = start(cols=80, rows=24)
    watch(yourcall, gemini)
    prompt = yourcall.wait_prompt()
    assert prompt["kind"] == "trust"
    options = {option["id"]: option["effect"] for option in prompt["questions"][0]["options"]}
    assert options == {"trust": "allow_always", "parent": "allow_always", "no": "deny"}
    said = yourcall.run("answer", prompt["id"], "trust")
    assert said.code == 0, (said, gemini.screen())
    gemini.say(model.script("work", [shell("touch marker")], [text("Done.")]))
    asked = yourcall.wait_prompt()
    assert (asked["kind"], asked["title"]) == ("permission", "Run: touch marker")
    assert json.loads(home.trust_file.read_text()) == {str(home.project): "TRUST_FOLDER"}
    assert yourcall.run("answer", asked["id"], "allow").code == 0
    until(lambda: gemini.made("marker"))


@pytest.mark.soak
def test_outside_tmux_prompts_are_shown_and_answered_at_the_desk(
    gemini_bin: Path, yourcall: Yourcall, model: GeminiModel, home: GeminiHome
) -> None:
    with Ptys() as ptys:
        gemini = start_gemini(ptys, gemini_bin, home, model)
        gemini.say(model.script("work", [shell("touch marker")], [shell("touch second")], [text("Done.")]))
        first = yourcall.wait_prompt()
        assert (first["title"], first["held"]) == ("Run: touch marker", False)
        refused = yourcall.run("answer", first["id"], "allow")
        assert refused.code == 2, refused
        gemini.press("1")
        until(lambda: yourcall.show(first["id"])["outcome"] == "allowed")
        second = yourcall.wait_prompt()
        gemini.press("3")
        until(lambda: yourcall.show(second["id"])["outcome"] == "denied")
        assert (gemini.made("marker"), gemini.made("second")) == (True, False)


def test_a_prompt_outlives_a_kill_and_the_next_instruction_is_given(
    start: Any, yourcall: Yourcall, model: GeminiModel
) -> None:
    gemini = start()
    gemini.say(model.script("work", [shell("touch marker")], [text("It is there.")]))
    prompt = yourcall.wait_prompt()
    yourcall.kill()
    yourcall.start()
    again = yourcall.wait_prompt()
    assert again["id"] == prompt["id"]
    assert yourcall.run("answer", prompt["id"], "allow").code == 0
    ready = yourcall.pause("ready")
    assert ready["body"] == "It is there."
    assert gemini.made("marker")
    words = model.script("more", [shell("touch more")], [text("And that.")])

    def given() -> bool:
        """On a machine that hardly moves, Enter may be taken for a part of the paste: it is then taken back."""
        return yourcall.run("answer", ready["id"], "--text", f"Now\n{words}").code == 0

    until(given, show=gemini.screen)
    asked = yourcall.wait_prompt()
    assert asked["title"] == "Run: touch more"
    assert f"Now\n{words}" in model.user_texts()
    assert yourcall.run("answer", asked["id"], "allow").code == 0
    until(lambda: gemini.made("more"))
    entries = yourcall.run("conversation", asked["session_id"], "--json").json
    assert "It is there." in json.dumps(entries)


@pytest.mark.soak
def test_a_loop_is_told_and_answered(start: Any, yourcall: Yourcall, model: GeminiModel, home: GeminiHome) -> None:
    file = home.project / "app.py"
    file.write_text("x\n")
    again = [tool("read_file", file_path=str(file))]
    gemini = start()
    gemini.say(model.script("work", *([again] * 12), [text("Done.")]))
    prompt = yourcall.wait_prompt()
    assert prompt["kind"] == "loop", gemini.screen()
    labels = [option["label"] for option in prompt["questions"][0]["options"]]
    assert labels == ["Keep loop detection enabled", "Disable loop detection for this session"]
    assert yourcall.run("answer", prompt["id"], labels[0]).code == 0
    gemini.wait_ready()
    until(lambda: yourcall.prompts() == [])


@pytest.mark.soak
def test_run_starts_it_and_dismisses_the_editors_nudge(
    gemini_bin: Path, bare: Yourcall, model: GeminiModel, home: GeminiHome, tmux: Tmux
) -> None:
    """`yourcall run -- gemini` in a pane: the nudge is closed by yourcall, on record; trust waits for a person."""
    home.trust_file.unlink()
    env = {**environment(home, model), **bare.env, "TERM_PROGRAM": "vscode"}
    pane = tmux.start([str(COMMAND), "run", "--", str(gemini_bin)], cwd=home.project, env=env)
    gemini = Gemini(pane, home)
    try:
        # Which of the two dialogs comes first is chance; the nudge may even take the place of the other.
        nudge = until(lambda: [p for p in settled(bare) if "connect" in p["title"]], show=gemini.screen)[0]
        told = bare.show(nudge["id"])
        assert (told["kind"], told["state"], told["answered_by"]) == ("startup", "confirmed", "yourcall")
        trust = yourcall_prompt(bare, "trust")
        assert trust["questions"][0]["options"][0]["id"] == "trust"
        assert bare.run("answer", trust["id"], "trust").code == 0
        gemini.wait_ready()
        assert list(json.loads(home.trust_file.read_text())) == [str(home.project)]
    finally:
        end_group(gemini)


@pytest.mark.soak
def test_run_in_a_plain_terminal_is_answered_on_its_screen(
    gemini_bin: Path, bare: Yourcall, model: GeminiModel, home: GeminiHome, tmux: Tmux
) -> None:
    """The pane is only the test's own eyes: without TMUX in its environment it is a terminal like any other."""
    home.trust_file.unlink()
    env = {**environment(home, model), **bare.env}
    command = ["env", "-u", "TMUX", str(COMMAND), "run", "--", str(gemini_bin)]
    gemini = Gemini(tmux.start(command, cwd=home.project, env=env), home)
    try:
        trust = yourcall_prompt(bare, "trust")
        (row,) = bare.http("GET", "/api/sessions")[1]
        assert [link["kind"] for link in row["links"]] == ["pty"]
        assert bare.run("answer", trust["id"], "trust").code == 0
        gemini.wait_ready()
        assert list(json.loads(home.trust_file.read_text())) == [str(home.project)]
    finally:
        end_group(gemini)


def settled(yourcall: Yourcall) -> list[dict[str, Any]]:
    return [p for p in yourcall.run("log", "--json").json if p["state"] == "confirmed"]


def yourcall_prompt(yourcall: Yourcall, kind: str) -> dict[str, Any]:
    return until(lambda: [p for p in yourcall.prompts() if p["kind"] == kind], what=kind)[0]


@pytest.mark.soak
def test_a_session_is_found_by_its_process_and_its_quota_dialog_answered(
    start: Any, bare: Yourcall, model: GeminiModel
) -> None:
    """No hooks, nobody told of the pane: the process is found, the dialog read, and one digit pressed."""
    gemini = start()
    bare.discovery = "tmux"
    bare.configure(f"[discovery]\nroot_pid = {gemini.pid}\n")
    violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "50"}
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
    spent = Block(
        "error",
        {
            "status": 429,
            "kind": "RESOURCE_EXHAUSTED",
            "message": "Quota exceeded for quota metric 'Generate Content API requests per day'",
            "details": [failure],
        },
    )
    gemini.say(model.script("work", [spent]))
    prompt = bare.wait_prompt()
    assert prompt["session_id"].startswith("pid-")
    labels = {option["label"]: option["id"] for option in prompt["questions"][0]["options"]}
    assert set(labels) == {"Keep trying", "Stop"}, (prompt, gemini.screen())
    assert bare.run("answer", prompt["id"], labels["Stop"]).code == 0
    gemini.wait_ready()
    assert bare.prompts() == []
