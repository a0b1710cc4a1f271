"""The OpenRPC document: whole, and made of what there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from yourcall.server.contracts.rpc.methods import METHODS
from yourcall.server.contracts.rpc.wire import EVENTS, Event, PtyStateChange, event
from yourcall.server.docs.openrpc import openrpc

DOCUMENT: dict[str, Any] = json.loads(msgspec.json.encode(openrpc()))


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from walk(each)
    elif isinstance(value, list):
        for each in value:
            yield from walk(each)


def test_every_method_is_in_it_with_its_parameters_in_their_order() -> None:
    assert {"openrpc", "info", "methods", "components"} <= set(DOCUMENT)
    described = {method["name"]: method for method in DOCUMENT["methods"]}
    assert list(described) == [method.name for method in METHODS]
    for method in METHODS:
        params = described[method.name]["params"]
        assert [each["name"] for each in params] == list(method.takes.__struct_fields__)
        assert all("schema" in each for each in params)
        # By place, as the specification has it: what is required comes first.
        needed = [each["required"] for each in params]
        assert needed == sorted(needed, reverse=True)
        assert described[method.name]["result"]["schema"]
        assert described[method.name]["summary"]


def test_every_reference_leads_somewhere() -> None:
    refs = [each["$ref"] for each in walk(DOCUMENT) if "$ref" in each]
    assert len(refs) > 10
    for ref in refs:
        assert ref.removeprefix("#/components/schemas/") in DOCUMENT["components"]["schemas"]


def test_events_bear_the_names_of_the_contract() -> None:
    assert set(DOCUMENT["x-events"]) == set(EVENTS.values())
    told: Event = event(PtyStateChange("idle", False, "", "s1"), 1766750402.0)
    assert json.loads(msgspec.json.encode(told)) == {
        "type": "pty_state",
        "timestamp": "2025-12-26T12:00:02.000Z",
        "payload": {"state": "idle", "waiting_for_input": False, "prompt_type": "", "session_id": "s1"},
    }
