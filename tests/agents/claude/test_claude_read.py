"""What captured lines of the real Claude Code mean: who decided, how, and which call is meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from yourcall.agents.claude import wording
from yourcall.agents.claude.hooks import read_hook, read_line, read_status, settled
from yourcall.agents.claude.reply import plan
from yourcall.agents.claude.wire import Suggestion
from yourcall.agents.kit import forms
from yourcall.agents.sightings import CallResult, CallSeen, HookCall
from yourcall.model.events import PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Answer, Moment, Option, Prompt, Refused

DATA = Path(__file__).resolve().parents[2] / "data" / "claude"

DECIDED = {
    "desk-yes": ("allowed", "desk"),
    "desk-yes-long": ("allowed", "desk"),
    "desk-yes-session": ("allowed", "desk"),
    "desk-no": ("stopped", "unknown"),
    "desk-esc": ("stopped", "unknown"),
    "desk-esc-2.1.197": ("stopped", "unknown"),
    "desk-esc-2.1.144": ("stopped", "unknown"),
    "desk-no-feedback": ("denied", "desk"),
    "hook-allow": ("allowed", "held"),
    "hook-deny": ("denied", "held"),
    "hook-deny-interrupt": ("stopped", "unknown"),
    "config-accept": ("allowed", "desk"),
    "subagent-desk-yes": ("allowed", "desk"),
    "subagent-hook-allow": ("allowed", "held"),
}


def results(name: str) -> list[CallResult]:
    lines = (DATA / f"tool-result-{name}.jsonl").read_bytes().splitlines()
    return [found for line in lines for found in read_line(line) if isinstance(found, CallResult)]


@pytest.mark.parametrize(("name", "expected"), DECIDED.items(), ids=list(DECIDED))
def test_the_record_tells_how_a_call_was_decided_and_by_whom(name: str, expected: tuple[str, str]) -> None:
    assert [(found.outcome, found.source) for found in results(name)] == [expected]


@pytest.mark.parametrize("version", ["2.1.144", "2.1.197"])
def test_a_tool_that_fails_in_the_words_of_a_refusal_was_not_refused(version: str) -> None:
    """What the tool itself said stands in the result; what Claude says of it stands beside."""
    line = json.loads((DATA / f"tool-result-desk-esc-{version}.jsonl").read_bytes())
    line["toolUseResult"] = "Error: Exit code 1\n" + line["message"]["content"][0]["content"]
    (found,) = read_line(json.dumps(line).encode())
    assert isinstance(found, CallResult)
    assert (found.outcome, found.source) == ("unknown", "unknown")


def test_a_session_file_of_an_older_version_tells_its_time() -> None:
    told = read_status(b'{"sessionId":"s","status":"idle","updatedAt":5000,"procStart":"1","version":"2.1.144"}')
    assert told is not None
    assert (told.status, told.since) == ("idle", 5.0)


def test_a_call_and_its_prompt_have_the_same_fingerprint() -> None:
    calls = [
        found
        for line in (DATA / "tool-use.jsonl").read_bytes().splitlines()
        for found in read_line(line)
        if isinstance(found, CallSeen)
    ]
    asked = json.loads((DATA / "hook-permission-request.json").read_text())
    # The same call, spelt in another order, as JSON allows.
    asked["tool_input"] = dict(reversed(asked["tool_input"].items()))
    (prompt,) = raise_from(json.dumps(asked).encode())
    assert prompt.fingerprint in {call.fingerprint for call in calls}


def test_repeated_messages_in_request_lines_are_not_records() -> None:
    for line in (DATA / "api-request-blob.jsonl").read_bytes().splitlines():
        assert read_line(line) == []


def raise_from(payload: bytes, event: str = "PermissionRequest") -> list[Prompt]:
    heard = read_hook(HookCall(1.0, event, payload, {"CLAUDE_PID": "7"}, "aaaabbbbcc"))
    return [event.prompt for event in heard.events if isinstance(event, PromptRaised)]


def test_a_subagents_request_names_it() -> None:
    (prompt,) = raise_from((DATA / "hook-permission-request-subagent.json").read_bytes())
    kind, agent_id = prompt.subagent.split(" ")
    assert kind == "general-purpose"
    assert agent_id.isalnum()


def test_the_session_file_tells_what_it_waits_for_since_when() -> None:
    waiting = read_status((DATA / "session-file-waiting.json").read_bytes())
    assert waiting is not None
    assert (waiting.status, waiting.version) == ("waiting", "2.1.325")
    assert waiting.since > 1.7e9
    assert read_status((DATA / "session-file-waiting.json").read_bytes()[:40]) is None


def test_where_a_session_lives_comes_with_every_hook() -> None:
    env = {
        "CLAUDE_PID": "4242",
        "TMUX": "/tmp/tmux-7/default,1,0",
        "TMUX_PANE": "%3",
        "AI_AGENT": "claude-code_2-1-325_harness",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
    }
    heard = read_hook(HookCall(5.0, "SessionStart", (DATA / "hook-session-start.json").read_bytes(), env))
    (seen,) = heard.events
    assert isinstance(seen, SessionSeen)
    session = seen.session
    assert (session.pid, session.version, session.mode) == (4242, "2.1.325", "terminal")
    assert [(link.kind, link.target, link.server) for link in session.links] == [
        ("hook", "", ""),
        ("tmux", "%3", "/tmp/tmux-7/default"),
    ]
    heard = read_hook(HookCall(5.0, "SessionEnd", (DATA / "hook-session-end-exit.json").read_bytes(), env))
    assert isinstance(heard.events[0], SessionEnded)


def test_an_older_version_that_names_nobody_is_known_by_our_own_words() -> None:
    (prompt,) = raise_from((DATA / "hook-permission-request.json").read_bytes())
    answer = Answer("a", "phone", "http", {"decision": ("deny",)}, {"decision": "Not on a Friday."})
    prompt = Prompt(**{f: getattr(prompt, f) for f in Prompt.__struct_fields__ if f != "answer"}, answer=answer)
    ours = CallResult("toolu_1", 2.0, "unknown", "unknown", "", "Error: Not on a Friday.")
    assert settled(prompt, ours, 3.0).source == "held"
    failed = CallResult("toolu_1", 2.0, "unknown", "unknown", "", "exit 1")
    assert settled(prompt, failed, 3.0).source == "unknown"


# --- words ----------------------------------------------------------------------------------------------------


def suggestion(**told: object) -> Suggestion:
    import msgspec

    return msgspec.convert(told, Suggestion)


def test_an_offer_to_remember_states_its_exact_scope() -> None:
    rule = suggestion(
        type="addRules",
        behavior="allow",
        destination="localSettings",
        rules=[{"toolName": "Bash", "ruleContent": "npm ci"}],
    )
    option = wording.remember_option(1, rule)
    assert option is not None
    assert (option.id, option.effect) == ("remember1", "allow_always")
    assert "Bash(npm ci)" in option.label
    assert "settings.local.json" in option.description


@pytest.mark.parametrize(
    "told",
    [
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
        {"type": "setMode", "mode": "auto", "destination": "session"},
        {"type": "addRules", "behavior": "deny", "destination": "session", "rules": [{"toolName": "Bash"}]},
        {"type": "addRules", "behavior": "allow", "destination": "somewhere new", "rules": [{"toolName": "Bash"}]},
        {"type": "never seen", "destination": "session"},
        {"type": "addRules", "behavior": "allow", "destination": "session", "rules": []},
    ],
)
def test_what_switches_asking_off_or_has_no_words_is_not_offered(told: dict[str, object]) -> None:
    assert wording.remember_option(1, suggestion(**told)) is None


def test_nothing_is_cut_silently() -> None:
    long = "x" * (wording.LONGEST_BODY + 50)
    assert wording.body("Bash", {"command": long}).endswith("50 more characters (in the tool's input)")
    assert wording.title("Bash", {"command": "one\ntwo"}) == "one …"


# --- forms ----------------------------------------------------------------------------------------------------

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "title": "Count", "minimum": 1},
            "rate": {"type": "number"},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
            "ok": {"type": "boolean"},
        },
        "required": ["count"],
    }
).encode()


def test_a_form_is_asked_field_by_field_and_filled_in_with_the_right_types() -> None:
    asked = forms.questions(SCHEMA)
    assert asked is not None
    assert [(q.id, q.type, q.required, q.multi_select, [o.label for o in q.options]) for q in asked] == [
        ("count", "integer", True, False, []),
        ("rate", "number", False, False, []),
        ("size", "", False, False, ["Small", "Large"]),
        ("days", "", False, True, ["mon", "tue"]),
        ("ok", "", False, False, ["Yes", "No"]),
    ]
    answer = Answer(
        "a", "x", "y", {"size": ("o2",), "days": ("o1", "o2"), "ok": ("o2",)}, {"count": "3", "rate": "0.5"}
    )
    assert forms.content(SCHEMA, answer) == {
        "count": 3,
        "rate": 0.5,
        "size": "l",
        "days": ["mon", "tue"],
        "ok": False,
    }


@pytest.mark.parametrize(
    "bad", [b"{", b"[]", b'{"properties": {"a": {"type": "object"}}}', b'{"properties": {"action": {}}}']
)
def test_a_form_with_a_field_we_do_not_know_is_left_to_the_desk(bad: bytes) -> None:
    assert forms.questions(bad) is None


def test_a_reply_is_refused_when_what_was_asked_is_gone() -> None:
    (prompt,) = raise_from((DATA / "hook-permission-request.json").read_bytes())
    answer = Answer("a", "x", "y", {"decision": ("allow",)})
    assert isinstance(plan(prompt, answer, b""), Refused)


@pytest.mark.parametrize("half", [r"\ud83d", r"\udc00 and on", r"\ud83d\u0041"])
def test_half_a_letter_does_not_hide_a_request(half: str) -> None:
    """JavaScript passes on half an emoji, and a model may write one; what is shown is then what would run."""
    given = f'{{"command":"rm -r x","description":"{half}"}}'
    payload = f'{{"session_id":"s","tool_name":"Bash","tool_input":{given}}}'
    heard = read_hook(HookCall(1.0, "PermissionRequest", payload.encode(), {}, "aaaabbbbcc"))
    (prompt,) = [event.prompt for event in heard.events if isinstance(event, PromptRaised)]
    assert (prompt.title, "rm -r x" in prompt.body, "\ufffd" in prompt.body) == ("rm -r x", True, True)
    allowed = plan(prompt, Answer("a", "phone", "http", {"decision": ("allow",)}), heard.bodies[prompt.request])
    assert not isinstance(allowed, Refused)
    runs = json.loads(allowed.output)["hookSpecificOutput"]["decision"]["updatedInput"]
    assert runs["command"] == "rm -r x"
    assert runs["description"] in prompt.body


def test_an_input_that_cannot_be_taken_apart_is_shown_as_it_came() -> None:
    payload = b'{"session_id":"s","tool_name":"Bash","tool_input":{"command":"rm -r x","n":1e999}}'
    (prompt,) = raise_from(payload)
    assert "rm -r x" in prompt.body


def test_the_end_of_a_form_is_ours_only_if_our_answer_was_written() -> None:
    schema: dict[str, object] = {"type": "object", "properties": {}}
    payload: dict[str, object] = {
        "session_id": "s",
        "mcp_server_name": "box",
        "message": "?",
        "requested_schema": schema,
    }
    (asked,) = raise_from(json.dumps(payload).encode(), "Elicitation")
    over = CallResult("call", 9.0, "allowed", "unknown", "it ran")
    answer = Answer("a1", "phone", "http", {forms.ACTION: ("accept",)})
    on_its_way = replace(asked, state="unsure", answer=answer)
    written = replace(on_its_way, history=(Moment(5.0, "sent", "phone", "handed to the agent", "a1"),))
    told = [settled(prompt, over, 9.0) for prompt in (asked, on_its_way, written)]
    assert [each and (each.outcome, each.source) for each in told] == [
        None,
        ("allowed", "unknown"),
        ("allowed", "held"),
    ]


def test_only_a_yes_is_a_yes() -> None:
    (prompt,) = raise_from((DATA / "hook-permission-request.json").read_bytes())
    (question,) = prompt.questions
    for effect in ("choose", "reply"):
        odd = replace(question, options=(Option("allow", "Allow", effect),))
        answer = Answer("a", "phone", "http", {question.id: ("allow",)})
        assert isinstance(plan(replace(prompt, questions=(odd,)), answer, b"{}"), Refused)
