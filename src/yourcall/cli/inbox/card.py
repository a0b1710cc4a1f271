"""How a prompt looks in the inbox: the row of the queue, the card, and how far an answer is.

Rule: whatever an agent or a model wrote goes through `safe` and is then only text; no markup, link or escape of
theirs is ever read. Nothing that is needed to decide is left out.
"""

from __future__ import annotations

import re
import time

from rich.text import Text

from yourcall.agents.registry import AGENTS
from yourcall.cli.terminal.render import clip, clock, safe, short, span, width
from yourcall.cli.terminal.sheet import project
from yourcall.cli.views import Action, Prompt
from yourcall.core.identity import desk_word

ON_ITS_WAY = ("answering", "sent", "accepted")
OVER = ("confirmed", "desk", "ended")
_AGENTS = {**{name: agent.title for name, agent in AGENTS.items()}, "script": "A script"}
_MODES = {
    "bypassPermissions": "asks nothing: all is allowed",
    "auto": "decides by itself what to ask",
    "dontAsk": "asks nothing: denies what no rule allows",
    "acceptEdits": "edits files without asking",
    "plan": "only plans",
}
_STEPS = ("pressed", "sent", "accepted", "moved on")


def who(agent: str) -> str:
    return _AGENTS.get(agent) or safe(agent)


def row(prompt: Prompt, room: int, risk: str, *, here: bool) -> Text:
    """Two lines: what is asked; where, and since when."""
    mark, style = ("!", "bold red") if risk and prompt.state == "open" else (_glyph(prompt), _tint(prompt))
    line = Text(no_wrap=True, end="")
    edge = ("▌", "bold cyan") if here else (" ", "")
    title = clip(safe(_brief(prompt)), room - 3)
    line.append(*edge)
    line.append(f"{mark} ", style)
    line.append(title, "bold" if here else "dim" if prompt.state in OVER else "")
    state = {"open": "" if prompt.held else "at the desk"}.get(prompt.state, _words(prompt.state))
    since = state or _age(prompt.opened_at)
    left = clip(f"{project(prompt.cwd)} · {who(prompt.agent)}", room - 4 - width(since))
    line.append("\n")
    line.append(*edge)
    line.append(f"  {left}", "dim")
    line.append(" " * max(room - 3 - width(left) - width(since), 1) + since, _tint(prompt) if state else "dim")
    return line


def _brief(prompt: Prompt) -> str:
    """The title; of a file its name, as the folder is on the next line."""
    if prompt.action is not None and prompt.action.kind in ("read", "write") and prompt.action.paths:
        return f"{prompt.action.tool} {prompt.action.paths[0].rsplit('/', 1)[-1]}"
    return prompt.title


def _age(at: float) -> str:
    """Whole numbers: what flickers is looked at."""
    passed = time.time() - at
    return "now" if passed < 10 else span(passed)


def _words(state: str) -> str:
    words = {"answering": "pressed", "confirmed": "moved on", "desk": "at the desk"}
    return words.get(state, state)


def _glyph(prompt: Prompt) -> str:
    if prompt.state in ON_ITS_WAY:
        return "…"
    marks = {"confirmed": "✓", "desk": "✓", "ended": "-", "unsure": "?"}
    return marks.get(prompt.state, "·" if prompt.kind == "ready" else "•")


def _tint(prompt: Prompt) -> str:
    tints = {"confirmed": "green", "desk": "green", "ended": "dim", "unsure": "magenta"}
    return "cyan" if prompt.state in ON_ITS_WAY else tints.get(prompt.state, "yellow" if prompt.held else "dim")


def head(prompt: Prompt, risk: str) -> Text:
    """Who asks what, where and since when; and what is dangerous about it."""
    text = Text()
    text.append(safe(_sentence(prompt)), "bold")
    where = short(prompt.cwd) + (f" ({safe(prompt.branch)})" if prompt.branch else "")
    age = _age(prompt.opened_at)
    notes = [where, "asked just now" if age == "now" else f"asked {age} ago"]
    if prompt.subagent:
        notes.append(f"subagent {safe(prompt.subagent)}")
    if prompt.permission_mode not in ("", "default"):
        notes.append(_MODES.get(prompt.permission_mode) or f"mode {safe(prompt.permission_mode)}")
    text.append("\n" + " · ".join(notes), "dim")
    if risk and prompt.state in ("open", "answering"):
        text.append(f"\n! {risk}", "bold red")
    return text


def _sentence(prompt: Prompt) -> str:
    name = who(prompt.agent)
    tool = prompt.tool.name if prompt.tool else ""
    action = prompt.action or Action("other")
    file = action.paths[0].rsplit("/", 1)[-1] if action.paths else "a file"
    match prompt.kind:
        case "permission" if action.command:
            return f"{name} wants to run"
        case "permission" if action.kind == "write":
            whole = any(change.change == "write" for change in action.changes)
            return f"{name} wants to {'write' if whole else 'change'} {file}"
        case "permission" if tool:
            return f"{name} wants to use {tool}"
        case "plan":
            return f"{name} has a plan and wants to start"
        case "question":
            many = len(prompt.questions)
            return f"{name} asks {many} questions" if many > 1 else f"{name} asks"
        case "ready":
            return f"{name} is done and waits for you"
        case "problem":
            return f"{name} has stopped"
        case _:
            return prompt.title


def standing(prompt: Prompt, *, mine: bool, busy: bool, note: str) -> Text:
    """Where it stands, honestly: how far an answer is, who gave it, or why it came back.

    `busy`: it was pressed here and the daemon has not said anything yet.
    """
    out = Text(f"{safe(note)}\n" if note else "", "bold red")
    out.append(_progress(0) if busy else _stands(prompt, mine))
    out.rstrip()
    return out


def _stands(prompt: Prompt, mine: bool) -> Text:
    out = Text()
    by = (
        "you"
        if mine
        else {"cli": "the command line"}.get(prompt.answered_by or "", safe(prompt.answered_by or ""))
    )
    how = {"allowed": "Allowed", "denied": "Denied", "stopped": "Denied and stopped"}.get(prompt.outcome or "", "")
    last = prompt.history[-1] if prompt.history else None
    match prompt.state:
        case "answering" | "sent" | "accepted" | "confirmed":
            reached = ("answering", "sent", "accepted", "confirmed").index(prompt.state)
            out.append(_progress(reached))
            first = "" if mine or reached == 3 else f"Answered by {by or 'somebody'}. "
            text = {
                "answering": "On its way to the agent…",
                "sent": "Waiting for a sign of the agent…",
                "accepted": "The agent goes on; its record does not say how yet.",
            }.get(prompt.state, f"{how or 'Answered'}{'' if mine else f' by {by}'}. The agent moved on.")
            out.append(f"\n{first}{text}", "green" if reached == 3 else "")
        case "desk":
            when = f" at {clock(prompt.closed_at)}" if prompt.closed_at else ""
            verb = desk_word(prompt.outcome)
            line = f": {how.lower()}" if how and verb == "answered" else ""
            out.append(f"{verb.capitalize()} at the desk{when}{line}.", "green")
        case "ended":
            out.append("Nobody answered: the agent no longer asks, or its session is over.", "dim")
        case "unsure":
            out.append("Nobody can tell how this stands. Look at the desk.", "magenta")
        case _:
            if last is not None and last.detail.startswith("bounced:"):
                why = safe(last.detail.removeprefix("bounced:")).strip()
                out.append(f"Not delivered: {why}", "bold red")
    return out


def _progress(reached: int) -> Text:
    out = Text()
    for number, word in enumerate(_STEPS):
        out.append(" → " if number else "", "dim")
        out.append(word, ("bold green" if reached == 3 else "bold cyan") if number <= reached else "dim")
    return out


_COLOURS = re.compile(r"(\x1b\[[0-9;:]*m)")


def pane(screen: str, rows: int) -> Text:
    """The end of a terminal's screen: its colours are kept, all else that would act on ours is shown as marks."""
    lines = screen.rstrip("\n").split("\n")
    while lines and not _COLOURS.sub("", lines[-1]).strip():
        lines.pop()
    kept: list[Text] = []
    for line in lines[-rows:]:
        pieces = [piece if _COLOURS.fullmatch(piece) else safe(piece) for piece in _COLOURS.split(line)]
        kept.append(Text.from_ansi("".join(pieces), no_wrap=True, overflow="crop", end=""))
    return Text("\n", no_wrap=True, overflow="crop").join(kept)
