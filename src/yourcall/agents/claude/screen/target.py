"""What a permission dialog of Claude Code is about: the command, the path, the address or the tool.

Newer versions frame the call between two dashed rules, older ones only set it in; both are read by position.
"""

import re
from typing import NamedTuple

from yourcall.agents.claude.screen.block import Block
from yourcall.agents.claude.screen.lines import is_rule, joined, wraps
from yourcall.agents.kit.text import flat, indent

GUTTER = re.compile(r"\s*│ ?")
_MCP = re.compile(r"(.+?)(?: Tool:|\(.*\))? \(MCP\)$")
_ABOUT = re.compile(r"\s*About the (.+) Tool:$")
_URL = re.compile(r"(?:url: )?\"?([a-z][a-z0-9+.-]*://[^\s\"]+)")
_FILE_ASKED = re.compile(r"Do you want to (?:create|overwrite|make this edit to|edit|write) (.+)\?$")


class Parts(NamedTuple):
    head: list[str]  # from the title to the frame
    framed: list[str] | None  # what lies between the two dashed rules
    tail: list[str]  # from the frame, or the last rule, to the rows


def parts_of(block: Block) -> Parts:
    body = block.body
    edge = indent(block.lines[block.top]) if block.top >= 0 else 0
    level = [
        (n, is_rule(line, "╌")) for n, line in enumerate(body) if indent(line) == edge and line[edge:][:1] in "╌─"
    ]
    rules = [(n, dashed) for n, dashed in level if dashed or is_rule(body[n])]
    if not rules:
        return Parts(body, None, [])
    last = rules[-1][0]
    dashed = [n for n, is_dashed in rules if is_dashed]
    if not dashed:
        return Parts(body[:last], None, body[last + 1 :])
    if len(dashed) == 1 and block.top < 0:
        return Parts([], body[: dashed[0]], body[last + 1 :])
    return Parts(body[: dashed[0]], body[dashed[0] + 1 : last], body[last + 1 :])


def target_of(block: Block, parts: Parts, title: str | None, asked: str | None) -> str | None:
    if title and asked == title:
        return title.rstrip("?")  # the heading names what the agent wants to do
    head = [line for line in parts.head if line.strip()]
    if parts.framed is None:
        call = _set_in(block, asked)
    else:
        call = [GUTTER.sub("", line, count=1) for line in parts.framed]
        subject = joined(_last_wrapped(head[1:] if title else head, block.limit), block.limit)
        about = next((match[1] for line in parts.tail if (match := _ABOUT.match(line))), None)
        if tool := _mcp_tool(subject) or about:
            return tool
        if path := file_target(subject, title or "", asked):
            return path
    return call_target(joined(call, block.limit))


def call_target(text: str) -> str | None:
    """What a call as displayed is about."""
    if tool := _mcp_tool(text):
        return tool
    if match := _URL.match(text):
        return match[1]
    if text.startswith("Read(") and text.endswith(")") and not re.search(r"[\",]", text):
        return text[5:-1]
    return text or None


def _mcp_tool(text: str) -> str | None:
    """The server and tool, without the arguments."""
    match = _MCP.match(text) if text.endswith("(MCP)") else None
    return match[1] if match else None


def file_target(subject: str, title: str, asked: str | None) -> str | None:
    """The path as displayed: on its own line, behind the heading, or only its last part in the question."""
    file = _FILE_ASKED.match(asked or "")
    if file is None:
        return None
    if subject.endswith(file[1]):
        return subject
    behind = re.match(r"\S+ \S+ (.+)$", title)
    return behind[1] if behind and title.endswith(file[1]) else file[1]


def _last_wrapped(lines: list[str], limit: int) -> list[str]:
    """The last line with what was wrapped before it."""
    start = max(len(lines) - 1, 0)
    while start > 0 and wraps(lines[start - 1], lines[start], limit):
        start -= 1
    return lines[start:]


def _set_in(block: Block, asked: str | None) -> list[str]:
    """The lines of the call where nothing but indentation sets it apart; under it stands what it is for."""
    body = block.body
    margin = next((indent(line) for line in reversed(body) if line.strip()), 0) if asked else 0
    start = next((n for n, line in enumerate(body) if indent(line) > margin), len(body))
    stop = start
    while stop < len(body) and (not body[stop].strip() or indent(body[stop]) > margin):
        stop += 1
    call = body[start:stop]
    while call and not call[-1].strip():
        call.pop()
    above = flat(block.lines[: max(block.top, 0)])
    for end in range(len(call), max(len(call) - 4, 0), -1):  # what it is for takes a few lines at most
        if f"({flat(call[:end])})" in above or f"$ {flat(call[:end])}" in above:
            return call[:end]
    purpose = len(_last_wrapped(call, block.limit))
    return call[:-1] if purpose == len(call) and purpose > 1 else call[: len(call) - purpose] or call
