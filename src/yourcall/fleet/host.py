"""A host: takes requests of hubs, verifies who wants what, and has it done here, by the way that the phone
app uses.

Every request comes sealed by a hub that the authority lists. What only looks is done for the hub; all else
needs an act: a device that the authority let in has signed this request, for this host, this run, this
minute, and an answer also what was shown.

Rule: whatever is not certain is refused before anything is done, counted, and said. An act that comes twice
gets the reply of the first."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import zlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast

from msgspec import Struct

from yourcall.fleet import sealing
from yourcall.fleet.acts import Act, Acts, Stale, Unsound, digest_of, statement
from yourcall.fleet.bus import Away, Bus, Message
from yourcall.fleet.certificates import Device, Member, NotSigned, Roster, Signed, verify
from yourcall.fleet.envelopes import (
    LARGEST_BODY,
    LARGEST_PART,
    PARTS,
    Ask,
    Told,
    Unread,
    decode,
    encode,
    envelope,
    wrapped,
)
from yourcall.fleet.keys import Keys
from yourcall.fleet.sealing import Unsealed
from yourcall.fleet.shown import shown_digest
from yourcall.fleet.subjects import Subjects
from yourcall.model.acts import SignedAct
from yourcall.model.prompts import Refused
from yourcall.system.p256 import signed_by
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

# Looks of hubs may wait for a screen to change; more of them than this is a fault.
AT_ONCE = 256
MOST_KEPT = 8
MOST_REPLIES = 500
MOST_DEVICES = 1_000
SMALLEST_PACKED = 2_048

_ANSWER = "/answer"

# Where the authority gives a machine its new certificate; the certificate speaks for itself.
CERTIFICATE = "/certificate"


class Wanted(Struct, frozen=True):
    """A request that was verified. `signer` is None where a hub only looks."""

    method: str
    target: str
    body: bytes
    signer: SignedAct | None = None
    scopes: tuple[str, ...] = ()


class Here(Protocol):
    """This machine, as a host needs it."""

    def only_looks(self, method: str, target: str, /) -> bool: ...
    def shown(self, prompt_id: str, /) -> Mapping[str, Any] | None: ...
    async def run(self, wanted: Wanted, /) -> tuple[int, bytes]: ...
    async def refused(self, what: str, why: str, prompt_id: str, /) -> None: ...


class Host:
    def __init__(
        self,
        bus: Bus,
        subjects: Subjects,
        keys: Keys,
        authority: bytes,
        me: Callable[[], Member],
        roster: Callable[[], Roster],
        newer: Callable[[int], Awaitable[None]],
        here: Here,
        acts: Acts,
        certified: Callable[[Signed], Refused | None],
    ) -> None:
        """`newer`: fetch the roster, for somebody knows one of this serial."""
        self._bus, self._subjects, self._keys, self._authority = bus, subjects, keys, authority
        self._me, self._roster, self._newer, self._here = me, roster, newer, here
        self.acts = acts
        self._certified = certified
        self._pairs: dict[bytes, bytes] = {}
        self._devices: OrderedDict[str, Device] = OrderedDict()  # those that have signed something here
        self._tasks = Tasks()
        self._under_way = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._replies: OrderedDict[tuple[str, str], asyncio.Future[Told]] = OrderedDict()
        self.refused, self.why = 0, ""
        self.asked = 0

    def may(self, device: str) -> tuple[str, ...] | None:
        """What a device was let in for; None if it was removed. One that was not seen in this run may do
        nothing new, but what it did before stands."""
        roster, known = self._roster(), self._devices.get(device)
        if device in roster.revoked or (known is not None and known.home in roster.revoked):
            return None
        return known.scopes if known is not None else ()

    async def begin(self) -> None:
        await self._bus.subscribe(self._subjects.ask(self._keys.id), self._heard)

    async def close(self) -> None:
        await self._tasks.close()

    async def _heard(self, message: Message) -> None:
        if not message.reply:
            return
        if self._under_way >= AT_ONCE:
            log.warning("too many requests at once: one was dropped")
            return
        self._under_way += 1
        self._tasks.spawn(self._served(message))

    async def _served(self, message: Message) -> None:
        try:
            await self._bus.publish(message.reply, await self._reply(message.data))
        except Away:
            pass  # whoever asked hears nothing, and says so
        except Exception:
            log.exception("a request of a hub failed")
        finally:
            self._under_way -= 1

    async def _reply(self, data: bytes) -> bytes:
        try:
            hub, key, ask = await self._opened(data)
        except (Unread, Unsealed) as error:
            await self._refuse("a request", str(error))
            return wrapped(self._keys.id, self._keys.seal_public, b"")
        self.asked += 1
        told = await self._told(ask)
        about = sealing.context("told", self._keys.id, hub, ask.id)
        return wrapped(self._keys.id, self._keys.seal_public, sealing.seal(key, encode(told), about))

    async def _opened(self, data: bytes) -> tuple[str, bytes, Ask]:
        said = envelope(data)
        if not self._is_hub(said.by, said.key):
            await self._newer(self._roster().serial + 1)
            if not self._is_hub(said.by, said.key):
                raise Unsealed(f"{said.by[:20]!r} is no hub of this fleet")
        key = self._pairs.get(said.key)
        if key is None:
            key = self._pairs[said.key] = sealing.shared_key(self._keys.seal, said.key, self._subjects.fleet)
        ask = decode(sealing.unseal(key, said.body, sealing.context("ask", said.by, self._keys.id)), Ask)
        if ask.roster > self._roster().serial:
            await self._newer(ask.roster)  # somebody may be out whom we still know
            if not self._is_hub(said.by, said.key):
                raise Unsealed(f"{said.by[:20]!r} is no hub any more")
        return said.by, key, ask

    def _is_hub(self, id: str, key: bytes) -> bool:
        roster = self._roster()
        return id not in roster.revoked and any(hub.id == id and hub.seal == key for hub in roster.hubs)

    # --- what is wanted
    # ----------------------------------------------------------------------------------------------

    async def _told(self, ask: Ask) -> Told:
        if ask.target.startswith(PARTS):
            return self._part(ask.target)
        if ask.target == CERTIFICATE:
            return self._new_certificate(ask.body)
        if ask.act is None:
            if not self._here.only_looks(ask.method, ask.target):
                return await self._no(403, ask, "nobody has signed this")
            return await self._done(Wanted(ask.method, ask.target, ask.body))
        verified = await self._verified(ask, ask.act)
        if isinstance(verified, Told):
            return verified
        name = (ask.act.device, ask.act.id)
        if not isinstance(verified, Wanted):
            # The very same act: whoever asks again gets the reply of the first, which may still be on its way.
            known = self._replies.get(name)
            return (
                await asyncio.shield(known) if known is not None else Told(409, _error("This was taken before."))
            )
        reply: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._replies[name] = reply
        while len(self._replies) > MOST_REPLIES:
            self._replies.popitem(last=False)
        told = Told(500, _error("This failed here; the log of that machine says why."))
        try:
            told = await self._done(verified)
        finally:
            reply.set_result(told)
        return told

    async def _verified(self, ask: Ask, act: Act) -> Wanted | Told | None:
        """What is wanted, once all of it is certain; None: it was taken before."""
        device = self._device(ask.device, act)
        if isinstance(device, str):
            return await self._no(403, ask, device)
        if act.host != self._keys.id:
            return await self._no(403, ask, "it was signed for another machine")
        if act.digest != digest_of(ask.body):
            return await self._no(403, ask, "its body is not the one that was signed")
        text = statement(self._subjects.fleet, act, ask.method, ask.target)
        if not signed_by(device.key, text, act.signature):
            return await self._no(403, ask, "the signature is not this device's for this request")
        self._remember(device)
        match self.acts.take(act, text):
            case Stale(run=run, now=now):
                error = (
                    "This was signed too long ago, by a clock that is wrong, or before that machine started anew."
                )
                return Told(403, _error(error), stale_run=run, now=now)
            case Unsound(reason=reason):
                return await self._no(403, ask, reason)
            case False:
                return None
            case True:
                pass
        wrong = self._otherwise(ask, act)
        if wrong:
            return await self._no(422, ask, wrong)
        signer = SignedAct(device.id, device.name, act.id, act.time / 1000, act.shown)
        return Wanted(ask.method, ask.target, ask.body, signer, device.scopes)

    def _device(self, signed: Signed | None, act: Act) -> Device | str:
        if signed is None:
            return "no device is named"
        try:
            device = verify(self._authority, signed, Device, self._subjects.fleet)
        except NotSigned as error:
            return f"the device is {error}"
        if device.id != act.device:
            return "the certificate is another device's"
        revoked = self._roster().revoked
        if device.id in revoked or device.home in revoked:
            return f"{device.name} was removed from the fleet"
        if device.home == self._keys.id:
            # Its own command line comes by the socket, where it is known which process asks.
            return "the desk of this machine answers here, not over the fleet"
        return device

    def _remember(self, device: Device) -> None:
        self._devices[device.id] = device
        while len(self._devices) > MOST_DEVICES:
            self._devices.popitem(last=False)

    def _otherwise(self, ask: Ask, act: Act) -> str:
        """Was the person shown what is asked here now? Only an answer says what it answers."""
        path = ask.target.partition("?")[0]
        if ask.method != "POST" or not path.startswith("/api/prompts/") or not path.endswith(_ANSWER):
            return ""
        from urllib.parse import unquote

        view = self._here.shown(unquote(path[len("/api/prompts/") : -len(_ANSWER)]))
        if view is None:
            return ""  # the route says what is wrong
        if not act.shown or act.shown != shown_digest(view, self._keys.id, self._me().name):
            return "What you were shown is not what is asked here, or not any more. Look at it again."
        try:
            seen: object = cast("dict[str, object]", json.loads(ask.body)).get("seen")
        except (ValueError, AttributeError, RecursionError):
            return ""
        return (
            "" if seen == view.get("version") else "The answer does not say which version of the prompt it is for."
        )

    async def _done(self, wanted: Wanted) -> Told:
        status, body = await self._here.run(wanted)
        if len(body) > LARGEST_BODY:
            return Told(413, _error(f"This is larger than {LARGEST_BODY >> 20} MB: look at it on that machine."))
        packed = len(body) > SMALLEST_PACKED
        if packed:
            body = (
                zlib.compress(body, 1) if len(body) < 1 << 18 else await asyncio.to_thread(zlib.compress, body, 1)
            )
        if len(body) <= LARGEST_PART:
            return Told(status, body, packed=packed)
        kept, parts = secrets.token_hex(8), -(-len(body) // LARGEST_PART)
        self._kept[kept] = body
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return Told(status, body[:LARGEST_PART], 0, parts, packed, kept)

    def _new_certificate(self, body: bytes) -> Told:
        try:
            wrong = self._certified(decode(body, Signed))
        except Unread as error:
            wrong = Refused(str(error))
        return Told(422, _error(wrong.reason)) if wrong is not None else Told(200, b"{}")

    def _part(self, target: str) -> Told:
        kept, _, number = target[len(PARTS) :].partition("/")
        body = self._kept.get(kept)
        if body is None or not (number.isascii() and number.isdecimal() and len(number) < 3):
            return Told(404, _error("This part is gone."))
        part, parts = int(number), -(-len(body) // LARGEST_PART)
        if part >= parts:
            return Told(404, _error("There is no such part."))
        return Told(200, body[part * LARGEST_PART : (part + 1) * LARGEST_PART], part, parts)

    async def _no(self, status: int, ask: Ask, why: str) -> Told:
        path = ask.target.partition("?")[0]
        await self._refuse(f"{ask.method} {path}", why, path)
        return Told(status, _error(why if why[:1].isupper() else f"Refused: {why}."))

    async def _refuse(self, what: str, why: str, path: str = "") -> None:
        self.refused += 1
        self.why = f"{what}: {why}"[:300]
        log.warning("refused: %s: %s", what[:200], why[:300])
        prompt = path.split("/")[3] if path.startswith("/api/prompts/") and path.count("/") >= 3 else ""
        await self._here.refused(what[:200], why[:300], prompt[:200])


def _error(words: str) -> bytes:
    return json.dumps({"error": words}).encode()
