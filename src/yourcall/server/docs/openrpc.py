"""The OpenRPC document, made from the table of methods and the wire types.

Rule: written nowhere by hand; a method, a field or an event that exists is in it, and nothing else is.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import msgspec

from yourcall import __version__
from yourcall.server.contracts.rpc.method import Method
from yourcall.server.contracts.rpc.methods import METHODS
from yourcall.server.contracts.rpc.wire import EVENTS


@cache
def openrpc() -> dict[str, Any]:
    kinds: list[Any] = [kind for method in METHODS for kind in (method.takes, method.says)]
    kinds += list(EVENTS)
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(kinds, schemas, strict=True))
    return {
        "openrpc": "1.3.2",
        "info": {
            "title": "yourcall",
            "version": __version__,
            "description": "JSON-RPC 2.0 over the WebSocket `/api/rpc`. Events come on the same connection, as "
            "`{type, timestamp, payload}`; `x-events` lists them.",
            "license": {"name": "Apache-2.0"},
        },
        "methods": [_method(method, schema_of, components) for method in METHODS],
        "components": {"schemas": components},
        "x-events": {name: schema_of[kind] for kind, name in EVENTS.items()},
    }


def _method(method: Method, schema_of: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    whole = components.get(method.takes.__name__, {})
    required = cast("list[str]", whole.get("required", []))
    properties = cast("dict[str, Any]", whole.get("properties", {}))
    return {
        "name": method.name,
        "summary": method.about,
        "x-scope": method.scope,
        "paramStructure": "either",
        "params": [
            {"name": name, "required": name in required, "schema": schema} for name, schema in properties.items()
        ],
        "result": {"name": method.says.__name__, "schema": schema_of[method.says]},
        "errors": [
            {"code": -32001, "message": "There is no such session or workspace."},
            {"code": -32002, "message": "Refused: nothing was done."},
            {"code": -32003, "message": "Too late: somebody was first, or it came back."},
            {"code": -32004, "message": "Unsure whether it was done."},
        ],
    }
