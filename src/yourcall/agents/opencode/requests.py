"""What opencode asks a person, as prompts.

Rule: what a request would do is told from the tool call itself, as the model made it; `patterns` leave out
redirects, and the screen cuts long commands without a mark.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from yourcall.agents.kit import prompts
from yourcall.agents.kit.actions import host_allowed
from yourcall.agents.kit.prompts import RequestView, derived_id
from yourcall.agents.kit.wire import decoded, fields_of, text_of
from yourcall.agents.opencode.app import App
from yourcall.agents.opencode.wire import Asked, Asking, Request
from yourcall.model.action import Action, CallKind
from yourcall.model.events import PromptRaised
from yourcall.model.prompts import Option, Question
from yourcall.model.sessions import Session

LINK = "plugin"
DECISION = "decision"
ONCE, ALWAYS, REJECT, DISMISS = "once", "always", "reject", "dismiss"
MOST_QUESTIONS = 20
MOST_OPTIONS = 100
LONGEST_PATH = 4096

TOOLS: dict[str, CallKind] = {
    "bash": "command",
    "edit": "write",
    "write": "write",
    "apply_patch": "write",
    "multiedit": "write",
    "read": "read",
    "list": "read",
    "glob": "search",
    "grep": "search",
    "webfetch": "fetch",
    "task": "other",
    "todowrite": "other",
    "skill": "other",
}

Fields = dict[str, object]


class Kept(Struct, frozen=True):
    """A request as it is kept: enough to answer it, to show it, and to judge it. `permission`: what it is asked
    for; of a question it is empty."""

    id: str
    kind: str
    permission: str = ""
    tool_name: str = ""
    tool_input: Raw = field(default_factory=lambda: Raw(b"null"))
    labels: list[list[str]] = []


def prompt_id(app: App, request: str) -> str:
    """Requests have random ids, and no two of them the same one."""
    return derived_id(app.name, request)


def raised(
    app: App, session: Session, asked: Asked, subagent: str, at: float
) -> tuple[PromptRaised, dict[str, bytes]]:
    request = asked.request
    view = questions(app, request) if asked.kind == "question" else permission(app, asked)
    labels = [[choice.label for choice in each.options] for each in request.questions]
    kept = Kept(asked.id, asked.kind, request.permission, view.tool, Raw(msgspec.json.encode(view.input)), labels)
    body = msgspec.json.encode(kept)
    call_id = request.tool.callID if request.tool else ""
    return prompts.raised(
        replace(view, call_id=call_id),
        body,
        session,
        id=prompt_id(app, asked.id),
        fingerprint=derived_id("request", asked.id),
        link=LINK,
        at=at,
        subagent=subagent,
    )


# --- permissions ----------------------------------------------------------------------------------------------


def permission(app: App, asked: Asked) -> RequestView:
    request = asked.request
    payload = fields_of(request.metadata)
    given = fields_of(asked.call.input) if asked.call else {}
    tool = asked.call.tool if asked.call else ""
    question = Question(DECISION, f"May {app.title} do this?", _options(app, request), free_text=True)
    match request.permission:
        case "bash":
            return _command(payload, given, question)
        case "edit":
            return _change(request, tool, payload, given, question)
        case "doom_loop":
            again = str(payload.get("tool") or ", ".join(request.patterns))[: prompts.LONGEST_TITLE]
            body = prompts.paragraphs(
                f"{app.title} made the same call three times in a row.", _spelt(payload.get("input"))
            )
            return RequestView("loop", prompts.line(f"The same call again: {again}"), body, questions=(question,))
        case "external_directory":
            title = prompts.line(f"Outside the project: {', '.join(request.patterns)}")
            command = _text(given, "command") or _text(payload, "command")
            body = prompts.paragraphs(command, "\n".join(request.patterns))
            return RequestView("permission", title, body, "external_directory", {**payload, **given}, (question,))
        case other:
            return _tool(other, tool, request, given or payload, question)


def _options(app: App, request: Request) -> tuple[Option, ...]:
    once = Option(ONCE, "Allow once", "allow_once", "Does this once; the next one is asked again.")
    covered = ", ".join(request.always)
    wide = Option(
        ALWAYS,
        prompts.line(f"Allow always: {covered}"),
        app.always,
        f"Does this, and whatever fits {covered} is not asked again, {app.lasts}.",
    )
    no = Option(
        REJECT,
        "Reject",
        "deny",
        "Refuses this and all else that is asked in this session, and ends the turn. If you write why,"
        f" {app.title} reads it and goes on.",
    )
    return (once, wide, no) if covered else (once, no)


def _command(payload: Fields, given: Fields, question: Question) -> RequestView:
    command = _text(given, "command") or _text(payload, "command")
    why = _text(given, "description") or _text(payload, "description")
    where = _text(given, "workdir")
    title = prompts.line(command, "Run a command")
    body = prompts.paragraphs(command, why, f"In {where}" if where else "")
    shown = {"command": command, "description": why, **{k: v for k, v in given.items() if k not in _SAID}}
    cwd = where[:LONGEST_PATH] if where.startswith("/") else ""
    return RequestView("permission", title, body, "bash", shown, (question,), cwd=cwd)


_SAID = frozenset({"command", "description"})


def _change(request: Request, tool: str, payload: Fields, given: Fields, question: Question) -> RequestView:
    file = _text(payload, "filepath") or _text(given, "filePath") or ", ".join(request.patterns)
    diff = _text(payload, "diff")
    shown: Fields = {"file_path": file, "fileDiff": diff} if diff else {"file_path": file, **given}
    verb = "Write" if tool == "write" else "Change"
    title = prompts.line(f"{verb} {', '.join(request.patterns) or file}")
    return RequestView("permission", title, prompts.cut(diff), tool or "edit", shown, (question,))


_VERBS = {
    "read": "Read",
    "list": "List",
    "glob": "Look for files:",
    "grep": "Search for",
    "webfetch": "Fetch",
    "websearch": "Search the web:",
    "task": "Start a sub-agent:",
    "skill": "Use the skill",
    "todowrite": "Change the list of tasks",
}


def _tool(name: str, tool: str, request: Request, given: Fields, question: Question) -> RequestView:
    shown = dict(given)
    if "filePath" in shown:
        shown["file_path"] = shown.pop("filePath")
    what = "" if request.patterns == ["*"] else ", ".join(request.patterns)
    verb = _VERBS.get(name)
    title = prompts.line(f"{verb} {what}".strip() if verb else f"{tool or name}: {what}".removesuffix(": "))
    body = prompts.paragraphs(what if what != title else "", _spelt(given) if given else "")
    return RequestView("permission", title, body, tool or name, shown, (question,))


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _spelt(value: object) -> str:
    return "" if value is None else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


# --- questions ------------------------------------------------------------------------------------------------


def questions(app: App, request: Request) -> RequestView:
    askings = request.questions
    title = prompts.line(askings[0].question or askings[0].header if askings else "", "A question")
    if not askings or len(askings) > MOST_QUESTIONS or any(len(each.options) > MOST_OPTIONS for each in askings):
        return RequestView("question", title, "This can only be answered at the desk.")
    dismiss = Option(DISMISS, "Dismiss", "deny", f"Answers nothing; the turn ends, and {app.title} waits for you.")
    every = [_question(number, each) for number, each in enumerate(askings)]
    first = msgspec.structs.replace(every[0], options=(*every[0].options, dismiss))
    return RequestView("question", title, "", questions=(first, *every[1:]))


def _question(number: int, asking: Asking) -> Question:
    options = tuple(
        Option(f"o{place}", prompts.line(choice.label, f"Option {place + 1}"), "choose", choice.description)
        for place, choice in enumerate(asking.options)
    )
    return Question(
        f"q{number}",
        asking.question or asking.header,
        options,
        multi_select=bool(asking.multiple),
        free_text=asking.custom is not False or not options,
        header=asking.header,
    )


def action_of(request: bytes) -> Action | None:
    """What the request would do, for the rules; None if it is not a permission, or cannot be read.

    Only what the tool call itself says counts. A permission that covers more than its call (a folder outside the
    project, a tool of an MCP server) is `other`: no rule for commands or files allows it.
    """
    kept = decoded(Kept, request)
    if kept is None or kept.kind != "permission" or not kept.permission:
        return None
    fields = fields_of(kept.tool_input)
    tool = kept.tool_name or kept.permission
    if kept.permission == "bash":
        command, where = fields.get("command"), fields.get("workdir")
        absolute = where is None or (isinstance(where, str) and where.startswith("/"))
        if isinstance(command, str) and command and absolute:
            return Action(tool, "command", command=command, any_shell=True)
    path = fields.get("file_path")
    if isinstance(path, str) and path.startswith("/"):
        if kept.permission == "edit" and tool in ("edit", "write"):
            return Action(tool, "write", paths=(path,))
        if kept.permission == "read" and tool == "read":
            return Action(tool, "read", paths=(path,))
    hosts = host_allowed(text_of(fields, "url"))
    if kept.permission == "webfetch" and tool == "webfetch" and hosts:
        return Action(tool, "fetch", hosts=hosts)
    return Action(tool)
