"""What the logs do not hold: how a session over ACP begins, ends, is stopped, and what nobody expected."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acp_replay import CWD, Played, logged, play, raises
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.acp import table
from yourcall.agents.acp.requests import action_of
from yourcall.agents.acp.table import OTHER, Row
from yourcall.agents.session_spec import Child, StartOptions
from yourcall.model.action import Action
from yourcall.model.prompts import Answer, Refused

ROWS = {row.name: row for row in table.ROWS}
GEMINI, CLAUDE, QWEN = ROWS["gemini-acp"], ROWS["claude-agent-acp"], ROWS["qwen"]
MODES = {"availableModes": [{"id": "default"}, {"id": "yolo"}, {"id": "plan"}], "currentModeId": "default"}
SESSION = "session-1"


def begun(row: Row = OTHER, wish: StartOptions | None = None, child: Child | None = None, **told: Any) -> Played:
    """A session that has begun."""
    played = Played(row, wish, child)
    info = {"name": row.info or "some-agent", "version": "1", "title": "Some agent"}
    played.hear({"id": 1, "result": {"protocolVersion": 1, "agentInfo": info, **told.pop("init", {})}})
    played.hear({"id": 2, "result": {"sessionId": SESSION, "modes": MODES, **told}})
    return played


def ended(played: Played, reason: str = "end_turn") -> None:
    played.hear({"id": played.last("session/prompt")["id"], "result": {"stopReason": reason}})


def update(kind: str, session: str = SESSION, **fields: Any) -> dict[str, Any]:
    return {
        "method": "session/update",
        "params": {"sessionId": session, "update": {"sessionUpdate": kind, **fields}},
    }


def text(words: str) -> dict[str, Any]:
    return update("agent_message_chunk", content={"type": "text", "text": words})


def asks(number: Any = 0, call: str = "c1", session: str = SESSION, **fields: Any) -> dict[str, Any]:
    options = [
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    tool = {"toolCallId": call, "title": "touch x", "kind": "execute", **fields.pop("tool", {})}
    params = {"sessionId": session, "options": options, "toolCall": tool, **fields}
    return {"id": number, "method": "session/request_permission", "params": params}


def working(row: Row = OTHER, **told: Any) -> Played:
    played = begun(row, **told)
    played.say("Do it.")
    return played


# --- beginning ------------------------------------------------------------------------------------------------


def test_without_an_instruction_it_waits_for_the_first_one() -> None:
    played = begun()
    assert played.open.title == "Ready for the first instruction"
    (session,) = played.state.sessions.values()
    assert (session.id, session.agent, session.state, session.note) == (SESSION, "acp", "idle", "Some agent")
    said = played.say("Do it.")
    assert said["params"] == {"sessionId": SESSION, "prompt": [{"type": "text", "text": "Do it."}]}
    played.hear(text("On it."))
    assert [p.outcome for p in played.seen.values()] == ["allowed"]
    ended(played)
    assert played.open.body == "On it."


def test_with_one_it_begins_at_once() -> None:
    played = begun(wish=StartOptions(CWD, "Go."))
    assert played.last("session/prompt")["params"]["prompt"][0]["text"] == "Go."
    assert played.seen == {}
    assert played.talk.session_id == SESSION


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"result": {"protocolVersion": 0}}, "version 0 of the Agent Client Protocol, and yourcall speaks 1"),
        ({"result": {"protocolVersion": 2}}, "update yourcall"),
        ({"result": {"protocolVersion": "2025-06-18"}}, "another version"),
        ({"result": {}}, "another version"),
        ({"error": {"code": -32601, "message": "Method not found"}}, "Agent Client Protocol: Method not found"),
        ({"error": {"code": "odd", "message": None}}, "does not speak the Agent Client Protocol"),
    ],
)  # fmt: skip
def test_an_agent_that_speaks_otherwise_is_told_in_a_sentence(reply: dict[str, Any], why: str) -> None:
    assert why in Played(OTHER).hear({"id": 1, **reply}).gives_up


def test_a_program_that_only_repeats_us_is_no_agent() -> None:
    """`cat` is one."""
    played = Played(OTHER)
    echoed = played.hear(played.written[0])
    assert [json.loads(line)["error"]["code"] for line in echoed.lines] == [-32601]
    assert "does not speak" in played.hear(json.loads(echoed.lines[0])).gives_up


def test_a_key_in_the_environment_signs_in_and_a_browser_never_does() -> None:
    (_, _), (_, reply) = logged("init-codex")
    played = Played(ROWS["codex-acp"])
    played.hear(reply)
    required = {"code": -32000, "message": "Authentication required"}
    played.hear({"id": 2, "error": required})
    assert played.last("authenticate")["params"] == {"methodId": "codex-api-key"}
    played.hear({"id": 3, "error": {"code": -32603, "message": "CODEX_API_KEY is not set"}})
    assert played.last("authenticate")["params"] == {"methodId": "openai-api-key"}
    played.hear({"id": 4, "result": {}})
    assert played.written[-1]["method"] == "session/new"
    gave_up = played.hear({"id": 5, "error": required}).gives_up
    assert gave_up == "it is not signed in (Authentication required). Run `codex login` in a terminal."
    assert {m["params"]["methodId"] for m in played.written if m["method"] == "authenticate"} == {
        "codex-api-key",
        "openai-api-key",
    }


def test_a_mode_is_set_before_the_first_word_or_nothing_begins() -> None:
    played = begun(GEMINI, StartOptions(CWD, "Go.", permission_mode="bypassPermissions"))
    assert played.last("session/set_mode")["params"] == {"sessionId": SESSION, "modeId": "yolo"}
    assert played.talk.session_id == ""
    spoke = played.hear(
        {"id": 3, "error": {"code": -32603, "message": "Internal error", "data": "untrusted folder"}}
    )
    assert spoke.gives_up == "it refused the mode bypassPermissions: Internal error: untrusted folder"
    played = begun(GEMINI, StartOptions(CWD, "Go.", permission_mode="bypassPermissions"))
    played.hear({"id": 3, "result": {}})
    assert played.state.sessions[SESSION].permission_mode == "bypassPermissions"
    assert played.written[-1]["method"] == "session/prompt"
    gave_up = begun(OTHER, StartOptions(CWD, "Go.", permission_mode="acceptEdits")).spokes[-1].gives_up
    assert gave_up == "This agent has no mode 'acceptEdits'; it has: default, yolo, plan."


def _values(*words: str) -> list[dict[str, str]]:
    return [{"value": word} for word in words]


def test_mode_and_model_may_be_settings() -> None:
    options = [
        {"id": "m", "category": "mode", "currentValue": "build", "options": _values("build", "plan")},
        {"id": "l", "category": "model", "currentValue": "a", "options": [{"options": _values("a", "b")}]},
        {"id": "x", "category": "other", "currentValue": True},
    ]  # fmt: skip
    played = begun(ROWS["opencode"], modes=None, configOptions=options)
    assert played.state.sessions[SESSION].permission_mode == "default"
    wished = played.talk.ask("model", "b")
    assert isinstance(wished, tuple)
    told = json.loads(wished[1])
    assert (told["method"], told["params"]["configId"], told["params"]["value"]) == (
        "session/set_config_option",
        "l",
        "b",
    )
    assert isinstance(played.talk.ask("model", "c"), Refused)
    played.hear(update("config_option_update", configOptions=[{**options[0], "currentValue": "plan"}]))
    assert played.state.sessions[SESSION].permission_mode == "plan"


def test_a_name_that_could_be_a_path_is_none() -> None:
    played = Played(OTHER)
    played.hear({"id": 1, "result": {"protocolVersion": 1}})
    assert played.hear({"id": 2, "result": {"sessionId": "../../etc/passwd"}}).gives_up
    assert played.talk.session_id == ""


# --- going on with an earlier session -------------------------------------------------------------------------


def load(recorded: bool) -> Played:
    """Gemini's log of a load: its replay comes after the reply."""
    wish = StartOptions("/tmp/demo-app3", "Go on.", resume="74c325ca-f7a6-4f0c-9383-f289357aa4b5")
    played = Played(GEMINI, wish, Child(7, "s7", wish.cwd, "/records", recorded))
    for by_agent, message in logged("gemini-load"):
        if by_agent:
            played.hear(message)
    return played


def test_a_loaded_session_is_told_of_when_its_replay_is_over() -> None:
    played = load(recorded=False)
    assert played.last("session/load")["params"]["sessionId"] == played.talk.session_id
    assert played.written[-1]["method"] == "session/prompt"
    ended(played)
    told = [(e["type"], e.get("text") or e.get("title")) for e in played.record]
    assert told[0] == ("user", "please case:shell")
    assert told[-1] == ("user", "Go on.")
    assert ("assistant", "Hello! How can I help you today?") in told
    assert not [
        said for _, said in told if "session_context" in (said or "") or "Function Response" in (said or "")
    ]


def test_what_we_recorded_ourselves_is_not_recorded_twice() -> None:
    played = load(recorded=True)
    ended(played)
    assert [e.get("text") for e in played.record] == ["Go on."]


def test_an_agent_that_can_only_resume_does_so_and_one_that_cannot_says_so() -> None:
    wish = StartOptions(CWD, "Go on.", resume=SESSION)
    can: dict[str, Any] = {"agentCapabilities": {"sessionCapabilities": {"resume": {}}}}
    played = begun(OTHER, wish, init=can)
    assert played.last("session/resume")["params"]["sessionId"] == SESSION
    assert played.written[-1]["method"] == "session/prompt"
    assert "cannot go on with an earlier session" in begun(OTHER, wish).spokes[0].gives_up


# --- permissions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 3, "0", "f8f483ad-ac6c-4dec-95b1-61dcb56484b2"])
def test_an_answer_goes_to_the_request_it_answers(number: Any) -> None:
    """3 is also the number of an instruction of ours that waits for its reply."""
    played = working()
    other = raises(played.hear(asks("other", "c0")))
    prompt = raises(played.hear(asks(number)))
    (line,) = played.answer(prompt, {"decision": "once"})
    assert line == {
        "jsonrpc": "2.0",
        "id": number,
        "result": {"outcome": {"outcome": "selected", "optionId": "once"}},
    }
    played.hear(update("tool_call_update", toolCallId="c1", status="in_progress"))
    assert played.seen[prompt.id].state == "accepted"
    played.hear(update("tool_call_update", toolCallId="c1", status="completed"))
    assert (played.seen[prompt.id].state, played.seen[prompt.id].outcome) == ("confirmed", "allowed")
    assert played.seen[other.id].state == "open"


def test_two_requests_with_one_number_are_two_prompts() -> None:
    played = working()
    first = raises(played.hear(asks(0, "c1")))
    played.answer(first, {"decision": "no"})
    second = raises(played.hear(asks(0, "c2")))
    assert first.id != second.id
    assert isinstance(
        played.talk.answer(first, Answer("x", "b", "t", {"decision": ("once",)}), played.bodies[first.request]),
        Refused,
    )


def test_options_of_one_kind_are_told_apart_by_their_own_ids() -> None:
    played = play("qwen-drive", QWEN)
    prompt = next(p for p in played.asks if p.title == "touch a.txt")
    always = [o for o in prompt.questions[0].options if o.effect == "allow_always"]
    assert [(o.id, o.label) for o in always] == [
        ("proceed_always_project", "Always Allow in project: touch *"),
        ("proceed_always_user", "Always Allow for user: touch *"),
    ]


def test_an_id_that_is_no_word_is_sent_as_it_came() -> None:
    odd = [
        {"optionId": "say \"yes\"\n", "name": "Yes", "kind": "allow_once"},
        {"optionId": "stop", "name": "Sure, go on", "kind": "allow_always"},
        {"optionId": "x", "name": "", "kind": "from_the_future"},
    ]  # fmt: skip
    played = working()
    prompt = raises(played.hear(asks(options=odd)))
    (question,) = prompt.questions
    assert [(o.id, o.effect) for o in question.options] == [
        ("o1", "allow_once"),
        ("o2", "allow_always"),
        ("x", "allow_always"),
        ("stop", "stop"),
    ]
    (line,) = played.answer(prompt, {"decision": "o1"})
    assert line["result"]["outcome"]["optionId"] == 'say "yes"\n'


def test_a_name_that_we_give_an_option_is_no_other_options_own() -> None:
    """Two of one name could be chosen by nobody, and there is no desk."""
    odd = [
        {"optionId": "o2", "name": "No", "kind": "reject_once"},
        {"optionId": "once, please", "name": "Yes", "kind": "allow_once"},
        {"optionId": "o2x", "name": "Always", "kind": "allow_always"},
    ]
    for number, wanted in enumerate(odd):
        played = working()
        prompt = raises(played.hear(asks(options=odd)))
        (option,) = [o for o in prompt.questions[0].options if o.label == wanted["name"]]
        (line,) = played.answer(prompt, {"decision": option.id})
        assert line["result"]["outcome"]["optionId"] == odd[number]["optionId"]


@pytest.mark.parametrize(
    ("kinds", "offered"),
    [
        (("reject_once", "allow_once"), ["allow_once"]),
        (("allow_once", "allow_always"), ["allow_always"]),
        (("allow_once", "from_the_future"), ["allow_always"]),
        (("reject_once", "reject_once"), ["deny"]),
    ],
)
def test_of_options_with_one_id_only_the_most_that_it_could_mean_is_offered(
    kinds: tuple[str, ...], offered: list[str]
) -> None:
    """A no that is spelt like a yes would be taken for one, and `once` for `always`."""
    played = working()
    alike = [{"optionId": "same", "name": kind, "kind": kind} for kind in kinds]
    prompt = raises(played.hear(asks(options=alike)))
    assert [o.effect for o in prompt.questions[0].options] == [*offered, "stop"]
    if offered != ["deny"]:
        (line,) = played.answer(prompt, {"decision": prompt.questions[0].options[0].id})
        assert line["result"]["outcome"]["optionId"] == "same"


@pytest.mark.parametrize(
    "goes_on", [text("Then not."), asks(1, "c2"), {"id": 3, "result": {"stopReason": "end_turn"}}]
)
def test_a_refusal_is_confirmed_when_the_agent_goes_on_though_it_never_speaks_of_it(
    goes_on: dict[str, Any],
) -> None:
    played = working()
    prompt = raises(played.hear(asks()))
    played.answer(prompt, {"decision": "no"})
    assert played.seen[prompt.id].state == "sent"
    played.hear(goes_on)
    assert (played.seen[prompt.id].state, played.seen[prompt.id].outcome) == ("confirmed", "denied")
    ended(played)
    assert (played.seen[prompt.id].state, played.seen[prompt.id].outcome) == ("confirmed", "denied")
    assert [e["detail"] for e in played.record if e.get("call_id") == "c1"] == ["", "refused"]


def test_a_yes_that_nobody_speaks_of_again_is_unsure() -> None:
    played = working()
    prompt = raises(played.hear(asks()))
    played.answer(prompt, {"decision": "once"})
    ended(played)
    assert played.seen[prompt.id].state == "unsure"


def test_what_is_not_answered_ends_with_its_turn_and_the_agent_is_told() -> None:
    played = working()
    prompt = raises(played.hear(asks(9)))
    ended(played)
    assert played.seen[prompt.id].state == "ended"
    assert played.written[-1] == {"jsonrpc": "2.0", "id": 9, "result": {"outcome": {"outcome": "cancelled"}}}
    assert played.open.kind == "ready"


def test_a_request_that_is_taken_back_is_over() -> None:
    played = working()
    prompt = raises(played.hear(asks("r1")))
    played.hear({"method": "$/cancel_request", "params": {"requestId": "r1"}})
    assert played.seen[prompt.id].state == "ended"


def test_deny_and_stop_cancels_the_turn_and_all_that_is_asked_in_it() -> None:
    played = working()
    other = raises(played.hear(asks(1, "c1")))
    prompt = raises(played.hear(asks(2, "c2")))
    written = played.answer(prompt, {"decision": "stop"})
    cancelled = {"outcome": {"outcome": "cancelled"}}
    assert [(m.get("id"), m.get("method"), m.get("result")) for m in written] == [
        (2, None, cancelled),
        (None, "session/cancel", None),
        (1, None, cancelled),
    ]
    ended(played, "cancelled")
    assert (played.seen[prompt.id].state, played.seen[prompt.id].outcome) == ("confirmed", "stopped")
    assert played.seen[other.id].state == "ended"
    assert played.open.body == "The turn was stopped."


def test_an_interrupt_is_granted_when_the_turn_is_over() -> None:
    played = working()
    prompt = raises(played.hear(asks(1)))
    wished = played.talk.ask("interrupt", "")
    assert isinstance(wished, tuple)
    told = [json.loads(line) for line in wished[1].splitlines()]
    assert [m.get("method") or m["result"]["outcome"]["outcome"] for m in told] == ["session/cancel", "cancelled"]
    assert isinstance(played.talk.ask("interrupt", ""), Refused)
    late = Answer("x", "b", "t", {"decision": ("once",)})
    assert isinstance(played.talk.answer(prompt, late, played.bodies[prompt.request]), Refused)
    spoke = played.hear({"id": 3, "error": {"code": -32603, "message": "aborted"}})
    assert spoke.done is not None
    assert (spoke.done.request_id, spoke.done.error) == (wished[0], "")
    assert played.seen[prompt.id].state == "ended"
    assert (played.open.kind, played.open.body) == ("ready", "The turn was stopped.")


def test_a_wish_to_stop_between_two_turns_does_not_hang_over_the_next_one() -> None:
    """After a problem nothing runs that could be stopped; the next turn can be, and its error is told."""
    played = working()
    ended(played, "max_tokens")
    assert isinstance(played.talk.ask("interrupt", ""), Refused)
    played.say("Go on.")
    assert isinstance(played.talk.ask("interrupt", ""), tuple)
    played = working()
    ended(played, "max_tokens")
    played.talk.ask("interrupt", "")
    played.say("Go on.")
    played.hear({"id": played.last("session/prompt")["id"], "error": {"code": -32603, "message": "No credit"}})
    assert (played.open.kind, played.open.title) == ("problem", "No credit")


def test_to_deny_and_stop_between_two_turns_does_not_hang_over_the_next_one() -> None:
    """A sub-agent may ask when the turn is over."""
    played = working()
    ended(played)
    prompt = raises(played.hear(asks(1, session="another")))
    played.answer(prompt, {"decision": "stop"})
    assert played.talk.ask("interrupt", "") == Refused("It rests: there is no turn to stop.")
    line = played.talk.say("Go on.", False)
    assert isinstance(line, bytes)
    assert isinstance(played.talk.ask("interrupt", ""), tuple)


def test_a_call_that_cannot_be_read_is_asked_for_all_the_same() -> None:
    played = working()
    prompt = raises(played.hear(asks(tool={"title": 7, "content": "?"})))
    assert prompt.title == "A call that yourcall cannot read"
    assert '"title":7' in prompt.body


def test_half_a_letter_hides_no_request() -> None:
    played = working()
    line = json.dumps(asks()).replace("touch x", "touch \\ud83d").encode()
    assert raises(played.hear_line(line)).title == "touch ?"


def test_a_sub_agents_request_is_one_for_the_person_too() -> None:
    played = working()
    prompt = raises(played.hear(asks(1, "c1", session="another")))
    assert (prompt.subagent, prompt.session_id) == ("sub-agent", SESSION)
    played.answer(prompt, {"decision": "once"})
    played.hear(update("tool_call_update", "another", toolCallId="c1", status="completed"))
    assert played.seen[prompt.id].state == "confirmed"


def test_a_rule_is_not_told_a_command_that_runs_elsewhere() -> None:
    raw = {"command": "touch x", "directory": "sub"}
    played = working(QWEN)
    prompt = raises(played.hear(asks(tool={"rawInput": raw})))
    assert action_of(QWEN, played.bodies[prompt.request]) == Action("Bash")
    raw = {"command": "touch x", "dangerouslyDisableSandbox": True}
    played = working(CLAUDE)
    prompt = raises(played.hear(asks(tool={"rawInput": raw})))
    assert action_of(CLAUDE, played.bodies[prompt.request]) == Action(
        "Bash", "command", command="touch x", unboxed=True, any_shell=True
    )
    # An agent that nobody has looked at is not believed about anything.
    played = working()
    prompt = raises(played.hear(asks(tool={"rawInput": raw})))
    assert action_of(OTHER, played.bodies[prompt.request]) == Action("Bash")


# --- forms ----------------------------------------------------------------------------------------------------


def form(number: Any = 5, **params: Any) -> dict[str, Any]:
    told = {"sessionId": SESSION, "mode": "form", "message": "Fill it in.", **params}
    return {"id": number, "method": "elicitation/create", "params": told}


def test_a_servers_form_is_filled_in_with_typed_values() -> None:
    schema = {
        "type": "object",
        "properties": {"port": {"type": "integer"}, "tls": {"type": "boolean"}, "note": {"type": "string"}},
        "required": ["port"],
    }
    played = working()
    prompt = raises(played.hear(form(requestedSchema=schema)))
    assert prompt.kind == "elicitation"
    (line,) = played.answer(prompt, {"tls": "o1", "action": "accept"}, {"port": "8080"})
    assert line["result"] == {"action": "accept", "content": {"port": 8080, "tls": True}}
    played.hear(text("Thanks."))
    assert (played.seen[prompt.id].state, played.seen[prompt.id].outcome) == ("confirmed", "allowed")


def test_a_form_that_cannot_be_asked_for_can_be_declined() -> None:
    played = working()
    prompt = raises(played.hear(form(requestedSchema={"properties": {"x": {"type": "object"}}})))
    assert [o.id for o in prompt.questions[0].options] == ["decline", "cancel"]
    (line,) = played.answer(prompt, {"action": "decline"})
    assert line["result"] == {"action": "decline"}


def test_an_address_is_shown_and_its_end_is_heard() -> None:
    played = working()
    prompt = raises(played.hear(form(mode="url", url="https://example.test/x", elicitationId="e1")))
    assert "https://example.test/x" in prompt.body
    played.hear({"method": "elicitation/complete", "params": {"elicitationId": "e1"}})
    assert played.seen[prompt.id].state == "ended"


def test_own_words_beside_several_choices_keep_them() -> None:
    """The agent takes the words and drops the choices: so the words say both."""
    choices = {"anyOf": [{"const": "A", "title": "A"}, {"const": "B", "title": "B"}]}
    schema = {
        "properties": {"question_0": {"type": "array", "items": choices}, "question_0_custom": {"type": "string"}}
    }
    played = working()
    prompt = raises(played.hear(form(requestedSchema=schema, toolCallId="c1")))
    assert prompt.kind == "question"
    (line,) = played.answer(prompt, {"question_0": "o2"}, {"question_0": "and mine"})
    assert line["result"]["content"] == {"question_0_custom": "B, and mine"}
    played.hear(update("tool_call_update", toolCallId="c1", status="completed"))
    assert played.seen[prompt.id].state == "confirmed"


# --- turns ----------------------------------------------------------------------------------------------------


def test_a_second_instruction_would_end_the_first_so_it_waits() -> None:
    played = working(GEMINI)
    refused = played.talk.say("More.", False)
    assert isinstance(refused, Refused)
    assert "one instruction at a time" in refused.reason
    played = working(CLAUDE)
    assert isinstance(played.talk.say("More.", False), bytes)
    first, second = played.last("session/prompt")["id"], played.talk._peer.count
    played.hear({"id": first, "result": {"stopReason": "end_turn"}})
    assert all(p.state != "open" for p in played.seen.values())
    played.hear({"id": second, "result": {"stopReason": "end_turn"}})
    assert played.open.kind == "ready"


@pytest.mark.parametrize("words", ["/memory show", "  /memory show", "$init"])
def test_a_text_is_no_command_unless_it_is_meant_as_one(words: str) -> None:
    said = begun(GEMINI).say(words)["params"]["prompt"][0]["text"]
    assert not said.strip().startswith(("/", "$"))
    assert said.endswith(words)
    line = begun(GEMINI).talk.say(words, True)
    assert isinstance(line, bytes)
    assert json.loads(line)["params"]["prompt"][0]["text"] == words


@pytest.mark.parametrize(
    ("reason", "kind", "words"),
    [
        ("end_turn", "ready", "Ready for the next instruction"),
        ("max_tokens", "problem", "cut off"),
        ("max_turn_requests", "problem", "circles"),
        ("refusal", "problem", "refused"),
        ("from_the_future", "ready", "Ready for the next instruction"),
    ],
)
def test_why_a_turn_ended_is_said(reason: str, kind: str, words: str) -> None:
    played = working()
    ended(played, reason)
    assert played.open.kind == kind
    assert words in played.open.title


def test_a_plan_and_thoughts_are_part_of_the_conversation() -> None:
    played = working()
    played.hear(update("agent_thought_chunk", content={"type": "text", "text": "Hm."}))
    assert played.talk.speaking.thinking == "Hm."
    steps = [{"content": "Look", "status": "completed"}, {"content": "Do", "status": "pending"}]
    played.hear(update("plan", entries=steps))
    played.hear(text("One "))
    played.hear(text("message."))
    assert played.talk.speaking.text == "One message."
    ended(played)
    assert [(e["type"], e["text"]) for e in played.record] == [
        ("user", "Do it."),
        ("thinking", "Hm."),
        ("notice", "Plan:\n[x] Look\n[ ] Do"),
        ("assistant", "One message."),
    ]


# --- anything at all ------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
METHODS = st.sampled_from(
    ["session/update", "session/request_permission", "elicitation/create", "$/cancel_request", "fs/read", "x"]
)
KINDS = st.sampled_from(
    ["tool_call", "tool_call_update", "agent_message_chunk", "plan", "config_option_update", "x"]
)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_mean_nothing(line: bytes) -> None:
    played = working()
    spoke = played.talk.hear(line, 2000.0)
    assert not spoke.events or line.strip().startswith(b"{")


@given(METHODS, KINDS, JSON, JSON, st.none() | st.integers() | st.text(max_size=5))
def test_no_message_is_too_odd(method: str, kind: str, one: Any, two: Any, number: Any) -> None:
    played = working()
    told = {
        "sessionUpdate": kind,
        "toolCallId": "c",
        "content": one,
        "rawInput": two,
        "entries": one,
        "configOptions": two,
    }
    params = {
        "sessionId": SESSION,
        "update": told,
        "toolCall": one,
        "options": two,
        "requestedSchema": one,
        "message": two,
    }
    for message in (
        {"id": number, "method": method, "params": params},
        {"id": 3, "result": one},
        {"id": 3, "error": two},
    ):
        played.hear(message)
    assert played.talk.session_id == SESSION
