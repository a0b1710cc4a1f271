"""Naming a folder as a workspace, whether the daemon runs or not.

Rule: a daemon that runs is asked, for the list is its own; otherwise the file is written as it would.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from yourcall.agents import jsonrpc
from yourcall.cli.client import connect
from yourcall.cli.instance import Problem
from yourcall.model.prompts import Refused
from yourcall.store.workspaces import Workspaces


def name_workspace(home: Path, folder: Path, *, running: bool) -> None:
    if running:
        _ask(home, folder)
        return
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Workspaces(home).add(str(folder), "")
    if isinstance(made, Refused):
        raise Problem(made.reason)


def _ask(home: Path, folder: Path) -> None:
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect as websocket

    request = jsonrpc.stamped(jsonrpc.request(1, "workspace/add", {"path": str(folder)}))
    try:
        with websocket("ws://localhost/api/rpc", sock=connect(home), proxy=None, compression=None) as talk:
            talk.send(json.dumps(request))
            reply: dict[str, Any] = json.loads(talk.recv(timeout=10))
    except (OSError, WebSocketException, TimeoutError) as error:
        raise Problem("The daemon that runs takes no workspaces; restart it with: yourcall down") from error
    if "error" in reply:
        raise Problem(str(reply["error"]["message"]))
