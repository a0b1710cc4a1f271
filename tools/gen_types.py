#!/usr/bin/env python3
"""Write the TypeScript types of the phone app from the OpenAPI document: `web/src/lib/types.ts`.

    python tools/gen_types.py            # write it
    python tools/gen_types.py --check    # fail if it is not up to date

Rule: nothing about the wire is written by hand in the app. What we send is whole (every field is there); only in
what a client sends may a field be left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from yourcall.server.docs.openapi import document
from yourcall.server.routes import LIVE, ROUTES

TARGET = Path(__file__).resolve().parent.parent / "web" / "src" / "lib" / "types.ts"
REF = "#/components/schemas/"
HEAD = "// Made by tools/gen_types.py from the server's own types; not to be edited.\n"
FEED = "LiveNews"


def types() -> str:
    """The whole file."""
    spec = document(ROUTES, LIVE)
    schemas: dict[str, Any] = spec["components"]["schemas"]
    sent_by_clients = {name for path in spec["paths"].values() for one in path.values() for name in _taken(one)}
    parts = [_declared(name, schema, name in sent_by_clients) for name, schema in sorted(schemas.items())]
    feed = spec["paths"][LIVE]["get"]["responses"]["101"]["content"]["application/json"]["schema"]
    return "\n".join([HEAD, *parts, f"export type {FEED} = {_type(feed)};\n"])


def _taken(operation: dict[str, Any]) -> list[str]:
    """The types in a request's body."""
    text = json.dumps(operation.get("requestBody", {}))
    return [part.split('"')[0] for part in text.split(REF)[1:]]


def _declared(name: str, schema: dict[str, Any], optional: bool) -> str:
    about = schema.get("description", "")
    lines = [f"/** {' '.join(about.split())} */"] if about else []
    if schema.get("type") != "object":
        return "\n".join([*lines, f"export type {_named(name)} = {_type(schema)};\n"])
    lines.append(f"export interface {_named(name)} {{")
    required = schema.get("required", [])
    for field, inner in schema.get("properties", {}).items():
        mark = "?" if optional and field not in required else ""
        lines.append(f"  {field}{mark}: {_type(inner)};")
    return "\n".join([*lines, "}\n"])


def _named(name: str) -> str:
    """Two types of the same name are told apart by their modules, which no language but Python can spell."""
    *_, module, last = ("", *name.split("."))
    return f"{module.title()}{last}"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _named(schema["$ref"].removeprefix(REF))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(word) for word in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            words = [word for each in schema[several] for word in _type(each).split(" | ")]
            return " | ".join(dict.fromkeys(words))
    match schema.get("type"):
        case list() as kinds:
            return " | ".join(_type({**schema, "type": kind}) for kind in kinds)
        case "string":
            return "string"
        case "integer" | "number":
            return "number"
        case "boolean":
            return "boolean"
        case "null":
            return "null"
        case "array":
            inner = _type(schema.get("items", {}))
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case "object":
            more = schema.get("additionalProperties", {})
            return f"Record<string, {_type(more) if isinstance(more, dict) else 'unknown'}>"
        case _:
            return "unknown"


def main(arguments: list[str]) -> int:
    made = types()
    if arguments == ["--check"]:
        if TARGET.exists() and TARGET.read_text() == made:
            return 0
        print(f"{TARGET.name} is not up to date; make it with: python tools/gen_types.py", file=sys.stderr)
        return 1
    TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
