"""What a plugin's process could send: nothing of it raises, and nothing of it answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.opencode.agent import AGENTS
from yourcall.agents.opencode.app import KILO, OPENCODE
from yourcall.agents.opencode.live.connection import PluginConversation
from yourcall.agents.opencode.requests import action_of
from yourcall.agents.registry import AGENTS as ALL
from yourcall.agents.registry import USUAL, joined
from yourcall.agents.session_spec import PluginGreeting
from yourcall.agents.spec import Agent
from yourcall.model.action import Action
from yourcall.model.events import PromptRaised
from yourcall.model.prompts import Answer, Prompt, Refused

SESSION = {"type": "session", "session": "ses_1", "directory": "/p"}


def talk(app: object = OPENCODE) -> PluginConversation:
    found = PluginConversation(app, PluginGreeting((), b"{}", "/records"))  # type: ignore[arg-type]
    found.hear(json.dumps(SESSION).encode(), 1.0)
    return found


def hear(found: PluginConversation, **message: object) -> list[object]:
    return list(found.hear(json.dumps(message).encode(), 2.0).events)


def raised(found: PluginConversation, permission: str, **more: object) -> tuple[Prompt, bytes]:
    request = {"permission": permission, "patterns": ["*"], "always": ["*"], **more}
    output = found.hear(
        json.dumps(
            {"type": "asked", "session": "ses_1", "id": "per_1", "kind": "permission", "request": request}
        ).encode(),
        2.0,
    )
    (event,) = output.events
    assert isinstance(event, PromptRaised)
    return event.prompt, output.bodies[event.prompt.request]


@given(st.binary(max_size=200))
def test_junk_means_nothing(data: bytes) -> None:
    assert talk().hear(data, 2.0).events == ()


@pytest.mark.parametrize("id", ["../../etc/passwd", "a/b", "", "x" * 500])
def test_an_id_that_could_name_a_file_elsewhere_is_not_heard(id: str) -> None:
    found = talk()
    assert hear(found, type="session", session=id, directory="/p") == []
    part = {"type": "text", "id": "p", "text": "x"}
    assert hear(found, type="part", session=id, role="user", part=part) == []


def test_a_session_that_was_not_described_asks_nothing() -> None:
    request = {"permission": "bash"}
    assert hear(talk(), type="asked", session="ses_2", id="per_1", kind="permission", request=request) == []


def test_a_chain_of_sub_agents_without_end_asks_nothing() -> None:
    found = talk()
    for one, other in (("a", "b"), ("b", "a")):
        hear(found, type="session", session=one, parent=other, directory="/p")
    request = {"permission": "bash"}
    assert hear(found, type="asked", session="a", id="per_1", kind="permission", request=request) == []


@pytest.mark.parametrize(
    ("permission", "tool", "fields", "kind"),
    [
        ("external_directory", "bash", {"command": "cat /etc/passwd"}, "other"),
        ("demo_delete", "demo_delete", {"command": "ls"}, "other"),
        ("edit", "apply_patch", {"file_path": "/p/a"}, "other"),
        ("edit", "edit", {"file_path": "a"}, "other"),
        ("read", "read", {"file_path": "/p/.env"}, "read"),
        ("webfetch", "webfetch", {"url": "https://example.org/x"}, "fetch"),
        ("webfetch", "webfetch", {"url": "no address"}, "other"),
        ("bash", "bash", {"command": "ls", "workdir": "elsewhere"}, "other"),
        ("bash", "bash", {}, "other"),
    ],
)
def test_rules_believe_only_what_is_exact(permission: str, tool: str, fields: object, kind: str) -> None:
    kept = {"id": "per_1", "kind": "permission", "permission": permission, "tool_name": tool}
    found = action_of(json.dumps({**kept, "tool_input": fields}).encode())
    assert found is not None
    assert found.kind == kind


def test_a_text_does_not_go_with_a_yes() -> None:
    found = talk()
    prompt, body = raised(found, "bash", metadata={"command": "ls"})
    yes = Answer("a", "me", "test", {"decision": ("once",)}, {"decision": "but carefully"})
    assert isinstance(found.answer(prompt, yes, body), Refused)
    edited = Answer("a", "me", "test", {"decision": ("once",)}, input='{"command": "rm"}')
    assert isinstance(found.answer(prompt, edited, body), Refused)
    assert isinstance(found.answer(prompt, Answer("a", "me", "test"), b"junk"), Refused)


def test_what_always_means_is_said() -> None:
    for app, effect, words in (
        (OPENCODE, "allow_session", "until opencode ends"),
        (KILO, "allow_always", "kilo.json"),
    ):
        prompt, _ = raised(talk(app), "bash", metadata={"command": "ls"})
        wide = next(o for o in prompt.questions[0].options if o.id == "always")
        assert (wide.effect, words in wide.description) == (effect, True)


def test_kilo_gets_no_instruction_while_it_asks_a_question() -> None:
    request = {"questions": [{"question": "Go on?", "options": [{"label": "Yes"}]}]}
    for app, refused in ((OPENCODE, False), (KILO, True)):
        found = talk(app)
        hear(found, type="asked", session="ses_1", id="que_1", kind="question", request=request)
        assert isinstance(found.say("ses_1", "Hello"), Refused) == refused
        hear(found, type="settled", session="ses_1", id="que_1", by="desk", answers=[["Yes"]])
        assert not isinstance(found.say("ses_1", "Hello"), Refused)


# --- one agent, two folders -----------------------------------------------------------------------------------


def test_people_know_one_agent_of_each_name() -> None:
    for mine in AGENTS:
        whole = ALL[mine.name]
        assert whole.plugin is mine.plugin
        assert whole.setup is mine.setup
        assert whole.headless is not None
    assert USUAL == "claude"


def test_requests_and_records_of_both_ways_are_read() -> None:
    whole = ALL["opencode"]
    assert whole.action is not None
    kept = json.dumps({"id": "per_1", "kind": "permission", "permission": "bash", "tool_input": {"command": "ls"}})
    assert whole.action(kept.encode()) == Action("bash", "command", command="ls", any_shell=True)
    call = {"toolCallId": "c", "kind": "execute", "rawInput": {"command": "ls"}}
    params = {"sessionId": "s", "options": [], "toolCall": call}
    over_acp = json.dumps({"method": "session/request_permission", "params": params, "tool_name": "Bash"})
    found = whole.action(over_acp.encode())
    assert found is not None
    assert found.command == "ls"


def test_the_folder_that_connects_comes_first() -> None:
    one = Agent("x", title="Over a protocol", action=lambda _: None)
    other = next(iter(AGENTS))
    assert joined(one, other).title == other.title
    assert joined(other, one).title == other.title
