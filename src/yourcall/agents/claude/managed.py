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

from yourcall.agents.kit import hook_settings
from yourcall.agents.setup_spec import Above, Finding, ForEverybody, Machine, OwnFile
from yourcall.model.prompts import Refused

_ASK_THEM = "Ask the administrator to allow ours."
_CONNECT_ALL = "An administrator can connect everybody here: sudo yourcall setup claude --scope managed."
_PLUGIN = "yourcall is a plugin, too: install that, if the administrator allows its marketplace."

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
            found.append(Finding("managed_only", says, _CONNECT_ALL))
        value, path = self.said.get("strictPluginOnlyCustomization", (False, ""))
        if value is True or (isinstance(value, list) and "hooks" in value):
            says = f"`strictPluginOnlyCustomization` in {path} makes Claude Code call only hooks of plugins."
            found.append(Finding("managed_only", says, _PLUGIN))
        for name in _WITHOUT_HOOKS:
            value, path = self.said.get(f"env.{name}", ("", ""))
            if str(value).lower() not in _NO:
                says = f"`{name}` in {path} makes Claude Code start without hooks."
                found.append(Finding("disabled", says, _ASK_THEM))
        return found

    def connected(self) -> str:
        """The file whose hooks hand everybody's prompts to yourcall; empty if there is none."""
        hooks, path = self.said.get("hooks.PermissionRequest", (None, ""))
        return path if any(hook_settings.is_ours(command) for command in _commands(hooks)) else ""

    def allows_hooks(self) -> bool:
        """It says that hooks are not to be switched off, whatever the person's own settings say."""
        return self.said.get("disableAllHooks", (None,))[0] is False

    def default_mode(self) -> tuple[str, str]:
        value, path = self.said.get("permissions.defaultMode", ("", ""))
        return (value, path) if isinstance(value, str) else ("", path)


def above(machine: Machine) -> Above:
    settings = managed(machine)
    connected = settings.connected()
    # With hooks of the administrator's that call us, it does not matter that others are not called.
    findings = [each for each in settings.findings() if not (connected and each.code == "managed_only")]
    return Above(tuple(findings), settings.allows_hooks(), connected)


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
    value = machine.read(path)
    if isinstance(value, Refused):
        return value
    text = (value or "").removeprefix("\ufeff").strip()
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
        if key in ("env", "permissions", "hooks") and isinstance(value, dict):
            for name, inner in cast("dict[str, Any]", value).items():
                yield f"{key}.{name}", inner
        else:
            yield key, value


def _commands(groups: object) -> Iterator[str]:
    """The commands of an event's hooks."""
    for group in cast("list[Any]", groups) if isinstance(groups, list) else ():
        inner: Any = cast("dict[str, Any]", group).get("hooks") if isinstance(group, dict) else None
        for hook in cast("list[Any]", inner) if isinstance(inner, list) else ():
            command: Any = cast("dict[str, Any]", hook).get("command") if isinstance(hook, dict) else None
            if isinstance(command, str):
                yield command


# The home that the system knows, not $HOME: a project's settings may set that for hooks.
_PROGRAM = """\
#!/bin/sh
# Calls the yourcall of whoever runs Claude Code. Written by `yourcall setup claude --scope managed`.
user=$(PATH=/usr/bin:/bin id -un) || exit 0
case $user in '' | *[!A-Za-z0-9._-]*) exit 0 ;; esac
eval "home=~$user"
[ -x "$home/.yourcall/hook" ] || exit 0
YOURCALL_CALLED_BY=managed
export YOURCALL_CALLED_BY
exec "$home/.yourcall/hook" "$@"
"""

FOR_EVERYBODY = ForEverybody(
    folder, "managed-settings.d/50-yourcall.json", OwnFile("yourcall-hook", lambda _: _PROGRAM)
)
