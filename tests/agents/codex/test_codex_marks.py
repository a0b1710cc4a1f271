"""A call is known by the same mark from its hook, its dialog and its record; its record tells how it ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from yourcall.agents.codex.call_marks import mark, of_dialog, of_record
from yourcall.agents.codex.rollout import read_line, settled
from yourcall.agents.sightings import CallResult, CallSeen
from yourcall.model.events import CallSettled
from yourcall.model.prompts import Answer, Moment, Option, Prompt, Question
from yourcall.model.screen import Reading

DATA = Path(__file__).resolve().parents[2] / "data/codex"
HOOKS = json.loads((DATA / "hook-payload-samples.json").read_text())


def record(name: str) -> list[CallSeen | CallResult]:
    lines = (DATA / f"rollouts/{name}.jsonl").read_bytes().splitlines()
    return [found for line in lines for found in read_line(line)]


def of_hook(event: str) -> str:
    told = HOOKS[event]
    return mark(told["tool_name"], json.dumps(told["tool_input"]).encode())


def test_a_command_in_its_hook_its_dialog_and_its_record() -> None:
    command = HOOKS["PermissionRequest-Bash"]["tool_input"]["command"]
    shown = Reading(
        "waiting", "permission", question="Would you like to run the following command?", target=command
    )
    seen = {c.fingerprint for c in record("shared-thread-many-approvals") if isinstance(c, CallSeen)}
    assert seen == {of_hook("PermissionRequest-Bash")} == {of_dialog(shown)}
    assert of_dialog(replace(shown, target="touch\n  /etc/demo-marker")) == of_dialog(shown)
    assert of_dialog(replace(shown, clipped=True)) == ""
    assert of_dialog(replace(shown, question="Would you like to make the following edits?")) == ""


def test_a_patch_in_its_hook_and_its_record() -> None:
    patch = HOOKS["PermissionRequest-apply_patch"]["tool_input"]["command"]
    assert of_record("apply_patch", "", "", patch + "\n") == of_hook("PermissionRequest-apply_patch")
    assert of_record("delete_record", "mcp__demo", "{}", "") == ""


def test_the_record_tells_how_each_call_ended() -> None:
    told = [c for c in record("shared-thread-many-approvals") if isinstance(c, CallResult)]
    ends = {c.call_id: c.outcome for c in told}
    assert {id: ends[id] for id in ("call_361", "call_365", "call_369", "call_383")} == {
        "call_361": "allowed",
        "call_365": "denied",
        "call_369": "stopped",
        "call_383": "allowed",
    }
    assert all(1_700_000_000 < c.at < 1_900_000_000 for c in told)
    stopped = [c for c in record("two-parallel-cancelled") if isinstance(c, CallResult)]
    assert [c.outcome for c in stopped] == ["stopped"] * 4 + ["allowed"]


def test_what_a_command_prints_is_no_verdict() -> None:
    head = "Chunk ID: c83c94\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n"
    payload = {"type": "function_call_output", "call_id": "c", "output": f"{head}aborted by user"}
    (result,) = read_line(json.dumps({"type": "response_item", "payload": payload}).encode())
    assert isinstance(result, CallResult)
    assert result.outcome == "allowed"
    for fake in ("x\naborted by user", "patch rejected by user!", "no\nChunk ID: c83c94\nWall time: 0.0 seconds"):
        line = json.dumps({"type": "response_item", "payload": {**payload, "output": fake}}).encode()
        assert read_line(line) == []


@pytest.mark.parametrize(("option", "told"), [("allow", False), ("deny", True)])
def test_a_stop_after_our_yes_is_no_no(option: str, told: bool) -> None:
    options = (Option("allow", "Yes", "allow_once"), Option("deny", "No", "stop"))
    answer = Answer("a1", "phone", "http", {"decision": (option,)})
    prompt = Prompt(
        "p", "permission", "codex", "s", "/", "t", 1.0, questions=(Question("decision", "?", options),)
    )
    sent = replace(prompt, link="screen", answer=answer, history=(Moment(1.0, "sent", "phone", "", "a1"),))
    said = settled(sent, CallResult("c", 2.0, "stopped", "unknown", ""), 3.0)
    assert (isinstance(said, CallSettled) and said.outcome == "stopped") is told
