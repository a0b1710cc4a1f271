"""How a prompt looks in the inbox: the row of the queue, the card, the answers, and how far an answer is.

Rule: whatever an agent or a model wrote goes through `safe` and is then only text; no markup, link or escape of
theirs is ever read. Nothing that is needed to decide is left out.
"""

from __future__ import annotations

import difflib
import json
import re
import time
from typing import Any, ClassVar, NamedTuple, cast

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.text import Text

from yourcall.cli.inbox_danger import command_of, decision, fields_of, needs_word
from yourcall.cli.inbox_form import Draft, question_in_hand, refusal
from yourcall.cli.render import clip, clock, safe, short, span, width, wrapped
from yourcall.cli.sheet import project
from yourcall.cli.views import Option, Prompt, Question

ON_ITS_WAY = ("answering", "sent", "accepted")
OVER = ("confirmed", "desk", "ended")
_AGENTS = {"claude": "Claude", "codex": "Codex", "gemini": "Gemini", "demo": "The demo", "script": "A script"}
_SCOPES = {
    "allow_once": "this once",
    "allow_session": "for this session",
    "allow_always": "from now on",
}
_MODES = {
    "bypassPermissions": "asks nothing: all is allowed",
    "auto": "decides by itself what to ask",
    "dontAsk": "asks nothing: denies what no rule allows",
    "acceptEdits": "edits files without asking",
    "plan": "only plans",
}
_STEPS = ("pressed", "sent", "accepted", "moved on")
_STYLES = {"deny": "red", "stop": "red", "allow_once": "green", "allow_session": "green", "allow_always": "yellow"}


def who(agent: str) -> str:
    return _AGENTS.get(agent) or safe(agent)


def row(prompt: Prompt, room: int, risk: str, *, here: bool) -> Text:
    """Two lines: what is asked; where, and since when."""
    mark, style = ("!", "bold red") if risk and prompt.state == "open" else (_glyph(prompt), _tint(prompt))
    over = prompt.state in OVER
    line = Text(no_wrap=True, end="")
    edge = ("▌", "bold cyan") if here else (" ", "")
    title = clip(safe(_brief(prompt)), room - 3)
    line.append(*edge)
    line.append(f"{mark} ", style)
    line.append(title, "bold" if here else "dim" if over else "")
    state = {"open": "" if prompt.held else "at the desk"}.get(prompt.state, _words(prompt.state))
    since = state or _age(prompt.opened_at)
    left = clip(f"{project(prompt.cwd)} · {who(prompt.agent)}", room - 4 - width(since))
    line.append("\n")
    line.append(*edge)
    line.append(f"  {left}", "dim")
    line.append(" " * max(room - 3 - width(left) - width(since), 1) + since, _tint(prompt) if state else "dim")
    return line


def _brief(prompt: Prompt) -> str:
    """The title; of a file the name comes first, as the folder is on the next line."""
    fields = fields_of(prompt) or {}
    file = next((str(v) for k in ("file_path", "notebook_path") if (v := fields.get(k))), "")
    if prompt.kind == "permission" and prompt.tool is not None and file:
        return f"{prompt.tool.name} {file.rsplit('/', 1)[-1]}"
    return prompt.title


def _age(at: float) -> str:
    """Whole numbers: what flickers is looked at."""
    passed = time.time() - at
    return "now" if passed < 10 else span(passed)


def _words(state: str) -> str:
    return {"answering": "pressed", "confirmed": "moved on", "desk": "at the desk", "unsure": "unsure"}.get(
        state, state
    )


def _glyph(prompt: Prompt) -> str:
    if prompt.state in ON_ITS_WAY:
        return "…"
    return {"confirmed": "✓", "desk": "✓", "ended": "-", "unsure": "?"}.get(
        prompt.state, "·" if prompt.kind == "ready" else "•"
    )


def _tint(prompt: Prompt) -> str:
    tints = {"confirmed": "green", "desk": "green", "ended": "dim", "unsure": "magenta"}
    return "cyan" if prompt.state in ON_ITS_WAY else tints.get(prompt.state, "yellow" if prompt.held else "dim")


def head(prompt: Prompt, risk: str) -> Text:
    """Who asks what, where and since when; and what is dangerous about it."""
    text = Text()
    text.append(safe(_sentence(prompt)), "bold")
    where = short(prompt.cwd) + (f" ({safe(prompt.branch)})" if prompt.branch else "")
    notes = [where, f"asked {_age(prompt.opened_at)} ago".replace("now ago", "just now")]
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
    fields = fields_of(prompt) or {}
    tool = prompt.tool.name if prompt.tool else ""
    file = next((str(v) for k in ("file_path", "notebook_path", "path") if (v := fields.get(k))), "")
    match prompt.kind:
        case "permission" if command_of(prompt):
            return f"{name} wants to run"
        case "permission" if tool == "Write":
            return f"{name} wants to write {file.rsplit('/', 1)[-1]}"
        case "permission" if tool.endswith("Edit"):
            return f"{name} wants to change {file.rsplit('/', 1)[-1]}"
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


class _Heading(Heading):
    """A heading at the left, where the rest of the text begins."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag == "h1" else "bold")
        yield self.text


class _Page(Markdown):
    """A model's text with its headings, lists and tables. Links are not made: a terminal would follow them."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}

    def __init__(self, text: str) -> None:
        super().__init__(safe(text, lines=True), hyperlinks=False, code_theme="ansi_dark")


def body(prompt: Prompt) -> RenderableType:
    """What is asked, in full: the command, the change, the plan, or what the tool gets."""
    fields = fields_of(prompt) or {}
    command = command_of(prompt)
    if command:
        return _command(command, fields)
    if prompt.kind == "plan" and (plan := str(fields.get("plan") or prompt.body)).strip():
        return _Page(plan)
    if prompt.kind == "permission" and (changed := _changes(fields)):
        return changed
    if prompt.kind == "permission" and fields:
        return _pairs(fields)
    said = prompt.body.strip("\n")
    title = prompt.title if prompt.kind not in ("question", "permission") else ""
    if said.strip() in [q.text.strip() for q in prompt.questions]:
        said = ""
    parts: list[RenderableType] = [Text(safe(title))] if title and title.strip() != said.strip() else []
    if said:
        looks_drawn = prompt.kind in ("unknown", "permission", "startup", "trust")
        parts.append(_diff(said) if _is_diff(said) else _prose(said, drawn=looks_drawn))
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _prose(text: str, *, drawn: bool) -> RenderableType:
    return Text(safe(text, lines=True)) if drawn else _Page(text)


def _command(command: str, fields: dict[str, Any]) -> RenderableType:
    text = Text()
    for number, line in enumerate(safe(command, lines=True).split("\n")):
        text.append("$ " if number == 0 else "\n  ", "dim")
        text.append(line, "bold")
    rest = {key: value for key, value in fields.items() if key not in ("command", "cmd", "description")}
    about = fields.get("description")
    parts: list[RenderableType] = [text]
    if isinstance(about, str) and about.strip():
        parts.append(Padding(Text(safe(about, lines=True), "dim"), (1, 0, 0, 0)))
    if rest:
        parts.append(Padding(_pairs(rest), (1, 0, 0, 0)))
    return Group(*parts)


def _changes(fields: dict[str, Any]) -> RenderableType | None:
    """A file that is written or changed, as lines that go and lines that come."""
    path = next((str(v) for k in ("file_path", "notebook_path", "path") if (v := fields.get(k))), "")
    edits = fields.get("edits")
    pairs: list[tuple[str, str]] = []
    for edit in cast("list[Any]", edits) if isinstance(edits, list) else [fields]:
        if isinstance(edit, dict):
            one = cast("dict[str, Any]", edit)
            old, new = one.get("old_string", one.get("old_str", "")), one.get("new_string", one.get("new_str"))
            if isinstance(old, str) and isinstance(new, str):
                pairs.append((old, new))
    content = fields.get("content", fields.get("new_source"))
    if not path or not (pairs or isinstance(content, str)):
        return None
    text = Text()
    text.append(short(path), "bold underline")
    if fields.get("replace_all") is True:
        text.append("  everywhere in the file", "yellow")
    if not pairs:
        text.append("\n")
        text.append(_lines([f"+{line}" for line in str(content).split("\n")]))
    for old, new in pairs:
        text.append("\n")
        found = list(difflib.unified_diff(old.split("\n"), new.split("\n"), n=3, lineterm=""))[2:]
        text.append(
            _lines(
                [line for line in found if not line.startswith("@@")] or [f" {line}" for line in old.split("\n")]
            )
        )
    known = ("file_path", "notebook_path", "path", "edits", "content", "new_source", "replace_all")
    rest = {k: v for k, v in fields.items() if k not in known and not re.match(r"(?:old|new)_str", k)}
    return Group(text, Padding(_pairs(rest), (1, 0, 0, 0))) if rest else text


def _is_diff(text: str) -> bool:
    return bool(re.search(r"^@@ |^(?:---|\+\+\+) \S", text, re.MULTILINE)) or text.startswith("*** Begin Patch")


def _diff(text: str) -> Text:
    return _lines(text.split("\n"))


def _lines(lines: list[str]) -> Text:
    out = Text()
    for number, line in enumerate(lines):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        if style in ("green", "red") and not line.startswith(("+++ ", "--- ")):
            shown = f"{line[0]} {safe(line[1:], lines=True)}"
        else:
            shown = (
                safe(line, lines=True) if style else f"  {safe(line[1:] if line[:1] == ' ' else line, lines=True)}"
            )
        out.append(("\n" if number else "") + shown, style)
    return out


def _pairs(fields: dict[str, Any]) -> Text:
    out = Text()
    for number, (key, value) in enumerate(fields.items()):
        said = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        out.append(("\n" if number else "") + safe(key) + ":", "dim")
        shown = safe(said, lines=True)
        out.append(("\n  " + shown.replace("\n", "\n  ")) if "\n" in shown else f" {shown}")
    return out


class Room(NamedTuple):
    """How wide the answers may be, whether each may take several lines, and what is dangerous about a yes."""

    columns: int
    tall: bool
    risk: str


def answers(prompt: Prompt, draft: Draft, room: Room) -> Text:
    """The questions with their numbered answers, as far as the person has filled them in.

    On a short screen what an answer does is cut to its line, until the cursor points at it.
    """
    out = Text()
    if prompt.state != "open":
        return out
    if not prompt.held or not prompt.questions:
        out.append("Answer this one at the desk: nothing here reaches it.", "yellow")
        return out
    hand = question_in_hand(prompt, draft)
    several = len(prompt.questions) > 1
    for number, question in enumerate(prompt.questions):
        if number:
            out.append("\n")
        here = question == hand
        if several:
            out.append("▸ " if here else "  ", "bold cyan")
        asked = safe(question.text, lines=True)
        out.append(asked, "bold" if here or not several else "dim")
        if several and not here:
            out.append(_filled(question, draft), "cyan")
        if question.id in draft.wrong:
            out.append(f"  {draft.wrong[question.id]}", "bold red")
        if here:
            for place, option in enumerate(question.options):
                out.append(_option(place, option, question, draft, room))
            out.append(_hint(prompt, question, draft, room))
    return out


def _option(place: int, option: Option, question: Question, draft: Draft, room: Room) -> Text:
    line = Text("\n")
    here = place == draft.cursor
    line.append(" › " if here else "   ", "bold cyan")
    line.append(f"{place + 1}" if place < 9 else " ", "bold cyan")
    picked = option.id in draft.picks.get(question.id, [])
    if question.multi_select:
        line.append(" [x] " if picked else " [ ] ", "green" if picked else "")
    else:
        line.append(" ● " if picked else "  ", "green")
    begun = width(line.plain.strip("\n"))
    line.append(safe(option.label), _STYLES.get(option.effect, ""))
    line.append(_far(option), "dim")
    if needs_word(option, room.risk):
        line.append(_TWICE, "red")
    does = safe(option.description)
    if does and does.rstrip(".").lower() not in option.label.lower():
        # What the answers do stands in one column, unless a label is too long for that.
        most = max(_long(each, room) for each in question.options)
        gap = most - _long(option, room) if begun + most <= room.columns // 2 else 0
        line.append(" " * gap)
        left = room.columns - width(line.plain.strip("\n")) - 3
        if width(does) <= left or not (here or room.tall):
            line.append(f"  {clip(does, left)}" if left > 8 else "", "dim")
        else:
            line.append("\n" + wrapped(does, 6, room.columns), "dim")
    if option.preview and here:
        line.append(
            "\n" + "\n".join(f"      {each}" for each in safe(option.preview, lines=True).split("\n")), "cyan"
        )
    return line


_TWICE = ", asks again"


def _far(option: Option) -> str:
    scope = _SCOPES.get(option.effect, "")
    return f", {scope}" if scope else ""


def _long(option: Option, room: Room) -> int:
    return width(safe(option.label) + _far(option)) + (len(_TWICE) if needs_word(option, room.risk) else 0)


def _filled(question: Question, draft: Draft) -> str:
    picked = [safe(o.label) for o in question.options if o.id in draft.picks.get(question.id, [])]
    said = draft.texts.get(question.id, "").strip()
    words = ", ".join([*picked, *([f"“{clip(safe(said), 40)}”"] if said else [])])
    return f"  {words}" if words else ""


def _hint(prompt: Prompt, question: Question, draft: Draft, room: Room) -> Text:
    out = Text()
    said = draft.texts.get(question.id, "").strip()
    if said:
        out.append("\n" + wrapped(f"“{said}”", 6, room.columns), "cyan")
    no = refusal(prompt)
    writes = ""
    if no is not None and question == no[0]:
        writes = f"{safe(no[1].label)}, and say why"
    elif question.free_text and question != decision(prompt):
        kind = {"integer": "a whole number", "number": "a number"}.get(question.type, "")
        writes = f"Write {kind or ('in your own words' if question.options else 'it')}{_bounds(question)}"
    if writes:
        out.append("\n   t", "bold cyan")
        out.append(f"  {writes}")
    keys = ["digits mark"] if question.multi_select else []
    keys += ["Tab: next question"] if len(prompt.questions) > 1 else []
    if decision(prompt) is None and (len(prompt.questions) > 1 or question.multi_select):
        keys.append("Enter: send" if len(prompt.questions) == 1 else "Enter: send all")
    if keys:
        out.append("\n" + wrapped(" · ".join(keys), 3, room.columns), "dim")
    return out


def _bounds(question: Question) -> str:
    low, high = question.minimum, question.maximum
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f", at least {low:g}" if low is not None else f", at most {high:g}" if high is not None else ""


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
            who_said = "" if mine else f"Answered by {by or 'somebody'}. "
            said = {
                "answering": "On its way to the agent…",
                "sent": "Waiting for a sign of the agent…",
                "accepted": "The agent goes on; its record does not say how yet.",
            }.get(prompt.state, f"{how or 'Answered'}{'' if mine else f' by {by}'}. The agent moved on.")
            out.append(
                "\n" + (who_said if prompt.state != "confirmed" else "") + said, "green" if reached == 3 else ""
            )
        case "desk":
            when = f" at {clock(prompt.closed_at)}" if prompt.closed_at else ""
            out.append(f"Answered at the desk{when}{f': {how.lower()}' if how else ''}.", "green")
        case "ended":
            out.append("Nobody answered: the agent no longer asks, or its session is over.", "dim")
        case "unsure":
            out.append("Nobody can tell how this stands. Look at the desk.", "magenta")
        case _:
            if last is not None and last.detail.startswith("bounced:"):
                why = safe(last.detail.removeprefix("bounced:")).strip()
                out.append(f"It came back: {why}", "bold red")
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
