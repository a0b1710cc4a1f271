"""What `doctor` looks at in Qwen Code: its version, its settings, and what keeps its dialogs from being answered.

Rule: says nothing where Qwen Code is neither installed nor connected.
"""

from __future__ import annotations

from yourcall.agents.kit.checkup import installed, newer, only_watched
from yourcall.agents.kit.setup import Version
from yourcall.agents.qwen.setup import KEY, blocked, own_channel
from yourcall.agents.setup_spec import Health, Machine, note, well, wrong
from yourcall.model.prompts import Refused
from yourcall.model.sessions import TERMINALS

# The version that everything was measured with (docs/reference/agents/qwen.md).
MEASURED: Version = (0, 24, 4)


def connection(machine: Machine) -> list[Health]:
    """Installed, new enough, and telling us."""
    if not machine.programs and not machine.changed:
        return []
    found = installed(machine, "qwen", "Qwen Code") + newer(machine, "qwen", "Qwen Code", MEASURED)
    level = wrong if machine.changed else note
    for state in machine.states():
        if not state.findings:
            found.append(well("hooks", f"Qwen Code calls yourcall ({state.path})."))
        found += [level("hooks", f"{each.says} ({state.path})", each.do) for each in state.findings]
    return found


def settings(machine: Machine) -> list[Health]:
    """What the person's settings switch off or send elsewhere."""
    if not machine.programs:
        return []
    found: list[Health] = []
    for scope in machine.scopes[:2]:
        path = machine.settings(scope)
        text = machine.read(path)
        if isinstance(text, Refused) or text is None:
            continue
        if path not in machine.changed and scope == "project":
            found += [wrong("hooks", f"{each.says} ({path})", each.do) for each in blocked(text)]
        if machine.changed and own_channel(text):
            says = f"`{KEY}` names files of your own ({path}), so permissions are answered by keys in tmux only."
            found.append(
                note("channel", says, "Take it out and run `yourcall setup qwen` to have them answered by id.")
            )
    return found


def running(machine: Machine) -> list[Health]:
    """Sessions that run now and that can only be watched."""
    says = "does not run in tmux: its questions and plans are shown, not answered."
    return only_watched(machine, TERMINALS, says, "Start it inside tmux, or with: yourcall run -- qwen")


CHECKS = (connection, settings, running)
