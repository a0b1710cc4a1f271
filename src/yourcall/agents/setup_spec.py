"""How an agent is connected and examined: what `setup` and `doctor` ask of its folder.

Rule: an agent's folder reads nothing itself. Settings are texts, in and out; everything else that a check looks at
is shown to it by `Machine`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from yourcall.model.prompts import Refused

Version = tuple[int, int, int]


class Edited(Struct, frozen=True):
    """The settings as they should be; None: nothing would be left of the file. `notes` are for people."""

    text: str | None
    changed: bool
    notes: tuple[str, ...] = ()


FindingCode = Literal[
    "broken", "too_old", "missing", "partial", "moved", "outdated", "unaccepted", "disabled", "managed_only"
]


class Finding(Struct, frozen=True):
    """Something about the settings that keeps prompts from reaching us; `do` says what helps."""

    code: FindingCode
    says: str
    do: str


def parse_version(text: str) -> Version | None:
    """The version in what `--version` says: `2.1.325 (Claude Code)`, `codex-cli 0.166.0`, `0.61.0`; a name of up
    to three words may stand in front."""
    match = re.match(r"\s*(?:[A-Za-z-]{1,20} ){0,3}v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?!\d)", text, re.ASCII)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def show_version(version: Version) -> str:
    return ".".join(map(str, version))


Scope = Literal["user", "project", "local", "managed"]

CONNECTED = "Done. Sessions you start from now on are connected; restart those that are running.\n"


class Installed(Struct, frozen=True):
    """A program of the agent's on this machine; None: it did not tell its version."""

    path: str
    version: Version | None


class Health(Struct, frozen=True):
    """What `doctor` says about one thing it looked at. `well`: as it should be. `note`: worth knowing. `wrong`:
    prompts or answers will be missed; `do` helps."""

    check: str
    level: Literal["well", "note", "wrong"]
    says: str
    do: str = ""


def well(check: str, says: str) -> Health:
    return Health(check, "well", says)


def note(check: str, says: str, do: str = "") -> Health:
    return Health(check, "note", says, do)


def wrong(check: str, says: str, do: str) -> Health:
    return Health(check, "wrong", says, do)


class State(Struct, frozen=True):
    """How one settings file stands with us. No finding: prompts of sessions that read it will reach us."""

    agent: str
    scope: Scope
    path: str
    findings: tuple[Finding, ...]


class RunningSession(Struct, frozen=True):
    """A session that runs in a terminal now. `links`: the kinds of links to it."""

    id: str
    cwd: str
    permission_mode: str
    pid: int
    links: tuple[str, ...]


class Machine(Protocol):
    """This machine, as a check of one agent may see it. Paths are absolute."""

    @property
    def platform(self) -> str: ...

    @property
    def folder(self) -> str:
        """The agent's own folder."""
        ...

    @property
    def programs(self) -> Sequence[Installed]: ...

    @property
    def versions(self) -> Sequence[Version]:
        """Of all programs; none if one of them is unknown, since that one may be the oldest."""
        ...

    @property
    def changed(self) -> frozenset[str]:
        """The settings files of this agent that setup has changed."""
        ...

    @property
    def scopes(self) -> Sequence[Scope]:
        """Whose settings hold in the folder we are in."""
        ...

    @property
    def sessions(self) -> Sequence[RunningSession]: ...

    def states(self) -> Sequence[State]:
        """The user's own settings and every other file that setup changed."""
        ...

    def settings(self, scope: Scope) -> str:
        """The path of the settings of this scope, for the project in this folder."""
        ...

    def read(self, path: str) -> str | Refused | None:
        """None: there is no such file."""
        ...

    def exists(self, path: str) -> bool: ...

    def resolved(self, path: str) -> str:
        """Where its links lead."""
        ...

    def names(self, folder: str) -> Sequence[str]:
        """The files in it, sorted; none if it cannot be read."""
        ...


Check = Callable[[Machine], list[Health]]


class Above(Struct, frozen=True):
    """What the settings of the machine's administrator say. `enforced`: hooks cannot be switched off by others.
    `connected`: the file of theirs that connects everybody on this machine."""

    findings: tuple[Finding, ...] = ()
    enforced: bool = False
    connected: str = ""


class OwnFile(Struct, frozen=True):
    """A file that is wholly ours, such as an extension: `path` below the agent's folder. `text`: for the folder of
    yourcall's home."""

    path: str
    text: Callable[[str], str]


class ForEverybody(Struct, frozen=True):
    """How an administrator connects everybody on a machine: the folder by platform; in it, a settings file of our
    own, and the program that its hooks call."""

    folder: Callable[[str], str]
    file: str
    program: OwnFile


class Setup(Struct, frozen=True):
    """Where the settings are that we change, and how.

    `variable` names the agent's folder (with `inside`, the folder around it); `folder`: where it is otherwise,
    below the person's home. `projects`: by scope, the same settings in a project. `add` gets the settings, the
    launcher, the versions, and the tools of `--ask` (None: as they are). `ruled`: the tools that `--rules` names;
    without them the agent has neither option. `done` is said when it is connected. `also`: where an installer of
    its own may put the program, in its folder. `files`: what setup writes besides. `managed`: for `--scope
    managed`.
    """

    variable: str
    folder: str
    file: str
    add: Callable[[str | None, str, list[Version], tuple[str, ...] | None], Edited | Refused]
    remove: Callable[[str | None], Edited | Refused]
    check: Callable[[str | None, str, list[Version]], list[Finding]]
    done: str = CONNECTED.strip()
    inside: bool = False
    projects: dict[Scope, str] = {}
    ruled: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    above: Callable[[Machine], Above] | None = None
    files: tuple[OwnFile, ...] = ()
    managed: ForEverybody | None = None
