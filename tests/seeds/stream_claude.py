"""A stand-in for `claude -p … stream-json`: it does the tool calls that its instruction lists, and asks for each.

The rule it keeps: the lines are those that Claude Code 2.0.76 writes (tests/data/claude/stream-2.0.76.jsonl).
"""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

SESSION = str(uuid.uuid4())


def say(**line: Any) -> None:
    print(json.dumps({"session_id": SESSION, "uuid": str(uuid.uuid4()), **line}), flush=True)


def told() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def message(*content: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
    return {"id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "content": list(content), "stop_reason": stop}


def decide(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """Ask, wait, and say what was done, as Claude does."""
    call, request = f"toolu_{uuid.uuid4().hex[:20]}", str(uuid.uuid4())
    say(type="assistant", message=message({"type": "tool_use", "id": call, "name": tool, "input": given}))
    asked = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": call}
    say(type="control_request", request_id=request, request=asked)
    while (answer := told())["type"] != "control_response" or answer["response"]["request_id"] != request:
        continue
    say(type="control_response", response=answer["response"])
    decision = answer["response"]["response"]
    denied = decision["behavior"] == "deny"
    result = {
        "type": "tool_result",
        "tool_use_id": call,
        "is_error": denied,
        "content": decision.get("message", ""),
    }
    say(type="user", message={"role": "user", "content": [result]})
    return decision


def main() -> None:
    while True:
        line = told()
        if line["type"] == "control_request":
            done = {"subtype": "success", "request_id": line["request_id"], "response": {}}
            say(type="control_response", response=done)
        elif line["type"] == "user":
            say(type="system", subtype="init", cwd="/", model="scripted", permissionMode="default")
            say(type="user", message=line["message"], isReplay=True, uuid=line["uuid"])
            decisions = [decide(tool, given) for tool, given in json.loads(line["message"]["content"])]
            words = json.dumps(decisions)
            say(type="assistant", message=message({"type": "text", "text": words}, stop="end_turn"))
            say(type="result", subtype="success", is_error=False, result=words, num_turns=1, total_cost_usd=0.01)


main()
