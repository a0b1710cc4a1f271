"""Four more agents over ACP, for long: each goes through the same story, and what one has that others have not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.gemini import plans_folder
from kit.turns import text, tool
from real.acp_scene import answer, goes_on, on_stage, the_story
from yourcall.agents.acp.table import ROWS
from yourcall.live_check import mcp_server

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
QUESTIONS = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [
                {"label": "PostgreSQL", "description": "Large"},
                {"label": "SQLite", "description": "Small"},
            ],
            "multiSelect": False,
        }
    ]
}


@pytest.mark.parametrize("name", [row.name for row in ROWS if row.name != "gemini-acp"])
def test_an_agent_goes_through_the_story_and_goes_on_later(
    name: str, tmp_path: Path, fetched: Callable[..., Path]
) -> None:
    with on_stage(name, tmp_path, fetched) as agent:
        goes_on(agent, the_story(agent))


def test_claude_asks_a_question_and_has_a_plan_approved(tmp_path: Path, fetched: Callable[..., Path]) -> None:
    with on_stage("claude-agent-acp", tmp_path, fetched) as agent:
        asked = ("call", "AskUserQuestion", json.dumps(QUESTIONS))
        session = agent.session(agent.script("ask", [asked], [asked], [("speak", "Thanks.")]))
        question = agent.prompt()
        assert (question["kind"], question["title"]) == ("question", "Which database?")
        said = agent.yourcall.run("answer", question["id"], "SQLite — Small")
        assert said.code == 0, said
        assert agent.settled(question) == ("confirmed", "allowed")
        second = agent.prompt()
        assert agent.yourcall.run("answer", second["id"], "--text", "DuckDB").code == 0
        assert agent.settled(second) == ("confirmed", "allowed")
        assert agent.ready()["body"] == "Thanks."
        told = [result.text for result in agent.model.tool_results()]
        assert '"SQLite"' in told[0]
        assert '"DuckDB"' in told[1]

        assert agent.yourcall.http("POST", f"/api/sessions/{session}/mode", {"permission_mode": "plan"})[0] == 200
        plan = ("call", "ExitPlanMode", json.dumps({"plan": "# Plan\n1. Look\n2. Leap"}))
        words = agent.script("plan", [plan], [("speak", "Off we go.")])
        assert agent.yourcall.run("send", session, words).code == 0
        prompt = agent.prompt()
        assert prompt["kind"] == "plan"
        assert "2. Leap" in prompt["body"]
        assert answer(agent, prompt, "allow") == ("confirmed", "allowed")
        assert agent.ready()["permission_mode"] == "default"


def test_a_servers_form_reaches_a_person(tmp_path: Path, fetched: Callable[..., Path]) -> None:
    """Through claude-agent-acp; the model hears what the server was told."""
    with on_stage("claude-agent-acp", tmp_path, fetched) as agent:
        server = {"command": os.path.realpath("/proc/self/exe"), "args": [str(Path(mcp_server.__file__))]}
        (agent.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"demo": server}}))
        (agent.project / ".claude").mkdir()
        allowed = {"permissions": {"allow": ["mcp__demo"]}, "enableAllProjectMcpServers": True}
        (agent.project / ".claude" / "settings.json").write_text(json.dumps(allowed))
        book = ("call", "mcp__demo__book_table", "{}")
        agent.session(agent.script("work", [book], [book], [("speak", "Booked.")]))
        form = agent.prompt()
        assert (form["kind"], form["title"]) == ("elicitation", "How many people, and which seating?")
        filled = {"choices": {"seating": ["o2"], "action": ["accept"]}, "texts": {"people": "4"}}
        status, said = agent.yourcall.http("POST", f"/api/prompts/{form['id']}/answer", filled)
        assert status in (200, 202), said
        assert agent.settled(form) == ("confirmed", "allowed")
        second = agent.prompt()
        status, said = agent.yourcall.http(
            "POST", f"/api/prompts/{second['id']}/answer", {"choices": {"action": ["decline"]}}
        )
        assert status in (200, 202), said
        assert agent.settled(second) == ("confirmed", "denied")
        assert agent.ready()["body"] == "Booked."
        told = [json.loads(result.text) for result in agent.model.tool_results()]
        assert told[0] == {"action": "accept", "content": {"people": 4, "seating": "terrace"}}
        assert told[1]["action"] == "decline"


def test_geminis_plan_is_shown_whole_and_approved(tmp_path: Path, fetched: Callable[..., Path]) -> None:
    def path(body: dict[str, Any]) -> str:
        return plans_folder(body) + "/refactor.md"

    with on_stage("gemini-acp", tmp_path, fetched) as agent:
        write = tool("write_file", file_path=path, content="# Plan\n\n1. Look\n2. Leap\n")
        leave = tool("exit_plan_mode", plan_path=path, plan_filename="refactor.md")
        words = agent.model.script("plan", [write], [leave], [text("Off we go.")])
        agent.session(words, "--permission-mode", "plan")
        prompt = agent.prompt()
        assert prompt["kind"] == "plan"
        assert "2. Leap" in prompt["body"]
        assert answer(agent, prompt, "allow") == ("confirmed", "allowed")
        assert agent.ready()["permission_mode"] == "default"


def test_a_rule_answers_what_the_agent_tells_exactly(tmp_path: Path, fetched: Callable[..., Path]) -> None:
    with on_stage("qwen", tmp_path, fetched) as agent:
        rules = '[touching]\ndo = "allow"\ncommand = "touch"\n\n[no-moves]\ndo = "deny"\ncommand = "mv"\n'
        (agent.yourcall.home / "rules.toml").write_text(rules)
        agent.session(
            agent.script("touch", [("run", "touch marker")], [("run", "mv marker away")], [("speak", "Done.")])
        )
        assert agent.ready()["body"] == "Done."
        assert agent.made("marker")
        assert not agent.made("away")
