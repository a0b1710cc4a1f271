"""`reach ssh` with OpenSSH's real server and a real web server on it, Caddy or nginx; everything on loopback."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_reach import free_port

from kit.poll import until
from kit.terminal import alive
from kit.yourcall import COMMAND, Said, Yourcall
from yourcall.reach import certificates

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.soak

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


class Server:
    """A server of somebody's: sshd, a web server, and a certificate for its address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "server"
        self.folder.mkdir(mode=0o700)
        self.ssh_port, self.web_port = free_port(), free_port()
        self.paths = certificates.make(self.folder, ("127.0.0.1",))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name in ("host", "person"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(words, check=True)
        shutil.copy(self.folder / "person.pub", self.folder / "authorized_keys")
        host = (self.folder / "host.pub").read_text().split()[:2]
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.ssh_port} {' '.join(host)}\n")

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.web_port}"

    def serve_ssh(self) -> None:
        config = self.folder / "sshd_config"
        config.write_text(
            f"ListenAddress 127.0.0.1:{self.ssh_port}\nHostKey {self.folder}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\nPasswordAuthentication no\n"
            f'PermitRootLogin yes\nSetEnv "PATH={self.bin}:{os.environ["PATH"]}" "HOME={self.folder}"\n'
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # where sshd locks itself in before anybody is known
        log = ["-E", str(self.folder / "sshd.log")]
        self.processes["sshd"] = subprocess.Popen([SSHD, "-D", "-f", str(config), *log])
        self.wait_for(self.ssh_port)

    def serve_caddy(self) -> Path:
        file, admin = self.folder / "Caddyfile", free_port()
        file.write_text(
            f"{{\n    admin 127.0.0.1:{admin}\n    auto_https disable_redirects\n    default_bind 127.0.0.1\n"
            f"    skip_install_trust\n    storage file_system {self.folder}/caddy\n}}\n"
            f'http://127.0.0.1:{free_port()} {{\n    respond "somebody else\'s site"\n}}\n'
        )
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        words = ["caddy", "run", "--adapter", "caddyfile", "--config", str(file)]
        log = (self.folder / "caddy.log").open("wb")
        with log:
            self.processes["caddy"] = subprocess.Popen(words, env=env, stdout=log, stderr=log)
        self.wait_for(admin)
        return file

    def serve_nginx(self) -> Path:
        """Its command, as the login shell finds it, is the real one with this server's configuration."""
        config, site = self.folder / "nginx.conf", self.folder / "conf.d" / "yourcall.conf"
        site.parent.mkdir()
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = " ".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in kinds)
        config.write_text(
            f"pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log;\nevents {{}}\n"
            f"http {{ access_log off; {folders} include {site.parent}/*.conf;\n"
            f"server {{ listen 127.0.0.1:{free_port()}; }} }}\n"
        )
        words = [shutil.which("nginx") or "", "-e", str(self.folder / "nginx.log"), "-c", str(config)]
        (self.bin / "nginx").write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
        (self.bin / "nginx").chmod(0o755)
        self.processes["nginx"] = subprocess.Popen([*words, "-g", "daemon off;"])
        until(lambda: (self.folder / "nginx.pid").exists())
        return site

    def wait_for(self, port: int) -> None:
        def listens() -> bool:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 5).close()
                return True
            return False

        until(listens, what=f"port {port}")

    def end(self, name: str) -> None:
        process = self.processes.pop(name)
        process.terminate()
        process.wait()


class Desk:
    """The person's machine: yourcall, and an ssh client that knows the server."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.yc = Yourcall(folder)
        self.server = server
        programs = folder / "bin"
        programs.mkdir()
        ssh = [shutil.which("ssh") or "", "-F", "none", "-i", str(server.folder / "person")]
        ssh += ["-o", f"UserKnownHostsFile={server.folder}/known_hosts", "-o", "IdentitiesOnly=yes"]
        (programs / "ssh").write_text(f'#!/bin/sh\nexec {" ".join(ssh)} "$@"\n')
        (programs / "ssh").chmod(0o755)
        self.env = {**self.yc.env, "PATH": f"{programs}:{self.yc.env['PATH']}"}
        self.env["SSL_CERT_FILE"] = str(server.paths.authority)  # as if a phone's own list had it
        self.target = f"{getpass.getuser()}@127.0.0.1"

    def run(self, *words: str) -> Said:
        done = subprocess.run(
            [COMMAND, *words], env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def reach(self, site: str, file: Path) -> Said:
        paths = self.server.paths
        return self.run(
            "reach", "ssh", self.target, "--name", self.server.name, "--port", str(self.server.ssh_port), "--yes",
            "--site", site, "--site-file", str(file),
            "--certificate", str(paths.certificate), "--key", str(paths.key),
        )  # fmt: skip

    def passes(self) -> bool:
        return self.run("reach", "--status").code == 0

    def tunnel(self) -> int:
        """The process that runs now, once there is one."""
        note = self.yc.home / "reach.pid"

        def look() -> int:
            with suppress(FileNotFoundError):
                return int(json.loads(note.read_bytes())["pid"])
            return 0

        return until(look, what="a tunnel")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    try:
        made.serve_ssh()
        yield made
    finally:
        for name in list(made.processes):
            made.end(name)


@pytest.fixture
def desk(tmp_path: Path, server: Server) -> Iterator[Desk]:
    made = Desk(tmp_path, server)
    yield made
    made.run("down", "--force")


def test_a_phone_comes_by_caddy_and_ssh_whatever_is_killed(desk: Desk, server: Server) -> None:
    file = server.serve_caddy()
    before = file.read_text()
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]  # somebody else's: neither the daemon's nor the tunnel's
        assert desk.run("--port", str(taken), "up", "--detach").code == 0
        done = desk.reach("caddy", file)
        assert done.code == 0, done
        assert "reverse_proxy 127.0.0.1:" in done.out
        assert f"# yourcall {server.name} begin" in file.read_text()
        first = desk.tunnel()
        os.kill(first, signal.SIGKILL)
        until(lambda: desk.tunnel() != first)
        until(desk.passes, what="the tunnel comes back", every=0.2)
        last, pid = desk.tunnel(), desk.run("status", "--json").json["pid"]
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(last), what="the tunnel ends with the daemon")
        assert desk.run("up", "--detach").code == 0
        until(desk.passes, what="the same address, after the daemon was killed", every=0.2)
        assert desk.run("reach", "--status", "--json").json["url"] == f"https://{server.name}"
        last = desk.tunnel()
        undone = desk.run("reach", "--undo", "--yes")
        assert undone.code == 0, undone
        assert not alive(last)
        assert file.read_text() == before
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.web_port), 5)


def test_a_phone_comes_by_nginx_and_ssh(desk: Desk, server: Server) -> None:
    site = server.serve_nginx()
    done = desk.reach("nginx", site)
    assert done.code == 0, done
    assert "server_name 127.0.0.1;" in site.read_text()
    again = desk.reach("nginx", site)  # once more: the same lines, not twice
    assert again.code == 0, again
    assert site.read_text().count("server {") == 1
    assert desk.run("reach", "--undo", "--yes").code == 0
    assert not site.exists()
    until(lambda: not desk.passes())


def test_a_site_that_the_web_server_refuses_is_taken_back(desk: Desk, server: Server) -> None:
    file = server.serve_caddy()
    before = file.read_text()
    server.paths.key.write_text("no key")
    refused = desk.reach("caddy", file)
    assert refused.code == 1
    assert "ssh refused: " in refused.err
    assert "The way was not set up." in refused.err
    assert file.read_text() == before
    assert not (desk.yc.home / "reach.json").exists()
