"""A fleet for tests: machines with real daemons in it, or just its NATS with the keys of some members.

The rule it keeps: NATS is the real nats-server, on a free port of loopback, and ends with the test.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from kit.poll import PATIENCE_S, until
from kit.yourcall import COMMAND, Yourcall
from yourcall.fleet import membership, nats_server
from yourcall.fleet.authority import Authority
from yourcall.fleet.bus import Bus, Credentials, tls_context
from yourcall.fleet.certificates import Member, MemberRole, Signed, verify
from yourcall.fleet.keys import Keys
from yourcall.fleet.membership import Embedded, Membership
from yourcall.fleet.subjects import Subjects, inbox


class Nats:
    """The NATS of a fleet, and members of it by name. `async with Nats(folder) as nats`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.authority = Authority(folder)
        self.public = self.authority.make()
        self.fleet = self.authority.fleet
        self.subjects = Subjects(self.fleet)
        self.keys: dict[str, Keys] = {}
        self.certificates: dict[str, Signed] = {}
        self.tls = nats_server.make_certificate(folder, self.authority.key, ("127.0.0.1",))
        port = nats_server.free_port()
        assert isinstance(port, int)
        self.url = f"tls://127.0.0.1:{port}"
        self.server = nats_server.NatsServer(folder, Embedded(port, listen="127.0.0.1"), self.fleet)
        self.with_authority = ""

    def member(self, name: str, *roles: MemberRole, authority: bool = False) -> Keys:
        keys = self.keys[name] = Keys.made()
        made = self.authority.admit(name, keys.seal_public, keys.nats_public, roles)
        assert isinstance(made, Signed)
        self.certificates[name] = made
        if authority:
            self.with_authority = keys.id
        self.configure()
        return keys

    def known(self, name: str) -> Member:
        return verify(self.public, self.certificates[name], Member, self.fleet)

    def configure(self, invitations: dict[str, str] | None = None) -> None:
        members = self.authority.members()
        people = nats_server.users(self.subjects, members, self.with_authority, invitations or {})
        self.server.configure(people)

    def bus(self, name: str) -> Bus:
        keys = self.keys[name]
        return Bus([self.url], Credentials(keys.nats), inbox(keys.id), tls_context(self.tls), name)

    async def __aenter__(self) -> Nats:
        self.configure()
        assert await self.server.start() is None
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()


class Machines:
    """Daemons of one fleet, by the names of their machines; the first has made it. `with Machines(folder, "anna",
    "bert") as fleet`."""

    def __init__(self, folder: Path, first: str, *others: str, roles: dict[str, str] | None = None) -> None:
        self._folder, self._roles = folder, roles or {}
        self.names = (first, *others)
        self.machines: dict[str, Yourcall] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Machines:
        try:
            for name in self.names:
                (self._folder / name).mkdir(parents=True)
                self.machines[name] = Yourcall(self._folder / name)
                self.machines[name].start()
            first = self[self.names[0]]
            made = first.run(
                "fleet", "create", "--yes", "--json", "--host-name", self.names[0], "--address", "127.0.0.1"
            )
            assert made.code == 0, made
            self.made: dict[str, str] = made.json
            for name in self.names[1:]:
                self.join(name, self._roles.get(name, "all"))
            self.wait_online(*(name for name in self.names if self._roles.get(name) != "hub"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for machine in reversed(self.machines.values()):
            with suppress(AssertionError):
                machine.stop()
        note = self._folder / self.names[0] / "yourcall" / "fleet" / "process.json"
        if note.exists():  # its daemon was killed, and NATS outlived it
            with suppress(ProcessLookupError):
                os.kill(json.loads(note.read_text())["pid"], signal.SIGKILL)

    def __getitem__(self, name: str) -> Yourcall:
        return self.machines[name]

    def join(self, name: str, kind: str = "all") -> None:
        code = self[self.names[0]].run("fleet", "invite", "--json", "--as", kind).json["code"]
        joined = self[name].run("fleet", "join", code, "--yes", "--host-name", name)
        assert joined.code == 0, joined

    def hosts(self, at: str = "") -> dict[str, dict[str, Any]]:
        status, found = self[at or self.names[0]].http("GET", "/api/hosts")
        assert status == 200, found
        return {each["name"]: each for each in found}

    def wait_online(self, *names: str, at: str = "") -> None:
        def all_there() -> bool:
            hosts = self.hosts(at)
            return all(name in hosts and hosts[name]["state"] == "online" for name in names)

        until(all_there, what=f"{names} to be online", show=lambda: json.dumps(self.hosts(at), indent=1))

    def wait_offline(self, name: str, at: str = "") -> None:
        until(lambda: self.hosts(at)[name]["state"] == "offline", what=f"{name} to be away")

    def of(self, at: str, host: str) -> list[dict[str, Any]]:
        """The prompts of one machine as another shows them."""
        return [each for each in self[at].waiting() if each["host"]["name"] == host]

    def wait_prompt(self, at: str, host: str, title: str) -> dict[str, Any]:
        """The one of this title, as a machine shows it."""
        (found,) = until(
            lambda: [each for each in self.of(at, host) if each["title"] == title],
            what=f"{title!r} of {host} at {at}",
            show=lambda: json.dumps(self[at].waiting())[:2000],
        )
        return found

    def membership(self, name: str) -> Membership:
        found = membership.read(self[name].home)
        assert isinstance(found, Membership)
        return found

    def keys(self, name: str) -> Keys:
        return Keys.load(self[name].home / "fleet")

    @property
    def nats_pid(self) -> int:
        return json.loads((self[self.names[0]].home / "fleet" / "process.json").read_text())["pid"]

    def bus(self, name: str) -> Bus:
        """A line of our own, with the keys that somebody took from this machine."""
        found, keys = self.membership(name), self.keys(name)
        address = next(each for each in found.addresses if "127.0.0.1" in each)
        return Bus([address], Credentials(keys.nats), inbox(keys.id), tls_context(found.tls), name)


@contextmanager
def asking(machine: Yourcall, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`yourcall ask … --wait` on one machine: an agent that stops and waits."""
    process = subprocess.Popen(
        [str(COMMAND), "ask", *words, "--wait"], env=machine.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


@asynccontextmanager
async def on_line(bus: Bus) -> AsyncIterator[Bus]:
    """The first line that NATS gives: it may read its configuration anew at this moment."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        connection = bus.connected()
        try:
            await connection.__aenter__()
            break
        except (OSError, ssl.SSLError, Exception):
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.02)
    try:
        yield bus
    finally:
        await connection.__aexit__(None, None, None)
