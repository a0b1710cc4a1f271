"""Who is told when: the desk while somebody is there, then push, then chat, then again.

The ladder has three rungs. What is at the desk is told at once. Push waits while there are signs of a person (a
key at a terminal, the app in front), but never longer than `desk_most_s`: signs put it off, they never call it
off. Chat follows push by `push_s`, or takes its place where there is none. Then reminders, a few. What only says
*ready* is told once the agent says that it is idle; further ones that come within `digest_s` of that notice are
collected into the next. Quiet hours hold back everything that is not at the desk until they end.

Rule: worked out anew each time from what is on disk (prompts and receipts) and the last sign of a person; there is
no timer to lose in a restart, and nothing is told twice because something was forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from yourcall.core.identity import NUDGED
from yourcall.model.prompts import Kind, Prompt

Rung = Literal["desk", "push", "chat"]
Seconds = Annotated[float, Meta(ge=0)]

# A rule, or a quick hand, answers within this; then nobody's pocket needs to buzz.
GRACE_S = 0.5

# Claude says that it is idle after a minute. An agent that says nothing is taken to be idle by then.
IDLE_S = 60.0

# What began so much later than now began by a clock that was set back since: less is a clock being put right.
SET_BACK_S = 60.0

DAY = 24 * 60

# How the name of a digest begins.
DIGEST = "all-"


class When(Struct, frozen=True, forbid_unknown_fields=True):
    """For prompts of these kinds (all, if none is named) in this project: tell only these channels.

    `project` is a folder or its name; `*` stands for anything.
    """

    tell: tuple[str, ...]
    project: str = ""
    kinds: tuple[Kind, ...] = ()


class Notify(Struct, frozen=True, forbid_unknown_fields=True):
    """The `[notify]` section of the configuration."""

    desk_s: Seconds = 45.0
    desk_most_s: Seconds = 180.0
    push_s: Seconds = 60.0
    repeat_s: Annotated[float, Meta(ge=60)] = 900.0
    repeats: Annotated[int, Meta(ge=0, le=20)] = 2
    digest_s: Seconds = 120.0
    quiet: Annotated[str, Meta(pattern=r"^(([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d)?$")] = ""
    quiet_lets: tuple[Kind, ...] = ()
    titles_only: bool = False
    when: tuple[When, ...] = ()
    # Which of those that were allowed from the command line devices are told of.
    local_allows: Literal["all", "unproven", "off"] = "all"


class Post(Struct, frozen=True):
    """A channel that somebody can be told through right now."""

    channel: str
    rung: Rung


class AlreadyTold(Struct, frozen=True):
    """What a receipt says. `at`: the last time; `live`: it is still there, or about to be."""

    channel: str
    notice: str
    prompts: tuple[str, ...]
    at: float
    times: int
    live: bool


class Situation(Struct, frozen=True):
    """Everything a decision depends on. `minute`: of the local day; `person_at`: the last sign of a person."""

    now: float
    minute: int
    person_at: float
    posts: tuple[Post, ...]
    prompts: tuple[Prompt, ...]
    told: tuple[AlreadyTold, ...]


class Tell(Struct, frozen=True):
    """Tell these prompts, as this one notice, through this channel, for the `times`-th time."""

    channel: str
    notice: str
    prompts: tuple[str, ...]
    times: int = 1


class Due(Struct, frozen=True):
    """What is to be told now, and when to look again even if nothing happens until then."""

    tell: tuple[Tell, ...]
    again_at: float | None = None


class _Plan(Struct, frozen=True):
    at: float
    tell: Tell
    waiting: Prompt


def due(scene: Situation, notify: Notify) -> Due:
    told: dict[str, list[AlreadyTold]] = {}
    for each in scene.told:
        for prompt_id in each.prompts:
            told.setdefault(prompt_id, []).append(each)
    plans = [
        plan
        for prompt in scene.prompts
        if prompt.state == "open"
        for plan in _plans(prompt, scene, notify, told.get(prompt.id, []))
    ]
    now = [plan for plan in plans if plan.at <= scene.now]
    later = [plan.at for plan in plans if plan.at > scene.now]
    return Due(tuple(_bundled(now, plans)), min(later, default=None))


def waiting_since(prompt: Prompt) -> float:
    """When it last began to wait: an answer that came back starts it anew."""
    since, before = prompt.opened_at, "open"
    for moment in prompt.history:
        if moment.state == "open" and before != "open":
            since = moment.at
        before = moment.state
    return since


def name_of(prompt: Prompt, digest: bool = False) -> str:
    """The name of its notice; another one each time it comes back, for the first may be off the device by then."""
    rounds = sum(
        1
        for one, two in zip(prompt.history, prompt.history[1:], strict=False)
        if one.state != "open" and two.state == "open"
    )
    plain = re.fullmatch(r"[A-Za-z0-9_-]{1,24}", prompt.id)
    short = prompt.id if plain else sha256(prompt.id.encode("utf-8", "replace")).hexdigest()[:24]
    return f"{DIGEST if digest else ''}{short}{f'-{rounds}' if rounds else ''}"


def _plans(prompt: Prompt, scene: Situation, notify: Notify, receipts: Sequence[AlreadyTold]) -> Iterable[_Plan]:
    posts = _posts(prompt, scene.posts, notify)
    since = waiting_since(prompt)
    if since > scene.now + SET_BACK_S:
        # For how long it has waited, nobody knows: long enough.
        since = scene.now - GRACE_S - notify.desk_most_s - notify.digest_s
    pushed_at = max(since + GRACE_S, min(scene.person_at + notify.desk_s, since + notify.desk_most_s))
    if prompt.kind == "ready":
        pushed_at = max(pushed_at, _idle_at(prompt, since, notify))
    told: dict[str, AlreadyTold] = {}
    for each in receipts:
        # One device of a channel that is gone says nothing about the others: what still shows it counts.
        if (each.live or each.at >= since) and (each.live or each.channel not in told):
            # Told by a clock that was set back since: how long ago, nobody knows; long enough.
            told[each.channel] = replace(each, at=0.0) if each.at > scene.now + SET_BACK_S else each
    push = [post.channel for post in posts if post.rung == "push"]
    starts = {"desk": since + GRACE_S, "push": pushed_at, "chat": pushed_at}
    if push:
        # Not told yet, for whatever reason: then it counts from now at the earliest.
        base = max((told[channel].at for channel in push if channel in told), default=scene.now)
        starts["chat"] = max(pushed_at, base) + notify.push_s
    last = max((t.at for t in told.values()), default=0.0)
    for post in posts:
        held = post.rung != "desk" and prompt.kind not in notify.quiet_lets
        before = told.get(post.channel)
        if before is None:
            digest = prompt.kind == "ready" and post.rung != "desk"
            tell = Tell(post.channel, name_of(prompt, digest), (prompt.id,))
            at = starts[post.rung]
            if digest:
                at = max(at, _last_digest(post.channel, scene) + notify.digest_s)
        elif _again(prompt, post, before, notify):
            # All together, counted from the last of them; and not while the person is plainly busy at the desk.
            tell = Tell(post.channel, before.notice, before.prompts, before.times + 1)
            again_at = last + notify.repeat_s
            at = max(again_at, min(scene.person_at + notify.desk_s, again_at + notify.desk_most_s))
        else:
            continue
        yield _Plan(_not_in_quiet(at, scene, notify) if held else at, tell, prompt)


def _idle_at(prompt: Prompt, since: float, notify: Notify) -> float:
    """When a session that is ready counts as idle: when its agent says so, or after as long as that takes."""
    nudges = [moment.at for moment in prompt.history if moment.at > since and moment.detail == NUDGED]
    return min([*nudges, since + min(IDLE_S, notify.digest_s)])


def _last_digest(channel: str, scene: Situation) -> float:
    digests = (told for told in scene.told if told.channel == channel and told.notice.startswith(DIGEST))
    return max((told.at for told in digests if told.at <= scene.now + SET_BACK_S), default=0.0)


def _again(prompt: Prompt, post: Post, before: AlreadyTold, notify: Notify) -> bool:
    return before.live and post.rung != "desk" and prompt.kind != "ready" and before.times <= notify.repeats


def _posts(prompt: Prompt, posts: Sequence[Post], notify: Notify) -> list[Post]:
    for when in notify.when:
        names = (prompt.cwd, prompt.cwd.rstrip("/").rpartition("/")[2])
        fits = not when.project or when.project in names or any(fnmatchcase(name, when.project) for name in names)
        if fits and (not when.kinds or prompt.kind in when.kinds):
            return [post for post in posts if post.channel in when.tell]
    return list(posts)


def _bundled(now: Sequence[_Plan], plans: Sequence[_Plan]) -> Iterable[Tell]:
    """When a digest is due, everything that waits for one goes with it, also what came a moment ago."""
    ready: dict[str, Tell] = {}
    for plan in now:
        if not _collects(plan):
            yield plan.tell
        elif plan.tell.channel not in ready:
            ready[plan.tell.channel] = plan.tell
    for channel, first in ready.items():
        all_of_it = [plan for plan in plans if _collects(plan) and plan.tell.channel == channel]
        yield Tell(channel, first.notice, tuple(plan.waiting.id for plan in all_of_it))


def _collects(plan: _Plan) -> bool:
    return plan.tell.notice.startswith(DIGEST) and plan.tell.times == 1


def _not_in_quiet(at: float, scene: Situation, notify: Notify) -> float:
    """This moment, or the end of the quiet hours it falls into; good for about a day ahead."""
    if not notify.quiet:
        return at
    begin, end = (int(part[:2]) * 60 + int(part[3:]) for part in notify.quiet.split("-"))
    if begin == end:
        return at
    then = max(at, scene.now)
    minute = (scene.minute + int((then - scene.now) // 60)) % DAY
    if (minute - begin) % DAY >= (end - begin) % DAY:
        return at
    return then + ((end - minute) % DAY) * 60
