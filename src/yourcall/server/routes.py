"""The table of routes: what there is, who may use it, what it takes and what it says.

Rule: a route that is not here does not exist; the app, the OpenAPI document and the tests of the gate read this.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Raw

from yourcall.agents.script.read import Ask
from yourcall.conversation import Page, Picture
from yourcall.server import (
    asks,
    conversation,
    doors,
    interactive_feed,
    mirror,
    prompts,
    push,
    rules,
    speaking,
    starting,
    uploads,
)
from yourcall.server.auth import Refusal
from yourcall.server.interactive import InteractivePrompt, PromptResponse, ResponseResult
from yourcall.server.openapi import document
from yourcall.server.openrpc import openrpc
from yourcall.server.route import Call, Query, Reply, Route
from yourcall.server.wire import (
    AnswerReply,
    AnswerRequest,
    AskView,
    ChannelTestRequest,
    ChannelView,
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
    ProposalView,
    PushRequest,
    PushView,
    ReportView,
    RuleRequest,
    RulesView,
    RuleTestRequest,
    RuleView,
    RulingView,
    ScreenView,
    SendRequest,
    SessionView,
    SpeakingView,
    SpokenReply,
    StartRequest,
    Status,
    TakenRequest,
    TapReply,
    TapRequest,
    TrialView,
    TriedView,
    UploadView,
    WaitRequest,
)

LIVE, INTERACTIVE = "/api/live", "/api/interactive"
RPC, RPC_TOO = "/api/rpc", "/ws"  # the second is where clients of the contract look for it

_SPOKEN = {200: SpokenReply, 409: SpokenReply, 422: SpokenReply}

_LIMIT = Query("limit", "How many, at most 500.", "integer")
_BEFORE = Query(
    "before", "Only what was opened before this time: the `opened_at` of the last one you have.", "number"
)


@cache
def _document() -> dict[str, Any]:
    return document(ROUTES, LIVE)


async def rpc_document(_call: Call) -> Reply | Refusal:
    return Reply(openrpc())


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
    Route(
        "GET",
        "/api/interactive-prompts",
        interactive_feed.list_interactive,
        "What waits, each as an InteractivePrompt; the same as events: the WebSocket `/api/interactive`.",
        {200: list[InteractivePrompt]},
    ),
    Route(
        "POST",
        "/api/interactive-prompts/respond",
        interactive_feed.respond_interactive,
        "Answer one of them by its `requestId`. Statuses as for an answer; `next`: it has another question.",
        {200: ResponseResult, 409: ResponseResult, 422: ResponseResult},
        takes=PromptResponse,
        refuses=(400, 404, 413),
    ),
    Route(
        "POST",
        "/api/asks",
        asks.ask,
        "Raise a hand: a question of a script's, answered like any other prompt. With the same `id` again, it is "
        "the same question.",
        {201: AskView},
        takes=Ask,
        refuses=(400, 404, 409, 413),
    ),
    Route(
        "POST",
        "/api/asks/{id}/wait",
        asks.wait,
        "Wait for its answer, for at most `wait` seconds. A question that nobody waits for is withdrawn.",
        {200: AskView},
        takes=WaitRequest,
        refuses=(400, 404, 413),
    ),
    Route(
        "POST",
        "/api/asks/{id}/taken",
        asks.taken,
        "The script has this answer: it is confirmed now.",
        {200: AskView},
        takes=TakenRequest,
        refuses=(400, 404, 409, 413),
    ),
    Route(
        "DELETE",
        "/api/asks/{id}",
        asks.withdraw,
        "The script no longer asks; an answer that it has not taken is told as unsure.",
        {200: AskView},
        refuses=(404,),
    ),
    Route(
        "GET",
        "/api/sessions",
        prompts.list_sessions,
        "The sessions that live; with `ended`, those that are over, the latest first.",
        {200: list[SessionView]},
        queries=(Query("ended", "Those that are over.", "boolean"), _LIMIT),
        refuses=(400,),
    ),
    Route(
        "GET",
        "/api/sessions/{id}/pictures",
        conversation.pictures,
        "The pictures of one entry of a conversation, base64.",
        {200: list[Picture]},
        queries=(
            Query("offset", "The entry's own `offset`.", "integer"),
            Query("file", "The `file` of its page.", "string"),
            Query("subagent", "The id of a subagent: its own conversation.", "string"),
        ),
        refuses=(400, 404),
    ),
    Route(
        "GET",
        "/api/sessions/{id}/screen",
        mirror.screen,
        "The terminal of a session in a tmux pane, as it looks now; with `seen`, as soon as it looks different.",
        {200: ScreenView},
        queries=(Query("seen", "The `tag` of the screen you have.", "string"),),
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/uploads",
        uploads.upload,
        "Store a file for an agent to read; the body is the file itself, 20 MB at most. Replies where it is.",
        {201: UploadView},
        queries=(Query("name", "What the file is called.", "string"),),
        refuses=(400, 404, 413, 507),
    ),
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
    Route(
        "GET",
        "/api/prompts/{id}/rule",
        rules.propose,
        '"Always, like this": the rule that would answer such prompts, in words, and what it would have decided '
        "so far. Nothing is changed. 422: none can be made, and why.",
        {200: ProposalView},
        queries=(Query("do", "`allow` (usual), `deny`, `ask` or `hold`.", "string"),),
        refuses=(400, 404, 422),
    ),
    Route(
        "GET",
        "/api/prompts/{id}/ruling",
        rules.explain,
        "What the rules, as they are now, say to this prompt, part by part. 422: rules never answer it.",
        {200: RulingView},
        refuses=(404, 422),
    ),
    Route(
        "GET",
        "/api/rules",
        rules.list_rules,
        "The rules, in words and as text; with `cwd`, those of that project too.",
        {200: RulesView},
        queries=(Query("cwd", "A folder of a project.", "string"),),
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/rules",
        rules.add_rule,
        "Make a rule, like a prompt or as written. 422: refused, and why.",
        {201: RuleView},
        takes=RuleRequest,
        refuses=(400, 404, 413, 422),
    ),
    Route("DELETE", "/api/rules/{name}", rules.remove_rule, "Take a rule back.", {200: Done}, refuses=(404,)),
    Route(
        "POST",
        "/api/rules/undo",
        rules.undo,
        "The rules as they were before the last change; once more brings it back. "
        "With `removed`, only if that change took away the rule of this name.",
        {200: Done},
        refuses=(404, 422),
    ),
    Route(
        "POST",
        "/api/rules/test",
        rules.test_rules,
        "What the rules would say to a command in a folder.",
        {200: RulingView},
        takes=RuleTestRequest,
        refuses=(400, 404, 413),
    ),
    Route(
        "GET",
        "/api/rules/dry-run",
        rules.dry_run,
        "What the rules, as they are now, would have decided over the recorded past.",
        {200: TriedView},
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/pause",
        rules.pause,
        "Nothing is decided by rule: every prompt waits.",
        {200: Done},
        refuses=(404,),
    ),
    Route("POST", "/api/resume", rules.resume, "Rules decide again.", {200: Done}, refuses=(404,)),
    Route(
        "GET",
        "/api/log/report",
        rules.report,
        "How long prompts waited, by project and kind, and the rules that would have saved most taps.",
        {200: ReportView},
        refuses=(404,),
    ),
    Route("GET", "/api/status", prompts.status, "Version, counts, and where the log stands.", {200: Status}),
    Route(
        "GET",
        "/api/openrpc.json",
        rpc_document,
        "What the JSON-RPC WebSocket `/api/rpc` offers, as an OpenRPC document.",
        {200: dict[str, Raw]},
    ),
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
        "POST",
        "/api/devices/{id}",
        doors.rename_device,
        "Give a device another name; if another one has it, a number is added.",
        {200: DeviceView},
        takes=DeviceRequest,
        refuses=(400, 404, 413),
    ),
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
    Route(
        "GET",
        "/api/push",
        push.push_state,
        "What a browser subscribes to notifications with, and whether this device is told.",
        {200: PushView},
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/push",
        push.push_on,
        "Notify this device: its browser's own subscription. 422: refused, and why.",
        {201: Done},
        takes=PushRequest,
        refuses=(400, 404, 413, 422),
    ),
    Route("DELETE", "/api/push", push.push_off, "Notify this device no more.", {200: Done}, refuses=(404,)),
    Route("POST", "/api/front", push.in_front, "The app is in front of somebody now.", {200: Done}),
    Route(
        "POST",
        "/api/tap",
        push.tap,
        "Answer with the single-use token of a notification's button. Statuses as for an answer.",
        {200: TapReply, 202: TapReply, 409: TapReply, 422: TapReply},
        takes=TapRequest,
        refuses=(400, 404, 413),
        key="nobody",
    ),
    Route(
        "GET",
        "/api/channels",
        push.list_channels,
        "The ways people are told, and how each does.",
        {200: list[ChannelView]},
        refuses=(404,),
    ),
    Route(
        "POST",
        "/api/channels/test",
        push.test_channels,
        "Send one notice through each channel, or the named one, and say what became of it.",
        {200: list[TrialView]},
        takes=ChannelTestRequest,
        refuses=(400, 404, 413),
        key="local",
    ),
    Route(
        "POST",
        "/api/channels/reload",
        push.reload_channels,
        "Read the channels' configuration again.",
        {200: Done},
        refuses=(404, 422),
        key="local",
    ),
    Route("POST", "/api/shutdown", doors.shut_down, "Stop the daemon.", {202: Done}, key="local"),
)
