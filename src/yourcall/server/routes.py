"""The table of routes: what there is, who may use it, what it takes and what it says.

Rule: a route that is not here does not exist; the app, the OpenAPI document and the tests of the gate read this.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Raw

from yourcall.conversation import Page
from yourcall.server import conversation, doors, prompts, speaking, starting
from yourcall.server.auth import Refusal
from yourcall.server.openapi import document
from yourcall.server.route import Call, Query, Reply, Route
from yourcall.server.wire import (
    AnswerReply,
    AnswerRequest,
    DeviceRequest,
    DeviceView,
    Done,
    KeyRequest,
    LogLine,
    ModelRequest,
    ModeRequest,
    NewDevice,
    NewSession,
    PairingCode,
    PairRequest,
    PaneRequest,
    PromptStory,
    PromptView,
    SendRequest,
    SessionView,
    SpeakingView,
    SpokenReply,
    StartRequest,
    Status,
)

LIVE = "/api/live"

_SPOKEN = {200: SpokenReply, 409: SpokenReply, 422: SpokenReply}

_LIMIT = Query("limit", "How many, at most 500.", "integer")
_BEFORE = Query(
    "before", "Only what was opened before this time: the `opened_at` of the last one you have.", "number"
)


@cache
def _document() -> dict[str, Any]:
    return document(ROUTES, LIVE)


async def openapi(_call: Call) -> Reply | Refusal:
    return Reply(_document())


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/api/prompts",
        prompts.list_prompts,
        "What waits now, oldest first; with `all`, closed ones too, newest first.",
        {200: list[PromptView]},
        queries=(Query("all", "Closed prompts too.", "boolean"), _LIMIT, _BEFORE),
        refuses=(400,),
    ),
    Route(
        "GET",
        "/api/prompts/{id}",
        prompts.show_prompt,
        "One prompt with its history. The beginning of an id will do if only one prompt has it.",
        {200: PromptStory},
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/prompts/{id}/answer",
        prompts.answer_prompt,
        "Answer a prompt; with `wait`, stay until it is known what became of the answer. 200 confirmed, 202 not "
        "proven yet, 409 too late, bounced or unsure, 422 refused.",
        {200: AnswerReply, 202: AnswerReply, 409: AnswerReply, 422: AnswerReply},
        takes=AnswerRequest,
        refuses=(400, 404, 413),
    ),
    Route("GET", "/api/sessions", prompts.list_sessions, "The sessions that live.", {200: list[SessionView]}),
    Route(
        "GET",
        "/api/sessions/{id}/conversation",
        conversation.read_page,
        "What was said and done in a session, a page at a time from its end; with `after`, what was added since.",
        {200: Page},
        queries=(
            _LIMIT,
            Query(
                "before", "Only what begins before this place: the `next_before` of the page you have.", "integer"
            ),
            Query("after", "Only what was added after this place: the `end` of the page you have.", "integer"),
            Query("file", "The `file` of the page you have: places in another file mean nothing.", "string"),
            Query("subagent", "The id of a subagent: its own conversation.", "string"),
        ),
        refuses=(400, 404),
    ),
    Route(
        "POST",
        "/api/sessions/{id}/send",
        starting.send,
        "Give a session in a tmux pane, or one that was started here, its next instruction, or a follow-up. 200 "
        "confirmed or sent, 409 unsure, 422 refused: nothing was sent.",
        _SPOKEN,
        takes=SendRequest,
        refuses=(400, 404, 413),
    ),
    Route(
        "POST",
        "/api/sessions/{id}/key",
        speaking.key,
        "Press one special key, such as `escape` or `up`; refused while a dialog is open.",
        _SPOKEN,
        takes=KeyRequest,
        refuses=(400, 404, 413),
    ),
    Route(
        "POST",
        "/api/sessions/{id}/interrupt",
        speaking.interrupt,
        "Stop the turn that is running; refused if none is, or while a dialog is open.",
        _SPOKEN,
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/sessions",
        starting.start_session,
        "Start a session without a terminal; its prompts are answered like any other's. 422: refused, and why.",
        {201: NewSession, 422: SpokenReply},
        takes=StartRequest,
        refuses=(400, 404, 413),
    ),
    Route(
        "POST",
        "/api/sessions/{id}/turn",
        starting.turn,
        "The same as `send`: the next instruction answers what waits for it.",
        {200: SpokenReply, 409: SpokenReply, 422: SpokenReply},
        takes=SendRequest,
        refuses=(400, 404, 413),
    ),
    Route(
        "POST",
        "/api/sessions/{id}/mode",
        starting.set_mode,
        "Another permission mode from now on, for a session that was started here.",
        _SPOKEN,
        takes=ModeRequest,
        refuses=(400, 404, 413),
    ),
    Route(
        "POST",
        "/api/sessions/{id}/model",
        starting.set_model,
        "Another model from now on, for a session that was started here.",
        _SPOKEN,
        takes=ModelRequest,
        refuses=(400, 404, 413),
    ),
    Route(
        "POST",
        "/api/sessions/{id}/stop",
        starting.stop_session,
        "End a session that was started here, and all that it runs.",
        _SPOKEN,
        refuses=(404,),
    ),
    Route(
        "GET",
        "/api/sessions/{id}/speaking",
        starting.saying,
        "What a session that was started here is saying right now, before the message is whole.",
        {200: SpeakingView, 422: SpokenReply},
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/panes",
        speaking.watch_pane,
        "Look after a tmux pane in which an agent is about to start, for the dialogs that come before its hooks.",
        {201: SessionView, 422: SpokenReply},
        takes=PaneRequest,
        refuses=(400, 404, 413),
        key="local",
    ),
    Route(
        "GET",
        "/api/log",
        prompts.read_log,
        "Who answered what, when, how long it waited and what then happened; newest first.",
        {200: list[LogLine]},
        queries=(_LIMIT, _BEFORE),
        refuses=(400,),
    ),
    Route("GET", "/api/status", prompts.status, "Version, counts, and where the log stands.", {200: Status}),
    Route("GET", "/api/openapi.json", openapi, "This document.", {200: dict[str, Raw]}),
    Route(
        "POST",
        "/api/pair",
        doors.pair,
        "Trade a pairing code for a device's own token; a browser also gets it as a cookie.",
        {201: NewDevice},
        takes=PairRequest,
        refuses=(400, 403, 413, 429),
        key="nobody",
    ),
    Route("GET", "/api/devices", doors.list_devices, "All devices, revoked ones too.", {200: list[DeviceView]}),
    Route(
        "DELETE",
        "/api/devices/{id}",
        doors.revoke_device,
        "Revoke a device: its token opens nothing any more, its feeds are closed.",
        {200: Done},
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/devices",
        doors.add_device,
        "A token for a script, shown once.",
        {201: NewDevice},
        takes=DeviceRequest,
        refuses=(400, 413),
        key="local",
    ),
    Route(
        "POST",
        "/api/pairing",
        doors.new_code,
        "A fresh pairing code, good for five minutes and one device.",
        {201: PairingCode},
        key="local",
    ),
    Route("POST", "/api/shutdown", doors.shut_down, "Stop the daemon.", {202: Done}, key="local"),
)
