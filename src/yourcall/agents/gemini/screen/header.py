"""The heading of a Gemini CLI dialog: `Action Required`, the line of the tool that wants to run, or plain words.

A tool's line is `? Name  what it does`. It may be cut with `…`, which matters only if the rest of it is nowhere
else in the dialog; a narrow window squeezes even the gap behind the name.
"""

import re
from typing import NamedTuple

from yourcall.agents.gemini.screen.box import inner_frame
from yourcall.agents.gemini.screen.target import EDITED, URL_LINE
from yourcall.agents.kit.text import flat

_TOOL_LINE = re.compile(r"\? +(\S.*)$")
_QUEUE = re.compile(r"(?: {2,}|(?<=…) *)\d+ of \d+$")
_NAME_GAP = re.compile(r" {2,}")
_MCP = re.compile(r"(.+?) \(.+? MCP Server\)")
# Names of several words; all others are one word.
_LONG_NAME = re.compile(r"((?:Enter|Exit) Plan Mode|Ask User|Activate Skill|Save Memory|Update Topic Context)\b")
_SQUEEZED = re.compile(r"(Shell|WriteFile|Edit)(?=\S)")
_TELLING = 10  # so many letters in a row are not there by chance


class Header(NamedTuple):
    title: str | None
    tool: str | None  # the name of the tool that wants to run
    about: str  # what stands behind the name
    end: int  # line after the heading
    cut: bool


def header_of(body: list[str], *, whole: bool) -> Header:
    """The heading of a dialog; without one where its top is not on the screen."""
    shown = [n for n, line in enumerate(body) if line][:2]
    if not shown or not whole:
        return Header(None, None, "", 0, False)
    first = shown[0]
    heading = _QUEUE.sub("", body[first]).removeprefix("> ")
    match = _TOOL_LINE.match(heading)
    if match and not _NAME_GAP.search(match[1]) and inner_frame(body) is None:
        return Header(flat([match[1]]), None, "", first + 1, False)
    if match:
        return _with_tool(None, match[1], body, first + 1)
    second = shown[-1]
    if second > first and (tool := _TOOL_LINE.match(_QUEUE.sub("", body[second]))):
        return _with_tool(flat([heading]), tool[1], body, second + 1)
    return Header(flat([heading]), None, "", first + 1, False)


def _with_tool(title: str | None, text: str, body: list[str], end: int) -> Header:
    parts = _NAME_GAP.split(text, maxsplit=1)
    if len(parts) == 2:
        name, about = parts[0], flat([parts[1]])
    elif match := _MCP.match(text) or _LONG_NAME.match(text) or _SQUEEZED.match(text):
        name, about = match[1], flat([text[match.end() :]])
    else:
        name, _, about = text.partition(" ")
    return Header(title or name, name, about, end, _is_cut(about, body[end:]))


def _is_cut(about: str, below: list[str]) -> bool:
    """Whether the heading ends in `…` and what is missing is nowhere else in the dialog."""
    if not about.endswith("…"):
        return False
    if any(map(URL_LINE.match, below)) or (EDITED.match(about) and inner_frame(below)):
        return False  # the request itself is below: the addresses, or the diff of the file before the colon
    text = flat([line.strip("│ ") for line in below])
    seen = about.rstrip("… ")
    if seen in text:
        return False
    words = seen.split(" ")
    tails = (" ".join(words[n:]) for n in range(len(words)))
    return not any(len(tail) >= _TELLING and tail in text for tail in tails)
