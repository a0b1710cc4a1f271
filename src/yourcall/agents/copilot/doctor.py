"""What `doctor` looks at in Copilot CLI: its version, its extension, and the consent that you give it.

Rule: says nothing where Copilot CLI is neither installed nor connected; the person's consent is looked at, never
written.
"""

from __future__ import annotations

from yourcall.agents.kit import doctor
from yourcall.agents.kit.doctor import only_watched
from yourcall.agents.setup_spec import Health, Machine, Version, note, well
from yourcall.model.prompts import Refused
from yourcall.model.sessions import TERMINALS

# The version that everything was measured with (docs/reference/agents/copilot.md).
MEASURED: Version = (1, 0, 102)
CONSENTS = "permissions-config.json"
EXTENSION = '"user:yourcall"'


def connection(machine: Machine) -> list[Health]:
    """Installed, new enough, and running our extension."""
    return doctor.connection(
        machine, "copilot", "Copilot CLI", MEASURED, "Copilot CLI runs our extension", "extension"
    )


def consent(machine: Machine) -> list[Health]:
    """Until the person has said yes, permissions are shown and answered at the desk."""
    if not machine.changed:
        return []
    text = machine.read(f"{machine.folder}/{CONSENTS}")
    if isinstance(text, str) and not isinstance(text, Refused) and EXTENSION in text:
        return [well("consent", "You have let yourcall handle Copilot's permission requests in some folder.")]
    says = "Copilot CLI asks once in each repository whether yourcall may handle permission requests."
    return [note("consent", says, "Answer that at the desk; until then permissions are shown, not answered.")]


def running(machine: Machine) -> list[Health]:
    """Sessions that run now and that can only be watched."""
    says = "has no extension of ours and does not run in tmux: it is only listed."
    return only_watched(machine, {*TERMINALS, "plugin"}, says, "Start it again after `yourcall setup copilot`.")


CHECKS = (connection, consent, running)
