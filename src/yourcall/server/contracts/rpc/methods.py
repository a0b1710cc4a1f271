"""The methods of the JSON-RPC contract: speak to sessions, start and stop them, name workspaces, watch.

Rule: a prompt is answered by its id, through the same ladder as from everywhere else. A number is only ever an
answer to the prompt that this connection was shown; if that is gone, it is refused, and never typed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from pathlib import PurePath

from yourcall.agents.registry import USUAL
from yourcall.agents.screen_spec import key_named
from yourcall.agents.script.requests import AGENT as SCRIPT
from yourcall.agents.session_spec import StartOptions
from yourcall.model.prompts import Answer, Refused, Verdict
from yourcall.model.sessions import Session
from yourcall.server import scopes
from yourcall.server.api.conversation import find_run
from yourcall.server.api.start import give
from yourcall.server.auth import Refusal
from yourcall.server.contracts.rpc.connection import MOST_WATCHED, Connection, WatchedSession
from yourcall.server.contracts.rpc.dialog import YES_OR_NO, Dialog, Moved
from yourcall.server.contracts.rpc.method import BAD_PARAMS, NOT_FOUND, REFUSED, TOO_LATE, UNSURE, Method, Wrong
from yourcall.server.contracts.rpc.queue_methods import QUEUE_METHODS
from yourcall.server.contracts.rpc.review_methods import REVIEW_METHODS
from yourcall.server.contracts.rpc.views import is_live, standing, terminal_app, workspace_id
from yourcall.server.contracts.rpc.wire import (
    ActiveSession,
    AddParams,
    InputParams,
    ListedSession,
    ListParams,
    NoParams,
    RemoveParams,
    SendParams,
    SendResult,
    SessionList,
    SessionParams,
    SessionResult,
    StartParams,
    StateResult,
    Status,
    WatchParams,
    WorkspaceList,
    WorkspaceView,
)
from yourcall.server.peers import lasting_refusal
from yourcall.server.scopes import Scope
from yourcall.system.peer import Author

# Long enough to hear that somebody was first; an answer that comes back later is shown as a prompt again.
SAID_S = 1.0
# So soon after a prompt took the place of another, what is typed was meant for the other: nobody reads faster.
CROSSED_S = 0.7

# --- sessions -----------------------------------------------------------------------------------------------


async def send(line: Connection, params: SendParams) -> SendResult | Wrong:
    store = line.tools.desk.store
    folder = _folder(line, params.workspace_id)
    if isinstance(folder, Wrong):
        return folder
    session = find_run(store, line.id_of(params.session_id)) if params.session_id else None
    known = session if isinstance(session, Session) else None
    own = known is None or line.id_of(params.session_id) != params.session_id
    name = params.session_id if own else ""  # the client's own, not a session's
    if params.permission_mode == "interactive":
        agent = params.agent_type or (known.agent if known else USUAL)
        options = StartOptions(folder or (known.cwd if known else ""), params.prompt, "default")
        return await _begin(line, agent, options, True, name)
    if known is None and params.session_id and not folder:
        return Wrong(NOT_FOUND, "There is no such session, and no workspace_id to start one in.")
    live = known if known is not None and known.state != "ended" else None
    if live is None and known is None and folder:
        live = _newest(line, folder, params.agent_type)
    if live is None:
        agent = params.agent_type or (known.agent if known else USUAL)
        resume = known.id if known is not None else ""
        where = folder or (known.cwd if known else "")
        options = StartOptions(where, params.prompt, params.permission_mode, "", resume)
        return await _begin(line, agent, options, False, name)
    if wrong := _other_agent(live, params.agent_type):
        return wrong
    line.call(name, live.id)
    await _watched(line, live)
    if standing(live, store.live()[0], store).state == "idle":
        line.expect_turn(line.watched[live.id])
    async with line.order.setdefault(live.id, asyncio.Lock()):
        verdict = await give(
            line.tools.desk, line.tools.voice, line.caller, live, params.prompt, certainty=line.certainty
        )
    return _wrong(verdict) or SendResult("sent", line.name_of(live.id))


async def start(line: Connection, params: StartParams) -> SessionResult | Wrong:
    folder = _folder(line, params.workspace_id)
    if isinstance(folder, Wrong):
        return folder
    known = find_run(line.tools.desk.store, line.id_of(params.session_id)) if params.session_id else None
    if isinstance(known, Refusal):
        return Wrong(NOT_FOUND, known.reason)
    if not params.prompt.strip():
        return Wrong(BAD_PARAMS, "Give a prompt: a session begins with its first instruction.")
    quiet = params.permission_mode == "interactive"
    mode = "default" if quiet else params.permission_mode
    where = folder or (known.cwd if known else "")
    options = StartOptions(where, params.prompt, mode, params.model, known.id if known else "")
    begun = await _begin(line, params.agent_type or (known.agent if known else USUAL), options, quiet)
    return begun if isinstance(begun, Wrong) else SessionResult("started", begun.session_id)


async def input(line: Connection, params: InputParams) -> Status | Wrong:
    session = _running(line, params.session_id, params.agent_type)
    if isinstance(session, Wrong):
        return session
    if bool(params.input) == bool(params.key):
        return Wrong(BAD_PARAMS, "Give `input` or `key`, one of them.")
    if params.key and key_named(params.key) is None and len(params.key) > 1:
        return Wrong(BAD_PARAMS, f"There is no key {params.key!r}.")
    async with line.order.setdefault(session.id, asyncio.Lock()):
        watched = line.watched.get(session.id)
        if watched is not None:
            before = watched.dialog
            line.look(session.id)
            if watched.dialog is not None:
                # What was typed crossed the news of another prompt: it was meant for the one before.
                crossed = watched.sudden and time.monotonic() - watched.shown_at < CROSSED_S
                if crossed or watched.dialog is not before:
                    return Wrong(TOO_LATE, "Another prompt has just taken its place: look again.", "too_late")
                return _lacks(line, "answer") or await _answer(line, watched, watched.dialog, params)
        if wrong := _lacks(line, "steer"):
            return wrong
        asks = standing(session, line.tools.desk.store.live()[0], line.tools.desk.store).prompt
        if asks is not None:
            return Wrong(
                TOO_LATE, "A prompt is open that this connection was not shown: workspace/session/watch first."
            )
        if params.key:
            verdict = await _press(line, session, params.key)
        elif params.input.strip().isdecimal() or params.input.strip().lower() in YES_OR_NO:
            return Wrong(
                TOO_LATE,
                "No prompt is open, so this key answers nothing; nothing was typed. To say it: session/send.",
                "too_late",
            )
        else:
            verdict = await give(
                line.tools.desk, line.tools.voice, line.caller, session, params.input, certainty=line.certainty
            )
    return _wrong(verdict) or Status("sent")


def _lacks(line: Connection, needed: Scope) -> Wrong | None:
    caller = line.caller
    if caller.may(needed):
        return None
    return Wrong(REFUSED, scopes.refusal(caller.by, caller.scopes, needed), "refused")


async def _answer(
    line: Connection, watched: WatchedSession, dialog: Dialog, params: InputParams
) -> Status | Wrong:
    """What was typed is about the prompt that was shown here, and about nothing else."""
    typed = dialog.press(params.key) if params.key else dialog.type(params.input)
    if isinstance(typed, Refused):
        return Wrong(REFUSED, typed.reason, "refused")
    if isinstance(typed, Moved):
        line.show(watched)
        return Status("sent")
    caller = line.caller
    # A supervisor does not get here.
    lasting = lasting_refusal(caller, Author("device key"), dialog.prompt, typed.choices)
    if lasting is not None:
        line.look(watched.session_id, again=True)
        return Wrong(REFUSED, lasting, "refused")
    answer = Answer(
        secrets.token_hex(12),
        caller.by,
        caller.via,
        typed.choices,
        typed.texts,
        device=caller.device_id,
        author_certainty=line.certainty,
    )
    watched.answered_here = dialog.prompt.id
    verdict, _ = await line.tools.desk.answer(dialog.prompt.id, answer, SAID_S)
    if wrong := _wrong(verdict):
        if watched.session_id in line.watched:
            line.look(watched.session_id, again=verdict.result in ("refused", "bounced"))
        return wrong
    return Status("sent")


async def _press(line: Connection, session: Session, key: str) -> Verdict:
    if key_named(key) == "escape" and not terminal_app(session):
        return await line.tools.voice.interrupt(session)  # what Escape does, where there is no key to press
    return await line.tools.voice.press(session, key)


async def state(line: Connection, params: SessionParams) -> StateResult | Wrong:
    session = find_run(line.tools.desk.store, line.id_of(params.session_id))
    if isinstance(session, Refusal):
        return Wrong(NOT_FOUND, session.reason)
    if wrong := _other_agent(session, params.agent_type):
        return wrong
    now = standing(session, line.tools.desk.store.live()[0], line.tools.desk.store)
    return StateResult(
        session_id=line.name_of(session.id),
        workspace_id=workspace_id(session.cwd),
        status="stopped" if session.state == "ended" else "running",
        is_pty_mode=bool(terminal_app(session)),
        pty_state=now.state,
        pty_waiting_for_input=now.waiting,
        pty_prompt_type=now.prompt_type,
        is_live=_is_live(line, session) and session.state != "ended",
        agent_type=session.agent,
    )


async def stop(line: Connection, params: SessionParams) -> SessionResult | Wrong:
    session = _running(line, params.session_id, params.agent_type)
    if isinstance(session, Wrong):
        return session
    return _wrong(await line.tools.voice.stop(session)) or SessionResult("stopped", line.name_of(session.id))


async def list_sessions(line: Connection, params: ListParams) -> SessionList | Wrong:
    folder = _folder(line, params.workspace_id)
    if isinstance(folder, Wrong):
        return folder
    prompts, _ = line.tools.desk.store.live()
    wanted = [
        session
        for session in _sessions(line)
        if folder in ("", session.cwd) and params.agent_type in ("", session.agent)
    ]
    return SessionList(
        tuple(
            ListedSession(
                line.name_of(session.id),
                workspace_id(session.cwd),
                session.agent,
                "running",
                _is_live(line, session),
                terminal_app(session),
                session.permission_mode,
                standing(session, prompts, line.tools.desk.store).state,
            )
            for session in wanted
        )
    )


# --- workspaces ---------------------------------------------------------------------------------------------


async def list_workspaces(line: Connection, _params: NoParams) -> WorkspaceList:
    named = {each.path: each.name for each in line.tools.workspaces.all()}
    found = {session.cwd: PurePath(session.cwd).name or session.cwd for session in _sessions(line) if session.cwd}
    return WorkspaceList(tuple(_workspace(line, path, name) for path, name in (found | named).items()))


async def add_workspace(line: Connection, params: AddParams) -> WorkspaceView | Wrong:
    made = line.tools.workspaces.add(params.path, params.name)
    if isinstance(made, Refused):
        return Wrong(REFUSED, made.reason)
    return _workspace(line, made.path, made.name)


async def remove_workspace(line: Connection, params: RemoveParams) -> Status | Wrong:
    for each in line.tools.workspaces.all():
        if workspace_id(each.path) == params.workspace_id:
            if line.tools.workspaces.remove(each.path):
                return Status("removed")
            return Wrong(REFUSED, "The list of workspaces cannot be written; see: yourcall doctor")
    return Wrong(NOT_FOUND, "No such workspace was added. See: workspace/list")


async def watch(line: Connection, params: WatchParams) -> SessionResult | Wrong:
    session = _running(line, params.session_id, params.agent_type)
    if isinstance(session, Wrong):
        return session
    if len(line.watched) >= MOST_WATCHED and session.id not in line.watched:
        return Wrong(REFUSED, f"A connection watches at most {MOST_WATCHED} sessions; unwatch some first.")
    await _watched(line, session)
    return SessionResult("watching", line.name_of(session.id))


async def unwatch(line: Connection, params: WatchParams) -> SessionResult | Wrong:
    for session_id in [params.session_id] if params.session_id else list(line.watched):
        line.unwatch(line.id_of(session_id))
    return SessionResult("unwatched", params.session_id)


# --- what they share ----------------------------------------------------------------------------------------


async def _begin(
    line: Connection, agent: str, options: StartOptions, quiet: bool, name: str = ""
) -> SendResult | Wrong:
    """Start it. `name`: what the client calls it."""
    if not options.cwd:
        return Wrong(BAD_PARAMS, "Say where: give a workspace_id (workspace/add names a folder).")
    before = line.tools.desk.store.session(options.resume) if options.resume else None
    place = await _end_of(line, before) if before is not None else (0, "")
    line.begins()
    try:
        remote = bool(line.caller.device_id) or line.caller.via != "socket"
        private = line.tools.private_terminals
        terminal = quiet and private is not None and private.offers(agent)
        start = private.start if terminal and private is not None else line.tools.starting.start
        begun = await start(agent, options, remote=remote)
        if isinstance(begun, Refused):
            return Wrong(REFUSED, begun.reason, "refused")
        if quiet:
            line.tools.quiet.add(begun)
        line.call(name, begun)
        session = line.tools.desk.store.session(begun)
        if session is not None:
            line.unwatch(begun)  # what was watched under this id has ended
            line.watch(session, place if begun == options.resume else (0, ""), begins=bool(options.prompt))
    finally:
        line.began()
    return SendResult("sent", line.name_of(begun))


async def _watched(line: Connection, session: Session) -> None:
    if session.id not in line.watched:
        line.watch(session, await _end_of(line, session))


async def _end_of(line: Connection, session: Session) -> tuple[int, str]:
    """Where its conversation ends now."""
    messages = await line.tools.conversations.messages(session, after=-1, file="")
    return (0, "") if isinstance(messages, Refused) else (messages.end, messages.file)


def _is_live(line: Connection, session: Session) -> bool:
    """It was not started by us."""
    private = line.tools.private_terminals
    return is_live(session) and not (private is not None and private.has(session))


def _sessions(line: Connection) -> list[Session]:
    living = [session for session in line.tools.desk.store.live()[1] if session.agent != SCRIPT]
    return sorted(living, key=lambda session: (-session.seen_at, session.id))


def _newest(line: Connection, folder: str, agent: str) -> Session | None:
    return next((s for s in _sessions(line) if s.cwd == folder and agent in ("", s.agent)), None)


def _running(line: Connection, session_id: str, agent: str) -> Session | Wrong:
    session = find_run(line.tools.desk.store, line.id_of(session_id))
    if isinstance(session, Refusal):
        return Wrong(NOT_FOUND, session.reason)
    if session.state == "ended":
        return Wrong(NOT_FOUND, "This session is over.")
    return _other_agent(session, agent) or session


def _other_agent(session: Session, agent: str) -> Wrong | None:
    """A missing agent_type means the session's own; another one is a mistake that must not reach it."""
    if agent in ("", session.agent):
        return None
    return Wrong(BAD_PARAMS, f"This session is one of {session.agent!r}, not of {agent!r}.")


def _folder(line: Connection, id: str) -> str | Wrong:
    """The path of a workspace: one that was added, or in which a session lives. None asked for: empty."""
    if not id:
        return ""
    paths = [each.path for each in line.tools.workspaces.all()] + [session.cwd for session in _sessions(line)]
    value = next((path for path in paths if workspace_id(path) == id), None)
    return value or Wrong(NOT_FOUND, "There is no such workspace. See: workspace/list")


def _workspace(line: Connection, path: str, name: str) -> WorkspaceView:
    active = _newest(line, path, "")
    shown = active and ActiveSession(
        line.name_of(active.id), "running", _is_live(line, active), terminal_app(active)
    )
    return WorkspaceView(workspace_id(path), name, os.path.normpath(path), shown)


def _wrong(verdict: Verdict) -> Wrong | None:
    codes = {"refused": REFUSED, "too_late": TOO_LATE, "bounced": TOO_LATE, "unsure": UNSURE}
    return (
        Wrong(codes[verdict.result], verdict.detail or verdict.result, verdict.result)
        if verdict.result in codes
        else None
    )


METHODS: tuple[Method, ...] = (
    Method(
        "session/send",
        send,
        SendParams,
        SendResult,
        "Give an instruction. `interactive` always starts a new session; every other mode speaks to one that "
        "lives (the named one, or the newest of the workspace), goes on with one that has ended, or starts one.",
        "steer",
    ),
    Method(
        "session/input",
        input,
        InputParams,
        Status,
        "Type a text or press a key. While a prompt is open, an option's key answers the prompt that this "
        "connection was last shown. Needs `answer` while a prompt is open here, else `steer`.",
        "read",
    ),
    Method("session/state", state, SessionParams, StateResult, "How a session stands.", "read"),
    Method(
        "session/start",
        start,
        StartParams,
        SessionResult,
        "Start a session, or go on with one that has ended.",
        "steer",
    ),
    Method("session/stop", stop, SessionParams, SessionResult, "End a session that was started here.", "steer"),
    Method("session/list", list_sessions, ListParams, SessionList, "The sessions that live.", "read"),
    Method(
        "workspace/list",
        list_workspaces,
        NoParams,
        WorkspaceList,
        "The folders that were added, and those in which sessions live.",
        "read",
    ),
    Method("workspace/add", add_workspace, AddParams, WorkspaceView, "Name a folder to work in.", "steer"),
    Method("workspace/remove", remove_workspace, RemoveParams, Status, "Forget a folder that was added.", "steer"),
    Method(
        "workspace/session/watch",
        watch,
        WatchParams,
        SessionResult,
        "Subscribe this connection to a session's events; its current state is sent at once.",
        "read",
    ),
    Method("workspace/session/unwatch", unwatch, WatchParams, SessionResult, "Unsubscribe.", "read"),
    *QUEUE_METHODS,
    *REVIEW_METHODS,
)
