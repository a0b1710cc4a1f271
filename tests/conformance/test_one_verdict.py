"""Every front end shows the daemon's verdict on a prompt: 200 commands through all of them, compared.

The phone's part is in `tests/browser/test_phone_verdict.py`: the same commands, through the app's own code.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from kit.verdicts import COUNT, Case, Stored, cases
from yourcall.agents.assess import unconfirmed
from yourcall.channels import apprise, desktop, ntfy, webhook
from yourcall.channels.buttons import fair
from yourcall.channels.channel import World
from yourcall.channels.chat import text as telegram
from yourcall.channels.notice import notice
from yourcall.channels.push.channel import fitting, message
from yourcall.cli import views
from yourcall.cli.commands.answer import due
from yourcall.cli.inbox import card, form
from yourcall.cli.instance import Instance
from yourcall.cli.terminal import sheet
from yourcall.server.contracts.interactive.convert import interactive
from yourcall.server.contracts.rpc.dialog import Dialog
from yourcall.server.views import prompt_view

ALL = cases()
STORED = Stored(ALL)
NOWHERE = World({}, None, None, None, None, Path("/"), None, "")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def shown() -> list[tuple[Case, views.Prompt]]:
    """Each case, and its prompt as a client reads it off the wire."""
    wire = [json.loads(msgspec.json.encode(prompt_view(case.prompt, STORED))) for case in ALL]
    return [(case, views.read(each, views.Prompt)) for case, each in zip(ALL, wire, strict=True)]


def test_the_commands_are_of_all_kinds() -> None:
    assert len(ALL) == COUNT
    assert min(Counter(case.risk.level for case in ALL).values()) >= 30
    assert len({case.warning for case in ALL}) >= 10
    assert all("It allows more than this once." in case.confirm.values() for case in ALL if not case.warning)


def test_the_wire_says_it(shown: list[tuple[Case, views.Prompt]]) -> None:
    for case, prompt in shown:
        assert (prompt.risk.level, prompt.risk.reason) == (case.risk.level, case.risk.reason)
        options = [option for question in prompt.questions for option in question.options]
        assert {o.id: o.confirm_reason for o in options if o.confirm} == case.confirm


def test_the_terminal_says_it(shown: list[tuple[Case, views.Prompt]], tmp_path: Path) -> None:
    for case, prompt in shown:
        assert f"\n! {case.warning}" in card.head(prompt, prompt.warning).plain if case.warning else True
        assert "\n! " not in card.head(prompt, prompt.warning).plain or case.warning
        assert f"{case.risk.level}: {case.risk.reason}" in sheet.page(prompt, Instance(tmp_path))
        for number, option in enumerate(prompt.questions[0].options):
            ready = form.choose(prompt, form.Draft(), number)
            assert ready is not None
            assert ready.why == case.confirm.get(option.id, "")
            assert due(tmp_path, prompt, {"option": json.dumps(option.id)}) == case.confirm.get(option.id, "")


def test_every_notice_begins_with_it() -> None:
    for case in ALL:
        told = notice("n", [case.prompt], url="https://desk.example.net", body=case.body)
        assert told.warning == case.warning
        line = f"⚠ {case.warning}\n" if case.warning else ""
        settings = ntfy.Settings("topic")
        bodies = {
            "ntfy": ntfy.Ntfy("n", settings, NOWHERE).message(told)["message"],
            "desktop": desktop.Desktop("d", {}, "linux").rendered(told).removeprefix(f"{told.title}\n"),
            "apprise": apprise.Apprise("a", apprise.Settings(), NOWHERE)
            .rendered(told)
            .removeprefix(f"{told.title}\n"),
            "webhook": webhook.body(told)["text"],
            "push": fitting(message(told))["text"],
            "telegram": telegram.told(told)[0].text.partition("\n")[2],
        }
        for name, text in bodies.items():
            assert text.startswith(line), (name, case.prompt.title)
            assert text.startswith("⚠") == bool(line), (name, case.prompt.title)


def test_titles_only_says_it_too() -> None:
    for case in ALL:
        told = notice("n", [case.prompt], titles_only=True, body=case.body)
        assert told.text == (f"⚠ {case.warning}" if case.warning else "")


def test_telegram_asks_again_for_the_same_ones() -> None:
    for case in ALL:
        question = case.prompt.questions[0]
        for option in question.options:
            assert unconfirmed(case.prompt, case.body, {question.id: (option.id,)}) == case.confirm.get(
                option.id, ""
            )


def test_a_yes_needs_the_whole_below_the_verdict() -> None:
    """The verdict takes room; where less than all of the command is left, there is no yes."""
    for case in ALL:
        told = notice("n", [case.prompt], url="https://desk.example.net", body=case.body)
        text = "\n".join([told.title, told.text, *(button.label for button in told.buttons)])
        offers = {button.option for button in fair(told, text).buttons}
        blank = not case.prompt.body.strip()  # a command of blanks: there is nothing to be seen of it
        assert "allow" not in offers or blank or case.prompt.body in told.text


def test_the_two_contracts_say_it() -> None:
    for case in ALL:
        options = interactive(case.prompt, STORED).options or ()
        assert {option.value: option.confirm for option in options if option.confirm} == case.confirm
        listed = Dialog(case.prompt).shown(STORED).options
        for option, seen in zip(case.prompt.questions[0].options, listed, strict=True):
            assert (seen.description or "") == " ".join(
                filter(None, (option.description, case.confirm.get(option.id, "")))
            )
