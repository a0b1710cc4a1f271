"""This machine as a host of a fleet: its rows go out, and what hubs ask is done here by the app's own routes.

Rule: decides nothing; what a host refuses is refused in `fleet/host.py`, what a route refuses in the route.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Message

from yourcall.core.lifecycle import CLOSED
from yourcall.daemon.fleet.notices import Telling
from yourcall.daemon.loop import Loop
from yourcall.fleet.host import Wanted
from yourcall.fleet.rows import RowPublisher
from yourcall.fleet.rows import Told as RowTold
from yourcall.model.events import AttemptRefused
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session
from yourcall.server import scopes
from yourcall.server.auth import CALLER, Caller
from yourcall.server.devices import Devices
from yourcall.server.fleet.forward import goes_there, only_looks
from yourcall.server.routes import ROUTES
from yourcall.server.views import encoded, session_view, story
from yourcall.store.sqlite import Store

log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode

# What is refused again and again is written down once a minute.
SAID_EVERY_S = 60.0
MOST_SAID = 500


class Needs(Struct, frozen=True):
    """What the fleet joins. `app`: the routes without the gate."""

    loop: Loop
    store: Store
    devices: Devices
    app: ASGIApp
    telling: Telling


class ThisHost:
    """This machine as the fleet's host needs it: looks, answers, and what was refused."""

    def __init__(self, needs: Needs) -> None:
        self._needs = needs
        self._said: dict[tuple[str, str], float] = {}
        self._routes = [
            (
                route,
                re.compile(
                    "/".join("[^/]+" if part[:1] == "{" else re.escape(part) for part in route.path.split("/"))
                ),
            )
            for route in ROUTES
            if goes_there(route)
        ]

    def only_looks(self, method: str, target: str) -> bool:
        path = target.partition("?")[0]
        found = next(
            (route for route, form in self._routes if route.method == method and form.fullmatch(path)), None
        )
        return found is not None and only_looks(found)

    def _is_offered(self, method: str, target: str) -> bool:
        path = target.partition("?")[0]
        return any(route.method == method and form.fullmatch(path) for route, form in self._routes)

    def shown(self, prompt_id: str) -> Mapping[str, Any] | None:
        prompt = self._needs.loop.prompt(prompt_id)
        return None if prompt is None else msgspec.json.decode(_encode(story(prompt, self._needs.store)))

    async def run(self, wanted: Wanted) -> tuple[int, bytes]:
        """By the same route as the phone app's; nothing else is reached from another machine."""
        if not self._is_offered(wanted.method, wanted.target):
            return 404, b'{"error":"This is not offered to other machines."}'
        signer = wanted.signer
        caller = Caller("a hub", "fleet", scopes=("read",))
        if signer is not None:
            may = scopes.in_order(wanted.scopes)
            caller = Caller(signer.name, "fleet", signer.device, scopes=may, signed=True, act=signer)
        return await called(self._needs.app, caller, wanted.method, wanted.target, wanted.body)

    async def refused(self, what: str, why: str, prompt_id: str) -> None:
        """On record, with the prompt that it was about; so people are told as of any other attempt."""
        now = time.monotonic()
        key = (why[:80], prompt_id)
        if now - self._said.get(key, -SAID_EVERY_S) < SAID_EVERY_S:
            return
        if len(self._said) >= MOST_SAID:
            self._said.clear()
        self._said[key] = now
        if prompt_id and self._needs.loop.prompt(prompt_id) is not None:
            tried = AttemptRefused(
                time.time(), f"{what}, by another machine", why, prompt_id=prompt_id, by="fleet"
            )
            await self._needs.loop.post(tried)


class Rows:
    """The rows of this machine, from the loop to the hubs."""

    def __init__(self, needs: Needs) -> None:
        self._needs = needs

    async def follow(self, rows: RowPublisher) -> None:
        """Until cancelled; after a storm that we could not follow, all of it anew."""
        loop, store = self._needs.loop, self._needs.store
        while True:
            async with loop.subscribe(None) as feed:
                rows.forget_all()
                prompts, sessions = store.live()
                for session in sessions:
                    rows.put(self._session(session))
                for prompt in prompts:
                    rows.put(await self._prompt(prompt))
                rows.begin_anew()
                async for change in feed:
                    if change.prompt is not None:
                        rows.put(await self._prompt(change.prompt))
                    if change.session is not None:
                        rows.put(self._session(change.session))

    async def _prompt(self, prompt: Prompt) -> RowTold:
        store = self._needs.store
        view = bytes(await encoded(lambda: story(_recent(prompt), store), [prompt], store))
        return RowTold(prompt.id, "p", view, prompt.state in CLOSED, partial(_small, prompt, self._needs.store))

    def _session(self, session: Session) -> RowTold:
        return RowTold(session.id, "s", _encode(session_view(session)), session.state == "ended")


def _recent(prompt: Prompt) -> Prompt:
    """With the end of its history: all of it is asked for when somebody looks."""
    return prompt if len(prompt.history) <= 12 else replace(prompt, history=prompt.history[-12:])


def _small(prompt: Prompt, store: Store) -> bytes:
    """What a list shows of it."""
    seen = story(_recent(prompt), store)
    less = replace(
        seen, body="", tool=None, questions=(), action=None, title=seen.title[:300], cwd=seen.cwd[:1000]
    )
    return _encode(replace(less, history=less.history[-2:]))


async def called(app: ASGIApp, caller: Caller, method: str, target: str, body: bytes) -> tuple[int, bytes]:
    """One request to the routes, from inside."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"fleet"), (b"content-length", b"%d" % len(body))],
        "client": None,
        "server": ("fleet", None),
        CALLER: caller,
    }
    status, parts, sent = 500, list[bytes](), False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(parts)
