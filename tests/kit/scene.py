"""A whole scene: a real Claude in a terminal, a model with a script, and yourcall beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kit.claude import start_claude
from kit.poll import until

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from kit.claude import Claude, ClaudeHome
    from kit.model_server import ModelServer
    from kit.terminal import Ptys, Tmux
    from kit.turns import Block
    from kit.yourcall import Yourcall


@dataclass
class Scene:
    """A real Claude in a terminal, a model with a script, and yourcall beside them."""

    binary: Path
    model: ModelServer
    home: ClaudeHome
    yourcall: Yourcall
    where: Tmux | Ptys

    def ask(self, *turns: list[Block]) -> Claude:
        """Start Claude and let the model do these turns."""
        words = self.model.script("work", *turns)
        claude = start_claude(self.where, self.binary, self.home, self.model)
        claude.say(words)
        return claude

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()

    def states(self, prompt_id: str) -> list[str]:
        """The states it went through; a note that changes none (Claude reminds after 6 s) is not one."""
        states = [moment["state"] for moment in self.yourcall.show(prompt_id)["history"]]
        return [state for number, state in enumerate(states) if number == 0 or state != states[number - 1]]

    def next_prompt(self, *before: dict[str, Any]) -> dict[str, Any]:
        """The open prompt that is none of these."""
        known = {prompt["id"] for prompt in before}
        found = until(lambda: [p for p in self.yourcall.prompts() if p["id"] not in known], what="a new prompt")
        (prompt,) = found
        return prompt
