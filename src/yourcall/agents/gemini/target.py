"""The heading of a Gemini CLI dialog, and what a permission is about.

A tool's line is `? Name  what it does`; the command itself stands in an inner box. The heading may be cut with `…`,
which matters only if the rest of it is nowhere else in the dialog.
"""

import re
from typing import NamedTuple

from yourcall.agents.gemini.box import inner_box
from yourcall.agents.gemini.lines import joined, unwrapped
from yourcall.agents.screens import flat

_TOOL_LINE = re.compile(r"\? +(\S.*)$")
_QUEUE = re.compile(r" {2,}\d+ of \d+$")
_NAME_GAP = re.compile(r" {2,}")
_MCP = re.compile(r"(.+?) \((.+?) MCP Server\)")
_TOOL_NAMED = re.compile(r"\btool \"([^\"]+)\"")
_URL = re.compile(r" *(?:[-•*] +)?([a-z][a-z0-9+.-]*://\S+)$")
_FRAMED = re.compile(r"^╭─+╮$", re.M)
_HIDDEN = re.compile(r"\.\.\. .*\bhidden\b|.*\bhidden \(", re.I)
_WRITES = re.compile(r"(?:Writing to|Write to|Create|Creating|Overwrite|Overwriting) (.+)$")
_EDITS = re.compile(r"(.+?)(?:: | => )")
_TELLING = 10  # so many letters in a row are not there by chance
_CODE_MARGIN = 6  # the frame of a call, and two columns that code leaves free
# Names of several words; elsewhere the name is one word.
_LONG_NAME = re.compile(r"(?:Enter|Exit) Plan Mode|Ask User|Activate Skill|Save Memory|Google Search|Update Topic")

# A narrow window swallows even the blank behind the names that stand above a frame.
_SQUEEZED = re.compile(r"(?:Shell|WriteFile|Edit)(?=\S)")


class Header(NamedTuple):
    title: str | None
    tool: str | None  # the name of the tool that wants to run
    about: str  # what stands behind the name
    end: int  # line after the heading
    cut: bool


def header_of(body: list[str], *, whole: bool) -> Header:
    """The heading: `Action Required` and a tool line, a tool line alone, or plain words."""
    first = next((n for n, line in enumerate(body) if line), len(body))
    if first == len(body) or not whole:
        return Header(None, None, "", 0, False)
    text = _QUEUE.sub("", body[first])
    match = _TOOL_LINE.match(text)
    if match is None:
        at = next((n for n in range(first + 1, min(first + 4, len(body))) if body[n]), len(body))
        tool = _TOOL_LINE.match(_QUEUE.sub("", body[at])) if at < len(body) else None
        if tool is None:
            return Header(flat([text]), None, "", first + 1, False)
        name, about = _name(tool[1])
        return Header(flat([text]), name, about, at + 1, _is_cut(about, body[at + 1 :]))
    name, about = _name(match[1])
    # A narrow window squeezes the gap behind the name; then only the frame of the call tells that it is a tool.
    if not _NAME_GAP.search(match[1]) and inner_box(body) is None:
        return Header(flat([match[1]]), None, "", first + 1, False)
    return Header(name, name, about, first + 1, _is_cut(about, body[first + 1 :]))


def _name(text: str) -> tuple[str, str]:
    parts = _NAME_GAP.split(text, maxsplit=1)
    if len(parts) == 2:
        return parts[0], flat([parts[1]])
    if match := _MCP.match(text) or _LONG_NAME.match(text) or _SQUEEZED.match(text):
        return (match[1] if match.lastindex else match[0]), flat([text[match.end() :]])
    name, _, about = text.partition(" ")
    return name, flat([about])


def _is_cut(about: str, below: list[str]) -> bool:
    """Whether the heading ends in `…` and what is missing is nowhere else in the dialog."""
    if not about.endswith("…"):
        return False
    if any(_URL.match(line) for line in below) or (_FRAMED.search("\n".join(below)) and _EDITS.match(about)):
        return False  # the request itself is below: the addresses, or the diff of the file named before the colon
    text = flat([line.strip("│ ") for line in below])
    seen = about.rstrip("… ")
    if seen in text:
        return False
    words = seen.split(" ")
    tails = (" ".join(words[n:]) for n in range(len(words)))
    return not any(len(tail) >= _TELLING and tail in text for tail in tails)


def target_of(body: list[str], header: Header, question: str | None, width: int) -> str | None:
    inside = inner_box(body)
    if found := _TOOL_NAMED.search(question or ""):
        return found[1]
    urls = [match[1] for line in unwrapped(body[header.end :], width) if (match := _URL.match(line))]
    if urls:
        return ", ".join(urls)
    if match := _WRITES.match(header.about):
        return match[1]
    if (match := _EDITS.match(header.about)) and header.tool in ("Edit", "Replace"):
        return match[1]
    if inside:
        return joined([line for line in inside[2] if not _HIDDEN.match(line)], width - _CODE_MARGIN) or None
    return header.tool
