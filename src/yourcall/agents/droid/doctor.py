"""What `doctor` looks at in droid: its version, its settings, and what keeps its dialogs from being answered."""

from __future__ import annotations

from yourcall.agents.kit import doctor
from yourcall.agents.kit.doctor import only_watched
from yourcall.agents.setup_spec import Health, Machine, Version
from yourcall.model.sessions import TERMINALS

# The version that everything was measured with (docs/reference/agents/droid.md).
MEASURED: Version = (0, 225, 2)


def connection(machine: Machine) -> list[Health]:
    """Installed, new enough, and calling us."""
    return doctor.connection(machine, "droid", "droid", MEASURED, "droid calls yourcall")


def running(machine: Machine) -> list[Health]:
    """Sessions that run now and that can only be watched."""
    says = "does not run in tmux: its prompts are answered at the desk."
    return only_watched(machine, TERMINALS, says, "Start it inside tmux, or with: yourcall run -- droid")


CHECKS = (connection, running)
