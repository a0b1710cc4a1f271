"""How people are told, over HTTP: the phone app's push, taps on a notification's button, and the channels.

Rule: a tap needs no key but its own single-use token, which comes in the body; what it is told is what became of
the answer, and nothing of what was asked.
"""

from __future__ import annotations

from yourcall.model.prompts import Refused
from yourcall.server.auth import Refusal
from yourcall.server.ports import Trial
from yourcall.server.route import Call, Reply, body
from yourcall.server.wire import (
    ChannelTestRequest,
    ChannelView,
    Done,
    PushRequest,
    PushView,
    TapReply,
    TapRequest,
    TrialView,
    UnpairRequest,
)

_STATUS = {"too_late": 409, "bounced": 409, "unsure": 409, "refused": 422, "confirmed": 200}

_NONE = Refusal(404, "Notifications are off.")


async def push_state(call: Call) -> Reply | Refusal:
    if call.told is None:
        return _NONE
    return Reply(PushView(call.told.push_key(), call.told.subscribed(call.caller.device_id)))


async def push_on(call: Call) -> Reply | Refusal:
    asked = await body(call.request, PushRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.told is None:
        return _NONE
    if not call.caller.device_id:
        return Refusal(422, "Only a paired device can be notified.")
    keys = asked.keys
    refused = await call.told.subscribe(call.caller.device_id, asked.endpoint, keys.p256dh, keys.auth)
    return Refusal(422, refused.reason) if refused is not None else Reply(Done(), 201)


async def push_off(call: Call) -> Reply | Refusal:
    if call.told is None:
        return _NONE
    await call.told.unsubscribe(call.caller.device_id)
    return Reply(Done())


async def push_test(call: Call) -> Reply | Refusal:
    if call.told is None:
        return _NONE
    return Reply(_trial(await call.told.test_push(call.caller.device_id)))


async def in_front(call: Call) -> Reply | Refusal:
    if call.told is not None:
        call.told.in_front()
    return Reply(Done())


async def tap(call: Call) -> Reply | Refusal:
    asked = await body(call.request, TapRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.told is None:
        return _NONE
    verdict = await call.told.tap(asked.token)
    return Reply(TapReply(verdict.result, verdict.detail), _STATUS.get(verdict.result, 202))


async def list_channels(call: Call) -> Reply | Refusal:
    if call.told is None:
        return _NONE
    return Reply(
        [
            ChannelView(each.name, each.kind, each.rung, each.targets, each.worked_at, each.problem)
            for each in call.told.channels()
        ]
    )


async def test_channels(call: Call) -> Reply | Refusal:
    asked = await body(call.request, ChannelTestRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.told is None:
        return _NONE
    done = await call.told.test(asked.name, asked.wait)
    if isinstance(done, Refused):
        return Refusal(404, done.reason)
    return Reply([_trial(each) for each in done])


def _trial(trial: Trial) -> TrialView:
    return TrialView(trial.channel, trial.kind, trial.target, trial.sent, trial.detail, trial.tapped)


async def unpair(call: Call) -> Reply | Refusal:
    asked = await body(call.request, UnpairRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.told is None:
        return _NONE
    refused = await call.told.unpair(asked.name, asked.person, call.caller.author)
    return Refusal(422, refused.reason) if refused is not None else Reply(Done())


async def reload_channels(call: Call) -> Reply | Refusal:
    if call.told is None:
        return _NONE
    refused = await call.told.reload(call.caller.author)
    return Refusal(422, refused.reason) if refused is not None else Reply(Done())
