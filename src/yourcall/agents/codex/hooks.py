"""What Codex's hooks say, as events: for sessions without the control socket.

Rule: a hook of ours only informs and returns at once, for Codex shows no dialog while a hook runs. What the shared
app-server runs is passed over: its socket tells more, and the pane would be that of whoever started it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from yourcall.agents.codex.call_marks import about, mark
from yourcall.agents.codex.screen.offer import offer
from yourcall.agents.kit import hooks
from yourcall.agents.kit.composer import squeezed
from yourcall.agents.kit.dialogs import LONGEST_TITLE
from yourcall.agents.kit.prompts import LONGEST_BODY, READY, derived_id
from yourcall.agents.screen_spec import MatchedCall, Snapshot
from yourcall.agents.sightings import AnnouncedCall, Ending, HookCall, HookResult
from yourcall.model.events import PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Prompt, Tool
from yourcall.model.screen import Reading
from yourcall.model.sessions import Session, SessionState

AGENT = "codex"
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
ENOUGH_SEEN = 60  # letters of a command that is cut: no other request of the same turn begins with all of them
DESK = "desk:"  # what nobody can see on a screen: it is over with its turn

STATE_AFTER: dict[str, SessionState] = {
    "SessionStart": "working",  # it comes with the first message, not with the start
    "UserPromptSubmit": "working",
    "PermissionRequest": "working",
    "Stop": "idle",
    "Interrupt": "idle",
}
# A program that another program runs: nobody is there to be asked.
HEADLESS = frozenset({"exec", "e", "review"})
PATCH_FILE = re.compile(r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$")


class HookPayload(hooks.HookPayload, frozen=True):
    turn_id: str = ""
    agent_id: str = ""  # a sub-agent's: the session is still the one it belongs to
    agent_type: str = ""
    last_assistant_message: str | None = ""


_payload = msgspec.json.Decoder(HookPayload)


def read_hook(call: HookCall) -> HookResult:
    """One hook call. A payload that makes no sense is told as a problem; the agent's dialog is untouched."""
    if call.env.get("runs") == "app-server":
        return HookResult()
    payload = hooks.payload_of(call, _payload)
    if isinstance(payload, HookResult):
        return payload
    if not all(SAFE_ID.fullmatch(id) for id in (payload.session_id, payload.agent_id or payload.session_id)):
        return hooks.impossible_id(call)
    seen = SessionSeen(call.at, _session(call, payload))
    over = Ending(payload.session_id, _desk(payload), None, detail="the turn is over")
    if payload.agent_id and call.event not in ("PermissionRequest", "SubagentStop"):
        return HookResult((seen,))  # a turn of a sub-agent is not the session's
    match call.event:
        case "SessionStart":
            return HookResult((seen,), begins=True)
        case "SessionEnd":
            return HookResult((SessionEnded(call.at, payload.session_id, payload.reason[:80]),))
        case "UserPromptSubmit":
            turn = payload.turn_id[:128]
            text = "the next instruction was given"
            given = Ending(payload.session_id, READY, "allowed", payload.prompt, text, turn)
            return HookResult((seen,), endings=(given, replace(over, turn_id=turn)))
        case "PermissionRequest" if payload.tool_name and call.new_id:
            return HookResult((seen,), told=_asks(call, payload))
        case "Stop" if call.new_id and seen.session.mode == "terminal":
            return HookResult((seen, PromptRaised(call.at, _ready(call, payload))), endings=(over,), turn=call.at)
        case "SubagentStop":
            return HookResult((seen,), endings=(over,))
        case "Stop" | "Interrupt":
            return HookResult((seen,), endings=(over,), turn=call.at)
        case _:
            return HookResult((seen,))


def _session(call: HookCall, payload: HookPayload) -> Session:
    elsewhere = payload.agent_id and call.event != "PermissionRequest"
    state = "unknown" if elsewhere else STATE_AFTER.get(call.event, "unknown")
    session = hooks.session_of(call, payload, AGENT, state)
    return replace(
        session,
        mode="headless" if call.env.get("runs") in HEADLESS else "terminal",
        transcript="" if payload.agent_id else session.transcript,
    )


def _ready(call: HookCall, payload: HookPayload) -> Prompt:
    text = (payload.last_assistant_message or "")[:LONGEST_BODY].strip()
    return replace(hooks.ready_prompt(call, payload, AGENT, text), turn_id=payload.turn_id[:128])


def rested(session: Session, text: str, since: float, at: float) -> Prompt | None:
    """A session whose turn ended while nobody heard its hook."""
    call = HookCall(at, "Stop", b"", {}, "", derived_id(session.id, "rested", str(since)))
    payload = HookPayload(session.id, cwd=session.cwd, permission_mode=session.permission_mode)
    return _ready(call, replace(payload, last_assistant_message=text)) if session.mode == "terminal" else None


def _asks(call: HookCall, payload: HookPayload) -> AnnouncedCall:
    tool = payload.tool_name[:200]
    tool_input = about(bytes(payload.tool_input))
    by = f"Asked by a sub-agent ({payload.agent_type[:80] or 'default'})." if payload.agent_id else ""
    prompt = replace(
        hooks.prompt_of(call, payload, AGENT, _title(tool, tool_input.command)),
        turn_id=payload.turn_id[:128],
        body="\n\n".join(part for part in (by, tool_input.description or "", _shown(payload)) if part)[
            :LONGEST_BODY
        ],
        tool=Tool(tool),
        fingerprint=_desk(payload) + mark(tool, bytes(payload.tool_input)),
        subagent=f"{payload.agent_type or 'agent'} {payload.agent_id}" if payload.agent_id else "",
    )
    return AnnouncedCall(call.new_id, call.at, True, tool, bytes(payload.tool_input), prompt)


def _desk(payload: HookPayload) -> str:
    """How the marks of all begin that this agent, or this sub-agent, asks."""
    return f"{DESK}{payload.agent_id or 'main'}:"


def _title(tool: str, command: str) -> str:
    if tool == "apply_patch":
        text = f"Edit: {', '.join(files_of(command))}"
    elif command:
        text = f"Command: {command}"
    else:
        text = f"Tool: {tool}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + "…"


def _shown(payload: HookPayload) -> str:
    command = about(bytes(payload.tool_input)).command
    return command or bytes(payload.tool_input).decode("utf-8", "replace")


def files_of(patch: str) -> list[str]:
    return PATCH_FILE.findall(patch)


# --- which of these calls is the dialog on the screen about? ---------------------------------------------------


def explain(shot: Snapshot, told: Sequence[AnnouncedCall]) -> MatchedCall | None:
    """The dialog with what was told of it, if exactly one call can be meant.

    What the screen cuts, the person reads in what was told; but then the screen must show enough to recognise it.
    """
    fits = [each for each in told if each.asked and _shows(shot.reading, each)]
    if not fits or len({each.prompt.fingerprint for each in fits}) > 1:
        return None
    first = min(fits, key=lambda each: each.at)
    seen = offer(shot, whole=_recognised(shot.reading, first))
    made = replace(seen, title=first.prompt.title, body=first.prompt.body or seen.body)
    return MatchedCall(made, (first.id,), first.tool, first.input, mark(first.tool, first.input))


def _recognised(reading: Reading, call: AnnouncedCall) -> bool:
    """Is enough of it on the screen to be sure that it is this one?"""
    shown_text, text = squeezed(reading.target or ""), squeezed(about(call.input).command)
    return bool(shown_text) and (call.tool != "Bash" or shown_text == text or len(shown_text) >= ENOUGH_SEEN)


def _shows(reading: Reading, call: AnnouncedCall) -> bool:
    """Does the dialog show this, as far as it shows anything?"""
    asked = reading.question or ""
    if reading.kind != "permission" or "permissions" in asked:
        return False
    command = about(call.input).command
    if call.tool.startswith("mcp__"):
        return bool(reading.target) and call.tool.endswith(f"__{reading.target}")
    if call.tool == "apply_patch":
        return "edits" in asked and _same_files(reading, files_of(command))
    if "command" not in asked:
        return False
    shown_text, text = squeezed(reading.target or ""), squeezed(command)
    return shown_text == text or (reading.clipped and text.startswith(shown_text))


def _same_files(reading: Reading, files: list[str]) -> bool:
    """A patch names files as the model does; the screen may show where they lie."""
    lines = reading.target.split(", ") if reading.target else []
    if reading.clipped and not lines:
        return True
    return len(lines) == len(files) and all(
        seen == name or seen.endswith("/" + name.removeprefix("./"))
        for seen, name in zip(map(squeezed, lines), map(squeezed, files), strict=True)
    )
