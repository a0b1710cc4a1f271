"""A stand-in for Slack: its Web API and Socket Mode on loopback, for one workspace with one app, three people and
a channel.
"""

from __future__ import annotations

import json
import time
from collections import deque
from itertools import count
from typing import Any, ClassVar

from aiohttp import WSMsgType, web

from kit.chat_people import GROUP, PRIVATE, ChatServer, Shown

TOKEN = "xoxb-111-222-topic-secret-of-the-bot"
APP_TOKEN = "xapp-1-A0APP-topic-secret-of-the-app"
ME = "U0BOT"
PEOPLE = {"ada": "U0ADA", "bob": "U0BOB", "eve": "U0EVE"}
NAMES = {"U0ADA": "Ada", "U0BOB": "Bob", "U0EVE": "Eve"}
CHANNEL = "C0GROUP"

STYLES = {"bold", "italic", "code"}
WRITES = {
    "chat.postMessage": {
        "channel", "text", "blocks", "unfurl_links", "unfurl_media", "thread_ts", "reply_broadcast",
    },
    "chat.update": {"channel", "ts", "text", "blocks"},
    "chat.postEphemeral": {"channel", "user", "text", "blocks", "thread_ts"},
}  # fmt: skip


class SlackServer(ChatServer):
    """`two_programs`: another one is connected as this app. `again`: what was told last is told once more."""

    name, sign = "slack", "!"
    secrets: ClassVar = {"token": TOKEN, "app_token": APP_TOKEN, "code": "ABCD-EFGH"}
    longest_label = 75

    def __init__(self) -> None:
        super().__init__()
        self.two_programs = False
        self.closed: set[str] = set()
        self.messages: dict[tuple[str, str], dict[str, Any]] = {}
        self.ephemeral: list[tuple[str, str, str]] = []
        self.acked: set[str] = set()
        self.last: dict[str, Any] = {}
        self._told: dict[str, dict[str, Any]] = {}  # events that nobody has answered yet
        self._taps: set[str] = set()
        self._tickets: set[str] = set()
        self._said: deque[dict[str, Any]] = deque()
        self._waiting: dict[str, tuple[str, int]] = {}
        self._count = count(1)
        self._last_ts = 0.0

    def settings(self) -> dict[str, Any]:
        return {"server": f"{self.url}/api"}

    def chat(self, where: str = PRIVATE, user: str = "ada") -> str:
        return CHANNEL if where == GROUP else f"D{PEOPLE[user][1:]}"

    def person(self, user: str) -> str:
        return PEOPLE[user]

    # --- people --------------------------------------------------------------------------------------------------

    def _ts(self) -> str:
        self._last_ts = max(time.time(), self._last_ts + 0.000001)
        return f"{self._last_ts:.6f}"

    def say(
        self,
        text: str,
        *,
        user: str = "ada",
        where: str = PRIVATE,
        reply_to: Any = None,
        forwarded: bool = False,
        bot: bool = False,
        ago: float = 0.0,
        file: tuple[str, bytes] | None = None,
        quietly: bool = False,
        **more: Any,
    ) -> str:
        """`quietly`: it is in the chat, and no socket is told."""
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        ts = f"{time.time() - ago:.6f}" if ago else self._ts()
        event: dict[str, Any] = {
            "type": "message",
            "channel": self.chat(where, user),
            "channel_type": "channel" if where == GROUP else "im",
            "user": PEOPLE[user],
            "text": escaped,
            "ts": ts,
            "client_msg_id": f"m{next(self._count)}",
            "team": "T1",
            **more,
        }
        if reply_to:
            event["thread_ts"] = reply_to
        if bot:
            event |= {"bot_id": "B9", "subtype": "bot_message"}
        if forwarded:
            event["attachments"] = [{"is_share": True, "text": text, "author_id": "U0EVE"}]
            event["text"] = ""
        if file is not None:
            name, content = file
            self.uploads[name] = content
            url = f"{self.url}/files/{name}"
            event |= {"subtype": "file_share", "files": [{"name": name, "url_private_download": url}]}
        self._said.append(event)
        if not quietly:
            self.run(self._event(event))
        return ts

    def press(
        self, message: Any, data: str, *, user: str = "ada", where: str = PRIVATE, hasty: bool = False
    ) -> None:
        if not hasty:
            self.look()
        chat = self.chat(where, user)
        payload = {
            "type": "block_actions",
            "user": {"id": PEOPLE[user], "username": user, "team_id": "T1"},
            "api_app_id": "A0APP",
            "container": {"type": "message", "message_ts": message, "channel_id": chat},
            "trigger_id": f"t{next(self._count)}",
            "channel": {"id": chat, "name": "general" if where == GROUP else "directmessage"},
            "message": {"ts": message, "type": "message"},
            "actions": [
                {"type": "button", "action_id": "k0-0", "block_id": "b", "value": data, "action_ts": self._ts()}
            ],
        }
        self.run(self._envelope("interactive", payload))

    def _text_of(self, message: dict[str, Any]) -> str:
        lines: list[str] = []
        for block in message["blocks"]:
            for each in block["elements"] if block["type"] == "rich_text" else []:
                lines.append("".join(element["text"] for element in each["elements"]))
        return "\n".join(lines)

    def shown(self, where: str = PRIVATE, user: str = "ada") -> list[Shown]:
        chat = self.chat(where, user)
        found: list[Shown] = []
        for (place, ts), message in list(self.messages.items()):
            if place == chat:
                rows = [block["elements"] for block in message["blocks"] if block["type"] == "actions"]
                keys = [(key["text"]["text"], key.get("value", key.get("url", ""))) for row in rows for key in row]
                found.append(Shown(ts, self._text_of(message), keys, message.get("thread_ts")))
        return found

    def told(self, user: str = "ada", where: str = PRIVATE) -> list[str]:
        chat, person = self.chat(where, user), PEOPLE[user]
        alone = [text for place, who, text in self.ephemeral if (place, who) == (chat, person)]
        return [*(each.text for each in self.shown(where, user)), *alone]

    def delete(self, message: Any, where: str = PRIVATE) -> None:
        del self.messages[self.chat(where), message]

    def close(self, where: str = PRIVATE, user: str = "ada") -> None:
        """Whoever is there wants nothing of the bot any more."""
        self.closed.add(self.chat(where, user))

    def say_again(self) -> None:
        """The last message is told once more, as after an answer that got lost."""
        self.run(self._event(self.last))

    # --- the socket ----------------------------------------------------------------------------------------------

    async def _event(self, event: dict[str, Any]) -> None:
        self.last = event
        payload = {"type": "event_callback", "event_id": f"Ev{next(self._count)}", "event": event}
        name = await self._envelope("events_api", payload)
        self._told[name] = payload

    async def _envelope(self, kind: str, payload: dict[str, Any], retry: int = 0) -> str:
        name = f"env-{next(self._count)}"
        said = {"type": kind, "envelope_id": name, "payload": payload, "accepts_response_payload": False}
        if kind == "events_api":
            said |= {"retry_attempt": retry, "retry_reason": "timeout" if retry else ""}
        if self._open and kind == "interactive":
            self._taps.add(name)
        if self._open:
            await self._open[-1].send_str(json.dumps(said))
        return name

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=404)
        self._tickets.discard(ticket)  # an address works once
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._opens(socket)
        self._taps.clear()
        hello = {
            "type": "hello",
            "num_connections": 2 if self.two_programs else len(self._open),
            "connection_info": {"app_id": "A0APP"},
        }
        await socket.send_str(json.dumps(hello))
        for name, payload in list(self._told.items()):  # nobody has answered these
            del self._told[name]
            self._told[await self._envelope("events_api", payload, 1)] = payload
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                name = json.loads(message.data)["envelope_id"]
                self.acked.add(name)
                self._told.pop(name, None)
                self._taps.discard(name)
        self._shut(socket)
        return socket

    def refresh(self) -> None:
        """Slack ends each connection after some hours, and says so before."""

        async def warned() -> None:
            for socket in list(self._open):
                await socket.send_str(json.dumps({"type": "disconnect", "reason": "refresh_requested"}))

        self.run(warned())

    @property
    def handled(self) -> bool:
        """Everything that was told is answered."""
        return not self._told and not self._taps

    # --- the Web API ---------------------------------------------------------------------------------------------

    def routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_post("/upload/{id}", self._uploaded)
        app.router.add_get("/files/{name}", self._download)
        app.router.add_get("/socket", self._socket)

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        token = request.headers.get("Authorization", "")
        wanted = APP_TOKEN if method == "apps.connections.open" else TOKEN
        if token != f"Bearer {wanted}":
            return _no("invalid_auth")
        fields: dict[str, Any] = dict(request.query)
        if request.content_type == "application/json":
            fields |= await request.json()
        elif request.can_read_body:
            fields |= dict(await request.post())
        call = getattr(self, "_" + method.replace(".", "_"), None)
        if call is None:
            self.wrong.append(f"no method {method}")
            return _no("unknown_method")
        if method not in WRITES:
            return await call(fields)
        self.expect(request.method == "POST", f"{method} by {request.method}")
        self.expect(set(fields) <= WRITES[method], f"{method} has {set(fields) - WRITES[method]}")

        async def do() -> web.StreamResponse:
            if fields["channel"] in self.closed:
                return _no("channel_not_found")
            return await call(fields)

        return await self.written(request, method, do)

    def refusal(self, fault: Any) -> web.StreamResponse:
        if fault == 429 or isinstance(fault, tuple):
            after = str(fault[1]) if isinstance(fault, tuple) else self.retry_after
            return web.json_response(
                {"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": after}
            )
        if isinstance(fault, int):
            return web.Response(status=fault, text="<html>busy</html>", content_type="text/html")
        return _no(fault)

    async def _auth_test(self, _: dict[str, Any]) -> web.StreamResponse:
        return _yes(user_id=ME, bot_id="B0BOT", team_id="T1", user="yourcall")

    async def _apps_connections_open(self, _: dict[str, Any]) -> web.StreamResponse:
        ticket = f"ticket-{next(self._count)}"
        self._tickets.add(ticket)
        return _yes(url=f"{self.ws_url}/socket?ticket={ticket}&app_id=A0APP")

    async def _users_info(self, fields: dict[str, Any]) -> web.StreamResponse:
        name = NAMES[fields["user"]]
        return _yes(user={"id": fields["user"], "name": name.lower(), "profile": {"display_name": name}})

    async def _chat_postMessage(self, fields: dict[str, Any]) -> web.StreamResponse:
        self._check(fields)
        self.expect(fields.get("unfurl_links") is False and fields.get("unfurl_media") is False, "unfurling")
        ts = self._ts()
        self.messages[fields["channel"], ts] = fields
        return _yes(channel=fields["channel"], ts=ts, message={"text": fields["text"]})

    async def _chat_update(self, fields: dict[str, Any]) -> web.StreamResponse:
        self._check(fields)
        known = self.messages.get((fields["channel"], fields["ts"]))
        if known is None:
            return _no("message_not_found")
        self.messages[fields["channel"], fields["ts"]] = {**known, **fields}
        return _yes(channel=fields["channel"], ts=fields["ts"], text=fields["text"])

    async def _chat_postEphemeral(self, fields: dict[str, Any]) -> web.StreamResponse:
        self._check(fields)
        self.ephemeral.append((fields["channel"], fields["user"], self._text_of(fields)))
        return _yes(message_ts=self._ts())

    def _check(self, fields: dict[str, Any]) -> None:
        text, blocks = fields["text"], fields["blocks"]
        self.expect(1 <= len(text) <= 4000, f"text of {len(text)}")
        self.expect("<" not in text and ">" not in text, f"markup in the notification: {text!r}")
        self.expect(not any(part and not part.startswith(("amp;", "lt;", "gt;")) for part in text.split("&")[1:]),
                    f"an & that is not escaped: {text!r}")  # fmt: skip
        self.expect(1 <= len(blocks) <= 50, "blocks")
        names: list[str] = []
        for block in blocks:
            if block["type"] == "rich_text":
                self.expect(block["elements"], "an empty rich text")
                for part in block["elements"]:
                    kind = part["type"]
                    self.expect(kind in ("rich_text_section", "rich_text_preformatted"), kind)
                    self.expect(part["elements"], f"an empty {kind}")
                    for element in part["elements"]:
                        self.expect(element["type"] == "text" and element["text"], element)
                        self.expect(set(element) <= {"type", "text", "style"}, element)
                        self.expect(set(element.get("style", {})) <= STYLES, element)
                        self.expect(kind != "rich_text_preformatted" or "style" not in element, element)
            else:
                self.expect(block["type"] == "actions" and 1 <= len(block["elements"]) <= 25, block["type"])
                for key in block["elements"]:
                    self.expect(key["type"] == "button" and len(key["action_id"]) <= 255, key)
                    names.append(key["action_id"])
                    label = key["text"]
                    self.expect(label["type"] == "plain_text" and label.get("emoji") is False, label)
                    self.expect(1 <= len(label["text"]) <= self.longest_label, label)
                    self.expect(len(key.get("value", "x")) <= 2000 and len(key.get("url", "")) <= 3000, key)
                    self.expect(set(key) - {"type", "action_id", "text"} in ({"value"}, {"url"}), key)
        self.expect(len(names) == len(set(names)), "two keys of one name")

    async def _conversations_history(self, fields: dict[str, Any]) -> web.StreamResponse:
        chat = fields["channel"]
        mine = [
            {"type": "message", "user": ME, "bot_id": "B0BOT", "ts": ts, "text": "…"}
            for (place, ts) in self.messages
            if place == chat
        ]
        roots = [each for each in self._said if each["channel"] == chat and "thread_ts" not in each] + mine
        for root in roots:
            replies = [each["ts"] for each in self._said if each.get("thread_ts") == root["ts"]]
            if replies:
                root["latest_reply"] = max(replies)
        roots.sort(key=lambda each: each["ts"], reverse=True)
        return _yes(messages=[_bare(each) for each in roots[: int(fields.get("limit", 100))]], has_more=False)

    async def _conversations_replies(self, fields: dict[str, Any]) -> web.StreamResponse:
        found = [each for each in self._said if fields["ts"] in (each["ts"], each.get("thread_ts"))]
        return _yes(messages=[_bare(each) for each in found])

    async def _files_getUploadURLExternal(self, fields: dict[str, Any]) -> web.StreamResponse:
        name = f"F{next(self._count)}"
        self.expect(int(fields["length"]) > 0 and fields["filename"], "a file must be non-empty")
        self._waiting[name] = (fields["filename"], int(fields["length"]))
        return _yes(file_id=name, upload_url=f"{self.url}/upload/{name}")

    async def _uploaded(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["id"]
        content = await request.read()
        self.expect(len(content) == self._waiting[name][1], "another length than was said")
        self.uploads[name] = content
        return web.Response(text="OK")

    async def _files_completeUploadExternal(self, fields: dict[str, Any]) -> web.StreamResponse:
        for each in json.loads(fields["files"]):
            name = self._waiting.pop(each["id"])[0]
            text = self.uploads[each["id"]].decode()
            self.files.append({"name": name, "text": text, "of": fields.get("thread_ts")})
        return _yes(files=[{"id": each["id"]} for each in json.loads(fields["files"])])

    async def _download(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.Response(text="<html>sign in</html>", content_type="text/html")
        return web.Response(body=self.uploads[request.match_info["name"]])


def _bare(event: dict[str, Any]) -> dict[str, Any]:
    """As a page of history tells it: without where."""
    return {name: value for name, value in event.items() if name not in ("channel", "channel_type")}


def _yes(**more: Any) -> web.Response:
    return web.json_response({"ok": True, **more})


def _no(word: str) -> web.Response:
    return web.json_response({"ok": False, "error": word})
