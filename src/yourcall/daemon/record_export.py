"""The record leaves the machine: as OTLP logs, as syslog (RFC 5424) or as JSON lines; and heads of the chain are
noted elsewhere.

Rule: at least once and in order. How far a receiver is stands on disk, and is moved on only once it has taken what
came before; after an outage it goes on from there. Everything is masked before it leaves.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from yourcall.core.redact import masked
from yourcall.store.stream import Line, head_of, lines_after
from yourcall.system import private_files

log = logging.getLogger(__name__)

BATCH = 200
LOOK_S = 2.0
LONGEST_PAUSE_S = 300.0
REPLY_S = 20.0
# TCP says nothing of what a receiver has read: one that is gone says so within this.
SETTLED_S = 1.0
ENTERPRISE = "yourcall@32473"  # the number that RFC 5612 sets aside for documentation

Kind = Literal["otlp", "syslog", "jsonl", "head"]


class Export(Struct, frozen=True, forbid_unknown_fields=True):
    """`kind`: what the receiver speaks; `head`: only the head of the chain, each `every_s`. `to`: an address
    (https://…, tcp://host:port, tls://host:port) or a file. `titles`: with what was asked, masked."""

    kind: Kind
    to: str
    every_s: Annotated[float, Meta(ge=1)] = 3600.0
    titles: bool = True


class NotTaken(Exception):
    """The receiver has not taken it; the text says why, and holds nothing of what was sent."""


def wrong_with(export: Export) -> str:
    """Why this cannot be done; empty if it can."""
    scheme = urlsplit(export.to).scheme
    file = export.to.startswith("/")
    if export.kind == "jsonl" and not file:
        return "`to` is a file, from /"
    if export.kind == "head" and not file and scheme not in ("https", "http"):
        return "`to` is a file, from /, or https://…"
    if export.kind == "otlp" and scheme not in ("https", "http"):
        return "`to` is the address of the collector's logs: https://…/v1/logs"
    if export.kind == "syslog" and (scheme not in ("tcp", "tls") or urlsplit(export.to).port is None):
        return "`to` is tcp://host:port or tls://host:port; by UDP nobody knows what arrives"
    if scheme in ("http", "tcp") and urlsplit(export.to).hostname not in ("127.0.0.1", "localhost", "::1"):
        return "what leaves this machine goes by https:// or tls://"
    return ""


class Exporter:
    """One receiver, from where it was left."""

    def __init__(
        self, home: Path, name: str, export: Export, sleep: Callable[[float], Awaitable[None]] | None = None
    ) -> None:
        self._database, self._export = home / "yourcall.db", export
        self._folder, self._name = home / "export", name
        self._sleep = sleep or asyncio.sleep
        self.problem = ""

    async def run(self) -> None:
        """Until cancelled."""
        pause = LOOK_S
        while True:
            try:
                sent = await self.once()
                self.problem, pause = "", LOOK_S
                if sent:
                    continue
            except asyncio.CancelledError:
                raise
            except Exception as error:  # a receiver's fault, or a disk's: it is tried again, and said
                self.problem = str(error) if isinstance(error, NotTaken) else type(error).__name__
                log.warning("export %s: %s", self._name, self.problem)
                pause = min(pause * 2, LONGEST_PAUSE_S)
            await self._sleep(self._export.every_s if self._export.kind == "head" and not self.problem else pause)

    async def once(self) -> bool:
        """Send the next ones, if there are any."""
        if self._export.kind == "head":
            await self._note_head()
            return False
        lines = await asyncio.to_thread(lines_after, self._database, self.place, BATCH)
        if not lines:
            return False
        parseds = [masked_line(line, titles=self._export.titles) for line in lines]
        match self._export.kind:
            case "otlp":
                await self._post(otlp(parseds))
            case "syslog":
                await self._syslog(parseds)
            case _:
                data = b"".join(msgspec.json.encode(line) + b"\n" for line in parseds)
                await asyncio.to_thread(append, Path(self._export.to), data)
        self._keep(lines[-1].n)
        return True

    @property
    def place(self) -> int:
        """The last place of the chain that was taken."""
        try:
            return int((self._folder / self._name).read_text()[:20])
        except FileNotFoundError:
            return 0
        except ValueError:
            return 0  # at least once: everything again, rather than nothing

    def _keep(self, n: int) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        private_files.write(self._folder / self._name, str(n).encode())

    async def _note_head(self) -> None:
        head = await asyncio.to_thread(head_of, self._database)
        if head is None or head[0] == self.place:
            return
        noted = json.dumps(
            {"at": time.time(), "host": socket.gethostname(), "head": f"{head[0]}:{head[1]}"}
        ).encode()
        if self._export.to.startswith("/"):
            await asyncio.to_thread(append, Path(self._export.to), noted + b"\n")
        else:
            await self._post(noted)
        self._keep(head[0])

    async def _post(self, body: bytes) -> None:
        import httpx

        headers = {"Content-Type": "application/json"}
        secret = self._folder / f"{self._name}.authorization"
        if secret.exists():
            headers["Authorization"] = secret.read_text().strip()
        try:
            async with httpx.AsyncClient(timeout=REPLY_S, follow_redirects=False, trust_env=False) as client:
                reply = await client.post(self._export.to, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise NotTaken(f"it cannot be reached ({type(error).__name__})") from error
        if not reply.is_success:
            raise NotTaken(f"it said {reply.status_code}")
        if self._export.kind == "otlp" and (refused := rejected(reply.content)):
            raise NotTaken(f"it rejected {refused} of them")

    async def _syslog(self, lines: Sequence[Line]) -> None:
        where = urlsplit(self._export.to)
        secure = ssl.create_default_context() if where.scheme == "tls" else None
        try:
            async with asyncio.timeout(REPLY_S):
                reader, writer = await asyncio.open_connection(where.hostname, where.port, ssl=secure)
                try:
                    for line in lines:
                        message = syslog(line)
                        writer.write(b"%d " % len(message) + message)
                    await writer.drain()
                    writer.write_eof() if writer.can_write_eof() else None
                    # It closes in turn once it has read to the end; one that broke off resets the connection.
                    try:
                        async with asyncio.timeout(SETTLED_S):
                            while await reader.read(4096):
                                pass
                    except TimeoutError:
                        pass
                finally:
                    writer.close()
        except (OSError, TimeoutError) as error:
            raise NotTaken(f"it cannot be reached ({type(error).__name__})") from error


def append(path: Path, data: bytes) -> None:
    """Whole lines, on disk when this returns."""
    number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(number, left) :]
        os.fsync(number)
    finally:
        os.close(number)


def masked_line(line: Line, *, titles: bool) -> Line:
    """Without what looks like a secret; without `titles`, without a word of the agent's or the person's."""
    if not titles:
        return replace(line, title="" if line.prompt_id else line.title, text="", answer="", detail="")
    return replace(
        line,
        title=masked(line.title),
        text=masked(line.text),
        answer=masked(line.answer),
        detail=masked(line.detail),
    )


# --- OTLP/HTTP, JSON --------------------------------------------------------------------------------------------


def otlp(lines: Sequence[Line]) -> bytes:
    """An ExportLogsServiceRequest. Attributes are named as Claude Code names its own, where it has them."""
    service = [_attribute("service.name", "yourcall"), _attribute("host.name", socket.gethostname())]
    records = [
        {
            "timeUnixNano": str(int(line.at * 1_000_000_000)),
            "severityNumber": 9,
            "severityText": "INFO",
            "eventName": f"yourcall.{line.event}",
            "body": {"stringValue": f"yourcall.{line.event}"},
            "attributes": [_attribute(name, value) for name, value in _attributes(line)],
        }
        for line in lines
    ]
    scope = {"scope": {"name": "yourcall.record"}, "logRecords": records}
    return json.dumps({"resourceLogs": [{"resource": {"attributes": service}, "scopeLogs": [scope]}]}).encode()


_CLAUDES = {"tool_name": "tool_name", "decision": "decision", "source": "source", "session_id": "session.id"}


def _attributes(line: Line) -> list[tuple[str, str]]:
    told = [("event.name", line.event)]
    for name in Line.__struct_fields__:
        value = getattr(line, name)
        if name in ("at", "event") or value in ("", ()):
            continue
        text = ", ".join(line.others) if name == "others" else str(value)
        told.append((_CLAUDES.get(name, f"yourcall.{name}"), text))
    return told


def _attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}


def rejected(reply: bytes) -> int:
    """How many a collector says that it did not take."""
    try:
        payload: Any = json.loads(reply or b"{}")
        return int(payload.get("partialSuccess", {}).get("rejectedLogRecords", 0))
    except (ValueError, AttributeError, TypeError):
        return 0


# --- syslog, RFC 5424 -------------------------------------------------------------------------------------------


def syslog(line: Line) -> bytes:
    """One message: facility 13 (log audit), severity 6 or, for a refusal, 4; the fields as structured data."""
    severity = 4 if line.event == "attempt_refused" else 6
    whole, part = divmod(line.at, 1)
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int(part * 1_000_000):06d}Z"
    fields = "".join(f' {name.replace(".", "_")[:32]}="{_escaped(value)}"' for name, value in _attributes(line))
    host = "".join(c for c in socket.gethostname() if 33 <= ord(c) <= 126)[:255] or "-"
    return f"<{13 * 8 + severity}>1 {at} {host} yourcall - {line.event[:32]} [{ENTERPRISE}{fields}]".encode()


def _escaped(value: str) -> str:
    visible = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in value)
    return visible.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")
