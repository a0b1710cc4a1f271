"""What a permission of Gemini CLI is about: the command, the file, the addresses, the MCP tool.

The command stands in a frame of its own, in older versions bare between the heading and the question.
"""

import re

from yourcall.agents.gemini.screen.box import inner_frame
from yourcall.agents.gemini.screen.lines import joined, unwrapped

URL_LINE = re.compile(r" *(?:[-•*] +)?([a-z][a-z0-9+.-]*://\S+)$")
HIDDEN = re.compile(r"\W*\.\.\. .*\bhidden\b")
EDITED = re.compile(r"(\S.*?): ")
_TOOL_NAMED = re.compile(r"\btool \"([^\"]+)\"")
_WRITTEN = re.compile(r"(?:Writing to|Write to|Creating|Overwriting) (.+)$")
_CODE_MARGIN = 6  # the frame of a call, and two columns that code leaves free


def target_of(
    body: list[str], start: int, tool: str | None, about: str, question: str | None, width: int
) -> str | None:
    """`start` is the line after the heading, `about` what stands there behind the name of the tool."""
    if found := _TOOL_NAMED.search(question or ""):
        return found[1]
    rest = body[start:]
    urls = [match[1] for line in unwrapped(rest, width) if (match := URL_LINE.match(line))]
    if urls:
        return ", ".join(urls)
    frame = inner_frame(body)
    if match := _WRITTEN.match(about):
        return match[1]
    if frame and tool != "Shell" and (match := EDITED.match(about)):
        return match[1]
    if frame and tool is None and not (question or "").startswith("Allow execution"):
        return None  # a diff whose file has scrolled off
    if frame:
        return joined([line for line in frame.lines if not HIDDEN.match(line)], width - _CODE_MARGIN) or None
    if tool == "Shell":
        asks = (question or "").split(" ", 1)[0]
        end = next((n for n, line in enumerate(rest) if asks and line.startswith(asks + " ")), len(rest))
        return joined([line for line in rest[:end] if not HIDDEN.match(line)], width) or None
    return tool
