"""A phone that is paired with one machine answers what waits on another, with its own signature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from phone_scene import enter

from kit.fleet import Machines, asking
from kit.poll import until

if TYPE_CHECKING:
    from chromium import Chromium

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def fleet(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with Machines(tmp_path_factory.mktemp("fleet"), "anna", "bert") as running:
        yield running


def test_a_phone_that_was_let_in_answers_for_another_machine(fleet: Machines, chromium: Chromium) -> None:
    page = enter(chromium, fleet["anna"], "phone")
    with asking(fleet["bert"], "Deploy to production?", "-o", "Ship it", "-o", "Wait") as agent:
        prompt = fleet.wait_prompt("anna", "bert", "Deploy to production?")
        page.sees("Deploy to production?")
        page.becomes("document.querySelector('.thread .facts').textContent.includes('on bert')", True)
        page.tap("Wait")
        page.sees("is not let in to the fleet yet")
        assert fleet["bert"].show(prompt["id"])["state"] == "open"
        page.tap("Settings", "nav")
        page.sees("Machines")
        page.sees("bert")
        check = page.js("document.body.innerText.match(/must show ([0-9a-f]{8})/)[1]")
        listed = {each["name"]: each for each in fleet["anna"].run("fleet", "devices", "--json").json}
        assert (listed["phone"]["allowed"], listed["phone"]["check"]) == (False, check)
        assert fleet["anna"].run("fleet", "devices", "allow", "phone").code == 0
        page.reload()
        page.loses("can't answer for the other machines")
        page.tap("Home", "nav")
        page.sees("Deploy to production?")
        page.tap("Ship it")
        assert agent.wait(60) == 0
    story = fleet["bert"].show(prompt["id"])
    assert (story["answered_by"], story["author_certainty"]) == ("phone", "device key")
    until(lambda: fleet["anna"].waiting() == [], what="it to be gone")
    page.errors.clear()  # a refusal is one for the console
    page.close()


def test_a_machine_that_is_away_is_shown_and_not_answerable(fleet: Machines, chromium: Chromium) -> None:
    page = enter(chromium, fleet["anna"], "tablet")
    with asking(fleet["bert"], "Still there?", "-o", "yes", "-o", "no"):
        fleet.wait_prompt("anna", "bert", "Still there?")
        page.sees("Still there?")
        fleet["bert"].stop()
        page.sees("bert is away since")
        page.becomes("document.querySelectorAll('.home .stack button').length", 0)
        fleet["bert"].start()
        fleet.wait_online("bert")
        page.loses("bert is away since")
    page.errors.clear()
    page.close()
