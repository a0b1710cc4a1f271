"""Several persons over HTTP: roles and projects, two who have to agree, and who asked may not approve."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from server_house import House

from yourcall.model.people import AnswerPolicy, Quorum

RM = json.dumps({"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}).encode()
LS = json.dumps({"tool_name": "Bash", "tool_input": {"command": "ls"}}).encode()


class Somebody:
    """A person with one device."""

    def __init__(self, house: House, name: str, roles: tuple[str, ...], projects: tuple[str, ...] = ()) -> None:
        self.house, self.name = house, name
        with house.local() as cli:
            grants = [{"roles": list(roles), "projects": list(projects)}]
            assert cli.post("/api/people", json={"name": name, "grants": grants}).status_code == 201
            made = cli.post("/api/devices", json={"name": f"{name}'s", "scopes": list(ALL)}).json()
            assert cli.post(f"/api/devices/{made['id']}/person", json={"person": name}).status_code == 200
        self.device, self.token = made["id"], made["token"]

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        with self.house.http(self.token) as page:
            return page.request(method, path, json=body)

    def says(self, prompt: str, option: str = "allow", **more: Any) -> httpx.Response:
        return self.ask("POST", f"/api/prompts/{prompt}/answer", {"option": option, "sure": True, **more})


ALL = ("read", "answer", "steer", "rules", "admin")


def state(house: House, prompt: str) -> str:
    found = house.loop.prompt(prompt)
    assert found is not None
    return found.state


@pytest.fixture
def two(house: House) -> tuple[Somebody, Somebody]:
    house.session("s1")
    house.policy = AnswerPolicy(quorum=(Quorum(("delete",)),))
    return Somebody(house, "anna", ("see", "answer", "rules")), Somebody(house, "ben", ("see", "answer"))


def test_a_device_may_no_more_than_its_person(house: House) -> None:
    house.session("s1")
    for name in ("a", "b", "c"):
        house.ask(name, LS)
    looker = Somebody(house, "lia", ("see",))
    assert looker.ask("GET", "/api/prompts").status_code == 200
    assert looker.says("a").status_code == 403
    assert looker.ask("POST", "/api/pause").status_code == 403
    elsewhere = Somebody(house, "eve", ("see", "answer", "steer"), ("/srv/shop",))
    told = elsewhere.says("a")
    assert told.status_code == 422
    assert "may not answer in /home/user/project" in told.json()["detail"]
    assert elsewhere.ask("POST", "/api/sessions/s1/send", {"text": "go on"}).status_code == 403
    below = Somebody(house, "bob", ("see", "answer"), ("/home/user",))
    assert below.says("a", "always").status_code == 403  # what lasts takes the role `rules`
    assert below.says("a").status_code == 202
    beside = Somebody(house, "mia", ("see", "answer"), ("/home/user/pro",))
    assert beside.says("b").status_code == 422
    # Somebody else's answer is theirs: it is on record who they are.
    answer = house.loop.state.prompts["a"].answer
    assert answer is not None
    assert answer.person == house.devices.person_of(below.device)


def test_one_alone_sees_none_of_it(house: House) -> None:
    house.policy = AnswerPolicy(quorum=(Quorum(("delete",)),), not_by_who_asked=("any",))
    house.session("s1")
    house.ask("ls", LS)
    with house.http(house.token()) as page:
        assert page.post("/api/prompts/ls/answer", json={"option": "allow", "sure": True}).status_code == 202


def test_two_have_to_agree_to_the_very_same(house: House, two: tuple[Somebody, Somebody]) -> None:
    anna, ben = two
    house.ask("rm", RM)
    house.ask("ls", LS)
    assert anna.says("ls").status_code == 202
    first = anna.says("rm")
    assert (first.status_code, first.json()["result"]) == (202, "approved")
    assert "1 of 2" in first.json()["detail"]
    assert anna.says("rm").json()["result"] == "approved"  # still one person
    assert "1 of 2" in ben.ask("GET", "/api/prompts/rm").json()["history"][-1]["detail"]
    other = ben.says("rm", text="and another thing")
    assert other.json()["result"] == "approved"  # to something else: each has said one thing
    assert state(house, "rm") == "open"
    assert ben.says("rm").json()["result"] == "taken"
    answer = house.loop.state.prompts["rm"].answer
    assert answer is not None
    assert answer.others == ("anna's",)
    with house.http(house.token("nobody's")) as page:
        house.ask("rm2", RM)
        told = page.post("/api/prompts/rm2/answer", json={"option": "allow", "sure": True})
        assert told.status_code == 422
        assert "nobody knows who you are" in told.json()["detail"]


def test_a_no_of_one_ends_it_and_a_removed_person_counts_no_more(
    house: House, two: tuple[Somebody, Somebody]
) -> None:
    anna, ben = two
    third = Somebody(house, "cleo", ("see", "answer"))
    for name in ("rm", "rm2", "rm3"):
        house.ask(name, RM)
        assert anna.says(name).json()["result"] == "approved"
    assert ben.says("rm", "deny").json()["result"] == "taken"
    with house.local() as cli:
        told = cli.delete("/api/people/anna").json()
        assert told == {"devices": 1, "passkeys": 0}
    assert anna.ask("GET", "/api/prompts").status_code == 401
    assert ben.says("rm2").json()["result"] == "approved"
    assert third.says("rm2").json()["result"] == "taken"
    assert ben.says("rm3").json()["result"] == "approved"
    house.run(house.devices.revoke(ben.device))  # a stolen phone's yes does not count either
    assert third.says("rm3").json()["result"] == "approved"


def test_who_asked_for_it_may_not_approve_it(house: House, two: tuple[Somebody, Somebody]) -> None:
    anna, ben = two
    house.policy = AnswerPolicy(not_by_who_asked=("delete",))
    assert ben.ask("POST", "/api/sessions/s1/send", {"text": "tidy up"}).status_code == 403
    house.run(house.devices.note_wish(anna.device, "s1"))
    house.ask("rm", RM)
    house.ask("ls", LS)
    told = anna.says("rm")
    assert told.status_code == 422
    assert "somebody else has to approve it" in told.json()["detail"]
    assert anna.says("ls").status_code == 202
    assert anna.says("rm", "deny").status_code == 202
    house.ask("rm2", RM)
    assert ben.says("rm2").status_code == 202


def test_persons_are_made_at_the_machine_only(house: House, two: tuple[Somebody, Somebody]) -> None:
    anna, _ = two
    for method, path, body in (
        ("POST", "/api/people", {"name": "x", "grants": [{"roles": ["admin"]}]}),
        ("DELETE", "/api/people/ben", None),
        ("POST", f"/api/devices/{anna.device}/person", {"person": ""}),
    ):
        assert anna.ask(method, path, body).status_code in (404, 405), path
    with house.local() as cli:
        for grants in ([], [{"roles": ["root"]}], [{"roles": ["see"], "projects": ["../x"]}]):
            assert cli.post("/api/people", json={"name": "x", "grants": grants}).status_code in (400, 422)
