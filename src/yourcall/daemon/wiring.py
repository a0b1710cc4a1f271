"""Builds the links and joins them to the loop.

Rule: with `run`, the only file that knows every concrete link; it decides nothing at all.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path

from yourcall.agents.registry import AGENTS, SCREENS, USUAL
from yourcall.daemon import lockdown
from yourcall.daemon.authority import Authority
from yourcall.daemon.config import Config
from yourcall.daemon.deliver import Carrier, Delivery, by_hook
from yourcall.daemon.events import Events
from yourcall.daemon.hook_intake import HookIntake
from yourcall.daemon.lockdown import Lockdown
from yourcall.daemon.loop import Loop
from yourcall.daemon.rules.lazy_rules import LazyRules
from yourcall.daemon.settings_record import SettingsRecord
from yourcall.daemon.standing_orders import StandingOrders
from yourcall.daemon.upkeep import Upkeep
from yourcall.links.agent_processes.marks import Marks
from yourcall.links.agent_processes.run_as import Ran, last_line, run_as
from yourcall.links.agent_processes.ties import Ties
from yourcall.links.agent_server import AgentServers, homes
from yourcall.links.channel_files import ChannelWatcher
from yourcall.links.git_actions import SSH, GitActions
from yourcall.links.plugin import Plugins
from yourcall.links.presence import typed_at
from yourcall.links.private_tmux.sessions import PrivateSessions
from yourcall.links.proof import PromptWatches
from yourcall.links.pty.runs import Runs
from yourcall.links.questions import ScriptQuestions
from yourcall.links.screen.announced_calls import AnnouncedCalls
from yourcall.links.screen.filling import DialogFiller
from yourcall.links.screen.send_text import TextSender
from yourcall.links.screen.servers import Servers
from yourcall.links.screen.typing import Keyboard
from yourcall.links.screen.watcher import ScreenWatcher
from yourcall.links.send import OfItsAgent, Steered
from yourcall.links.stdio.records import Records
from yourcall.links.stdio.sessions import Policy, StdioSessions
from yourcall.model.events import HolderLost
from yourcall.model.people import AnswerPolicy
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.model.sessions import Session
from yourcall.server.devices import Devices
from yourcall.store.sqlite import Store
from yourcall.system.peer import Supervisor
from yourcall.system.sockets import short_folder

log = logging.getLogger(__name__)

# A command that an order waits for; a build with its tests takes a while.
CHECK_S = 3600.0


class Daemon:
    """Every part of the daemon but its listeners. `stop` is called when nothing can be written any more."""

    def __init__(self, store: Store, config: Config, stop: Callable[[], None], home: Path | None = None) -> None:
        self.config = config
        self._home = home
        self._stop = stop
        self.failed = False
        self.loop = Loop(store, lambda command: self.delivery.perform(command), self._failed)
        self.events = Events(self.loop, cool_down=config.outline_cool_down)
        self.watches = PromptWatches(self.events, AGENTS.get)
        self.tmux = Servers()
        self.calls = AnnouncedCalls(self.events, lambda session_id: self.speaker.reaches(session_id))
        self.screens = ScreenWatcher(self.events, self.tmux, SCREENS.get, self.calls)
        folder = short_folder(home, "pty") if home else None
        self.runs = Runs(self.events, self.tmux, self.screens, folder, AGENTS.get)
        self.keyboard = Keyboard(self.events, self.tmux, self.screens, SCREENS.get)
        self.filling = DialogFiller(self.events, self.tmux, self.screens, SCREENS.get)
        self.speaker = TextSender(self.events, self.tmux, self.screens, SCREENS.get)
        self.records = Records(store.path.parent / "acp")
        self.started = StdioSessions(self.events, AGENTS, *_policies(config), self.records, home)
        self.private_sessions = PrivateSessions(self.events, self.screens, self.started, AGENTS.get, home)
        self.asks = ScriptQuestions(self.events, store)
        self.servers = {
            name: AgentServers(
                self.events, agent, partial(self.sockets, name), lambda session: typed_at(session, self.tmux)
            )
            for name, agent in AGENTS.items()
            if agent.server is not None
        }
        self.plugins = Plugins(self.events, AGENTS, self.records)
        self.channels = ChannelWatcher(self.plugins, AGENTS, home)
        self.steered: dict[str, Steered] = {
            "stdio": self.started,
            "socket": OfItsAgent(self.servers),
            "plugin": self.plugins,
        }
        self.settings = SettingsRecord(store.path.parent, store)
        self.rules = LazyRules(
            store.path.parent,
            store,
            AGENTS.get,
            lambda: self.config.rules.per_minute,
            self._folder_of,
            self.settings.note,
        )
        marks = Marks() if config.agents.mark_processes else Marks(top=0)
        scripted = tuple(name for name, agent in AGENTS.items() if agent.scripted)
        self.ties = Ties(self.events, self._session, self._supervisors, scripted, marks, agents=AGENTS.get)
        for each in self.servers.values():
            each.served = self.ties.note_server
        self.events.runs, self.events.ties = self.runs, self.ties
        self.events.rules, self.events.watches = self.rules, self.watches
        self.intake = HookIntake(
            self.loop,
            self.events,
            config,
            watches=self.watches,
            ties=self.ties,
            calls=self.calls,
            screens=self.screens,
            speaker=self.speaker,
            started=self.started,
        )
        self.hooks = self.intake.hooks
        self.git = GitActions(self.events, self._run_git, self._session)
        self.orders = StandingOrders(self.loop, store, self._check)
        self.intake.barred = self.started.barred = self.orders.barred = self.barred
        self.intake.spoken = self.orders.heard
        carriers: dict[str, Carrier] = {
            "hook": by_hook(AGENTS, self.hooks),
            "screen": self._by_keys,
            "speech": lambda prompt, answer, _: self.speaker.deliver(prompt, answer),
            "stdio": self.started.deliver,
            "plugin": self.plugins.deliver,
            "socket": lambda prompt, answer, request: self.servers[prompt.agent].deliver(prompt, answer, request),
            "ask": lambda prompt, answer, _: self.asks.deliver(prompt, answer),
            "git": self.git.deliver,
        }
        self.authority = Authority(store, self.policy, self.rules.effects, self.barred)
        self.loop.authority = self.authority.judge
        still_there = self.authority.still_there
        self.delivery = Delivery(self.events, carriers, AGENTS, self.hooks.release, still_there)
        self.upkeep = Upkeep(
            self.loop,
            self.events,
            config.keep.days,
            watches=self.watches,
            hooks=self.hooks,
            asks=self.asks,
            calls=self.calls,
            records=self.records,
        )

    def policy(self) -> AnswerPolicy:
        """What is wanted before a yes counts."""
        return self.rules.policy(self.config.policy)

    def barred(self) -> Refused | None:
        """Why nothing may be done through yourcall now."""
        locked = self._home is not None and lockdown.read(self._home) is not None
        return Refused(lockdown.WHY) if locked else None

    def lockdown_of(self, devices: Devices) -> Lockdown:
        """The emergency lock of this daemon. `devices`: those that it revokes."""

        def held() -> list[str]:
            waiting = self.loop.state.prompts.values()
            return [each.id for each in waiting if each.link == "hook" and self.hooks.held(each.id)]

        async def let_go(event: HolderLost) -> None:
            await self.events.post(event)
            self.hooks.release(event.prompt_id)

        store, was_locked = self.loop.store, self.settings.state("lock") != ""
        return Lockdown(store.path.parent, store, devices.revoke, held, let_go, was_locked)

    def _session(self, session_id: str) -> Session | None:
        return self.loop.state.sessions.get(session_id) or self.loop.store.session(session_id)

    def _supervisors(self) -> dict[str, Supervisor]:
        return self.config.supervisors

    def _folder_of(self, session_id: str) -> str:
        session = self.loop.state.sessions.get(session_id)
        return session.cwd if session is not None else ""

    async def _run_git(
        self, session: Session, argv: Sequence[str], cwd: str, env: Mapping[str, str], seconds: float
    ) -> Ran:
        own = await self.started.environment()
        ssh = {"GIT_SSH_COMMAND": own.get("GIT_SSH_COMMAND", SSH)}
        return await run_as(self.ties, session, argv, cwd=cwd, env={**own, **ssh, **env}, seconds=seconds)

    async def _check(self, session: Session, command: str) -> str:
        """Whether a command of a person's passes in a session's folder: '', or how it ended."""
        env = await self.started.environment()
        ran = await run_as(
            self.ties, session, ["/bin/sh", "-c", command], cwd=session.cwd, env=env, seconds=CHECK_S
        )
        if ran.code == 0:
            return ""
        how = f"took longer than {CHECK_S / 60:.0f} minutes" if ran.code is None else f"failed (exit {ran.code})"
        text = last_line(ran.output)
        return f"`{command[:80]}` {how}{': ' + text if text else ''}"

    def _by_keys(self, prompt: Prompt, answer: Answer, _request: bytes) -> Coroutine[None, None, None]:
        typist = self.filling if self.filling.takes(prompt, answer) else self.keyboard
        return typist.deliver(prompt, answer)

    def _failed(self, error: Exception) -> None:
        """Without a disk nothing is sure: better no yourcall than a wrong one; the dialogs are all there."""
        log.error("stopping, because nothing can be written any more: %s", error)
        self.failed = True
        self._stop()

    def sockets(self, name: str) -> list[Path]:
        """Where servers of this agent may listen. With discovery off, or below one process, only where told to."""
        agent = AGENTS[name]
        assert agent.server is not None
        looks = self.config.discovery.mode != "off"
        anywhere = looks and not self.config.discovery.root_pid
        variable, folder = agent.server.variable, Path.home() / agent.server.folder
        own = Path(os.environ.get(variable) or folder) if anywhere else None
        seen = self.loop.state.sessions.values() if looks else ()
        ours = agent.own_server.folder if agent.own_server else ""
        started = short_folder(self._home, ours).glob("*.sock") if self._home and ours else ()
        known = homes(name, agent.server, self.config.homes(name), own, seen)
        return [*started, *(home / agent.server.socket for home in known)]

    async def close(self) -> None:
        """Whatever is under way is left as it is: the next start looks at it."""
        await self.orders.close()
        await self.delivery.tasks.close()
        await self.upkeep.tasks.close()
        await self.plugins.close()
        await self.speaker.tasks.close()
        await self.tmux.close()


def _policies(config: Config) -> tuple[Policy, dict[str, Policy]]:
    """What the config says about the usual agent, and about the others."""
    policies = config.policies()
    return policies.pop(USUAL), {name: policies.get(name, Policy()) for name in AGENTS if name != USUAL}
