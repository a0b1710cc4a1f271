"""The NATS server that yourcall runs itself: its configuration, its certificate, and its process.

The process outlives a daemon that is killed, and is taken over by the next one; other hubs go on meanwhile. A
daemon that is stopped in order stops it.

Rule: the configuration is made anew from what the authority has signed, and nobody else comes in.
"""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import logging
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from yourcall.fleet.certificates import Member
from yourcall.fleet.membership import Embedded
from yourcall.fleet.subjects import Role, Subjects, invited, permissions
from yourcall.model.prompts import Refused
from yourcall.system import private_files
from yourcall.system.noted_process import NotedProcess

log = logging.getLogger(__name__)

FIRST_PORT, PORTS = 7722, 200
TLS_DAYS = 3650
START_S = 20.0

# What the server may keep for us: rows are at most 32 kB, and 10,000 of them are usual in a large fleet.
MOST_BYTES = 8 << 30

MISSING = (
    "nats-server isn't installed. Install it with yourcall's extra, `pip install 'yourcall[fleet]'`, or use a"
    " server of your own: yourcall fleet create --nats URL --creds FILE"
)


def program() -> str | None:
    """Beside this Python first: the one that is pinned."""
    beside = Path(sys.executable).with_name("nats-server")
    return str(beside) if beside.is_file() else shutil.which("nats-server")


def free_port() -> int | Refused:
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("0.0.0.0", port))  # noqa: S104 - to see whether anybody has it
            except OSError:
                continue
            return port
    return Refused(f"No port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free; name one with --port.")


# --- its certificate
# ------------------------------------------------------------------------------------------------


def make_certificate(folder: Path, authority: Ed25519PrivateKey, names: tuple[str, ...]) -> str:
    """The server's certificate, signed by the fleet's authority; the authority's own as PEM. A machine that
    joins knows the authority's key from its invitation, and so whether it talks to the right server."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "yourcall fleet")])
    root = (
        _builder(subject, subject, authority.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority, None)
    )
    key = ec.generate_private_key(ec.SECP256R1())
    server = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "yourcall NATS")])
    leaf = (
        _builder(server, subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .sign(authority, None)
    )
    pem = serialization.Encoding.PEM
    private_files.write(folder / "server.pem", leaf.public_bytes(pem) + root.public_bytes(pem))
    plain = serialization.NoEncryption()
    private_files.write(folder / "server.key", key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return root.public_bytes(pem).decode()


def vouched_by(certificate: bytes, authority: bytes) -> bool:
    """Did this fleet's authority sign the certificate that a server showed (as DER)?"""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        leaf = x509.load_der_x509_certificate(certificate)
        Ed25519PublicKey.from_public_bytes(authority).verify(leaf.signature, leaf.tbs_certificate_bytes)
    except (InvalidSignature, ValueError):
        return False
    return True


def _builder(subject: x509.Name, issuer: x509.Name, key: Any) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))  # clocks of other machines may be behind
        .not_valid_after(now + datetime.timedelta(days=TLS_DAYS))
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


# --- its configuration
# ----------------------------------------------------------------------------------------------


def users(
    subjects: Subjects, members: Iterable[Member], authority: str, invitations: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Who may come in, and what each may do. `authority`: the member that has it. `invitations`: their keys."""
    found: list[dict[str, Any]] = []
    members = list(members)
    hubs = [each.id for each in members if "hub" in each.roles]
    for member in members:
        has: list[tuple[Role, bool]] = [
            ("host", "host" in member.roles),
            ("hub", "hub" in member.roles),
            ("authority", member.id == authority),
        ]
        roles: tuple[Role, ...] = tuple(role for role, given in has if given)
        found.append({"nkey": member.nats, "permissions": permissions(subjects, member.id, roles, hubs)})
    found += [{"nkey": key, "permissions": invited(subjects, name)} for name, key in invitations.items()]
    return found


def configuration(folder: Path, embedded: Embedded, fleet: str, people: list[dict[str, Any]]) -> str:
    """As nats-server reads it: JSON is a subset of its language."""
    tls = {"cert_file": str(folder / "server.pem"), "key_file": str(folder / "server.key"), "timeout": 10}
    whole: dict[str, Any] = {
        "server_name": f"yourcall-{fleet}",
        "host": embedded.listen,
        "port": embedded.port,
        "tls": tls,
        "max_payload": 1_048_576,
        "max_pending": 64 << 20,
        "write_deadline": "10s",
        "ping_interval": "20s",
        "ping_max": 2,
        "max_connections": 100_000,
        "max_control_line": 4096,
        "no_auth_user": None,
        "jetstream": {
            "store_dir": str(folder / "store"),
            "max_file_store": MOST_BYTES,
            "max_memory_store": 64 << 20,
        },
        "authorization": {"timeout": 10, "users": people},
        "pid_file": str(folder / "nats.pid"),
        "log_file": str(folder / "nats.log"),
        "log_size_limit": 10 << 20,
        "logfile_max_num": 2,
    }
    if embedded.websocket:  # behind a proxy that speaks TLS
        whole["websocket"] = {"host": "127.0.0.1", "port": embedded.websocket, "no_tls": True}
    if embedded.leaf:
        whole["leafnodes"] = {"host": embedded.listen, "port": embedded.leaf, "tls": tls}
    return json.dumps({name: value for name, value in whole.items() if value is not None}, indent=1)


# --- its process
# ----------------------------------------------------------------------------------------------------


class NatsServer:
    def __init__(self, folder: Path, embedded: Embedded, fleet: str) -> None:
        self._folder, self._embedded, self._fleet = folder, embedded, fleet
        self._process = NotedProcess(folder / "process.json")
        self._written = ""
        self._child: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    def configure(self, people: list[dict[str, Any]]) -> None:
        """Let these in and nobody else, from now on; whoever is connected and is not among them is cut off."""
        text = configuration(self._folder, self._embedded, self._fleet, people)
        path = self._folder / "nats.conf"
        if text != self._written or not path.exists():
            private_files.write(path, text.encode())
            self._written = text
            self._process.signal(signal.SIGHUP)

    async def keep_up(self) -> None:
        """Start it if it does not run, and again whenever it has ended; until cancelled."""
        pause = 0.5
        while True:
            if not self.pid:
                wrong = await self.start()
                if wrong is not None:
                    log.warning("NATS cannot be started: %s", wrong.reason)
                    pause = min(pause * 2, 30.0)
                else:
                    pause = 0.5
            await asyncio.sleep(pause)

    async def start(self) -> Refused | None:
        """Until it listens."""
        found = program()
        if found is None:
            return Refused(MISSING)
        if self.pid:
            return None
        null = asyncio.subprocess.DEVNULL
        child = await asyncio.create_subprocess_exec(
            found,
            "-c",
            str(self._folder / "nats.conf"),
            stdin=null,
            stdout=null,
            stderr=null,
            start_new_session=True,
        )
        self._child = child
        self._process.note(child.pid)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if child.returncode is not None:
                return Refused(f"nats-server ended with {child.returncode}. {await self._complaint(found)}")
            if await self._listens():
                log.info("NATS listens on port %d (pid %d)", self._embedded.port, child.pid)
                return None
            await asyncio.sleep(0.02)
        return Refused(f"nats-server did not listen on port {self._embedded.port} within {START_S:.0f} s.")

    async def _complaint(self, found: str) -> str:
        """What it says of its configuration; else where its log is."""
        words = (found, "-t", "-c", str(self._folder / "nats.conf"))
        pipe = asyncio.subprocess.PIPE
        trial = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
        said, _ = await trial.communicate()
        return (
            said.decode(errors="replace")[-300:].strip()
            if trial.returncode
            else f"See {self._folder / 'nats.log'}."
        )

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._embedded.port)
        except OSError:
            return False
        writer.close()
        return True

    async def stop(self) -> None:
        await asyncio.to_thread(self._process.end)
        if self._child is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._child.wait(), 5.0)  # it has ended: this loop has to hear so
            self._child = None
