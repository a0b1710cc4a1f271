"""Which agents can be proved: those whose folder has a `live_check.py`.

Rule: nothing of a folder is imported before somebody asks for it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from yourcall import agents
from yourcall.agents.live_spec import LiveCheck


def checks() -> dict[str, LiveCheck]:
    live_checks: list[LiveCheck] = []
    for folder in iter_modules(agents.__path__):
        if any((Path(place) / folder.name / "live_check.py").is_file() for place in agents.__path__):
            live_checks += import_module(f"{agents.__name__}.{folder.name}.live_check").CHECKS
    return {check.agent: check for check in live_checks}
