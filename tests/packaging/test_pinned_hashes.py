"""Everything that is fetched has a pinned hash: a file with another one is not installed."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements.txt"
LOCKS = sorted((ROOT / "tools" / "cli_locks").glob("*.json"))
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture(scope="module")
def fetch_clis() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_clis", ROOT / "tools" / "fetch_clis.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- Python


def test_every_python_pin_has_a_hash() -> None:
    text = REQUIREMENTS.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*(#|-[a-z]|--(?!hash))", text, re.MULTILINE), "only pins and hashes"
    requirements = text.replace("\\\n", " ").splitlines()
    assert len(requirements) > 50
    pin = re.compile(r"[A-Za-z0-9_.-]+==\S+(?: ; [^-]+)?(?:\s+--hash=sha256:[0-9a-f]{64})+")
    assert [each for each in requirements if not pin.fullmatch(each.strip())] == []


def test_pip_refuses_a_wheel_with_another_hash(tmp_path: Path) -> None:
    """The form of requirements.txt makes pip check: one wrong digit, and nothing is installed."""
    wheel = tmp_path / "wheels" / "iniconfig-2.3.1-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("iniconfig/__init__.py", "")
        packed.writestr(
            "iniconfig-2.3.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: iniconfig\nVersion: 2.3.1\n"
        )
        packed.writestr(
            "iniconfig-2.3.1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        packed.writestr("iniconfig-2.3.1.dist-info/RECORD", "")
    text = REQUIREMENTS.read_text()
    (pinned,) = re.findall(r"^iniconfig==2\.3\.1 .*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    right = f"iniconfig==2.3.1 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"

    def install(requirement: str, name: str) -> tuple[subprocess.CompletedProcess[str], Path]:
        wanted, place = tmp_path / f"{name}.txt", tmp_path / name
        wanted.write_text(requirement)
        words = ["install", "--isolated", "--no-index", "--no-deps", "--find-links", str(wheel.parent)]
        done = subprocess.run(
            [sys.executable, "-m", "pip", *words, "--target", str(place), "-r", str(wanted)],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        return done, place / "iniconfig"

    done, installed = install(right, "right")
    assert done.returncode == 0, done.stderr
    assert installed.exists()
    done, installed = install(pinned, "wrong")
    assert done.returncode != 0
    assert "HASHES" in done.stderr.upper()
    assert not installed.exists()


# -- the phone app


def test_every_package_of_the_phone_app_has_a_hash_and_no_registry_is_named() -> None:
    text = (ROOT / "web" / "package-lock.json").read_text()
    _all_hashed(json.loads(text)["packages"])
    assert '"resolved"' not in text


def _all_hashed(packages: dict[str, dict[str, Any]]) -> None:
    assert len(packages) > 1
    for place, entry in packages.items():
        assert not place or entry.get("integrity", "").startswith("sha512-"), place


# -- the agents' CLIs


def test_every_pinned_cli_has_hashes_for_all_platforms(fetch_clis: ModuleType) -> None:
    assert {lock.stem for lock in LOCKS} == set(fetch_clis.PINNED)
    for lock in LOCKS:
        text = lock.read_text()
        assert "://" not in text
        packages = json.loads(text)["packages"]
        _all_hashed(packages)
        for native in ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"):
            wanted = fetch_clis.PACKAGES[lock.stem][0].format(native=native, version=fetch_clis.PINNED[lock.stem])
            name, version = wanted.rsplit("@", 1)
            assert packages[f"node_modules/{name}"]["version"] == version


class Registry:
    """A package registry on this machine: codex, and its native part as an optional package."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.files: dict[str, bytes] = {}
        self.documents: dict[str, Any] = {"versions": {}}

    def publish(self, version: str, files: dict[str, str], **more: object) -> str:
        """The integrity of the package."""
        data = io.BytesIO()
        meta = {"name": "@openai/codex", "version": version, **more}
        with tarfile.open(fileobj=data, mode="w:gz") as packed:
            for name, text in {**files, "package.json": json.dumps(meta)}.items():
                info = tarfile.TarInfo(f"package/{name}")
                info.size, info.mode = len(text), 0o755
                packed.addfile(info, io.BytesIO(text.encode()))
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data.getvalue()).digest()).decode()
        self.files[f"/{version}.tgz"] = data.getvalue()
        dist = {"tarball": f"{self.url}/{version}.tgz", "integrity": integrity}
        self.documents["versions"][version] = {**meta, "dist": dist}
        return integrity


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path.lower() == "/@openai%2fcodex"
            data = json.dumps(shop.documents).encode() if known else shop.files.get(self.path)
            self.send_response(200 if data is not None else 404)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    shop = Registry(f"http://127.0.0.1:{server.server_address[1]}")
    shop.documents |= {"name": "@openai/codex", "dist-tags": {}}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("npm_config_registry", shop.url)
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    yield shop
    server.shutdown()
    thread.join()
    server.server_close()


def _published(registry: Registry, fetch_clis: ModuleType) -> dict[str, Any]:
    """A codex of the pinned version in the registry; the lock file that fits it."""
    version, native = fetch_clis.PINNED["codex"], fetch_clis.native_name()
    system, machine = native.split("-")[:2]
    here = {"os": [system], "cpu": [machine]}
    part = f"@openai/codex-{native}"
    optional = {"optionalDependencies": {part: f"npm:@openai/codex@{version}-{native}"}}
    program = {"vendor/any/codex/codex": f"#!/bin/sh\necho codex-cli {version}\n"}
    outer = registry.publish(version, {"bin/codex.js": f"console.log('{version}')"}, **optional)
    inner = registry.publish(f"{version}-{native}", program, **here)
    packages = {
        "": {"name": "codex", "version": "1.0.0", "dependencies": {"@openai/codex": version}},
        "node_modules/@openai/codex": {"version": version, "integrity": outer, **optional},
        f"node_modules/{part}": {
            "name": "@openai/codex",
            "version": f"{version}-{native}",
            "integrity": inner,
            "optional": True,
            **here,
        },
    }
    return {"name": "codex", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": packages}


@needs_npm
@pytest.mark.parametrize("wrong", ["", "the package", "its native part"])
def test_a_cli_with_another_hash_is_not_installed(
    fetch_clis: ModuleType, registry: Registry, tmp_path: Path, wrong: str
) -> None:
    lock = _published(registry, fetch_clis)
    _, outer, inner = lock["packages"].values()
    other = "sha512-" + base64.b64encode(hashlib.sha512(b"another file").digest()).decode()
    if wrong:
        {"the package": outer, "its native part": inner}[wrong]["integrity"] = other
    locks, cache = tmp_path / "locks", tmp_path / "cache"
    locks.mkdir()
    (locks / "codex.json").write_text(json.dumps(lock))
    if not wrong:
        executable = fetch_clis.fetch("codex", cache=cache, locks=locks)
        assert fetch_clis.PINNED["codex"] in subprocess.check_output([executable], text=True)
        registry.files.clear()
        registry.documents.clear()
        (locks / "codex.json").unlink()
        assert fetch_clis.fetch("codex", cache=cache, locks=locks) == executable, "what is there is not fetched"
        return
    with pytest.raises(fetch_clis.CannotFetch, match="pinned hash"):
        fetch_clis.fetch("codex", cache=cache, locks=locks)
    assert list(cache.iterdir()) == []


@needs_npm
def test_without_a_pinned_hash_nothing_is_installed(
    fetch_clis: ModuleType, registry: Registry, tmp_path: Path
) -> None:
    lock = _published(registry, fetch_clis)
    del list(lock["packages"].values())[2]["integrity"]
    (tmp_path / "codex.json").write_text(json.dumps(lock))
    with pytest.raises(fetch_clis.CannotFetch, match="no hash"):
        fetch_clis.fetch("codex", cache=tmp_path / "cache", locks=tmp_path)
    assert list((tmp_path / "cache").iterdir()) == []


@needs_npm
def test_another_version_is_fetched_and_said_to_be_unchecked(
    fetch_clis: ModuleType, registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.publish("0.1.2", {"bin/codex.js": "console.log('0.1.2')"})
    assert fetch_clis.fetch("codex", "0.1.2", cache=tmp_path / "cache").exists()
    assert "hashes are not checked" in capsys.readouterr().err
