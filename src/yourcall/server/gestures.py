"""Step-up on the way of a request: what a client brings for it, and what it is told when one is missing.

A request that needs a gesture is refused with 428 and a challenge. The client has a passkey sign that, and sends
the same request again with `Yourcall-Step-Up: ID.ASSERTION`, or only the ID if it was confirmed on another device.

Rule: the challenge is made from the request by this host; nothing that the client says about it is believed.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from starlette.requests import Request

from yourcall.model.people import AnswerPolicy
from yourcall.model.prompts import Refused
from yourcall.rules.may_answer import LONGEST_WINDOW_S
from yourcall.server.auth import Caller, Refusal
from yourcall.server.route import LARGEST_BODY, Reply, Route
from yourcall.server.step_up import HEADER, LARGEST, Asked, Site, StepUp, act_of_request
from yourcall.server.wire import GestureView, StepUpView

LONGEST_WORDS = 400


async def brought(step_up: StepUp | None, request: Request) -> str | Refusal:
    """The name of the gesture that came with this request, once it is known to be one; empty if none came."""
    said = request.headers.getlist(HEADER)
    if not said:
        return ""
    if step_up is None or len(said) != 1 or len(said[0]) > LARGEST:
        return Refusal(400, f"Send one {HEADER} header.")
    name, _, packed = said[0].partition(".")
    if not packed:
        return name[:64]
    site = site_of(step_up, request)
    if isinstance(site, Refused):
        return Refusal(422, site.reason)
    credential = read_credential(packed)
    if credential is None:
        return Refusal(400, f"{HEADER} is ID.ASSERTION: the credential as JSON, in base64url.")
    proof = await step_up.prove(name, credential, site)
    return Refusal(403, proof.reason) if isinstance(proof, Refused) else name


def read_credential(packed: str) -> dict[str, Any] | None:
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(data, type=dict[str, Any])
    except (binascii.Error, ValueError, RecursionError):
        return None


def site_of(step_up: StepUp, request: Request) -> Site | Refused:
    return step_up.site(request.headers.get("host", ""), request.headers.get("origin", ""))


async def wanted(
    step_up: StepUp | None, policy: AnswerPolicy, request: Request, caller: Caller, route: Route, name: str
) -> Reply | Refusal | None:
    """What is said to a request of this route instead of doing it; None: it may be done."""
    if step_up is None or not route.step_up or not applies(step_up, policy, caller, route):
        return None
    read = await _read(request)
    if isinstance(read, Refusal):
        return read
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    act = act_of_request(request.method, target, read)
    proof = step_up.use(name, caller.device_id) if name else None
    if proof is not None and proof.act == act:
        return None
    latest = step_up.last(caller.device_id) if caller.device_id else None
    window = min(policy.step_up.window_minutes * 60.0, LONGEST_WINDOW_S)
    if latest is not None and 0 <= step_up.now - latest.at < window:
        return None
    # What is confirmed is shown as it came, cut short: the digest is of all of it.
    shown = read.decode("utf-8", "replace") if read else ""
    text = f"{route.step_up}: {shown}" if shown not in ("", "{}") else route.step_up
    why = "This takes your passkey."
    return missing(step_up, request, act, caller, text[:LONGEST_WORDS], why)


async def _read(request: Request) -> bytes | Refusal:
    """The body, which the route reads again; no larger than any route takes."""
    said = request.headers.get("content-length", "0")
    if not said.isdecimal() or int(said[:20]) > LARGEST_BODY:
        return Refusal(413, f"The body is larger than {LARGEST_BODY:,} bytes.", {"Connection": "close"})
    return await request.body()


def applies(step_up: StepUp, policy: AnswerPolicy, caller: Caller, route: Route) -> bool:
    """Does anybody have to step up for a change of how things are set?"""
    at_the_machine = caller.via == "socket"
    if at_the_machine and (not policy.step_up.command_line or route.path.startswith("/api/passkeys")):
        return False  # who lost every passkey begins anew there; that is recorded, and all devices are told
    return bool(step_up.passkeys())


def missing(step_up: StepUp, request: Request, act: str, caller: Caller, text: str, why: str) -> Reply:
    """The reply that asks for a gesture."""
    return Reply(gesture(step_up, request, step_up.ask(act, caller.device_id, text), why), 428)


def gesture(step_up: StepUp, request: Request, asked: Asked, why: str) -> StepUpView:
    site = site_of(step_up, request)
    rp_id = "" if isinstance(site, Refused) else site.rp_id
    return StepUpView(
        error=why,
        result="refused",
        detail=why,
        step_up=GestureView(
            id=asked.id,
            words=asked.words,
            challenge=base64.urlsafe_b64encode(asked.challenge).rstrip(b"=").decode(),
            rp_id=rp_id,
            credentials=tuple(step_up.credentials(rp_id)) if rp_id else (),
            expires_in=max(0.0, asked.until - step_up.now),
            problem=site.reason if isinstance(site, Refused) else "",
        ),
    )
