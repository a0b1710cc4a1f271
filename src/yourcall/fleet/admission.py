"""How a machine comes into a fleet: an invitation is made at the authority's desk, and used once within five
minutes.

The code holds the addresses, the authority's public key and a secret. The secret is the key to one subject of
NATS, and seals the two messages that are exchanged there; so NATS, and whoever runs it, can neither use it
nor read it.

Rule: a code lets one machine in; told again with the same keys it is the same machine, with other keys it is
refused."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Meta, Struct

from yourcall.fleet import membership, sealing
from yourcall.fleet.authority import Authority
from yourcall.fleet.bus import Away, Bus, Credentials, Unanswered, tls_context
from yourcall.fleet.certificates import Device, Key32, Member, MemberRole, NotSigned, Roster, fleet_id, verify
from yourcall.fleet.envelopes import Joined, JoinRequest, Unread, decode, encode, envelope, wrapped
from yourcall.fleet.keys import Keys, nkey
from yourcall.fleet.membership import Membership
from yourcall.fleet.nats_server import vouched_by
from yourcall.fleet.sealing import Unsealed
from yourcall.fleet.subjects import Subjects, inbox
from yourcall.model.prompts import Refused

LIFETIME_S = 300.0
MOST_OPEN = 20
PREFIX = "ycf1-"

# What the desk of a machine may do on others: all that a phone may.
DESK_SCOPES = ("read", "answer", "steer", "rules")


class Code(Struct, frozen=True, array_like=True):
    """What an invitation says."""

    authority: Key32
    secret: Annotated[bytes, Meta(min_length=16, max_length=16)]
    ends_at: int
    addresses: Annotated[tuple[Annotated[str, Meta(max_length=200)], ...], Meta(min_length=1, max_length=8)]

    @property
    def fleet(self) -> str:
        return fleet_id(self.authority)

    @property
    def name(self) -> str:
        """The invitation's own name, which tells nothing of its secret."""
        return hashlib.sha256(b"yourcall invitation 1\n" + self.secret).hexdigest()[:20]

    @property
    def nats_key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(sealing.secret_key(self.secret, "nats"))

    @property
    def sealing_key(self) -> bytes:
        return sealing.secret_key(self.secret, "join")

    def text(self) -> str:
        return PREFIX + base64.urlsafe_b64encode(msgspec.msgpack.encode(self)).rstrip(b"=").decode()


def read_code(text: str) -> Code | Refused:
    plain = "".join(text.split())
    if not plain.startswith(PREFIX) or len(plain) > 3_000:
        return Refused("This is no invitation. Make one on the machine with the authority: yourcall fleet invite")
    data = plain[len(PREFIX) :]
    try:
        return msgspec.msgpack.decode(base64.urlsafe_b64decode(data + "=" * (-len(data) % 4)), type=Code)
    except ValueError:
        return Refused("The invitation is damaged; copy all of it.")


# --- at the authority's desk
# ------------------------------------------------------------------------------------------


class Invitation(Struct):
    code: Code
    roles: tuple[MemberRole, ...]
    used_by: bytes = b""
    reply: Joined | None = None


class Invitations:
    """Those that are open. `changed`: NATS must be told whom to let in."""

    def __init__(self, authority: Authority, clock: Callable[[], float] = time.time) -> None:
        self._authority, self._clock = authority, clock
        self._open: dict[str, Invitation] = {}

    def new(self, addresses: Sequence[str], roles: tuple[MemberRole, ...]) -> Code | Refused:
        self.expire()
        if len(self._open) >= MOST_OPEN:
            return Refused(f"{MOST_OPEN} invitations are open already; they end within five minutes.")
        ends = int(self._clock() + LIFETIME_S)
        code = Code(self._authority.public, secrets.token_bytes(16), ends, tuple(addresses)[:8])
        self._open[code.name] = Invitation(code, roles)
        return code

    def expire(self) -> bool:
        """True if one has ended."""
        now = self._clock()
        ended = [name for name, each in self._open.items() if now >= each.code.ends_at]
        for name in ended:
            del self._open[name]
        return bool(ended)

    def keys(self) -> dict[str, str]:
        """What those who are invited show to NATS."""
        return {name: nkey(each.code.nats_key) for name, each in self._open.items()}

    def take(self, name: str, data: bytes, answer: Callable[[JoinRequest, Invitation], Joined]) -> bytes | None:
        """The reply to a request that came by an invitation's subject; None: there is nothing to reply to."""
        self.expire()
        found = self._open.get(name)
        if found is None:
            return None
        key = found.code.sealing_key
        try:
            said = envelope(data)
            wish = decode(sealing.unseal(key, said.body, sealing.context("join", name)), JoinRequest)
        except (Unread, Unsealed):
            return None
        if found.used_by and found.used_by != wish.seal:
            told = Joined(refused="This invitation was used by another machine. Make a new one.")
        elif found.reply is not None:
            told = found.reply
        else:
            found.used_by = wish.seal
            told = answer(wish, found)
            if told.refused:
                found.used_by = b""
            else:
                found.reply = told
        return wrapped("authority", b"", sealing.seal(key, encode(told), sealing.context("joined", name)))


# --- on the machine that joins
# -----------------------------------------------------------------------------------------


async def join(home: Path, code: Code, name: str, version: str, creds: str = "") -> Membership | Refused:
    """Make keys, ask to be let in, and believe nothing that the authority of the invitation has not signed.
    Nothing is written before all of it is certain."""
    if time.time() > code.ends_at + 3600:  # a clock may be an hour off; the authority's own decides
        return Refused("The invitation has ended. Make a new one: yourcall fleet invite")
    keys = Keys.made()
    subjects = Subjects(code.fleet)
    wish = JoinRequest(name, keys.seal_public, keys.nats_public, keys.desk_public, version)
    sealed = sealing.seal(code.sealing_key, encode(wish), sealing.context("join", code.name))
    why = "no address was tried"
    for address in code.addresses:
        try:
            tls = await _trusted(address, code.authority)
            credentials = Credentials(code.nats_key, Path(creds) if creds else None)
            bus = Bus([address], credentials, inbox(code.name), tls, code.name)
            async with bus.connected():
                reply = await bus.request(subjects.join(code.name), wrapped("join", b"", sealed), 10)
            said = envelope(reply.data)
            context = sealing.context("joined", code.name)
            joined = decode(sealing.unseal(code.sealing_key, said.body, context), Joined)
        except (OSError, TimeoutError, Away, Unanswered, Unread, Unsealed, ValueError, ssl.SSLError) as error:
            why = f"{address}: {error or type(error).__name__}"
            continue
        except Exception as error:
            if type(error).__module__.startswith("nats"):
                why = f"{address}: {_plain(error)}"
                continue
            raise
        return await asyncio.to_thread(_admitted, home, code, keys, joined, creds)
    return Refused(
        f"The fleet could not be reached ({why}). The line must lead to one of: {', '.join(code.addresses)}"
    )


def _plain(error: Exception) -> str:
    words = str(error).removeprefix("nats: ").strip("'")
    return "the invitation was used up or has ended" if "uthorization" in words else words or type(error).__name__


def _admitted(home: Path, code: Code, keys: Keys, joined: Joined, creds: str) -> Membership | Refused:
    if joined.refused:
        return Refused(joined.refused)
    if joined.member is None or joined.roster is None:
        return Refused("The authority's reply says nothing.")
    try:
        member = verify(code.authority, joined.member, Member, code.fleet)
        verify(code.authority, joined.roster, Roster, code.fleet)
        if joined.desk is not None:
            desk = verify(code.authority, joined.desk, Device, code.fleet)
            if desk.key != keys.desk_public or desk.home != keys.id:
                raise NotSigned("another desk's")
    except NotSigned as error:
        return Refused(f"What the authority replied is {error}.")
    if member.id != keys.id or member.seal != keys.seal_public or member.nats != keys.nats_public:
        return Refused("The authority let in another machine than this one.")
    made = Membership(
        fleet=code.fleet,
        name=joined.fleet_name,
        authority=code.authority,
        member=joined.member,
        roster=joined.roster,
        addresses=joined.addresses or code.addresses,
        desk=joined.desk,
        tls=joined.tls,
        creds=creds,
        authority_member=joined.authority_member,
    )
    folder = membership.folder_of(home)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    keys.save(folder)
    membership.write(home, made)
    return made


async def _trusted(address: str, authority: bytes) -> ssl.SSLContext | None:
    """How to speak TLS there. Of a server that yourcall runs, the certificate is signed by the authority that
    the invitation names; it is looked at before anything is said."""
    parts = urlsplit(address)
    if parts.scheme in ("nats", "ws"):
        return None
    if parts.scheme == "wss":
        return ssl.create_default_context()
    shown = await asyncio.to_thread(_certificate, parts.hostname or "", parts.port or 4222)
    if shown is not None and vouched_by(shown, authority):
        return _pinned(shown)
    return ssl.create_default_context()  # somebody's own NATS: one that the machine's authorities vouch for


def _pinned(certificate: bytes) -> ssl.SSLContext:
    context = tls_context(ssl.DER_cert_to_PEM_cert(certificate))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _certificate(host: str, port: int) -> bytes | None:
    """What the server shows, before it is trusted. A NATS server first says in the clear that it speaks TLS."""
    with socket.create_connection((host, port), 5) as plain:
        plain.settimeout(5)
        hello = b""
        while b"\n" not in hello and len(hello) < 65_536:
            more = plain.recv(4_096)
            if not more:
                raise OSError("the connection ended")
            hello += more
        if b'"tls_required":true' not in hello.replace(b" ", b""):
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with context.wrap_socket(plain) as wrapped_socket:
            return wrapped_socket.getpeercert(binary_form=True)
