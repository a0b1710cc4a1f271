"""Ways from the phone to this machine: set up, checked from the outside in, kept up, and taken down."""

from __future__ import annotations

import contextlib
import json
import os
import plistlib
import signal
import socket
import ssl
import subprocess
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.poll import until
from kit.yourcall import COMMAND, Yourcall
from yourcall.reach import certificates, way
from yourcall.reach.check import check
from yourcall.reach.trust_page import TrustPage

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    with Yourcall(tmp_path) as running:
        yield running
        running.run("down")  # `reach` restarted it: it is no child of ours any more


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def lan(yc: Yourcall) -> tuple[int, dict[str, object]]:
    port = free_port()
    done = yc.run("reach", "lan", "--name", "127.0.0.1", "--port", str(port), "--yes", "--json")
    assert done.code == 0, done
    return port, done.json


def test_lan_is_trusted_by_its_own_authority_alone(yc: Yourcall) -> None:
    port, told = lan(yc)
    assert told["url"] == f"https://127.0.0.1:{port}"
    assert [step["ok"] for step in told["steps"]] == [True] * 7  # type: ignore[index, attr-defined]
    authority = yc.home / "tls" / "authority.pem"
    assert [step.ok for step in check(str(told["url"]), authority)] == [True] * 7
    strangers = check(str(told["url"]))  # a phone that was not told to trust it
    assert [(step.name, step.ok) for step in strangers][-1] == ("certificate", False)
    for name in ("authority.key", "machine.key"):
        assert (yc.home / "tls" / name).stat().st_mode & 0o777 == 0o600


def test_the_address_survives_kill_9_of_the_daemon(yc: Yourcall) -> None:
    _, told = lan(yc)
    pid = yc.run("status", "--json").json["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: yc.run("status").code == 1)
    assert yc.run("up", "--detach").code == 0
    again = yc.run("reach", "--status", "--json")
    assert (again.code, again.json["url"], again.json["ok"]) == (0, told["url"], True)


def test_each_way_is_listed_with_the_program_that_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "ssh").write_text("#!/bin/sh\n")
    (tmp_path / "ssh").chmod(0o755)
    env = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
    done = subprocess.run([COMMAND, "reach"], env=env, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    lacking = [line.rpartition("; ")[2] for line in lines if line.endswith("is not on this machine")]
    assert lacking == ["tailscale is not on this machine", "cloudflared is not on this machine"]
    assert len(lines) == 7


def test_undo_closes_the_port_and_says_so(yc: Yourcall) -> None:
    port, _ = lan(yc)
    assert yc.run("reach", "--undo", "--yes").code == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)
    status = yc.run("reach", "--status", "--json")
    assert (status.code, status.json["way"]) == (1, None)
    assert "No way is set up" in yc.run("reach", "--undo", "--yes").out


def test_a_second_way_is_refused_and_bad_words_change_nothing(yc: Yourcall) -> None:
    before = lan(yc)[1]["url"]
    second = yc.run("reach", "proxy", "--name", "desk.example.net", "--yes")
    assert second.code == 1
    assert "reach --undo" in second.err
    assert yc.run("reach", "nowhere").code == 2
    assert yc.run("reach", "lan", "--name", "a b", "--yes").code == 1
    assert yc.run("reach", "--status", "--json").json["url"] == before


def test_an_authority_vouches_for_no_other_machine(tmp_path: Path) -> None:
    """Made by hand with the same key, a certificate for another name is refused: the constraint is critical."""
    certificates.make(tmp_path, ("127.0.0.1",))
    paths = certificates.files(tmp_path)
    certificates._make_certificate(paths, ("127.0.0.2",))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(paths.certificate, paths.key)
    with socket.create_server(("127.0.0.2", 0)) as listening:

        def serve() -> None:
            raw, _ = listening.accept()
            with raw, contextlib.suppress(OSError):
                server.wrap_socket(raw, server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        steps = check(f"https://127.0.0.2:{listening.getsockname()[1]}", paths.authority)
        thread.join()
    assert (steps[-1].name, steps[-1].ok) == ("certificate", False)
    assert "permitted subtree" in steps[-1].detail


def test_a_certificate_that_ends_soon_is_made_anew_under_the_same_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = certificates.make(tmp_path, ("127.0.0.1", "desk.local"))
    authority, first = paths.authority.read_bytes(), paths.certificate.read_bytes()
    assert not certificates.renew(tmp_path)
    certificates.make(tmp_path, ("127.0.0.1", "desk.local"))
    assert paths.certificate.read_bytes() == first  # what fits is kept
    monkeypatch.setattr(certificates, "RENEW_DAYS", certificates.CERTIFICATE_DAYS)  # as if a year had passed
    assert certificates.renew(tmp_path)
    assert paths.certificate.read_bytes() != first
    assert paths.authority.read_bytes() == authority


def test_the_trust_page_gives_the_authority_and_nothing_else(tmp_path: Path) -> None:
    paths = certificates.make(tmp_path, ("127.0.0.1",))
    der = ssl.PEM_cert_to_DER_cert(paths.authority.read_text())
    with TrustPage(tmp_path, way.Way("lan", "https://127.0.0.1:7718", tls_port=7718)) as page:

        def get(path: str) -> tuple[int, bytes]:
            thread = threading.Thread(target=page._server.handle_request)
            thread.start()
            connection = HTTPConnection("127.0.0.1", page._server.server_port, timeout=30)
            connection.request("GET", path)
            reply = connection.getresponse()
            status, body = reply.status, reply.read()
            connection.close()
            thread.join()
            return status, body

        status, body = get("/")
        assert status == 200
        assert page.fingerprint in body.decode()
        assert get("/yourcall.crt") == (200, der)
        profile = plistlib.loads(get("/yourcall.mobileconfig")[1])
        assert profile["PayloadContent"][0]["PayloadContent"] == der
        assert get("/authority.key")[0] == 404
        assert get("/../tls/authority.key")[0] == 404


def test_a_tunnel_is_started_again_when_it_ends(tmp_path: Path) -> None:
    """A stand-in for ssh that notes its start and stays: killed twice, it is there a third time."""
    starts = tmp_path / "starts"
    tunnel = tmp_path / "tunnel"
    tunnel.write_text(f'#!/bin/sh\necho $$ >> "{starts}"\nexec sleep 600\n')
    tunnel.chmod(0o755)
    yc = Yourcall(tmp_path)
    yc.home.mkdir(mode=0o700)
    way.write(yc.home, way.Way("ssh", "https://call.example.net", keep_up=(str(tunnel),)))
    with yc:
        for count in (1, 2):
            pids = until(lambda n=count: starts.exists() and len(p := starts.read_text().split()) == n and p)
            os.kill(int(pids[-1]), signal.SIGKILL)
        last = until(lambda: len(p := starts.read_text().split()) == 3 and p)[-1]
    until(lambda: not Path(f"/proc/{last}").exists())  # and it goes with the daemon


@pytest.fixture
def tailscale(tmp_path: Path) -> Path:
    """A stand-in with the contract of Tailscale's command line: `status --json`, `serve --bg`, `serve … off`."""
    folder = tmp_path / "stand-in"
    folder.mkdir()
    program = folder / "tailscale"
    status = json.dumps({"Self": {"DNSName": "desk.tail1234.ts.net."}})
    program.write_text(
        f'#!/bin/sh\necho "$@" >> "{folder}/calls"\n[ "$1" = status ] && echo \'{status}\'\nexit 0\n'
    )
    program.chmod(0o755)
    return folder


def test_tailscale_is_told_asked_and_taken_back(tmp_path: Path, tailscale: Path) -> None:
    yc = Yourcall(tmp_path)
    impatient = "from yourcall.reach import plan; plan.TUNNEL_S = 1.0\n"  # nothing will come up
    (tmp_path / "sitecustomize.py").write_text(impatient)
    env = {**yc.env, "PATH": f"{tailscale}:{yc.env['PATH']}", "PYTHONPATH": str(tmp_path)}
    command = Path(yc.env["PATH"].split(":")[0]) / "yourcall"

    def run(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run([command, *words], env=env, input=typed, capture_output=True, text=True, check=False)

    try:
        no = run("reach", "tailscale", typed="n\n")
        assert no.returncode == 1
        assert "serve --bg" in no.stdout
        assert (tailscale / "calls").read_text().split("\n") == ["status --json", ""]
        tried = run("--port", "0", "reach", "tailscale", "--yes")
        assert tried.returncode == 1  # the stand-in opens nothing, and the check says so
        assert "desk.tail1234.ts.net has no address here" in tried.stdout
        assert "serve --bg" in (tailscale / "calls").read_text()
        assert run("reach", "--undo", "--yes").returncode == 0
        assert (tailscale / "calls").read_text().rstrip().endswith("serve --https=443 off")
    finally:
        run("down")


def test_open_lets_the_browser_in_without_the_code_on_a_command_line(yc: Yourcall, tmp_path: Path) -> None:
    folder = tmp_path / "stand-in"
    folder.mkdir()
    opener = folder / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$@" > "{folder}/opened"\n')
    opener.chmod(0o755)
    env = {**yc.env, "PATH": f"{folder}:{yc.env['PATH']}"}
    command = Path(yc.env["PATH"].split(":")[0]) / "yourcall"
    done = subprocess.run([command, "open"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Opened in your browser.\n")
    page = Path((folder / "opened").read_text().strip())
    assert page == yc.home / "open.html"
    assert page.stat().st_mode & 0o777 == 0o600
    port = yc.run("status", "--json").json["port"]
    assert f"http://127.0.0.1:{port}/#pair=" in page.read_text()
    printed = yc.run("open", "--print").out
    assert printed.startswith(f"http://127.0.0.1:{port}/#pair=")
