"""What goes out: every module that can connect stands in the table, and nothing does that nobody has set up."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from yourcall.system.outbound import LOCAL, OUTBOUND

SOURCE = Path(__file__).parents[2] / "src"
SCRIPT = Path(__file__).with_name("closed_network.sh")
# What opens a connection, or is imported for nothing else. Types and servers are not.
LIBRARIES = {"httpx", "aiohttp", "slack_sdk", "acme", "apprise", "requests", "urllib.request", "smtplib", "nats"}
LIBRARIES |= {"ftplib", "telnetlib", "imaplib", "poplib", "xmlrpc.client", "http.client", "websockets.sync.client"}
LIBRARIES |= {"websockets.asyncio.client", "socketserver", "grpc", "authlib", "nio", "hikari"}
CALLS = {"create_connection", "open_connection", "create_datagram_endpoint", "getaddrinfo", "gethostbyname"}
CALLS |= {"socketpair_to", "sock_connect", "unix_connect"}
PROGRAMS = {"ssh", "cloudflared", "tailscale", "curl", "wget", "nc", "dig"}


def _can_connect(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    types_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in types_only:
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        found |= {name for name in names for each in LIBRARIES if name == each or name.startswith(f"{each}.")}
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in CALLS:
                found.add(called)
            if called == "socket" and isinstance(node.func, ast.Attribute):
                found.add("socket.socket")
            if called in ("needed", "import_module") and node.args and isinstance(node.args[0], ast.Constant):
                word = str(node.args[0].value)
                found |= {word} & (PROGRAMS | LIBRARIES)
    return found


def test_every_module_that_can_connect_stands_in_the_table() -> None:
    """A new connection gets a row of `system/outbound.py`: to whom, when, with what, how to forbid it."""
    listed = {module for each in OUTBOUND for module in each.modules} | LOCAL
    missing: dict[str, set[str]] = {}
    seen: set[str] = set()
    for path in sorted((SOURCE / "yourcall").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        if name.startswith(("yourcall.demo", "yourcall.live_check")):
            continue  # on 127.0.0.1, with a scripted model
        found = _can_connect(ast.parse(path.read_text()))
        if found:
            seen.add(name)
        if found and name not in listed:
            missing[name] = found
    assert missing == {}
    assert len(seen) > 10, "the look finds what it looks for"


def test_the_table_names_modules_that_are_there() -> None:
    for module in {module for each in OUTBOUND for module in each.modules} | LOCAL:
        path = SOURCE / Path(*module.split("."))
        assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file(), module


def test_nothing_goes_out_by_default() -> None:
    assert [each.name for each in OUTBOUND if each.by_default] == []


@pytest.mark.long
def test_in_a_closed_network_a_day_of_yourcall_sends_not_one_packet(tmp_path: Path) -> None:
    """A network of its own with one way out that counts: start, a request, an answer, lists, doctor, stop."""
    done = subprocess.run(
        [
            "unshare",
            "-rnpf",
            "--mount-proc",
            "--kill-child",
            "sh",
            str(SCRIPT),
            str(Path(sys.executable).parent),
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert told["answered"] == "1", done.stdout + done.stderr
    assert told["sent"] == "0", done.stdout + done.stderr
    assert int(told["proof"]) > 0, "the counter counts"
