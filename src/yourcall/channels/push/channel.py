"""Web Push: a notification from the phone app itself, encrypted for that one browser.

Who taps its buttons is known by the browser's own key, which signs the answer, so no token travels. Every paired
device that said yes is a target; a revoked one is none. When somebody has answered, a second push closes the
first; while a phone is away, the push service keeps only the newest of the two (`Topic`).

Rule: a push goes to a known push service over https and nowhere else: a subscription is an address that somebody
else gave us.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from yourcall.channels.channel import Abilities, Carried, Channel, Failed, Gone, Later, Notice, Rung, Sent, World
from yourcall.channels.http import cut, request, trouble
from yourcall.channels.notice import warned
from yourcall.model.prompts import Refused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

SECRETS = ()

KEY_FILE = "push.pem"

# Chrome, Firefox, Safari, Edge.
SERVICES = (
    "https://fcm.googleapis.com",
    "https://*.push.services.mozilla.com",
    "https://web.push.apple.com",
    "https://*.push.apple.com",
    "https://*.notify.windows.com",
)

# A phone that was off for longer is told by the inbox itself.
KEPT_S = 24 * 3600

# Chrome shows two buttons; what does not fit is in the app.
MOST_BUTTONS = 2
LONGEST_TITLE = 300
LONGEST_TEXT = 1_500


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """`services`: push services besides the known ones, as `https://host`. `contact`: told to them, for
    complaints.
    """

    services: tuple[Annotated[str, Meta(pattern=r"^https?://[^\s/]+$")], ...] = ()
    contact: Annotated[str, Meta(pattern=r"^(mailto:.+@.+|https://.+)$")] = "mailto:push@example.com"
    rung: Rung = "push"


class Subscription(Struct, frozen=True):
    """What a browser gives: where to send, its public key and its secret."""

    endpoint: str
    p256dh: str
    auth: str


class Push:
    def __init__(self, name: str, settings: Settings, world: World) -> None:
        self.name = name
        self.abilities = Abilities(
            settings.rung, buttons=MOST_BUTTONS, withdraw=True, replaces=True, knows_who=True
        )
        self._settings = settings
        self._world = world
        self._devices = world.devices
        self._key: EllipticCurvePrivateKey | None = None

    # --- subscriptions -------------------------------------------------------------------------------------------

    def public_key(self) -> str:
        from yourcall.channels.push.encryption import b64, point

        return b64(point(self._own_key().public_key()))

    def subscribed(self, device_id: str) -> bool:
        return self._world.keep.get(device_id) is not None

    async def subscribe(self, device_id: str, endpoint: str, p256dh: str, auth: str) -> Refused | None:
        from yourcall.channels.push.encryption import encrypted, unb64

        if not self._known_service(endpoint):
            return Refused(
                "This browser uses a push service that yourcall does not know. If you trust it, add it to "
                "`services` under [channels.push] in config.toml."
            )
        try:
            encrypted(b"", unb64(p256dh), unb64(auth))
        except ValueError:
            return Refused("The browser's keys cannot be read; subscribe again.")
        await self._world.keep.put(device_id, msgspec.json.encode(Subscription(endpoint, p256dh, auth)))
        return None

    async def unsubscribe(self, device_id: str) -> None:
        await self._world.keep.put(device_id, None)

    # --- the channel ---------------------------------------------------------------------------------------------

    def targets(self) -> Sequence[str]:
        paired = self._devices()
        return [device_id for device_id in sorted(self._world.keep.all()) if device_id in paired]

    def rendered(self, notice: Notice) -> str:
        word = fitting(message(notice))
        return "\n".join([word["title"], word["text"], *(button["label"] for button in word["buttons"])])

    async def send(self, target: str, notice: Notice) -> Carried:
        return await self._push(target, notice.id, fitting(message(notice)), "high")

    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        return await self.send(target, notice)

    async def withdraw(self, target: str, receipt: str, notice: Notice) -> Carried:
        # Our own id has 40 letters at most, and 300 bytes of outcome grow to 1,800 at worst.
        word = {"withdraw": notice.id, "outcome": cut(notice.outcome, LONGEST_TITLE)}
        return await self._push(target, notice.id, word, "normal")

    async def _push(self, target: str, name: str, word: dict[str, Any], urgency: str) -> Carried:
        from yourcall.channels.push.encryption import b64, encrypted, unb64, vapid

        data = self._world.keep.get(target)
        if data is None or target not in self._devices():
            return Gone("the device has unsubscribed")
        to = msgspec.json.decode(data, type=Subscription)
        if not self._known_service(to.endpoint):
            return Failed("its push service is not in `services` any more")
        try:
            content = encrypted(msgspec.json.encode(word), unb64(to.p256dh), unb64(to.auth))
        except ValueError:
            await self.unsubscribe(target)
            return Gone("the browser's keys cannot be used")
        where = urlsplit(to.endpoint)
        audience = f"{where.scheme}://{where.netloc}"
        headers = {
            "Authorization": vapid(self._own_key(), audience, self._settings.contact, self._world.clock()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(KEPT_S),
            "Urgency": urgency,
            # At most 32 letters; the service replaces what it still keeps under the same one.
            "Topic": b64(sha256(name.encode()).digest()[:24]),
        }
        reply = await request(self._world, "POST", to.endpoint, content=content, headers=headers)
        if isinstance(reply, Struct):
            return reply
        wrong = trouble(reply, gone=(404, 410))
        if isinstance(wrong, Gone):
            if self._world.keep.get(target) not in (None, data):
                return Later("it has another address since")  # the no was to the old one
            await self.unsubscribe(target)
        elif isinstance(wrong, Later):
            return wrong
        return wrong or Sent(name)

    def _known_service(self, endpoint: str) -> bool:
        try:
            where = urlsplit(endpoint)
            port = f":{where.port}" if where.port else ""
        except ValueError:
            return False
        if not where.hostname or "@" in where.netloc or len(endpoint) > 2000:
            return False
        origin = f"{where.scheme}://{where.hostname}{port}"
        return any(fnmatchcase(origin, service) for service in (*SERVICES, *self._settings.services))

    def _own_key(self) -> EllipticCurvePrivateKey:
        from yourcall.channels.push.encryption import own_key

        if self._key is None:
            self._key = own_key(self._world.home / KEY_FILE)
        return self._key


def message(notice: Notice) -> dict[str, Any]:
    """What the service worker reads. The device answers with its own key, so an option's id is enough."""
    return {
        "id": notice.id,
        "title": cut(notice.title, LONGEST_TITLE),
        "text": cut(notice.text, LONGEST_TEXT),
        "kind": notice.kind,
        "prompt": notice.prompts[0].id if len(notice.prompts) == 1 else "",
        "seen": notice.seen,
        "reminder": notice.reminder,
        "risk": notice.risk,
        "buttons": [
            {"label": cut(button.label, 60), "question": button.question, "option": button.option}
            for button in notice.buttons
            if len(button.question) + len(button.option) < 400
        ],
    }


def fitting(word: dict[str, Any]) -> dict[str, Any]:
    """The message so that it fits one record, however much its letters grow on the way (a quote is two).

    What is left out is in the app; half of the ways to answer would read like all of them.
    """
    from yourcall.channels.push.encryption import LONGEST_TEXT as ROOM

    short = {"text": cut(str(word["text"]), LONGEST_TEXT // 4)}
    # The verdict is short and ours: it fits, whatever the agent wrote.
    bare = {"text": warned(word["risk"]), "title": "An agent waits for you"}
    steps: list[dict[str, Any]] = [{}, short, {"buttons": []}, bare]
    for less in steps:
        word = {**word, **less}
        if len(msgspec.json.encode(word)) <= ROOM:
            return word
    return {**word, "prompt": ""}


def make(name: str, settings: Settings, world: World) -> Channel:
    return Push(name, settings, world)
