"""Pebble, the small certificate authority by the makers of Let's Encrypt, with a name server of its own.

    with Pebble(folder, tls_port) as acme: acme.directory, acme.https_ca; acme.root()

Rule: on loopback only. It looks at `tls_port`, as the real one looks at 443.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import urllib.request
from pathlib import Path

from kit.poll import until
from yourcall.reach import certificates


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Pebble:
    def __init__(self, folder: Path, tls_port: int, valid_s: int | None = None) -> None:
        self.folder = folder / "pebble"
        self.folder.mkdir()
        paths = certificates.make(self.folder, ("127.0.0.1",))
        self.https_ca = paths.authority
        self.port, self.manage, self.dns = free_port(), free_port(), free_port()
        self.directory = f"https://127.0.0.1:{self.port}/dir"
        config: dict[str, object] = {
            "listenAddress": f"127.0.0.1:{self.port}",
            "managementListenAddress": f"127.0.0.1:{self.manage}",
            "certificate": str(paths.certificate),
            "privateKey": str(paths.key),
            "httpPort": free_port(),
            "tlsPort": tls_port,
        }
        if valid_s is not None:
            config["certificateValidityPeriod"] = valid_s
        (self.folder / "config.json").write_text(json.dumps({"pebble": config}))
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Pebble:
        nobody = ["-http01", "", "-https01", "", "-tlsalpn01", "", "-management", f"127.0.0.1:{free_port()}"]
        here = ["-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", f"127.0.0.1:{self.dns}"]
        self._start("pebble-challtestsrv", *here, *nobody)
        words = ["-config", str(self.folder / "config.json"), "-dnsserver", f"127.0.0.1:{self.dns}"]
        self._start("pebble", *words)
        until(self._answers, what="Pebble", show=(self.folder / "pebble.log").read_text)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
            process.wait()

    def root(self) -> Path:
        """Whose certificate phones must trust; made anew at each start."""
        file = self.folder / "root.pem"
        file.write_bytes(self._get("/roots/0"))
        return file

    def log(self) -> str:
        return (self.folder / "pebble.log").read_text()

    def _start(self, name: str, *words: str) -> None:
        program = shutil.which(name)
        assert program, f"no {name} here; see: tools/need.sh pebble"
        env = {"PATH": os.environ["PATH"], "PEBBLE_VA_NOSLEEP": "1"}
        with (self.folder / f"{name}.log").open("wb") as log:
            self._processes.append(subprocess.Popen([program, *words], env=env, stdout=log, stderr=log))

    def _answers(self) -> bool:
        try:
            return bool(self._get("/roots/0"))
        except OSError:
            return False

    def _get(self, path: str) -> bytes:
        trust = ssl.create_default_context(cafile=str(self.https_ca))
        with urllib.request.urlopen(f"https://127.0.0.1:{self.manage}{path}", context=trust, timeout=30) as reply:
            return bytes(reply.read())
