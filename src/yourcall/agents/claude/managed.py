"""The settings of a machine's administrator for Claude Code, which go before all others, as far as hooks go.

As measured with 2.1.325 (docs/reference/agents/claude-code.md, "Managed settings"): `managed-settings.json` comes
first, then each file of `managed-settings.d` in the order of their names; a later file changes what an earlier one
says. Rule: each finding names the very file that says it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from yourcall.agents.kit.setup import Finding
from yourcall.agents.setup_spec import Above, Machine
from yourcall.model.prompts import Refused

_ASK_THEM = "Ask the administrator to allow ours."
_WITHOUT_HOOKS = ("CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE")  # set, they start Claude Code without hooks
_NO = ("", "0", "false", "no", "off")


class Managed(Struct, frozen=True):
    """`said`: by key, the value that counts and the file it stands in. `broken`: files that nobody can read."""

    said: dict[str, tuple[object, str]]
    broken: tuple[str, ...] = ()

    def findings(self) -> list[Finding]:
        """What keeps our hooks from running."""
        found = [Finding("broken", why, "Claude Code does not start with it.") for why in self.broken]
        value, path = self.said.get("disableAllHooks", (False, ""))
        if value is True:
            found.append(
                Finding(
                    "disabled", f"`disableAllHooks` in {path} makes Claude Code call no hook at all.", _ASK_THEM
                )
            )
        value, path = self.said.get("allowManagedHooksOnly", (False, ""))
        if value is not False:  # also what is neither true nor false: that counts as true
            says = f"`allowManagedHooksOnly` in {path} makes Claude Code call only hooks of the administrator."
            found.append(Finding("managed_only", says, _ASK_THEM))
        value, path = self.said.get("strictPluginOnlyCustomization", (False, ""))
        if value is True or (isinstance(value, list) and "hooks" in value):
            says = f"`strictPluginOnlyCustomization` in {path} makes Claude Code call only hooks of plugins."
            found.append(Finding("managed_only", says, _ASK_THEM))
        for name in _WITHOUT_HOOKS:
            value, path = self.said.get(f"env.{name}", ("", ""))
            if str(value).lower() not in _NO:
                says = f"`{name}` in {path} makes Claude Code start without hooks."
                found.append(Finding("disabled", says, _ASK_THEM))
        return found

    def allows_hooks(self) -> bool:
        """It says that hooks are not to be switched off, whatever the person's own settings say."""
        return self.said.get("disableAllHooks", (None,))[0] is False

    def default_mode(self) -> tuple[str, str]:
        value, path = self.said.get("permissions.defaultMode", ("", ""))
        return (value, path) if isinstance(value, str) else ("", path)


def above(machine: Machine) -> Above:
    settings = managed(machine)
    return Above(tuple(settings.findings()), settings.allows_hooks())


def folder(platform: str) -> str:
    return "/Library/Application Support/ClaudeCode" if platform == "darwin" else "/etc/claude-code"


def managed(machine: Machine, root: str = "") -> Managed:
    """What the files below `root` say together; the folder of this system unless told."""
    said: dict[str, tuple[object, str]] = {}
    broken: list[str] = []
    for path in _files(machine, root or folder(machine.platform)):
        settings = _settings(machine, path)
        if isinstance(settings, Refused):
            broken.append(settings.reason)
            continue
        for key, value in _flat(settings):
            before = said.get(key, (None, path))[0]
            if isinstance(value, list) and isinstance(before, list):
                # Lists are joined: who said it first is named as long as it is in there.
                here = said[key][1] if "hooks" in before else path
                said[key] = (cast("list[object]", before) + cast("list[object]", value), here)
            elif value is not None:
                said[key] = (cast("object", value), path)
    return Managed(said, tuple(broken))


def _files(machine: Machine, root: str) -> list[str]:
    beside = f"{root}/managed-settings.d"
    names = [name for name in machine.names(beside) if name.endswith(".json") and not name.startswith(".")]
    return [f"{root}/managed-settings.json", *(f"{beside}/{name}" for name in names)]


def _settings(machine: Machine, path: str) -> dict[str, Any] | Refused:
    found = machine.read(path)
    if isinstance(found, Refused):
        return found
    text = (found or "").removeprefix("\ufeff").strip()
    try:
        settings: object = json.loads(text or "{}")
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        return Refused(f"{path} is not a JSON object.")
    return cast("dict[str, Any]", settings)


def _flat(settings: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each key with its value; those of a table with the table's name before them."""
    for key, value in settings.items():
        if key in ("env", "permissions") and isinstance(value, dict):
            for name, inner in cast("dict[str, Any]", value).items():
                yield f"{key}.{name}", inner
        else:
            yield key, value
