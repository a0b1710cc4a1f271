"""Step-up: one gesture with a passkey for one act, asked for and verified here, where the act takes effect.

The host makes a challenge for the very act (this host, who asks, and a digest of what would be done); the
browser has a passkey sign it, with its user verified; whoever asked brings that back, once.

Rule: a challenge is good for two minutes, one signature and one act. What is signed is known to be for this host
and this act by the challenge itself, whatever lies in between. A counter that went back is a copy of the key: the
passkey is revoked.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.model.prompts import Refused
from yourcall.rules.may_answer import Proof
from yourcall.server.signatures import steady_clock

log = logging.getLogger(__name__)

ASKED_S = 120.0  # to look at it, and to find the finger
PROVEN_S = 60.0  # from the gesture until the act that it was made for
MOST = 200  # at once; the oldest goes first
MOST_OF_ONE = 20
LARGEST = 64 * 1024  # an assertion has a few hundred bytes, a registration a few thousand

HEADER = "Yourcall-Step-Up"
NO_LIBRARY = "Passkeys need a package that is not installed here. At the machine: pip install 'yourcall[passkeys]'"
NO_NAME = (
    "A passkey is made for a name, and this page has only a number for an address. Open the app by a name "
    "(http://localhost on this machine, or https)"
)


class PasskeyRow(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def person(self) -> str: ...
    @property
    def rp_id(self) -> str: ...
    @property
    def credential(self) -> str: ...
    @property
    def public_key(self) -> bytes: ...
    @property
    def sign_count(self) -> int: ...
    @property
    def created_at(self) -> float: ...
    @property
    def used_at(self) -> float: ...
    @property
    def revoked_at(self) -> float | None: ...
    @property
    def why(self) -> str: ...


class PasskeyRows(Protocol):
    """Where passkeys are kept; each write is on disk when it returns."""

    def passkeys(self) -> Sequence[PasskeyRow]: ...
    async def add_passkey(
        self, name: str, person: str, rp_id: str, credential: str, public_key: bytes, count: int, by: str, /
    ) -> PasskeyRow: ...
    async def passkey_used(self, passkey_id: str, count: int, /) -> bool: ...
    async def revoke_passkey(self, passkey_id: str, by: str, why: str, /) -> bool: ...


class Asked(Struct, frozen=True):
    """One gesture that is waited for. `words`: what it would be for. `register`: it makes a new passkey."""

    id: str
    act: str
    device: str
    words: str
    challenge: bytes
    until: float
    register: bool = False


class Site(Struct, frozen=True):
    """The page that the gesture is made on."""

    rp_id: str
    origin: str


class Wrong(Exception):
    """What a browser sent proves nothing; the text says why."""


class StepUp:
    """`hosts`: the names this server answers to. `host`: its own name in what is signed."""

    def __init__(
        self,
        rows: PasskeyRows,
        host: str,
        hosts: Callable[[], frozenset[str]],
        clock: Callable[[], float] | None = None,
        told: Callable[[str], object] = lambda _: None,
    ) -> None:
        """`told`: a sentence for the person, about a key that was copied."""
        self._rows, self._host, self._hosts, self._told = rows, host, hosts, told
        self._clock = clock or steady_clock()
        self._asked: OrderedDict[str, Asked] = OrderedDict()
        self._proven: OrderedDict[str, tuple[Proof, float]] = OrderedDict()
        self._last: dict[str, Proof] = {}
        self._codes: dict[str, float] = {}

    @property
    def now(self) -> float:
        return self._clock()

    def passkeys(self) -> Sequence[PasskeyRow]:
        """Those that are not revoked."""
        return [each for each in self._rows.passkeys() if each.revoked_at is None]

    # -- asking

    def ask(self, act: str, device: str, text: str, *, register: bool = False) -> Asked:
        """Wait for a gesture for this act, which only this device can use."""
        self._tidy()
        mine = [each.id for each in self._asked.values() if each.device == device]
        for old in mine[: len(mine) + 1 - MOST_OF_ONE]:
            del self._asked[old]
        while len(self._asked) >= MOST:
            self._asked.popitem(last=False)
        name, nonce = secrets.token_urlsafe(12), secrets.token_hex(32)
        signed = msgspec.json.encode(("yourcall step-up 1", self._host, act, device, register, nonce))
        asked = Asked(name, act, device, text, hashlib.sha256(signed).digest(), self._clock() + ASKED_S, register)
        self._asked[name] = asked
        return asked

    def asked(self, name: str) -> Asked | None:
        self._tidy()
        return self._asked.get(name)

    def is_proven(self, name: str) -> bool:
        self._tidy()
        return name in self._proven

    def site(self, host_header: str, origin: str) -> Site | Refused:
        """The page of ours that asks. Its name is one of ours, or the gate would not have let it in."""
        host = host_header.lower()
        rp_id = (urlsplit(f"//{host}").hostname or "").lower()
        numeric = ":" in rp_id or rp_id.replace(".", "").isdecimal()
        if host not in self._hosts() or not rp_id or numeric:
            return Refused(NO_NAME)
        scheme = origin.partition("://")[0] if origin else ("http" if rp_id == "localhost" else "https")
        if scheme != "https" and rp_id != "localhost":
            return Refused(NO_NAME)
        return Site(rp_id, f"{scheme}://{host}")

    def credentials(self, rp_id: str, person: str | None = None) -> list[str]:
        """The passkeys that can be used on a page of this name."""
        rows = [each for each in self.passkeys() if each.rp_id == rp_id]
        return [each.credential for each in rows if person is None or each.person == person]

    # -- proving

    async def prove(self, name: str, credential: Mapping[str, Any], site: Site) -> Proof | Refused:
        """Verify what the browser brought for this challenge. One try each: a wrong one uses it up, too."""
        asked = self._take(name, register=False)
        if asked is None:
            return Refused("This was not asked for, or it took too long. Try again.")
        row = next((each for each in self.passkeys() if each.credential == credential.get("id")), None)
        if row is None:
            return Refused("That passkey is not registered here, or was revoked.")
        if row.rp_id != site.rp_id:
            return Refused("That passkey is for another name of this machine.")
        try:
            count = await asyncio.to_thread(_verified, credential, asked.challenge, site, row.public_key)
        except Wrong as wrong:
            return Refused(str(wrong))
        # The one write decides: two copies that come at once cannot both have a higher counter.
        if not await self._rows.passkey_used(row.id, count):
            return await self._copied(row, count)
        proof = Proof(row.id, asked.act, asked.device, self._clock(), row.person)
        self._proven[name] = (proof, self._clock() + PROVEN_S)
        # For a window only: by itself it is good for no act, or the one that it was made for could come twice.
        self._last[asked.device] = replace(proof, act="")
        return proof

    async def _copied(self, row: PasskeyRow, count: int) -> Refused:
        now = next((each for each in self.passkeys() if each.id == row.id), None)
        if now is None:
            return Refused("That passkey was revoked.")
        why = f"its counter went back (from {now.sign_count} to {count}): there may be a copy of it"
        await self.revoke(row.id, "yourcall", why)
        self._told(f"The passkey {row.name!r} was revoked: {why}.")
        return Refused("That passkey was revoked: there may be a copy of it. Use another one.")

    def use(self, name: str, device: str) -> Proof | None:
        """The proof of this name, which is used up by that; only for the device that asked."""
        self._tidy()
        match = self._proven.pop(name, None)
        return match[0] if match is not None and hmac.compare_digest(match[0].device, device) else None

    def last(self, device: str) -> Proof | None:
        """The latest gesture for this device in this run, for who allows a window."""
        return self._last.get(device)

    def forget(self, device: str) -> None:
        """It is revoked: what it asked for, and what was proven for it, is void."""
        self._last.pop(device, None)
        for name in [name for name, each in self._asked.items() if each.device == device]:
            del self._asked[name]
        for name in [name for name, (proof, _) in self._proven.items() if proof.device == device]:
            del self._proven[name]

    # -- keys

    def new_code(self) -> str:
        """A code from the machine itself, with which one passkey is registered without another one's word."""
        self._tidy()
        code = secrets.token_urlsafe(18)
        self._codes = {hashlib.sha256(code.encode()).hexdigest(): self._clock() + 5 * 60.0}
        return code

    def takes_code(self, code: str) -> bool:
        """Is this that code? It is used up when a passkey was made with it, and by its time."""
        self._tidy()
        return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest() in self._codes

    async def register(
        self, name: str, credential: Mapping[str, Any], site: Site, device: str, label: str, person: str, by: str
    ) -> PasskeyRow | Refused:
        asked = self._take(name, register=True)
        if asked is None or not hmac.compare_digest(asked.device, device):
            return Refused("This was not asked for, or it took too long. Try again.")
        try:
            made = await asyncio.to_thread(_registered, credential, asked.challenge, site)
        except Wrong as wrong:
            return Refused(str(wrong))
        key, public_key, count = made
        if any(each.credential == key for each in self._rows.passkeys()):
            return Refused("That passkey is registered already, or was revoked. Make a new one.")
        if asked.act.startswith("code "):
            self._codes.pop(asked.act.removeprefix("code "), None)
        plain = " ".join("".join(c for c in label if c.isprintable()).split())[:60] or "passkey"
        return await self._rows.add_passkey(plain, person, site.rp_id, key, public_key, count, by)

    def code_act(self, code: str) -> str:
        return "code " + hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()

    async def revoke(self, passkey_id: str, by: str, why: str = "") -> bool:
        done = await self._rows.revoke_passkey(passkey_id, by, why)
        self._last = {device: proof for device, proof in self._last.items() if proof.passkey != passkey_id}
        return done

    def _take(self, name: str, *, register: bool) -> Asked | None:
        self._tidy()
        asked = self._asked.pop(name, None)
        return asked if asked is not None and asked.register is register else None

    def _tidy(self) -> None:
        now = self._clock()
        for name in [name for name, each in self._asked.items() if each.until <= now]:
            del self._asked[name]
        for name in [name for name, (_, until) in self._proven.items() if until <= now]:
            del self._proven[name]
        self._codes = {code: until for code, until in self._codes.items() if until > now}


def is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("webauthn") is not None


def act_of_request(method: str, target: str, body: bytes) -> str:
    """A digest of a request that changes something, letter by letter."""
    return hashlib.sha256(msgspec.json.encode((method, target, hashlib.sha256(body).hexdigest()))).hexdigest()


def _verified(credential: Mapping[str, Any], challenge: bytes, site: Site, public_key: bytes) -> int:
    """The counter of a signature that is right in everything else."""
    try:
        from webauthn import verify_authentication_response
    except ImportError as error:
        raise Wrong(NO_LIBRARY) from error
    try:
        done = verify_authentication_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=site.rp_id,
            expected_origin=site.origin,
            credential_public_key=public_key,
            # Compared by us, once the signature is known to be right: else anybody could have a key revoked.
            credential_current_sign_count=0,
            require_user_verification=True,
        )
        _same_page(credential)
    except Exception as error:  # whatever a stranger's bytes do to a parser, they prove nothing
        raise Wrong(f"The passkey's signature is not right for this: {_short(error)}") from error
    return done.new_sign_count


def _registered(credential: Mapping[str, Any], challenge: bytes, site: Site) -> tuple[str, bytes, int]:
    try:
        from webauthn import verify_registration_response
        from webauthn.helpers import bytes_to_base64url
    except ImportError as error:
        raise Wrong(NO_LIBRARY) from error
    try:
        done = verify_registration_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=site.rp_id,
            expected_origin=site.origin,
            require_user_verification=True,
        )
        _same_page(credential)
    except Exception as error:
        raise Wrong(f"The passkey could not be registered: {_short(error)}") from error
    return bytes_to_base64url(done.credential_id), done.credential_public_key, done.sign_count


def _same_page(credential: Mapping[str, Any]) -> None:
    """The library does not look whether our page was in a frame of another one."""
    from webauthn.helpers import base64url_to_bytes

    told = msgspec.json.decode(base64url_to_bytes(credential["response"]["clientDataJSON"]), type=_ClientData)
    if told.cross_origin or told.top_origin:
        raise Wrong("it was made inside of another page")


class _ClientData(Struct, rename="camel"):
    cross_origin: bool = False
    top_origin: str | None = None


def _short(error: Exception) -> str:
    text = "".join(c for c in str(error) if c.isprintable()) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"
