"""What `doctor` looks at in Qwen Code: its version, its settings, and what keeps its dialogs from being answered.

Rule: says nothing where Qwen Code is neither installed nor connected.
"""

from __future__ import annotations

from yourcall.agents.kit import doctor
from yourcall.agents.kit.doctor import only_watched
from yourcall.agents.qwen.setup import KEY, blocked, own_channel
from yourcall.agents.setup_spec import Health, Machine, Version, note
from yourcall.model.sessions import TERMINALS

# The version that everything was measured with (docs/reference/agents/qwen.md).
MEASURED: Version = (0, 24, 4)


def connection(machine: Machine) -> list[Health]:
    """Installed, new enough, and telling us."""
    return doctor.connection(machine, "qwen", "Qwen Code", MEASURED, "Qwen Code calls yourcall")


def settings(machine: Machine) -> list[Health]:
    """What the person's settings switch off or send elsewhere."""
    if not machine.programs:
        return []
    findings: list[Health] = []
    for scope, path, text in doctor.settings_texts(machine, machine.scopes[:2]):
        if path not in machine.changed and scope == "project":
            findings += doctor.blocked_here(path, blocked(text))
        if machine.changed and own_channel(text):
            says = f"`{KEY}` names files of your own ({path}), so permissions are answered by keys in tmux only."
            findings.append(
                note("channel", says, "Take it out and run `yourcall setup qwen` to have them answered by id.")
            )
    return findings


def running(machine: Machine) -> list[Health]:
    """Sessions that run now and that can only be watched."""
    says = "does not run in tmux: its questions and plans are shown, not answered."
    return only_watched(machine, TERMINALS, says, "Start it inside tmux, or with: yourcall run -- qwen")


CHECKS = (connection, settings, running)
