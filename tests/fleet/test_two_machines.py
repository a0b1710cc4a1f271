"""Two machines, one inbox: real daemons, a real NATS, the commands that a person types."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from kit.fleet import Machines, asking
from kit.poll import until

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Anna made it; Bert is a whole member, Carl is a server that is only answered."""
    with Machines(tmp_path_factory.mktemp("fleet"), "anna", "bert", "carl", roles={"carl": "host"}) as running:
        yield running


def test_creating_says_what_scripts_rely_on(fleet: Machines) -> None:
    assert set(fleet.made) == {"fleet", "fingerprint", "address"}
    assert fleet.made["address"].startswith("tls://127.0.0.1:")
    assert len(fleet.made["fingerprint"].replace(" ", "")) == 64
    hosts = fleet["bert"].run("hosts", "--json").json
    assert {each["name"] for each in hosts} == {"anna", "bert", "carl"}
    assert all({"id", "name", "state", "seen_at", "version"} <= each.keys() for each in hosts)
    assert {each["state"] for each in hosts} == {"online"}


def test_what_waits_there_is_listed_shown_and_answered_here(fleet: Machines) -> None:
    with asking(fleet["bert"], "Deploy?", "-o", "yes", "-o", "no") as agent:
        prompt = fleet.wait_prompt("anna", "bert", "Deploy?")
        listed = fleet["anna"].run("ls", "--json").json
        assert (prompt["id"], "bert") in [(each["id"], each["host"]["name"]) for each in listed]
        assert fleet["anna"].run("ls", "--host", "bert", "--json").json[0]["id"] == prompt["id"]
        assert fleet["anna"].run("ls", "--host", "anna", "--json").json == []
        sessions = fleet["anna"].run("sessions", "--json").json
        assert prompt["session_id"] in {each["id"] for each in sessions if each["host"]["name"] == "bert"}
        shown = fleet["anna"].run("show", prompt["id"][:6], "--json").json
        assert (shown["title"], shown["host"]["name"]) == ("Deploy?", "bert")
        done = fleet["anna"].run("answer", prompt["id"][:6], "yes")
        assert (done.code, agent.wait(30)) == (0, 0), done
        assert "Confirmed" in done.out
    story = fleet["bert"].show(prompt["id"])
    assert story["answered_by"] == "anna (desk)"
    assert story["author_certainty"] == "device key"
    until(lambda: prompt["id"] not in [each["id"] for each in fleet["anna"].waiting()], what="it to be gone")


def test_it_works_in_the_other_direction_too(fleet: Machines) -> None:
    with asking(fleet["anna"], "Really?", "-o", "yes", "-o", "no") as agent:
        prompt = fleet.wait_prompt("bert", "anna", "Really?")
        assert fleet["bert"].run("answer", prompt["id"], "no").code == 0
        assert agent.wait(30) == 11


def test_a_machine_that_is_only_answered_sees_nobody_and_answers_nobody(fleet: Machines) -> None:
    with asking(fleet["anna"], "Secret?", "-o", "yes") as agent, asking(fleet["carl"], "Mine?", "-o", "yes"):
        fleet.wait_prompt("bert", "carl", "Mine?")
        prompt = fleet.wait_prompt("bert", "anna", "Secret?")
        assert [each["title"] for each in fleet["carl"].waiting()] == ["Mine?"]
        assert [each["name"] for each in fleet["carl"].run("hosts", "--json").json] == ["carl"]
        refused = fleet["carl"].run("answer", prompt["id"], "yes", "--no-wait")
        assert refused.code == 2
        assert fleet["bert"].run("answer", prompt["id"], "yes").code == 0
        assert agent.wait(30) == 0


def test_who_is_too_late_is_told_so_with_the_same_code(fleet: Machines) -> None:
    with asking(fleet["bert"], "Once?", "-o", "yes", "-o", "no") as agent:
        prompt = fleet.wait_prompt("anna", "bert", "Once?")
        assert fleet["bert"].run("answer", prompt["id"], "no").code == 0
        late = fleet["anna"].run("answer", prompt["id"], "yes")
        assert late.code == 3, late
        assert agent.wait(30) == 11


def test_what_is_too_large_for_a_row_is_fetched_before_it_can_be_answered(fleet: Machines) -> None:
    body = "\n".join(f"line {number}: {'x' * 60}" for number in range(900))
    with asking(fleet["bert"], "Long?", "-o", "yes", "--body", body) as agent:
        prompt = fleet.wait_prompt("anna", "bert", "Long?")
        assert prompt["body"] == body
        assert prompt["held"]
        assert fleet["anna"].run("answer", prompt["id"], "yes").code == 0
        assert agent.wait(30) == 0


def test_an_answer_to_what_has_changed_since_is_refused(fleet: Machines) -> None:
    with asking(fleet["bert"], "Which?", "-o", "a", "-o", "b"):
        prompt = fleet.wait_prompt("anna", "bert", "Which?")
        path = f"/api/prompts/{prompt['id']}/answer"
        status, said = fleet["anna"].http("POST", path, {"option": "a", "seen": "0123456789abcdef"})
        assert status == 422
        assert "version" in said["error"]
        assert fleet["bert"].show(prompt["id"])["state"] == "open"


def test_a_rule_is_made_paused_and_removed_on_another_machine(fleet: Machines) -> None:
    text = '[[rule]]\nname = "echo"\ndo = "allow"\ncommand = "echo *"\n'
    status, said = fleet["anna"].http("POST", "/api/pause?host=carl")
    assert status == 200, said
    assert fleet["carl"].http("GET", "/api/status")[1]["paused"] is True
    assert fleet["anna"].http("GET", "/api/status")[1]["paused"] is False
    status, said = fleet["anna"].http("POST", "/api/resume?host=carl")
    assert status == 200, said
    assert fleet["carl"].http("GET", "/api/status")[1]["paused"] is False
    status, said = fleet["anna"].http("POST", "/api/rules?host=carl", {"text": text})
    assert status in (201, 422), said
    status, said = fleet["carl"].http("POST", "/api/pause?host=anna")
    assert status == 404, said


def test_another_machine_does_nothing_that_belongs_to_its_own_desk(fleet: Machines) -> None:
    for method, path in (
        ("GET", "/api/devices?host=bert"),
        ("GET", "/api/channels?host=bert"),
        ("POST", "/api/pairing?host=bert"),
        ("GET", "/api/fleet/devices?host=bert"),
    ):
        status, _ = fleet["anna"].http(method, path)
        assert status in (200, 201, 404), path
    # They were about this machine: the other one has made no code and no device.
    log = (fleet["bert"].home / "log" / "yourcall.log").read_text()
    assert "pairing" not in log


def test_a_new_name_is_everywhere_at_once(fleet: Machines) -> None:
    assert fleet["anna"].run("hosts", "rename", "carl", "web").code == 0
    until(lambda: "web" in fleet.hosts("bert"), what="the new name at bert")
    assert fleet["carl"].run("fleet", "--json").json["me"]["name"] == "web"
    refused = fleet["bert"].run("hosts", "rename", "web", "carl")
    assert refused.code == 2
    assert "authority" in refused.err
    assert fleet["anna"].run("hosts", "rename", "web", "carl").code == 0
    until(lambda: "carl" in fleet.hosts("bert"), what="the old name at bert")


def test_two_rows_of_one_prompt_are_one_and_the_feed_tells_of_it(fleet: Machines) -> None:
    with connect("ws://localhost/api/live", sock=fleet["anna"].connect("api.sock"), compression=None) as feed:
        hello = json.loads(feed.recv(30))
        assert hello["type"] == "hello"
        with asking(fleet["bert"], "Fed?", "-o", "yes") as agent:
            news = _until(feed, lambda m: m["type"] == "prompt" and m["prompt"]["title"] == "Fed?")
            assert news["prompt"]["host"]["name"] == "bert"
            assert news["prompt"]["held"]
            assert fleet["anna"].run("answer", news["prompt"]["id"], "yes").code == 0
            over = _until(
                feed, lambda m: m["type"] == "prompt" and m["prompt"]["state"] in ("confirmed", "accepted")
            )
            assert over["prompt"]["id"] == news["prompt"]["id"]
            assert agent.wait(30) == 0


def _until(feed: ClientConnection, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        message = json.loads(feed.recv(30))
        if wanted(message):
            return message
    raise AssertionError("it was not told")


def test_a_host_that_is_away_is_said_within_a_second_and_nothing_is_sent_later(fleet: Machines) -> None:
    with asking(fleet["bert"], "Away?", "-o", "yes", "-o", "no") as agent:
        prompt = fleet.wait_prompt("anna", "bert", "Away?")
        fleet["bert"].kill()
        began = time.monotonic()
        status, said = fleet["anna"].http("POST", f"/api/prompts/{prompt['id']}/answer", {"option": "yes"})
        assert time.monotonic() - began < 1
        assert (status, said["result"]) == (409, "bounced")
        assert "bert is away" in said["detail"]
        command = fleet["anna"].run("answer", prompt["id"], "yes")
        assert command.code == 4
        assert "bert is away" in command.err
        fleet.wait_offline("bert")
        last_known = fleet.wait_prompt("anna", "bert", "Away?")
        assert (last_known["id"], last_known["held"], last_known["host"]["state"]) == (
            prompt["id"],
            False,
            "offline",
        )
        assert last_known["host"]["seen_at"] > 0
        sent = fleet["anna"].http("POST", f"/api/sessions/{prompt['session_id']}/send", {"text": "hello"})
        assert (sent[0], sent[1]["result"]) == (422, "refused")
        fleet["bert"].start()
        fleet.wait_online("bert")
        until(lambda: fleet.wait_prompt("anna", "bert", "Away?")["held"], what="it to be answerable again")
        assert fleet["bert"].show(prompt["id"])["state"] == "open"  # nothing was sent later
        assert fleet["anna"].run("answer", prompt["id"], "no").code == 0
        assert agent.wait(30) == 11


def test_without_nats_each_machine_is_what_it_is_alone(fleet: Machines) -> None:
    os.kill(fleet.nats_pid, signal.SIGSTOP)
    try:
        with asking(fleet["bert"], "Alone?", "-o", "yes") as agent:
            prompt = until(
                lambda: [p for p in fleet["bert"].waiting() if p["title"] == "Alone?"], what="its prompt"
            )[0]
            assert fleet["bert"].run("answer", prompt["id"], "yes").code == 0
            assert agent.wait(30) == 0
    finally:
        os.kill(fleet.nats_pid, signal.SIGCONT)
    fleet.wait_online("bert", "carl")


def test_nats_that_is_killed_comes_back_with_everybody(fleet: Machines) -> None:
    before = fleet.nats_pid
    with asking(fleet["bert"], "After?", "-o", "yes") as agent:
        prompt = fleet.wait_prompt("anna", "bert", "After?")
        os.kill(before, signal.SIGKILL)
        until(lambda: fleet.nats_pid != before, what="another NATS")
        fleet.wait_online("bert", "carl")
        until(lambda: fleet.wait_prompt("anna", "bert", "After?")["held"], what="it to be answerable again")
        assert fleet["anna"].run("answer", prompt["id"], "yes").code == 0
        assert agent.wait(30) == 0


def test_who_is_removed_is_out_within_two_seconds_even_after_an_absence(fleet: Machines) -> None:
    """The last one: Carl goes while he is away, then Bert while he is there."""
    fleet["carl"].stop()
    assert fleet["anna"].run("hosts", "remove", "carl", "--yes").code == 0
    fleet["carl"].start()
    until(
        lambda: "removed" in fleet["carl"].http("GET", "/api/fleet")[1]["problem"],
        what="carl to know that he is out",
    )
    assert set(fleet.hosts("anna")) == {"anna", "bert"}
    began = time.monotonic()
    assert fleet["anna"].http("DELETE", "/api/hosts/bert")[0] == 200
    until(lambda: not fleet["bert"].http("GET", "/api/fleet")[1]["line"], what="bert to be cut off")
    assert time.monotonic() - began < 2
    with asking(fleet["bert"], "Out?", "-o", "yes"):
        until(lambda: fleet["bert"].waiting(), what="its prompt")
        assert fleet["anna"].waiting() == []
    assert fleet["bert"].run("fleet", "leave").code == 0
    assert not (fleet["bert"].home / "fleet").exists()
    assert fleet["bert"].run("hosts", "--json").json == []
    fleet.join("bert")
    fleet.wait_online("bert")
