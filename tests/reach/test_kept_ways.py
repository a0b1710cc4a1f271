"""What a way keeps and what it takes away: certificates, names, addresses, and the programs of others."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
from http.client import HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_reach import free_port, lan

from kit.poll import PATIENCE_S, until
from kit.yourcall import COMMAND, Said, Yourcall
from yourcall.daemon import reach
from yourcall.reach import certificates, way

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    made = Yourcall(tmp_path)
    made.home.mkdir(mode=0o700)
    yield made
    made.run("down", "--force")


def status_of(port: int, authority: Path, host: str, path: str = "/") -> int:
    context = ssl.create_default_context(cafile=str(authority))
    connection = HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
    try:
        connection.request("GET", path, headers={"Host": host})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_renewal_that_fails_is_logged_and_the_old_certificate_served(
    yc: Yourcall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "CERTIFICATE_DAYS", 20)  # so it is due
    paths = certificates.make(yc.home, ("127.0.0.1",))
    paths.authority_key.unlink()
    port = free_port()
    way.write(yc.home, way.Way("lan", f"https://127.0.0.1:{port}", tls_port=port, names=("127.0.0.1",)))
    started = yc.run("up", "--detach", "--port", "0")
    assert started.code == 0, started
    assert status_of(port, paths.authority, f"127.0.0.1:{port}") == 200
    log = yc.home / "log" / "yourcall.log"
    until(lambda: "certificate of this machine can't be renewed: FileNotFoundError" in log.read_text())


def test_a_certificate_that_somebody_else_renewed_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "LOOK_S", 0.02)
    paths = certificates.make(tmp_path, ("127.0.0.1",))
    context = reach._tls_context(tmp_path)

    async def serve() -> None:
        keeping = asyncio.create_task(reach._keep_certificate(tmp_path, context))
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
        where = server.sockets[0].getsockname()

        async def served() -> str:
            return await asyncio.to_thread(ssl.get_server_certificate, where)

        first = await served()
        certificates._make_certificate(paths, ("127.0.0.1",))
        wanted = paths.certificate.read_text()
        async with asyncio.timeout(PATIENCE_S):
            while await served() != wanted:
                pass
        assert wanted != first
        keeping.cancel()
        server.close()

    asyncio.run(serve())


def test_every_name_of_the_certificate_is_answered(yc: Yourcall) -> None:
    yc.start()
    port, _ = lan(yc)
    names = way.read(yc.home).names  # type: ignore[union-attr]
    assert any(name.endswith(".local") for name in names)
    authority = yc.home / "tls" / "authority.pem"
    for name in names:
        assert status_of(port, authority, f"{name}:{port}") == 200, name
    assert status_of(port, authority, f"desk.example.net:{port}") == 421
    assert status_of(port, authority, names[-1]) == 421  # the port is part of the name
    assert yc.ended() == 0  # `reach` has started another one


@pytest.mark.soak
def test_the_phone_is_sent_to_the_way_and_the_name_in_the_settings_works_as_well(yc: Yourcall) -> None:
    (yc.home / "config.toml").write_text('[server]\npublic_url = "https://old.example.net"\n')
    port, told = lan(yc)
    assert yc.run("pair", "--json").json["url"].startswith(f"{told['url']}/#pair=")
    authority = yc.home / "tls" / "authority.pem"
    assert status_of(port, authority, "old.example.net") == 200
    assert yc.run("reach", "--undo", "--yes").code == 0
    assert yc.run("pair", "--json").json["url"].startswith("https://old.example.net/#pair=")


@pytest.mark.soak
def test_a_restart_keeps_the_options_of_up(yc: Yourcall) -> None:
    started = yc.run("up", "--detach", "--port", "0", "--bind", "127.0.0.2", "--public-url", "https://up.example")
    assert started.code == 0, started
    before = yc.run("status", "--json").json["port"]
    lan(yc)
    note = json.loads((yc.home / "daemon.json").read_text())
    assert (note["bind"], note["public_url"], note["port"]) == ("127.0.0.2", "https://up.example", before)
    assert yc.run("reach", "--undo", "--yes").code == 0
    assert yc.run("status", "--json").json["url"] == "https://up.example"


class StandIn:
    """A program of somebody else's, with the contract that its manual states; it notes what it is called with."""

    def __init__(self, folder: Path, name: str, script: str) -> None:
        self.folder = folder / f"stand-in-{name}"
        self.folder.mkdir()
        self.notes = self.folder / "calls"
        program = self.folder / name
        program.write_text(f'#!/bin/sh\necho "$@" >> "{self.notes}"\n{script}\n')
        program.chmod(0o755)

    def calls(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def run(self, yc: Yourcall, *words: str) -> Said:
        env = {**yc.env, "PATH": f"{self.folder}{os.pathsep}{yc.env['PATH']}"}
        done = subprocess.run([COMMAND, *words], env=env, capture_output=True, text=True, check=False)
        return Said(done.returncode, done.stdout, done.stderr)


TAILSCALE = """[ "$1" = status ] && echo '{"Self": {"DNSName": "desk.tail1234.ts.net."}}'; exit 0"""
CLOUDFLARED = """case "$*" in
  *"tunnel list"*) [ -e made ] && echo "1 yourcall"; exit 0 ;;
  *"tunnel create"*) exit 0 ;;
  *"route dns"*) [ -e "$HOME/refuse" ] && { echo "code: 1003, reason: zone not found" >&2; exit 1; }; exit 0 ;;
  *"tunnel delete"*) exit 0 ;;
  *" run "*) exec sleep 600 ;;
esac
exit 9"""


def test_uninstall_takes_the_way_down(yc: Yourcall, tmp_path: Path) -> None:
    tailscale = StandIn(tmp_path, "tailscale", TAILSCALE)
    undo = way.Undo((str(tailscale.folder / "tailscale"), "serve", "--https=443", "off"))
    way.write(yc.home, way.Way("tailscale", "https://desk.tail1234.ts.net", undo=(undo,), port=free_port()))
    yc.start()
    shown = yc.run("uninstall", typed="n\n")
    assert "serve --https=443 off" in shown.out
    assert tailscale.calls() == []
    done = yc.run("uninstall", "--yes")
    assert done.code == 0, done
    assert tailscale.calls() == ["serve --https=443 off"]
    assert yc.ended() == 0


def test_funnel_is_turned_on_and_off_again(yc: Yourcall, tmp_path: Path) -> None:
    tailscale = StandIn(tmp_path, "tailscale", TAILSCALE)
    yc.start()
    port = yc.run("status", "--json").json["port"]
    no = tailscale.run(yc, "reach", "tailscale", "--funnel")
    assert no.code == 1
    assert "Anybody will find the locked door at https://desk.tail1234.ts.net\n  run  " in no.out
    assert f"funnel --bg {port}" in no.out
    assert tailscale.run(yc, "reach", "tailscale", "--port", "7", "--yes").err.startswith("tailscale has no use")
    assert "serve" not in " ".join(tailscale.calls())
    yc.stop()


def test_what_cloudflared_made_is_taken_back_when_it_refuses_the_rest(yc: Yourcall, tmp_path: Path) -> None:
    cloudflared = StandIn(tmp_path, "cloudflared", CLOUDFLARED)
    (tmp_path / "refuse").touch()
    words = ("--port", "0", "reach", "cloudflared", "--name", "127.0.0.1:1", "--yes")
    refused = cloudflared.run(yc, *words)
    assert refused.code == 1
    assert "zone not found. The way was not set up." in refused.err
    assert cloudflared.calls()[-3:] == [
        "tunnel create yourcall",
        "tunnel route dns yourcall 127.0.0.1:1",
        "tunnel delete yourcall",
    ]
    assert not (yc.home / "reach.json").exists()
    assert not (yc.home / "cloudflared.yml").exists()


def test_cloudflared_runs_beside_the_daemon_and_undo_names_what_stays(yc: Yourcall, tmp_path: Path) -> None:
    cloudflared = StandIn(tmp_path, "cloudflared", CLOUDFLARED)
    program, config = str(cloudflared.folder / "cloudflared"), yc.home / "cloudflared.yml"
    from yourcall.reach import cloudflared as ways
    from yourcall.reach.plan import Wish

    path = os.environ["PATH"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{cloudflared.folder}{os.pathsep}{path}")
        plan = ways.plan(Wish(yc.home, 7717, name="call.example.net"))
    plan.apply()
    way.write(yc.home, plan.way)
    yc.start()
    port = yc.run("status", "--json").json["port"]
    run = f"tunnel --config {config} --no-autoupdate run --url http://127.0.0.1:{port} yourcall"
    until(lambda: run in cloudflared.calls(), show=cloudflared.calls)
    done = yc.run("reach", "--undo", "--yes")
    assert done.code == 0, done
    assert f"{program} tunnel delete yourcall" in done.out
    assert "The DNS record of call.example.net stays" in done.out
    assert cloudflared.calls()[-1] == "tunnel delete yourcall"
    assert not config.exists()
    assert yc.ended() == 0
