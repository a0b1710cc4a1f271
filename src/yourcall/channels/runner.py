"""Tells people what waits, once, and takes it back when it is over: joins the ladder, the receipts and the
channels.

Every receipt has one task at most, which looks at how the matter stands, does the one next thing (send, update,
withdraw), writes it down, and looks again. So an answer in the middle of a send is seen right after it, and a
restart goes on where the receipts say.

Rule: written down before it is done. A send whose end nobody saw is repeated only where that shows one notice and
not two; what failed for now is tried again as long as the prompt waits.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.buttons import with_tokens
from yourcall.channels.channel import Carried, Channel, Failed, Gone, Later, Notice, Sent, TwoWay, Unclear
from yourcall.channels.context import ChannelContext, Ledger, Loop
from yourcall.channels.notice import face, notice, standing
from yourcall.core.notify_policy import AlreadyTold, Notify, Post, Situation, due, name_of
from yourcall.model.prompts import Prompt, Receipt

log = logging.getLogger(__name__)

# Longer than any service needs; then the line is dead, whatever it says.
PATIENCE_S = 30.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0

# A notice that cannot be taken back for so many tries (half an hour) stays where it is: the prompt is over anyway.
MOST_TRIES = 35

# A machine that slept wakes up to another time than it waited for.
AT_LEAST_EVERY_S = 60.0

# At the same time, for each channel: services count requests, and ten prompts may come at once.
AT_ONCE = 4

Key = tuple[str, str, str]
Deed = Literal["send", "update", "withdraw", "close"]


class Condition(Struct, frozen=True):
    """How a channel does: when it last worked, and what is wrong since then."""

    worked_at: float = 0.0
    problem: str = ""


def words(error: BaseException) -> str:
    """What went wrong, without addresses: a topic or a token may be part of one."""
    return type(error).__name__


class Runner:
    """`person_at` tells the last sign of a person; it is asked only when something is to be told."""

    def __init__(
        self,
        loop: Loop,
        ledger: Ledger,
        channels: Sequence[Channel],
        notify: Notify,
        *,
        url: str = "",
        person_at: Callable[[], Awaitable[float]],
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        passkey: Callable[[Prompt], Collection[tuple[str, str]]] = lambda _: (),
    ) -> None:
        """`passkey`: the options of a prompt that no button may say, because they take one."""
        self._passkey = passkey
        self.channels: Mapping[str, Channel] = {channel.name: channel for channel in channels}
        self.conditions: dict[str, Condition] = {}
        self._loop = loop
        self._ledger = ledger
        self._notify = notify
        self._url = url
        self._person_at = person_at
        self._clock = clock
        self._sleep = sleep
        self._prompts: dict[str, Prompt] = {}
        self._rows: dict[Key, Receipt] = {}
        self._by_prompt: dict[str, set[Key]] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._changed: dict[Key, asyncio.Event] = {}
        self._patience: dict[str, tuple[float, float]] = {}  # since when, and for how long
        self._room = {name: asyncio.Semaphore(AT_ONCE) for name in self.channels}
        self._wake = asyncio.Event()

    # --- the two loops -------------------------------------------------------------------------------------------

    async def run(self, desk: ChannelContext, *, listen: bool = True) -> None:
        """Until cancelled. `listen`: False where another runner hears what people say there."""
        for row in self._ledger.receipts():
            # A person may have mended since then what was wrong.
            self._put(replace(row, state="due") if row.state == "failed" else row)
        desk = replace(desk, wake=self.wake)
        two_way = [each for each in self.channels.values() if isinstance(each, TwoWay)] if listen else []
        listening = [self._listen(each, desk) for each in two_way]
        tasks = [asyncio.create_task(work) for work in (self._follow(), self._tell(), *listening)]
        try:
            await asyncio.gather(*tasks)
        finally:
            # The receipts say where each of them stands.
            tasks += self._tasks.values()
            for task in tasks:
                if not task.cancelling():  # a second time would break off how it cleans up
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def wake(self) -> None:
        """Something outside has changed: a phone subscribed."""
        self._wake.set()

    async def _listen(self, channel: Channel, desk: ChannelContext) -> None:
        assert isinstance(channel, TwoWay)
        pause = FIRST_PAUSE_S
        while True:
            began = self._clock()
            try:
                await channel.listen(desk)
            except Exception as error:
                log.warning("%s stopped listening: %s", channel.name, words(error))
            pause = FIRST_PAUSE_S if self._clock() - began > LONGEST_PAUSE_S else min(pause * 2, LONGEST_PAUSE_S)
            await self._sleep(pause)

    async def _follow(self) -> None:
        while True:
            async with self._loop.subscribe(None) as feed:
                self._read_anew()
                async for change in feed:
                    if change.prompt is not None:
                        self._take(change.prompt)

    def _read_anew(self) -> None:
        """At the start, and after a storm of changes that we could not follow."""
        live, _ = self._loop.store.live()
        self._prompts = {prompt.id: prompt for prompt in live}
        for prompt_id in self._by_prompt:
            if prompt_id not in self._prompts:
                prompt = self._loop.store.prompt(prompt_id)
                if prompt is not None:
                    self._prompts[prompt_id] = prompt
        for key in list(self._rows):
            self._touch(key)
        self._wake.set()

    def _take(self, prompt: Prompt) -> None:
        self._prompts[prompt.id] = prompt
        for key in self._by_prompt.get(prompt.id, ()):
            self._touch(key)
        if standing([prompt]) == "over" and not self._by_prompt.get(prompt.id):
            del self._prompts[prompt.id]
        self._wake.set()

    async def _tell(self) -> None:
        while True:
            again_at = await self._look()
            patience = None if again_at is None else min(max(0.0, again_at - self._clock()), AT_LEAST_EVERY_S)
            try:
                async with asyncio.timeout(patience):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()

    async def _look(self) -> float | None:
        posts = [Post(c.name, c.abilities.rung) for c in self.channels.values() if c.targets()]
        if not posts or not any(prompt.state == "open" for prompt in self._prompts.values()):
            return None
        now = self._clock()
        time.tzset()  # whoever travels has other quiet hours, and the zone is otherwise read once
        local = time.localtime(now)
        minute = local.tm_hour * 60 + local.tm_min
        person_at = await self._person_at()
        scene = Situation(now, minute, person_at, tuple(posts), tuple(self._prompts.values()), tuple(self._told()))
        found = due(scene, self._notify)
        rows: list[tuple[Receipt | None, Receipt]] = []
        for tell in found.tell:
            for target in self.channels[tell.channel].targets():
                old = self._rows.get((tell.notice, tell.channel, target))
                new = old or Receipt(tell.notice, tell.channel, target, tell.prompts)
                # What never got through was not told: its reminders are still to come.
                times = old.times if old and old.state in ("due", "trying") and not old.receipt else tell.times
                rows.append((old, replace(new, state="due", at=now, times=times, why="")))
        if rows:
            await self._ledger.put_receipts([row for _, row in rows])
            for old, row in rows:
                await self._take_over(old, row)
        return found.again_at

    async def _take_over(self, old: Receipt | None, row: Receipt) -> None:
        """What its task has written meanwhile stands: it arrived after all, say. It counts from now, too."""
        key = (row.notice, row.channel, row.target)
        while (known := self._rows.get(key)) is not old and known is not None:
            old, row = known, replace(known, at=row.at)
            await self._ledger.put_receipts([row])
        self._put(row)
        self._touch(key)

    def _told(self) -> list[AlreadyTold]:
        return [
            AlreadyTold(
                row.channel, row.notice, row.prompts, row.at, row.times, row.state not in ("over", "failed")
            )
            for row in self._rows.values()
        ]

    # --- one receipt ---------------------------------------------------------------------------------------------

    def _touch(self, key: Key) -> None:
        """Something about it changed: its task looks again, or gets to work."""
        if key in self._tasks:
            self._changed[key].set()
            return
        self._changed[key] = asyncio.Event()
        task = asyncio.create_task(self._settle(key))
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._ended(key, task))

    def _ended(self, key: Key, task: asyncio.Task[None]) -> None:
        del self._tasks[key]
        changed = self._changed.pop(key)
        if task.cancelled():
            return  # all of them are, when others take over
        if task.exception() is not None:
            log.error("telling %s failed", key[1], exc_info=task.exception())
        elif changed.is_set() and key in self._rows:
            self._touch(key)

    async def _settle(self, key: Key) -> None:
        """To its end, whatever goes wrong on the way: nobody else would go on with it before the next restart."""
        while key in self._rows:
            try:
                await self._bring(key)
                return
            except Exception:
                log.exception("telling %s failed; trying again", key[1])
            await self._pause(key, LONGEST_PAUSE_S)

    async def _bring(self, key: Key) -> None:
        pause, tries = FIRST_PAUSE_S, 0
        while True:
            self._changed[key].clear()
            row, made = self._rows[key], self._notice(self._rows[key])
            deed = self._next(row, made)
            if deed is None:
                break
            since, seconds = self._patience.get(row.channel, (0.0, 0.0))
            # A clock that was set back says nothing of how long it has been: whoever is asked too early says so.
            wait = since + seconds - self._clock() if self._clock() >= since else 0.0
            if deed != "close" and wait > 0:
                await self._pause(key, wait)
                continue
            done = await self._do(deed, row, made)
            if isinstance(done, Later):
                tries += 1
                if tries >= MOST_TRIES and deed != "send":
                    await self._write(replace(self._rows[key], state="over", why=done.why))
                    continue
                if done.after_s > 0:
                    self._patience[row.channel] = (self._clock(), done.after_s)
                await self._pause(key, max(pause, done.after_s))
                pause = min(pause * 2, LONGEST_PAUSE_S)
            else:
                pause, tries = FIRST_PAUSE_S, 0
        await self._forget(key)

    async def _pause(self, key: Key, seconds: float) -> None:
        """Wait, but not longer than until the matter stands differently."""
        woken = asyncio.ensure_future(self._changed[key].wait())
        slept = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait((woken, slept), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            slept.cancel()

    def _notice(self, row: Receipt) -> Notice | None:
        """None when the prompts behind it are forgotten."""
        prompts = [self._prompts[id] for id in row.prompts if id in self._prompts]
        if not prompts:
            return None
        body = self._loop.store.body(prompts[0].request) if prompts[0].request else None
        return notice(
            row.notice,
            prompts,
            titles_only=self._notify.titles_only,
            url=self._url,
            body=body,
            reminder=row.times - 1,
            passkey=self._passkey(prompts[0]) if len(prompts) == 1 else (),
        )

    def _first(self, row: Receipt) -> Prompt:
        """Of those that are still known: one of a digest may have been forgotten since."""
        return next(self._prompts[id] for id in row.prompts if id in self._prompts)

    def _next(self, row: Receipt, made: Notice | None) -> Deed | None:
        """The one next thing to do about a receipt; None: nothing, as things stand."""
        channel = self.channels.get(row.channel)
        if row.state in ("over", "failed"):
            return None
        if channel is None or made is None:
            return "close"
        able = channel.abilities
        if able.withdraw and not able.edit and made.standing == "open" and self._came_back_since(row):
            # What it says was answered, and its buttons are used up: it goes, and is told anew.
            return "withdraw" if row.receipt or row.state != "due" else "close"
        if row.state == "due" or (row.state == "trying" and able.replaces):
            # A reminder that came too late leaves what it should have replaced.
            if made.standing == "open":
                return "send"
            return "withdraw" if row.receipt or row.state == "trying" else "close"
        if made.standing == "open" or able.edit:
            new = able.edit and row.receipt and face(made) != row.face
            return "update" if new else "close" if made.standing == "over" else None
        if able.withdraw:
            return "withdraw"
        return "close" if made.standing == "over" else None

    def _came_back_since(self, row: Receipt) -> bool:
        first = self._prompts.get(row.prompts[0]) if len(row.prompts) == 1 else None
        return first is not None and row.notice not in (name_of(first), name_of(first, True))

    async def _do(self, deed: Deed, row: Receipt, made: Notice | None) -> Carried:
        channel = self.channels.get(row.channel)
        if deed == "close" or channel is None or made is None:
            await self._write(replace(row, state="over"))
            return Sent()
        if deed == "send":
            return await self._send(channel, row, made)
        able = channel.abilities
        if deed == "withdraw" and not able.withdraw:
            deed = "update"
        if deed == "update" and not able.edit:
            await self._write(replace(row, state="over"))
            return Sent()
        if deed == "update":
            tapped = await with_tokens(made, channel, self._first(row), self._ledger, self._clock())
            done = await self._carry(channel, channel.update(row.target, row.receipt, tapped))
        else:
            done = await self._carry(channel, channel.withdraw(row.target, row.receipt, made))
        match done:
            case Sent(receipt=receipt):
                over = deed == "withdraw" or made.standing == "over"
                new = replace(row, receipt=receipt or row.receipt, face=face(made), why="")
                await self._write(replace(new, state="over" if over else "shown"))
            case Unclear(why=why):
                return Later(why)  # showing or hiding the same thing twice does no harm
            case Failed(why=why) | Gone(why=why):
                await self._write(replace(row, state="over", why=why))
            case Later():
                pass
        return done

    async def _send(self, channel: Channel, row: Receipt, made: Notice) -> Carried:
        able = channel.abilities
        if row.receipt and not able.replaces:
            await self._make_room(channel, row, made)
        if row.state != "trying":
            row = replace(row, state="trying")
            await self._write(row)
        tapped = await with_tokens(made, channel, self._first(row), self._ledger, self._clock())
        done = await self._carry(channel, channel.send(row.target, tapped))
        match done:
            case Sent(receipt=receipt):
                await self._write(replace(row, state="shown", receipt=receipt, face=face(made), why=""))
            case Unclear() if not able.replaces:
                await self._write(replace(row, state="shown", receipt="", face=face(made), why=done.why))
            case Unclear(why=why):
                return Later(why)
            case Later(why=why):
                await self._write(replace(row, state="due", why=why))
            case Failed(why=why) | Gone(why=why):
                await self._write(replace(row, state="failed", why=why))
        return done

    async def _make_room(self, channel: Channel, row: Receipt, made: Notice) -> None:
        """Before a reminder: the older notice goes, or says that there is a newer one; one try is enough."""
        if channel.abilities.withdraw:
            await self._carry(channel, channel.withdraw(row.target, row.receipt, made))
        elif channel.abilities.edit:
            older = replace(made, standing="over", outcome="Asked again below", buttons=())
            await self._carry(channel, channel.update(row.target, row.receipt, older))

    async def _carry(self, channel: Channel, work: Awaitable[Carried]) -> Carried:
        try:
            async with self._room[channel.name], asyncio.timeout(PATIENCE_S):
                done = await work
        except TimeoutError:
            done = Unclear(f"no answer within {PATIENCE_S:g} seconds")
        except Exception as error:
            # Where, not what: an address may be part of its words. How far it got, nobody knows.
            where = "".join(traceback.format_tb(error.__traceback__)[-3:])
            log.error("the channel %s failed: %s\n%s", channel.name, words(error), where)
            done = Unclear(words(error))
        if isinstance(done, Sent):
            self.conditions[channel.name] = Condition(self._clock())
        else:
            before = self.conditions.get(channel.name, Condition())
            if before.problem != done.why:
                log.warning("%s: %s", channel.name, done.why)
            self.conditions[channel.name] = replace(before, problem=done.why)
        return done

    # --- what is written down ------------------------------------------------------------------------------------

    async def _write(self, row: Receipt) -> None:
        pause = FIRST_PAUSE_S
        while True:
            writing = asyncio.ensure_future(self._ledger.put_receipts([row]))
            try:
                await asyncio.shield(writing)
                break
            except asyncio.CancelledError:
                await asyncio.gather(writing, return_exceptions=True)  # whoever takes over reads it right after us
                raise
            except Exception as error:
                # What became of a notice is known here alone: it is kept until it can be written.
                log.error("%s: its receipt waits for the disk: %s", row.channel, error)
            await self._sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
        self._put(row)

    def _put(self, row: Receipt) -> None:
        key = (row.notice, row.channel, row.target)
        self._rows[key] = row
        for prompt_id in row.prompts:
            self._by_prompt.setdefault(prompt_id, set()).add(key)

    async def _forget(self, key: Key) -> None:
        """A receipt is kept as long as its prompts could come back; then it goes, and their tokens with it."""
        row = self._rows[key]
        prompts = [self._prompts[id] for id in row.prompts if id in self._prompts]
        if row.state not in ("over", "failed") or (prompts and standing(prompts) != "over"):
            if row.state == "over":
                self._wake.set()  # its prompt may have come back meanwhile, and is not told any more
            return
        await self._ledger.drop_receipts([key])
        self._rows.pop(key, None)
        for prompt_id in row.prompts:
            keys = self._by_prompt.get(prompt_id, set())
            keys.discard(key)
            if not keys:
                self._by_prompt.pop(prompt_id, None)
                self._prompts.pop(prompt_id, None)
                await self._ledger.drop_taps(prompt_id)
