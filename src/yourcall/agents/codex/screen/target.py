"""What a Codex request is about, and whether all of it can be seen.

The command stands behind `$`, files behind `Destination:`, rights behind `Permission rule:`; the diff of an edit
is not in the dialog but in the last cell of the history, which says how many lines it should have.
"""

import re

from yourcall.agents.codex.screen.lines import is_head, joined
from yourcall.agents.kit.text import paragraphs
from yourcall.model.screen import Kind

_LABEL = re.compile(r" *([A-Z][\w ]{2,30}): (?=\S)")
_QUOTED_TOOL = re.compile(r"\btool \"([^\"]+)\"")
_QUOTED = re.compile(r"\"([^\"]+)\"")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+$")
_MARKER = re.compile(r" *\[… \d+ lines?\]")
_COUNTS = re.compile(r"\(\+(\d+) -(\d+)\)$")
_FILE = re.compile(r" +└ (\S.*) \(\+\d+ -\d+\)$")
_FILE_HEAD = re.compile(r"\S \w+ (\S.*) \(\+\d+ -\d+\)$")
_EDIT = re.compile(r"\b(?:edits?|changes|patch)\b", re.I)
_WHERE = re.compile(r"> You are in (?=\S)")  # up to 0.150
_PATH = re.compile(r"(?:[~/]|[A-Za-z]:\\)")
_CHANGED = re.compile(r" +\d+ [+-]")


def target_of(kind: Kind, lines: list[str], top: int, first: int) -> str | None:
    """`top` and `first` are the first line of the dialog and that of its rows."""
    body = lines[top:first]
    if kind == "permission":
        return _permission(body) or (_changed_files(lines[:top]) if _is_edit(body) else None)
    if kind in ("trust", "elicitation"):
        texts = [_WHERE.sub("", joined(run)) for run in paragraphs(body[1:])]
        path = _PATH if kind == "trust" else _URL
        return next((text for text in texts if path.match(text)), None)
    return None


def _permission(body: list[str]) -> str | None:
    start = next((n for n, line in enumerate(body) if line.lstrip().startswith("$ ")), None)
    if start is not None:
        command = [line for line in body[start:] if not _MARKER.match(line)]
        command[0] = command[0].replace("$", " ", 1)
        return joined(command, breaks=False) or None
    found = _labelled(body)
    for name in ("Destination", "Permission rule"):
        if values := [value for label, value in found if label == name]:
            return ", ".join(values)
    text = joined(body, breaks=False)
    match = _QUOTED_TOOL.search(text) or _QUOTED.search(text)
    return match[1] if match else None


def _labelled(body: list[str]) -> list[tuple[str, str]]:
    """Lines such as `Reason: …`, each with what was wrapped below it."""
    found: list[tuple[str, str]] = []
    for at, line in enumerate(body):
        if match := _LABEL.match(line):
            end = at + 1
            while end < len(body) and body[end] and not _LABEL.match(body[end]) and not _MARKER.match(body[end]):
                end += 1
            first = " " * match.end() + line[match.end() :]
            found.append((match[1], joined([first, *body[at + 1 : end]], breaks=False)))
    return found


def is_cut(kind: Kind, lines: list[str], top: int, first: int) -> bool:
    body = lines[top:first]
    if any(_MARKER.match(line) for line in body):
        return True
    if kind == "plan":
        # The plan is the last cell of the history; where it has scrolled, only the person's message is left.
        return not _last_cell(lines[:top]) or _last_cell(lines[:top])[0].startswith("›")
    return kind == "permission" and _is_edit(body) and _diff_is_cut(_last_cell(lines[:top]))


def _is_edit(body: list[str]) -> bool:
    return any(_EDIT.search(line) for line in body[:1]) or any("Destination:" in line for line in body)


def _last_cell(above: list[str]) -> list[str]:
    head = next((n for n in range(len(above) - 1, -1, -1) if is_head(above[n])), None)
    return above[head:] if head is not None else []


def _changed_files(above: list[str]) -> str | None:
    """Where the dialog names no file, the last cell does: in its head, or one line per file."""
    cell = _last_cell(above)
    several = [match[1] for line in cell[1:] if (match := _FILE.match(line))]
    alone = _FILE_HEAD.match(cell[0]) if cell else None
    return ", ".join(several) or (alone[1] if alone else None)


def _diff_is_cut(cell: list[str]) -> bool:
    counts = _COUNTS.search(cell[0]) if cell else None
    return counts is None or sum(map(bool, map(_CHANGED.match, cell))) < int(counts[1]) + int(counts[2])
