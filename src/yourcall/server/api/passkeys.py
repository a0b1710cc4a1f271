"""Passkeys over HTTP: register, list and revoke; and the gestures that somebody waits for.

Rule: the first passkey is registered by a paired browser that may change rules; each further one takes the word of
one that is there, or a code from the machine itself.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from yourcall.model.prompts import Refused
from yourcall.server.auth import Refusal
from yourcall.server.gestures import gesture, site_of
from yourcall.server.route import Call, Reply, body
from yourcall.server.step_up import NO_LIBRARY, PasskeyRow, is_installed
from yourcall.server.wire import (
    Done,
    GestureRequest,
    NewPasskey,
    NewPasskeyRequest,
    PasskeyCode,
    PasskeyRequest,
    PasskeyView,
)

_NONE = Refusal(404, "This yourcall has no passkeys.")
_ONLY_BROWSERS = Refusal(422, "Only a paired browser registers a passkey. At the machine: yourcall passkeys add")


async def list_passkeys(call: Call) -> Reply | Refusal:
    if call.step_up is None:
        return Reply([])
    site = site_of(call.step_up, call.request)
    rp_id = "" if isinstance(site, Refused) else site.rp_id
    return Reply([_view(each, rp_id) for each in call.step_up.passkeys()])


async def begin_passkey(call: Call) -> Reply | Refusal:
    """What a browser needs to make a passkey here."""
    asked = await body(call.request, NewPasskeyRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.step_up is None:
        return _NONE
    if not is_installed():
        return Refusal(422, NO_LIBRARY)
    if not call.caller.signed:
        return _ONLY_BROWSERS
    site = site_of(call.step_up, call.request)
    if isinstance(site, Refused):
        return Refusal(422, site.reason)
    act = "register"
    if call.step_up.passkeys():
        if asked.code:
            if not call.step_up.takes_code(asked.code):
                return Refusal(403, "That code is wrong, or too old. At the machine: yourcall passkeys add")
            act = call.step_up.code_act(asked.code)
        else:
            proof = call.step_up.use(call.gesture, call.caller.device_id) if call.gesture else None
            if proof is None or proof.act != act:
                pending = call.step_up.ask(act, call.caller.device_id, "Register another passkey")
                why = "Another passkey takes the word of one that you have, or a code: yourcall passkeys add"
                return Reply(gesture(call.step_up, call.request, pending, why), 428)
    pending = call.step_up.ask(act, call.caller.device_id, "Register a passkey", register=True)
    challenge = base64.urlsafe_b64encode(pending.challenge).rstrip(b"=").decode()
    known = tuple(call.step_up.credentials(site.rp_id))
    return Reply(NewPasskey(pending.id, challenge, site.rp_id, call.caller.by, known), 201)


async def register_passkey(call: Call) -> Reply | Refusal:
    asked = await body(call.request, PasskeyRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.step_up is None:
        return _NONE
    site = site_of(call.step_up, call.request)
    if isinstance(site, Refused):
        return Refusal(422, site.reason)
    if not call.caller.signed:
        return _ONLY_BROWSERS
    person = call.devices.person_of(call.caller.device_id)
    made = await call.step_up.register(
        asked.id, asked.credential, site, call.caller.device_id, asked.name, person, call.caller.author
    )
    return Refusal(422, made.reason) if isinstance(made, Refused) else Reply(_view(made, site.rp_id), 201)


async def revoke_passkey(call: Call) -> Reply | Refusal:
    if call.step_up is None:
        return _NONE
    if await call.step_up.revoke(call.part("id"), call.caller.author):
        return Reply(Done())
    return Refusal(404, "There is no such passkey, or it is revoked already. See: yourcall passkeys")


async def new_passkey_code(call: Call) -> Reply | Refusal:
    if call.step_up is None:
        return _NONE
    if not is_installed():
        return Refusal(422, NO_LIBRARY)
    return Reply(PasskeyCode(call.step_up.new_code()), 201)


async def show_gesture(call: Call) -> Reply | Refusal:
    """A gesture that somebody waits for: to be made on this page, or to see whether it was."""
    name = call.part("id")
    if call.step_up is None:
        return _NONE
    if call.step_up.is_proven(name):
        return Reply(Done())
    pending = call.step_up.asked(name)
    if pending is None or pending.register:
        return Refusal(404, "Nobody waits for this any more.")
    return Reply(gesture(call.step_up, call.request, pending, "This waits for your passkey."), 202)


async def make_gesture(call: Call) -> Reply | Refusal:
    """Confirm what somebody else asked for: a command line that waits for it."""
    asked = await body(call.request, GestureRequest)
    if isinstance(asked, Refusal):
        return asked
    if call.step_up is None:
        return _NONE
    pending = call.step_up.asked(call.part("id"))
    # A device's own act is confirmed with the request itself. Whoever asked on this machine has no browser.
    if pending is None or pending.device:
        return Refusal(404, "Nobody waits for this any more.")
    site = site_of(call.step_up, call.request)
    if isinstance(site, Refused):
        return Refusal(422, site.reason)
    credential: Mapping[str, Any] = asked.credential
    proof = await call.step_up.prove(pending.id, credential, site)
    return Refusal(403, proof.reason) if isinstance(proof, Refused) else Reply(Done())


def _view(row: PasskeyRow, rp_id: str) -> PasskeyView:
    return PasskeyView(row.id, row.name, row.rp_id, row.created_at, row.used_at, row.rp_id == rp_id)
