"""What of an ACP session can be changed, and how this agent wants to be told: its mode and its model.

Rule: only what the agent itself has offered is asked of it.
"""

from __future__ import annotations

import msgspec

from yourcall.agents.acp.wire import Begun, ConfigChoice, ConfigOption
from yourcall.agents.kit.wire import decoded
from yourcall.model.prompts import Refused

Change = tuple[str, dict[str, object]]


class Settings:
    """`mode`: the agent's own word for the one it is in."""

    def __init__(self) -> None:
        self.mode = ""
        self._values = {"mode": "", "model": ""}
        self._offered: dict[str, list[str]] = {"mode": [], "model": []}
        self._config: dict[str, str] = {}  # what -> the id of the setting, where it is one

    def told(self, begun: Begun) -> None:
        if begun.modes is not None:
            self._offered["mode"] = [mode.id for mode in begun.modes.availableModes]
            self.now("mode", begun.modes.currentModeId)
        if begun.models is not None:
            self._offered["model"] = [model.modelId for model in begun.models.availableModels]
            self.now("model", begun.models.currentModelId or "")
        for option in begun.configOptions or []:
            what = option.category or ""
            if what not in self._offered:
                continue
            # The plain request for it is the older one; where an agent has both, both work.
            if not self._offered[what] or what in self._config:
                self._config[what] = option.id
                self._offered[what] = _choices(option)
            self.now(what, decoded(str, option.currentValue) or "")

    def now(self, what: str, value: str) -> None:
        self._values[what] = value
        self.mode = self._values["mode"]

    def is_set(self, what: str, value: str) -> bool:
        return self._values[what] == value

    def change(self, session_id: str, what: str, value: str) -> Change | Refused:
        offered = self._offered[what]
        if value not in offered:
            has = f"it has: {', '.join(offered[:20])}" if offered else "it offers no choice of it"
            return Refused(f"This agent has no {what} {value[:80]!r}; {has}."[:500])
        if what in self._config:
            params: dict[str, object] = {"sessionId": session_id, "configId": self._config[what], "value": value}
            return "session/set_config_option", params
        name = "modeId" if what == "mode" else "modelId"
        return f"session/set_{what}", {"sessionId": session_id, name: value}


def _choices(option: ConfigOption) -> list[str]:
    """The values of a setting; some agents put them into groups."""
    flat = decoded(list[ConfigChoice], option.options) or []
    if any(choice.value for choice in flat):
        return [choice.value for choice in flat]
    groups = decoded(list[_Group], option.options) or []
    return [choice.value for group in groups for choice in group.options]


class _Group(msgspec.Struct, frozen=True):
    options: list[ConfigChoice] = []
