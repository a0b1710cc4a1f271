"""ntfy: a notification on every phone that follows a topic, with buttons that answer.

Whoever may read the topic sees what is asked, and may press the buttons: it is as secret as its name, or as the
server's access rules. So the buttons carry single-use tokens for this one prompt, never a key.

Rule: one prompt is one notification, by its sequence id (ntfy 2.16): sent again it is replaced, and when somebody
has answered it is deleted. An older server shows it and cannot take it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from yourcall.channels.channel import Abilities, Carried, Channel, Notice, Rung, Sent, World
from yourcall.channels.http import cut, request, trouble

SECRETS = ("token",)

# The server turns a longer message into an attachment, which no lock screen shows; 4,096 bytes is its limit.
LONGEST_MESSAGE = 3_500
LONGEST_TITLE = 200
MOST_ACTIONS = 3


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    topic: Annotated[str, Meta(pattern=r"^[-_A-Za-z0-9]{1,64}$")]
    server: Annotated[str, Meta(pattern=r"^https?://[^\s/]+(/[^\s?#]*)?$")] = "https://ntfy.sh"
    buttons: bool = True
    rung: Rung = "push"


class _Said(Struct):
    sequence_id: str = ""


class Ntfy:
    def __init__(self, name: str, settings: Settings, world: World) -> None:
        self.name = name
        self.abilities = Abilities(
            settings.rung, buttons=MOST_ACTIONS if settings.buttons else 0, withdraw=True, replaces=True
        )
        self._settings = settings
        self._server = settings.server.rstrip("/")
        self._world = world
        token = world.secrets.get("token", "")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def targets(self) -> Sequence[str]:
        return ("",)

    def rendered(self, notice: Notice) -> str:
        labels = [button.label for button in notice.buttons]
        return "\n".join([_title(notice), _text(notice), *labels])

    async def send(self, target: str, notice: Notice) -> Carried:
        headers = {**self._headers, "Content-Type": "application/json"}
        content = msgspec.json.encode(self.message(notice))
        reply = await request(self._world, "POST", f"{self._server}/", content=content, headers=headers)
        if isinstance(reply, Struct):
            return reply
        wrong = trouble(reply)
        if wrong is not None:
            return wrong
        try:
            kept = msgspec.json.decode(reply.content, type=_Said).sequence_id == notice.id
        except msgspec.DecodeError:
            kept = False
        return Sent(notice.id if kept else "")

    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        return await self.send(target, notice)

    async def withdraw(self, target: str, receipt: str, notice: Notice) -> Carried:
        place = f"{self._server}/{self._settings.topic}/{notice.id}"
        reply = await request(self._world, "DELETE", place, headers=self._headers)
        if isinstance(reply, Struct):
            return reply
        # A server that does not know this leaves the notification where it is; that is all one can do.
        return Sent() if reply.status_code in (404, 405) else trouble(reply) or Sent()

    def message(self, notice: Notice) -> dict[str, Any]:
        message: dict[str, Any] = {
            "topic": self._settings.topic,
            "sequence_id": notice.id,
            "title": _title(notice),
            "message": _text(notice),
            "priority": 3 if notice.kind == "ready" else 4,
            "tags": ["repeat"] if notice.reminder else [],
        }
        if notice.url:
            message["click"] = notice.url
        buttons = [button for button in notice.buttons if button.token]
        if buttons:
            message["actions"] = [
                {
                    "action": "http",
                    "label": button.label,
                    "url": notice.answer_url,
                    "method": "POST",
                    "headers": {"Content-Type": "application/json"},
                    "body": msgspec.json.encode({"token": button.token}).decode(),
                    "clear": True,
                }
                for button in buttons
            ]
        if notice.partly and notice.url and len(buttons) < MOST_ACTIONS:
            look = {"action": "view", "label": "Open", "url": notice.url}
            message["actions"] = [*message.get("actions", []), look]
        return message


def _title(notice: Notice) -> str:
    return cut(notice.title, LONGEST_TITLE)


def _text(notice: Notice) -> str:
    return cut(notice.text or notice.title, LONGEST_MESSAGE)


def make(name: str, settings: Settings, world: World) -> Channel:
    return Ntfy(name, settings, world)
