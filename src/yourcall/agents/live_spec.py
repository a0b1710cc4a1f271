"""How an agent is proved in a sandbox: what `yourcall doctor --live` asks of its folder.

Rule: an agent's folder writes and starts nothing itself. It says which files a fresh home holds, how the program
is told of the scripted model, and which call of that model raises each kind of prompt; `live_check` does the rest.
A folder that has a `live_check.py` with a tuple `CHECKS` can be proved; nothing else names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from yourcall.agents.kit.setup import Version
from yourcall.agents.model_turns import Block

Api = Literal["messages", "responses", "chat", "generate"]
Turns = Sequence[Sequence[Block]]


class Place(Struct, frozen=True):
    """The sandbox: its folders, where its model listens, and the program that is proved. `server`: the command
    line of an MCP server that asks for a form."""

    home: str
    project: str
    temporary: str
    model: str
    program: str
    version: Version | None
    server: tuple[str, ...]


class LiveCheck(Struct, frozen=True):
    """One agent's part of a check. What it does not have, it need not name; a kind without its turns isn't tried.

    `files`: of a fresh home in which it starts without any dialog, by their paths below it; `untrusted`: the
    same, with a project that it must ask about. `environment`: all that it may know besides the usual. `ready`: a
    pattern of a screen that takes an instruction. `first`: what it asks of a person at each start: words, and the
    keys. `command`, `question`, `plan`, `form`: the model's calls; a command has to be one that it asks for.
    `planning`: the arguments, and `planning_keys` the keys, with which it only plans.
    `config`: more of yourcall's own settings, which are otherwise to look for nothing.
    `tools`: its requests offer tools, and those that offer none are for a title and the like.
    `refuse`: the keys with which a person at the desk closes a dialog without a yes.
    """

    agent: str
    model: Api
    files: Callable[[Place], Mapping[str, str]]
    environment: Callable[[Place], Mapping[str, str]]
    ready: str
    command: Callable[[str], Block]
    question: Callable[[str, Sequence[str]], Block] | None = None
    plan: Callable[[str], Turns] | None = None
    form: Turns = ()
    untrusted: Callable[[Place], Mapping[str, str]] | None = None
    arguments: tuple[str, ...] = ()
    planning: tuple[str, ...] = ()
    planning_keys: tuple[str, ...] = ()
    first: tuple[tuple[str, tuple[str, ...]], ...] = ()
    refuse: tuple[str, ...] = ("Escape",)
    config: Callable[[Place], str] = lambda _place: ""
    tools: bool = True
