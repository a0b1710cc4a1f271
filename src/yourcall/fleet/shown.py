"""The digest of a prompt as it was shown: what a device signs, and what the host compares with what it asks.

The prompt's view is cut to the fields a person decides by and written as canonical JSON (RFC 8785), so that a
browser and this program get the same bytes from the same view; `web/src/lib/shown.ts` is its twin.

Rule: whatever a person decides by is in it, and where the prompt comes from; how far an answer has come is not.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, cast

from yourcall.system.p256 import b64

FIELDS = (
    "id", "kind", "agent", "session_id", "cwd", "title", "body", "tool", "questions", "hold", "subagent",
    "permission_mode", "version", "action", "risk",
)  # fmt: skip


def shown_digest(view: Mapping[str, Any], host: str, name: str) -> str:
    """`view`: the prompt's view as decoded JSON. `host` and `name`: the machine it is shown to be of."""
    shown: dict[str, Any] = {field: view[field] for field in FIELDS if field in view}
    shown["host"] = {"id": host, "name": name}
    return b64(hashlib.sha256(b"yourcall shown 1\n" + canonical(shown).encode()).digest())


def canonical(value: object) -> str:
    """RFC 8785: keys in the order of their UTF-16 units, numbers as JavaScript writes them, no spaces."""
    match value:
        case None | True | False:
            return json.dumps(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case int() | float():
            return _number(float(value) if abs(value) < 1e308 or isinstance(value, float) else math.inf)
        case list() | tuple():
            return "[" + ",".join(canonical(each) for each in cast("list[object]", value)) + "]"
        case dict():
            pairs = sorted(
                cast("dict[str, object]", value).items(),
                key=lambda pair: pair[0].encode("utf-16-be", "surrogatepass"),
            )
            return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{canonical(v)}" for k, v in pairs) + "}"
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON")


def _number(value: float) -> str:
    """As `JSON.stringify` writes it."""
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    sign, value = ("-", -value) if value < 0 else ("", value)
    plain = repr(value)
    mantissa, _, power = plain.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    shift = int(power) if power else 0
    digits = (whole + fraction).lstrip("0")
    # The place of the point, counted from the first digit that is not 0.
    leading = len(whole + fraction) - len((whole + fraction).lstrip("0"))
    place = len(whole) - leading + shift
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= place <= 21:
        return sign + digits + "0" * (place - count)
    if 0 < place <= 21:
        return sign + digits[:place] + "." + digits[place:]
    if -6 < place <= 0:
        return sign + "0." + "0" * -place + digits
    mark = f"e{'+' if place > 0 else '-'}{abs(place - 1)}"
    return sign + digits[0] + (f".{digits[1:]}" if count > 1 else "") + mark
