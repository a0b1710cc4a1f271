"""What Codex's app-server asks a person: each typed request as a prompt.

Rule: every option here has its reply in `reply.py` and says what it does; a request that cannot be asked
for as questions is shown, and is answered at the desk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents.codex import wording
from yourcall.agents.codex.wire import Change, Item, Thread
from yourcall.agents.jsonrpc import Id
from yourcall.agents.kit import forms, prompts
from yourcall.agents.kit.prompts import RequestView, derived_id
from yourcall.agents.kit.wire import decoded
from yourcall.model.action import Action, CallKind
from yourcall.model.events import PromptRaised
from yourcall.model.prompts import Option, Question
from yourcall.model.sessions import Session

AGENT = "codex"
DECISION = "decision"

COMMAND = "item/commandExecution/requestApproval"
CHANGE = "item/fileChange/requestApproval"
INPUT = "item/tool/requestUserInput"
PERMISSIONS = "item/permissions/requestApproval"
ELICITATION = "mcpServer/elicitation/request"
TYPING = "write_stdin"
METHODS = frozenset({COMMAND, CHANGE, INPUT, PERMISSIONS, ELICITATION})

# Codex's own sentence; the name of a tool has no quotes in it.
_TOOL = re.compile(r'run tool "([\w.-]+)"\?$')


class Amendment(Struct, frozen=True):
    execpolicy_amendment: list[str]


class HostRule(Struct, frozen=True):
    host: str
    action: str


class NetworkAmendment(Struct, frozen=True):
    network_policy_amendment: HostRule


class Offer(Struct, frozen=True):
    """A decision that is more than a word: a rule that Codex would write."""

    acceptWithExecpolicyAmendment: Amendment | None = None
    applyNetworkPolicyAmendment: NetworkAmendment | None = None


class Reached(Struct, frozen=True):
    host: str = ""
    protocol: str = ""


class Choice(Struct, frozen=True):
    label: str = ""
    description: str = ""


class AskedQuestion(Struct, frozen=True):
    id: str = ""
    header: str = ""
    question: str = ""
    isOther: bool = False
    isSecret: bool = False
    options: list[Choice] | None = None


class Meta(Struct, frozen=True):
    codex_approval_kind: str | None = ""
    persist: list[str] | str | None = None
    tool_description: str | None = ""
    tool_params: Raw = field(default_factory=lambda: Raw(b"{}"))


class Params(Struct, frozen=True):
    """What the requests have among their parameters."""

    threadId: str = ""
    turnId: str | None = ""
    itemId: str = ""
    approvalId: str | None = ""
    kind: str = ""
    command: str | None = ""
    cwd: str | None = ""
    reason: str | None = ""
    grantRoot: str | None = ""
    availableDecisions: list[Raw] | None = None
    proposedExecpolicyAmendment: list[str] | None = None
    networkApprovalContext: Reached | None = None
    additionalPermissions: wording.Permissions | None = None
    permissions: wording.Permissions | None = None
    questions: list[AskedQuestion] = []
    serverName: str = ""
    mode: str = ""
    message: str = ""
    url: str = ""
    requestedSchema: Raw = field(default_factory=lambda: Raw(b"{}"))
    meta: Meta | None = field(default=None, name="_meta")


AT_THE_DESK = (
    "Codex asks for a secret. Answer it at the desk: what is written here goes through other devices, and is kept"
    " in yourcall's record."
)

# A version of Codex that spells its request otherwise: somebody is waited for all the same.
UNREADABLE = RequestView(
    "unknown",
    "Codex asks something that yourcall cannot read",
    "It can only be answered in Codex's own dialog, at the desk.",
)


class Request(Struct, frozen=True):
    """A request as it is kept: enough to answer it, and to find it again after a restart."""

    method: str
    params: Raw
    tool_name: str = ""
    tool_input: Raw = field(default_factory=lambda: Raw(b"null"))


def raised(
    thread: Thread,
    number: Id,
    method: str,
    given: Raw,
    items: Mapping[str, Item],
    link: str,
    at: float,
    server: str = "",
) -> tuple[PromptRaised, dict[str, bytes]] | None:
    """The prompt of a request; None if it is not one for a person. `server`: which process asks, if it is ours."""
    if method not in METHODS:
        return None
    params = decoded(Params, given)
    view = UNREADABLE if params is None else show(method, params, items)
    params = params or Params(threadId=thread.id)
    turn = params.turnId or ""
    # A turn does not outlive its server, so the server's own number of the request is unique within it. Outside
    # of one (an MCP server's form) that number may have been another request's, of an earlier server.
    outside = () if turn else (server, sha256(given).hexdigest())
    named = (thread.id, turn, method, params.itemId, params.approvalId or "", str(number), *outside)
    kept = {"method": method, "params": given, "tool_name": view.tool, "tool_input": view.input}
    body = msgspec.json.encode(kept)
    return prompts.raised(
        view,
        body,
        Session(thread.sessionId or thread.id, AGENT, params.cwd or thread.cwd),
        id=derived_id(*named),
        fingerprint=derived_id("codex", *named),
        link=link,
        at=at,
        turn_id=turn,
        subagent=name_of(thread),
    )


def name_of(thread: Thread) -> str:
    """How the sub-agent of a thread is called, and its id; empty for the person's own."""
    if not thread.parentThreadId:
        return ""
    return f"{(thread.agentNickname or thread.agentRole or 'sub-agent')[:100]} {thread.id}"


def show(method: str, params: Params, items: Mapping[str, Item]) -> RequestView:
    match method:
        case "item/commandExecution/requestApproval":
            return _command(params)
        case "item/fileChange/requestApproval":
            return _change(params, items.get(params.itemId, Item()))
        case "item/tool/requestUserInput":
            return _questions(params)
        case "item/permissions/requestApproval":
            return _permissions(params)
        case _:
            return _elicitation(params, items)


# --- commands and the network ---------------------------------------------------------------------------------


def _command(params: Params) -> RequestView:
    if params.kind == "writeStdin":
        return _typed(params)
    command = wording.unwrapped(params.command or "")
    reached = params.networkApprovalContext
    extra = wording.permissions(params.additionalPermissions) if params.additionalPermissions else []
    if reached is not None:
        title, verb = (
            prompts.line(f"Connect to {reached.host} ({reached.protocol})"),
            "Lets this connection through",
        )
    else:
        title, verb = prompts.line(command, "Run a command"), "Runs this one command"
    body = prompts.paragraphs(
        f"{reached.protocol}: {reached.host}" if reached else "",
        command,
        params.reason or "",
        "With more permissions:\n" + "\n".join(extra) if extra else "",
    )
    options = (
        Option("allow", "Allow", "allow_once", f"{verb}; the next one is asked again."),
        Option(
            "session",
            "Allow for this session",
            "allow_session",
            f"{verb}; the very same is not asked again until this session ends.",
        ),
        *(option for option, _ in offers(params)),
        *_no("command" if reached is None else "connection"),
    )
    given: dict[str, object] = {"command": command, "description": params.reason or "", "cwd": params.cwd or ""}
    if reached is not None:
        given["host"] = reached.host
    if extra:
        given["permissions"] = extra
    question = Question(DECISION, "May Codex do this?", options, free_text=True)
    return RequestView("permission", title, body, "Bash", given, (question,), params.itemId)


def _typed(params: Params) -> RequestView:
    """Input for a command that runs already. `itemId` is that command's; the call that asks is `approvalId`."""
    terminal, text = wording.typed(params.command or "")
    into = f"terminal {terminal}" if terminal else "a running command"
    options = (
        Option("allow", "Allow", "allow_once", f"Types this into {into}; the next input is asked for again."),
        *_no("input"),
    )
    question = Question(DECISION, "May Codex type this?", options, free_text=True)
    body = prompts.paragraphs(text, params.reason or "")
    given = {"input": text, "terminal": terminal, "cwd": params.cwd or ""}
    title = prompts.line(f"Type into {into}: {text}")
    return RequestView("permission", title, body, TYPING, given, (question,), params.approvalId or "")


def offers(params: Params) -> list[tuple[Option, object]]:
    """The rules that Codex offers to write: each as an option in words, and the decision that takes it."""
    decisions = params.availableDecisions
    if decisions is None and params.proposedExecpolicyAmendment:
        amendment = {"execpolicy_amendment": params.proposedExecpolicyAmendment}
        decisions = [Raw(msgspec.json.encode({"acceptWithExecpolicyAmendment": amendment}))]
    found: list[tuple[Option, object]] = []
    for raw in decisions or []:
        offer = decoded(Offer, raw)
        option = _offer(f"rule{len(found) + 1}", offer) if offer is not None else None
        if option is not None:
            found.append((option, raw))
    return found


def _offer(id: str, offer: Offer) -> Option | None:
    if offer.acceptWithExecpolicyAmendment is not None:
        begins = wording.prefix(offer.acceptWithExecpolicyAmendment.execpolicy_amendment)
        if not begins:
            return None
        return Option(
            id,
            f"Allow and don't ask again for {begins}"[: prompts.LONGEST_TITLE],
            "allow_always",
            f"Runs it, and writes a rule into Codex's rules/default.rules: every command that begins with {begins}"
            " runs without asking, from now on, in all your projects.",
        )
    if offer.applyNetworkPolicyAmendment is None:
        return None
    rule = offer.applyNetworkPolicyAmendment.network_policy_amendment
    if rule.action == "allow":
        does = f"Lets it through, and writes a rule: connections to {rule.host} are not asked for any more."
        return Option(id, f"Always allow {rule.host}"[: prompts.LONGEST_TITLE], "allow_always", does)
    if rule.action == "deny":
        does = f"Refuses it, and writes a rule: connections to {rule.host} are refused from now on, unasked."
        return Option(id, f"Never allow {rule.host}"[: prompts.LONGEST_TITLE], "deny", does)
    return None


def _no(what: str) -> tuple[Option, Option]:
    return (
        Option("deny", "Deny", "deny", f"Refuses this {what}; Codex goes on, with your words if you write some."),
        Option("stop", "Deny and stop", "stop", f"Refuses this {what} and stops the turn; Codex waits for you."),
    )


# --- changes, permissions, questions --------------------------------------------------------------------------


def _change(params: Params, item: Item) -> RequestView:
    wider = f"It asks to write under {params.grantRoot} until this session ends." if params.grantRoot else ""
    body = prompts.paragraphs(params.reason or "", wider, wording.diff(item.changes))
    options = (
        Option("allow", "Allow", "allow_once", "Makes these changes; the next ones are asked for again."),
        Option(
            "session",
            "Allow for this session",
            "allow_session",
            "Makes these changes; further changes to these files are not asked for until this session ends.",
        ),
        *_no("change"),
    )
    question = Question(DECISION, "May Codex make these changes?", options, free_text=True)
    given = {"changes": item.changes}
    title = wording.changes_title(item.changes)
    return RequestView("permission", title, body, "apply_patch", given, (question,), params.itemId)


def _permissions(params: Params) -> RequestView:
    asked = wording.permissions(params.permissions) if params.permissions else []
    options = (
        Option("allow", "Grant for this turn", "allow_once", "Codex has these permissions until this turn ends."),
        Option("session", "Grant for this session", "allow_session", "Codex has them until the session ends."),
        Option("deny", "Deny", "deny", "Grants nothing; Codex goes on without."),
    )
    question = Question(DECISION, "Grant these permissions?", options)
    title = prompts.line("More permissions: " + (", ".join(asked) or "unnamed"))
    body = prompts.paragraphs("\n".join(asked), params.reason or "")
    given = {"permissions": asked, "reason": params.reason or ""}
    return RequestView("permission", title, body, "request_permissions", given, (question,), params.itemId)


def _questions(params: Params) -> RequestView:
    asked = params.questions
    title = prompts.line(asked[0].question if asked else "", "A question")
    if any(question.isSecret for question in asked):
        # What is typed here would be on record; a secret belongs into the terminal that asks for it.
        body = prompts.paragraphs(AT_THE_DESK, *(question.question for question in asked))
        return RequestView("question", title, body, call_id=params.itemId)
    questions = tuple(
        Question(
            question.id,
            question.question or question.header,
            tuple(
                Option(f"o{number}", choice.label, "choose", choice.description, digit=str(number))
                for number, choice in enumerate(question.options or [], 1)
            ),
            free_text=True,
            header=question.header,
        )
        for question in asked
    )
    return RequestView("question", title, "", questions=questions, call_id=params.itemId)


# --- MCP servers ----------------------------------------------------------------------------------------------


def _elicitation(params: Params, items: Mapping[str, Item]) -> RequestView:
    running = [i for i in items.values() if i.type == "mcpToolCall" and i.server == params.serverName]
    call = running[0] if len(running) == 1 else Item()
    if params.meta is not None and params.meta.codex_approval_kind == "mcp_tool_call":
        return _mcp_tool(params, params.meta, call)
    url = params.mode == "url"
    fields = () if url else forms.questions(bytes(params.requestedSchema)) if params.mode == "form" else None
    questions = () if fields is None else (*fields, forms.action(url, "Codex"))
    title = prompts.line(params.message, f"{params.serverName} asks something")
    body = prompts.paragraphs(params.message, params.url, f"Asked by the MCP server {params.serverName}.")
    kind = "unknown" if fields is None else "elicitation"
    return RequestView(kind, title, body, questions=questions, call_id=call.id)


def _mcp_tool(params: Params, meta: Meta, call: Item) -> RequestView:
    match = _TOOL.search(params.message)
    name = call.tool or (match[1] if match else "")
    given = bytes(meta.tool_params)
    persist = [meta.persist] if isinstance(meta.persist, str) else meta.persist or []
    options = [Option("allow", "Allow", "allow_once", "Makes this one call; the next one is asked again.")]
    if "session" in persist:
        does = (
            f"Makes it; {name or 'this tool'} of {params.serverName} is not asked again until this session ends."
        )
        options.append(Option("session", "Allow for this session", "allow_session", does))
    if "always" in persist:
        does = f"Makes it; {name or 'this tool'} of {params.serverName} is never asked again, in any session."
        options.append(Option("always", "Allow always", "allow_always", does))
    options.append(Option("deny", "Deny", "deny", "Refuses this call; Codex goes on, with your words if any."))
    body = prompts.paragraphs(params.message, _spelt(given), meta.tool_description or "")
    question = Question(DECISION, "May Codex call this tool?", tuple(options), free_text=True)
    title = prompts.line(f"{name or 'a tool'} ({params.serverName})")
    tool = f"mcp__{params.serverName}__{name}" if name else f"mcp__{params.serverName}"
    return RequestView("permission", title, body, tool, Raw(given), (question,), call.id)


def _spelt(given: bytes) -> str:
    fields = decoded(dict[str, object], given)
    rows: Sequence[str] = [] if fields is None else [f"{name}: {_plain(value)}" for name, value in fields.items()]
    return "\n".join(rows)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


TOOLS: dict[str, CallKind] = {"Bash": "command", "apply_patch": "write"}


class _Changes(Struct, frozen=True):
    changes: list[Change] = []


def action_of(request: bytes) -> Action | None:
    """What the request would do, for the rules.

    A request for more than one command or one change (a folder for good, typing into a running command, further
    permissions) is `other`, or leaves the sandbox: no rule for commands allows it.
    """
    kept_request = decoded(Request, request)
    params = decoded(Params, kept_request.params) if kept_request is not None else None
    if kept_request is None or params is None:
        return None
    if kept_request.method == COMMAND and params.kind != "writeStdin":
        reached = params.networkApprovalContext
        if reached is not None:
            return Action("Network", "fetch", hosts=(reached.host,) if reached.host else ())
        command = wording.unwrapped(params.command or "")
        more = params.additionalPermissions is not None
        return (
            Action(kept_request.tool_name or "Bash", "command", command=command, unboxed=more) if command else None
        )
    if kept_request.method == CHANGE and not params.grantRoot:
        try:
            changes = msgspec.json.decode(kept_request.tool_input, type=_Changes).changes
        except (ValueError, RecursionError):
            return None
        if not changes or not all(change.path for change in changes):
            return None
        # A file that is moved is written where it goes, and gone where it was.
        moved = [change.kind.move_path for change in changes if change.kind.move_path]
        gone = tuple(c.path for c in changes if c.kind.type == "delete" or c.kind.move_path)
        paths = tuple(dict.fromkeys([*(change.path for change in changes), *moved]))
        return Action(kept_request.tool_name or "apply_patch", "write", paths=paths, deletes=gone)
    return Action(kept_request.tool_name or kept_request.method)
