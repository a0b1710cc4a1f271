"""What a dialog of Qwen Code asks: its kind, its target, its rows.

Rule: words serve only to name the kind. What cannot be named is `unknown`, never left out. The command is read
from the heading: below it the CLI loses letters where it wraps (0.24.4).
"""

from __future__ import annotations

import re

from yourcall.agents.kit.text import flat, paragraphs
from yourcall.agents.qwen.screen.block import Block
from yourcall.model.screen import Kind, Reading, ScreenOption

ASK = "AskUserQuestion"
PLAN = "ExitPlanMode"
_ESC = re.compile(r" \(esc\)$")
_HIDDEN = re.compile(r"\.\.\. .*\bhidden\b")
_MORE = re.compile(r"Press ctrl-s to show more lines")
_MCP = re.compile(r"(\S+) \(.+? MCP Server\)")
_URL = re.compile(r"(?:[-•*] )?([a-z][a-z0-9+.-]*://\S+)$")
_WRITES = re.compile(r"(?:Writing|Write) to (.+)$")
_PERMITS = re.compile(r"(?:Allow execution\b|Apply this change\b|Do you want to proceed\b)")
_PLANS = re.compile(r"Would you like to proceed\b")
_NAVIGATE = re.compile(r"Navigate \|")
TABS = re.compile(r"(?:▸ .*|.* ▸ .*)(?<=Submit)$")
REVIEW = re.compile(r"Ready to submit your answers\?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def read_block(block: Block) -> Reading:
    title, about = _header(block)
    kind = _kind(block, title)
    options = tuple(ScreenOption(row.key, _ESC.sub("", row.label), row.description or None) for row in block.rows)
    if kind == "question":
        title, question = _asked(block)
    elif block.boxed:
        title, question = _boxed(block)
    else:
        question = _question(block)
    ticks = [row.ticked for row in block.rows]
    several = any(tick is not None for tick in ticks)
    target = _target(block, title, about) if kind == "permission" else None
    return Reading(
        "waiting",
        kind,
        title,
        question,
        target,
        options,
        next((n for n, row in enumerate(block.rows) if row.cursor), None),
        tuple(n for n, tick in enumerate(ticks) if tick) if several else None,
        several,
        text_input=kind == "question" and not REVIEW.search(question or ""),
        clipped=_is_clipped(block, kind, question, options),
    )


def _header(block: Block) -> tuple[str | None, str]:
    """The tool's name, and what it is called with."""
    if not block.header:
        return None, ""
    text = flat(block.header)
    if match := _MCP.match(text):
        return match[1], text[match.end() :].strip()
    name, _, about = text.partition(" ")
    return name, about


def _kind(block: Block, title: str | None) -> Kind:
    if block.boxed:
        text = flat(block.body).lower()
        return "trust" if "trust this folder" in text else "loop" if "loop was detected" in text else "unknown"
    if not block.rows:
        return "unknown"
    if title == ASK or (title is None and _NAVIGATE.search(flat(block.below))):
        return "question"
    question = _question(block) or ""
    if title == PLAN or (title is None and _PLANS.match(question)):
        return "plan"
    return "permission" if _PERMITS.match(question) else "unknown"


def _question(block: Block) -> str | None:
    runs = paragraphs(block.body)
    return flat(runs[-1]) if runs else None


def _asked(block: Block) -> tuple[str | None, str | None]:
    """The short name of a question, or of the one that is up of several, and its text."""
    runs = paragraphs(block.body)
    if not runs:
        return None, None
    first = flat(runs[0])
    if TABS.match(first):
        name = re.split(r" {2,}", " ".join(runs[0]).split("▸ ", 1)[1])[0]
        return name.removesuffix(" ✓"), flat(runs[-1]) if len(runs) > 1 else None
    return (first, flat([" ".join(run) for run in runs[1:]])) if len(runs) > 1 else (None, first)


def _boxed(block: Block) -> tuple[str | None, str | None]:
    runs = paragraphs(block.body)
    title = runs[0][0].strip().removeprefix("?").strip() if runs else None
    if title is not None and title.endswith("?"):
        return title, title
    sentences = [each for run in runs[1:] for each in _SENTENCE.split(flat(run))]
    return title, next((each for each in sentences if each.endswith("?")), title)


def _target(block: Block, title: str | None, about: str) -> str | None:
    inside = paragraphs(block.body)[:-1]
    lines = [line for run in inside for line in run if not _HIDDEN.search(line)]
    if title is None:
        below = inside[-1] if inside else []  # above it stands the rest of the heading
        return flat([line for line in below if not _HIDDEN.search(line)]) or None
    if _MCP.match(flat(block.header)):
        return title
    urls = [match[1] for line in lines if (match := _URL.match(line.strip()))]
    if urls:
        return ", ".join(urls)
    if match := _WRITES.match(about):
        return match[1]
    return _without_purpose(about, flat(lines)) or title


def _without_purpose(about: str, body: str) -> str:
    """The command without what the model says it is for, in brackets behind it."""
    if body and about.startswith(f"{body} ("):
        return body
    if not about.endswith(")"):
        return about
    depth = 0
    for at in range(len(about) - 1, 0, -1):
        depth += (about[at] == ")") - (about[at] == "(")
        if depth == 0:
            return about[:at].rstrip() if about[at - 1] == " " else about
    return about


def _is_clipped(block: Block, kind: Kind, question: str | None, options: tuple[ScreenOption, ...]) -> bool:
    if kind == "permission" and not block.header:
        return True
    cut = any(map(_HIDDEN.search, block.body)) or any(map(_MORE.search, block.below))
    return cut or (question or "").endswith("…") or any(option.label.endswith("…") for option in options)
