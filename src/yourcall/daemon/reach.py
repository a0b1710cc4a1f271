"""What the daemon does for the way that `yourcall reach` set up: speak TLS at home, keep a tunnel running.

Rule: nothing here may keep the daemon from starting; what fails is logged, and `yourcall reach --status` says so.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from yourcall.daemon.relayed import Relayed
from yourcall.reach import certificates, tunnel
from yourcall.reach.way import Way
from yourcall.server.listen import Listener, bind_tcp, listener
from yourcall.system import private_files

log = logging.getLogger(__name__)

DAY_S = 86_400.0
LOOK_S = 60.0  # whether somebody else renewed the certificate
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0  # between two starts of a tunnel that ends at once


def open_way(
    home: Path, way: Way, app: Any, port: int
) -> tuple[list[tuple[Listener, list[socket.socket]]], list[Coroutine[Any, Any, None]]]:
    """What else to serve, and what to do beside it. `port`: where the daemon listens, for a tunnel to lead to."""
    if way.relay is not None:
        through = listener(app)
        return [(through, [])], [Relayed(home, way, way.relay, through).run()]
    work: list[Coroutine[Any, Any, None]] = [_keep_up(home, way.tunnel(port))] if way.keep_up else []
    if not way.tls_port:
        return [], work
    try:
        context = _tls_context(home)
        at = bind_tcp(way.listen_on, way.tls_port, tries=1)
    except OSError as error:  # ssl.SSLError too
        log.warning("phones can't reach port %d: %s", way.tls_port, error)
        return [], work
    return [(listener(app, context), [at])], [*work, _keep_certificate(home, context)]


def _tls_context(home: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    paths = certificates.files(home)
    context.load_cert_chain(paths.certificate, paths.key)
    return context


async def _keep_certificate(home: Path, context: ssl.SSLContext) -> None:
    """Renew it before it ends, and take one that somebody else put there. New connections get the new one; open
    ones stay as they are."""
    paths = certificates.files(home)
    served = private_files.version(paths.certificate)
    renewal = 0.0
    while True:
        now = asyncio.get_running_loop().time()
        try:
            if now >= renewal:
                renewal = now + DAY_S
                if await asyncio.to_thread(certificates.renew, home):
                    log.info("renewed the certificate of this machine")
            current = private_files.version(paths.certificate)
            if current != served:
                context.load_cert_chain(paths.certificate, paths.key)
                served = current
                log.info("took the new certificate of this machine")
        except Exception as error:  # such as a key that is gone; phones get the old certificate until it ends
            log.warning("the certificate of this machine can't be renewed: %s: %s", type(error).__name__, error)
        await asyncio.sleep(LOOK_S)


async def _keep_up(home: Path, argv: tuple[str, ...]) -> None:
    """Start the tunnel's program, and start it again whenever it ends. One that outlived its daemon is ended
    first: it may hold the name or the port that the new one needs."""
    pause = FIRST_PAUSE_S
    while True:
        started = asyncio.get_running_loop().time()
        try:
            if await asyncio.to_thread(tunnel.end_left_over, home):
                await _run(home, argv)
            else:
                log.warning("a tunnel of an earlier run can't be ended, so none is started")
        except Exception as error:
            log.warning("%s can't be kept running: %s: %s", argv[0], type(error).__name__, error)
        ran = asyncio.get_running_loop().time() - started
        pause = FIRST_PAUSE_S if ran > LONGEST_PAUSE_S else min(pause * 2, LONGEST_PAUSE_S)
        await asyncio.sleep(pause)


async def _run(home: Path, argv: tuple[str, ...]) -> None:
    """One run of the tunnel's program, from its start to its end."""
    null = asyncio.subprocess.DEVNULL
    program = await asyncio.create_subprocess_exec(
        *argv, stdin=null, stdout=null, stderr=null, preexec_fn=tunnel.dying_with_us()
    )
    try:
        tunnel.note(home, program.pid)
        code = await program.wait()
    finally:
        if program.returncode is None:
            await _ended(program)
        tunnel.forget(home)
    log.warning("%s ended with %s; starting it again", argv[0], code)


async def _ended(program: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        program.terminate()
        try:
            await asyncio.wait_for(program.wait(), tunnel.KINDLY_S)
        except TimeoutError:
            program.kill()
            await program.wait()
