"""Webhook: everything a person would be told, as JSON to an address of yours, signed.

The signature is that of the Standard Webhooks specification: HMAC-SHA256 over `id.timestamp.body` with the
secret, in the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. Libraries for it exist in most
languages.

Rule: one delivery, one id; tried again it keeps it, so that a receiver can tell a repetition from news.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from yourcall.channels.channel import Abilities, Carried, Channel, Notice, Rung, Sent, World
from yourcall.channels.http import request, trouble
from yourcall.channels.notice import face

SECRETS = ("secret",)

# More ways to answer than any prompt has: a program reads them, not a thumb.
MOST_BUTTONS = 20


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """`buttons`: send single-use answer tokens along; whoever gets the call can then answer."""

    url: Annotated[str, Meta(pattern=r"^https?://[^\s]+$")]
    buttons: bool = False
    rung: Rung = "desk"


class Webhook:
    def __init__(self, name: str, settings: Settings, world: World) -> None:
        self.name = name
        most = MOST_BUTTONS if settings.buttons else 0
        self.abilities = Abilities(settings.rung, buttons=most, edit=True, replaces=True)
        self._settings = settings
        self._world = world
        self._secret = key_of(world.secrets.get("secret", ""))

    def targets(self) -> Sequence[str]:
        return ("",)

    def rendered(self, notice: Notice) -> str:
        return "\n".join([notice.title, notice.text, *(button.label for button in notice.buttons)])

    async def send(self, target: str, notice: Notice) -> Carried:
        return await self._post("prompt.reminder" if notice.reminder else "prompt.waiting", notice)

    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        return await self._post("prompt.over" if notice.standing == "over" else "prompt.changed", notice)

    async def withdraw(self, target: str, receipt: str, notice: Notice) -> Carried:
        return await self._post("prompt.over", notice)

    async def _post(self, kind: str, notice: Notice) -> Carried:
        content = msgspec.json.encode({"type": kind, "notice": body(notice)})
        name = f"{notice.id}.{notice.reminder}.{notice.version}.{face(notice)}"
        headers = {"Content-Type": "application/json", **signed(self._secret, name, self._world.clock(), content)}
        reply = await request(self._world, "POST", self._settings.url, content=content, headers=headers)
        if isinstance(reply, Struct):
            return reply
        return trouble(reply) or Sent(notice.id)


def body(notice: Notice) -> dict[str, Any]:
    return {
        "id": notice.id,
        "kind": notice.kind,
        "standing": notice.standing,
        "title": notice.title,
        "text": notice.text,
        "outcome": notice.outcome,
        "agent": notice.agent,
        "project": notice.project,
        "url": notice.url,
        "prompts": [prompt.id for prompt in notice.prompts],
        "reminder": notice.reminder,
        "risk": notice.risk,
        "answer_url": notice.answer_url,
        "answers": [
            {"label": button.label, "effect": button.effect, "option": button.option, "token": button.token}
            for button in notice.buttons
            if button.token
        ],
    }


def key_of(secret: str) -> bytes:
    """The key itself: base64 behind `whsec_`, as the specification has it; any other text is taken as it is."""
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def signed(key: bytes, name: str, now: float, content: bytes) -> dict[str, str]:
    stamp = str(int(now))
    headers = {"webhook-id": name, "webhook-timestamp": stamp}
    if key:
        sum_of = hmac.new(key, f"{name}.{stamp}.".encode() + content, hashlib.sha256).digest()
        headers["webhook-signature"] = "v1," + base64.b64encode(sum_of).decode()
    return headers


def make(name: str, settings: Settings, world: World) -> Channel:
    return Webhook(name, settings, world)
