"""What the daemon does for a relay: dial out to it, speak TLS with the phones that come, keep a certificate.

Rule: what goes wrong is noted for `yourcall reach --status`, and tried again; nothing here ends the daemon.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import sys
from contextlib import suppress
from pathlib import Path

from yourcall.reach import tunnel
from yourcall.reach.relay import certificate
from yourcall.reach.relay.certificate import Problems
from yourcall.reach.relay.machine import Stays, fetch
from yourcall.reach.relay.messages import machine_key
from yourcall.reach.way import Relay, Way
from yourcall.server.listen import Listener
from yourcall.system import private_files

log = logging.getLogger(__name__)

LOOK_S = 60.0  # whether somebody else renewed the certificate
ORDER_S = 300.0  # for the process that orders one
# Between two orders that failed, each three times the last one: Let's Encrypt allows five an hour for a name.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 6 * 3600.0


class Relayed:
    """`await Relayed(…).run()`"""

    def __init__(self, home: Path, way: Way, relay: Relay, listener: Listener) -> None:
        self._home, self._relay, self._name = home, relay, way.names[0]
        self._listener = listener
        self._context: ssl.SSLContext | None = None
        self._is_registered = asyncio.Event()
        self._problems = Problems(relay="yourcall has not reached the relay yet.")

    async def run(self) -> None:
        self._note(self._problems)
        try:
            key = machine_key(certificate.machine_key(self._home))
        except (OSError, ValueError) as error:
            self._note(Problems(relay=f"This machine's key can't be read: {error}"))
            return
        async with asyncio.TaskGroup() as works:
            works.create_task(Stays(self._relay, self._name, key, self._arrive, self._tell).run())
            works.create_task(self._keep_certificate())

    async def _arrive(self, token: bytes, is_acme: bool) -> None:
        """A phone is at the relay; or an authority that looks whether the name is ours."""
        if is_acme:
            proof = certificate.challenge_context(self._home)
            await fetch(self._relay, token, _Closing(), proof)
        elif self._context is not None:
            await self._listener.listening.wait()
            await fetch(self._relay, token, self._listener.connection(), self._context)

    def _tell(self, problem: str) -> None:
        if problem != self._problems.relay:
            log.warning("the relay: %s", problem) if problem else log.info("registered at the relay")
            self._note(Problems(problem, self._problems.certificate))
        if problem:
            self._is_registered.clear()
        else:
            self._is_registered.set()

    def _note(self, problems: Problems) -> None:
        self._problems = problems
        try:
            certificate.note_problems(self._home, problems)
        except OSError as error:
            log.warning("what is wrong with the relay can't be noted: %s", error)

    async def _keep_certificate(self) -> None:
        """Take the certificate that is there, and a new one when it appears; order one before it ends."""
        pause, order_at, served = FIRST_PAUSE_S, 0.0, (0, 0)
        loop = asyncio.get_running_loop()
        while True:
            version = private_files.version(certificate.chain(self._home, self._relay)[0])
            if version != served:
                served = version
                self._take()
            due = LOOK_S
            if self._relay.directory:
                due = certificate.due_in(self._home, self._relay, self._name)
                if due <= 0 and loop.time() >= order_at:
                    await self._is_registered.wait()
                    problem = await self._order()
                    self._note(Problems(self._problems.relay, problem))
                    if problem:
                        log.warning("no certificate: %s Another attempt in %d s.", problem, pause)
                        order_at, pause = loop.time() + pause, min(pause * 3, LONGEST_PAUSE_S)
                    else:
                        log.info("a new certificate for %s", self._name)
                        pause = FIRST_PAUSE_S
                    continue
            await asyncio.sleep(min(LOOK_S, due if due > 0 else order_at - loop.time()))

    def _take(self) -> None:
        """New connections get the new one; open ones stay as they are."""
        try:
            self._context = certificate.context(self._home, self._relay)
        except OSError as error:  # ssl.SSLError too
            if not self._relay.directory:
                problem = f"{self._relay.certificate} and {self._relay.key} can't be used: {error}"
                self._note(Problems(self._problems.relay, problem))
            return
        self._note(Problems(self._problems.relay))

    async def _order(self) -> str:
        """Why there is no new certificate; empty if there is one."""
        words = [sys.executable, "-P", "-m", "yourcall.reach.relay.acme_order", str(self._home)]
        env = {**os.environ}
        if self._relay.authority:
            env["REQUESTS_CA_BUNDLE"] = self._relay.authority
        null, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
        try:
            program = await asyncio.create_subprocess_exec(
                *words, stdin=null, stdout=null, stderr=pipe, env=env, preexec_fn=tunnel.dying_with_us()
            )
        except OSError as error:
            return f"The order can't be started: {error}"
        try:
            async with asyncio.timeout(ORDER_S):
                _, line = await program.communicate()
        except TimeoutError:
            return "The certificate authority did not come to a decision in time."
        finally:
            if program.returncode is None:
                with suppress(ProcessLookupError):
                    program.kill()
                await program.wait()
        if program.returncode == 0:
            return ""
        lines = line.decode(errors="replace").strip().splitlines()
        return lines[-1][:400] if lines else "The order failed without a word."


class _Closing(asyncio.Protocol):
    """The proof was shown in the handshake; there is nothing more to say."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
