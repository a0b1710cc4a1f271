"""A device for when nobody is there: it answers as a paired phone would, with a key of its own.

Rule: nothing a real device could not do; its key is revoked when the demo ends.
"""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from yourcall.cli.client import call, refusal
from yourcall.cli.instance import Problem, read_daemon_file

NAME = "demo phone"
PATIENCE = 10.0


class Phone:
    def __init__(self, home: Path) -> None:
        self._home = home
        note = read_daemon_file(home)
        self._port = int(note.get("port") or 0)
        host = urlsplit(str(note.get("url", ""))).hostname or ""
        listens_here = host in ("", "localhost", "0.0.0.0", "::")  # noqa: S104 - compared, not bound
        named = urlsplit(str(note.get("url", ""))).port == self._port and not listens_here
        self._host = host if named else "127.0.0.1"
        reply = call(home, "POST", "/api/devices", body=json.dumps({"name": NAME}))
        if reply.status not in (200, 201):
            raise refusal(reply)
        self.id, self.name, self._token = str(reply.data["id"]), str(reply.data["name"]), str(reply.data["token"])

    def __enter__(self) -> Phone:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            call(self._home, "DELETE", f"/api/devices/{quote(self.id, safe='')}")
        except Problem:
            return  # the daemon is gone, and with it whoever would let this phone in

    def answer(self, prompt_id: str, answer: dict[str, Any]) -> None:
        """Give this answer. Too late is no problem: somebody else was quicker, and the agent goes on."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", f"/api/prompts/{prompt_id}/answer", json.dumps(answer), headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise Problem(f"The demo's phone could not reach yourcall at {self._host}:{self._port}.") from error
        finally:
            connection.close()
        if status not in (200, 202, 409):
            raise Problem(f"The demo's phone was refused (HTTP {status}).")
