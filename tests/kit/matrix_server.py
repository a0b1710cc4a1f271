"""A stand-in for a Matrix homeserver on loopback: the client API as far as the bot uses it, for four users and a
few rooms. Events are in one order for everybody; a sync tells what is new since a token.
"""

from __future__ import annotations

import asyncio
import html.parser
import json
import re
import time
from contextlib import suppress
from itertools import count
from typing import Any, ClassVar

from aiohttp import web

from kit.chat_people import GROUP, PRIVATE, ChatServer, Shown

ME = "@yourcall:example.org"
TOKEN = "syt_topic-secret-of-the-bot"
PEOPLE = {name: f"@{name}:example.org" for name in ("ada", "bob", "eve")}
CHANNEL = "!group:example.org"
TAGS = {"strong", "em", "code", "pre", "br"}
AGAIN = re.compile(r" [②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳]$")
NUMBERED = re.compile(r"^(\d\ufe0f\u20e3|\d+)$")

V3 = "/_matrix/client/v3"


class Words(html.parser.HTMLParser):
    """What a person reads, and every tag that is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, Any]] = []
        self.code = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, attrs))
        self.code += tag == "code"
        if tag in ("br", "pre"):
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.words.append(data)


class MatrixServer(ChatServer):
    """`powerless`: the bot may not take back what others sent. `keeps_taps`: what is tapped while nobody listens
    is told later."""

    name, sign = "matrix", "!"
    secrets: ClassVar = {"token": TOKEN, "code": "ABCD-EFGH"}
    keeps_taps = True
    tries = 9  # its own, and those of aiohttp, which repeats what may be repeated

    def __init__(self) -> None:
        super().__init__()
        self.powerless = False
        self.rooms: dict[str, set[str]] = {}
        self.events: list[dict[str, Any]] = []
        self.invites: dict[str, list[str]] = {}
        self.left: set[str] = set()
        self.closed: set[str] = set()
        self.redacted: set[str] = set()
        self.edits: dict[str, dict[str, Any]] = {}
        self._cutting = self._ending = False
        self.read_to = 0
        self.syncs = 0
        self._again = 0
        self._transactions: dict[tuple[str, str], str] = {}
        self._count = count(1)
        self._news = asyncio.Condition()
        for name in PEOPLE:
            self.rooms[self.chat(PRIVATE, name)] = {ME, PEOPLE[name]}
        self.rooms[CHANNEL] = {ME, *PEOPLE.values()}

    def settings(self) -> dict[str, Any]:
        return {"server": self.url, "user": ME}

    def chat(self, where: str = PRIVATE, user: str = "ada") -> str:
        return CHANNEL if where == GROUP else f"!{user}:example.org"

    def person(self, user: str) -> str:
        return ME if user == "yourcall" else PEOPLE[user]

    # --- people --------------------------------------------------------------------------------------------------

    async def _happens(self, event: dict[str, Any]) -> str:
        number = f"$ev{next(self._count)}"
        stamped = {"event_id": number, "origin_server_ts": int(time.time() * 1000), **event}
        async with self._news:
            self.events.append(stamped)
            self._news.notify_all()
        return number

    def happens(self, room: str, sender: str, kind: str, content: dict[str, Any], **more: Any) -> str:
        event = {"type": kind, "room_id": room, "sender": sender, "content": content, **more}
        return self.run(self._happens(event))

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
        said: dict[str, Any] = {"msgtype": "m.notice" if bot else "m.text", "body": text, **more}
        if reply_to:
            quoted = f"> <{ME}> What was asked\n> over two lines\n\n{text}"
            said |= {"body": quoted, "m.relates_to": {"m.in_reply_to": {"event_id": reply_to}}}
        if forwarded:
            said["m.forwarded"] = {"event_id": "$x", "room_id": "!x:y", "sender": PEOPLE["eve"]}
        if file is not None:
            name, content = file
            self.uploads[name] = content
            url = f"mxc://example.org/{name.replace('.', '')}"
            self.uploads[name.replace(".", "")] = content
            said |= {"msgtype": "m.file", "filename": name, "url": url, "info": {"size": len(content)}}
        at = {"origin_server_ts": int((time.time() - ago) * 1000)} if ago else {}
        return self.happens(self.chat(where, user), PEOPLE[user], "m.room.message", said, **at)

    def say_again(self) -> None:
        """The last sync is told once more, as after an answer that got lost."""
        self._again = 1

    def press(
        self, message: Any, data: str, *, user: str = "ada", where: str = PRIVATE, hasty: bool = False
    ) -> None:
        if not hasty:
            self.look()
        about = {"rel_type": "m.annotation", "event_id": message, "key": data}
        self.happens(self.chat(where, user), PEOPLE[user], "m.reaction", {"m.relates_to": about})

    @property
    def seen(self) -> list[str]:
        return [each for each in self.calls if each == "m.room.message"]

    @property
    def handled(self) -> bool:
        return self.read_to >= len(self.events)

    def _mine(self, kind: str, room: str) -> list[dict[str, Any]]:
        return [
            each
            for each in list(self.events)
            if (each["type"], each["room_id"], each["sender"]) == (kind, room, ME)
            and each["event_id"] not in self.redacted
        ]

    def _words_under(self, message: str, room: str) -> list[str]:
        about = [each["content"]["m.relates_to"] for each in self._mine("m.reaction", room)]
        return [each["key"] for each in about if each["event_id"] == message]

    def shown(self, where: str = PRIVATE, user: str = "ada") -> list[Shown]:
        room = self.chat(where, user)
        found: list[Shown] = []
        for event in self._mine("m.room.message", room):
            content = event["content"]
            if content.get("msgtype") == "m.file" or "m.new_content" in content:
                continue
            newest = self.edits.get(event["event_id"], content)
            text = self.read(newest)
            words = self._words_under(event["event_id"], room)
            replied = content.get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id")
            found.append(Shown(event["event_id"], text, [(_label(word, text), word) for word in words], replied))
        return found

    def whole(self, where: str = PRIVATE) -> bool:
        """No button is on its way any more: all that the last drawing wanted is there for a moment."""
        return time.monotonic() - self._moved_at > 0.3

    def told(self, user: str = "ada", where: str = PRIVATE) -> list[str]:
        return [each.text for each in self.shown(where, user)]

    def delete(self, message: Any, where: str = PRIVATE) -> None:
        self.redacted.add(message)

    def close(self, where: str = PRIVATE, user: str = "ada") -> None:
        room = self.chat(where, user)
        self.closed.add(room)
        self.rooms[room].discard(ME)

    def invite(self, room: str, user: str, *, encrypted: bool = False, claims: str = "") -> None:
        """`claims`: who the room's server says it was, besides."""
        self.rooms[room] = {PEOPLE[user]}
        if encrypted:
            self.happens(room, PEOPLE[user], "m.room.encryption", {"algorithm": "m.megolm"}, state_key="")
        self.invites[room] = [*([PEOPLE[claims]] if claims else []), PEOPLE[user]]
        self.happens("", "", "nothing", {})

    def read(self, content: dict[str, Any]) -> str:
        parser = Words()
        parser.feed(content["formatted_body"])
        parser.close()
        self.expect({tag for tag, _ in parser.tags} <= TAGS, f"tags {parser.tags}")
        for tag, attrs in parser.tags:
            allowed = tag == "code" and all(n == "class" and v.startswith("language-") for n, v in attrs)
            self.expect(not attrs or allowed, f"{tag} {attrs}")
        text = "".join(parser.words).strip()
        plain = re.sub(r"\s+", "", content["body"])
        self.expect(re.sub(r"\s+", "", text) == plain, f"two different messages: {text!r} {content['body']!r}")
        return re.sub(r"\n\n+", "\n", text)

    # --- the client API ------------------------------------------------------------------------------------------

    def routes(self, app: web.Application) -> None:
        app.router.add_get(f"{V3}/account/whoami", self._whoami)
        app.router.add_get(f"{V3}/sync", self._sync)
        app.router.add_put(f"{V3}/rooms/{{room}}/send/{{kind}}/{{number}}", self._send)
        app.router.add_put(f"{V3}/rooms/{{room}}/redact/{{event}}/{{number}}", self._redact)
        app.router.add_get(f"{V3}/rooms/{{room}}/joined_members", self._joined_members)
        app.router.add_post(f"{V3}/rooms/{{room}}/join", self._join)
        app.router.add_post(f"{V3}/rooms/{{room}}/leave", self._leave)
        app.router.add_post("/_matrix/media/v3/upload", self._upload)
        app.router.add_get("/_matrix/client/v1/media/download/{server}/{id}", self._download)

    def refusal(self, fault: Any) -> web.StreamResponse:
        if fault == 429 or isinstance(fault, tuple):
            after = int(fault[1] if isinstance(fault, tuple) else self.retry_after)
            return _no(429, "M_LIMIT_EXCEEDED", retry_after_ms=after * 1000)
        if fault >= 500 or fault < 400:
            return web.Response(status=fault, text="<html>upstream</html>", content_type="text/html")
        return _no(fault, "M_UNKNOWN")

    def _wrong_token(self, request: web.Request) -> web.Response | None:
        self.expect("access_token" not in request.query, "a token in an address")
        if request.headers.get("Authorization") == f"Bearer {TOKEN}":
            return None
        return _no(401, "M_UNKNOWN_TOKEN")

    async def _whoami(self, request: web.Request) -> web.StreamResponse:
        return self._wrong_token(request) or web.json_response({"user_id": ME, "device_id": "D"})

    async def _sync(self, request: web.Request) -> web.StreamResponse:
        if wrong := self._wrong_token(request):
            return wrong
        self.syncs += 1
        wanted = json.loads(request.query["filter"])["room"]["timeline"]
        since = request.query.get("since", "")
        start = int(since.removeprefix("t")) if since else 0
        if since:
            self.read_to = start
            if self._again:
                self._again, start = 0, max(0, start - 1)
        seconds = min(int(request.query.get("timeout", "0")) / 1000, 5)
        if since and seconds:
            self.opened += 1
            await self._wait(start, seconds)
        if self._cutting:
            self._cutting = False
            return self._dropped(request)
        end = len(self.events)
        rooms: dict[str, Any] = {}
        for event in self.events[start:end]:
            if event["type"] not in wanted["types"] or ME not in self.rooms.get(event["room_id"], ()):
                continue
            age = int(time.time() * 1000) - event["origin_server_ts"]
            told = {**event, "unsigned": {"age": age}}
            if event["event_id"] in self.redacted:
                told["content"] = {}
            rooms.setdefault(event["room_id"], {"timeline": {"events": []}})["timeline"]["events"].append(told)
        for told in rooms.values():
            told["timeline"]["limited"] = len(told["timeline"]["events"]) > wanted["limit"]
            told["timeline"]["events"] = told["timeline"]["events"][-wanted["limit"] :]
        for room in self.rooms:
            states = [
                e
                for e in self.events
                if e["room_id"] == room and e["type"] == "m.room.encryption" and e.get("state_key") == ""
            ]
            if states and ME in self.rooms[room] and room not in self.left:
                rooms.setdefault(room, {"timeline": {"events": []}})["state"] = {"events": states}
        asked = {
            room: {"invite_state": {"events": [_invite(each) for each in by]}} for room, by in self.invites.items()
        }
        told = {"join": rooms, "invite": asked, "leave": {room: {} for room in self.closed}}
        return web.json_response({"next_batch": f"t{end}", "rooms": told})

    async def _wait(self, start: int, seconds: float) -> None:
        def over() -> bool:
            return bool(len(self.events) > start or self.invites or self._cutting or self._ending)

        async with self._news:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait_for(over)

    async def _send(self, request: web.Request) -> web.StreamResponse:
        if wrong := self._wrong_token(request):
            return wrong
        room, kind = request.match_info["room"], request.match_info["kind"]
        content = await request.json()
        transaction = (room, request.match_info["number"])

        async def do() -> web.StreamResponse:
            if ME not in self.rooms.get(room, ()):
                return _no(403, "M_FORBIDDEN")
            if transaction not in self._transactions:  # the same again is the same event
                self._check(kind, content)
                event = {"type": kind, "room_id": room, "sender": ME, "content": content}
                self._transactions[transaction] = await self._happens(event)
                about = content.get("m.relates_to", {})
                if about.get("rel_type") == "m.replace":
                    self.edits[about["event_id"]] = content["m.new_content"]
            return web.json_response({"event_id": self._transactions[transaction]})

        return await self.written(request, kind, do)

    def _check(self, kind: str, content: dict[str, Any]) -> None:
        self.expect(len(json.dumps(content)) < 60_000, "an event of more than 64 KB")
        if kind == "m.reaction":
            about = content["m.relates_to"]
            self.expect(about["rel_type"] == "m.annotation" and 0 < len(about["key"]) <= 40, about)
            return
        self.expect(kind == "m.room.message", kind)
        for each in (content, content.get("m.new_content", content)):
            self.expect(each.get("m.mentions") == {}, f"mentions {each}")
            if each["msgtype"] != "m.file" and "m.new_content" not in each:
                self.expect(each["msgtype"] in ("m.text", "m.notice"), each["msgtype"])
                self.read(each)

    async def _redact(self, request: web.Request) -> web.StreamResponse:
        event = request.match_info["event"]
        owner = next((each["sender"] for each in self.events if each["event_id"] == event), "")
        if self.powerless and owner != ME:
            return _no(403, "M_FORBIDDEN")
        self.redacted.add(event)
        self._moved_at = time.monotonic()
        return web.json_response({"event_id": f"$r{next(self._count)}"})

    async def _joined_members(self, request: web.Request) -> web.StreamResponse:
        room = request.match_info["room"]
        there = {
            user: {"display_name": user[1:].partition(":")[0].capitalize()} for user in self.rooms.get(room, ())
        }
        return web.json_response({"joined": there})

    async def _join(self, request: web.Request) -> web.StreamResponse:
        room = request.match_info["room"]
        self.invites.pop(room, None)
        self.rooms[room].add(ME)
        await self._happens(
            {
                "type": "m.room.member",
                "room_id": room,
                "sender": ME,
                "state_key": ME,
                "content": {"membership": "join"},
            }
        )
        return web.json_response({"room_id": room})

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        room = request.match_info["room"]
        self.rooms[room].discard(ME)
        self.left.add(room)
        return web.json_response({})

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        name = f"m{next(self._count)}"
        self.uploads[name] = await request.read()
        self.files.append({"name": request.query["filename"], "text": self.uploads[name].decode(), "id": name})
        return web.json_response({"content_uri": f"mxc://example.org/{name}"})

    @property
    def sent_files(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for event in self.events:
            content = event["content"]
            if event["sender"] == ME and content.get("msgtype") == "m.file":
                name = content["url"].rpartition("/")[2]
                (file,) = [each for each in self.files if each["id"] == name]
                of = content["m.relates_to"]["m.in_reply_to"]["event_id"]
                found.append({"name": file["name"], "text": file["text"], "of": of})
        return found

    async def _download(self, request: web.Request) -> web.StreamResponse:
        if wrong := self._wrong_token(request):
            return wrong
        return web.Response(body=self.uploads[request.match_info["id"]])

    def cut(self) -> None:
        """The sync that waits ends without a word."""
        self._cutting = True
        self.run(self._wake())

    def hang_up(self) -> None:
        if not self._ending:
            self._ending = True
            self.run(self._wake())
        super().hang_up()

    async def _wake(self) -> None:
        async with self._news:
            self._news.notify_all()


def _invite(by: str) -> dict[str, Any]:
    return {"type": "m.room.member", "sender": by, "state_key": ME, "content": {"membership": "invite"}}


def _label(word: str, text: str) -> str:
    """A number stands for the line with that number in the message."""
    bare = AGAIN.sub("", word)
    if NUMBERED.match(bare):
        return next(
            (line.removeprefix(f"{bare} ") for line in text.split("\n") if line.startswith(f"{bare} ")), bare
        )
    return bare


def _no(status: int, word: str, **more: Any) -> web.Response:
    return web.json_response({"errcode": word, "error": "no", **more}, status=status)
