"""The check from the outside in, through a real nginx: it must not pass what a phone would not get through."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_reach import free_port

from kit.poll import until
from kit.yourcall import Yourcall
from yourcall.reach import certificates, way
from yourcall.reach.check import Step, check

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "proxy_set_header Host $http_host;"
UPGRADE = 'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";'


class Nginx:
    """nginx on loopback, with a certificate of a test authority, in front of the daemon."""

    def __init__(self, folder: Path, to: int) -> None:
        self.folder, self.to, self.port = folder / "nginx", to, free_port()
        self.folder.mkdir()
        self.paths = certificates.make(self.folder, ("127.0.0.1",))
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def serve(self, *lines: str) -> None:
        """With these lines beside `proxy_pass`."""
        self.end()
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = " ".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in kinds)
        (self.folder / "nginx.conf").write_text(
            f"daemon off; pid {self.folder}/pid; error_log {self.folder}/log; worker_processes 1;\n"
            f"events {{}}\nhttp {{ access_log off; {folders}\n"
            f"server {{ listen 127.0.0.1:{self.port} ssl;\n"
            f"ssl_certificate {self.paths.certificate}; ssl_certificate_key {self.paths.key};\n"
            f"location / {{ proxy_pass http://127.0.0.1:{self.to}; {' '.join(lines)} }} }} }}\n"
        )
        words = ["nginx", "-e", str(self.folder / "log"), "-c", str(self.folder / "nginx.conf")]
        self.process = subprocess.Popen(words)
        until(lambda: check(self.url, self.paths.authority)[-1].name != "certificate", what="nginx")

    def check(self) -> Step:
        """The last step: the first that failed."""
        return check(self.url, self.paths.authority)[-1]

    def end(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[Nginx]:
    yc = Yourcall(tmp_path)
    yc.home.mkdir(mode=0o700)
    made = Nginx(tmp_path, free_port())
    way.write(yc.home, way.Way("proxy", made.url, port=made.to))
    with yc:
        assert json.loads((yc.home / "daemon.json").read_text())["port"] == made.to
        yield made
        made.end()


def test_only_a_proxy_that_passes_everything_on_is_passed(nginx: Nginx) -> None:
    nginx.serve(HOST, UPGRADE)  # as docs/how-to/reach-it-from-the-phone.md has it
    assert nginx.check() == Step("notifications", True, "the service worker and the key for them are there")
    nginx.serve(HOST)
    live = nginx.check()
    assert (live.name, live.ok) == ("live feed", False)
    assert "forward Upgrade headers" in live.detail
    nginx.serve(UPGRADE)  # nginx then names the upstream
    host = nginx.check()
    assert (host.name, host.ok) == ("host", False)
    assert f"127.0.0.1:{nginx.to}" in host.detail
    nginx.serve(HOST, UPGRADE, "auth_basic closed; auth_basic_user_file /dev/null;")
    assert nginx.check() == Step("app", False, "Something else answers there (status 401).")
