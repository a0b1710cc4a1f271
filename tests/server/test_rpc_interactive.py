"""The second contract: InteractivePrompt and PromptResponse, by a client that knows only those two types."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from msgspec.structs import replace
from server_house import House, heard
from websockets.sync.client import connect as websocket

from yourcall.model.events import AnyCommand, Deliver, DialogClosed, PromptRaised
from yourcall.model.prompts import Kind, Option, Prompt, Question, Tool
from yourcall.server.contracts.interactive import convert

FIELDS = {
    "requestId",
    "type",
    "title",
    "description",
    "toolName",
    "toolInput",
    "options",
    "textInput",
    "multiSelect",
}
YES = Option("approve", "Approve", "allow_once")
NO = Option("keep", "Keep planning", "deny")
OUTLINE = Option("outline", "Outline first", "deny")
COLOUR = Question("colour", "Which colour?", (Option("r", "Red", "choose"), Option("b", "Blue", "choose")))
NAME = Question("name", "What name?", free_text=True)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody hands the answers on in this house: there is nothing to wait for."""
    monkeypatch.setattr(convert, "SAID_S", 0.05)


def feed(house: House) -> Any:
    url = f"ws://{house.host}/api/interactive"
    headers = {"Authorization": f"Bearer {house.token()}"}
    return websocket(url, additional_headers=headers, proxy=None, open_timeout=60)


def raised(house: House, id: str, kind: Kind, *questions: Question, tool: str = "") -> None:
    named = Tool(tool) if tool else None
    prompt = Prompt(
        id,
        kind,
        "gemini",
        "s1",
        "/p",
        "Title",
        time.time(),
        body="Body",
        tool=named,
        questions=questions,
        answerable=True,
    )
    house.post(PromptRaised(prompt.opened_at, prompt))


def delivered(house: House) -> list[Deliver]:
    commands: list[AnyCommand] = house.commands
    return [command for command in commands if isinstance(command, Deliver)]


def test_a_permission_is_told_answered_and_resolved(house: House) -> None:
    house.session()
    house.ask("p1")
    with feed(house) as talk:
        told = heard(talk)
        assert (told["type"], told["requestId"], told["sessionId"]) == ("interactive-prompt", "p1", "s1")
        assert told["promptType"] == "permission"
        prompt = told["prompt"]
        assert set(prompt) <= FIELDS
        assert (prompt["type"], prompt["toolName"], prompt["toolInput"]) == (
            "permission", "Bash", {"command": "ls -la"},
        )  # fmt: skip
        assert prompt["options"][0] == {"value": "allow", "label": "Yes"}
        assert "placeholder" in prompt["textInput"]
        assert {name: told[name] for name in prompt if name != "type"} == {
            name: value for name, value in prompt.items() if name != "type"
        }
        talk.send(json.dumps({"requestId": "p1", "selectedOption": "deny", "textValue": "Not now."}))
        said = [heard(talk)]
        house.written("p1")
        house.settled("p1")
        while said[-1]["type"] != "prompt-response":
            said.append(heard(talk))
    resolved = [each for each in said if each["type"] == "interactive-prompt-resolved"]
    assert resolved[0]["requestId"] == "p1"
    (command,) = delivered(house)
    assert (command.prompt_id, command.answer.choices, command.answer.texts) == (
        "p1", {"permission": ("deny",)}, {"permission": "Not now."},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "type"),
    [
        ("trust", "permission"),
        ("startup", "permission"),
        ("permission", "permission"),
        ("plan", "plan"),
        ("question", "question"),
        ("elicitation", "question"),
        ("ready", "question"),
        ("loop", "loop-detected"),
    ],
)
def test_every_kind_has_its_type(house: House, kind: Kind, type: str) -> None:
    raised(house, "p1", kind, Question("q", "Well?", (YES, NO)))
    with house.http(house.token()) as client:
        (found,) = client.get("/api/interactive-prompts").json()
    assert (found["type"], found["requestId"]) == (type, "p1")
    assert "toolName" not in found


def test_options_only_text_only_and_both(house: House) -> None:
    raised(house, "a", "question", COLOUR)
    raised(house, "b", "question", NAME)
    raised(house, "c", "plan", Question("plan", "Go?", (YES, NO, OUTLINE), free_text=True))
    with house.http(house.token()) as client:
        found = {each["requestId"]: each for each in client.get("/api/interactive-prompts").json()}
        assert ("options" in found["a"], "textInput" in found["a"]) == (True, False)
        assert ("options" in found["b"], "textInput" in found["b"]) == (False, True)
        assert ("options" in found["c"], "textInput" in found["c"]) == (True, True)
        for response in (
            {"requestId": "a", "selectedOption": "b"},
            {"requestId": "b", "textValue": "Ada"},
            {"requestId": "c", "textValue": "Add tests."},  # feedback instead of an approval
        ):
            reply = client.post("/api/interactive-prompts/respond", json=response)
            assert (reply.status_code, reply.json()["result"]) == (200, "taken")
    given = {command.prompt_id: command.answer for command in delivered(house)}
    assert given["a"].choices == {"colour": ("b",)}
    assert given["b"].texts == {"name": "Ada"}
    assert (given["c"].choices, given["c"].texts) == ({"plan": ("keep",)}, {"plan": "Add tests."})


@pytest.mark.parametrize(
    "picked",
    [{"selectedOption": "r,b"}, {"selectedOption": "Red, Blue"}, {"selectedOptions": ["r", "Blue"]}],
)
def test_where_several_may_be_chosen_several_are_taken(house: House, picked: dict[str, Any]) -> None:
    raised(house, "p1", "question", replace(COLOUR, multi_select=True))
    with house.http(house.token()) as client:
        (found,) = client.get("/api/interactive-prompts").json()
        assert found["multiSelect"] is True
        reply = client.post("/api/interactive-prompts/respond", json={"requestId": "p1", **picked})
        assert (reply.status_code, reply.json()["result"]) == (200, "taken")
    assert delivered(house)[0].answer.choices == {"colour": ("r", "b")}


def test_several_questions_come_one_by_one_and_are_one_answer(house: House) -> None:
    raised(house, "p1", "question", COLOUR, NAME)
    with house.http(house.token("phone")) as phone, house.http(house.token("tablet")) as tablet:
        (first,) = phone.get("/api/interactive-prompts").json()
        assert (first["requestId"], "Which colour?" in first["description"]) == ("p1.1", True)
        assert first["title"] == "Which colour?"
        step = phone.post("/api/interactive-prompts/respond", json={"requestId": "p1.1", "selectedOption": "Red"})
        assert (step.json()["result"], step.json()["next"]["requestId"]) == ("next", "p1.2")
        # Another device's answers are its own: this one has not chosen a colour.
        other = tablet.post("/api/interactive-prompts/respond", json={"requestId": "p1.2", "textValue": "Bob"})
        assert other.json()["next"]["requestId"] == "p1.1"
        assert delivered(house) == []
        phone.post("/api/interactive-prompts/respond", json={"requestId": "p1.2", "textValue": "Ada"})
    (command,) = delivered(house)
    assert (command.answer.choices, command.answer.texts) == ({"colour": ("r",)}, {"name": "Ada"})


def test_what_is_wrong_changes_nothing(house: House) -> None:
    house.session()
    house.ask("p1")
    with house.http(house.token()) as client:
        for response, status in (
            ({"requestId": "p1"}, 422),
            ({"requestId": "p1", "selectedOption": "perhaps"}, 422),
            ({"requestId": "p1", "textValue": "yes"}, 422),
            ({"requestId": "p1.1", "selectedOption": "allow"}, 404),
            ({"requestId": "nosuch", "selectedOption": "allow"}, 404),
            ({"requestId": ""}, 400),
            ([], 400),
        ):
            assert client.post("/api/interactive-prompts/respond", json=response).status_code == status, response
        assert delivered(house) == []
        house.post(DialogClosed(time.time(), "p1", "busy"))
        late = client.post("/api/interactive-prompts/respond", json={"requestId": "p1", "selectedOption": "allow"})
        assert (late.status_code, late.json()["result"]) == (409, "too_late")
    with feed(house) as talk:
        talk.send("{nonsense")
        assert heard(talk)["type"] == "error"
        talk.send(json.dumps({"requestId": "nosuch", "selectedOption": "x"}))
        assert heard(talk) == {
            "type": "error", "requestId": "nosuch", "error": "There is no such request; it may be over.",
        }  # fmt: skip


def test_what_was_answered_to_other_questions_is_not_part_of_the_answer(house: House) -> None:
    """A request that was read from a screen comes to its hook, and asks something else under the same names."""
    prompt = Prompt(
        "p1", "question", "claude", "s1", "/p", "Title", time.time(), questions=(COLOUR, NAME), answerable=True,
        link="screen",
    )  # fmt: skip
    house.post(PromptRaised(prompt.opened_at, prompt))
    with house.http(house.token()) as phone:
        step = phone.post("/api/interactive-prompts/respond", json={"requestId": "p1.1", "selectedOption": "Red"})
        assert step.json()["result"] == "next"
        other = replace(prompt, link="hook", questions=(replace(COLOUR, text="Which colour shall go?"), NAME))
        house.post(PromptRaised(prompt.opened_at, other))
        step = phone.post("/api/interactive-prompts/respond", json={"requestId": "p1.2", "textValue": "Ada"})
        assert (step.json()["result"], step.json()["next"]["requestId"]) == ("next", "p1.1")
        assert delivered(house) == []


def test_every_request_that_was_shown_is_resolved(house: House) -> None:
    raised(house, "p1", "question", COLOUR, NAME)
    with feed(house) as talk:
        assert heard(talk)["requestId"] == "p1.1"
        house.post(DialogClosed(time.time(), "p1", "busy"))
        told = [heard(talk), heard(talk)]
    assert [(each["type"], each["requestId"], each["state"]) for each in told] == [
        ("interactive-prompt-resolved", "p1.1", "desk"),
        ("interactive-prompt-resolved", "p1.2", "desk"),
    ]
