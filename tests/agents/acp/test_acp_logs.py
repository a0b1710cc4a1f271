"""What five real agents said over ACP, played again: each prompt is read, answered as it was then, settled."""

from __future__ import annotations

import json

import pytest
from acp_replay import DATA, Played, logged, play

from yourcall.agents.acp import table
from yourcall.agents.acp.agent import AGENTS as ACP
from yourcall.agents.acp.requests import action_of
from yourcall.model.action import Action

ROWS = {row.name: row for row in table.ROWS}
LOGS = {
    "claude-drive": "claude-agent-acp",
    "codex-drive": "codex-acp",
    "opencode-drive": "opencode",
    "qwen-drive": "qwen",
    "kilo-drive": "kilo",
    "gemini-permissions": "gemini-acp",
    "gemini-parallel": "gemini-acp",
    "gemini-reject": "gemini-acp",
    "gemini-untrusted": "gemini-acp",
    "gemini-write-nofs": "gemini-acp",
}


@pytest.mark.parametrize(("log", "name"), LOGS.items())
def test_every_prompt_is_read_answered_and_settled(log: str, name: str) -> None:
    played = play(log, ROWS[name])
    wanted = [
        m
        for by_agent, m in logged(log)
        if by_agent and m.get("method") in ("session/request_permission", "elicitation/create")
    ]
    assert len(played.asks) == len(wanted) > 0
    for prompt in played.asks:
        assert prompt.agent == name
        assert prompt.title
        assert prompt.questions
        refused = any(
            o.effect == "deny"
            for q in prompt.questions
            for o in q.options
            if prompt.answer and o.id in prompt.answer.choices.get(q.id, ())
        )
        assert (prompt.state, prompt.outcome) == ("confirmed", "denied" if refused else "allowed"), prompt
    assert [p.state for p in played.seen.values() if p.state == "open"] == ["open"]  # ready, or a problem
    assert played.open.kind in ("ready", "problem")


@pytest.mark.parametrize("log", LOGS)
def test_an_agent_is_known_by_what_it_calls_itself(log: str) -> None:
    played = play(log, table.OTHER)
    (session,) = played.state.sessions.values()
    assert session.agent == LOGS[log]
    assert session.version == ROWS[LOGS[log]].tested
    assert session.transcript == f"/records/{session.id}.jsonl"


def test_the_least_grant_comes_first_and_every_option_is_the_agents_own() -> None:
    for log, name in LOGS.items():
        offered = [
            [option["optionId"] for option in message["params"]["options"]]
            for by_agent, message in logged(log)
            if by_agent and message.get("method") == "session/request_permission"
        ]
        prompts = [p for p in play(log, ROWS[name]).asks if p.kind in ("permission", "plan")]
        for ids, prompt in zip(offered, prompts, strict=True):
            (question,) = prompt.questions
            assert question.options[0].effect == "allow_once"
            assert {option.id for option in question.options} - {"stop"} == set(ids)


def test_what_a_rule_may_know_is_exact_or_nothing() -> None:
    found: dict[str, list[Action]] = {}
    for log, name in LOGS.items():
        played = play(log, ROWS[name])
        each = [action_of(ROWS[name], played.bodies[p.request]) for p in played.asks if p.kind == "permission"]
        found.setdefault(name, []).extend(one for one in each if one is not None)
    for name in ("claude-agent-acp", "codex-acp", "opencode", "qwen"):
        # Where it comes as words, they begin with bash or zsh; as a text, nobody says which shell gets it.
        assert any(
            Action("Bash", "command", command="touch a.txt", any_shell=any_) in found[name]
            for any_ in (True, False)
        )
    for name in ("claude-agent-acp", "opencode", "qwen"):
        assert Action("Write", "write", paths=("/tmp/shop-acp/hello.py",)) in found[name]
    # Gemini tells its command in a title only: a person may read it, no rule does.
    assert {one.kind for one in found["gemini-acp"]} == {"other"}


def test_claude_asks_a_question_and_has_its_plan_approved() -> None:
    played = play("claude-drive", ROWS["claude-agent-acp"])
    (question,) = [p for p in played.asks if p.kind == "question"]
    (only,) = question.questions
    assert only.text == "Which database would you like to use?"
    assert [o.label for o in only.options] == ["PostgreSQL — Powerful", "SQLite — Small"]
    assert only.free_text
    (plan,) = [p for p in played.asks if p.kind == "plan"]
    assert plan.body == "# Plan\n1. Extract the parser\n2. Move tests\n"
    assert [o.effect for o in plan.questions[0].options] == [
        "allow_once",
        "allow_always",
        "allow_always",
        "deny",
        "stop",
    ]
    assert played.state.sessions[played.talk.session_id].permission_mode == "default"


def test_geminis_plan_is_shown_because_it_was_seen_to_be_written() -> None:
    played = play("gemini-permissions", ROWS["gemini-acp"])
    (plan,) = [p for p in played.asks if p.kind == "plan"]
    assert plan.body.startswith("# Refactor plan\n\n1. Yes, extract the parser")
    assert plan.body.endswith("plans/refactor.md")
    entering = next(p for p in played.asks if "plan first" in p.title)
    assert entering.title == "enter_plan_mode: The change is large; plan first."
    assert played.open.kind == "problem"
    assert played.open.title == "API key not valid. Please pass a valid API key."
    # The echo of a mode is no message of the model's.
    assert not [e for e in played.record if "[MODE_UPDATE]" in e.get("text", "")]


def test_nothing_but_questions_is_offered_and_files_are_refused() -> None:
    """With `fs` offered, Gemini wrote a file that nobody was asked for (the log); ours would not be asked to."""
    played = play("gemini-write-flaky-read", ROWS["gemini-acp"])
    assert played.written[0]["params"]["clientCapabilities"] == {"elicitation": {"form": {}, "url": {}}}
    assert played.asks == []
    refused = [m for m in played.written if "error" in m]
    assert len(refused) == 3
    assert all(m["error"]["code"] == -32601 for m in refused)


def test_the_conversation_is_recorded_as_entries() -> None:
    played = play("opencode-drive", ROWS["opencode"])
    told = [(e["type"], e.get("phase", ""), e.get("text") or e.get("title")) for e in played.record]
    assert told[:6] == [
        ("user", "", "please case:hello"),
        ("assistant", "", "Hello from the fake model."),
        ("user", "", "please case:shell"),
        ("action", "started", "touch a.txt"),
        ("action", "completed", ""),
        ("assistant", "", "Done."),
    ]
    read = next(agent for agent in ACP if agent.name == "opencode").read_entry
    assert [len(read(json.dumps(entry).encode())) for entry in played.record] == [1] * len(played.record)
    assert read(b'{"type":"nonsense"}') == []
    assert read(b"\xff") == []


@pytest.mark.parametrize("init", sorted(path.stem for path in DATA.glob("init-*.jsonl")))
def test_an_introduction_leads_to_a_new_session(init: str) -> None:
    (_, _), (_, reply) = logged(init)
    played = Played(table.OTHER)
    played.hear(reply)
    assert played.last("session/new")["params"] == {"cwd": "/tmp/shop", "mcpServers": []}
