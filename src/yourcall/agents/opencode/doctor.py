"""What `doctor` looks at in opencode and Kilo: the version, our plugin, and what a first start needs.

Rule: says nothing where the program is neither installed nor connected.
"""

from __future__ import annotations

from yourcall.agents.kit.doctor import installed, newer, only_watched
from yourcall.agents.opencode.app import App
from yourcall.agents.opencode.requests import LINK
from yourcall.agents.opencode.setup import first_start
from yourcall.agents.setup_spec import Check, Health, Machine, note, well


def check(app: App) -> Check:
    def connection(machine: Machine) -> list[Health]:
        """Installed, new enough, and with our plugin."""
        return _connection(app, machine)

    return connection


def _connection(app: App, machine: Machine) -> list[Health]:
    if not machine.programs and not machine.changed:
        return []
    found = installed(machine, app.name, app.title) + newer(machine, app.name, app.title, app.measured)
    findings = [finding for state in machine.states() for finding in state.findings]
    found += [note("plugin", each.says, each.do) for each in findings]
    if findings or not machine.changed:
        return found
    folder = f"{machine.folder}/{app.folder}"
    if not machine.exists(f"{folder}/node_modules"):
        found.append(note("plugin", first_start(app), f"Run `{app.name}` once."))
    # A session that has not said anything yet is none.
    running = only_watched(machine, (LINK, "stdio"), "has no plugin of ours.", "Restart it.")
    return [*found, *running, well("plugin", f"{app.title} tells yourcall what it asks, through a plugin.")]
