"""The live feed: in order, complete after a gap, and never at our cost when a client is slow."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

import pytest
from server_house import House, heard
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as websocket

from kit.poll import until
from yourcall.daemon import loop
from yourcall.model.events import DialogClosed, SessionEnded
from yourcall.server import live


def test_a_prompt_its_answer_and_its_end_are_heard_in_order(house: House) -> None:
    with house.feed(token=house.token("phone")) as feed, house.http(house.token()) as other:
        hello = heard(feed)
        assert abs(hello.pop("now") - time.time()) < 60
        assert hello.pop("head")["place"] > 0
        assert hello == {"type": "hello", "seq": house.store.last_seq, "snapshot": True, "paused": False}
        house.session("s1")
        house.ask("p1")
        other.post("/api/prompts/p1/answer", json={"option": "allow"})
        house.written("p1")
        house.settled("p1")
        said = [heard(feed) for _ in range(8)]
    assert [each["seq"] for each in said] == list(range(hello["seq"] + 1, hello["seq"] + 9))
    assert all(each["at"] > 0 for each in said)
    states = [each["prompt"]["state"] for each in said if each["type"] == "prompt"]
    assert states == ["open", "answering", "sent", "accepted", "confirmed"]
    assert [each["session"]["state"] for each in said if each["type"] == "session"] == [
        "unknown", "waiting", "working",
    ]  # fmt: skip
    with house.http(house.token()) as phone:
        last = [each["prompt"] for each in said if each["type"] == "prompt"][-1]
        assert last == phone.get("/api/prompts/p1").json()
        assert last["tool"]["input"] == {"command": "ls -la"}


def test_the_brake_is_told_whoever_pulls_it_and_to_who_comes_later(house: House) -> None:
    token = house.token()
    with house.feed(token=token) as feed, house.http(token) as phone:
        assert heard(feed)["paused"] is False
        assert phone.post("/api/pause").status_code == 200
        assert heard(feed) == {"type": "pause", "paused": True}
        with house.feed(token=token) as later:
            assert heard(later)["paused"] is True
        (house.folder / "paused").unlink()  # by hand, at the desk
        assert heard(feed) == {"type": "pause", "paused": False}


def test_who_was_away_gets_the_current_version_of_everything_that_changed(house: House) -> None:
    token = house.token()
    house.ask("p1")
    with house.feed(token=token) as feed:
        seen = heard(feed)["seq"]
    house.ask("p2")
    house.post(DialogClosed(time.time(), "p1", "busy"))
    house.ask("p3")
    last = house.store.last_seq
    with house.feed(seen, token) as feed:
        assert heard(feed).items() >= {"type": "hello", "seq": last, "snapshot": False, "paused": False}.items()
        missed = [heard(feed) for _ in range(3)]
        assert [(each["prompt"]["id"], each["prompt"]["state"]) for each in missed] == [
            ("p2", "open"),
            ("p1", "desk"),
            ("p3", "open"),
        ]
        assert missed[-1]["seq"] == last
        house.ask("p4")
        assert heard(feed)["prompt"]["id"] == "p4"


def test_nothing_is_missed_or_doubled_between_backlog_and_live(house: House) -> None:
    """Prompts come in while feeds connect at every point in between."""
    token = house.token()
    house.ask("p0")
    start = house.store.last_seq
    with ExitStack() as stack:
        feeds: list[ClientConnection] = []
        work: list[Future[Any]] = []
        for number in range(1, 60):
            if number % 6 == 0:
                feeds.append(stack.enter_context(house.feed(start, token)))
            work.append(asyncio.run_coroutine_threadsafe(house.loop.post(_raised(number)), house.aio))
        for each in work:
            each.result(20)
        last = house.store.last_seq
        assert last == start + 59
        for feed in feeds:
            assert heard(feed)["type"] == "hello"
            numbers: list[int] = []
            while not numbers or numbers[-1] < last:
                numbers.append(heard(feed)["seq"])
            assert numbers == list(range(start + 1, last + 1))


def _raised(number: int) -> Any:
    from yourcall.model.events import PromptRaised
    from yourcall.model.prompts import Prompt

    return PromptRaised(1.0, Prompt(f"p{number}", "permission", "claude", f"s{number}", "/", "t", float(number)))


def test_a_number_from_another_database_means_start_again(house: House) -> None:
    house.ask("p1")
    with house.feed(house.store.last_seq + 1000, house.token()) as feed:
        fresh = {"type": "hello", "seq": house.store.last_seq, "snapshot": True, "paused": False}
        assert heard(feed).items() >= fresh.items()
        house.ask("p2")
        assert heard(feed)["prompt"]["id"] == "p2"


def test_everything_from_the_beginning(house: House) -> None:
    house.ask("p1")
    with house.feed(0, house.token()) as feed:
        assert heard(feed)["snapshot"] is False
        assert heard(feed)["prompt"]["id"] == "p1"


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "", "9" * 30, "%20", "١"])
def test_a_number_that_is_none_is_refused(shared: House, after: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        shared.feed(after, shared.token())
    assert refused.value.response.status_code == 400
    assert "after" in json.loads(refused.value.response.body)["error"]


def test_what_a_client_says_on_the_feed_changes_nothing(house: House) -> None:
    with house.feed(token=house.token()) as feed:
        heard(feed)
        house.ask("p1")
        heard(feed)
        for said in ("", "{", json.dumps({"id": "p1", "option": "allow"}), b"\x00\xff"):
            feed.send(said)
        house.ask("p2")
        assert heard(feed)["prompt"]["id"] == "p2"
    assert house.loop.state.prompts["p1"].state == "open"


def test_the_command_line_has_the_feed_too(house: House) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as talk:
        talk.connect(house.path)
        with websocket("ws://localhost/api/live?after=0", sock=talk, proxy=None) as feed:
            assert heard(feed)["type"] == "hello"
            house.ask("p1")
            assert heard(feed)["prompt"]["id"] == "p1"


def big(number: int) -> bytes:
    return json.dumps({"tool_input": {"content": f"{number}" + "x" * 200_000}}).encode()


def slow_feed(house: House, token: str) -> ClientConnection:
    """A client with small buffers that does not read until it is asked to."""
    talk = socket.socket()
    talk.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    talk.connect(("127.0.0.1", house.port))
    headers = {"Authorization": f"Bearer {token}"}
    url = f"ws://{house.host}/api/live"
    return websocket(url, sock=talk, additional_headers=headers, proxy=None, max_queue=1, compression=None)


def read_on(feed: ClientConnection, seen: list[int]) -> None:
    """Read until the feed is closed, which raises."""
    while True:
        seen.append(heard(feed)["seq"])


def test_a_client_that_cannot_keep_up_is_sent_to_resync(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "QUEUE", 20)
    token = house.token()
    with slow_feed(house, token) as slow, house.feed(token=token, max_size=None) as quick:
        assert heard(slow)["type"] == heard(quick)["type"] == "hello"
        seen, sent = [0], 0
        while not any(each.lagged for each in house.loop.subscribers):
            sent += 1
            assert sent < 500, "the queue never filled"
            house.ask(f"p{sent}", big(sent))
            assert heard(quick)["prompt"]["id"] == f"p{sent}"  # others are not held up
        with pytest.raises(ConnectionClosed) as closed:
            read_on(slow, seen)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4008, "resync")
    assert 0 < seen[-1] < house.store.last_seq
    with house.feed(seen[-1], token, max_size=None) as back:
        assert heard(back)["snapshot"] is False
        missed = [heard(back)["seq"] for _ in range(house.store.last_seq - seen[-1])]
    assert missed == list(range(seen[-1] + 1, house.store.last_seq + 1))


def test_a_client_that_stopped_reading_is_let_go(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PATIENCE", 0.3)
    monkeypatch.setattr(live, "FAREWELL", 0.1)
    with slow_feed(house, house.token()) as slow:
        heard(slow)
        until(lambda: len(house.loop.subscribers) == 1)
        for number in range(40):
            house.ask(f"p{number}", big(number))
        until(lambda: not house.loop.subscribers, what="the feed is let go although nobody reads")
        slow.socket.shutdown(socket.SHUT_RDWR)


def test_a_client_that_left_is_forgotten(house: House) -> None:
    token = house.token()
    with ExitStack() as stack:
        feeds = [stack.enter_context(house.feed(token=token)) for _ in range(5)]
        until(lambda: len(house.loop.subscribers) == 5)
        for feed in feeds[3:]:
            feed.socket.shutdown(socket.SHUT_RDWR)
    until(lambda: not house.loop.subscribers, what="all are forgotten")
    assert not house.devices._present  # pyright: ignore[reportPrivateUsage]


def test_a_device_revoked_while_it_connects_hears_nothing(house: House) -> None:
    with house.devices.present("someone") as cut:
        assert not cut.is_set()
    device = house.run(house.devices.add("phone"))[0]
    assert house.run(house.devices.revoke(device.id))
    with house.devices.present(device.id) as cut:
        assert cut.is_set()


def line(words: str) -> str:
    return json.dumps({"type": "user", "message": {"content": words}}) + "\n"


def said(news: dict[str, Any]) -> list[str]:
    return [entry["text"] for entry in news["page"]["entries"]]


def test_who_watches_a_conversation_hears_what_is_added_to_it(house: House) -> None:
    path = house.folder / "s1.jsonl"
    path.write_text(line("before"))
    house.session("s1", transcript=str(path))
    with house.feed(token=house.token()) as feed, house.http(house.token()) as phone:
        heard(feed)
        page = phone.get("/api/sessions/s1/conversation").json()
        # What was added between the page and the wish is not missed, and what the page had is not told again.
        with path.open("a") as file:
            file.write(line("in between"))
        feed.send(json.dumps({"watch": "s1", "after": page["end"], "file": page["file"]}))
        first = heard(feed)
        assert (first["type"], first["session_id"], said(first)) == ("entries", "s1", ["in between"])
        with path.open("a") as file:
            file.write(line("one") + line("two")[:9])
        assert said(heard(feed)) == ["one"]
        with path.open("a") as file:
            file.write(line("two")[9:])
        last = heard(feed)
        assert (said(last), last["page"]["end"]) == (["two"], path.stat().st_size)

        # The run goes on under another id: so does the view.
        new = house.folder / "s2.jsonl"
        house.session("s2", transcript=str(new))
        house.post(SessionEnded(time.time(), "s1", "it goes on as s2", "s2"))
        new.write_text(line("cleared"))
        words = heard_of(feed, "entries")
        assert (words["session_id"], words["page"]["restarted"], said(words)) == ("s2", True, ["cleared"])

        feed.send(json.dumps({"watch": ""}))
        feed.send("nonsense")
        house.session("s3")
        assert heard(feed)["session"]["id"] == "s3"
        with new.open("a") as file:
            file.write(line("unheard"))
        house.session("s4")
        assert heard(feed)["session"]["id"] == "s4"


def test_who_watches_from_now_on_hears_nothing_of_before(house: House) -> None:
    path = house.folder / "s1.jsonl"
    path.write_text(line("before"))
    house.session("s1", transcript=str(path))
    with house.feed(token=house.token()) as feed:
        heard(feed)
        feed.send(json.dumps({"watch": "no-such-session"}))
        feed.send(json.dumps({"watch": "s1"}))

        def added() -> list[str]:
            with path.open("a") as file:
                file.write(line("after"))
            try:
                return said(json.loads(feed.recv(timeout=0.2)))
            except TimeoutError:
                return []

        assert set(until(added, every=0.1)) == {"after"}


def heard_of(feed: ClientConnection, kind: str) -> dict[str, Any]:
    while (news := heard(feed))["type"] != kind:
        pass
    return news
