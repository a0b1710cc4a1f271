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

from yourcall.reach import certificates
from yourcall.reach.way import Way
from yourcall.server.listen import Listener, bind_tcp, listener

log = logging.getLogger(__name__)

DAY_S = 86_400.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0  # between two starts of a tunnel that ends at once


def open_way(
    home: Path, way: Way, app: Any
) -> tuple[list[tuple[Listener, socket.socket]], list[Coroutine[Any, Any, None]]]:
    """What else to serve, and what to do beside it."""
    work: list[Coroutine[Any, Any, None]] = [_keep_up(way)] if way.keep_up else []
    if not way.tls_port:
        return [], work
    try:
        context = _tls_context(home)
        at = bind_tcp(way.listen_on, way.tls_port, tries=1)
    except OSError as error:  # ssl.SSLError too
        log.warning("phones can't reach port %d: %s", way.tls_port, error)
        return [], work
    return [(listener(app, context), at)], [*work, _renew_daily(home, context)]


def _tls_context(home: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    paths = certificates.files(home)
    context.load_cert_chain(paths.certificate, paths.key)
    return context


async def _renew_daily(home: Path, context: ssl.SSLContext) -> None:
    """New connections get the new certificate; open ones stay as they are."""
    while True:
        if await asyncio.to_thread(certificates.renew, home):
            paths = certificates.files(home)
            context.load_cert_chain(paths.certificate, paths.key)
            log.info("renewed the certificate of this machine")
        await asyncio.sleep(DAY_S)


async def _keep_up(way: Way) -> None:
    """Start the tunnel's program, and start it again whenever it ends."""
    pause = FIRST_PAUSE_S
    while True:
        started = asyncio.get_running_loop().time()
        try:
            null = asyncio.subprocess.DEVNULL
            program = await asyncio.create_subprocess_exec(*way.keep_up, stdin=null, stdout=null, stderr=null)
        except OSError as error:
            log.warning("%s can't be started: %s", way.keep_up[0], error.strerror)
        else:
            try:
                code = await program.wait()
            finally:
                if program.returncode is None:
                    with suppress(ProcessLookupError):
                        program.terminate()
            log.warning("%s ended with %s; starting it again", way.keep_up[0], code)
        ran = asyncio.get_running_loop().time() - started
        pause = FIRST_PAUSE_S if ran > LONGEST_PAUSE_S else min(pause * 2, LONGEST_PAUSE_S)
        await asyncio.sleep(pause)
