"""The edge, played: a project at /p, a home at /h, no links anywhere."""

from __future__ import annotations

import posixpath

from yourcall.model.action import Action
from yourcall.rules.action_parts import parts
from yourcall.rules.effects.parts import Effects, Facts, settled
from yourcall.rules.shell.items import Unread

ROOT, HOME = "/p", "/h"


def facts(asked: Action) -> Facts:
    found = parts(asked)
    resolved = {}
    for part in () if isinstance(found, Unread) else found:
        for ref in part.refs:
            if ref.path is not None:
                path = HOME + ref.path[1:] if ref.path == "~" or ref.path.startswith("~/") else ref.path
                resolved[ref] = (posixpath.normpath(posixpath.join(ROOT, path)).replace("//", "/"),)
    return Facts(ROOT, HOME, resolved)


def shell(command: str) -> Action:
    return Action("Bash", "command", command)


def effects(command: str) -> Effects | None:
    """All effects of all parts together; None if it is not read."""
    asked = shell(command)
    found = parts(asked)
    if isinstance(found, Unread):
        return None
    known = facts(asked)
    return frozenset().union(*(settled(part, known).effects for part in found))
