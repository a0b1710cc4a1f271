"""A stand-in for Telegram's Bot API, on loopback: it keeps what a chat shows, and checks every call strictly.

The rule it keeps: what the real service would refuse is refused here with its own words, and `wrong` remembers it;
a test that leaves something there fails. People act through it: `say`, `tap`.
"""

from __future__ import annotations

import email.parser
import email.policy
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kit.poll import until

TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw-topic-secret"

TEXT_FIELDS = {
    "chat_id", "text", "entities", "link_preview_options", "reply_markup", "message_thread_id", "reply_parameters",
}  # fmt: skip
METHODS: dict[str, tuple[set[str], set[str]]] = {
    "getMe": (set(), set()),
    "setMyCommands": ({"commands"}, set()),
    "getUpdates": (set(), {"offset", "timeout", "allowed_updates", "limit"}),
    "sendMessage": ({"chat_id", "text"}, TEXT_FIELDS),
    "editMessageText": ({"chat_id", "message_id", "text"}, TEXT_FIELDS | {"message_id"}),
    "sendDocument": (
        {"chat_id", "document"},
        {"reply_parameters", "disable_notification", "message_thread_id"},
    ),
    "answerCallbackQuery": ({"callback_query_id"}, {"text", "show_alert"}),
    "createForumTopic": ({"chat_id", "name"}, set()),
    "getFile": ({"file_id"}, set()),
}
# Longer than a button has to stand, with some of the line's own time.
LOOK_S = 1.5

ENTITIES = {"bold", "italic", "code", "pre"}


class Call:
    def __init__(self, method: str, fields: dict[str, Any]) -> None:
        self.method, self.fields, self.at = method, fields, time.monotonic()


class TelegramServer:
    """`faults`: what happens to the next calls instead (not to polls): a status, `drop`, or (status, words).

    `poll_faults` are the same for getUpdates. `lost`: methods whose next call is done, and never answered;
    `garbled`: done, and answered without saying anything. `uploads`: what people have sent, by its file id.
    """

    def __init__(self, token: str = TOKEN) -> None:
        self.token = token
        self.seen: list[Call] = []
        self.wrong: list[str] = []
        self.faults: list[Any] = []
        self.poll_faults: list[Any] = []
        self.lost: list[str] = []
        self.garbled: list[str] = []
        self.uploads: dict[str, bytes] = {}
        self.two_pollers = False
        self._waiting = 0.0
        self._moved_at = 0.0
        self.retry_after = ""
        self.chats: dict[int, dict[str, Any]] = {}
        self.messages: dict[tuple[int, int], dict[str, Any]] = {}
        self.files: list[dict[str, Any]] = []
        self.toasts: dict[str, dict[str, Any]] = {}
        self.topics: dict[tuple[int, int], str] = {}
        self.commands: list[dict[str, str]] = []
        self.blocked: set[int] = set()
        self.moved: dict[int, int] = {}
        self.may_make_topics = True
        self.polls = 0
        self._updates: list[dict[str, Any]] = []
        self._number = 900_000
        self._message = 100
        self._queries: dict[str, bool] = {}
        self._polling = 0
        self._lock = threading.Condition()
        self._closed = False
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                if len(body) < length:  # the caller was ended while it sent this
                    self.close_connection = True
                    return
                status, reply, headers = server._answer(self.path, self.headers.get("content-type", ""), body)
                if status == 0:
                    self.close_connection = True
                    return
                data = json.dumps(reply).encode() if reply is not None else b""
                try:
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    self.close_connection = True

            def do_GET(self) -> None:
                name = self.path.removeprefix(f"/file/bot{server.token}/files/")
                data = server.uploads.get(name)
                self.send_response(404 if data is None else 200)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that hangs up in the middle of a poll is nothing to print."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> TelegramServer:
        return self

    def hang_up(self) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __exit__(self, *_: object) -> None:
        if not self._closed:
            self.hang_up()
        assert not self.wrong, self.wrong

    # --- people --------------------------------------------------------------------------------------------------

    def say(
        self,
        text: str,
        *,
        chat: int = 7,
        user: int = 7,
        name: str = "Ada",
        kind: str = "private",
        reply_to: int = 0,
        thread: int = 0,
        forum: bool = False,
        ago: float = 0.0,
        **more: Any,
    ) -> int:
        """Somebody writes a message; its id."""
        with self._lock:
            self._message += 1
            self.chats.setdefault(chat, {"type": kind, "forum": forum})
            where: dict[str, Any] = {"id": chat, "type": kind, "title": "The group"}
            if forum:
                where["is_forum"] = True
            message: dict[str, Any] = {
                "message_id": self._message,
                "from": {"id": user, "is_bot": False, "first_name": name},
                "chat": where,
                "date": int(time.time() - ago),
                **({"text": text} if text else {}),
                **more,
            }
            if reply_to:
                message["reply_to_message"] = {"message_id": reply_to, "chat": where, "date": 1}
            if thread:
                message |= {"message_thread_id": thread, "is_topic_message": True}
            self._update({"message": message})
            return self._message

    def tap(self, message_id: int, label: str, *, chat: int = 7, user: int = 7, hasty: bool = False) -> str:
        """Somebody presses the button with this label; the query's id. `hasty`: without looking at it first."""
        keys = [key for row in self.keyboard(message_id, chat) for key in row]
        (key,) = [key for key in keys if key["text"] == label]
        return self.press(message_id, key["callback_data"], chat=chat, user=user, hasty=hasty)

    def press(self, message_id: int, data: str, *, chat: int = 7, user: int = 7, hasty: bool = False) -> str:
        if not hasty:
            self.look()
        with self._lock:
            self._moved_at = time.monotonic()
            query = f"q{self._number}"
            self._queries[query] = False
            where = {"id": chat, "type": self.chats[chat]["type"]}
            told = {
                "id": query,
                "from": {"id": user, "is_bot": False, "first_name": "Ada"},
                "chat_instance": "1",
                "message": {"message_id": message_id, "chat": where, "date": 1},
                "data": data,
            }
            self._update({"callback_query": told})
            return query

    def look(self) -> None:
        """A person looks for a moment before tapping, while the bot waits for news; a test with a clock of its own
        puts another in its place."""
        until(lambda: self._waiting and time.monotonic() - max(self._moved_at, self._waiting) > LOOK_S)

    def _update(self, told: dict[str, Any]) -> None:
        self._number += 1
        self._updates.append({"update_id": self._number, **told})
        self._lock.notify_all()

    def again(self) -> None:
        """The last update is told once more, as after a confirmation that got lost."""
        with self._lock:
            self._updates.append(self.last)
            self._lock.notify_all()

    # --- what is seen --------------------------------------------------------------------------------------------

    def shown(self, chat: int = 7) -> list[dict[str, Any]]:
        with self._lock:
            return [message for (where, _), message in self.messages.items() if where == chat]

    def keyboard(self, message_id: int, chat: int = 7) -> list[list[dict[str, Any]]]:
        with self._lock:
            return self.messages[chat, message_id].get("reply_markup", {}).get("inline_keyboard", [])

    def labels(self, message_id: int, chat: int = 7) -> list[str]:
        return [key["text"] for row in self.keyboard(message_id, chat) for key in row]

    def toast(self, query: str) -> dict[str, Any]:
        return until(lambda: self.toasts.get(query), what="a toast")

    def methods(self) -> list[str]:
        return [call.method for call in self.seen]

    # --- the API -------------------------------------------------------------------------------------------------

    def expect(self, truth: object, why: str) -> None:
        if not truth:
            self.wrong.append(why)

    def _answer(self, path: str, kind: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        prefix, _, method = path.rpartition("/")
        if prefix != f"/bot{self.token}":
            return 401, _no(401, "Unauthorized"), {}
        if method not in METHODS:
            self.wrong.append(f"no method {method}")
            return 404, _no(404, "Not Found: method not found"), {}
        fields = self._fields(kind, body)
        needed, allowed = METHODS[method]
        self.expect(needed <= set(fields), f"{method} lacks {needed - set(fields)}")
        self.expect(set(fields) <= needed | allowed, f"{method} has {set(fields) - needed - allowed}")
        self.expect("parse_mode" not in fields, "markup")
        with self._lock:
            if method == "getUpdates":
                return self._get_updates(fields)
            self.seen.append(Call(method, fields))
            fault = self.faults.pop(0) if self.faults else None
            if fault is not None:
                return self._fault(fault)
            chat = fields.get("chat_id")
            if chat in self.moved:
                more = {"migrate_to_chat_id": self.moved[chat]}
                words = "Bad Request: group chat was upgraded to a supergroup chat"
                return 400, {**_no(400, words), "parameters": more}, {}
            if chat in self.blocked:
                return 403, _no(403, "Forbidden: bot was blocked by the user"), {}
            if chat is not None and chat not in self.chats:
                return 400, _no(400, "Bad Request: chat not found"), {}
            status, said = getattr(self, f"_{method}")(fields)
            if method in ("sendMessage", "editMessageText"):
                self._moved_at = time.monotonic()
            if method in self.garbled:
                self.garbled.remove(method)
                return 200, {"ok": True}, {}
            if method in self.lost:
                self.lost.remove(method)
                return 0, None, {}
            return status, said, {}

    def _fault(self, fault: Any) -> tuple[int, Any, dict[str, str]]:
        if fault == "drop":
            return 0, None, {}
        if isinstance(fault, tuple):
            status, words = fault
            more = {"retry_after": words} if status == 429 else None
            reply = _no(status, "Too Many Requests: retry after" if more else words)
            return status, {**reply, "parameters": more} if more else reply, {}
        return fault, None, {"Retry-After": self.retry_after} if self.retry_after and fault == 429 else {}

    def _fields(self, kind: str, body: bytes) -> dict[str, Any]:
        if kind == "application/json":
            return json.loads(body)
        self.expect(kind.startswith("multipart/form-data; boundary="), f"content type {kind}")
        head = f"Content-Type: {kind}\r\n\r\n".encode()
        parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        fields: dict[str, Any] = {}
        for part in parsed.iter_parts():
            name = part.get_param("name", header="content-disposition")
            data = part.get_payload(decode=True)
            if part.get_filename():
                fields[name] = {"file_name": part.get_filename(), "text": data.decode()}
            else:
                fields[name] = json.loads(data) if name != "caption" else data.decode()
        return fields

    def _get_updates(self, fields: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        self.polls += 1
        self.expect(0 <= fields.get("timeout", 0) <= 50, "poll timeout")
        self.expect(fields.get("allowed_updates") == ["message", "callback_query"], "allowed updates")
        if self.poll_faults:
            return self._fault(self.poll_faults.pop(0))
        self._polling += 1
        mine = self._polling
        self._lock.notify_all()  # an older poll ends
        offset = fields.get("offset", 0)
        if offset:
            self._updates = [each for each in self._updates if each["update_id"] >= offset]
        self._waiting = time.monotonic()
        self._lock.wait_for(
            lambda: self._updates or self._closed or mine != self._polling, min(fields.get("timeout", 0), 5)
        )
        if mine == self._polling:
            self._waiting = 0.0
        if mine != self._polling or self.two_pollers:
            words = (
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
            )
            return 409, _no(409, words), {}
        if self._updates:
            self.last = self._updates[-1]
        return 200, {"ok": True, "result": self._updates[:100]}, {}

    def counts_anew(self, number: int) -> None:
        """As after a week without a word."""
        with self._lock:
            self._updates, self._number = [], number

    def _getFile(self, fields: dict[str, Any]) -> tuple[int, Any]:
        if len(self.uploads.get(fields["file_id"], b"")) > 20 << 20:
            return 400, _no(400, "Bad Request: file is too big")
        return 200, {
            "ok": True,
            "result": {"file_id": fields["file_id"], "file_path": f"files/{fields['file_id']}"},
        }

    def _check_text(self, fields: dict[str, Any]) -> None:
        text = fields["text"]
        units = text.encode("utf-16-le")
        self.expect(1 <= len(units) // 2 <= 4096, f"text of {len(units) // 2} units")
        self.expect(text.strip() == text, "Telegram would trim this, and move the entities")
        self.expect(fields.get("link_preview_options") == {"is_disabled": True}, "link preview")
        covered = 0
        entities = fields.get("entities", [])
        self.expect(len(entities) <= 100, "too many entities")
        for entity in entities:
            begin, length = entity["offset"], entity["length"]
            self.expect(
                entity["type"] in ENTITIES and set(entity) <= {"type", "offset", "length", "language"}, entity
            )
            self.expect(begin >= covered and length > 0, f"entities overlap or are empty: {entities}")
            covered = begin + length
            self.expect(covered * 2 <= len(units), "an entity beyond the text")
            for at in (begin, covered):
                half = units[at * 2 : at * 2 + 2]
                low = len(half) == 2 and 0xDC <= half[1] <= 0xDF
                self.expect(not low, "an entity cuts a letter in two")
        for row in fields.get("reply_markup", {}).get("inline_keyboard", []):
            self.expect(1 <= len(row) <= 8, "keys in a row")
            for key in row:
                self.expect(key["text"].strip(), "a key without a label")
                self.expect(set(key) in ({"text", "callback_data"}, {"text", "url"}), f"key {key}")
                self.expect(1 <= len(key.get("callback_data", "x").encode()) <= 64, "callback data")

    def _sendMessage(self, fields: dict[str, Any]) -> tuple[int, Any]:
        self._check_text(fields)
        if _bad_link(fields):
            return 400, _no(400, "Bad Request: inline keyboard button URL is invalid: Wrong HTTP URL")
        thread = fields.get("message_thread_id")
        if thread is not None and (fields["chat_id"], thread) not in self.topics:
            return 400, _no(400, "Bad Request: message thread not found")
        return 200, self._new(fields)

    def _new(self, fields: dict[str, Any]) -> dict[str, Any]:
        self._message += 1
        message = {**fields, "message_id": self._message}
        self.messages[fields["chat_id"], self._message] = message
        return {"ok": True, "result": {"message_id": self._message, "date": 1, "chat": {"id": fields["chat_id"]}}}

    def _editMessageText(self, fields: dict[str, Any]) -> tuple[int, Any]:
        self._check_text(fields)
        if _bad_link(fields):
            return 400, _no(400, "Bad Request: inline keyboard button URL is invalid: Wrong HTTP URL")
        old = self.messages.get((fields["chat_id"], fields["message_id"]))
        if old is None:
            return 400, _no(400, "Bad Request: message to edit not found")
        same = ("text", "entities", "reply_markup")
        empty = {"entities": [], "reply_markup": {"inline_keyboard": []}}
        if all(old.get(name, empty.get(name)) == fields.get(name, empty.get(name)) for name in same):
            words = (
                "Bad Request: message is not modified: specified new message content and reply markup are exactly"
            )
            return 400, _no(400, words + " the same as a current content and reply markup of the message")
        self.messages[fields["chat_id"], fields["message_id"]] = {**old, **fields}
        return 200, {"ok": True, "result": {"message_id": fields["message_id"]}}

    def _sendDocument(self, fields: dict[str, Any]) -> tuple[int, Any]:
        self.expect(fields["document"]["file_name"] and fields["document"]["text"], "file must be non-empty")
        self.files.append({**fields["document"], "reply_to": fields["reply_parameters"]["message_id"]})
        self._message += 1
        return 200, {"ok": True, "result": {"message_id": self._message}}

    def _answerCallbackQuery(self, fields: dict[str, Any]) -> tuple[int, Any]:
        query = fields["callback_query_id"]
        self.expect(len(fields.get("text", "")) <= 200, "toast too long")
        if self._queries.get(query) is not False:
            return 400, _no(
                400, "Bad Request: query is too old and response timeout expired or query ID is invalid"
            )
        self._queries[query] = True
        self.toasts[query] = fields
        return 200, {"ok": True, "result": True}

    def _createForumTopic(self, fields: dict[str, Any]) -> tuple[int, Any]:
        self.expect(1 <= len(fields["name"]) <= 128, "topic name")
        if not self.may_make_topics:
            return 400, _no(400, "Bad Request: not enough rights to create a topic")
        self._message += 1
        self.topics[fields["chat_id"], self._message] = fields["name"]
        return 200, {"ok": True, "result": {"message_thread_id": self._message, "name": fields["name"]}}

    def _getMe(self, _: dict[str, Any]) -> tuple[int, Any]:
        return 200, {"ok": True, "result": {"id": 1, "is_bot": True, "username": "my_yourcall_bot"}}

    def _setMyCommands(self, fields: dict[str, Any]) -> tuple[int, Any]:
        for each in fields["commands"]:
            self.expect(each["command"].islower() and 1 <= len(each["command"]) <= 32, "command")
            self.expect(1 <= len(each["description"]) <= 256, "description")
        self.commands = fields["commands"]
        return 200, {"ok": True, "result": True}


def _bad_link(fields: dict[str, Any]) -> bool:
    keys = [key for row in fields.get("reply_markup", {}).get("inline_keyboard", []) for key in row]
    return any("url" in key and "." not in key["url"].partition("://")[2].partition("/")[0] for key in keys)


def _no(code: int, words: str) -> dict[str, Any]:
    return {"ok": False, "error_code": code, "description": words}
