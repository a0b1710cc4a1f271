"""Dialogs that take several keys, on the real Claude's screen, without hooks: boxes, own words, pages, forms."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import MANUAL, start_claude
from kit.poll import until
from kit.turns import plan_file, text, tool
from kit.yourcall import Yourcall
from yourcall.live_check import mcp_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.claude import Claude, ClaudeHome
    from kit.model_server import ModelServer
    from kit.terminal import Tmux


def asked(
    question: str, header: str, *labels: str, several: bool = False, preview: bool = False
) -> dict[str, Any]:
    options = [
        {"label": label, "description": f"About {label}", **({"preview": f"[{label}]"} if preview else {})}
        for label in labels
    ]
    return {"question": question, "header": header, "multiSelect": several, "options": options}


DATABASE = asked("Which database should we use?", "Database", "PostgreSQL", "SQLite")
FEATURES = asked("Which features do you want?", "Features", "Auth", "Billing", "Search", several=True)
LAYOUT = asked("Which layout?", "Layout", "Sidebar", "Topbar", preview=True)
PLAN = "# Plan\n\n1. Create `health.py`\n2. Add a test\n"


@pytest.fixture
def bare(tmp_path: Path, claude_home: ClaudeHome) -> Iterator[Yourcall]:
    """A running yourcall that no agent was connected to: there are no hooks."""
    with Yourcall(tmp_path, claude_home) as running:
        yield running


@pytest.fixture
def start(claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, bare: Yourcall, tmux: Tmux) -> Any:
    def run(words: str, args: tuple[str, ...] = MANUAL) -> Claude:
        claude = start_claude(tmux, claude_bin, claude_home, model, args=args)
        pane = claude.terminal
        status, said = bare.http("POST", "/api/panes", {"server": str(pane.tmux.socket), "pane": pane.id})
        assert status == 201, said
        claude.say(words)
        return claude

    return run


def answer(yourcall: Yourcall, prompt: dict[str, Any], **body: object) -> dict[str, Any]:
    _, told = yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {"wait": 30, **body})
    return told


def next_prompt(yourcall: Yourcall, *before: dict[str, Any]) -> dict[str, Any]:
    known = {prompt["id"] for prompt in before}
    return until(lambda: [p for p in yourcall.prompts() if p["id"] not in known], what="a new prompt")[0]


def test_boxes_are_ticked_one_by_one_and_submitted(start: Any, bare: Yourcall, model: ModelServer) -> None:
    start(model.script("ask", [tool("AskUserQuestion", questions=[FEATURES])], [text("Fine.")]))
    prompt = bare.wait_prompt()
    (question,) = prompt["questions"]
    assert (question["multi_select"], [o["label"] for o in question["options"]]) == (
        True,
        ["Auth", "Billing", "Search"],
    )
    told = answer(bare, prompt, choices={question["id"]: ["Auth", "Search"]})
    assert told["result"] == "confirmed", told
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert '="Auth, Search"' in result.text


def test_boxes_that_the_desk_ticked_are_seen_and_unticked(start: Any, bare: Yourcall, model: ModelServer) -> None:
    claude = start(model.script("ask", [tool("AskUserQuestion", questions=[FEATURES])], [text("Fine.")]))
    prompt = bare.wait_prompt()
    claude.wait_dialog("Which features")
    claude.press("2")
    claude.terminal.wait_until(lambda screen: "[✔] Billing" in screen)
    told = answer(bare, prompt, choices={prompt["questions"][0]["id"]: ["Search"]})
    assert told["result"] in ("confirmed", "accepted"), told  # a key of the desk's in the same second is a doubt
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert '="Search"' in result.text


def test_own_words_arrive_exactly(start: Any, bare: Yourcall, model: ModelServer) -> None:
    start(model.script("ask", [tool("AskUserQuestion", questions=[DATABASE])], [text("Fine.")]))
    prompt = bare.wait_prompt()
    words = "DuckDB, in memory – 1 of 2 (é), \\ and /clear"
    told = answer(bare, prompt, text=words)
    assert told["result"] == "confirmed", told
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert f'="{words}"' in result.text


def test_several_questions_are_answered_page_by_page(start: Any, bare: Yourcall, model: ModelServer) -> None:
    start(model.script("ask", [tool("AskUserQuestion", questions=[DATABASE, FEATURES, LAYOUT])], [text("Fine.")]))
    first = bare.wait_prompt()
    assert first["title"] == DATABASE["question"]
    assert answer(bare, first, option="SQLite")["result"] == "confirmed"
    second = next_prompt(bare, first)
    assert second["title"] == FEATURES["question"]
    told = answer(bare, second, choices={second["questions"][0]["id"]: ["Billing", "Search"]})
    assert told["result"] == "confirmed", told
    third = next_prompt(bare, first, second)
    told = answer(bare, third, option="Topbar")
    assert told["result"] == "confirmed", told
    last = next_prompt(bare, first, second, third)
    assert "Billing, Search" in last["body"]
    assert model.tool_results() == []
    assert answer(bare, last, option="Submit answers")["result"] == "confirmed"
    (result,) = model.wait_for(lambda m: m.tool_results())
    for words in ('="SQLite"', '="Billing, Search"', '="Topbar"'):
        assert words in result.text


def test_a_plan_is_sent_back_with_words(
    start: Any, bare: Yourcall, model: ModelServer, claude_home: ClaudeHome
) -> None:
    write = [tool("Write", file_path=plan_file, content=PLAN)]
    words = model.script("plan", write, [tool("ExitPlanMode", plan=PLAN)], [text("I shall.")])
    start(words, ("--permission-mode", "plan"))
    prompt = until(lambda: [p for p in bare.prompts() if p["kind"] == "plan"])[0]
    told = answer(bare, prompt, option="revise", text="Add a rollback step.")
    assert told["result"] == "confirmed", told
    model.wait_for(lambda m: any("Add a rollback step." in r.text for r in m.tool_results()))


def test_a_command_is_refused_in_words_and_claude_goes_on(
    start: Any, bare: Yourcall, model: ModelServer, claude_home: ClaudeHome
) -> None:
    touch = tool("Bash", command="touch marker", description="Make the marker")
    claude = start(model.script("work", [touch], [text("Otherwise, then.")]))
    prompt = bare.wait_prompt()
    wrong = answer(bare, prompt, option="allow", text="and be quick")
    assert wrong["result"] == "bounced", wrong  # words behind a yes would be a yes
    told = answer(bare, prompt, option="tell", text="Use the build folder, please.")
    assert told["result"] == "confirmed", told
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert "Use the build folder, please." in result.text
    claude.terminal.wait_until(lambda screen: "Otherwise, then." in screen)
    assert not (claude_home.project / "marker").exists()


@pytest.fixture
def with_form(claude_home: ClaudeHome, tmp_path: Path) -> tuple[str, ...]:
    config = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}
    config.write_text(json.dumps({"mcpServers": {"demo": server}}))
    claude_home.write_settings({"permissions": {"allow": ["mcp__demo__book_table", "mcp__demo__link_account"]}})
    return (*MANUAL, "--mcp-config", str(config))


def test_a_form_is_filled_in_field_by_field(
    start: Any, bare: Yourcall, model: ModelServer, with_form: tuple[str, ...]
) -> None:
    claude = start(model.script("book", [tool("mcp__demo__book_table")], [text("Booked.")]), with_form)
    prompt = bare.wait_prompt()
    assert [q["id"] for q in prompt["questions"]] == ["People", "Seating", "Name", "By the window", "action"]
    bad = answer(bare, prompt, texts={"People": "99"}, choices={"action": ["accept"]})
    assert (bad["result"], model.tool_results()) == ("bounced", []), bad
    # What Claude did not take was taken back, and the form is there for another try.
    claude.terminal.wait_until(lambda screen: "People: Type something" in screen)
    given = {"People": "4", "Seating": "terrace", "Name": "Bob B", "By the window": "No"}
    told = answer(bare, prompt, texts=given, choices={"action": ["accept"]})
    assert told["result"] == "confirmed", told
    (result,) = model.wait_for(lambda m: m.tool_results())
    content = {"people": 4, "seating": "terrace", "name": "Bob B", "window": False}
    assert json.loads(result.text) == {"action": "accept", "content": content}


@pytest.mark.parametrize(("name", "action"), [("book_table", "decline"), ("link_account", "cancel")])
def test_a_form_or_an_address_is_turned_down(
    start: Any, bare: Yourcall, model: ModelServer, with_form: tuple[str, ...], name: str, action: str
) -> None:
    start(model.script("book", [tool(f"mcp__demo__{name}")], [text("Well.")]), with_form)
    prompt = bare.wait_prompt()
    told = answer(bare, prompt, choices={"action": [action]})
    assert told["result"] == "confirmed", told
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert json.loads(result.text)["action"] == action


@pytest.mark.soak
@pytest.mark.parametrize("version", ["2.1.197", "2.0.76"])
def test_older_versions_take_the_same_keys(
    fetched: Any, model: ModelServer, claude_home: ClaudeHome, bare: Yourcall, tmux: Tmux, version: str
) -> None:
    binary = fetched("claude", version)
    args = ("--permission-mode", "default")
    for name, question, given, heard in (
        ("boxes", FEATURES, {"choices": {"decision": ["Auth", "Search"]}}, '="Auth, Search"'),
        ("words", DATABASE, {"text": "DuckDB, in memory"}, '="DuckDB, in memory"'),
    ):
        words = model.script(name, [tool("AskUserQuestion", questions=[question])], [text("Fine.")])
        claude = start_claude(tmux, binary, claude_home, model, args=args)
        place = {"server": str(tmux.socket), "pane": claude.terminal.id}
        assert bare.http("POST", "/api/panes", place)[0] == 201
        claude.say(words)
        prompt = bare.wait_prompt()
        told = answer(bare, prompt, **given)
        assert told["result"] == "confirmed", (name, told, claude.terminal.screen())
        model.wait_for(lambda m, heard=heard: any(heard in r.text for r in m.tool_results()))
        claude.kill()
