"""What every channel that speaks HTTP does, whichever it is: the same sentences about the same ends of a request.

A new channel gets a stand-in in `tests/channels/services.py` and a line in `CASES`; it then has to pass all of
this.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "channels"))

from channel_house import QUESTION, House, in_house
from services import NtfyService, PushService, Service, WebhookService

from kit.discord_server import DiscordServer
from kit.matrix_server import MatrixServer
from kit.slack_server import SlackServer
from kit.telegram_server import TOKEN as BOT
from kit.telegram_server import TelegramServer
from yourcall.channels import ntfy, webhook
from yourcall.channels.channel import Carried, Channel, Failed, Later, Notice, Sent, Unclear, World
from yourcall.channels.chat.memory import Chat
from yourcall.channels.notice import notice
from yourcall.channels.push import channel as push
from yourcall.channels.registry import KINDS, kind
from yourcall.channels.telegram import channel as telegram
from yourcall.model.prompts import Prompt

SECRET = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ="
TOKEN = "tk_abcdefghijklmnop"

Stage = tuple[Service | TelegramServer, Channel, str]


def made(text: str = "npm test", **more: Any) -> Notice:
    prompt = Prompt(
        "k3fqk3fqab", "permission", "claude", "s1", "/home/me/shop", text, 1.0, body=text, questions=(QUESTION,),
        answerable=True, **more,
    )  # fmt: skip
    shown = notice("k3fqk3fqab", [prompt], url="http://desk.example.net")
    buttons = tuple(replace(button, token="yt_abc") for button in shown.buttons if button.option != "always")
    return replace(shown, buttons=buttons, answer_url="http://desk.example.net/api/tap")


async def _ntfy(house: House) -> Stage:
    service = NtfyService(TOKEN)
    settings = ntfy.Settings("topic-secret", server=service.url)
    return service, ntfy.make("phone", settings, house.world({"token": TOKEN})), ""


async def _webhook(house: House) -> Stage:
    service = WebhookService(SECRET)
    settings = webhook.Settings(f"{service.url}/topic-secret")
    return service, webhook.make("hook", settings, house.world({"secret": SECRET})), ""


async def _push(house: House) -> Stage:
    service = PushService()
    channel = push.Push("push", push.Settings(services=(service.url,)), house.world(devices=["d1"]))
    given = service.subscribe("topic-secret")
    assert await channel.subscribe("d1", given["endpoint"], **given["keys"]) is None
    return service, channel, "d1"


async def _telegram(house: House) -> Stage:
    service = TelegramServer(BOT)
    service.chats[7] = {"type": "private"}
    world = house.world({"token": BOT, "code": "ABCD-EFGH"})
    channel = telegram.Telegram("chat", telegram.Settings(server=service.url), world)
    assert await channel.book.pair("abcd efgh", telegram.Chat(7), 7, "Ada") == ""
    return service, channel, "7"


def _chat(people: Callable[[], Any]) -> Callable[[House], Awaitable[Stage]]:
    async def made_there(house: House) -> Stage:
        service = people().__enter__()  # its address is needed
        module = kind(service.name)
        channel: Any = module.make("chat", module.Settings(**service.settings()), house.world(service.secrets))
        assert await channel.book.pair("abcd efgh", Chat(service.chat()), service.person("ada"), "Ada") == ""
        return service, channel, service.chat()

    return made_there


CASES: dict[str, Callable[[House], Awaitable[Stage]]] = {
    "ntfy": _ntfy,
    "webhook": _webhook,
    "push": _push,
    "telegram": _telegram,
    "slack": _chat(SlackServer),
    "discord": _chat(DiscordServer),
    "matrix": _chat(MatrixServer),
}


@pytest.fixture(params=sorted(CASES))
def plays(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    def run(story: Callable[[Service, Channel, str], Awaitable[None]]) -> None:
        async def inside(house: House) -> None:
            service, channel, target = await CASES[request.param](house)
            with service:
                await story(service, channel, target)
                # Whoever listens there does so at the end.
                if buttons := getattr(channel, "buttons", None):
                    await buttons.stop()
                if close := getattr(getattr(channel, "api", None), "close", None):
                    await close()

        in_house(inside, tmp_path)

    return run


def test_every_kind_has_a_module_with_settings_secrets_and_a_maker() -> None:
    for name in KINDS:
        module = kind(name)
        assert isinstance(module.SECRETS, tuple)
        assert all(secret not in module.Settings.__struct_fields__ for secret in module.SECRETS)
        assert callable(module.make)


def test_it_is_sent_and_taken_back(plays: Callable[..., None]) -> None:
    async def story(service: Service, channel: Channel, target: str) -> None:
        sent = await channel.send(target, made())
        assert isinstance(sent, Sent)
        able = channel.abilities
        over = made(state="desk")
        assert over.standing == "over"
        end = channel.update if able.edit else channel.withdraw
        assert able.edit or able.withdraw
        assert isinstance(await end(target, sent.receipt, over), Sent)
        assert len(service.seen) == 2

    plays(story)


def test_long_and_strange_text_fits(plays: Callable[..., None]) -> None:
    async def story(service: Service, channel: Channel, target: str) -> None:
        for text in ("x" * 100_000, "ä€𝄞" * 3_000, "\0\x1b[31m\u202e\n\r", "", '"}]</script>'):
            assert isinstance(await channel.send(target, made(text)), Sent)

    plays(story)


@pytest.mark.parametrize(
    ("fault", "kind_of", "after"),
    [(500, Later, 0), (503, Later, 0), (429, Later, 7), ("drop", Unclear, 0), (403, Failed, 0), (400, Failed, 0)],
    ids=str,
)
def test_every_end_has_its_meaning(
    plays: Callable[..., None], fault: int | str, kind_of: type[Carried], after: float
) -> None:
    async def story(service: Service, channel: Channel, target: str) -> None:
        # Where the same again is the same message, a broken line is tried again at once.
        tries = getattr(service, "tries", 1) if fault == "drop" else 1
        service.faults += [fault] * tries
        service.retry_after = "7"
        done = await channel.send(target, made())
        service.faults.clear()
        assert isinstance(done, kind_of)
        assert not isinstance(done, Sent)
        assert "topic-secret" not in done.why, "an address is a secret"
        assert service.url not in done.why
        if isinstance(done, Later):
            assert done.after_s == after
        assert isinstance(await channel.send(target, made()), Sent), "and the next one goes through"

    plays(story)


def test_nobody_there(plays: Callable[..., None]) -> None:
    async def story(service: Service, channel: Channel, target: str) -> None:
        service.hang_up()
        done = await channel.send(target, made())
        assert isinstance(done, Later)
        assert "127.0.0.1" not in done.why

    plays(story)


def test_a_redirect_is_not_followed(plays: Callable[..., None]) -> None:
    async def story(service: Service, channel: Channel, target: str) -> None:
        service.faults.append(307)
        assert isinstance(await channel.send(target, made()), Failed)
        assert len(service.seen) == 1

    plays(story)


def test_many_at_once(plays: Callable[..., None]) -> None:
    async def story(service: Service, channel: Channel, target: str) -> None:
        done = await asyncio.gather(*(channel.send(target, made(str(n))) for n in range(12)))
        assert all(isinstance(each, Sent) for each in done)

    plays(story)


def test_a_channel_knows_only_its_own_secrets(tmp_path: Path) -> None:
    async def story(house: House) -> None:
        with NtfyService(TOKEN) as service:
            world: World = house.world({})
            channel = ntfy.make("phone", ntfy.Settings("t", server=service.url), world)
            done = await channel.send("", made())
            assert isinstance(done, Failed)
            assert "secrets.toml" in done.why

    in_house(story, tmp_path)
