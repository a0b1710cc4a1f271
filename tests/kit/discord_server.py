"""A stand-in for Discord: its REST API and its gateway on loopback, for one bot, three people and a channel of a
server.

A session that breaks can be resumed; what was told meanwhile is told then. A new session knows nothing of it.
"""

from __future__ import annotations

import base64
import json
import re
import time
from itertools import count
from typing import Any, ClassVar

from aiohttp import WSMsgType, web

from kit.chat_people import GROUP, PRIVATE, ChatServer, Shown

ME = 900_000_000_000_000_001
TOKEN = base64.b64encode(str(ME).encode()).decode().rstrip("=") + ".G1.topic-secret-of-the-bot"
PEOPLE = {"ada": 700_000_000_000_000_001, "bob": 700_000_000_000_000_002, "eve": 700_000_000_000_000_003}
CHANNEL, GUILD = 800_000_000_000_000_009, 810_000_000_000_000_001
EPOCH_MS = 1_420_070_400_000

# As Discord's clients take a message apart (simple-markdown).
FENCE = re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```")
CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
PADDED = re.compile(r"^ (?= *`)|(` *) $")


class DiscordServer(ChatServer):
    """`mute`: the gateway takes connections and says nothing; `unanswered`: how many of those are open."""

    name, sign = "discord", "!"
    secrets: ClassVar = {"token": TOKEN, "code": "ABCD-EFGH"}

    def __init__(self) -> None:
        super().__init__()
        self.closed: set[str] = set()
        self.messages: dict[tuple[str, str], dict[str, Any]] = {}
        self.ephemeral: list[tuple[str, str, str]] = []
        self.resumed = 0
        self.last: dict[str, Any] = {}
        self._said: list[dict[str, Any]] = []
        self._session = ""
        self._events: list[dict[str, Any]] = []
        self.mute, self.unanswered = False, 0
        self._taps: set[str] = set()
        self._unheard = 0
        self._last_id = 0
        self._count = count(1)

    def settings(self) -> dict[str, Any]:
        return {"server": f"{self.url}/api/v10"}

    def chat(self, where: str = PRIVATE, user: str = "ada") -> str:
        return str(CHANNEL if where == GROUP else PEOPLE[user] + 1000)

    def person(self, user: str) -> str:
        return str(PEOPLE[user])

    def _id(self, ago: float = 0.0) -> str:
        made = (int((time.time() - ago) * 1000) - EPOCH_MS) << 22
        self._last_id = made if ago else max(made, self._last_id + 1)
        return str(self._last_id)

    # --- people --------------------------------------------------------------------------------------------------

    def _user(self, user: str) -> dict[str, Any]:
        name = user.capitalize()
        return {
            "id": str(PEOPLE[user]), "username": user, "global_name": name, "discriminator": "0", "avatar": None,
        }  # fmt: skip

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
        **more: Any,
    ) -> str:
        mention = f"<@{ME}> " if where == GROUP and not reply_to else ""
        message = self._message(self.chat(where, user), mention + text, self._id(ago)) | {
            "author": self._user(user) | ({"bot": True} if bot else {}),
            **more,
        }
        if where == GROUP:
            message["guild_id"] = str(GUILD)
        if reply_to:
            reference = {"type": 0, "message_id": reply_to, "channel_id": message["channel_id"]}
            message |= {"type": 19, "message_reference": reference}
        if forwarded:
            message |= {
                "content": "",
                "message_reference": {"type": 1, "message_id": "1", "channel_id": "2"},
                "message_snapshots": [{"message": {"content": text, "type": 0}}],
            }
        if file is not None:
            name, content = file
            self.uploads[name] = content
            url = f"{self.url}/api/v10/attachments/{name}"
            message["attachments"] = [
                {"id": "1", "filename": name, "size": len(content), "url": url, "proxy_url": url}
            ]
        self._said.append(message)
        self.last = message
        self.run(self._dispatch("MESSAGE_CREATE", message))
        return message["id"]

    def say_again(self) -> None:
        self.run(self._dispatch("MESSAGE_CREATE", self.last))

    def press(
        self, message: Any, data: str, *, user: str = "ada", where: str = PRIVATE, hasty: bool = False
    ) -> None:
        if not hasty:
            self.look()
        number = self._id()
        who = self._user(user)
        told = {
            "id": number, "application_id": str(ME), "type": 3, "token": f"topic-secret-{number}", "version": 1,
            "channel_id": self.chat(where, user), "message": {"id": message},
            "data": {"custom_id": data, "component_type": 2},
            **({"guild_id": str(GUILD), "member": {"user": who}} if where == GROUP else {"user": who}),
        }  # fmt: skip
        if self._open:
            self._taps.add(number)
            self.run(self._dispatch("INTERACTION_CREATE", told))

    @property
    def handled(self) -> bool:
        return not self._taps

    def shown(self, where: str = PRIVATE, user: str = "ada") -> list[Shown]:
        chat = self.chat(where, user)
        found: list[Shown] = []
        for (place, number), message in list(self.messages.items()):
            if place == chat:
                keys = [key for row in message.get("components") or [] for key in row["components"]]
                buttons = [(key["label"], key.get("custom_id", key.get("url", ""))) for key in keys]
                reply = (message.get("message_reference") or {}).get("message_id")
                found.append(Shown(number, self.read(message["content"]), buttons, reply))
        return found

    def told(self, user: str = "ada", where: str = PRIVATE) -> list[str]:
        chat, person = self.chat(where, user), str(PEOPLE[user])
        alone = [text for place, who, text in self.ephemeral if (place, who) == (chat, person)]
        return [*(each.text for each in self.shown(where, user)), *alone]

    def delete(self, message: Any, where: str = PRIVATE) -> None:
        del self.messages[self.chat(where), message]

    def close(self, where: str = PRIVATE, user: str = "ada") -> None:
        self.closed.add(self.chat(where, user))

    def read(self, content: str) -> str:
        """What a person reads; whatever would be parsed besides code, bold and what is escaped is wrong."""
        found: list[str] = []
        at = 0
        bold = False
        while at < len(content):
            if block := FENCE.match(content, at) or CODE.match(content, at):
                inner = block[2]
                found.append(PADDED.sub(r"\1", inner) if block.re is CODE else f"\n{inner}\n")
                at = block.end()
            elif content[at] == "\\" and at + 1 < len(content):
                found.append(content[at + 1])
                at += 2
            elif content.startswith("**", at):
                bold = not bold
                at += 2
            else:
                self.expect(
                    content[at] not in "\\*_~`|<>[]@#", f"markup: {content[at : at + 30]!r} in {content!r}"
                )
                self.expect(not content.startswith(("http:", "https:"), at), f"a link in {content!r}")
                found.append(content[at])
                at += 1
        self.expect(not bold, f"an open mark in {content!r}")
        return re.sub(r"\n\n+", "\n", "".join(found)).strip()

    # --- the gateway ---------------------------------------------------------------------------------------------

    async def _dispatch(self, name: str, data: dict[str, Any]) -> None:
        event = {"op": 0, "t": name, "s": len(self._events) + 1, "d": data}
        self._events.append(event)
        if self._open:
            await self._open[-1].send_str(json.dumps(event))

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        self.expect(request.query.get("v") == "10" and request.query.get("encoding") == "json", request.query)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        if self.mute:
            self.unanswered += 1
            await socket.receive()
            self.unanswered -= 1
            return socket
        await socket.send_str(json.dumps({"op": 10, "d": {"heartbeat_interval": 41250}, "s": None, "t": None}))
        async for message in socket:
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            said = json.loads(message.data)
            match said["op"]:
                case 1:
                    await socket.send_str(json.dumps({"op": 11, "d": None, "s": None, "t": None}))
                case 2:
                    await self._identify(socket, said["d"])
                case 6:
                    await self._resume(socket, said["d"])
                case other:
                    self.wrong.append(f"op {other}")
        self._shut(socket)
        if socket.close_code in (1000, 1001):
            self._session = ""  # it said good-bye
        return socket

    async def _identify(self, socket: web.WebSocketResponse, said: dict[str, Any]) -> None:
        if said["token"] != TOKEN:
            await socket.close(code=4004, message=b"Authentication failed.")
            return
        self.expect(said["intents"] == (1 << 9) | (1 << 12), f"intents {said['intents']}")
        self._session, self._events = f"s{next(self._count)}", []
        self._taps.clear()
        me = {"id": str(ME), "username": "yourcall", "discriminator": "0", "avatar": None, "bot": True}
        ready = {
            "v": 10, "user": me, "guilds": [], "session_id": self._session,
            "resume_gateway_url": f"{self.ws_url}/gateway", "application": {"id": str(ME), "flags": 0},
        }  # fmt: skip
        self._opens(socket)
        await self._dispatch("READY", ready)

    async def _resume(self, socket: web.WebSocketResponse, said: dict[str, Any]) -> None:
        if said["session_id"] != self._session:
            await socket.send_str(json.dumps({"op": 9, "d": False, "s": None, "t": None}))
            return
        self.resumed += 1
        missed = self._events[said["seq"] :]
        self._opens(socket)
        for event in missed:
            await socket.send_str(json.dumps(event))
        await self._dispatch("RESUMED", {})

    def refresh(self) -> None:
        """Discord moves its connections now and then."""

        async def asked() -> None:
            for socket in list(self._open):
                await socket.send_str(json.dumps({"op": 7, "d": None, "s": None, "t": None}))

        self.run(asked())

    def forget_session(self) -> None:
        self._session = ""

    # --- the REST API --------------------------------------------------------------------------------------------

    def routes(self, app: web.Application) -> None:
        api = "/api/v10"
        app.router.add_get(f"{api}/gateway/bot", self._gateway_bot)
        app.router.add_post(f"{api}/channels/{{chat}}/messages", self._create)
        app.router.add_get(f"{api}/channels/{{chat}}/messages", self._page)
        app.router.add_patch(f"{api}/channels/{{chat}}/messages/{{id}}", self._edit)
        app.router.add_post(f"{api}/interactions/{{id}}/{{token}}/callback", self._callback)
        app.router.add_get(f"{api}/attachments/{{name}}", self._attachment)
        app.router.add_get("/gateway", self._gateway)

    def refusal(self, fault: Any) -> web.StreamResponse:
        if fault == 429 or isinstance(fault, tuple):
            after = float(fault[1] if isinstance(fault, tuple) else self.retry_after)
            body = {"message": "You are being rate limited.", "retry_after": after, "global": False}
            return web.json_response(
                body, status=429, headers={"Retry-After": str(int(after)), "X-RateLimit-Scope": "shared"}
            )
        if fault >= 500 or fault < 400:
            return web.Response(status=fault, text="upstream")
        return _no(fault, 0, "no")

    def _authorized(self, request: web.Request) -> bool:
        return request.headers.get("Authorization") == f"Bot {TOKEN}"

    async def _gateway_bot(self, request: web.Request) -> web.StreamResponse:
        if not self._authorized(request):
            return _no(401, 0, "401: Unauthorized")
        limit = {"total": 1000, "remaining": 999, "reset_after": 1000, "max_concurrency": 1}
        return web.json_response({"url": f"{self.ws_url}/gateway", "shards": 1, "session_start_limit": limit})

    def _message(self, chat: str, content: str, number: str) -> dict[str, Any]:
        return {
            "id": number, "channel_id": chat, "content": content, "timestamp": "2026-11-19T17:00:00.000000+00:00",
            "author": {"id": str(ME), "username": "yourcall", "discriminator": "0", "avatar": None, "bot": True},
            "edited_timestamp": None, "tts": False, "mention_everyone": False, "mentions": [], "mention_roles": [],
            "attachments": [], "embeds": [], "pinned": False, "type": 0, "flags": 4, "components": [],
        }  # fmt: skip

    async def _fields(self, request: web.Request) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        if request.content_type != "multipart/form-data":
            return await request.json(), []
        fields: dict[str, Any] = {}
        files: list[tuple[str, bytes]] = []
        async for part in await request.multipart():
            assert part is not None
            data = await part.read()  # type: ignore[union-attr]
            if part.name == "payload_json":  # type: ignore[union-attr]
                fields = json.loads(data)
            else:
                files.append((part.filename or "", bytes(data)))  # type: ignore[union-attr]
        return fields, files

    def _check(self, fields: dict[str, Any]) -> None:
        content = fields.get("content", "")
        self.expect(len(content.encode("utf-16-le")) // 2 <= 2000, f"content of {len(content)}")
        self.expect(fields.get("flags") == 4, f"flags {fields.get('flags')}")
        mentions = dict(fields.get("allowed_mentions", {}))
        self.expect(mentions.pop("parse", None) == [] and not any(mentions.values()), f"mentions {mentions}")
        self.expect(not fields.get("embeds"), "embeds")
        if content:
            self.read(content)
        rows = fields.get("components") or []
        self.expect(len(rows) <= 5, f"{len(rows)} rows")
        names: list[str] = []
        for row in rows:
            self.expect(row["type"] == 1 and 1 <= len(row["components"]) <= 5, row)
            for key in row["components"]:
                self.expect(key["type"] == 2 and 1 <= len(key["label"]) <= 80, key)
                if key["style"] == 5:
                    self.expect(len(key["url"]) <= 512, key)
                else:
                    self.expect(1 <= len(key["custom_id"]) <= 100, key)
                    names.append(key["custom_id"])
        self.expect(len(names) == len(set(names)), "two keys of one id")

    async def _create(self, request: web.Request) -> web.StreamResponse:
        if not self._authorized(request):
            return _no(401, 0, "401: Unauthorized")
        chat = request.match_info["chat"]
        fields, files = await self._fields(request)

        async def do() -> web.StreamResponse:
            if chat in self.closed:
                return _no(403, 50007, "Cannot send messages to this user")
            self.expect(fields.get("content") or files, "an empty message")
            self._check(fields)
            reference = fields.get("message_reference")
            number = self._id()
            message = self._message(chat, fields.get("content", ""), number) | {
                "components": fields.get("components", [])
            }
            for name, content in files:
                self.files.append({"name": name, "text": content.decode(), "of": reference["message_id"]})
                url = f"{self.url}/x/{name}"
                message["attachments"].append(
                    {"id": "1", "filename": name, "size": len(content), "url": url, "proxy_url": url}
                )
            if reference:
                message["message_reference"] = {
                    "type": 0,
                    "message_id": reference["message_id"],
                    "channel_id": chat,
                }
                message["type"] = 19
            if not files:
                self.messages[chat, number] = message
            return web.json_response({**message, "components": []})

        return await self.written(request, "create", do)

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        chat, number = request.match_info["chat"], request.match_info["id"]
        fields, _ = await self._fields(request)

        async def do() -> web.StreamResponse:
            if chat in self.closed:
                return _no(403, 50001, "Missing Access")
            known = self.messages.get((chat, number))
            if known is None:
                return _no(404, 10008, "Unknown Message")
            self._check(fields)
            self.messages[chat, number] = {**known, **fields}
            return web.json_response({**self._message(chat, fields["content"], number)})

        return await self.written(request, "edit", do)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        chat, after = request.match_info["chat"], int(request.query.get("after", 0))
        found = [each for each in self._said if each["channel_id"] == chat and int(each["id"]) > after]
        found = sorted(found, key=lambda each: int(each["id"]))[: int(request.query.get("limit", 50))]
        bare = [{name: value for name, value in each.items() if name != "guild_id"} for each in found]
        return web.json_response(bare[::-1])

    async def _callback(self, request: web.Request) -> web.StreamResponse:
        number = request.match_info["id"]
        said = await request.json()
        if number not in self._taps:
            return _no(404, 10062, "Unknown interaction")
        self._taps.discard(number)
        event = next(e["d"] for e in reversed(self._events) if e["d"].get("id") == number)
        if said["type"] == 4:
            data = said["data"]
            self.expect(data["flags"] == 64 | 4, f"flags {data['flags']}")
            self.expect(data["allowed_mentions"]["parse"] == [], data["allowed_mentions"])
            who = event.get("user") or event["member"]["user"]
            self.ephemeral.append((event["channel_id"], who["id"], self.read(data["content"])))
            self._moved_at = time.monotonic()
        else:
            self.expect(said["type"] == 6, f"response type {said['type']}")
        return web.json_response({"interaction": {"id": number, "type": 3}})

    async def _attachment(self, request: web.Request) -> web.StreamResponse:
        self.expect("Authorization" not in request.headers, "the token is for the API alone")
        return web.Response(body=self.uploads[request.match_info["name"]])


def _no(status: int, code: int, words: str) -> web.Response:
    return web.json_response({"message": words, "code": code}, status=status)
