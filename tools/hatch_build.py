"""Hatch's build hook: no wheel and no sdist without the phone app.

An editable install takes the app from the working tree, where `make web` builds it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
import build_app


class PhoneApp(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        if build_app.is_current() or build_app.system_node() is not None:
            return []
        return [build_app.NODE_FROM_PYPI]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_app.build()
