"""The OpenAPI document: valid, complete, and true about what the routes reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from server_house import House

from yourcall.server.docs.openapi import document
from yourcall.server.routes import LIVE, ROUTES

TRANSCRIPT = Path(__file__).parent.parent / "data" / "claude" / "conversation-tools.jsonl"
DOCUMENT = document(ROUTES, LIVE)
OPERATIONS = [
    (path, method, operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from walk(each)
    elif isinstance(value, list):
        for each in value:
            yield from walk(each)


def resolve(ref: str) -> Any:
    value: Any = DOCUMENT
    for part in ref.removeprefix("#/").split("/"):
        value = value[part]
    return value


def test_every_route_is_in_it_and_nothing_else() -> None:
    described = {(method.upper(), path) for path, method, _ in OPERATIONS}
    assert described == {(route.method, route.path) for route in ROUTES} | {("GET", LIVE)}


def test_it_has_the_parts_that_openapi_3_1_requires() -> None:
    assert re.fullmatch(r"3\.1\.\d+", DOCUMENT["openapi"])
    assert {"title", "version"} <= set(DOCUMENT["info"])
    schemes = DOCUMENT["components"]["securitySchemes"]
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(names) == len(set(names))
    for path, _, operation in OPERATIONS:
        assert operation["responses"]
        for status, response in operation["responses"].items():
            assert re.fullmatch(r"[1-5]\d\d", status)
            assert response["description"]
        parameters = operation["parameters"]
        assert len({(each["in"], each["name"]) for each in parameters}) == len(parameters)
        in_path = {each["name"] for each in parameters if each["in"] == "path"}
        assert in_path == set(re.findall(r"{(\w+)}", path))
        assert all(each["required"] is True for each in parameters if each["in"] == "path")
        assert all("schema" in each for each in parameters)
    for part in [DOCUMENT, *(operation for _, _, operation in OPERATIONS)]:
        for requirement in part.get("security", []):
            assert set(requirement) <= set(schemes)


def test_every_reference_leads_somewhere() -> None:
    refs = [each["$ref"] for each in walk(DOCUMENT) if "$ref" in each]
    assert len(refs) > 20
    for ref in refs:
        assert resolve(ref)["type"] == "object"


def test_only_what_needs_no_key_says_so() -> None:
    free = {(method, path) for path, method, operation in OPERATIONS if operation.get("security") == []}
    assert free == {(route.method.lower(), route.path) for route in ROUTES if route.key != "device"}


COMMENTS = {"comments": [{"path": "prices.py", "line": 1, "text": "Why?"}]}
_ORDER = "/api/sessions/{id}/queue/orders/{order}"


def check(value: Any, schema: dict[str, Any]) -> None:
    """As much of JSON Schema as the document uses; a word it does not know is an error."""
    if "$ref" in schema:
        return check(value, resolve(schema["$ref"]))
    known = {"title", "description", "default", "type", "properties", "required", "items", "anyOf", "enum"}
    known |= {"additionalProperties", "discriminator", "minimum", "maximum", "minLength", "maxLength"}
    assert set(schema) <= known, schema
    if "discriminator" in schema:
        told = schema["discriminator"]
        return check(value, resolve(told["mapping"][value[told["propertyName"]]]))
    if "anyOf" in schema:
        for option in schema["anyOf"]:
            try:
                return check(value, option)
            except AssertionError:
                continue
        pytest.fail(f"{value!r} fits none of {schema['anyOf']}")
    if "enum" in schema:
        assert value in schema["enum"]
    kinds: dict[str, Any] = {
        "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
        "number": (int, float),
    }  # fmt: skip
    if "type" in schema:
        named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert isinstance(value, tuple(kinds[each] for each in named if each != "number")) or (
            "number" in named and isinstance(value, (int, float))
        ), (value, schema)
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema["required"]) <= set(value)
        assert set(value) <= set(schema["properties"]), "a field that is not described"
        for name, each in value.items():
            check(each, schema["properties"][name])
    elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for each in value.values():
            check(each, schema["additionalProperties"])
    if isinstance(value, list) and "items" in schema:
        for each in value:
            check(each, schema["items"])
    return None


def test_replies_are_what_the_document_says(house: House) -> None:
    transcript = house.folder / "s1.jsonl"
    transcript.write_text(TRANSCRIPT.read_text())
    house.session("s1", transcript=str(transcript))
    house.ask("p1")
    house.ask("p2", json.dumps({"tool_name": "Bash", "tool_input": {"command": "ls -la"}}).encode())
    house.ask("p3")
    code = house.devices.pairing.new().text
    calls: list[tuple[str, str, str, Any, int]] = [
        ("GET", "/api/prompts", "/api/prompts", None, 200),
        ("GET", "/api/prompts", "/api/prompts?all=1", None, 200),
        ("GET", "/api/prompts/{id}", "/api/prompts/p1", None, 200),
        ("GET", "/api/prompts/{id}", "/api/prompts/none", None, 404),
        ("POST", "/api/prompts/{id}/risk", "/api/prompts/p2/risk", {"input": {"command": "rm -r x"}}, 200),
        ("POST", "/api/prompts/{id}/risk", "/api/prompts/p2/risk", {"input": []}, 400),
        ("POST", "/api/prompts/{id}/risk", "/api/prompts/none/risk", {"input": {}}, 404),
        ("POST", "/api/prompts/{id}/answer", "/api/prompts/p1/answer", {"option": "allow"}, 202),
        ("POST", "/api/prompts/{id}/answer", "/api/prompts/p1/answer", {"option": "allow"}, 409),
        ("POST", "/api/prompts/{id}/answer", "/api/prompts/p2/answer", {"option": "hm"}, 422),
        ("POST", "/api/prompts/{id}/answer", "/api/prompts/p2/answer", {"option": 1}, 400),
        ("POST", "/api/prompts/{id}/dismiss", "/api/prompts/p3/dismiss", None, 200),
        ("POST", "/api/prompts/{id}/dismiss", "/api/prompts/p3/dismiss", None, 409),
        ("POST", "/api/prompts/{id}/dismiss", "/api/prompts/none/dismiss", None, 404),
        ("POST", "/api/asks", "/api/asks", {"question": "Go?", "options": ["yes"], "id": "askaskask"}, 201),
        ("POST", "/api/asks", "/api/asks", {"question": "Stop?", "options": ["yes"], "id": "askaskask"}, 409),
        ("POST", "/api/asks", "/api/asks", {"question": "Go?"}, 400),
        ("POST", "/api/asks/{id}/wait", "/api/asks/askaskask/wait", {"wait": 0}, 200),
        ("POST", "/api/asks/{id}/wait", "/api/asks/p1/wait", {"wait": 0}, 404),
        ("POST", "/api/asks/{id}/taken", "/api/asks/askaskask/taken", {"answer": "none"}, 409),
        ("GET", "/api/interactive-prompts", "/api/interactive-prompts", None, 200),
        (
            "POST",
            "/api/interactive-prompts/respond",
            "/api/interactive-prompts/respond",
            {"requestId": "p2", "selectedOption": "hm"},
            422,
        ),
        ("DELETE", "/api/asks/{id}", "/api/asks/askaskask", None, 200),
        ("DELETE", "/api/asks/{id}", "/api/asks/none", None, 404),
        ("GET", "/api/openrpc.json", "/api/openrpc.json", None, 200),
        ("GET", "/api/sessions", "/api/sessions", None, 200),
        ("GET", "/api/sessions/{id}/conversation", "/api/sessions/s1/conversation?limit=500", None, 200),
        ("GET", "/api/sessions/{id}/conversation", "/api/sessions/s1/conversation?after=0", None, 200),
        ("GET", "/api/sessions/{id}/conversation", "/api/sessions/s1/conversation?before=x", None, 400),
        ("GET", "/api/sessions/{id}/conversation", "/api/sessions/none/conversation", None, 404),
        ("GET", "/api/sessions/{id}/changes", "/api/sessions/s1/changes", None, 200),
        ("GET", "/api/sessions/{id}/changes", "/api/sessions/s1/changes?against=head", None, 409),
        ("GET", "/api/sessions/{id}/changes", "/api/sessions/s1/changes?against=x", None, 400),
        ("GET", "/api/sessions/{id}/changes/{file}", "/api/sessions/s1/changes/AA?against=record", None, 404),
        ("GET", "/api/search", "/api/search?words=ls", None, 200),
        ("GET", "/api/search", "/api/search", None, 400),
        ("GET", "/api/search/conversations", "/api/search/conversations?words=ls", None, 200),
        ("GET", "/api/search/conversations", "/api/search/conversations", None, 400),
        ("GET", "/api/stats", "/api/stats", None, 200),
        ("GET", "/api/stats", "/api/stats?days=x", None, 400),
        ("POST", "/api/sessions/{id}/send", "/api/sessions/none/send", {"text": "hello"}, 404),
        ("POST", "/api/sessions/{id}/send", "/api/sessions/s1/send", {"text": 1}, 400),
        ("POST", "/api/sessions/{id}/key", "/api/sessions/s1/key", {"key": ""}, 400),
        ("POST", "/api/sessions/{id}/interrupt", "/api/sessions/none/interrupt", None, 404),
        ("POST", "/api/sessions/{id}/queue", "/api/sessions/s1/queue", {"text": "next"}, 201),
        ("POST", "/api/sessions/{id}/queue", "/api/sessions/s1/queue", {"text": "x", "trigger": "limit"}, 422),
        ("POST", "/api/sessions/{id}/queue", "/api/sessions/none/queue", {"text": "next"}, 404),
        ("GET", "/api/queues", "/api/queues", None, 200),
        ("GET", "/api/sessions/{id}/queue", "/api/sessions/s1/queue", None, 200),
        ("POST", "/api/sessions/{id}/queue/hold", "/api/sessions/s1/queue/hold", {"held": True}, 200),
        ("POST", _ORDER, "/api/sessions/s1/queue/orders/none", {"place": 1}, 422),
        ("POST", _ORDER, "/api/sessions/s1/queue/orders/none", {}, 400),
        ("DELETE", _ORDER, "/api/sessions/s1/queue/orders/none", None, 422),
        ("GET", "/api/reviewers", "/api/reviewers", None, 404),
        ("GET", "/api/sessions/{id}/reviews", "/api/sessions/s1/reviews", None, 404),
        ("POST", "/api/sessions/{id}/reviews", "/api/sessions/s1/reviews", {"agent": "codex"}, 404),
        ("POST", "/api/sessions/{id}/reviews", "/api/sessions/s1/reviews", {}, 400),
        ("GET", "/api/reviews/{review}", "/api/reviews/none", None, 404),
        ("POST", "/api/reviews/{review}/send", "/api/reviews/none/send", {}, 404),
        ("POST", "/api/reviews/{review}/end", "/api/reviews/none/end", None, 404),
        ("POST", "/api/sessions/{id}/comments", "/api/sessions/s1/comments", {"comments": []}, 400),
        ("POST", "/api/sessions/{id}/comments", "/api/sessions/s1/comments", COMMENTS, 201),
        ("POST", "/api/sessions/{id}/git", "/api/sessions/s1/git", {"action": "push"}, 404),
        ("POST", "/api/sessions/{id}/git", "/api/sessions/s1/git", {"action": "dance"}, 400),
        ("GET", "/api/startable", "/api/startable", None, 404),
        ("POST", "/api/sessions", "/api/sessions", {"prompt": "hello", "cwd": "/"}, 404),
        ("POST", "/api/sessions", "/api/sessions", {"prompt": 7}, 400),
        ("POST", "/api/sessions/{id}/turn", "/api/sessions/none/turn", {"text": "hello"}, 404),
        ("POST", "/api/sessions/{id}/mode", "/api/sessions/s1/mode", {"permission_mode": ""}, 400),
        ("POST", "/api/sessions/{id}/model", "/api/sessions/s1/model", {"model": 1}, 400),
        ("POST", "/api/sessions/{id}/stop", "/api/sessions/none/stop", None, 404),
        ("GET", "/api/sessions/{id}/speaking", "/api/sessions/none/speaking", None, 404),
        ("GET", "/api/sessions", "/api/sessions?ended=1", None, 200),
        ("GET", "/api/sessions/{id}/pictures", "/api/sessions/s1/pictures?offset=0&file=x", None, 404),
        ("GET", "/api/sessions/{id}/pictures", "/api/sessions/s1/pictures", None, 400),
        ("GET", "/api/sessions/{id}/screen", "/api/sessions/s1/screen", None, 404),
        ("POST", "/api/uploads", "/api/uploads?name=a.png", None, 404),
        ("POST", "/api/panes", "/api/panes", {"server": "/none", "pane": "%0;x"}, 400),
        ("GET", "/api/log", "/api/log", None, 200),
        ("GET", "/api/log/report", "/api/log/report", None, 200),
        ("GET", "/api/log/settings", "/api/log/settings", None, 200),
        ("GET", "/api/log/head", "/api/log/head", None, 200),
        ("GET", "/api/prompts/{id}/rule", "/api/prompts/p2/rule", None, 200),
        ("GET", "/api/prompts/{id}/rule", "/api/prompts/p2/rule?do=dance", None, 400),
        ("GET", "/api/prompts/{id}/rule", "/api/prompts/none/rule", None, 404),
        ("GET", "/api/prompts/{id}/ruling", "/api/prompts/p2/ruling", None, 200),
        ("GET", "/api/rules", "/api/rules", None, 200),
        ("POST", "/api/rules", "/api/rules", {"prompt": "p2", "uses": 3}, 201),
        ("POST", "/api/rules", "/api/rules", {"text": "[x]\ndo = 'allow'\n"}, 422),
        ("POST", "/api/rules", "/api/rules", {"prompt": "p2", "until": 1e300}, 422),
        ("POST", "/api/rules", "/api/rules", {"text": "[x]\ndo = 'deny'\n", "prompt": "p2"}, 400),
        ("GET", "/api/rules", "/api/rules?cwd=/", None, 200),
        ("POST", "/api/rules/test", "/api/rules/test", {"command": "ls", "cwd": "/"}, 200),
        ("GET", "/api/rules/dry-run", "/api/rules/dry-run", None, 200),
        ("POST", "/api/rules/undo", "/api/rules/undo", None, 200),
        ("DELETE", "/api/rules/{name}", "/api/rules/none", None, 404),
        ("POST", "/api/pause", "/api/pause", None, 200),
        ("POST", "/api/resume", "/api/resume", None, 200),
        ("GET", "/api/status", "/api/status", None, 200),
        ("GET", "/api/openapi.json", "/api/openapi.json", None, 200),
        ("POST", "/api/devices", "/api/devices", {"name": "ci"}, 201),
        ("POST", "/api/pair", "/api/pair", {"code": code}, 201),
        ("POST", "/api/pair", "/api/pair", {"code": code}, 403),
        ("POST", "/api/pairing", "/api/pairing", None, 201),
        ("GET", "/api/devices", "/api/devices", None, 200),
        ("POST", "/api/devices/{id}", "/api/devices/DEVICE", {"name": "older"}, 200),
        ("POST", "/api/devices/{id}", "/api/devices/none", {"name": "older"}, 404),
        ("POST", "/api/devices/{id}/scopes", "/api/devices/DEVICE/scopes", {"scopes": ["read"]}, 200),
        ("POST", "/api/devices/{id}/scopes", "/api/devices/none/scopes", {"scopes": []}, 404),
        ("POST", "/api/ticket", "/api/ticket", None, 422),
        ("DELETE", "/api/devices/{id}", "/api/devices/DEVICE", None, 200),
        ("DELETE", "/api/devices/{id}", "/api/devices/none", None, 404),
        ("GET", "/api/push", "/api/push", None, 404),
        ("POST", "/api/push", "/api/push", {"endpoint": "https://x", "keys": {}}, 400),
        ("DELETE", "/api/push", "/api/push", None, 404),
        ("POST", "/api/push/test", "/api/push/test", None, 404),
        ("POST", "/api/front", "/api/front", None, 200),
        ("POST", "/api/tap", "/api/tap", {"token": 1}, 400),
        ("GET", "/api/channels", "/api/channels", None, 404),
        ("POST", "/api/channels/test", "/api/channels/test", {"wait": -1}, 400),
        ("POST", "/api/channels/reload", "/api/channels/reload", None, 404),
        ("POST", "/api/channels/unpair", "/api/channels/unpair", {"name": "x"}, 404),
        ("POST", "/api/rules/dry-run", "/api/rules/dry-run", {"organisation": "x"}, 422),
        ("GET", "/api/people", "/api/people", None, 200),
        ("POST", "/api/people", "/api/people", {"name": "anna", "grants": [{"roles": ["see"]}]}, 201),
        ("DELETE", "/api/people/{name}", "/api/people/anna", None, 200),
        ("POST", "/api/devices/{id}/person", "/api/devices/DEVICE/person", {"person": "nobody"}, 404),
        ("GET", "/api/passkeys", "/api/passkeys", None, 200),
        ("POST", "/api/passkeys/new", "/api/passkeys/new", {}, 422),
        ("POST", "/api/passkeys", "/api/passkeys", {"id": "x", "name": "x", "credential": {}}, 422),
        ("DELETE", "/api/passkeys/{id}", "/api/passkeys/none", None, 404),
        ("POST", "/api/passkeys/code", "/api/passkeys/code", None, 201),
        ("GET", "/api/step-up/{id}", "/api/step-up/none", None, 404),
        ("POST", "/api/step-up/{id}", "/api/step-up/none", {"credential": {}}, 404),
        ("GET", "/api/fleet", "/api/fleet", None, 200),
        ("POST", "/api/fleet", "/api/fleet", None, 422),
        ("DELETE", "/api/fleet", "/api/fleet", None, 200),
        ("GET", "/api/hosts", "/api/hosts", None, 200),
        ("POST", "/api/hosts/{id}", "/api/hosts/none", {"name": "x"}, 409),
        ("DELETE", "/api/hosts/{id}", "/api/hosts/none", None, 409),
        ("POST", "/api/fleet/invitations", "/api/fleet/invitations", {"roles": ["host"]}, 409),
        ("POST", "/api/fleet/invitations", "/api/fleet/invitations", {"roles": []}, 400),
        ("GET", "/api/fleet/devices", "/api/fleet/devices", None, 409),
        ("POST", "/api/fleet/devices", "/api/fleet/devices", {"device": "x"}, 409),
        ("DELETE", "/api/fleet/devices/{id}", "/api/fleet/devices/none", None, 409),
        ("GET", "/api/lock", "/api/lock", None, 404),
        ("POST", "/api/lock", "/api/lock", {}, 404),
        ("POST", "/api/unlock", "/api/unlock", None, 404),
        ("POST", "/api/may/{what}", "/api/may/pause", None, 200),
        ("POST", "/api/shutdown", "/api/shutdown", None, 202),
    ]
    tried = {(method, path) for method, path, *_ in calls}
    assert tried == {(route.method, route.path) for route in ROUTES}, "a route that no call checks"
    device = house.run(house.devices.add("old"))[0].id
    with house.local() as cli:
        for method, path, url, body, status in calls:
            got = cli.request(method, url.replace("DEVICE", device), json=body)
            assert got.status_code == status, (url, got.text)
            described = DOCUMENT["paths"][path][method.lower()]["responses"][str(status)]
            check(got.json(), described["content"]["application/json"]["schema"])
        assert cli.get("/api/openapi.json").json() == json.loads(msgspec.json.encode(DOCUMENT))
