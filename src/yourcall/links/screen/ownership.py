"""What a dialog on a screen is known by, and whether somebody else has told of it.

Rule: touches nothing. A look is compared with a look; what a hook or a socket raised comes before a screen's.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.screen_spec import ScreenSpec, Snapshot
from yourcall.core.state import State
from yourcall.model.events import DialogReached
from yourcall.model.prompts import Prompt
from yourcall.model.screen import Reading

MARK = "screen:"  # how the fingerprint of a prompt begins that only a screen told of

# What a server of the agent's carries is answered there and nowhere else; a key beside it could answer twice. A
# client of a shared server does not say which conversation it shows, so its folder is the sign. Dialogs of the
# client itself (trust, start-up pages) never reach the socket.
SOCKET = "socket"
# Code of ours in the agent's own process tells of its requests by their ids, and of this very session.
PLUGIN = "plugin"
CARRIED = frozenset({"permission", "question", "elicitation"})


class SeenDialog(Struct, frozen=True):
    """What the person was shown, and where; stored as the body of the prompt."""

    server: str
    pane: str
    front: str
    reading: Reading
    screen: str
    mark: str = ""
    tool_input: msgspec.Raw = msgspec.Raw(b"null")  # what a hook told of the call; views read it by this name

    @property
    def shot(self) -> Snapshot:
        return Snapshot(self.reading, self.screen, self.mark)


class _ToolInput(Struct, frozen=True):
    """What was asked, as its hook told it."""

    tool_input: msgspec.Raw = msgspec.Raw(b"null")


def fingerprint(shot: Snapshot) -> str:
    """The same for the same dialog, wherever its highlight is."""
    if shot.mark:
        return f"{MARK}{hashlib.sha256(shot.mark.encode('utf-8', 'replace')).hexdigest()}"
    identity = replace(shot.reading, selected=None, checked=None)
    told = msgspec.json.encode([identity, shot.text if identity.kind == "unknown" else ""])
    return f"{MARK}{hashlib.sha256(told).hexdigest()}"


def asked_elsewhere(state: State, session_id: str, kind: str | None) -> bool:
    """The socket has raised what this session's screen shows; of one and the same call the kinds may differ."""
    session = state.sessions.get(session_id)
    kinds = CARRIED if kind in CARRIED else {kind}
    return session is not None and any(
        prompt.link == SOCKET
        and prompt.state in ("open", "answering", "sent")
        and (prompt.agent, prompt.cwd) == (session.agent, session.cwd)
        and prompt.kind in kinds
        for prompt in state.prompts.values()
    )


def served(state: State, session_id: str) -> bool:
    """There is a conversation of this agent in this folder that a socket tells of: it gets the first word."""
    session = state.sessions.get(session_id)
    return session is not None and any(
        (each.agent, each.cwd) == (session.agent, session.cwd)
        and each.state != "ended"
        and any(link.kind == SOCKET for link in each.links)
        for each in state.sessions.values()
    )


def explained(state: State, session_id: str, kind: str | None) -> bool:
    """A hook, the agent's socket or a plugin has told of what this session waits for. A subagent's request shows
    no dialog while its hook holds it."""
    waiting = [p for p in asked(state, session_id) if p.state in ("open", "answering", "sent")]
    return asked_elsewhere(state, session_id, kind) or any(
        p.link == PLUGIN or (p.link == "hook" and not (p.subagent and p.answerable)) for p in waiting
    )


def told_elsewhere(state: State, prompt: Prompt, session_id: str) -> bool:
    """Is there a better prompt for this dialog? One that a hook raised itself, and lost, is that prompt."""
    if prompt.tool is not None or not from_screen(prompt):
        return asked_elsewhere(state, session_id, prompt.kind) or held(state, session_id)
    return explained(state, session_id, prompt.kind)


def over_meanwhile(state: State, prompt: Prompt) -> bool:
    """Has it ended, or changed hands, since its answer set out? The same dialog may stand there for another
    request: to that one nobody has said anything."""
    now = state.prompts.get(prompt.id)
    return now is None or now.answer != prompt.answer or now.state not in ("answering", "unsure")


def agent_pid_of(state: State, prompt: Prompt) -> int:
    """The agent's own process; 0 where it is not known."""
    session = state.sessions.get(prompt.session_id)
    return session.pid if session is not None else 0


def from_screen(prompt: Prompt) -> bool:
    """Only a screen told of it."""
    return prompt.fingerprint.startswith(MARK)


def on_record(prompt: Prompt, on: ScreenSpec) -> bool:
    """Will the agent's own record tell how this call has ended, where its hooks only inform?"""
    return on.explain is not None and (bool(prompt.call_id) or (on.recorded and prompt.tool is not None))


def held(state: State, session_id: str) -> bool:
    return any(p.link == "hook" and p.answerable and not p.subagent for p in asked(state, session_id))


def asked(state: State, session_id: str) -> list[Prompt]:
    return [p for p in state.of_session(session_id) if p.kind not in ("ready", "problem")]


def left_alone(state: State, session_id: str, shot: Snapshot, on: ScreenSpec) -> Prompt | None:
    """The request that this dialog belongs to, if a hook or a plugin told of it and only the screen answers it."""
    if on.shows is None:
        return None
    prompts = [
        p
        for p in asked(state, session_id)
        if p.link in ("hook", PLUGIN) and p.state == "open" and not p.answerable and on.shows(p, shot)
    ]
    return prompts[0] if len(prompts) == 1 else None


def reached(
    prompt: Prompt, body: bytes, basis: SeenDialog, on: ScreenSpec, at: float
) -> tuple[DialogReached, dict[str, bytes]] | None:
    """Its dialog is in our reach: the same prompt is answered by keys from now on. `body`: what was asked."""
    offer = on.offer(basis.shot)
    # What the request itself told of its questions is more than a screen shows of them.
    questions = prompt.questions if prompt.kind in ("question", "elicitation") else offer.questions
    if not questions or not (offer.questions or prompt.link == PLUGIN):
        return None
    try:
        was = msgspec.json.decode(body, type=_ToolInput)
    except (ValueError, RecursionError):
        was = _ToolInput()
    request = msgspec.json.encode(replace(basis, tool_input=was.tool_input))
    body_id = hashlib.sha256(request).hexdigest()
    return DialogReached(at, prompt.id, "screen", questions, body_id), {body_id: request}
