"""A rule: what may be answered without a person, and when it applies.

Rule: an allow must cover a part entirely; a deny, an ask or a hold needs to touch it only. What a rule does not
say, it does not narrow; but no rule allows commands as a whole, and none allows what is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from yourcall.model.action import Action
from yourcall.rules.effects.parts import EFFECTS, Effect, Effects, Part
from yourcall.rules.match import begins, contains, names_file, usual, words

Do = Literal["allow", "deny", "ask", "hold"]
# How agents call the tool that runs a shell's commands.
COMMAND_TOOLS = ("Bash", "Shell", "shell", "exec_command", "run_shell_command")
# Tools that say what they are about. Where one does not (an agent that tells no paths, a change that asks for more
# than itself), its name alone allows nothing: `tool = "Write"` means writing in the project.
TOLD_TOOLS = frozenset(
    {*COMMAND_TOOLS, "Read", "Glob", "Grep", "LS", "NotebookRead", "Write", "Edit", "MultiEdit", "NotebookEdit"}
    | {"apply_patch", "WebFetch", "Network"}
)
# The last second that a calendar has a name for, but for a day, whatever the zone of who reads it.
LATEST = 253_402_214_400.0
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Rule(Struct, frozen=True):
    """One section of a rules file; every field but `do` narrows it. `until` and `since` are seconds since 1970.
    `by` and `note` are for people and decide nothing."""

    name: str
    do: Do
    note: str = ""
    message: str = ""
    tool: tuple[str, ...] = ()
    effect: tuple[Effect, ...] = ()
    command: tuple[str, ...] = ()
    whole: bool = False
    text: str = ""
    path: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    mode: tuple[str, ...] = ()
    subagent: bool | None = None
    hours: str = ""
    days: tuple[str, ...] = ()
    uses: int | None = None
    until: float | None = None
    since: float = 0.0
    by: str = ""
    of_project: str = ""
    of_org: str = ""


class RequestContext(Struct, frozen=True):
    """When and where it is asked; `minute` and `day` by the user's own clock. `used`: how often a rule decided.
    `away`: it would run in another folder than the one its session was started in. `called`: what rules write for
    a project and is this one, by way of a link. `within`: the folder it was started in, the project, and what is
    around them, for a rule that restricts; `called_within`: what rules write for one of those."""

    agent: str = ""
    root: str = ""
    home: str = ""
    machine: str = ""
    mode: str = ""
    subagent: bool = False
    at: float = 0.0
    minute: int = 0
    day: int = 0
    used: Mapping[str, int] = {}
    away: bool = False
    called: frozenset[str] = frozenset()
    within: tuple[str, ...] = ()
    called_within: frozenset[str] = frozenset()


def problem(rule: Rule) -> str:
    """Why this rule cannot be used; empty if it can."""
    if rule.of_project and rule.do == "allow":
        return "a project's file can only restrict: it may deny, ask or hold, not allow"
    if rule.do != "deny" and rule.message:
        return "only a deny has a message"
    for effect in rule.effect:
        if effect not in EFFECTS:
            return f"there is no effect {effect!r}; there are: {', '.join(EFFECTS)}"
    if rule.do == "allow":
        if not (rule.effect or rule.command or rule.text or rule.tool or rule.host or rule.mcp):
            return "it allows everything; say at least which effect, command, tool, host or mcp it is about"
        if any(not pattern.strip("*/?") for pattern in (*rule.tool, *rule.mcp)):
            return "it allows every tool; name the tool, or an effect"
        whole = rule.tool and not (rule.effect or rule.command or rule.text)
        if whole and any(_any(rule.tool, name) for name in COMMAND_TOOLS):
            return "commands are never allowed as a whole; say which command or effect"
        if "unknown" in rule.effect:
            return "what is not known cannot be allowed as a class; name the command or the tool"
        if "read_outside" in rule.effect and "read" not in rule.effect:
            return 'who reads outside of the project reads, too: write effect = ["read", "read_outside"]'
    for pattern in rule.command:
        program = next(iter(words(pattern)), "")
        if not program:
            return "an empty command"
        if program == "*" and rule.do == "allow":
            return "it allows any program; name the program, and let `*` stand for its words"
        if "*" in program and program != "*" and rule.do != "allow":
            return f"a program is named in full, or is any (`*`): {program!r} would stop nothing"
    for folder in rule.project:
        if not folder.startswith(("/", "**")) and folder != "~" and not folder.startswith("~/"):
            return f"a project is a folder, written from / or ~/: {folder!r} is none"
    for host in rule.host:
        if re.search(r"[/@\s]|^[^:]*:[^:]*$", host):
            return f"a host is a name, such as docs.example.com, and no address: {host!r} is none"
    for path in rule.path:
        if ".." in path.split("/") or re.match(r"\$\{?[A-Z_]+\}?/|~[a-z_][a-z0-9_-]*/", path):
            return f"a path begins with /, with ~/ or in the project, and has no .. in it: {path!r} is none"
    if rule.hours and _hours(rule.hours) is None:
        return f"hours are written like 09:00-18:00, not {rule.hours!r}"
    if rule.hours and len(set(_hours(rule.hours) or ())) == 1:
        return f"from {rule.hours} is no time at all; a whole day is 00:00-24:00"
    for day in rule.days:
        if _days(day) is None:
            return f"days are written like mon or mon-fri, not {day!r}"
    if not all(0 <= time <= LATEST for time in (rule.until or 0, rule.since)):
        return "until and since lie between 1970 and 9999"
    if rule.uses is not None and rule.uses < 1:
        return "uses must be at least 1"
    return ""


def active(rule: Rule, scene: RequestContext) -> bool:
    """Does it apply here and now, whatever is asked?"""
    if rule.of_project and not f"{scene.root}/".startswith(f"{rule.of_project}/"):
        return False
    if rule.agent and not _any(rule.agent, scene.agent):
        return False
    if rule.project and not any(_project(each, scene, rule.do != "allow") for each in rule.project):
        return False
    if rule.machine and not _any(rule.machine, scene.machine):
        return False
    if rule.mode and not _any(rule.mode, scene.mode):
        return False
    if rule.subagent is not None and rule.subagent != scene.subagent:
        return False
    if rule.until is not None and scene.at >= rule.until:
        return False
    if rule.uses is not None and scene.used.get(rule.name, 0) >= rule.uses:
        return False
    span = _hours(rule.hours) if rule.hours else None
    if rule.hours and not _within(span, scene.minute):
        return False
    # The night of a day goes on after midnight.
    today = (scene.day - 1) % 7 if span is not None and span[0] > span[1] > scene.minute else scene.day
    return not rule.days or any(today in (_days(day) or ()) for day in rule.days)


def covers(rule: Rule, part: Part, asked: Action, scene: RequestContext) -> bool:
    """May this allow decide on this part? Everything about the part must be what the rule says."""
    if rule.effect and not rule.text and not part.effects.issubset(rule.effect):
        return False
    if rule.tool and not _any(rule.tool, asked.tool):
        return False
    if rule.text:
        # The same words mean other files in another folder.
        same = rule.text.strip() == asked.command.strip() and part.text != "leave the sandbox"
        return same and not (scene.away and asked.kind == "command")
    if rule.mcp and not (asked.kind == "mcp" and part.kind == "tool" and _mcp(rule.mcp, asked)):
        return False
    if rule.mcp and "__" in _mcp_tool(asked):
        return False  # mcp__a__b__c: whose is it, a's or that of a server called a__b?
    if rule.path and not (part.paths and all(lies_in(rule.path, path, scene) for path in part.paths)):
        return False
    if rule.host and not (part.hosts and all(_host(rule.host, host) for host in part.hosts)):
        return False
    if part.kind == "tool":
        if rule.command or ("unknown" in part.effects and asked.tool in TOLD_TOOLS):
            return False
        return part.effects <= (set(rule.effect) or _by_name(rule))
    if rule.command:
        return any(
            begins(pattern, part, rule.whole)
            and part.effects <= (set(rule.effect) or usual(pattern))
            and not (names_file(pattern) and _elsewhere(part, scene))
            for pattern in rule.command
        )
    return bool(rule.effect) and part.effects <= set(rule.effect)


def _elsewhere(part: Part, scene: RequestContext) -> bool:
    stands = [ref.path for ref in part.refs if ref.use == "stand"]
    return bool(stands) and (scene.away or stands != ["."])


def _by_name(rule: Rule) -> Effects:
    """What a tool may do that is allowed by name, without its effects being named too."""
    if rule.tool or rule.mcp:
        return frozenset({"unknown", "read", "write_inside", "network"})
    return frozenset({"network"}) if rule.host else frozenset()


def touches(rule: Rule, part: Part, asked: Action, scene: RequestContext) -> bool:
    """Does this deny, ask or hold concern this part?"""
    if rule.tool and not _any(tuple(each.lower() for each in rule.tool), asked.tool.lower()):
        return False
    if rule.text and rule.text.strip() != asked.command.strip():
        return False
    if rule.mcp and not (asked.kind == "mcp" and _mcp(rule.mcp, asked)):
        return False
    if rule.effect and not part.effects & set(rule.effect):
        return False
    if rule.command and not any(contains(pattern, part) for pattern in rule.command):
        return False
    # By either name: a rule about `data/**` means what is called so, though `data` is a link to another disk.
    named = any(lies_in(rule.path, path, scene, loose=True) for path in (*part.paths, *part.named))
    if rule.path and not named and not razes(rule, part, scene):
        return False
    return not rule.host or any(_host(rule.host, host) for host in part.hosts)


def razes(rule: Rule, part: Part, scene: RequestContext) -> bool:
    """Does what the rule is about go with a folder around it? `rm -r src` takes `src/keys/**` along."""
    begins = [_begins(pattern, scene).casefold() for pattern in rule.path] if part.razed else []
    return any(each.startswith(path.rstrip("/").casefold() + "/") for path in part.razed for each in begins)


def _begins(pattern: str, scene: RequestContext) -> str:
    """The folders that a pattern names in full, from the root; empty if there is no project to mean them from."""
    wanted = _at_home(pattern, scene)
    if not wanted.startswith("/"):
        wanted = f"{scene.root}/{wanted.removeprefix('./')}" if scene.root else ""
    named = re.match(r"(?:\[[*?]\]|[^*?])*", wanted)
    return re.sub(r"\[([*?])\]", r"\1", named[0]) if named else ""


def specific(rule: Rule) -> int:
    """The more a rule says about what it is about, the more it counts; where and when count less."""
    longest = max((len(words(pattern)) for pattern in rule.command), default=0)
    what = 1000 * bool(rule.text) + (200 + 20 * longest + 10 * rule.whole) * bool(rule.command)
    what += (100 + max((len(p) for p in rule.path), default=0)) * bool(rule.path)
    what += 80 * bool(rule.host) + 80 * bool(rule.mcp) + 40 * bool(rule.tool) + 20 * bool(rule.effect)
    where = (rule.agent, rule.project, rule.machine, rule.mode, rule.hours, rule.days, rule.subagent is not None)
    return what + sum(bool(each) for each in where)


def _mcp_tool(action: Action) -> str:
    return action.tool.removeprefix(f"mcp__{action.server}__")


def _mcp(patterns: tuple[str, ...], action: Action) -> bool:
    """`server` or `server/tool`; both are patterns."""
    tool = _mcp_tool(action)
    return any(
        _any((server,), action.server) and (not name or _any((name,), tool))
        for server, _, name in (pattern.partition("/") for pattern in patterns)
    )


def _project(pattern: str, scene: RequestContext, restricts: bool) -> bool:
    """An allow is for that very project; what restricts in a folder does so in all that lies in it."""
    if restricts and pattern in scene.called_within:
        return True
    if restricts and any(is_project(_at_home(pattern, scene), folder) for folder in scene.within):
        return True
    if not scene.root:
        return False
    return pattern in scene.called or is_project(_at_home(pattern, scene), scene.root)


def is_project(pattern: str, root: str) -> bool:
    return _like(pattern.rstrip("/"), slashes=True).fullmatch(root) is not None


def lies_in(patterns: tuple[str, ...], path: str, scene: RequestContext, loose: bool = False) -> bool:
    """`src/**`, `~/x`, `/etc/*`: relative ones are meant from the project; `*` stays within one folder. `loose`:
    in capitals or not, for on a Mac `KEYS/x` is `keys/x`."""
    return _paths(patterns, scene.root, scene.home, loose).fullmatch(path) is not None


@lru_cache(maxsize=4096)
def _paths(patterns: tuple[str, ...], root: str, home: str, loose: bool) -> re.Pattern[str]:
    whole: list[str] = []
    for pattern in patterns:
        wanted = home + pattern[1:] if pattern == "~" or pattern.startswith("~/") else pattern
        if not wanted.startswith("/"):
            if not root:
                continue
            wanted = f"{exactly(root)}/{wanted.removeprefix('./')}"
        wanted += "**" if wanted.endswith("/") else ""  # a folder is meant, and what lies in it
        whole.append(_like(wanted, slashes=True).pattern)
    return re.compile("|".join(whole) or "(?!)", re.DOTALL | re.IGNORECASE if loose else re.DOTALL)


def meant_from(folder: str, pattern: str) -> str:
    """A path of a rule that stands in this folder's file, wherever the project of a session begins."""
    whole = pattern.startswith(("/", "~/")) or pattern == "~"
    return pattern if whole else f"{exactly(folder)}/{pattern.removeprefix('./')}"


def exactly(path: str) -> str:
    return re.sub(r"([*?])", r"[\1]", path)


def _at_home(pattern: str, scene: RequestContext) -> str:
    return scene.home + pattern[1:] if pattern == "~" or pattern.startswith("~/") else pattern


def _host(patterns: tuple[str, ...], host: str) -> bool:
    return any(_like(pattern.lower()).fullmatch(host.lower()) for pattern in patterns)


def _any(patterns: tuple[str, ...], value: str) -> bool:
    return any(_like(pattern).fullmatch(value) for pattern in patterns)


@lru_cache(maxsize=4096)
def _like(pattern: str, slashes: bool = False) -> re.Pattern[str]:
    """`*` is anything (in a path: within one folder), `**` anything at all, `?` one letter, `[*]` a star."""
    names: list[str] = []
    at = 0
    one = "[^/]" if slashes else "."
    while at < len(pattern):
        if pattern.startswith("/**", at) and at + 3 == len(pattern):
            names.append("(?:/.*)?")
            at += 3
        elif pattern.startswith("**", at):
            names.append(".*")
            at += 2
        elif pattern[at : at + 3] in ("[*]", "[?]"):
            names.append(re.escape(pattern[at + 1]))
            at += 3
        else:
            letter = pattern[at]
            names.append(f"{one}*" if letter == "*" else one if letter == "?" else re.escape(letter))
            at += 1
    return re.compile("".join(names), re.DOTALL)


@lru_cache(maxsize=1024)
def _hours(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-4]):([0-5]\d)", text.strip())
    if match is None:
        return None
    a, b, c, d = (int(each) for each in match.groups())
    return a * 60 + b, c * 60 + d


def _within(span: tuple[int, int] | None, minute: int) -> bool:
    if span is None:
        return False
    begin, end = span
    return begin <= minute < end if begin <= end else minute >= begin or minute < end


@lru_cache(maxsize=1024)
def _days(text: str) -> tuple[int, ...] | None:
    first, _, last = text.strip().lower().partition("-")
    if first not in DAYS or (last and last not in DAYS):
        return None
    begin, end = DAYS.index(first), DAYS.index(last or first)
    return tuple(range(begin, end + 1)) if begin <= end else (*range(begin, 7), *range(end + 1))
