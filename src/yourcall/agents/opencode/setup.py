"""The plugin file that connects opencode or Kilo: its whole text, and how it is taken out again.

Rule: one file, wholly ours. The program's own settings are never written: Kilo takes a kilo.json that it has not
seen before for an old one, and allows all commands in it.
"""

from __future__ import annotations

import json
import pkgutil
from functools import partial

from yourcall.agents.kit.setup import too_old
from yourcall.agents.opencode.app import App
from yourcall.agents.setup_spec import CONNECTED, Edited, Finding, Setup, Version
from yourcall.model.prompts import Refused

PLUGIN = "plugin/yourcall.js"
MARK = "// yourcall's plugin for "
SOCKET = "plugin.sock"
LONGEST_SOCKET = 100  # the kernel takes 107 bytes, macOS 103

_SOURCE = (pkgutil.get_data(__package__ or __name__, "plugin.js") or b"").decode()


def _words(text: str) -> str:
    """As it stands between the quotes of a JavaScript string."""
    return json.dumps(text)[1:-1]


def source(app: App, launcher: str) -> str:
    """The plugin for the yourcall whose home this launcher lies in."""
    socket = f"{launcher.rpartition('/')[0]}/{SOCKET}"
    named = _SOURCE.replace("$AGENT", app.name).replace("$TITLE", app.title)
    return named.replace("$SOCKET", _words(socket))


def add(
    app: App, text: str | None, launcher: str, versions: list[Version], _ask: tuple[str, ...] | None
) -> Edited | Refused:
    old = _too_old(app, versions)
    if old is not None:
        return Refused(f"{old.says} {old.do}")
    if text is not None and text.strip() and not text.startswith(MARK):
        return Refused("There is a file of another make in this place. Move it away first; nothing was changed.")
    if len(f"{launcher.rpartition('/')[0]}/{SOCKET}".encode("utf-8", "replace")) > LONGEST_SOCKET:
        return Refused("The path of yourcall's home is too long for a socket: choose a shorter one with --home.")
    wanted = source(app, launcher)
    return Edited(wanted, text != wanted, (asks(app), first_start(app)))


def asks(app: App) -> str:
    rules = '"permission": {"bash": "ask", "edit": "ask"}'
    return f"{app.defaults} To be asked for commands and changes, put this into {app.config}: {rules}."


def first_start(app: App) -> str:
    return (
        f"With a plugin, {app.title} fetches a package of its own at its first start, and shows nothing"
        " until it is there: start it once while the network is there."
    )


def remove(text: str | None) -> Edited | Refused:
    ours = text is not None and text.startswith(MARK)
    return Edited(None if ours else text, ours)


def check(app: App, text: str | None, launcher: str, versions: list[Version]) -> list[Finding]:
    """What is wrong with the plugin; empty when the next session will load it."""
    again = f"Run `yourcall setup {app.name}`."
    old = _too_old(app, versions)
    if old is not None:
        return [old]
    if text is None or not text.strip():
        return [Finding("missing", f"{app.title} isn't connected yet.", again)]
    if not text.startswith(MARK):
        return [Finding("broken", "The plugin's place is taken by a file that is not ours.", again)]
    if text != source(app, launcher):
        return [Finding("outdated", "The plugin is of another yourcall, or of another version of it.", again)]
    return []


def _too_old(app: App, versions: list[Version]) -> Finding | None:
    says = "does not take a plugin's answers for certain; {} is the first that was seen to."
    return too_old(app.title, versions, app.oldest, says, "Update it, or name the one you use with --cli.")


def setup(app: App) -> Setup:
    return Setup(
        variable="XDG_CONFIG_HOME",
        folder=".config",
        file=f"{app.folder}/{PLUGIN}",
        add=partial(add, app),
        remove=remove,
        check=partial(check, app),
        done=CONNECTED.strip(),
    )
