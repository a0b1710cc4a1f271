"""Everything Claude can ask besides a permission: questions, plans, forms; answered through the hook in one go."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.claude import MANUAL, start_claude
from kit.poll import until
from kit.turns import plan_file, text, tool
from yourcall.live_check import mcp_server

if TYPE_CHECKING:
    from kit.claude import Claude
    from kit.scene import Scene

DATABASE = {
    "question": "Which database should we use?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "PostgreSQL", "description": "A server"},
        {"label": "SQLite", "description": "A single file"},
    ],
}
FEATURES = {
    "question": "Which features do you want?",
    "header": "Features",
    "multiSelect": True,
    "options": [{"label": label, "description": ""} for label in ("Auth", "Billing", "Search")],
}
LAYOUT = {
    "question": "Which layout?",
    "header": "Layout",
    "multiSelect": False,
    "options": [
        {"label": "Sidebar", "description": "On the left", "preview": "+--+---+\n|n | m |\n+--+---+"},
        {"label": "Topbar", "description": "On top", "preview": "+-----+\n|  n  |\n+-----+"},
    ],
}
PLAN = "# Plan\n\n1. Create `health.py`\n2. Add a test\n"


def test_questions_of_every_form_are_answered_in_one_go(scene: Scene) -> None:
    scene.ask([tool("AskUserQuestion", questions=[DATABASE, FEATURES, LAYOUT])], [text("Thanks.")])
    prompt = scene.yourcall.wait_prompt()
    assert prompt["kind"] == "question"
    assert [q["text"] for q in prompt["questions"]] == [q["question"] for q in (DATABASE, FEATURES, LAYOUT)]
    assert [q["multi_select"] for q in prompt["questions"]] == [False, True, False]
    assert prompt["questions"][2]["options"][0]["preview"] == LAYOUT["options"][0]["preview"]

    said = scene.yourcall.run(
        "answer",
        prompt["id"],
        "--set-text",
        "q1=DuckDB, in memory",
        "--set",
        "q2=Auth,Search",
        "--set",
        "q3=Topbar",
    )
    assert said.code == 0, said
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert not result.is_error
    for words in ("DuckDB, in memory", "Auth, Search", "Topbar"):
        assert words in result.text
    assert scene.yourcall.run("answer", prompt["id"], "--set", "q1=SQLite").code == 3


def test_a_note_beside_an_option_arrives_as_the_dialog_itself_sends_it(scene: Scene) -> None:
    scene.ask([tool("AskUserQuestion", "toolu_lay", questions=[LAYOUT, DATABASE])], [text("Thanks.")])
    prompt = scene.yourcall.wait_prompt()
    exact = 'Neither: "Duck", in memory \u2014 100 % \u00e9'
    body = {
        "choices": {"q1": ["Topbar"]},
        "texts": {"q1": "keep it thin", "q2": exact},
        "wait": 20,
    }
    status, said = scene.yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", body)
    assert (status, said["result"]) == (200, "confirmed"), said
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    preview = LAYOUT["options"][1]["preview"]
    assert f'"Which layout?"="Topbar" selected preview:\n{preview} notes: keep it thin' in result.text
    assert f'="{exact}"' in result.text
    (line,) = until(lambda: scene.home.tool_result_lines("toolu_lay"))
    told = line["toolUseResult"]
    assert told["answers"] == {LAYOUT["question"]: "Topbar", DATABASE["question"]: exact}
    # The same that Claude's own dialog writes for `n`, a note, Enter (docs/reference/agents/claude-code.md).
    assert told["annotations"] == {LAYOUT["question"]: {"preview": preview, "notes": "keep it thin"}}


def test_a_question_answered_at_the_desk_closes_everywhere(scene: Scene) -> None:
    claude = scene.ask([tool("AskUserQuestion", questions=[DATABASE])], [text("Thanks.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog("Which database")
    claude.press("2")
    scene.yourcall.wait_state(prompt["id"], "desk")
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert "SQLite" in result.text


def plan_scene(scene: Scene, *more: list[object]) -> Claude:
    words = scene.model.script(
        "plan",
        [tool("Write", file_path=plan_file, content=PLAN)],
        [tool("ExitPlanMode", plan=PLAN)],
        *more,
        [text("All done.")],
    )
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, args=("--permission-mode", "plan"))
    claude.say(words)
    return claude


def plan_prompt(scene: Scene, *before: dict[str, object]) -> dict[str, object]:
    known = {p["id"] for p in before}
    return until(
        lambda: next((p for p in scene.yourcall.prompts() if p["kind"] == "plan" and p["id"] not in known), None),
        what="a plan",
    )


def test_a_plan_is_shown_whole_and_approved_with_edits_accepted(scene: Scene) -> None:
    write = tool("Write", file_path=str(scene.home.project / "health.py"), content="ok = True\n")
    claude = plan_scene(scene, [write])
    prompt = plan_prompt(scene)
    assert prompt["body"] == PLAN
    assert scene.yourcall.run("answer", str(prompt["id"]), "approve_edits").code == 0
    until(lambda: scene.made("health.py"), what="the file, without another prompt")
    claude.wait_status("idle")


def test_a_plan_approved_by_hand_still_asks_for_each_edit(scene: Scene) -> None:
    write = tool("Write", file_path=str(scene.home.project / "health.py"), content="ok = True\n")
    plan_scene(scene, [write])
    prompt = plan_prompt(scene)
    assert scene.yourcall.run("answer", str(prompt["id"]), "approve").code == 0
    edit = scene.next_prompt(prompt)
    assert edit["tool"]["name"] == "Write"
    assert not scene.made("health.py")
    assert scene.yourcall.run("answer", edit["id"], "allow").code == 0
    assert scene.made("health.py")


def test_feedback_keeps_claude_planning_and_outline_first_refuses_a_hasty_repeat(scene: Scene) -> None:
    again = tool("ExitPlanMode", plan=PLAN + "3. More\n")
    plan_scene(scene, [again], [again], [again])
    first = plan_prompt(scene)
    said = scene.yourcall.run("answer", str(first["id"]), "revise", "--text", "Add a rollback step.")
    assert said.code == 0, said
    scene.model.wait_for(lambda m: any("Add a rollback step." in r.text for r in m.tool_results()))

    second = plan_prompt(scene, first)
    assert scene.yourcall.run("answer", str(second["id"]), "outline").code == 0
    scene.model.wait_for(lambda m: any("numbered outline" in r.text for r in m.tool_results()))

    # The third comes at once, within the cool-down: refused by itself; so is the fourth, and the turn ends.
    scene.model.wait_for(lambda m: sum("numbered outline" in r.text for r in m.tool_results()) == 3)
    until(lambda: not [p for p in scene.yourcall.prompts() if p["kind"] == "plan"])
    log = scene.yourcall.run("log", "--json").json
    assert [line["by"] for line in log if line["kind"] == "plan"][:2] == ["outline first"] * 2


@pytest.fixture
def with_mcp(scene: Scene, tmp_path: Path) -> tuple[str, ...]:
    config = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}
    config.write_text(json.dumps({"mcpServers": {"demo": server}}))
    allowed = {"permissions": {"allow": ["mcp__demo__book_table", "mcp__demo__link_account"]}}
    settings = json.loads(scene.home.settings.read_text()) | allowed
    scene.home.write_settings(settings)
    scene.yourcall.configure("[claude]\naway_after_s = 0\n")  # a form is held only while nobody is at the desk
    return (*MANUAL, "--mcp-config", str(config))


def book(scene: Scene, args: tuple[str, ...], name: str) -> Claude:
    words = scene.model.script("book", [tool(f"mcp__demo__{name}")], [text("Booked.")])
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, args=args)
    claude.say(words)
    return claude


def test_a_form_is_checked_filled_in_and_reaches_the_server(scene: Scene, with_mcp: tuple[str, ...]) -> None:
    book(scene, with_mcp, "book_table")
    prompt = scene.yourcall.wait_prompt()
    assert prompt["kind"] == "elicitation"
    fields = {q["id"]: q for q in prompt["questions"]}
    assert set(fields) == {"people", "seating", "name", "window", "action"}

    bad = scene.yourcall.run("answer", prompt["id"], "--set-text", "people=40", "--set", "action=accept")
    assert bad.code == 2
    assert "at most 12" in bad.err
    missing = scene.yourcall.run("answer", prompt["id"], "--set", "action=accept")
    assert missing.code == 2
    said = scene.yourcall.run(
        "answer", prompt["id"], "--set-text", "people=4", "--set", "seating=terrace", "--set", "window=Yes",
        "--set", "action=accept",
    )  # fmt: skip
    assert said.code == 0, (said, scene.yourcall.show(prompt["id"]))
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    told = json.loads(result.text)
    assert told == {"action": "accept", "content": {"people": 4, "seating": "terrace", "window": True}}


def test_a_form_is_declined_without_filling_it_in(scene: Scene, with_mcp: tuple[str, ...]) -> None:
    book(scene, with_mcp, "book_table")
    prompt = scene.yourcall.wait_prompt()
    said = scene.yourcall.run("answer", prompt["id"], "--set", "action=decline")
    assert said.code == 0, (said, scene.yourcall.show(prompt["id"]))
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert json.loads(result.text)["action"] == "decline"


def test_an_address_to_open_goes_to_the_desk_when_somebody_types_there(
    scene: Scene, with_mcp: tuple[str, ...]
) -> None:
    claude = book(scene, with_mcp, "link_account")
    prompt = scene.yourcall.wait_prompt()
    assert prompt["held"]

    def somebody_types() -> bool:
        # The terminal's clock ticks every 8 s, and we have typed just now; a person was away for longer.
        claude.terminal.key("x")
        return not scene.yourcall.show(prompt["id"])["held"]

    until(somebody_types, every=0.5)  # the dialog, which Claude hides while we hold, is theirs again
    assert "https://example.com/oauth/start?id=1" in prompt["body"]
    claude.wait_dialog("open a URL")
    claude.press("Escape")
    shown = scene.yourcall.wait_state(prompt["id"], "desk")
    assert until(lambda: scene.yourcall.show(prompt["id"])["outcome"]) == "stopped", shown
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert json.loads(result.text)["action"] == "cancel"
