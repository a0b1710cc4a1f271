"""opencode and Kilo Code: two programs of one make, and in what they differ, as data.

Rule: Kilo is a fork with the same plugins, events and dialogs; whatever differs stands in its row.
"""

from __future__ import annotations

from msgspec import Struct

from yourcall.agents.setup_spec import Version
from yourcall.model.prompts import Effect


class App(Struct, frozen=True):
    """One of them. `logo`: an SVG path, our own drawing. `folder`: its settings, below the folder of all settings.
    `config`: the file that says what is asked for. `always`, `lasts`: what "Allow always" grants, and in words.
    `measured`: the version that all was measured with; `oldest`: the first whose plugins can answer for certain.
    `defaults`: what it asks for unless it is told otherwise. `planning`: its agent that only plans.
    `new_turn_rejects`: an instruction rejects the questions that are open."""

    name: str
    title: str
    logo: str
    folder: str
    config: str
    always: Effect
    lasts: str
    measured: Version
    oldest: Version
    defaults: str
    usual: str
    planning: str = "plan"
    new_turn_rejects: bool = False


OPENCODE = App(
    name="opencode",
    title="opencode",
    logo="M5 3.5h14v17H5zM9.5 8h5v8h-5z",
    folder="opencode",
    config="opencode.json",
    always="allow_session",
    lasts="until opencode ends, in every session of this folder",
    measured=(1, 18, 33),
    oldest=(1, 15, 13),
    defaults="opencode asks for almost nothing by default: for files outside the project and for .env files.",
    usual="build",
)
KILO = App(
    name="kilo",
    title="Kilo Code",
    logo="M6.5 4v16M17 4l-7.5 8 7.5 8",
    folder="kilo",
    config="kilo.json",
    always="allow_always",
    lasts="from now on, in all your projects: Kilo writes it into its kilo.json",
    measured=(7, 7, 9),
    oldest=(7, 7, 0),
    defaults="Kilo asks for commands that are not on its list of harmless ones, and makes changes unasked.",
    usual="code",
    new_turn_rejects=True,
)
APPS = (OPENCODE, KILO)
