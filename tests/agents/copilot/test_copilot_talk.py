"""The conversation with the extension: requests as prompts, answers by id, and who was first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.assess import assessed
from yourcall.agents.copilot.discover import runs
from yourcall.agents.copilot.live.conversation import CopilotConversation
from yourcall.agents.copilot.requests import action_of
from yourcall.agents.copilot.transcript import read_entry, read_line
from yourcall.agents.session_spec import Output, PluginGreeting
from yourcall.agents.sightings import Caller
from yourcall.core import safety
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.model.events import AnswerGiven, AnswerWritten, AnyEvent, CallSettled, PromptRaised, SessionSeen
from yourcall.model.prompts import Answer, Option, Prompt, Question, Refused

DATA = Path(__file__).parents[2] / "data" / "copilot"
REQUESTS: dict[str, dict[str, Any]] = json.loads((DATA / "requests.json").read_text())
ABOUT = {"session": "s1", "cli": 42, "cwd": "/p", "folder": "/h/s1", "pane": "%1", "tmux": "/t/s,1,0"}
MCP = {"kind": "mcp", "serverName": "demo", "toolName": "deploy", "toolTitle": "deploy", "args": {"force": True}}
URL = {"kind": "url", "url": "https://example.com/x", "intention": "Fetch"}
MOVED = {
    "kind": "write",
    "fileName": "/p/a.py",
    "diff": "(both)",
    "fileEdits": [
        {"before": {"path": "/p/a.py", "content": "a"}, "after": {"path": "/p/b.py", "content": "b"}},
        {"after": {"path": "/p/new.py", "content": "n"}},
    ],
}
PLAN = {
    "type": "exit_plan_mode.requested",
    "data": {"requestId": "p1", "summary": "# Plan", "actions": ["autopilot", "interactive", "exit_only"]},
}
MADE = {
    "mcp": {"type": "permission.requested", "data": {"requestId": "m1", "promptRequest": MCP}},
    "url": {"type": "permission.requested", "data": {"requestId": "u1", "promptRequest": URL}},
    "files": {"type": "permission.requested", "data": {"requestId": "f1", "promptRequest": MOVED}},
    "plan": PLAN,
}
EVERY = {**REQUESTS, **MADE}


def joined(rights: str = "granted", **state: Any) -> tuple[CopilotConversation, Output]:
    talk = CopilotConversation(PluginGreeting((Caller(43, "b"), Caller(42, "a")), json.dumps(ABOUT).encode()))
    return talk, talk.hear(told(type="state", rights=rights, **state), 1.0)


def told(**message: Any) -> bytes:
    return json.dumps(message).encode()


def event(event: dict[str, Any]) -> bytes:
    return told(type="event", event=event)


def completed(request: str, kind: str) -> bytes:
    data = {"requestId": request, "result": {"kind": kind}}
    return event({"type": "permission.completed", "id": "e", "data": data})


def prompt_of(output: Output) -> Prompt:
    (prompt,) = [each.prompt for each in output.events if isinstance(each, PromptRaised)]
    return prompt


def taken(state: State, events: tuple[AnyEvent, ...]) -> None:
    for each in events:
        state.take(step(state, each))


def test_the_process_is_believed_only_if_the_kernel_names_it() -> None:
    _, output = joined()
    (seen,) = [each for each in output.events if isinstance(each, SessionSeen)]
    assert (seen.session.pid, seen.session.transcript) == (42, "/h/s1/events.jsonl")
    assert [(link.kind, link.target) for link in seen.session.links] == [("plugin", ""), ("tmux", "%1")]
    stranger = CopilotConversation(PluginGreeting((Caller(43, "b"),), json.dumps(ABOUT).encode()))
    (seen,) = [each for each in stranger.hear(told(type="state"), 1.0).events if isinstance(each, SessionSeen)]
    assert seen.session.pid == 0


@pytest.mark.parametrize("session", ["", "../x", "a b", "x" * 129])
def test_a_session_without_a_plain_name_is_not_heard(session: str) -> None:
    with pytest.raises(ValueError):
        CopilotConversation(PluginGreeting((), json.dumps({"session": session}).encode()))


def test_a_record_elsewhere_is_not_believed() -> None:
    odd = {**ABOUT, "folder": "/etc"}
    output = CopilotConversation(PluginGreeting((), json.dumps(odd).encode())).hear(told(type="state"), 1.0)
    (seen,) = [each for each in output.events if isinstance(each, SessionSeen)]
    assert seen.session.transcript == ""


RUNS = [
    (["/usr/bin/copilot"], True),
    (["copilot", "--continue"], True),
    (["copilot", "copilot", "/h/preloads/extension_bootstrap.mjs"], False),
    (["copilot", "-p", "do it"], False),
    (["copilot", "--acp"], False),
    (["node", "/usr/bin/copilot"], False),
    ([], False),
]


@pytest.mark.parametrize(("argv", "is_session"), RUNS)
def test_a_process_is_a_session_only_with_a_conversation_in_its_terminal(
    argv: list[str], is_session: bool
) -> None:
    assert runs(argv) is is_session


@pytest.mark.parametrize("name", EVERY)
def test_every_option_has_a_reply_that_does_what_it_says(name: str) -> None:
    talk, _ = joined()
    output = talk.hear(event(EVERY[name]), 2.0)
    prompt = prompt_of(output)
    body = output.bodies[prompt.request]
    assert prompt.title
    assert prompt.answerable
    assert prompt.questions
    for question in prompt.questions:
        for option in question.options:
            answer = whole(prompt, question, option)
            assert safety.objection(prompt, answer) is None
            messages = talk.answer(prompt, answer, body)
            assert isinstance(messages, list), messages
            (message,) = map(json.loads, messages)
            assert message["request"] == EVERY[name]["data"]["requestId"]
            result = message["result"]
            refuses = option.effect == "deny" or (option.effect == "stop" and prompt.kind == "permission")
            if prompt.kind == "permission":
                assert (result["kind"] == "reject") == refuses
                assert (result["kind"] == "approve-once") == (option.effect == "allow_once")
            if prompt.kind == "plan":
                assert result["approved"] != refuses
    odd = Answer("a", "somebody", "test", {prompt.questions[0].id: ("nonsense",)})
    assert safety.objection(prompt, odd) is not None


def whole(prompt: Prompt, question: Question, option: Option) -> Answer:
    others = {q.id: (q.options[0].id,) for q in prompt.questions if q.id != question.id and q.options}
    return Answer("a1", "somebody", "test", {**others, question.id: (option.id,)})


def test_the_least_that_a_yes_to_a_plan_allows_comes_first() -> None:
    talk, _ = joined()
    (question,) = prompt_of(talk.hear(event(PLAN), 2.0)).questions
    assert [option.id for option in question.options] == ["approve", "autopilot", "exit", "revise"]


ORDERS = [
    pytest.param(True, ["done", "completed"], "allowed", "confirmed", id="ours"),
    pytest.param(True, ["completed", "done"], "allowed", "confirmed", id="ours, told late"),
    pytest.param(False, ["done", "completed"], "allowed", "desk", id="theirs, alike"),
    pytest.param(False, ["completed", "done"], "allowed", "desk", id="theirs, alike, told early"),
    pytest.param(False, ["completed", "done"], "denied", "desk", id="theirs, otherwise"),
]


@pytest.mark.parametrize(("success", "order", "outcome", "ends"), ORDERS)
def test_the_first_answer_wins_and_only_copilot_says_whose_it_was(
    success: bool, order: list[str], outcome: str, ends: str
) -> None:
    """Whatever the order in which its reply and the end of the request arrive, also when both said the same."""
    talk, first = joined()
    state = State()
    taken(state, first.events)
    output = talk.hear(event(REQUESTS["shell"]), 2.0)
    taken(state, output.events)
    prompt, request = prompt_of(output), REQUESTS["shell"]["data"]["requestId"]
    answer = Answer("a1", "somebody", "test", {"decision": ("allow",)})
    taken(state, (AnswerGiven(3.0, prompt.id, answer),))
    assert isinstance(talk.answer(prompt, answer, output.bodies[prompt.request]), list)
    taken(state, (AnswerWritten(3.1, prompt.id, "a1"),))
    lines = {
        "done": told(type="done", id="a1", verb="permission", request=request, success=success),
        "completed": completed(request, "approved" if outcome == "allowed" else "denied-interactively-by-user"),
    }
    last: tuple[AnyEvent, ...] = ()
    for name in order:
        last = talk.hear(lines[name], 4.0).events
        taken(state, last)
    (settled,) = [each for each in last if isinstance(each, CallSettled)]
    assert settled.source == ("held" if ends == "confirmed" else "desk")
    closed = state.prompts.get(prompt.id)
    assert closed is None or (closed.state, closed.outcome) == (ends, outcome)
    assert talk.hear(lines["completed"], 5.0).events == ()


def test_an_answer_that_copilot_refuses_opens_the_request_again() -> None:
    talk, first = joined()
    state = State()
    taken(state, first.events)
    output = talk.hear(event(REQUESTS["shell"]), 2.0)
    taken(state, output.events)
    prompt, request = prompt_of(output), REQUESTS["shell"]["data"]["requestId"]
    answer = Answer("a1", "somebody", "test", {"decision": ("allow",)})
    taken(state, (AnswerGiven(3.0, prompt.id, answer),))
    talk.answer(prompt, answer, output.bodies[prompt.request])
    taken(state, (AnswerWritten(3.1, prompt.id, "a1"),))
    failed = talk.hear(told(type="done", id="a1", request=request, success=False, error="not approved"), 4.0)
    taken(state, failed.events)
    assert state.prompts[prompt.id].state == "open"


def test_without_rights_a_permission_is_shown_and_with_them_it_can_be_answered() -> None:
    talk, first = joined("asked")
    state = State()
    taken(state, first.events)
    output = talk.hear(event(REQUESTS["shell"]), 2.0)
    taken(state, output.events)
    prompt = prompt_of(output)
    assert (prompt.answerable, prompt.questions) == (False, ())
    assert prompt_of(talk.hear(event(REQUESTS["ask"]), 2.5)).answerable
    assert talk.hear(told(type="rights", rights="refused"), 2.6).events == ()
    taken(state, talk.hear(told(type="rights", rights="granted"), 3.0).events)
    now = state.prompts[prompt.id]
    assert now.answerable
    assert {option.id for option in now.questions[0].options} == {"allow", "session", "deny", "stop"}


def test_what_is_told_again_is_the_same_prompt_and_what_ended_meanwhile_is_told() -> None:
    talk, _ = joined()
    first = prompt_of(talk.hear(event(REQUESTS["shell"]), 2.0))
    again, output = joined(open=[REQUESTS["shell"]])
    assert prompt_of(output).id == first.id
    end = {"type": "permission.completed", "data": {"requestId": first.call_id, "result": {"kind": "approved"}}}
    for ours, source in ((True, "held"), (False, "desk")):
        _, output = joined(ended=[{**end, "ours": ours}])
        (settled,) = [each for each in output.events if isinstance(each, CallSettled)]
        assert (settled.prompt_id, settled.outcome, settled.source) == (first.id, "allowed", source)
    assert again.hear(event(REQUESTS["shell"]), 3.0).events  # told once more, it is only told again


def test_an_instruction_is_ours_only_if_it_is_our_text() -> None:
    for text, source in (("go on", "held"), ("something else", "desk")):
        talk, _ = joined()
        pause = prompt_of(talk.hear(event({"type": "session.idle", "id": "i1", "data": {}, "last": "Done."}), 2.0))
        assert (pause.kind, pause.body) == ("ready", "Done.")
        messages = talk.answer(pause, Answer("a1", "me", "test", texts={"next": "go on"}), b"")
        assert isinstance(messages, list)
        assert json.loads(messages[0]) == {
            "verb": "say",
            "id": "a1",
            "request": "",
            "result": None,
            "text": "go on",
        }
        heard = talk.hear(event({"type": "user.message", "id": "u", "data": {"content": text}}), 3.0)
        (settled,) = [each for each in heard.events if isinstance(each, CallSettled)]
        assert settled.source == source


def test_what_asks_for_more_than_it_shows_is_answered_by_no_rule_for_commands() -> None:
    talk, _ = joined()
    kinds: dict[str, str] = {}
    for name, each in EVERY.items():
        output = talk.hear(event(each), 2.0)
        action = action_of(output.bodies[prompt_of(output).request])
        kinds[name] = action.kind if action else ""
    assert kinds["shell"] == "command"
    assert kinds["create"] == "write"
    assert kinds["mcp"] == "mcp"
    assert kinds["files"] == "write"
    assert (kinds["shell-path"], kinds["url"]) == ("other", "other")
    assert (kinds["ask"], kinds["plan"]) == ("", "")


def test_every_file_of_a_change_is_told() -> None:
    talk, _ = joined()
    output = talk.hear(event(EVERY["files"]), 2.0)
    body = output.bodies[prompt_of(output).request]
    action = action_of(body)
    assert action is not None
    assert action.paths == ("/p/a.py", "/p/b.py", "/p/new.py")
    assert action.deletes == ("/p/a.py",)
    view = assessed(prompt_of(output), body).action
    assert view is not None
    assert [(change.path, change.old, change.new) for change in view.changes] == [
        ("/p/b.py", "a", "b"),
        ("/p/new.py", "", "n"),
    ]


def test_rights_of_extensions_are_never_a_prompt_of_ours() -> None:
    for kind in ("extension-permission-access", "extension-env-access", "extension-management"):
        talk, _ = joined()
        data = {"requestId": "x", "promptRequest": {"kind": kind, "extensionName": "user:yourcall"}}
        assert talk.hear(event({"type": "permission.requested", "data": data}), 2.0).events == ()
    talk, _ = joined()
    data = {"requestId": "x", "promptRequest": {"kind": "of a later version"}}
    strange = prompt_of(talk.hear(event({"type": "permission.requested", "data": data}), 2.0))
    assert (strange.questions, strange.answerable) == ((), False)


@given(
    st.binary(max_size=200)
    | st.dictionaries(st.text(max_size=8), st.text(max_size=8)).map(json.dumps).map(str.encode)
)
def test_junk_changes_nothing(data: bytes) -> None:
    talk, _ = joined()
    assert talk.hear(data, 2.0).events == ()
    assert read_line(data) == []
    assert read_entry(data) == []


def test_words_of_the_model_that_look_like_a_record_are_words() -> None:
    fake = json.dumps({"type": "permission.completed", "data": {"requestId": "r", "result": {"kind": "approved"}}})
    line = json.dumps({"type": "assistant.message", "data": {"content": fake}}).encode()
    assert read_line(line) == []
    (entry,) = read_entry(line)
    assert entry.text == fake  # type: ignore[union-attr]


def test_a_refusal_of_the_talk_is_a_sentence() -> None:
    talk, _ = joined()
    output = talk.hear(event(REQUESTS["shell"]), 2.0)
    prompt = prompt_of(output)
    both = Answer("a1", "me", "test", {"decision": ("allow",)}, {"decision": "but carefully"})
    assert isinstance(talk.answer(prompt, both, output.bodies[prompt.request]), Refused)
    edited = Answer("a1", "me", "test", {"decision": ("allow",)}, input='{"command": "ls"}')
    assert isinstance(talk.answer(prompt, edited, output.bodies[prompt.request]), Refused)
    assert isinstance(talk.answer(prompt, Answer("a1", "me", "test"), b"junk"), Refused)
