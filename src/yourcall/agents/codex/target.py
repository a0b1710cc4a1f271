"""What a Codex request is about, and whether all of it can be seen.

The command stands behind `$`, files behind `Destination:`, rights behind `Permission rule:`; the diff of an edit is
not in the dialog but in the last cell of the history, which says how many lines it should have.
"""

import re

from yourcall.agents.codex.lines import is_head, joined, wraps
from yourcall.agents.screens import paragraphs
from yourcall.reading import Kind

_LABEL = re.compile(r" *([A-Z][\w ]{2,30}): (?=\S)")
_QUOTED_TOOL = re.compile(r"\btool \"([^\"]+)\"")
_QUOTED = re.compile(r"\"([^\"]+)\"")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+$")
_MARKER = re.compile(r" *\[… \d+ lines?\]")
_COUNTS = re.compile(r"\(\+(\d+) -(\d+)\)$")
_CHANGED = re.compile(r" +\d+ [+-]")


def target_of(kind: Kind, body: list[str], limit: int) -> str | None:
    if kind == "permission":
        return _permission(body, limit)
    if kind in ("trust", "elicitation"):
        texts = (joined(run, limit) for run in paragraphs(body[1:]))
        path = re.compile(r"(?:[~/]|[A-Za-z]:\\)") if kind == "trust" else _URL
        return next((text for text in texts if path.match(text)), None)
    return None


def _permission(body: list[str], limit: int) -> str | None:
    start = next((n for n, line in enumerate(body) if line.lstrip().startswith("$ ")), None)
    if start is not None:
        command = [line for line in body[start:] if not _MARKER.match(line)]
        command[0] = command[0].replace("$", " ", 1)
        return joined(command, limit) or None
    found = _labelled(body, limit)
    for name in ("Destination", "Permission rule"):
        if values := [value for label, value in found if label == name]:
            return ", ".join(values)
    text = joined(body, limit)
    if match := _QUOTED_TOOL.search(text) or _QUOTED.search(text):
        return match[1]
    return None


def _labelled(body: list[str], limit: int) -> list[tuple[str, str]]:
    """Lines such as `Reason: …`, each with what was wrapped below it."""
    found: list[tuple[str, str]] = []
    for at, line in enumerate(body):
        if match := _LABEL.match(line):
            end = at + 1
            while end < len(body) and wraps(body[end - 1], body[end], limit) and not _LABEL.match(body[end]):
                end += 1
            first = line[match.end() :].rjust(len(line))
            found.append((match[1], joined([first, *body[at + 1 : end]], limit)))
    return found


def is_cut(kind: Kind, lines: list[str], top: int, first: int) -> bool:
    body = lines[top:first]
    if any(_MARKER.match(line) for line in body):
        return True
    if kind == "plan":
        # The plan is the last cell of the history; where it has scrolled, only the person's message is left.
        head = next((line for line in reversed(lines[:top]) if is_head(line)), "›")
        return head.startswith("›")
    return kind == "permission" and any("Destination:" in line for line in body) and _diff_is_cut(lines[:top])


def _diff_is_cut(above: list[str]) -> bool:
    head = next((n for n in range(len(above) - 1, -1, -1) if is_head(above[n])), None)
    counts = _COUNTS.search(above[head]) if head is not None else None
    if head is None or counts is None:
        return True
    return sum(map(bool, map(_CHANGED.match, above[head:]))) < int(counts[1]) + int(counts[2])
