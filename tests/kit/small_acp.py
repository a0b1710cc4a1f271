"""A small agent over ACP, for tests that need a session and no model: it writes down what it is told.

`python small_acp.py LOG [NAME]`: it calls itself NAME, and writes each instruction as a line of JSON into the
file LOG. An instruction may hold words that it obeys: `ASK` asks for a permission, `FAIL` ends with an error,
`HOLD name` works until the file `name` is there, `SAY text` says the text; else it says back what it was told.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(session: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def ask(session: str) -> str:
    """Ask for a permission, and wait for the answer."""
    call = {"toolCallId": "call-1", "title": "echo hello", "kind": "execute", "status": "pending"}
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    params = {"sessionId": session, "toolCall": call, "options": options}
    send({"id": "ask-1", "method": "session/request_permission", "params": params})
    for line in sys.stdin:
        heard = json.loads(line)
        if heard.get("id") == "ask-1":
            return str(heard.get("result", {}).get("outcome", {}).get("optionId", "cancelled"))
    return "gone"


def turn(session: str, text: str) -> None:
    words = text.split()
    if "ASK" in words:
        say(session, f"The answer was {ask(session)}.")
    if "HOLD" in words:
        say(session, "I'm at it. ")
        held = Path(words[words.index("HOLD") + 1])
        while not held.exists():
            time.sleep(0.02)
    if "SAY" in words:
        say(session, text.partition("SAY ")[2])
    else:
        say(session, f"I was told: {text}")


MODES = {"currentModeId": "default", "availableModes": [{"id": id, "name": id} for id in ("default", "plan")]}


def main(log: Path, name: str) -> None:
    session = f"small-{os.getpid()}"
    for line in sys.stdin:
        heard = json.loads(line)
        match heard.get("method"):
            case "initialize":
                info = {"name": name, "title": name.title(), "version": "1.0.0"}
                capabilities: dict[str, Any] = {"promptCapabilities": {}}
                result: dict[str, Any] = {
                    "protocolVersion": 1,
                    "agentInfo": info,
                    "agentCapabilities": capabilities,
                    "authMethods": [],
                }
                send({"id": heard["id"], "result": result})
            case "session/new":
                send({"id": heard["id"], "result": {"sessionId": session, "modes": MODES}})
            case "session/set_mode":
                with log.open("a") as file:
                    file.write(json.dumps(f"MODE {heard['params']['modeId']}") + "\n")
                send({"id": heard["id"], "result": {}})
            case "session/prompt":
                text = "".join(block.get("text", "") for block in heard["params"]["prompt"])
                with log.open("a") as file:
                    file.write(json.dumps(text) + "\n")
                if "FAIL" in text.split():
                    send({"id": heard["id"], "error": {"code": -32000, "message": "the model failed"}})
                    continue
                turn(session, text)
                send({"id": heard["id"], "result": {"stopReason": "end_turn"}})
            case _ if "id" in heard and "method" in heard:
                send({"id": heard["id"], "result": {}})
            case _:
                pass


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "small")
