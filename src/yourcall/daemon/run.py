"""The composition root and the map of the program: builds the edges, joins them to the loop, runs until stopped.

Rule: with `wiring`, the only file that knows every concrete edge; it decides nothing at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import logging
import os
import signal
import stat
import time
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import uvloop
from msgspec.structs import replace

from yourcall import __version__
from yourcall.agents.registry import AGENTS
from yourcall.channels.context import ChannelContext
from yourcall.daemon import heartbeat
from yourcall.daemon.config import Config, read_config, with_environment
from yourcall.daemon.fleet.door import FleetDoor
from yourcall.daemon.logs import start_logging
from yourcall.daemon.notify import Notifier
from yourcall.daemon.record_export import Exporter
from yourcall.daemon.reviews import Reviews
from yourcall.daemon.wiring import Daemon
from yourcall.links.changes import Changes
from yourcall.links.conversations import Conversations
from yourcall.links.discover import Discovery
from yourcall.links.presence import Presence
from yourcall.links.reconcile import Reconcile
from yourcall.links.screen.mirror import Mirror
from yourcall.links.send import Sender
from yourcall.model.prompts import Refused
from yourcall.reach.way import Way
from yourcall.reach.way import read as read_way
from yourcall.server.api.uploads import Uploads
from yourcall.server.app import make_app
from yourcall.server.contracts.rpc.connection import Tools
from yourcall.server.devices import Devices
from yourcall.server.listen import bind_tcp, hosts_for, listener
from yourcall.server.step_up import StepUp
from yourcall.store.search import Search
from yourcall.store.search_conversations import ConversationSearch
from yourcall.store.sqlite import Store
from yourcall.store.workspaces import Workspaces
from yourcall.system import private_files
from yourcall.system.connections import allow_many_files
from yourcall.system.sockets import bind_unix

log = logging.getLogger(__name__)

# What lies in the home as long as the daemon runs.
OURS = ("daemon.json", "api.sock", "hook.sock", "plugin.sock", heartbeat.NAME)


class Listening(msgspec.Struct, frozen=True):
    """Where the daemon listens; `daemon.json` in the home holds just this, for the user's own commands."""

    pid: int
    port: int
    url: str
    version: str
    started_at: float
    wished_port: int = 0
    # As they were given to `up`, so that a restart gives them again.
    bind: str = ""
    public_url: str = ""


class AlreadyRunning(Exception):
    """Another daemon has this home: the process `pid`, or 0 if it has not said so yet."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.pid = pid


class BadConfig(Exception):
    """The configuration cannot be understood; the message says where and why."""


def run(
    home: Path,
    port: int | None = None,
    bind: str | None = None,
    public_url: str | None = None,
    announce: Callable[[Listening], None] = lambda _: None,
) -> int:
    """Run in this process until SIGTERM or SIGINT. `announce` is called once everything listens. The exit code is
    not 0 if the disk failed us, so that whoever looks after us starts us again."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.stat().st_mode & stat.S_ISVTX:  # such as /tmp: closed to others, it would be of no use to anybody
        raise BadConfig(f"{home} is a folder that is shared with others; yourcall's home is its user's alone")
    home.chmod(0o700)
    config = read_config(home)
    config = config if isinstance(config, Refused) else with_environment(config, os.environ)
    if isinstance(config, Refused):
        raise BadConfig(config.reason)
    way = read_way(home)
    if way and way.port:  # others were told this port
        if port not in (None, 0, way.port):
            raise BadConfig(
                f"Phones reach this machine by {way.way}, which leads to port {way.port}, not {port}. Leave --port"
                " out, or take that way down first: yourcall reach --undo"
            )
        port = way.port
    given = {"port": port, "bind": bind, "public_url": public_url}
    server = replace(config.server, **{name: value for name, value in given.items() if value is not None})
    config = replace(config, server=server)
    if server.public_url and not _whole(server.public_url):
        raise BadConfig(f"public_url is {server.public_url!r}: it takes a whole address, https://desk.example.net")
    with _only_one(home):
        start_logging(home)
        allow_many_files()
        store = Store.open(home / "yourcall.db")
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                whole = runner.run(_serve(home, store, config, announce, way, (bind or "", public_url or "")))
        finally:
            store.close()
    return 0 if whole else 1


def _whole(url: str) -> bool:
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        return False


async def _serve(
    home: Path,
    store: Store,
    config: Config,
    announce: Callable[[Listening], None],
    way: Way | None,
    given: tuple[str, str],
) -> bool:
    """Until it is stopped; False if it stopped itself, because nothing could be written any more. `given`: the
    address to bind and the public URL as they came with the command."""
    bind, port = config.server.bind, config.server.port
    # What `yourcall reach` set up last is what a phone is sent to; the daemon answers to the other name as well.
    public_url = (way.url if way else "") or config.server.public_url
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # who says nohup means it
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    daemon = Daemon(store, config, stop.set, home)
    tcp, unix = bind_tcp(bind, port), bind_unix(home, "api.sock")
    actual = tcp.getsockname()[1]
    url = public_url or f"http://{'[' + bind + ']' if ':' in bind else bind}:{actual}"
    hosts, devices = hosts_for(bind, actual, config.server.public_url), Devices(store)
    if way:
        hosts |= way.hosts
        if way.port not in (0, actual):
            log.warning("%s leads to port %d, which another program has; phones reach that one", way.way, way.port)
    talks = Conversations(AGENTS.get)
    changes = Changes(
        lambda session, before, file: talks.page(session, "", before=before, after=None, file=file, limit=500)
    )
    voice = Sender(
        daemon.speaker,
        daemon.steered,
        daemon.started,
        daemon.private_sessions,
        daemon.authority.may_say,
        daemon.orders.told,
    )
    daemon.orders.reaches = voice.reaches
    talk_search = ConversationSearch(home / "search-conversations.db", store, talks)
    reviews = Reviews(daemon.loop, store, daemon.started, talks, changes, daemon.orders, AGENTS.get)
    presence = Presence(lambda: daemon.loop.state.sessions.values(), daemon.tmux)
    # A phone cannot follow a link to this machine's own loopback.
    reached = public_url or ("" if bind in ("127.0.0.1", "::1", "localhost") else url)
    uploads = Uploads(home / "uploads")
    desk = ChannelContext(daemon.loop, voice, daemon.started, daemon.rules, talks, uploads, daemon.orders, reviews)
    passkey = daemon.authority.passkey_options
    telling = Notifier(
        home, daemon.loop, store, config, presence, desk, reached, settings=daemon.settings, passkey=passkey
    )
    step_up = StepUp(store, store.host_id(), lambda: hosts, told=log.warning)
    daemon.authority.proofs = step_up
    devices.forgets.append(step_up.forget)
    lockdown = daemon.lockdown_of(devices)
    lockdown.close += [devices.close_pairing, telling.unpair_all]
    mirror, workspaces = Mirror(daemon.tmux), Workspaces(home)
    tools = Tools(
        daemon.loop,
        talks,
        voice,
        daemon.started,
        mirror,
        workspaces,
        set(),
        daemon.private_sessions,
        daemon.ties,
        daemon.orders,
        reviews,
    )
    app = partial(
        make_app,
        daemon.loop,
        devices,
        lambda: hosts,
        conversations=talks,
        voice=voice,
        starting=daemon.started,
        told=telling,
        asks=daemon.asks,
        mirror=mirror,
        rpc_tools=tools,
        uploads=uploads,
        rules=daemon.rules,
        ties=daemon.ties,
        lockdown=lockdown,
        step_up=step_up,
        policy=daemon.policy,
        changes=changes,
        search=Search(home / "search.db", store),
        orders=daemon.orders,
        git=daemon.git,
        reviews=reviews,
        talk_search=talk_search,
    )
    fleet = FleetDoor(home, daemon.loop, devices, lambda: app(local=False, inside=True), telling)
    daemon.authority.of_fleet = fleet.may
    remote, local = app(local=False, fleet=fleet), app(local=True, stop=stop.set, fleet=fleet)
    listeners = [(listener(remote), [tcp]), (listener(local), [unix])]
    reaching: list[Coroutine[Any, Any, None]] = []
    if way:
        from yourcall.daemon.reach import open_way  # loads what makes certificates; most starts don't need it

        more, reaching = open_way(home, way, remote, actual)
        listeners += more
    heart = heartbeat.Heartbeat(home)
    beating = asyncio.create_task(heart.run())
    await lockdown.enforce()  # before anybody is served: it may have been locked while nothing ran
    await daemon.started.take_over()
    await daemon.upkeep.let_go_of_the_dead()
    daemon.ties.doubt_stored()
    hooks = await daemon.hooks.serve(home)
    plugins = await daemon.plugins.serve(home)
    async with asyncio.TaskGroup() as tasks:
        serving = [tasks.create_task(each.serve(socks)) for each, socks in listeners]
        await daemon.upkeep.recover()
        await daemon.git.recover()
        daemon.plugins.let_go_of_absent()
        finding = config.discovery
        looking = Discovery(daemon.events, AGENTS, finding.mode, finding.root_pid, daemon.runs.linked)
        daemon.screens.raised = looking.hurry
        anew = Reconcile(
            daemon.events, AGENTS.get, daemon.watches.watching, daemon.speaker.reaches, daemon.screens.shown,
            store.asked_at,
        )  # fmt: skip
        daemon.orders.settled = lambda: not anew.looking
        looks = (
            anew,
            daemon.orders,
            reviews,
            talk_search,
            looking,
            daemon.channels,
            daemon.screens,
            daemon.runs,
            daemon.asks,
            daemon.ties,
            daemon.settings,
            lockdown,
            fleet,
        )
        sweeping = [tasks.create_task(work.run()) for work in (*looks, *daemon.servers.values())]
        sweeping += [tasks.create_task(daemon.upkeep.run()), tasks.create_task(telling.run())]
        sweeping += [tasks.create_task(work) for work in reaching]
        sweeping += [tasks.create_task(Exporter(home, *each).run()) for each in config.export.items()]
        for each, _ in listeners:
            await each.listening.wait()
        where = Listening(os.getpid(), actual, url, __version__, time.time(), port, *given)
        private_files.write(home / "daemon.json", msgspec.json.encode(where))
        ours = {home / name: (home / name).stat().st_ino for name in OURS}
        log.info("listening on %s", url)
        announce(where)
        gc.freeze()  # what is loaded by now stays: to search it for circles again and again takes 30 ms each time
        await stop.wait()
        log.info("stopping")
        for each in sweeping:
            each.cancel()
        hooks.close()
        plugins.close()
        await daemon.started.close()
        for each, _ in listeners:
            each.leave()
        await asyncio.wait(serving)
        await daemon.close()
    beating.cancel()
    heart.close()
    for path, inode in ours.items():
        if path.exists() and path.stat().st_ino == inode:  # a home made anew may be another daemon's by now
            path.unlink(missing_ok=True)
    return not daemon.failed


@contextlib.contextmanager
def _only_one(home: Path) -> Generator[None]:
    """The lock is the kernel's: it goes with the process, however that ends."""
    file = os.open(home / "daemon.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        line = os.pread(file, 20, 0)
        os.close(file)
        raise AlreadyRunning(int(line) if line.isdigit() else 0) from error
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, b"%d" % os.getpid(), 0)
        yield
    finally:
        os.close(file)
