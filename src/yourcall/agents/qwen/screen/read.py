"""What one screen of Qwen Code says: is it waiting for a person, busy, stopped by an error, or ready?

The rule: the last line tells whether it waits. The title of the pane tells whether it works; words on the screen
count only where there is no title.
"""

from __future__ import annotations

import re

from yourcall.agents.kit.text import clean
from yourcall.agents.qwen.screen.block import find_block
from yourcall.agents.qwen.screen.dialog import read_block
from yourcall.model.screen import Reading

# A selector for the plain form of the sign before it may follow.
_TITLE = re.compile(r"(?:([✳◐])\ufe0e? )?Qwen - ")
RULE = re.compile(r"─{8,}$")
_SPINS = re.compile(r" {1,4}\S.* \(\d+s\b.*\besc to cancel\)$")
_HEAD = re.compile(r" {2}([✕◆>●✓x?-])\ufe0e? ")


def title_sign(title: str | None) -> str | None:
    """The sign in front of the CLI's own title: `✳` it asks, `◐` it works, empty: neither; None: another title."""
    match = _TITLE.match((title or "").strip())
    return (match[1] or "") if match else None


def read_screen(text: str, title: str | None = None) -> Reading:
    """Read one captured screen; the pane title, if it is one of the CLI's, says whether it works."""
    lines = clean(text)
    block = find_block(lines)
    if block is not None:
        return read_block(block)
    rule = composer_at(lines)
    above = lines if rule is None else lines[:rule]
    sign = title_sign(title)
    last = next((line for line in reversed(above) if line.strip(" │█")), "")
    if sign == "◐" or (sign is None and _SPINS.match(last)):
        return Reading("working")
    return Reading("error" if rule is not None and _ends_in_error(above) else "idle")


def composer_at(lines: list[str]) -> int | None:
    """The line above the input box."""
    rules = [n for n, line in enumerate(lines) if RULE.match(line)]
    return rules[-2] if len(rules) > 1 else None


def _ends_in_error(above: list[str]) -> bool:
    heads = [match[1] for line in above[-120:] if (match := _HEAD.match(line))]
    return bool(heads) and heads[-1] == "✕"
