"""The OpenAPI document, made from the table of routes and the wire types.

Rule: written nowhere by hand; a route or a field that exists is in it, and nothing else is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from yourcall import __version__
from yourcall.server.fleet.wire import GoneNews, HostNews
from yourcall.server.route import Route
from yourcall.server.signatures import HEADER
from yourcall.server.wire import EntriesNews, Hello, PauseNews, Problem, PromptNews, QueueNews, SessionNews

_FEED = (Hello, PromptNews, SessionNews, EntriesNews, PauseNews, QueueNews, HostNews, GoneNews)

_LIVE_ABOUT = (
    "A WebSocket. First a `Hello`, then, with `after`, the current version of every row that changed after that "
    "number, then every change as it happens, one JSON message each, with its `seq`. Closed with 4008 when the "
    "client cannot keep up (connect again with the last `seq` seen), with 4001 when the device was revoked. A "
    'client that says `{"watch": SESSION}` also hears, without a `seq`, what is added to that conversation. '
    "That rules are paused, or decide again, is told by `Hello` and then by a `PauseNews`, without a `seq`."
)


def document(routes: Sequence[Route], live: str) -> dict[str, Any]:
    kinds: list[Any] = [kind for route in routes for kind in route.says.values()]
    kinds += [route.takes for route in routes if route.takes is not None]
    kinds += [Problem, *_FEED]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema_of = {id(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}

    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
    feed = {"oneOf": [schema_of[id(kind)] for kind in _FEED]}
    paths[live] = {
        "get": {
            "operationId": "live",
            "summary": "The live feed.",
            "description": _LIVE_ABOUT,
            "parameters": [_query("after", "The last `seq` you have seen.", "integer")],
            "responses": {
                "101": {"description": "Switching Protocols", "content": _json(feed)},
                **_refusals((400,), schema_of),
            },
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "yourcall",
            "version": __version__,
            "description": "Each route asks for a device's token, on this machine too, unless it says otherwise. "
            "Routes marked as local are on the user's own Unix socket only.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}, {"signature": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "signature": {"type": "apiKey", "in": "header", "name": HEADER},
            },
        },
    }


LOCKED = 423  # any of them, while the emergency lock is on


def _operation(route: Route, schema_of: dict[int, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": route.run.__name__,
        "summary": route.about,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)}", route.path)
        ]
        + [_query(query.name, query.about, query.kind) for query in route.queries],
        "responses": {
            str(status): {"description": HTTPStatus(status).phrase, "content": _json(schema_of[id(kind)])}
            for status, kind in route.says.items()
        }
        | _refusals((*(() if route.key == "nobody" else (401, 403)), *route.refuses, LOCKED), schema_of),
    }
    if route.takes is not None:
        made["requestBody"] = {"required": True, "content": _json(schema_of[id(route.takes)])}
    if route.scope:
        made["x-scope"] = route.scope
    if route.key != "device":
        made["security"] = []
    if route.key == "local":
        made["tags"] = ["local"]
    return made


def _refusals(statuses: Sequence[int], schema_of: dict[int, Any]) -> dict[str, Any]:
    return {
        str(status): {"description": HTTPStatus(status).phrase, "content": _json(schema_of[id(Problem)])}
        for status in statuses
    }


def _query(name: str, about: str, kind: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": {"type": kind}}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
