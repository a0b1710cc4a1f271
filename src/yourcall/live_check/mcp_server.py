"""A small MCP server on stdio: one plain tool, one that asks with a form, one that asks to open an address.

Started by the agent itself; what the person answered is the tool's result, so the model hears it.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

FORM = {
    "type": "object",
    "properties": {
        "people": {"type": "integer", "title": "People", "minimum": 1, "maximum": 12},
        "seating": {"type": "string", "title": "Seating", "enum": ["inside", "terrace"]},
        "name": {"type": "string", "title": "Name"},
        "window": {"type": "boolean", "title": "By the window"},
    },
    "required": ["people"],
}
ASKS: dict[str, dict[str, Any]] = {
    "book_table": {"message": "How many people, and which seating?", "requestedSchema": FORM},
    "link_account": {
        "mode": "url",
        "message": "Please sign in to link your account",
        "url": "https://example.com/oauth/start?id=1",
        "elicitationId": "abc",
    },
}
TOOLS: list[dict[str, Any]] = [
    {"name": name, "description": name.replace("_", " "), "inputSchema": {"type": "object", "properties": {}}}
    for name in ("add_ticket", *ASKS)
]
numbers = count(1)


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def elicit(asked: dict[str, Any]) -> dict[str, Any]:
    mine = f"elicit-{next(numbers)}"
    send({"id": mine, "method": "elicitation/create", "params": asked})
    while (message := receive()).get("id") != mine or "method" in message:
        serve(message)
    return message.get("result") or message.get("error") or {}


def serve(message: dict[str, Any]) -> None:
    method, number = message.get("method"), message.get("id")
    params: dict[str, Any] = message.get("params") or {}
    if number is None or method is None:
        return
    if method == "initialize":
        info = {"name": "demo", "version": "1.0"}
        version = params.get("protocolVersion", "2025-06-18")
        send(
            {
                "id": number,
                "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
            }
        )
    elif method == "tools/list":
        send({"id": number, "result": {"tools": TOOLS}})
    elif method == "tools/call":
        asked = ASKS.get(params["name"])
        text = json.dumps(elicit(asked)) if asked else "ticket 42 created"
        send({"id": number, "result": {"content": [{"type": "text", "text": text}]}})
    elif method == "ping":
        send({"id": number, "result": {}})
    else:
        send({"id": number, "error": {"code": -32601, "message": "not here"}})


if __name__ == "__main__":
    while True:
        serve(receive())
