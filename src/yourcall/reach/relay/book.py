"""Which machine has which name at this relay: a file, which commands and invited machines change.

Rule: a name belongs to one key until a person frees it. An invitation is good once, for one name and for a while;
only its hash is kept. A change is made whole, under a lock, and is on disk before anybody hears of it.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives import serialization

from yourcall.model.prompts import Refused
from yourcall.reach import certificates
from yourcall.reach.relay.hello import is_name
from yourcall.reach.relay.messages import Invitation, pin_of
from yourcall.system import private_files

INVITED_S = 24 * 3600.0
MOST_NAMES = 1000
SECRET_BYTES = 20


class Machine(msgspec.Struct, frozen=True):
    key: bytes
    since: float


class Invited(msgspec.Struct, frozen=True):
    """`digest` is that of the secret."""

    digest: str
    until: float


class Book(msgspec.Struct, frozen=True):
    machines: dict[str, Machine] = {}
    invitations: dict[str, Invited] = {}


def folder(home: Path) -> Path:
    return home / "relay"


def read(home: Path) -> Book:
    """A book that can't be read is an error: as an empty one it would free every name."""
    try:
        return msgspec.json.decode(_file(home).read_bytes(), type=Book)
    except FileNotFoundError:
        return Book()


def version(home: Path) -> tuple[int, int]:
    """Changes with the book."""
    return private_files.version(_file(home))


def invite(home: Path, name: str, host: str, port: int, lasting: float = INVITED_S) -> Invitation | Refused:
    """Let one machine have this name. An earlier invitation to it is void."""
    if not is_name(name):
        return Refused(f"{name!r} is no name of a host, such as desk.example.net.")
    pin = own_pin(home)
    secret = os.urandom(SECRET_BYTES)
    now = time.time()
    with _changing(home):
        book = read(home)
        if name in book.machines:
            return Refused(f"{name} belongs to a machine. To give it to another one, first: relay revoke {name}")
        open_ones = {each: it for each, it in book.invitations.items() if it.until > now and each != name}
        if len(book.machines) + len(open_ones) >= MOST_NAMES:
            return Refused(f"There are {MOST_NAMES} names already.")
        invited = Invited(hashlib.sha256(secret).hexdigest(), now + lasting)
        _write(home, Book(book.machines, {**open_ones, name: invited}))
    return Invitation(host, port, pin, name, secret)


def redeem(home: Path, name: str, key: bytes, secret: bytes) -> Refused | None:
    """Give the name to this key, for the invitation's secret. Says the same, whatever is wrong with it."""
    digest = hashlib.sha256(secret).hexdigest()
    with _changing(home):
        book = read(home)
        invited = book.invitations.get(name)
        fits = invited is not None and hmac.compare_digest(invited.digest, digest) and invited.until > time.time()
        if not fits or name in book.machines:
            return Refused("the invitation was used, has expired, or is for another name")
        others = {each: it for each, it in book.invitations.items() if each != name}
        _write(home, Book({**book.machines, name: Machine(key, time.time())}, others))
    return None


def revoke(home: Path, name: str, key: bytes | None = None) -> bool:
    """Free the name, and void an invitation to it; only if it belongs to this key, if one is given."""
    with _changing(home):
        book = read(home)
        owner = book.machines.get(name)
        if key is not None and (owner is None or owner.key != key):
            return False
        machines = {each: it for each, it in book.machines.items() if each != name}
        invitations = {each: it for each, it in book.invitations.items() if each != name}
        if len(machines) == len(book.machines) and len(invitations) == len(book.invitations):
            return False
        _write(home, Book(machines, invitations))
    return True


def identity(home: Path) -> Path:
    """The relay's own key and certificate, in one file; made when they are first needed. They open nothing: by
    them machines know that they dialled this relay."""
    file = folder(home) / "relay.pem"
    if not file.exists():
        folder(home).mkdir(mode=0o700, parents=True, exist_ok=True)
        with _changing(home):
            if not file.exists():
                private_files.write(file, certificates.self_signed("yourcall relay"))
    return file


class AlreadyRunning(Exception):
    """Another relay has this home."""


class Here(msgspec.Struct, frozen=True):
    since: float
    phones: int


class State(msgspec.Struct, frozen=True):
    """Who is connected, as the relay that runs last wrote it down."""

    pid: int
    machines: dict[str, Here] = {}


@contextmanager
def running(home: Path) -> Generator[None]:
    """As long as a relay runs."""
    identity(home)
    with (folder(home) / "relay.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunning from error
        state_file(home).unlink(missing_ok=True)
        yield


def state(home: Path) -> State | None:
    """None unless a relay runs for this home."""
    try:
        with (folder(home) / "relay.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except FileNotFoundError:
        return None
    except BlockingIOError:
        pass
    try:
        return msgspec.json.decode(state_file(home).read_bytes(), type=State)
    except (OSError, msgspec.MsgspecError):
        return State(0)  # it has only just begun


def write_state(home: Path, state: State) -> None:
    private_files.write(state_file(home), msgspec.json.encode(state))


def state_file(home: Path) -> Path:
    return folder(home) / "state.json"


def short(key: bytes) -> str:
    """Of a machine's key, as people compare it."""
    return base64.b32encode(hashlib.sha256(key).digest())[:12].decode().lower()


def own_pin(home: Path) -> bytes:
    certificate = certificates.leaf(identity(home))
    return pin_of(certificate.public_bytes(serialization.Encoding.DER))


@contextmanager
def _changing(home: Path) -> Generator[None]:
    """One at a time, and the lock is the kernel's: it goes with the process."""
    folder(home).mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder(home) / "machines.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _write(home: Path, book: Book) -> None:
    private_files.write(_file(home), msgspec.json.format(msgspec.json.encode(book)))


def _file(home: Path) -> Path:
    return folder(home) / "machines.json"
