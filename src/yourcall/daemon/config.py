"""The one configuration file, `config.toml` in yourcall's home; everything in it has a default.

Rule: a file that cannot be understood is a sentence that names the line and stops the start; nothing is guessed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from yourcall.channels.config import PUSH, Configured, Wrong, read_channels
from yourcall.core.notify_policy import Notify
from yourcall.daemon.record_export import Export, wrong_with
from yourcall.links.stdio.sessions import Policy
from yourcall.model.people import AnswerPolicy, Quorum, StepUp
from yourcall.model.prompts import Kind, Refused
from yourcall.system.peer import Supervisor

Mode = Literal["off", "tmux", "all"]
Headless = Literal["off", "hold"]


class Discovery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which sessions are looked for that no hook told of; `root_pid` limits it to one process and its children."""

    mode: Mode = "tmux"
    root_pid: Annotated[int, Meta(ge=0)] = 0


class Claude(Struct, frozen=True, forbid_unknown_fields=True):
    """`away_after_s`: so long without a key, and nobody is at the desk. `headless`: requests of runs that show no
    dialog, such as `claude -p`; the hook reads this too (`hook/headless.py`)."""

    away_after_s: Annotated[float, Meta(ge=0)] = 120.0
    headless: Headless = "off"
    outline_cool_down: bool = True
    model: str = ""
    allowed_tools: list[str] = []
    permission_mode: str = ""
    use_api_billing: bool = False
    dangerously_skip_permissions: bool = False


class Codex(Struct, frozen=True, forbid_unknown_fields=True):
    """`homes`: further CODEX_HOMEs whose sessions are joined, beside the user's own."""

    homes: list[str] = []
    model: str = ""
    permission_mode: str = ""


class Server(Struct, frozen=True, forbid_unknown_fields=True):
    port: Annotated[int, Meta(ge=0, le=65535)] = 7717
    bind: str = "127.0.0.1"
    public_url: str = ""


class Keep(Struct, frozen=True, forbid_unknown_fields=True):
    """How long closed prompts stay on record."""

    days: Annotated[float, Meta(gt=0)] = 90.0  # none at all would forget what is open in doubt


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """`per_minute`: after so many that a rule allowed within a minute, the next wait for a person; 0: no limit."""

    per_minute: Annotated[int, Meta(ge=0)] = 30


class Agents(Struct, frozen=True, forbid_unknown_fields=True):
    """`mark_processes`: whether an agent's process gets the limit by which its children are known."""

    mark_processes: bool = True


class People(Struct, frozen=True, forbid_unknown_fields=True):
    """What several persons want of each other; it means nothing while there are none. `not_by_who_asked`: effects
    that a person may not approve who told the agent to do it. `quorum`: effects that take several persons."""

    not_by_who_asked: list[str] = []
    quorum: list[Quorum] = []


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """`supervisors`: agents that may answer the prompts of others, by the name that goes on record."""

    discovery: Discovery = Discovery()
    claude: Claude = Claude()
    server: Server = Server()
    keep: Keep = Keep()
    codex: Codex = Codex()
    notify: Notify = Notify()
    rules: Rules = Rules()
    agents: Agents = Agents()
    step_up: StepUp = StepUp()
    people: People = People()
    supervisors: dict[str, Supervisor] = {}
    export: dict[str, Export] = {}
    channels: dict[str, Configured] = {}

    @property
    def policy(self) -> AnswerPolicy:
        """What is wanted before a yes counts."""
        return AnswerPolicy(self.step_up, tuple(self.people.quorum), tuple(self.people.not_by_who_asked))

    @property
    def outline_cool_down(self) -> bool:
        return self.claude.outline_cool_down

    @property
    def holds_headless(self) -> bool:
        """Are requests held of runs that show no dialog?"""
        return self.claude.headless != "off"

    @property
    def away_after_s(self) -> float:
        return self.claude.away_after_s

    @property
    def api_billing(self) -> bool:
        return self.claude.use_api_billing

    def homes(self, agent: str) -> list[str]:
        """Further folders of this agent."""
        return self.codex.homes if agent == "codex" else []

    def policies(self) -> dict[str, Policy]:
        """By agent; one without a section has none, and its own settings say what it may do."""
        claude, codex = self.claude, self.codex
        return {
            "claude": Policy(
                model=claude.model,
                allowed_tools=tuple(claude.allowed_tools),
                permission_mode=claude.permission_mode,
                api_billing=claude.use_api_billing,
                skip_permissions=claude.dangerously_skip_permissions,
                cool_down=claude.outline_cool_down,
            ),
            "codex": Policy(model=codex.model, permission_mode=codex.permission_mode),
        }


SECTIONS: dict[str, type[Struct]] = {
    "discovery": Discovery,
    "claude": Claude,
    "server": Server,
    "keep": Keep,
    "codex": Codex,
    "notify": Notify,
    "rules": Rules,
    "agents": Agents,
    "step_up": StepUp,
    "people": People,
}

# What a key may say, where only a few words will do.
_WORDS: dict[str, tuple[str, ...]] = {
    "mode": get_args(Mode),
    "headless": get_args(Headless),
    "quiet_lets": get_args(Kind),
    "when": get_args(Kind),
    "risk": ("unclear", "high"),
}


def read_config(home: Path) -> Config | Refused:
    path = home / "config.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        return Refused(f"{path} cannot be read: {error}")
    return parse(text, str(path))


def with_environment(config: Config, env: Mapping[str, str]) -> Config | Refused:
    """The configuration as one run of the daemon wants it: `YOURCALL_DISCOVERY` goes before the file."""
    text = env.get("YOURCALL_DISCOVERY", "")
    if not text:
        return config
    try:
        mode = msgspec.convert(text, Mode)
    except msgspec.ValidationError:
        return Refused(f"YOURCALL_DISCOVERY is {text!r}; it can be off, tmux or all.")
    return replace(config, discovery=replace(config.discovery, mode=mode))


def parse(text: str, name: str = "config.toml") -> Config | Refused:
    try:
        payload = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Refused(f"{name} is not TOML: {error}")
    channels = read_channels(payload.pop("channels", {}))
    if isinstance(channels, Wrong):
        where = f"channels.{channels.name}" if channels.name else "channels"
        return Refused(f"{name}, line {_line_of(text, where, channels.key)}: [{where}] {channels.why}.")
    try:
        config = replace(msgspec.convert(payload, Config), channels=channels)
        for place, export in config.export.items():
            why = wrong_with(export) if re.fullmatch(r"[a-z0-9][a-z0-9-]{0,40}", place) else "its name is not one"
            if why:
                return Refused(f"{name}, line {_line_of(text, f'export.{place}', '')}: [export.{place}]: {why}.")
        unknown = [name for when in config.notify.when for name in when.tell if name not in (*channels, PUSH)]
        if unknown:
            where = f"{name}, line {_line_of(text, 'notify.when', '')}: [notify] when"
            return Refused(
                f"{where}: there is no channel {unknown[0]!r}; there are: {', '.join((*channels, PUSH))}."
            )
        return config
    except msgspec.ValidationError as error:
        return Refused(f"{name}, line {_line(text, str(error))}: {_sentence(str(error))}")


def _sentence(error: str) -> str:
    """What msgspec says (`Expected `int`, got `str` - at `$.server.port``), for people."""
    what, _, where = error.partition(" - at `$")
    section, _, key = where.strip(".`").partition(".")
    place = f"[{section}] {key}".strip() if section else ""
    unknown = re.search(r"unknown field `(\w+)`", what)
    if unknown:
        there_are = ", ".join(SECTIONS.get(section, Config).__struct_fields__)
        return f"{place or 'the file'} knows no {unknown[1]!r}; there are: {there_are}."
    words = _WORDS.get(re.split(r"[.\[]", key)[0], ())
    if "enum" in what and words:
        what += f"; it can be {', '.join(words)}"
    return f"{place}: {what[:1].lower()}{what[1:]}."


def _line(text: str, error: str) -> int:
    """Where the key stands that an error names (`… at `$.server.port``, or an unknown field of `$.server`)."""
    path = cast("list[str]", re.findall(r"`\$\.?([\w.]*)", error))
    unknown = cast("list[str]", re.findall(r"unknown field `(\w+)`", error))
    parts = [part for part in (path[0].split(".") if path else []) + unknown if part]
    if len(parts) == 1:
        return _line_of(text, parts[0], "")
    return _line_of(text, ".".join(parts[:-1]), parts[-1]) if parts else 1


def _line_of(text: str, section: str, key: str) -> int:
    """Where this key of this section stands; or the section, or a table of that name inside it."""
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[{1,2}([\w.-]+)\]", line):
            inside = header[1]
            if inside == (f"{section}.{key}" if key else section):
                return number
        elif key and re.match(rf"\s*{re.escape(key)}\s*=", line) and inside in (section, ""):
            return number
    return _line_of(text, section, "") if key else 1
