"""A scripted OpenAI Responses API on loopback: the model behind a real Codex in a test.

The rule it keeps: what it says follows from the conversation it is sent, not from what it said before, so a
retry, a sub-agent or a resumed session gets the turn that belongs there.

The last user text that contains `DO <name>` picks the script; turn N is played after N tool outputs came back, and
after the last turn the model says "All done.". A request for a title gets one.
"""

from __future__ import annotations

import json
from typing import Any

from yourcall.agents.model_turns import Block, filled
from yourcall.live_check.models.scripted import PICK, Exchange, Scripted

Step = dict[str, Any] | Block
TITLE = "Generate a concise, single-line task title"


def say(text: str) -> dict[str, Any]:
    return {"say": text}


def call(name: str, /, namespace: str = "", **arguments: Any) -> dict[str, Any]:
    return {"call": name, "namespace": namespace, "arguments": arguments}


def escalated(
    command: str, why: str = "Allow this command to run outside the sandbox?", **more: Any
) -> dict[str, Any]:
    """A command that has to be asked for."""
    return call(
        "exec_command", cmd=command, sandbox_permissions="require_escalated", justification=why, **more
    )  # fmt: skip


def patch(*lines: str) -> dict[str, Any]:
    return {"custom": "apply_patch", "input": "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])}


def pause(until: str) -> dict[str, Any]:
    """The answer stops here, the stream staying open, until the test calls `model.release(until)`."""
    return {"pause": until}


def failure(status: int, **error: Any) -> dict[str, Any]:
    return {"status": status, "error": error}


def _step(block: Block) -> dict[str, Any]:
    """A turn's block as this API has it; a tool of an MCP server is named `server/tool`."""
    match block.kind:
        case "text":
            return say(block.body["text"])
        case "error":
            return failure(block.body["status"], message=block.body["message"], type=block.body["kind"])
        case "pause":
            return pause(block.body["until"])
        case _:
            namespace, _, name = block.body["name"].rpartition("/")
            return call(name, namespace, **block.body["input"])


class ResponsesServer(Scripted[Step]):
    def __init__(self) -> None:
        super().__init__(_Exchange, "/v1")
        self.requests: list[dict[str, Any]] = []

    def heard(self) -> object:
        return self.outputs(), self.user_texts()

    def outputs(self) -> list[str]:
        """What the model was told about its tool calls, once each, oldest first."""
        told: dict[str, str] = {}
        for body in list(self.requests):
            for item in body.get("input", []):
                if item.get("type", "").endswith("_output"):
                    told.setdefault(item["call_id"], _plain(item.get("output")))
        return list(told.values())

    def user_texts(self) -> list[str]:
        """All that people were heard to say, once each."""
        heard: dict[str, None] = {}
        for body in list(self.requests):
            heard |= dict.fromkeys(_said(item) for item in body.get("input", []) if _is_user(item))
        return [words for words in heard if words and not words.startswith(("<", TITLE))]

    # What the connections' threads call.

    def steps_for(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        offered = _offered(body)
        chosen = self._chosen(body)
        return [_step(filled(each, offered, body)) if isinstance(each, Block) else each for each in chosen]

    def _chosen(self, body: dict[str, Any]) -> list[Step]:
        self.took(self.requests, body)
        items = body.get("input", [])
        users = [(number, _said(item)) for number, item in enumerate(items) if _is_user(item)]
        if users and TITLE in users[-1][1]:
            return [say(json.dumps({"title": "A scripted task"}))]
        for number, text in reversed(users):
            if picked := PICK.findall(text):
                turns = self._scripts.get(picked[-1], ([say(f"(there is no script {picked[-1]})")],))
                rounds = sum(1 for item in items[number:] if item.get("type", "").endswith("_output"))
                return turns[rounds] if rounds < len(turns) else [say("All done.")]
            if text and not text.startswith(("<", "# AGENTS.md")):
                return [say(f"You said: {text[:200]}")]
        return [say("OK.")]


def _offered(body: dict[str, Any]) -> set[str]:
    """Tools of an MCP server stand in a group of their own, or have its name before theirs."""
    tools: list[dict[str, Any]] = body.get("tools") or []
    grouped = {f"{each.get('name')}/{one.get('name')}" for each in tools for one in each.get("tools", [])}
    return grouped | {str(each.get("name")) for each in tools}


def _is_user(item: dict[str, Any]) -> bool:
    return item.get("type", "message") == "message" and item.get("role") == "user"


def _said(item: dict[str, Any]) -> str:
    return _plain(item.get("content")).strip()


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: list[dict[str, Any]] = content or []
    return "\n".join(part.get("text", "") for part in parts)


class _Exchange(Exchange):
    def do_GET(self) -> None:
        self.reply(200, {"models": [], "data": [], "object": "list"})

    def do_POST(self) -> None:
        body = self.asked()
        if not self.path.split("?")[0].endswith("/responses"):
            return self.reply(404, {"error": {"message": "not found"}})
        steps = self.server.model.steps_for(body)
        failed = next((step for step in steps if "status" in step), None)
        return self.reply(failed["status"], {"error": failed["error"]}) if failed else self._stream(steps)

    def _stream(self, steps: list[dict[str, Any]]) -> None:
        self.begin_stream()
        model = self.server.model
        response = f"resp_{next(model.numbers)}"
        self._event("response.created", response={"id": response})
        index = 0
        for step in steps:
            if "pause" in step:
                while model.held_back(step["pause"]):
                    self._event("response.in_progress", response={"id": response})
                continue
            self._item(index, step, next(model.numbers))
            index += 1
        usage = {"input_tokens": 100, "input_tokens_details": None, "output_tokens": 10}
        usage |= {"output_tokens_details": None, "total_tokens": 110}
        self._event("response.completed", response={"id": response, "usage": usage})

    def _item(self, index: int, step: dict[str, Any], number: int) -> None:
        if "say" in step:
            name = f"msg_{number}"
            part = {"type": "output_text", "text": step["say"]}
            item = {"type": "message", "role": "assistant", "id": name, "content": [part]}
            self._event("response.output_item.added", output_index=index, item={**item, "content": []})
            self._event(
                "response.output_text.delta", item_id=name, output_index=index, content_index=0, delta=step["say"]
            )
        elif "custom" in step:
            item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}"}
            item |= {"name": step["custom"], "input": step["input"], "status": "completed"}
        else:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
            item |= {"name": step["call"], "arguments": json.dumps(step["arguments"])}
            item |= {"namespace": step["namespace"]} if step["namespace"] else {}
            self._event("response.output_item.added", output_index=index, item=item)
        self._event("response.output_item.done", output_index=index, item=item)

    def _event(self, kind: str, **data: Any) -> None:
        self.data({"type": kind, **data}, kind)
