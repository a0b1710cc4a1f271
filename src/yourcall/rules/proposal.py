""" "Always, like this": the narrowest rule that would have answered a prompt, for a person to accept or not.

Rule: a proposal is only ever shown; what cannot be named safely is proposed word by word, what cannot be taken
apart not at all.
"""

from __future__ import annotations

import re

from yourcall.model.action import Action
from yourcall.model.prompts import Refused
from yourcall.rules.action_parts import parts
from yourcall.rules.effects.parts import Effect, Facts, Part, inside, settled
from yourcall.rules.rule import Do, RequestContext, Rule, covers
from yourcall.rules.shell.items import Unread

# Their second word says what they do.
VERBS = frozenset(
    {"git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "pip", "pip3", "uv", "poetry", "docker", "kubectl", "gh"}
    | {"make", "just", "task", "deno", "dotnet", "terraform", "brew", "bundle", "composer", "mvn", "gradle"}
)
# `npm run build`: the third word names what runs.
RUNS = frozenset({"run", "run-script", "exec", "x", "compose"})
# These are allowed only word by word: too much depends on the arguments.
_BY_THE_LETTER: frozenset[Effect] = frozenset(
    {"secrets", "privilege", "history_rewrite", "delete", "read_outside", "write_outside", "install", "network"}
)


def like(asked: Action, facts: Facts, do: Do = "allow") -> Rule | Refused:
    """A rule for requests like this one, in this project."""
    found = parts(asked)
    if isinstance(found, Unread):
        return Refused(f"No rule can be made of this: it cannot be taken apart ({found.why}).")
    project = (_tilde(facts.root, facts),) if facts.root else ()
    if not project:
        return Refused("This runs outside of any project: write a rule by hand, and say where it holds.")
    if asked.kind == "command":
        return _of_command(asked, [settled(part, facts) for part in found], project, do)
    name = _slug(asked.tool)
    match asked.kind:
        case "mcp":
            tool = asked.tool.removeprefix(f"mcp__{asked.server}__")
            return Rule(_slug(f"{asked.server}-{tool}"), do, mcp=(f"{asked.server}/{tool}",), project=project)
        case "fetch" if asked.hosts:
            return Rule(
                _slug(f"fetch-{asked.hosts[0]}"), do, tool=(asked.tool,), host=asked.hosts, project=project
            )
        case "read" | "write":
            paths = [path for part in found for path in settled(part, facts).paths]
            effects: set[Effect] = {e for part in found for e in settled(part, facts).effects}
            near = tuple(dict.fromkeys(_near(path, facts, effects) for path in paths))
            order: tuple[Effect, ...] = tuple(sorted(effects))
            if "unknown" in order:
                return Refused("Where this leads cannot be told, so no rule can be made of it.")
            return Rule(name, do, tool=(asked.tool,), effect=order, path=near, project=project)
        case _:
            return Rule(name, do, tool=(asked.tool,), project=project)


def _of_command(action: Action, found: list[Part], project: tuple[str, ...], do: Do) -> Rule:
    does = [part for part in found if part.effects]
    name = _slug(" ".join(_words(does[0])) if does and does[0].argv else "command")
    odd = [
        p
        for p in does
        if p.kind != "command" or None in p.argv or p.effects & _BY_THE_LETTER or p.argv[:1] == (None,)
    ]
    if odd or not does:
        return Rule(name, do, text=action.command.strip(), project=project)
    commands = tuple(dict.fromkeys(" ".join(_quoted(word) for word in _words(part)) for part in does))
    # What is not known is allowed with exactly these words, and no others behind them.
    whole = any("unknown" in part.effects for part in does)
    # A star, a quote or nothing at all among the words would mean something else in a rule.
    strange = any(word in ("", "*") or "'" in word or '"' in word for part in does for word in _words(part))
    if (whole and len(commands) > 1) or strange:
        return Rule(name, do, text=action.command.strip(), project=project)
    effects: tuple[Effect, ...] = tuple(sorted({e for part in does for e in part.effects})) if not whole else ()
    rule = Rule(name, do, command=commands, whole=whole, effect=effects, project=project)
    # Where its words alone would not say the same (`git -c … log`), the very text does.
    if all(covers(rule, part, action, RequestContext()) for part in does):
        return rule
    return Rule(name, do, text=action.command.strip(), project=project)


def _words(part: Part) -> tuple[str, ...]:
    argv = tuple(word or "" for word in part.argv)
    if "unknown" in part.effects:
        return argv
    if argv[0] not in VERBS:
        return argv[:1]
    return argv[:3] if len(argv) > 2 and argv[1] in RUNS else argv[:2]


def _quoted(word: str) -> str:
    return f'"{word}"' if re.search(r"\s", word) and '"' not in word else word


def _near(path: str, facts: Facts, effects: set[Effect]) -> str:
    """The folder of a file in the project; anything else only itself."""
    if not inside(path, facts.root) or effects - {"read", "write_inside"}:
        return _tilde(path, facts)
    rest = path[len(facts.root) :].lstrip("/")
    folder = rest.rpartition("/")[0]
    return f"{folder}/**" if folder else "**" if effects == {"read"} else rest or "**"


def _tilde(path: str, facts: Facts) -> str:
    return "~" + path[len(facts.home) :] if facts.home and inside(path, facts.home) else path


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:48].strip("-") or "rule"
