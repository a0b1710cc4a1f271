"""How one prompt looks in a terminal, from one line to the whole page.

Rule: everything needed to decide is shown, in full and as it is; nothing in it can act on the terminal.
"""

from __future__ import annotations

import json
import shlex
import time
from typing import Any, cast

from yourcall.cli.instance import Instance
from yourcall.cli.terminal.render import ago, clock, columns, safe, short, span, style, table, width, wrapped
from yourcall.cli.views import Moment, Prompt, Question, Tool

# Long enough to be unique among what a person sees in a week, short enough to type.
ID_SHOWN = 6

STATE_COLOURS = {
    "open": "yellow",
    "answering": "cyan",
    "sent": "cyan",
    "accepted": "cyan",
    "confirmed": "green",
    "desk": "green",
    "ended": "",
    "unsure": "magenta",
}
EFFECT_COLOURS = {
    "deny": "red",
    "stop": "red",
    "allow_once": "green",
    "allow_session": "green",
    "allow_always": "green",
}

# Effect -> what it means, where an option does not say it itself.
EFFECTS = {
    "allow_once": "allow, this once",
    "allow_session": "allow for this session",
    "allow_always": "allow, and remember it",
    "deny": "deny",
    "stop": "deny and stop the turn",
}


def short_ids(ids: list[str]) -> dict[str, str]:
    """Each id as far as it has to be typed: a few letters, more where two begin alike."""
    length = ID_SHOWN
    while length < max(map(len, ids), default=0) and len({i[:length] for i in ids}) < len(set(ids)):
        length += 1
    return {i: i[:length] for i in ids}


def listing(prompts: list[Prompt], *, states: bool) -> str:
    """The table of `ls`, in the order given."""
    names = short_ids([p.id for p in prompts])
    now = time.time()
    with_state = states or any(p.state != "open" for p in prompts)
    rows: list[list[str]] = []
    for p in prompts:
        state = [p.state] if with_state else []
        rows.append([names[p.id], span(now - p.opened_at), *state, p.agent, project(p.cwd), p.title])
    heads = ["ID", "AGE", *(["STATE"] if with_state else []), "AGENT", "PROJECT", "TITLE"]
    return table(heads, rows, ["cyan"])


def project(cwd: str) -> str:
    """The folder's own name; `show` has the whole path."""
    return safe(cwd.rstrip("/").rsplit("/", 1)[-1] or cwd)


def page(prompt: Prompt, place: Instance) -> str:
    """Everything about one prompt: what is asked, what each answer does, what has happened."""
    parts = [_head(prompt), _facts(prompt)]
    asked = prompt.kind == "question" and bool(prompt.questions)  # they are the input, in a form to read
    if prompt.tool is not None and not asked:
        parts.append(_tool(_told_once(prompt.tool, prompt)))
    if prompt.body.strip() and not _repeats(prompt.body, prompt.tool):
        parts.append(wrapped(prompt.body, 2))
    if prompt.resets_at:
        left = prompt.resets_at - time.time()
        when = f"in {span(left)}, at {clock(prompt.resets_at)}" if left > 0 else f"at {clock(prompt.resets_at)}"
        add = place.command(f'queue {prompt.session_id[:8]} add "Go on." --after-limit')
        parts.append(f"  The limit resets {when}. To go on then: {add}")
    parts += [_question(q, several=len(prompt.questions) > 1) for q in prompt.questions]
    if prompt.history:
        parts.append(_history(prompt))
    if prompt.state == "open":
        parts.append(how_to_answer(prompt, place))
    return "\n\n".join(parts)


def _head(prompt: Prompt) -> str:
    state = style(safe(prompt.state), STATE_COLOURS.get(prompt.state, ""), bold=True)
    outcome = f" ({safe(prompt.outcome)})" if prompt.outcome else ""
    # Its line breaks are shown, not made: below it stand our own rows, which nobody is to imitate.
    title = "\n".join(style(line, bold=True) for line in wrapped(safe(prompt.title)).split("\n"))
    return f"{style(safe(prompt.id), 'cyan')}  {safe(prompt.kind)}, {state}{outcome}\n{title}"


def _facts(prompt: Prompt) -> str:
    mode = f", {safe(prompt.permission_mode)} mode" if prompt.permission_mode else ""
    helper = f", subagent {safe(prompt.subagent)}" if prompt.subagent else ""
    rows = [
        ("agent", f"{safe(prompt.agent)}{mode}{helper}"),
        ("session", safe(prompt.session_id)),
        ("folder", short(prompt.cwd)),
        ("asked", ago(prompt.opened_at)),
    ]
    if prompt.state == "open":
        rows.append(("risk", f"{safe(prompt.risk.level)}: {safe(prompt.risk.reason)}"))
    if prompt.closed_at:
        rows.append(("ended", f"{clock(prompt.closed_at)}, {span(prompt.closed_at - prompt.opened_at)} later"))
    if prompt.answered_by:
        rows.append(("by", safe(prompt.answered_by)))
    return "\n".join(f"  {style(f'{name:<8}', dim=True)} {text}" for name, text in rows)


def _tool(tool: Tool) -> str:
    return f"  {style(safe(tool.name), bold=True)}\n{_value(tool.input, 4)}".rstrip()


def _told_once(tool: Tool, prompt: Prompt) -> Tool:
    """Without what stands elsewhere on the page: the folder, and changes whose diff is the body."""
    if not isinstance(tool.input, dict):
        return tool
    given = cast("dict[str, Any]", tool.input)
    diff = isinstance(given.get("changes"), list) and "+++ " in prompt.body
    twice = {"cwd": given.get("cwd") == prompt.cwd, "changes": diff}
    return Tool(tool.name, {key: item for key, item in given.items() if not twice.get(key)})


def _repeats(body: str, tool: Tool | None) -> bool:
    """Is every line of the body already on the page, as part of the tool's input?"""
    if tool is None or not isinstance(tool.input, dict):
        return False
    shown = "\n".join(_text(item) for item in cast("dict[str, Any]", tool.input).values())
    return all(line.strip() in shown for line in body.splitlines())


def _value(value: Any, indent: int) -> str:
    """A tool's input: texts as they are, with their line breaks, the rest as JSON."""
    if not isinstance(value, dict):
        return wrapped(_text(value), indent)
    lines: list[str] = []
    for key, item in cast("dict[str, Any]", value).items():
        text = _text(item)
        label = f"{safe(key)}: "
        if "\n" not in text and indent + width(label) + width(safe(text)) <= columns():
            lines.append(f"{' ' * indent}{style(label, dim=True)}{safe(text)}")
        else:
            lines.append(f"{' ' * indent}{style(label.rstrip(), dim=True)}\n{wrapped(text, indent + 2)}")
    return "\n".join(lines)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _question(question: Question, *, several: bool) -> str:
    header = f"{question.header}: " if several and question.header else ""
    lines = [wrapped((f"[{question.id}] {header}" if several else "") + question.text, 2)]
    room = max((width(safe(o.id)) for o in question.options), default=0)
    for option in question.options:
        name = safe(option.id)
        painted = style(name, EFFECT_COLOURS.get(option.effect, "")) + " " * (room - width(name))
        does = option.description or EFFECTS.get(option.effect, "")
        text = option.label + (f": {does}" if does else "")
        lines.append(f"    {painted}  {wrapped(text, room + 6).lstrip()}")
        lines += [style(wrapped(option.preview, room + 8), dim=True)] if option.preview else []
    notes = [word for on, word in ((question.multi_select, "choose one or more, with commas between them"),) if on]
    notes += ["free text with --text"] if question.free_text and not several else []
    notes += [f"free text with --set-text {safe(question.id)}=…"] if question.free_text and several else []
    if notes:
        lines.append(style(f"    ({', '.join(notes)})", dim=True))
    return "\n".join(lines)


def _history(prompt: Prompt) -> str:
    lines = [style("  What happened", bold=True)]
    before: Moment | None = None
    for moment in prompt.history:
        delay = "" if before is None else f"+{span(moment.at - before.at)}"
        state = style(f"{safe(moment.state):<9}", STATE_COLOURS.get(moment.state, ""))
        text = ", ".join(w for w in (f"by {moment.by}" if moment.by else "", moment.detail) if w)
        lead = f"    {clock(moment.at, precise=True)}  {delay:>8}  "
        lines.append(f"{lead}{state}  {wrapped(text, len(lead) + 11).lstrip()}".rstrip())
        before = moment
    return "\n".join(lines)


def how_to_answer(prompt: Prompt, place: Instance) -> str:
    if not prompt.held:
        return "  It can't be answered from here any more: answer it in the agent's own dialog, at the desk."
    if not prompt.questions:
        return "  It can't be answered from here: answer it in the agent's own dialog, at the desk."
    return f"  {answer_command(prompt, place)}"


def answer_command(prompt: Prompt, place: Instance) -> str:
    """The command that answers this prompt, as an example that works."""
    # An agent, or a server it talks to, chose these names, and a person copies this line into a shell.
    several = len(prompt.questions) > 1
    words = [f"answer {prompt.id[:ID_SHOWN]}"]
    for question in prompt.questions:
        picks = ",".join(option.id for option in question.options[: 2 if question.multi_select else 1])
        if picks:
            word = f"{question.id}={picks}" if several or picks.startswith("-") else picks
            words.append(("--set " if word.startswith("-") else "") + shlex.quote(word))
        else:
            words.append(f"--set-text {shlex.quote(question.id)}=…" if several else "--text …")
    return f"Answer with: {style(place.command(' '.join(words)), bold=True)}"
