"""Where channels keep passwords and tokens: `secrets.toml` in the home, for its owner alone, or the environment.

    [phone]
    token = "tk_…"

or `YOURCALL_PHONE_TOKEN`, which goes before the file.

Rule: a file that others may read is not used, and says so; what is in it is never shown, logged or sent back.
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from yourcall.model.prompts import Refused
from yourcall.system import private_files

FILE = "secrets.toml"

Secrets = dict[str, dict[str, str]]


def read_secrets(home: Path) -> Secrets | Refused:
    path = home / FILE
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        return Refused(f"{path} cannot be read: {error}")
    if stat.S_IMODE(mode) & 0o077:
        return Refused(f"{path} can be read by others. Close it with: chmod 600 {path}")
    try:
        return msgspec.convert(tomllib.loads(text), Secrets)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        # Only where, never what: the line itself may be a password.
        where = re.search(r"line \d+", str(error)) or re.search(r"`\$\.?[\w.\[\]]*`", str(error))
        return Refused(f'{path} cannot be understood{f" at {where[0]}" if where else ""}; each is: name = "value"')


def secrets_of(channel: str, names: Sequence[str], kept: Secrets, env: Mapping[str, str]) -> dict[str, str]:
    found = {name: kept.get(channel, {}).get(name, "") for name in names}
    for name in names:
        found[name] = env.get(variable(channel, name), "") or found[name]
    return {name: value for name, value in found.items() if value}


def variable(channel: str, name: str) -> str:
    return f"YOURCALL_{channel}_{name}".upper().replace("-", "_")


def write_secret(home: Path, channel: str, name: str, value: str | None) -> Refused | None:
    """Put one secret into the file, or take a whole channel's out (`value` None); 0600 from the first moment."""
    if value is not None and not value.isprintable():
        return Refused(f"The {name} holds something that is no letter, perhaps a Backspace; give it again.")
    kept = read_secrets(home)
    if isinstance(kept, Refused):
        return kept
    if value is None:
        kept.pop(channel, None)
    else:
        kept.setdefault(channel, {})[name] = value
    lines = ["# The channels' secrets. Nobody but you may read this file.\n"]
    for each, values in kept.items():
        lines.append(f"\n[{each}]\n")
        lines += [f"{key} = {msgspec.json.encode(said).decode()}\n" for key, said in values.items()]
    private_files.write(home / FILE, "".join(lines).encode())
    return None
