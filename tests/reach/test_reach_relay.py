"""`yourcall relay` and `reach relay` as people run them; whatever is killed, it comes back."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import threading
from contextlib import ExitStack, suppress
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_hello import client_hello

from browser.chromium import Chromium
from kit.new_phone import let_in, trusting
from kit.pebble import Pebble, free_port
from kit.poll import PATIENCE_S, until
from kit.tap import Tap
from kit.yourcall import COMMAND, Said, Yourcall
from yourcall.reach import certificates
from yourcall.reach.check import check

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "localhost"  # which every resolver knows, and the phone's too
MARK = "x-mark-9fGk2LwQ7pZt4VbN"


class RelayServer:
    """A server of somebody's, with a tap before its port: what phones and machines see of it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.home, self.port = folder / "relay", port
        self.process: subprocess.Popen[str] | None = None

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "YOURCALL_HOME": str(self.home),
            "LANG": "C.UTF-8",
        }

    def start(self) -> None:
        words = [str(COMMAND), "relay", "--bind", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"The relay listens on port {self.port}.\n"

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.process.stdout.close()
        code = self.process.wait(PATIENCE_S)
        self.process = None
        return code

    def run(self, *words: str) -> Said:
        done = subprocess.run(
            [str(COMMAND), "relay", *words], env=self.env, capture_output=True, text=True, check=False
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def invite(self, port: int, name: str = NAME) -> str:
        said = self.run("invite", name, "--at", "127.0.0.1", "--port", str(port), "--json")
        assert said.code == 0, said
        return str(said.json["invitation"])

    def machines(self) -> list[dict[str, object]]:
        return list(self.run("status", "--json").json["machines"])


class Desk(Yourcall):
    """The person's machine; its phones trust this authority."""

    trusted = ""

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "SSL_CERT_FILE": self.trusted, "YOURCALL_PORT": "0"}

    def reach(self, invitation: str, *words: str) -> Said:
        return self.run("reach", "relay", "--yes", *words, typed=f"{invitation}\n")

    def passes(self) -> bool:
        return self.run("reach", "--status").code == 0


@pytest.fixture
def tap() -> Iterator[Tap]:
    with Tap() as made:
        yield made


@pytest.fixture
def relay(tmp_path: Path, tap: Tap) -> Iterator[RelayServer]:
    made = RelayServer(tmp_path, free_port())
    tap.to = made.port
    made.start()
    yield made
    if made.process is not None:
        assert made.end() == 0


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.run("down", "--force")


@pytest.fixture
def own(tmp_path: Path, desk: Desk) -> tuple[str, ...]:
    """A certificate of the person's own, as words of the command."""
    paths = certificates.make(tmp_path / "own" if (tmp_path / "own").mkdir() is None else tmp_path, (NAME,))
    desk.trusted = str(paths.authority)
    return "--certificate", str(paths.certificate), "--key", str(paths.key)


def exchange(port: int, trusted: str) -> bytes:
    """What a phone says and hears, in plain words."""
    connection = HTTPSConnection(NAME, port, timeout=60, context=ssl.create_default_context(cafile=trusted))
    try:
        connection.request("GET", "/", headers={"X-Mark": MARK})
        reply = connection.getresponse()
        assert reply.status == 200
        heads = "".join(f"{name}: {value}\r\n" for name, value in reply.getheaders())
        asked = f"GET / HTTP/1.1\r\nHost: {NAME}:{port}\r\nAccept-Encoding: identity\r\nX-Mark: {MARK}\r\n\r\n"
        return f"{asked}HTTP/1.1 200 OK\r\n{heads}\r\n".encode() + reply.read()
    finally:
        connection.close()


def memory(pid: int) -> Iterator[bytes]:
    """All that a process has written into its memory."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as content:
        for line in maps:
            place, rights = line.split()[:2]
            if rights.startswith("rw") and "[v" not in line:
                start, end = (int(each, 16) for each in place.split("-"))
                content.seek(start)
                try:
                    yield content.read(end - start)
                except OSError:
                    continue


def windows(data: bytes, size: int) -> set[bytes]:
    return {data[at : at + size] for at in range(len(data) - size + 1)}


def kinds_of_records(data: bytes) -> list[int]:
    """The content type of each TLS record; red if there is a byte that belongs to none."""
    found, at = [], 0
    while at < len(data):
        assert data[at + 1] == 3, data[at : at + 20]
        found.append(data[at])
        at += 5 + int.from_bytes(data[at + 3 : at + 5])
    assert at == len(data)
    return found


def test_not_one_byte_of_what_a_phone_and_its_machine_say_is_plain_at_the_relay(
    relay: RelayServer, desk: Desk, tap: Tap, own: tuple[str, ...]
) -> None:
    said = desk.reach(relay.invite(tap.port), *own)
    assert said.code == 0, said
    before = len(tap.passed)
    plain = exchange(tap.port, desk.trusted)
    assert len(plain) > 1000
    passed = tap.passed[before:]
    whole = until(lambda: (each := [bytes(p.sent) + bytes(p.answered) for p in passed]) and b"".join(each))
    assert MARK.encode() in plain
    # The phone's connection, which the relay passes on as it is, and the machine's that fetched it.
    assert len(passed) == 2
    assert windows(plain, 10).isdisjoint(windows(whole, 10))
    for one in passed:
        for direction in (one.sent, one.answered):
            # After the hello, TLS 1.3 has only sealed records (23), and an empty word for old boxes (20).
            first, *others = kinds_of_records(bytes(direction))
            assert first == 22
            assert set(others) <= {20, 23}
    # Nor was it plain for a moment in the relay's memory. (Here it is: so the search would find it.)
    assert relay.process is not None
    wanted = (MARK.encode(), plain[-400:-300])
    assert all(any(each in piece for piece in memory(os.getpid())) for each in wanted)
    assert not any(each in piece for piece in memory(relay.process.pid) for each in wanted)


def test_whatever_is_killed_the_address_stays_and_phones_get_through(
    relay: RelayServer, desk: Desk, tap: Tap, own: tuple[str, ...]
) -> None:
    invitation = relay.invite(tap.port)
    said = desk.reach(invitation, *own, "--json")
    assert said.code == 0, said
    status = said.json
    url = f"https://{NAME}:{tap.port}"
    assert (status["way"], status["url"], status["ok"]) == ("relay", url, True)
    names = ["relay", "name", "certificate", "app", "host", "door", "live feed", "notifications"]
    assert [step["name"] for step in status["steps"]] == names
    until(
        lambda: [each["name"] for each in relay.machines() if each["connected_since"]] == [NAME], what="its line"
    )
    assert desk.run("pair", "--json").json["url"].startswith(f"{url}/#pair=")

    relay.end(signal.SIGKILL)

    def is_told() -> bool:
        said = desk.run("reach", "--status", "--json")
        return said.code == 1 and [(step["name"], step["ok"]) for step in said.json["steps"]] == [("relay", False)]

    until(is_told, what="the daemon sees it")
    relay.start()
    until(desk.passes, what="the machine dials in again", every=0.2)

    os.kill(desk.run("status", "--json").json["pid"], signal.SIGKILL)
    until(lambda: desk.run("status").code == 1)
    assert desk.run("up", "--detach").code == 0
    until(desk.passes, what="the same address, after the daemon was killed", every=0.2)
    again = desk.run("reach", "--status", "--json").json
    assert (again["url"], again["ok"]) == (url, True)

    # Another machine has no use for the invitation; and this one gives its name up.
    assert relay.run("invite", NAME).code == 1
    undone = desk.run("reach", "--undo", "--yes")
    assert undone.code == 0, undone
    assert relay.machines() == []
    assert desk.run("reach", "--status", "--json").json["way"] is None
    assert check(url, Path(desk.trusted))[-1].name == "certificate"


def test_what_is_wrong_is_said_and_changes_nothing(
    relay: RelayServer, desk: Desk, tap: Tap, own: tuple[str, ...], tmp_path: Path
) -> None:
    invitation = relay.invite(tap.port)
    assert "needs an invitation" in desk.reach("").err
    assert "is no invitation, or not all of it" in desk.reach(invitation[:-20]).err
    assert "has no use for the server" in desk.run("reach", "relay", invitation, "--yes").err
    assert "has no use for --acme" in desk.run("reach", "lan", "--acme", "https://x.example", "--yes").err
    assert "A certificate needs its key" in desk.reach(invitation, *own[:2]).err
    assert "can't be used" in desk.reach(invitation, *own[:3], str(tmp_path / "none.key")).err
    assert "begins with https://" in desk.reach(invitation, "--acme", "http://x.example").err
    (tmp_path / "without").mkdir()
    hidden = 'import sys; sys.modules["acme"] = None\n'  # as in an install without the extra
    (tmp_path / "without" / "sitecustomize.py").write_text(hidden)
    words = [COMMAND, "reach", "relay", "--yes"]
    plain = subprocess.run(
        words, input=f"{invitation}\n", env={**desk.env, "PYTHONPATH": str(tmp_path / "without")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (plain.returncode, "uv tool install 'yourcall[relay]'" in plain.stderr) == (1, True)
    (tmp_path / "elsewhere").mkdir()
    other = certificates.make(tmp_path / "elsewhere", ("other.example.net",))
    wrong = desk.reach(invitation, "--certificate", str(other.certificate), "--key", str(other.key))
    assert "is not for localhost" in wrong.err
    assert not (desk.home / "reach.json").exists()
    assert relay.machines() == []

    assert relay.run("revoke", NAME).code == 0
    void = desk.reach(invitation, *own)
    assert (void.code, "was used, has expired" in void.err) == (1, True)
    assert relay.run("revoke", NAME).code == 1
    assert "is no name of a host" in relay.run("invite", "10.0.0.1").err
    second = relay.run("--port", "0", "--bind", "127.0.0.1")
    assert (second.code, "Another relay has" in second.err) == (1, True)
    relay.end()
    nobody = desk.reach(invitation, *own)
    assert nobody.code == 1
    assert "The way was not set up." in nobody.err
    off = relay.run("status")
    assert (off.code, "does not run" in off.out) == (1, True)


def test_another_certificate_than_this_machine_s_is_told(tmp_path: Path) -> None:
    """As of somebody on the way who got one for the name, and reads along."""
    paths = certificates.make(tmp_path, (NAME,))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(paths.certificate, paths.key)
    mine = ssl.PEM_cert_to_DER_cert(paths.certificate.read_text())
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    raw, _ = listening.accept()
                    with raw, suppress(OSError):
                        server.wrap_socket(raw, server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"https://{NAME}:{listening.getsockname()[1]}"
        other = check(url, paths.authority, shown=mine[:-1])[-1]
        assert (other.name, other.ok) == ("certificate", False)
        assert "It is not this machine's" in other.detail
        assert ("certificate", True) in [step[:2] for step in check(url, paths.authority, shown=mine)]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.soak
def test_a_flood_fills_no_memory_and_keeps_no_phone_out(
    relay: RelayServer, desk: Desk, tap: Tap, own: tuple[str, ...]
) -> None:
    """From a thousand addresses: half hellos, whole ones that nobody finishes, and noise."""
    assert desk.reach(relay.invite(tap.port), *own).code == 0
    assert relay.process is not None
    exchange(tap.port, desk.trusted)
    before = resident(relay.process.pid)
    whole = client_hello(NAME)
    what = (b"", whole[:200], whole, b"GET / HTTP/1.1\r\n", os.urandom(300), whole[:5])
    with ExitStack() as open_ones:
        for number in range(3000):
            source = f"127.1.{number // 250}.{number % 250 + 1}"
            with suppress(OSError):  # the crowd is dropped as fast as it comes
                sock = socket.create_connection(("127.0.0.1", relay.port), 30, source_address=(source, 0))
                open_ones.callback(sock.close)
                sock.sendall(what[number % len(what)])
        until(lambda: exchanged(tap.port, desk.trusted), what="a phone gets through")
        grown = resident(relay.process.pid) - before
    assert grown < 60_000_000, grown


def exchanged(port: int, trusted: str) -> bool:
    with suppress(OSError, HTTPException):
        return bool(exchange(port, trusted))
    return False


def resident(pid: int) -> int:
    """Bytes of memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- certificates by ACME, from the real Pebble


@pytest.mark.soak
def test_a_certificate_is_ordered_renewed_and_reloaded_without_a_restart(
    relay: RelayServer, desk: Desk, tap: Tap, tmp_path: Path
) -> None:
    with Pebble(tmp_path, tap.port, valid_s=30) as acme:
        desk.trusted = str(acme.root())
        ask = ("--acme", acme.directory, "--acme-ca", str(acme.https_ca), "--email", "ada@example.net", "--json")
        said = desk.reach(relay.invite(tap.port), *ask)
        assert said.code == 0, (said, acme.log())
        pid = desk.run("status", "--json").json["pid"]
        first = serial(tap.port, acme)
        kept = HTTPSConnection(NAME, tap.port, timeout=60, context=ssl.create_default_context(cafile=desk.trusted))

        def renewed() -> bool:
            kept.request("GET", "/sw.js")  # a connection that is open stays so
            assert kept.getresponse().read()
            return serial(tap.port, acme) != first

        kept.connect()
        before = kept.sock
        until(renewed, what="a new certificate", every=0.2)
        assert kept.sock is before
        kept.close()
        assert desk.run("status", "--json").json["pid"] == pid
        until(desk.passes, every=0.2)
        account = json.loads((desk.home / "tls" / "acme.json").read_text())
        assert account["directory"] == acme.directory
        for name in ("acme.json", "relay.pem", "relay.id"):
            assert (desk.home / "tls" / name).stat().st_mode & 0o777 == 0o600
        assert not (desk.home / "tls" / "challenge.pem").exists()


@pytest.mark.soak
def test_a_phone_pairs_and_answers_through_the_relay(
    relay: RelayServer, desk: Desk, tap: Tap, tmp_path: Path
) -> None:
    """A real Chromium that trusts the certificate authority; and what it reads is nowhere on the way."""
    question = "Shall the grey heron be let out of the boathouse?"
    with Pebble(tmp_path, tap.port) as acme:
        desk.trusted = str(acme.root())
        said = desk.reach(relay.invite(tap.port), "--acme", acme.directory, "--acme-ca", str(acme.https_ca))
        assert said.code == 0, (said, acme.log())
        link = desk.run("pair", "--json").json["url"]
        home = trusting(tmp_path, acme.root())
        with Chromium(tmp_path / "chromium", env={"HOME": str(home)}) as browser:
            phone = browser.page(link)
            let_in(phone)
            words = [COMMAND, "ask", question, "--option", "yes", "--option", "no", "--wait"]
            asking = subprocess.Popen(words, env=desk.env, stdout=subprocess.DEVNULL)
            phone.sees(question)
            phone.tap("yes")
            assert asking.wait(PATIENCE_S) == 0
            assert not phone.errors, phone.errors
            phone.close()
        (machine,) = relay.machines()
        assert machine["connected_since"] is not None
    assert relay.process is not None
    everything = b"".join(bytes(each.sent) + bytes(each.answered) for each in tap.passed)
    assert len(everything) > 100_000
    for plain in (question.encode(), b"Sec-WebSocket", b"HTTP/1.1", b"/api/prompts", b"<!doctype", b"grey heron"):
        assert plain not in everything
    assert not any(question.encode() in piece for piece in memory(relay.process.pid))


@pytest.mark.soak
def test_an_authority_that_refuses_is_quoted_and_asked_again(
    relay: RelayServer, desk: Desk, tap: Tap, tmp_path: Path
) -> None:
    """It looks at another port, where nobody is."""
    with Pebble(tmp_path, free_port()) as acme:
        desk.trusted = str(acme.root())
        invitation = relay.invite(tap.port)
        words = [COMMAND, "reach", "relay", "--yes", "--acme", acme.directory, "--acme-ca", str(acme.https_ca)]
        setting_up = subprocess.Popen(
            words, env=desk.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert setting_up.stdin is not None
        setting_up.stdin.write(f"{invitation}\n")
        setting_up.stdin.close()

        def told() -> str:
            said = desk.run("reach", "--status", "--json")
            return (
                next((s["detail"] for s in said.json["steps"] if s["name"] == "certificate"), "")
                if said.out
                else ""
            )

        until(lambda: "could not reach this machine" in told(), what="the reason", show=told, every=0.2)
        setting_up.terminate()
        setting_up.wait()
        assert setting_up.stdout is not None
        setting_up.stdout.close()


def serial(port: int, acme: Pebble) -> int:
    context = ssl.create_default_context(cafile=str(acme.folder / "root.pem"))
    with (
        socket.create_connection(("127.0.0.1", port), 60) as raw,
        context.wrap_socket(raw, server_hostname=NAME) as tls,
    ):
        return int(str(tls.getpeercert()["serialNumber"]), 16)  # type: ignore[index]
