"""Joins people to prompts: builds the channels from the configuration, runs them, and takes what comes back by a
tap.

Rule: knows the channels only through their seam; a configuration that became wrong while we run leaves the old
channels running, and says so.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.alerts import Alerts
from yourcall.channels.buttons import with_tokens
from yourcall.channels.channel import Channel, Paired, Sent, TwoWay, World
from yourcall.channels.config import PUSH, make_channel, secrets_for, with_push
from yourcall.channels.context import ChannelContext, Ledger, Memory
from yourcall.channels.context import Loop as ContextLoop
from yourcall.channels.notice import notice
from yourcall.channels.push.channel import Push
from yourcall.channels.runner import Condition, Runner
from yourcall.channels.secrets import Secrets, read_secrets, secrets_of
from yourcall.core.notify_policy import name_of
from yourcall.core.prompt_version import digest_of
from yourcall.core.safety import too_late
from yourcall.core.taps import STILL_S, hash_of, offered
from yourcall.daemon.config import Config, read_config
from yourcall.daemon.loop import Loop, to_its_end
from yourcall.daemon.settings_record import SettingsRecord
from yourcall.links.presence import Presence
from yourcall.model.prompts import Answer, Option, Prompt, Question, Refused, Verdict
from yourcall.store.sqlite import Store

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

# How long whoever tapped waits to hear what became of it; the phone shows a spinner meanwhile.
TAP_WAIT_S = 5.0

# What a notification needs from us to the phone, at the least.
LINE_S = 0.3

TOO_QUICK = "Too quick: nothing was sent. Look again, and tap after a second."

# A service that needs longer to take a connection is down.
CONNECT_S = 10.0
REPLY_S = 20.0

TEST = "test-"


class Trial(Struct, frozen=True):
    """What became of one test: what was said, and whether somebody tapped its button."""

    channel: str
    kind: str
    target: str
    sent: bool
    detail: str = ""
    tapped: bool = False


class Known(Struct, frozen=True):
    """One channel as it is configured and as it does."""

    name: str
    kind: str
    rung: str
    targets: int
    worked_at: float
    problem: str


class _Keep:
    """One channel's own facts: read once, written through."""

    def __init__(self, memory: Memory, channel: str) -> None:
        self._memory = memory
        self._channel = channel
        self._facts = dict(memory.remembered(channel))

    def get(self, key: str, /) -> bytes | None:
        return self._facts.get(key)

    def all(self) -> Mapping[str, bytes]:
        return dict(self._facts)

    async def forget(self) -> None:
        for key in self.all():
            await self.put(key, None)

    async def put(self, key: str, value: bytes | None, /) -> None:
        # Here first: whoever changes another part of it meanwhile builds on this, and the disk has the same order.
        if value is None:
            self._facts.pop(key, None)
        else:
            self._facts[key] = value
        await self._memory.remember(self._channel, key, value)


class Notifier:
    """`url`: where devices reach us, empty if only this machine can. Its methods are what the server offers."""

    def __init__(
        self,
        home: Path,
        loop: Loop,
        store: Store,
        config: Config,
        presence: Presence,
        desk: ChannelContext,
        url: str,
        *,
        clock: Callable[[], float] = time.time,
        settings: SettingsRecord | None = None,
        passkey: Callable[[Prompt], Collection[tuple[str, str]]] = lambda _: (),
    ) -> None:
        self._passkey = passkey
        self._clock = clock
        self._settings = settings or SettingsRecord(home, store)
        self._home = home
        self._loop = loop
        self._store = store
        self._presence = presence
        self._desk = replace(desk, tried=self._tried)
        self._url = url
        self._http: httpx.AsyncClient | None = None
        self._keeps: dict[str, _Keep] = {}
        self._kinds: dict[str, str] = {}
        self._tests: dict[str, asyncio.Event] = {}
        self._tapped: dict[str, float] = {}
        self._anew = asyncio.Event()
        self._channels: list[Channel] = []
        self.generation = 0  # of the channels: another one after each change of the configuration
        self._config = config
        self._alerts = Alerts(loop, lambda: self._channels, lambda: self._config.notify, url)
        self._runner = self._built(config)
        if isinstance(self._runner, Refused):
            log.error("only the phone app is told: %s", self._runner.reason)
            self._runner = self._built_with(replace(config, channels={}), {})
        self._settings.channels = self._configured
        self._settings.people = self._people

    async def run(self) -> None:
        """Until cancelled; with other channels after `reload`."""
        alerting: asyncio.Task[None] | None = None
        try:
            await self._forget_others()
            alerting = asyncio.create_task(self._alerts.run())
            while True:
                self._anew.clear()
                running = asyncio.create_task(self._running().run(self._desk))
                waiting = asyncio.create_task(self._anew.wait())
                try:
                    await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    running.cancel()
                    waiting.cancel()
                    ends = await asyncio.gather(running, waiting, return_exceptions=True)
                if isinstance(ends[0], Exception):
                    log.error("telling people failed; trying again", exc_info=ends[0])
                    await asyncio.sleep(CONNECT_S)
        finally:
            if alerting is not None:
                alerting.cancel()
            if self._http is not None:
                await self._http.aclose()

    async def _forget_others(self) -> None:
        """As with `reload`: a channel was taken out while we did not run, and whoever was paired there with it."""
        try:
            for name in set(self._store.remembering()) - set(with_push(self._config.channels)):
                await self._store.forget(name)
        except Exception:  # no reason to tell nobody
            log.exception("who was paired in channels that are gone could not be forgotten")

    def _configured(self) -> Mapping[str, str]:
        """The kind of each channel in the configuration."""
        return {name: table.kind for name, table in self._config.channels.items()}

    def _people(self) -> Mapping[str, str] | None:
        """Who is paired where; None while a configured channel cannot be asked."""
        if any(name not in {channel.name for channel in self._channels} for name in self._config.channels):
            return None
        paired = [channel for channel in self._channels if isinstance(channel, Paired)]
        return {f"{channel.name}/{id}": name for channel in paired for id, name in channel.people().items()}

    async def reload(self, by: str) -> Refused | None:
        """Read the configuration again; if it is wrong, nothing changes.

        A channel that is not in it any more is forgotten, with everybody who was paired there.
        """
        config = read_config(self._home)
        if isinstance(config, Refused):
            return config
        built = self._built(config)
        if isinstance(built, Refused):
            return built
        gone = [self._keeps.pop(name, None) for name in self._config.channels if name not in config.channels]
        before, self._config, self._runner = self._config, config, built
        self._settings.compare_channels(by)
        for name, table in config.channels.items():
            if name in before.channels and before.channels[name] != table:
                self._settings.channel_changed(name, by)
        self._anew.set()
        for keep in gone:
            if keep is not None:
                await keep.forget()
        return None

    # --- the phone app -------------------------------------------------------------------------------------------

    def push_key(self) -> str:
        return self._push().public_key()

    def subscribed(self, device_id: str) -> bool:
        return self._push().subscribed(device_id)

    async def subscribe(self, device_id: str, endpoint: str, p256dh: str, auth: str) -> Refused | None:
        refused = await self._push().subscribe(device_id, endpoint, p256dh, auth)
        self._running().wake()
        return refused

    async def unsubscribe(self, device_id: str) -> None:
        await self._push().unsubscribe(device_id)

    async def test_push(self, device_id: str) -> Trial:
        """One notification to this device alone."""
        if not self.subscribed(device_id):
            return Trial(PUSH, PUSH, device_id, False, "this device has not turned notifications on")
        return await self._try(self._push(), device_id, 0)

    def in_front(self) -> None:
        self._presence.in_front()

    # --- single-use answers --------------------------------------------------------------------------------------

    async def tap(self, token: str) -> Verdict:
        """Whoever has this token answers with it, once."""
        return await to_its_end(self._tap(hash_of(token)))

    async def _tap(self, key: str) -> Verdict:
        tap = self._store.tap(key)
        if tap is None:
            return Verdict("too_late", "This button was used before, or what it answered is over.")
        if tap.prompt_id in self._tests:
            self._tests[tap.prompt_id].set()
            return Verdict("confirmed", "This was a test, and it works.")
        hasty = self._hasty(tap.channel)
        prompt = self._loop.prompt(tap.prompt_id)  # on disk may be what was asked before
        if prompt is None or digest_of(prompt) != tap.offer:
            return Verdict("refused", "The request has changed since you saw it. Look at it again in the app.")
        if not any((q.id, o.id) == (tap.question, tap.option) for q, o in offered(prompt)) and prompt.answerable:
            return Verdict("refused", "This takes a look at all of it. Open it in the app.")
        if too_late(prompt) is None and (hasty or self._clock() - tap.at < STILL_S + LINE_S):
            return Verdict("refused", TOO_QUICK)
        # By the same id each time, so that it is one answer however often it comes; another one when it came back.
        name = hash_of(f"{key} {name_of(prompt)}")[:24]
        answer = Answer(
            name, f"{tap.channel} button", "tap", {tap.question: (tap.option,)}, author_certainty="button"
        )
        verdict, _ = await self._loop.answer(tap.prompt_id, answer, TAP_WAIT_S)
        if verdict.result not in ("refused", "too_late"):
            # Only now: what was not taken has answered nothing, and its button is all that the person has.
            await self._store.drop_tap(key)
        return verdict

    def _hasty(self, channel: str) -> bool:
        """Right behind another tap of this channel, whether that was taken or not: one notification makes room for
        the next under the same finger."""
        now, last = self._clock(), self._tapped.get(channel, 0.0)
        self._tapped[channel] = now
        return last <= now < last + STILL_S

    # --- the command line ----------------------------------------------------------------------------------------

    def channels(self) -> list[Known]:
        known: list[Known] = []
        for each in self._channels:
            does = self._running().conditions.get(each.name, Condition())
            kind, rung = self._kinds[each.name], each.abilities.rung
            problem = _deaf(each) or does.problem
            known.append(Known(each.name, kind, rung, len(each.targets()), does.worked_at, problem))
        return known

    async def test(self, name: str, wait: float) -> list[Trial] | Refused:
        """One real notice through each channel, or the named one; taken back when tapped, or after `wait`."""
        chosen = [channel for channel in self._channels if name in ("", channel.name)]
        if not chosen:
            return Refused(f"There is no channel {name!r}. See which there are with: yourcall channels")
        trials = [self._try(each, target, wait) for each in chosen for target in each.targets()]
        silent = [
            Trial(channel.name, self._kinds[channel.name], "", False, _nobody(self._kinds[channel.name], channel))
            for channel in chosen
            if not channel.targets() and (name or channel.name != PUSH)
        ]
        return [*await asyncio.gather(*trials), *silent]

    async def unpair(self, name: str, person: str, by: str) -> Refused | None:
        """One person, by name or number, is not heard there any more."""
        channel = next((channel for channel in self._channels if channel.name == name), None)
        if channel is None:
            return Refused(f"There is no channel {name!r}. See which there are with: yourcall channels")
        people: Mapping[str, str] = channel.people() if isinstance(channel, Paired) else {}
        meant = [id for id, known in people.items() if person and person.lower() in (id, known.lower())]
        if len(meant) == 1 and isinstance(channel, Paired):
            with self._settings.changing():
                await channel.unpair(meant[0])
                self._settings.compare_people(by)
            return None
        listed = ", ".join(f"{known} ({id})" for id, known in people.items() if not meant or id in meant)
        if meant:
            return Refused(f"{len(meant)} people are called that; give the number: {listed}.")
        return Refused(f"Nobody is paired with {name}." if not people else f"Say who: {listed}.")

    async def unpair_all(self, by: str) -> None:
        """Nobody is heard in any chat any more, until they are paired again."""
        with self._settings.changing():
            for channel in [each for each in self._channels if isinstance(each, Paired)]:
                for person in list(channel.people()):
                    await channel.unpair(person)
            self._settings.compare_people(by)

    def _tried(self, prompt_id: str) -> None:
        if prompt_id in self._tests:
            self._tests[prompt_id].set()

    async def _try(self, channel: Channel, target: str, wait: float) -> Trial:
        prompt = _test_prompt(self._home)
        made = notice(prompt.id, [prompt], url=self._url)
        tapped = self._tests[prompt.id] = asyncio.Event()
        kind = self._kinds[channel.name]
        try:
            shown = await with_tokens(made, channel, prompt, self._store, self._clock())
            can_tap = isinstance(channel, TwoWay) or any(button.token for button in shown.buttons)
            if not can_tap:  # a push's buttons answer prompts, and this is none
                shown = replace(shown, buttons=())
            try:
                async with asyncio.timeout(CONNECT_S + REPLY_S):
                    done = await channel.send(target, shown)
            except TimeoutError:
                return Trial(channel.name, kind, target, False, "no answer in time")
            except Exception as error:  # one channel's bug must not hide how the others do
                return Trial(channel.name, kind, target, False, f"it failed ({type(error).__name__})")
            if not isinstance(done, Sent):
                return Trial(channel.name, kind, target, False, done.why)
            if can_tap and wait:
                try:
                    async with asyncio.timeout(wait):
                        await tapped.wait()
                except TimeoutError:
                    pass
            over = replace(made, standing="over", outcome="This was a test", buttons=())
            if channel.abilities.edit:
                await channel.update(target, done.receipt, over)
            elif channel.abilities.withdraw and wait and can_tap:
                await channel.withdraw(target, done.receipt, over)
            return Trial(channel.name, kind, target, True, _deaf(channel), tapped.is_set())
        finally:
            del self._tests[prompt.id]
            await self._store.drop_taps(prompt.id)

    # --- building ------------------------------------------------------------------------------------------------

    def _built(self, config: Config) -> Runner | Refused:
        kept = read_secrets(self._home)
        return kept if isinstance(kept, Refused) else self._built_with(config, kept)

    def _built_with(self, config: Config, kept: Secrets) -> Runner:
        configured = with_push(config.channels)
        channels: list[Channel] = []
        for name, each in configured.items():
            world = World(
                secrets=secrets_of(name, secrets_for(each), kept, os.environ),
                keep=self._keeps.setdefault(name, _Keep(self._store, name)),
                http=self._client,
                clock=time.time,
                sleep=asyncio.sleep,
                home=self._home,
                devices=self._devices,
                url=self._url,
                titles_only=config.notify.titles_only,
            )
            channels.append(make_channel(name, each, world))
        self._kinds = {name: each.kind for name, each in configured.items()}
        return self._runner_of(channels, config)

    # --- other machines ------------------------------------------------------------------------------------------

    @property
    def desk(self) -> ChannelContext:
        return self._desk

    def tells(self) -> bool:
        """Can anybody be told by these channels now?"""
        return any(channel.targets() for channel in self._channels)

    def runner_for(self, loop: ContextLoop, ledger: Ledger) -> Runner:
        """These channels, for what others wait for; it hears nobody."""
        channels, notify = self._channels, self._config.notify
        return Runner(loop, ledger, channels, notify, url=self._url, person_at=self._presence.person_at)

    def _runner_of(self, channels: Sequence[Channel], config: Config) -> Runner:
        self._channels = list(channels)
        self.generation += 1
        return Runner(
            self._loop,
            self._store,
            channels,
            config.notify,
            url=self._url,
            person_at=self._presence.person_at,
            passkey=self._passkey,
        )

    def _running(self) -> Runner:
        assert isinstance(self._runner, Runner)
        return self._runner

    def _push(self) -> Push:
        push = next((each for each in self._channels if isinstance(each, Push)), None)
        assert push is not None
        return push

    def _devices(self) -> set[str]:
        """Those that may be told: a notification shows what is asked."""
        devices = self._store.devices()
        return {each.id for each in devices if each.revoked_at is None and "read" in each.scopes.split(",")}

    def _client(self) -> httpx.AsyncClient:
        import httpx

        if self._http is None:
            # It logs addresses, and a topic or a token may be part of one.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            self._http = httpx.AsyncClient(
                timeout=httpx.Timeout(REPLY_S, connect=CONNECT_S), follow_redirects=False
            )
        return self._http


def _deaf(channel: Channel) -> str:
    return f"nobody is heard there: {channel.deaf}" if isinstance(channel, TwoWay) and channel.deaf else ""


def _nobody(kind: str, channel: Channel) -> str:
    words = {
        PUSH: "no phone has subscribed; turn notifications on in the app, under Devices",
        "desktop": "this machine has no desktop that yourcall could reach",
        "apprise": "there is no address in secrets.toml",
    }
    return _deaf(channel) or words.get(kind, "nobody is paired yet")


def _test_prompt(home: Path) -> Prompt:
    question = Question("test", "Does this reach you?", (Option("yes", "Yes, it does", "choose"),))
    return Prompt(
        id=TEST + secrets.token_hex(6),
        kind="question",
        agent="yourcall",
        session_id="",
        cwd=str(home),
        title="This is a test: does it reach you?",
        opened_at=time.time(),
        questions=(question,),
        answerable=True,
    )
