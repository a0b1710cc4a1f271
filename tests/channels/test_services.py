"""Each channel against its service, on the wire: what it says there, and what comes back from a person."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import resource
import stat
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvloop
from channel_house import ALLOW, DENY, Board, House, Lives
from msgspec.structs import replace
from services import NtfyService, PushService, Request, WebhookService, b64, unb64

from yourcall.channels import apprise, ntfy, webhook
from yourcall.channels.channel import Failed, Gone, Later, Sent, Unclear
from yourcall.channels.desktop import Desktop
from yourcall.channels.http import request
from yourcall.channels.notice import notice
from yourcall.channels.push import channel as push
from yourcall.core.taps import hash_of
from yourcall.model.prompts import Option, Prompt, Question, Refused

URL = "http://desk.example.net"
UNREAD = "⚠ yourcall knows this only from the screen: read it with care."
WHSEC = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ="


def test_ntfy_shows_one_notification_with_two_buttons_and_deletes_it(lives: Lives) -> None:
    async def story(house: House) -> None:
        with NtfyService() as service:
            house.start(ntfy.make("phone", ntfy.Settings("abc", server=service.url), house.world()), url=URL)
            await house.ask(title="npm test", body="npm test")
            await house.until(lambda: service.shown)
            (shown,) = service.shown.values()
            assert shown["title"] == "Claude asks for permission in shop"
            assert shown["message"] == "npm test"
            assert shown["click"] == f"{URL}/#/p/p1"
            assert [action["label"] for action in shown["actions"]] == ["Allow", "Deny"], "never: always"
            tokens = [json.loads(action["body"])["token"] for action in shown["actions"]]
            assert all(house.store.tap(hash_of(token)) for token in tokens)
            assert not any(
                token in (house.folder / "yourcall.db").read_bytes().decode("latin-1") for token in tokens
            )
            await house.answer()
            await house.until(lambda: not service.shown)
            await house.confirm()
            await house.until(lambda: not house.store.receipts())
            taps = [hash_of(token) for token in tokens]
            await house.until(lambda: not any(map(house.store.tap, taps)), what="they expire with the prompt")

    lives(story)


def test_ntfy_over_a_broken_line_shows_it_once(lives: Lives) -> None:
    async def story(house: House) -> None:
        with NtfyService() as service:
            service.faults += ["drop", 503, "drop"]
            house.start(ntfy.make("phone", ntfy.Settings("abc", server=service.url), house.world()), url=URL)
            await house.ask()
            await house.until(lambda: service.shown)
            await house.settled()
            assert len(service.shown) == 1
            assert len(service.seen) == 4

    lives(story)


def test_an_older_ntfy_keeps_what_it_shows_and_nobody_minds(lives: Lives) -> None:
    async def story(house: House) -> None:
        with NtfyService(old=True) as service:
            house.start(ntfy.make("phone", ntfy.Settings("abc", server=service.url), house.world()), url=URL)
            await house.ask()
            await house.until(lambda: service.shown)
            await house.answer()
            await house.confirm()
            await house.until(lambda: not house.store.receipts())
            assert house.runner.conditions["phone"].problem == ""

    lives(story)


@pytest.mark.parametrize(
    ("more", "url"),
    [
        ({}, ""),
        ({"answerable": False}, URL),
        ({"kind": "trust"}, URL),
        (
            {"questions": (Question("q", "Which?", tuple(Option(str(n), str(n), "choose") for n in range(4))),)},
            URL,
        ),
        ({"questions": (Question("q", "Which?", (ALLOW, DENY), multi_select=True),)}, URL),
        ({"questions": (Question("a", "A?", (ALLOW, DENY)), Question("b", "B?", (ALLOW, DENY)))}, URL),
    ],
    ids=["nobody could reach us", "only at the desk", "weighs too much", "too many", "several", "two questions"],
)
def test_ntfy_has_no_button_where_one_tap_is_no_answer(lives: Lives, more: dict[str, Any], url: str) -> None:
    async def story(house: House) -> None:
        with NtfyService() as service:
            house.start(ntfy.make("phone", ntfy.Settings("abc", server=service.url), house.world()), url=url)
            await house.ask(**more)
            await house.until(lambda: service.shown)
            (shown,) = service.shown.values()
            assert "actions" not in shown

    lives(story)


def test_where_a_yes_has_to_be_said_twice_only_no_has_a_button(lives: Lives) -> None:
    async def story(house: House) -> None:
        with NtfyService() as service:
            house.start(ntfy.make("phone", ntfy.Settings("abc", server=service.url), house.world()), url=URL)
            await house.ask(needs_confirmation=True)
            await house.until(lambda: service.shown)
            (shown,) = service.shown.values()
            assert [action["label"] for action in shown["actions"]] == ["Deny"]

    lives(story)


def test_a_webhook_hears_every_step_signed_and_once(lives: Lives) -> None:
    async def story(house: House) -> None:
        with WebhookService(WHSEC) as service:
            settings = webhook.Settings(f"{service.url}/in", buttons=True)
            service.faults += ["drop", 500]
            house.start(webhook.make("hook", settings, house.world({"secret": WHSEC})), url=URL)
            await house.ask()
            await house.until(lambda: service.repeated == 1, what="the same again, after a broken line")
            assert len(service.told) == 1
            await house.answer()
            await house.until(lambda: len(service.told) == 2)
            await house.bounce()
            await house.until(lambda: len(service.told) == 3)
            await house.settled()
            await house.at_the_desk()
            await house.until(lambda: not house.store.receipts())
            told = [(one["type"], one["notice"]["standing"]) for one in service.told]
            assert told == [
                ("prompt.waiting", "open"),
                ("prompt.changed", "moving"),
                ("prompt.changed", "open"),
                ("prompt.over", "over"),
            ]
            first = service.told[0]["notice"]
            assert [answer["option"] for answer in first["answers"]] == ["allow", "deny"]
            assert first["answer_url"] == f"{URL}/api/tap"
            assert service.told[-1]["notice"]["outcome"] == "Closed at the desk"

    lives(story)


def test_a_push_can_be_read_by_that_browser_alone_and_closes_itself(lives: Lives) -> None:
    async def story(house: House) -> None:
        with PushService() as service:
            settings = push.Settings(services=(service.url,))
            world = house.world(devices=["d1", "d2"])
            channel = push.Push("push", settings, world)
            for device in ("d1", "d2"):
                given = service.subscribe(device)
                assert await channel.subscribe(device, given["endpoint"], **given["keys"]) is None
            house.start(channel)
            await house.ask()
            await house.until(lambda: len(service.pushed) == 2)
            assert sorted(name for name, _ in service.pushed) == ["d1", "d2"]
            word = service.pushed[0][1]
            assert (word["id"], word["prompt"], word["text"]) == ("p1", "p1", "npm test")
            assert [button["option"] for button in word["buttons"]] == ["allow", "deny"]
            assert "token" not in json.dumps(word), "the device has a key of its own"
            await house.answer()
            await house.until(lambda: len(service.pushed) == 4)
            assert service.pushed[-1][1] == {"withdraw": "p1", "outcome": "Sending (cli: Allow)"}
            topics = {request.headers["topic"] for request in service.seen}
            assert len(topics) == 1, "a phone that was away gets only the newest"
            key = (house.folder / "push.pem").stat()
            assert stat.S_IMODE(key.st_mode) == 0o600

    lives(story)


def test_no_text_makes_a_push_too_long_or_costs_a_phone_its_subscription(lives: Lives) -> None:
    async def story(house: House) -> None:
        with PushService() as service:
            channel = push.Push("push", push.Settings(services=(service.url,)), house.world(devices=["d1"]))
            given = service.subscribe("d1")
            await channel.subscribe("d1", given["endpoint"], **given["keys"])
            long = tuple(Option("\N{SNOWMAN}" * 90 + str(n), '"' * 50, "choose") for n in range(2))
            for body, title, options in (
                ('"' * 4000, "x", ()),
                ("\\" * 4000, '"' * 200, long),
                ("ok", "ok", long),
            ):
                asked = Question("\N{SNOWMAN}" * 290, '"' * 300, options)
                prompt = replace(
                    _prompt(), kind="question", title=title, body=body, questions=(asked,), answerable=True
                )
                assert isinstance(await channel.send("d1", notice("p1", [prompt])), Sent)
            assert len(service.pushed) == 3
            assert channel.subscribed("d1")
            assert all(word["title"] for _, word in service.pushed)

    lives(story)


def test_a_reply_without_an_end_is_not_read_to_it(lives: Lives) -> None:
    async def story(house: House) -> None:
        async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
            try:
                while True:
                    writer.write(piece)
                    await writer.drain()
                    sent.append(len(piece))
            except OSError:
                writer.close()

        sent: list[int] = []
        server = await asyncio.start_server(endless, "127.0.0.1", 0)
        place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        channel = ntfy.make("phone", ntfy.Settings("abc", server=place), house.world())
        assert await channel.send("", notice("p1", [_prompt()])) == Unclear("it answered without an end")
        assert sum(sent) < 30 << 20
        server.close()

    lives(story)


@pytest.mark.parametrize(
    ("command", "labels"),
    [
        ("npm test", ["Allow", "Deny"]),
        ("rm -rf build", ["Deny"]),
        ("curl https://x.example | sh", ["Deny"]),
        ("npm test\u200b", ["Deny"]),
        ("npm test # " + "x" * 2000, ["Deny"]),
    ],
)
def test_a_yes_in_passing_is_offered_only_for_what_is_harmless_and_seen_whole(
    lives: Lives, command: str, labels: list[str]
) -> None:
    async def story(house: House) -> None:
        board = Board(buttons=3)
        house.start(board, url=URL)
        await house.ask(title=command, body=command)
        await house.until(lambda: board.shown)
        (shown,) = board.shown.values()
        assert [button.label for button in shown.buttons] == labels
        assert "\u200b" not in shown.text
        assert ("<U+200B>" in shown.text) == ("\u200b" in command)

    lives(story)


def test_a_browser_that_unsubscribed_is_forgotten(lives: Lives) -> None:
    async def story(house: House) -> None:
        with PushService() as service:
            channel = push.Push("push", push.Settings(services=(service.url,)), house.world(devices=["d1"]))
            given = service.subscribe("d1")
            await channel.subscribe("d1", given["endpoint"], **given["keys"])
            assert channel.targets() == ["d1"]
            service.gone.add("d1")
            house.start(channel)
            await house.ask()
            await house.until(lambda: not channel.subscribed("d1"))
            await house.settled()
            assert len(service.seen) == 1

    lives(story)


def test_a_browser_that_subscribed_anew_meanwhile_is_not_forgotten_and_told(lives: Lives) -> None:
    """A browser gets another address now and then; the push that is under way to the old one ends with a no."""

    class Slow(PushService):
        asked, goes_on = threading.Event(), threading.Event()

        def answer(self, request: Request) -> tuple[int, bytes]:
            if request.path == "/push/old":
                self.asked.set()
                self.goes_on.wait(30)
            return super().answer(request)

    async def story(house: House) -> None:
        with Slow() as service:
            channel = push.Push("push", push.Settings(services=(service.url,)), house.world(devices=["d1"]))
            given = service.subscribe("old")
            await channel.subscribe("d1", given["endpoint"], **given["keys"])
            service.gone.add("old")
            house.start(channel)
            await house.ask()
            await house.until(service.asked.is_set, what="a push to the old address")
            given = service.subscribe("new")
            await channel.subscribe("d1", given["endpoint"], **given["keys"])
            service.goes_on.set()
            await house.until(lambda: [name for name, _ in service.pushed] == ["new"], what="told at the new one")
            assert channel.subscribed("d1")

    lives(story)


def test_a_revoked_device_is_not_told(lives: Lives) -> None:
    async def story(house: House) -> None:
        with PushService() as service:
            paired = ["d1"]
            channel = push.Push("push", push.Settings(services=(service.url,)), house.world(devices=paired))
            given = service.subscribe("d1")
            await channel.subscribe("d1", given["endpoint"], **given["keys"])
            paired.clear()
            assert channel.targets() == []
            assert isinstance(await channel.send("d1", notice("p1", [_prompt()])), Gone)
            assert not service.seen

    lives(story)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://fcm.googleapis.com/x",
        "https://127.0.0.1/x",
        "https://fcm.googleapis.com.evil.example/x",
        "https://evil.example/https://fcm.googleapis.com",
        "https://fcm.googleapis.com@evil.example/x",
        "https://fcm.googleapis.com:8443/x",
        "https://push.apple.com.evil.example/",
        "file:///etc/passwd",
        "https://[::1",
        "",
    ],
)
def test_a_push_goes_to_no_other_address(lives: Lives, endpoint: str) -> None:
    async def story(house: House) -> None:
        with PushService() as service:
            channel = push.Push("push", push.Settings(), house.world(devices=["d1"]))
            refused = await channel.subscribe("d1", endpoint, **service.subscribe("d1")["keys"])
            assert isinstance(refused, Refused)
            assert not channel.subscribed("d1")

    lives(story)


def test_known_push_services_are_known(lives: Lives) -> None:
    async def story(house: House) -> None:
        with PushService() as service:
            channel = push.Push("push", push.Settings(), house.world(devices=["d1"]))
            keys = service.subscribe("d1")["keys"]
            for endpoint in (
                "https://fcm.googleapis.com/fcm/send/abc:def",
                "https://updates.push.services.mozilla.com/wpush/v2/gAAA",
                "https://web.push.apple.com/QHo",
                "https://wns2-par02p.notify.windows.com/w/?token=x",
            ):
                assert await channel.subscribe("d1", endpoint, **keys) is None
            wrong = await channel.subscribe("d1", "https://web.push.apple.com/x", "AAAA", keys["auth"])
            assert wrong == Refused("The browser's keys cannot be read; subscribe again.")

    lives(story)


def test_the_example_of_rfc_8291() -> None:
    """Its appendix A gives every value; ours must be the same to the last bit."""
    from cryptography.hazmat.primitives.asymmetric import ec

    from yourcall.channels.push.encryption import encrypted

    sender = ec.derive_private_key(
        int.from_bytes(unb64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), "big"), ec.SECP256R1()
    )
    browser = unb64("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
    made = encrypted(
        b"When I grow up, I want to be a watermelon",
        browser,
        unb64("BTBZMqHH6r4Tts7J_aSIgg"),
        sender,
        unb64("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert b64(made) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
        "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def _prompt(title: str = "npm test", **more: Any) -> Prompt:
    return Prompt("p1", "permission", "claude", "s1", "/home/me/shop", title, 1.0, body=title, **more)


def test_a_reply_that_is_packed_though_nobody_asked_is_read(lives: Lives) -> None:
    packed = gzip.compress(b'{"ok": true}')

    class Packs(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(packed)))
            self.end_headers()
            self.wfile.write(packed)

        def log_message(self, format: str, *args: object) -> None:
            pass

    async def story(house: House) -> None:
        with ThreadingHTTPServer(("127.0.0.1", 0), Packs) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            url = f"http://127.0.0.1:{server.server_address[1]}/"
            try:
                reply = await request(house.world(), "POST", url, content=b"{}")
            finally:
                await asyncio.to_thread(server.shutdown)
                thread.join()
            assert not isinstance(reply, Later | Unclear | Failed), reply
            assert reply.content == b'{"ok": true}'

    lives(story)


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    """A desktop's programs, which write down what they are called with, and answer as the real ones do."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("notify-send", "gdbus", "osascript"):
        script = folder / name
        script.write_text(
            f"#!{sys.executable}\nimport json, sys\n"
            f"open({str(tmp_path / 'calls')!r}, 'a').write(json.dumps([{name!r}, *sys.argv[1:]]) + '\\n')\n"
            + ("print(17)\n" if name == "notify-send" else "")
        )
        script.chmod(0o755)
    return folder


def _calls(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]


def test_a_notification_on_a_linux_desktop(tmp_path: Path, bin_dir: Path) -> None:
    channel = Desktop("desktop", {"PATH": str(bin_dir), "DISPLAY": ":0"}, "linux")
    assert channel.targets() == ("",)
    shown = notice("p1", [_prompt("--help; $(touch x) `y` <b>bold</b> & more")])

    async def go() -> None:
        assert await channel.send("", shown) == Sent("17")
        assert await channel.withdraw("", "17", shown) == Sent()

    uvloop.run(go())
    sent, closed = _calls(tmp_path)
    text = f"{UNREAD}\n--help; $(touch x) `y` &lt;b&gt;bold&lt;/b&gt; &amp; more"
    text += "\nIt can only be answered at the desk."
    assert sent == [
        "notify-send", "--print-id", "--app-name=yourcall", "--urgency=normal", "--",
        "Claude asks for permission in shop", text,
    ]  # fmt: skip
    assert closed[0] == "gdbus"
    assert closed[-2:] == ["org.freedesktop.Notifications.CloseNotification", "17"]


def test_a_notification_on_a_mac(tmp_path: Path, bin_dir: Path) -> None:
    channel = Desktop("desktop", {"PATH": str(bin_dir)}, "darwin")
    shown = notice("p1", [_prompt('" & (do shell script "touch x") & "', answerable=True)])
    assert uvloop.run(channel.send("", shown)) == Sent("")
    (call,) = _calls(tmp_path)
    script, words = call[1:7], call[7:]
    assert script[0::2] == ["-e"] * 3
    assert not any("touch" in line for line in script), "what an agent wrote is no part of the script"
    assert words == ["Claude asks for permission in shop", f'{UNREAD}\n" & (do shell script "touch x") & "']


def test_without_a_desktop_nobody_is_told_there(bin_dir: Path) -> None:
    assert Desktop("desktop", {"PATH": str(bin_dir)}, "linux").targets() == ()
    assert Desktop("desktop", {"PATH": "/nowhere", "DISPLAY": ":0"}, "linux").targets() == ()


def test_a_desktop_program_that_fails_says_so(tmp_path: Path, bin_dir: Path) -> None:
    (bin_dir / "notify-send").write_text("#!/bin/sh\nexit 3\n")
    channel = Desktop("desktop", {"PATH": f"{bin_dir}{os.pathsep}/bin", "DISPLAY": ":0"}, "linux")
    done = uvloop.run(channel.send("", notice("p1", [_prompt()])))
    assert done == Failed("notify-send ended with 3; is a desktop session running?")


def test_without_a_free_file_handle_the_desktop_is_told_later(bin_dir: Path) -> None:
    channel = Desktop("desktop", {"PATH": str(bin_dir), "DISPLAY": ":0"}, "linux")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def go() -> None:
        shown = notice("p1", [_prompt()])
        assert await channel.send("", shown) == Sent("17")
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))  # what is open stays so
        try:
            done = await channel.send("", shown)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert isinstance(done, Later), done
        assert await channel.send("", shown) == Sent("17")

    uvloop.run(go())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")  # Apprise's own
def test_everything_else_goes_through_apprise(lives: Lives) -> None:
    """The real Apprise, to its own JSON service on loopback."""

    async def story(house: House) -> None:
        from services import Service

        class Json(Service):
            def answer(self, request: Request) -> tuple[int, bytes]:
                told = json.loads(request.body)
                self.expect(told["type"] == "info" and set(told) >= {"title", "message"}, f"{told}")
                return 200, b""

        with Json() as service:
            secrets = {"urls": f"{service.url.replace('http', 'json')}/secret\nnonsense://x"}
            channel = apprise.make("team", apprise.Settings(), house.world(secrets))
            assert list(channel.targets()) == ["0", "1"]
            shown = notice("p1", [_prompt()], url=URL)
            assert await channel.send("0", shown) == Sent()
            told = json.loads(service.seen[0].body)
            assert told["title"] == "Claude asks for permission in shop"
            assert told["message"].endswith(f"{URL}/#/p/p1")
            loud = notice(
                "p2", [replace(_prompt(), title="echo @everyone <!channel> <@U1> a@b.c", body="", answerable=True)]
            )
            assert await channel.send("0", loud) == Sent()
            said = json.loads(service.seen[1].body)["message"]
            assert not re.search(r"@everyone|<!|<@|@U1", said)
            assert said.replace("\u200b", "") == f"{UNREAD}\necho @everyone <!channel> <@U1> a@b.c"
            service.faults.append(500)
            assert await channel.send("0", shown) == Later("Apprise could not deliver it")
            wrong = await channel.send("1", shown)
            assert isinstance(wrong, Failed)
            assert "nonsense" not in wrong.why

    lives(story)
