"""The `[channels.NAME]` sections of the configuration: which channels there are, and how each is set.

Rule: what is wrong is said with the section and the key; a secret that was written there by mistake is not
repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast, get_args

import msgspec
from msgspec import Struct

from yourcall.channels.channel import Channel, Rung, World
from yourcall.channels.registry import KINDS, kind

# It is part of a variable's name, and of what a history line says of an answer.
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")

# Names whose meaning is taken: the phone app's own notifications are `push`.
PUSH = "push"


class Configured(Struct, frozen=True):
    kind: str
    settings: Struct


class Wrong(Struct, frozen=True):
    """`key` is empty when the whole section is meant."""

    name: str
    key: str
    why: str


def read_channels(told: object) -> dict[str, Configured] | Wrong:
    """What `tomllib` read under `channels`."""
    if not isinstance(told, dict):
        return Wrong("", "", "channels are sections: [channels.NAME]")
    found: dict[str, Configured] = {}
    for name, section in cast("dict[str, object]", told).items():
        one = _read(name, section)
        if isinstance(one, Wrong):
            return one
        found[name] = one
    return found


def with_push(channels: Mapping[str, Configured]) -> dict[str, Configured]:
    """The phone app's push is there without being named; it tells those who subscribe, and nobody else."""
    return {PUSH: Configured(PUSH, kind(PUSH).Settings()), **channels}


def _read(name: str, section: object) -> Configured | Wrong:
    if not NAME.fullmatch(name):
        return Wrong(name, "", "a channel's name is small letters, digits and -, at most 31 of them")
    if not isinstance(section, dict):
        return Wrong(name, "", "channels are sections: [channels.NAME]")
    values = dict(cast("dict[str, object]", section))
    payload = values.pop("type", PUSH if name == PUSH else None)
    if not isinstance(payload, str) or payload not in KINDS:
        return Wrong(name, "type" if payload is not None else "", f"`type` must be one of: {', '.join(KINDS)}")
    if (payload == PUSH) != (name == PUSH):
        return Wrong(name, "type", f"the phone app's push is one channel, and called {PUSH!r}")
    module = kind(payload)
    for secret in module.SECRETS:
        if secret in values:
            return Wrong(name, secret, f"{secret!r} is a secret: put it into secrets.toml, under [{name}]")
    try:
        return Configured(payload, msgspec.convert(values, module.Settings))
    except msgspec.ValidationError as error:
        return _wrong(name, str(error), module.Settings)


def _wrong(name: str, error: str, settings: type[Struct]) -> Wrong:
    """msgspec says `Expected `int`, got `str` - at `$.port``, or names a field that is missing or unknown."""
    what, _, where = error.partition(" - at `$.")
    unknown = re.search(r"unknown field `(\w+)`", what)
    if unknown:
        there_are = ", ".join(("type", *settings.__struct_fields__))
        return Wrong(name, unknown[1], f"it knows no {unknown[1]!r}; there are: {there_are}")
    missing = re.search(r"required field `(\w+)`", what)
    if missing:
        return Wrong(name, "", f"{missing[1]!r} is missing")
    key = re.split(r"[.\[`]", where)[0]
    if "enum" in what:
        what += f"; it can be {', '.join(get_args(Rung))}"
    return Wrong(name, key, f"{key}: {what[:1].lower()}{what[1:]}")


def make_channel(name: str, configured: Configured, world: World) -> Channel:
    return kind(configured.kind).make(name, configured.settings, world)


def secrets_for(configured: Configured) -> Sequence[str]:
    return kind(configured.kind).SECRETS
