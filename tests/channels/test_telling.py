"""What joins people to prompts, over a real store and loop: single-use answers, and another configuration."""

from __future__ import annotations

import asyncio
import sqlite3

from channel_house import ALLOW, DENY, Board, House, Lives
from msgspec.structs import replace

from yourcall.channels.buttons import with_tokens
from yourcall.channels.config import Configured
from yourcall.channels.context import ChannelContext
from yourcall.channels.notice import notice
from yourcall.channels.telegram.channel import Settings
from yourcall.daemon.config import Config
from yourcall.daemon.notify import Notifier
from yourcall.links.presence import Presence
from yourcall.links.screen.servers import Servers
from yourcall.model.events import DialogReached, HolderConnected, HolderLost
from yourcall.model.prompts import Question


def telling(house: House, config: Config | None = None) -> Notifier:
    presence = Presence(list, Servers())
    desk = ChannelContext(house.loop, None, None)  # type: ignore[arg-type]
    return Notifier(
        house.folder, house.loop, house.store, config or Config(), presence, desk, "", clock=house.clock
    )


async def tokens(house: House) -> dict[str, str]:
    """The buttons that a notice of the prompt has just been sent with, by their labels."""
    prompt = house.store.prompt("p1")
    assert prompt is not None
    body = house.store.body(prompt.request)
    made = notice("p1", [prompt], url="http://desk.example.net", body=body)
    shown = await with_tokens(made, Board(buttons=3), prompt, house.store, house.clock())
    house.ahead += 5  # a person looks at it first
    return {button.label: button.token for button in shown.buttons}


def test_a_button_that_could_not_answer_is_not_used_up(lives: Lives) -> None:
    """A hook is away for a moment while yourcall starts anew: who taps then may tap again."""

    async def story(house: House) -> None:
        told = telling(house)
        await house.ask()
        allow = (await tokens(house))["Allow"]
        await house.post(HolderLost(house.clock(), "p1", "its hook has left"))
        refused = await told.tap(allow)
        assert refused.result == "refused"
        assert "desk" in refused.detail
        await house.post(HolderConnected(house.clock(), "p1"))
        house.ahead += 5
        said = await told.tap(allow)
        assert (said.result, said.detail) == ("taken", "on its way")
        again = await told.tap(allow)
        assert again.result == "too_late"

    lives(story)


def test_a_button_is_no_answer_to_questions_that_are_only_being_written_down(lives: Lives) -> None:
    """On disk is what was asked before, and the very same name stands for something else by now."""

    async def story(house: House) -> None:
        told = telling(house)
        await house.ask()
        allow = (await tokens(house))["Allow"]
        await house.post(HolderLost(house.clock(), "p1", "its hook has left"))
        disk = sqlite3.connect(house.store.path, isolation_level=None)
        disk.execute("BEGIN IMMEDIATE")
        other = Question("decision", "Delete everything?", (replace(ALLOW, label="Delete"), DENY))
        writing = asyncio.create_task(house.post(DialogReached(house.clock(), "p1", "screen", (other,), "r")))
        await house.until(lambda: house.store.busy, what="it is being written")
        tapped = asyncio.create_task(told.tap(allow))
        await asyncio.wait({tapped}, timeout=0.5)
        disk.execute("ROLLBACK")
        disk.close()
        await writing
        assert (await tapped).result == "refused"
        row = house.store.prompt("p1")
        assert row is not None
        assert row.state == "open"

    lives(story)


def test_who_was_paired_in_a_channel_that_was_taken_out_while_nobody_ran_is_forgotten(lives: Lives) -> None:
    async def story(house: House) -> None:
        await house.store.remember("telegram", "chats", b"{}")
        await house.store.remember("push", "phone", b"{}")
        told = telling(house)
        running = asyncio.create_task(told.run())
        await house.until(lambda: not house.store.remembered("telegram"), what="forgotten")
        assert house.store.remembered("push")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    lives(story)


def test_secrets_that_cannot_be_read_cost_nobody_their_pairing(lives: Lives) -> None:
    async def story(house: House) -> None:
        await house.store.remember("chat", "chats", b"{}")
        (house.folder / "secrets.toml").write_text("[")
        settings = {"chat": Configured("telegram", Settings())}
        told = telling(house, replace(Config(), channels=settings))
        running = asyncio.create_task(told.run())
        await house.ask()
        await house.until(lambda: told._running()._prompts, what="it runs")
        assert house.store.remembered("chat")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    lives(story)
