"""The record leaves the machine: in order, at least once, also after an outage; and heads find a forgery."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec.structs import replace

STORY = Path(__file__).resolve().parents[1] / "store"
if str(STORY) not in sys.path:
    sys.path.insert(0, str(STORY))

from store_story import Life, answer, opened, prompt, session  # noqa: E402

from kit.poll import PATIENCE_S  # noqa: E402
from yourcall.daemon.config import parse  # noqa: E402
from yourcall.daemon.record_export import Export, Exporter, NotTaken, syslog  # noqa: E402
from yourcall.model.events import AnswerGiven, PromptRaised, SessionSeen, SettingsChanged  # noqa: E402
from yourcall.model.prompts import Refused  # noqa: E402
from yourcall.store.stream import Line, lines_after  # noqa: E402


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A record of six prompts, each answered, and a changed setting."""
    with opened(tmp_path / "yourcall.db") as store:
        life = Life(store)
        life.run([SessionSeen(1.0, session("s1"))])
        for n in range(6):
            asked = replace(prompt(f"p{n}", at=float(n)), title="curl -H 'Authorization: Bearer abcdefghijklmnop'")
            life.run([PromptRaised(2.0 + n, asked)])
            life.run([AnswerGiven(2.5 + n, f"p{n}", answer(f"a{n}", "allow" if n % 2 else "deny"))])
        store.note(SettingsChanged(9.0, "devices", "paired", "d1", "cli", 'phone "x"]\n')).result()
    return tmp_path


class Collector:
    """An HTTP server that notes what it took; while `down`, it takes nothing."""

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.down = 0
        self.reply = b"{}"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.down:
                    self.send_response(outer.down)
                else:
                    outer.taken.append(json.loads(body))
                    self.send_response(200)
                self.end_headers()
                self.wfile.write(outer.reply)

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/logs"
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


def records(told: list[Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for request in told:
        for record in request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
            found.append({each["key"]: each["value"]["stringValue"] for each in record["attributes"]})
    return found


def once(exporter: Exporter) -> bool:
    return asyncio.run(exporter.once())


def test_otlp_is_in_order_resumed_after_an_outage_and_named_as_claude_names_it(
    home: Path, collector: Collector
) -> None:
    exporter = Exporter(home, "siem", Export("otlp", collector.url))
    collector.down = 503
    for _ in range(2):
        with pytest.raises(NotTaken, match="503"):
            once(exporter)
    assert exporter.place == 0
    collector.down = 0
    collector.reply = b'{"partialSuccess": {"rejectedLogRecords": 2}}'
    with pytest.raises(NotTaken, match="rejected 2"):
        once(exporter)
    collector.reply, collector.taken = b"{}", []
    assert once(exporter)
    assert not once(Exporter(home, "siem", Export("otlp", collector.url)))  # another run goes on from there
    told = records(collector.taken)
    places = [int(each["yourcall.n"]) for each in told]
    assert places == sorted(places)
    assert [each["event.name"] for each in told] == ["prompt_raised", "tool_decision"] * 6 + ["setting_changed"]
    decided = [each for each in told if each["event.name"] == "tool_decision"]
    assert [(each["decision"], each["source"]) for each in decided] == [
        ("reject", "user_reject"),
        ("accept", "user_temporary"),
    ] * 3
    assert {each["tool_name"] for each in decided} == {"Bash"}
    assert "abcdefghijklmnop" not in json.dumps(collector.taken)
    with closing(sqlite3.connect(home / "yourcall.db")) as db:
        links = dict(db.execute("SELECT n, hex(link) FROM chain").fetchall())
    assert all(each["yourcall.link"] == links[int(each["yourcall.n"])].lower() for each in told)


def test_json_lines_come_again_after_a_crash_and_none_is_missing(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    exporter = Exporter(home, "file", Export("jsonl", str(file), titles=False))
    assert once(exporter)
    first = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(first) == 13
    assert "curl" not in file.read_text()
    (home / "export" / "file").unlink()  # it died between the write and the note of it
    assert once(exporter)
    again = [json.loads(line)["n"] for line in file.read_text().splitlines()]
    assert again == [each["n"] for each in first] * 2


@contextmanager
def syslog_server(taken: list[bytes]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                with line:
                    data = b""
                    while part := line.recv(1 << 16):
                        data += part
                    taken.append(data)

        Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def test_syslog_is_rfc_5424_with_counted_frames(home: Path) -> None:
    taken: list[bytes] = []
    with syslog_server(taken) as port:
        assert once(Exporter(home, "log", Export("syslog", f"tcp://127.0.0.1:{port}")))
    data, messages = taken[0], []
    while data:
        size, _, rest = data.partition(b" ")
        messages.append(rest[: int(size)].decode())
        data = rest[int(size) :]
    assert len(messages) == 13
    form = re.compile(
        r"<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ yourcall - \w+"
        r' \[yourcall@32473( [^ =\]"]{1,32}="([^"\\\]]|\\["\\\]])*")+\]'
    )
    for message in messages:
        assert form.fullmatch(message), message
    assert 'phone \\"x\\"\\]<U+000A>' in messages[-1]
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        free = nobody.getsockname()[1]
    gone = Exporter(home, "gone", Export("syslog", f"tcp://127.0.0.1:{free}"))
    with pytest.raises(NotTaken):
        once(gone)
    assert gone.place == 0


def test_no_field_breaks_out_of_a_message() -> None:
    hostile = 'x" y="z"] <13>1 \n\r\x00\u2028'
    told = syslog(Line(1, "ab", 0.0, "setting_changed", title=hostile, by=hostile)).decode()
    assert "\n" not in told
    assert told.count('"') - told.count('\\"') == 2 * told.count('="') - 0
    assert told.endswith('"]')


def test_a_head_that_was_noted_finds_a_record_that_was_cut_or_made_anew(home: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from yourcall.cli.main import cli

    heads = tmp_path / "heads.jsonl"
    exporter = Exporter(home, "vault", Export("head", str(heads)))
    once(exporter)
    once(exporter)
    assert len(heads.read_text().splitlines()) == 1  # nothing new to note

    def verify() -> int:
        words = ["--home", str(home), "log", "verify", "--heads", str(heads)]
        return CliRunner().invoke(cli, words).exit_code

    assert verify() == 0
    made = json.loads(heads.read_text())
    n, _, link = made["head"].partition(":")
    for spoilt in (f"{n}:{'0' * 64}", f"{int(n) + 5}:{link}", "no head"):
        heads.write_text(json.dumps({**made, "head": spoilt}) + "\n")
        assert verify() == 1, spoilt


def test_where_it_may_go_is_said_and_nothing_leaves_in_the_clear() -> None:
    for text in (
        '[export.x]\nkind = "otlp"\nto = "http://collector.example.net/v1/logs"',
        '[export.x]\nkind = "syslog"\nto = "tcp://log.example.net:601"',
        '[export.x]\nkind = "syslog"\nto = "udp://127.0.0.1:514"',
        '[export.x]\nkind = "jsonl"\nto = "out.jsonl"',
        '[export.x]\nkind = "head"\nto = "ftp://x"',
        '[export."../x"]\nkind = "jsonl"\nto = "/tmp/x"',
        '[export.x]\nkind = "csv"\nto = "/tmp/x"',
    ):
        assert isinstance(parse(text), Refused), text
    assert not isinstance(parse('[export.x]\nkind = "syslog"\nto = "tls://log.example.net:6514"'), Refused)


def test_only_what_is_after_a_place_is_told(home: Path) -> None:
    everything = lines_after(home / "yourcall.db", 0, 100)
    for line in everything:
        assert [each.n for each in lines_after(home / "yourcall.db", line.n, 100)] == [
            each.n for each in everything if each.n > line.n
        ]
