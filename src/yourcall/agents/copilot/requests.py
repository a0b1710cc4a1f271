"""What Copilot CLI asks a person, as prompts: permissions, questions, forms of MCP servers, plans.

Rule: every option has its reply in reply.py and says what it does. A kind of request that nobody has tried is
shown, and answered at the desk. Words are the agent's and the model's own; nothing is concluded from them.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents.copilot.wire import Asked, Event, FileText, Form, Permission, Plan, decoded
from yourcall.agents.kit import forms, prompts
from yourcall.agents.kit.actions import host_allowed, host_shown
from yourcall.agents.kit.prompts import RequestView, derived_id
from yourcall.agents.kit.wire import null, time_of
from yourcall.model.action import Action, CallKind
from yourcall.model.events import PromptRaised
from yourcall.model.prompts import Kind, Option, Question
from yourcall.model.sessions import Session

AGENT = "copilot"
LINK = "plugin"
DECISION = "decision"

PERMISSION = "permission.requested"
FORM = "elicitation.requested"
PLAN = "exit_plan_mode.requested"

# Rights of extensions are for the person alone; their box is on the screen.
FOR_THE_DESK = frozenset({"extension-permission-access", "extension-env-access", "extension-management"})

# As our requests call them; `create` and `edit` are what Copilot's own record says.
TOOLS: dict[str, CallKind] = {
    "bash": "command",
    "write": "write",
    "create": "write",
    "edit": "write",
    "apply_patch": "write",
    "read": "read",
    "view": "read",
    "grep": "search",
    "glob": "search",
    "url": "fetch",
    "web_fetch": "fetch",
    "path": "other",
    "hook": "other",
}

NO_RIGHTS = (
    "Copilot had not let yourcall handle permission requests here when this came up: it is answered at the desk."
    " Copilot asks you for that once in each repository."
)
NOT_KNOWN = "This is a kind of request that yourcall does not know. Answer it at the desk."


class Request(Struct, frozen=True):
    """A request as it is kept: enough to answer it, and to show it."""

    event: str
    id: str
    data: Raw
    tool_name: str = ""
    tool_input: Raw = field(default_factory=null)


def prompt_id(session_id: str, request_id: str) -> str:
    """The same for the same request, whenever and by whomever it is told."""
    return derived_id(AGENT, session_id, request_id)


def raised(
    session: Session, event: Event, at: float, *, rights: bool
) -> tuple[PromptRaised, dict[str, bytes]] | None:
    """The prompt of a request; None if it is not one for a person. `rights`: Copilot takes our answers to
    permissions."""
    match = _shown(event, rights=rights)
    if match is None:
        return None
    request_id, view = match
    request = Request(event.type, request_id, event.data, view.tool, Raw(msgspec.json.encode(view.input)))
    body = msgspec.json.encode(request)
    call_id = request_id if event.type == PERMISSION else ""
    return prompts.raised(
        msgspec.structs.replace(view, call_id=call_id),
        body,
        session,
        id=prompt_id(session.id, request_id),
        fingerprint=f"request:{request_id}",
        link=LINK,
        at=time_of(event.timestamp) or at,
        subagent=event.agentId or "",
    )


def _shown(event: Event, *, rights: bool) -> tuple[str, RequestView] | None:
    match event.type:
        case "permission.requested":
            asked = decoded(Permission, event.data)
            if asked is None or asked.resolvedByHook or asked.promptRequest.kind in FOR_THE_DESK:
                return None
            return asked.requestId, permission(asked, rights=rights)
        case "elicitation.requested":
            form = decoded(Form, event.data)
            return None if form is None else (form.requestId, _form(form))
        case "exit_plan_mode.requested":
            plan = decoded(Plan, event.data)
            return None if plan is None else (plan.requestId, _plan(plan))
        case _:
            return None


# --- permissions ----------------------------------------------------------------------------------------------


def permission(asked: Permission, *, rights: bool) -> RequestView:
    request = asked.promptRequest
    folder = asked.folder or ""
    view = msgspec.structs.replace(_described(request, asked), cwd=folder if folder.startswith("/") else "")
    if not rights or not view.questions:
        why = NOT_KNOWN if rights else NO_RIGHTS
        return msgspec.structs.replace(view, questions=(), body=prompts.paragraphs(why, view.body))
    return view


def _described(request: Asked, asked: Permission) -> RequestView:
    command, host = command_behind(asked), host_shown(request.url)
    behind = f"Asked for by this command:\n{command}" if command and request.kind != "commands" else ""
    match request.kind:
        case "commands":
            title, tool = prompts.line(request.fullCommandText, "Run a command"), "bash"
            given: dict[str, object] = {
                "command": request.fullCommandText,
                "description": request.intention or "",
                "dangerouslyDisableSandbox": unboxed(request),
            }
            boxed = f"It asks to leave the sandbox. {request.requestSandboxBypassReason or ''}".strip()
            body = prompts.paragraphs(
                request.fullCommandText,
                request.intention or "",
                request.warning or "",
                boxed if unboxed(request) else "",
            )
            what = "Runs this one command"
        case "write":
            paths, _ = changed(request)
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            title, tool = prompts.line(f"Change {paths[0] if paths else request.fileName}{more}"), "write"
            given = _changes(request, paths)
            body, what = prompts.paragraphs(request.intention or "", request.diff), "Makes this one change"
        case "read":
            title, tool = prompts.line(f"Read {request.resolvedPath or request.path}"), "read"
            given = {"file_path": request.resolvedPath or request.path}
            body, what = prompts.paragraphs(request.intention or "", request.path), "Reads this once"
        case "path":
            named = ", ".join(request.paths)
            title, tool = prompts.line(f"Use paths outside the project ({request.accessKind}): {named}"), "path"
            given = {"paths": request.paths, "access": request.accessKind, "command": command}
            body, what = prompts.paragraphs("\n".join(request.paths), behind), "Lets these paths be used this once"
        case "url":
            title, tool = prompts.line(f"Fetch {request.url}"), "url"
            given = {"url": request.url, "command": command, "redirectedFrom": request.redirectedFrom or ""}
            body = prompts.paragraphs(request.url, request.intention or "", behind)
            what = f"Lets {host or 'this address'} be reached this once"
        case "mcp":
            title = prompts.line(f"{request.toolTitle or request.toolName} ({request.serverName})")
            tool = f"mcp__{request.serverName}__{request.toolName}"
            given = _fields(request.args)
            body, what = prompts.paragraphs(_spelt(given)), "Makes this one call"
        case "hook":
            title, tool = prompts.line(f"A hook wants you to decide on {request.toolName}"), "hook"
            given = {"tool": request.toolName, "arguments": request.toolArgs}
            body = prompts.paragraphs(request.hookMessage or "", _spelt(_fields(request.toolArgs)))
            what = "Lets this one call go on"
        case _:
            title = prompts.line(f"Copilot asks for a permission ({request.kind or 'of an unknown kind'})")
            return RequestView(
                "permission", title, "", request.kind[:80] or "unknown", {"request": asked.promptRequest}
            )
    options = (
        Option("allow", "Allow", "allow_once", f"{what}; the next one is asked again."),
        *(option for option, _ in lasting(request)),
        Option("deny", "Deny", "deny", "Refuses this; Copilot goes on, with your words if you write some."),
        Option("stop", "Deny and stop", "stop", "Refuses this and stops the turn; Copilot waits for you."),
    )
    question = Question(DECISION, "May Copilot do this?", options, free_text=True)
    return RequestView("permission", title, body, tool, given, (question,))


def lasting(request: Asked) -> list[tuple[Option, dict[str, object]]]:
    """What Copilot would remember until the session ends, each with how that is said to it."""
    label = "Allow for this session"
    match request.kind:
        case "commands" if request.canOfferSessionApproval and request.commandIdentifiers:
            names = ", ".join(f"`{name}`" for name in request.commandIdentifiers)
            does = f"Runs it; every further command of {names} is not asked until this session ends."
            approval: dict[str, object] = {"kind": "commands", "commandIdentifiers": request.commandIdentifiers}
        case "write" if request.canOfferSessionApproval:
            does = "Makes the change; no further change to files is asked until this session ends."
            approval = {"kind": "write"}
        case "mcp":
            does = (
                f"Makes the call; {request.toolName} of {request.serverName} is not asked until this session ends."
            )
            approval = {"kind": "mcp", "serverName": request.serverName, "toolName": request.toolName}
        case _:
            return []
    option = Option("session", label, "allow_session", does)
    return [(option, {"kind": "approve-for-session", "approval": approval})]


def changed(request: Asked) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Every file that a change names, and those that are gone after it."""
    edits = request.fileEdits or []
    named = [request.resolvedPath or request.fileName]
    named += [text.path for edit in edits for text in (edit.after, edit.before) if text is not None]
    kept = {edit.after.path for edit in edits if edit.after is not None}
    gone = [edit.before.path for edit in edits if edit.before is not None and edit.before.path not in kept]
    return tuple(dict.fromkeys(path for path in named if path)), tuple(dict.fromkeys(gone))


def _changes(request: Asked, paths: tuple[str, ...]) -> dict[str, object]:
    """As the views of a change read it: one file as its diff, several as what is replaced in each."""
    if len(paths) < 2:
        return {"file_path": paths[0] if paths else request.fileName, "fileDiff": request.diff}
    edits = [(edit.before or FileText(), edit.after or FileText()) for edit in request.fileEdits or []]
    return {
        "edits": [
            {"file_path": after.path or before.path, "old_string": before.content, "new_string": after.content}
            for before, after in edits
        ]
    }


def unboxed(request: Asked) -> bool:
    return bool(request.requestSandboxBypass or request.requestSandboxPermissive)


def command_behind(asked: Permission) -> str:
    """The command of the call that asks for a path or an address; its own box does not show it."""
    fields = _fields(asked.call.input) if asked.call is not None else {}
    command = fields.get("command")
    return command if isinstance(command, str) else ""


def _fields(raw: Raw) -> dict[str, object]:
    return decoded(dict[str, object], raw) or {}


def _spelt(fields: dict[str, object]) -> str:
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in fields.items()
    )


# --- questions, forms, plans ----------------------------------------------------------------------------------


def _form(form: Form) -> RequestView:
    """The model's own question, or the form of an MCP server, which may also be told no."""
    server, url = form.elicitationSource or "", form.mode == "url"
    kind: Kind = "elicitation" if server or url else "question"
    fields = () if url else forms.questions(bytes(form.requestedSchema))
    title = prompts.line(form.message, f"{server or 'Copilot'} asks something")
    asked_by = f"Asked by the MCP server {server}." if server else ""
    if fields is None or not (fields or kind == "elicitation"):
        body = prompts.paragraphs(form.message, asked_by, "Answer it at the desk: yourcall cannot show this form.")
        return RequestView(kind, title, body)
    if kind == "question":
        # Each list of Copilot's own questions ends with a row for the person's own words.
        questions = tuple(msgspec.structs.replace(q, free_text=q.free_text or not _yes_no(q)) for q in fields)
        return RequestView(kind, title, form.message if len(fields) > 1 else "", questions=questions)
    body = prompts.paragraphs(form.message, form.url or "", asked_by)
    return RequestView(kind, title, body, questions=(*fields, forms.action(url, "Copilot")))


def _yes_no(question: Question) -> bool:
    return [option.label for option in question.options] == ["Yes", "No"]


# What Copilot can do with a plan that is approved, by the name that it has for it.
PLANS: dict[str, Option] = {
    "interactive": Option(
        "approve", "Approve", "allow_once", "Copilot carries the plan out, and asks for permissions as usual."
    ),
    "autopilot": Option(
        "autopilot",
        "Approve, on autopilot",
        "allow_session",
        "Copilot carries the plan out and goes on by itself; it answers its own questions.",
    ),
    "exit_only": Option("exit", "Leave plan mode", "stop", "Copilot leaves plan mode and carries nothing out."),
}


def _plan(plan: Plan) -> RequestView:
    options = [PLANS[action] for action in plan.actions if action in PLANS]
    # The least that a yes allows comes first, whatever the agent recommends.
    options.sort(key=lambda option: ("allow_once", "allow_session", "stop").index(option.effect))
    revise = Option("revise", "Keep planning", "deny", "Copilot stays in plan mode and gets your words.")
    question = Question(DECISION, "Approve this plan?", (*options, revise), free_text=True)
    return RequestView(
        "plan", "Approve the plan?", prompts.paragraphs(plan.planContent or plan.summary), questions=(question,)
    )


def action_of(body: bytes) -> Action | None:
    """What the request would do, for the rules; None if it is no request for a permission, or cannot be read.

    A request for a path, or for an address that a command uses, is `other`: its dialog does not say all that a yes
    allows, so no rule for commands, files or hosts answers it.
    """
    kept_request = decoded(Request, body)
    params = (
        decoded(Permission, kept_request.data)
        if kept_request is not None and kept_request.event == PERMISSION
        else None
    )
    if kept_request is None or params is None:
        return None
    request, tool = params.promptRequest, kept_request.tool_name or "other"
    match request.kind:
        case "commands" if request.fullCommandText:
            return Action(tool, "command", command=request.fullCommandText, unboxed=unboxed(request))
        case "write" if (change := changed(request))[0]:
            return Action(tool, "write", paths=change[0], deletes=change[1])
        case "read" if path := request.resolvedPath or request.path:
            return Action(tool, "read", paths=(path,))
        case "url" if params.call is not None and params.call.tool == "web_fetch":
            return Action(tool, "fetch", hosts=host_allowed(request.url))
        case "mcp":
            return Action(tool, "mcp", server=request.serverName)
        case _:
            return Action(tool)
