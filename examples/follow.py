"""Follow a session over the JSON-RPC WebSocket, and answer its prompts with a digit. Needs websockets.

python follow.py ws://127.0.0.1:7717/api/rpc TOKEN SESSION_ID
"""

from __future__ import annotations

import json
import sys

from websockets.sync.client import connect

url, token, session_id = sys.argv[1:4]
headers = {"Authorization": f"Bearer {token}"}
with connect(url, additional_headers=headers, proxy=None) as socket:

    def call(id: int, method: str, **params: str) -> None:
        socket.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))

    call(1, "workspace/session/watch", session_id=session_id)
    for text in socket:
        message = json.loads(text)
        match message.get("type"):
            case "pty_permission":
                asked = message["payload"]
                print(f"{asked['type']}: {asked['target']}")
                for option in asked["options"]:
                    print(f"  {option['key']}. {option['label']}")
                call(2, "session/input", session_id=session_id, input=input("> "))
            case "claude_message":
                for block in message["payload"]["content"]:
                    print(block.get("text") or block.get("tool_name") or "")
                if message["payload"]["stop_reason"] == "end_turn":
                    break
            case _:
                if "error" in message:
                    sys.exit(message["error"]["message"])
                if message.get("id") == 2:
                    print("answered", flush=True)
