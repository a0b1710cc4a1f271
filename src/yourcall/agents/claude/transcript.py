"""What one line of Claude's transcript, or of its stream-json output, adds to the conversation.

Rule: pure and forgiving. A line we do not know says nothing, a field that is not as expected is as good as
missing, and nothing that an agent, a model or a disk could write raises. Lines of type `api-request-blob` and the
like repeat whole messages: only the types in `READERS` count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from yourcall.agents.claude import tools
from yourcall.agents.claude.tools import clipped
from yourcall.agents.kit.wire import time_of
from yourcall.model.conversation import (
    STOPPED,
    AnyEntry,
    AssistantText,
    Compaction,
    Level,
    Notice,
    Result,
    Thinking,
    Tokens,
    UserMessage,
)
from yourcall.model.sessions import Session

# A message is read by a person; beyond this it is a file that was pasted.
LONGEST_MESSAGE = 100_000

T = TypeVar("T")
U = TypeVar("U")
Fields = dict[str, Raw]

NOTHING: Fields = {}
NO_BLOCKS: list[Fields] = []
NO_WORDS: list[str] = []


class Head(Struct):
    type: str = ""


class Usage(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class ModelUsage(Struct):
    inputTokens: int = 0
    outputTokens: int = 0
    cacheReadInputTokens: int = 0
    cacheCreationInputTokens: int = 0


_head = msgspec.json.Decoder(Head)
_fields = msgspec.json.Decoder(Fields)

# What JavaScript writes for text that was cut in the middle of an emoji; JSON has no such letter.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)"
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
OUTPUT = ("<bash-stdout>", "<bash-stderr>", "<local-command-stdout>", "<local-command-stderr>")
_FILE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")


def read_entry(line: bytes) -> list[AnyEntry]:
    """The entries of one line, oldest first; most lines have none."""
    try:
        said = _line(line)
    except (ValueError, RecursionError):
        return []
    if said is None:
        return []
    kind, fields = said
    at = time_of(text(fields, "timestamp"))
    who = text(fields, "agentId") or text(fields, "parent_tool_use_id")
    return [replace(entry, at=at, subagent=who) for entry in READERS[kind](fields)]


def conversation_of(session: Session, subagent: str) -> str:
    """The transcript of a session, or of one of its subagents; empty if there can be none."""
    if not session.transcript.endswith(".jsonl"):
        return ""
    if not subagent:
        return session.transcript
    # The id becomes a part of a path: it holds nothing that could lead elsewhere.
    folder = session.transcript.removesuffix(".jsonl")
    return f"{folder}/subagents/agent-{subagent}.jsonl" if _FILE_ID.fullmatch(subagent) else ""


def _line(line: bytes) -> tuple[str, Fields] | None:
    """The type of a line that counts, and its fields, each still as JSON."""
    try:
        kind = _head.decode(line).type
        if kind not in READERS:
            return None
        line.decode()  # a Raw is not looked into when it is decoded: bytes that are no text would show up later
        return kind, _fields.decode(line)
    except (msgspec.ValidationError, RecursionError):
        return None
    except ValueError:
        whole = mended(line)
        kind = _head.decode(whole).type
        return (kind, _fields.decode(whole)) if kind in READERS else None


def mended(line: bytes) -> bytes:
    """The line with what is no text in it replaced: bytes of no letter, and halves of letters."""
    return _ESCAPE.sub(_whole, line.decode("utf-8", "replace").encode())


def _whole(escape: re.Match[bytes]) -> bytes:
    data = escape[0]
    return rb"\ufffd" if len(data) == 6 and data[2:3] in b"dD" else data


# --- what a person, or something in their place, said -----------------------------------------------------------


def _user(fields: Fields) -> Iterator[AnyEntry]:
    message = value(fields, "message", Fields, NOTHING)
    if flag(fields, "isCompactSummary"):
        yield Compaction(summary=clipped(texts_of(message.get("content")), LONGEST_MESSAGE))
        return
    blocks = value(message, "content", list[Fields], NO_BLOCKS)
    results = [block for block in blocks if text(block, "type") == "tool_result"]
    for block in results:
        outcome = fields.get("toolUseResult", Raw(b"null")) if len(results) == 1 else Raw(b"null")
        output = _unwrapped(texts_of(block.get("content")), "tool_use_error")
        yield tools.completed(text(block, "tool_use_id"), output, flag(block, "is_error"), outcome)
    if flag(fields, "isMeta"):
        return
    origin = text(value(fields, "origin", Fields, NOTHING), "kind")
    yield from _said(texts_of(message.get("content")), "" if origin == "human" else origin)


def _attachment(fields: Fields) -> Iterator[AnyEntry]:
    """Most attachments are the program's words to the model; one is a message sent while the agent worked."""
    attached = value(fields, "attachment", Fields, NOTHING)
    if text(attached, "type") == "queued_command":
        origin = text(value(attached, "origin", Fields, NOTHING), "kind")
        yield from _said(texts_of(attached.get("prompt")), "" if origin == "human" else origin)


def _said(wording: str, by: str) -> Iterator[AnyEntry]:
    wording = wording.strip()
    if not wording:
        return
    if wording in INTERRUPTED:
        yield Notice(text=STOPPED, level="warning")
        return
    if wording.startswith(("<command-name>", "<command-message>")):
        command = f"{_inside(wording, 'command-name')} {_inside(wording, 'command-args')}".strip()
        yield UserMessage(text=clipped(command, LONGEST_MESSAGE))
    elif wording.startswith("<bash-input>"):
        yield UserMessage(text=clipped(f"! {_inside(wording, 'bash-input')}", LONGEST_MESSAGE))
    elif wording.startswith("<task-notification>"):
        news = [_inside(wording, "summary") or "A task has news.", _inside(wording, "result")]
        yield Notice(text=clipped("\n\n".join(part for part in news if part)))
    elif wording.startswith(OUTPUT):
        for tag in (tag.strip("<>") for tag in OUTPUT):
            if inner := _ANSI.sub("", _inside(wording, tag)).strip():
                level: Level = "error" if tag.endswith("stderr") else "info"
                yield Notice(text=clipped(inner), level=level)
    elif not wording.startswith("<system-reminder>") or not wording.endswith("</system-reminder>"):
        yield UserMessage(text=clipped(wording, LONGEST_MESSAGE), by=by[:40])


def _inside(wording: str, tag: str) -> str:
    """What stands in the first such tag; searched, because hostile text could make a pattern slow."""
    _, opened, rest = wording.partition(f"<{tag}>")
    inner, closed, _ = rest.partition(f"</{tag}>")
    return inner.strip() if opened and closed else ""


# --- what the model said and did -------------------------------------------------------------------------------


def _assistant(fields: Fields) -> Iterator[AnyEntry]:
    message = value(fields, "message", Fields, NOTHING)
    model = text(message, "model")
    if flag(fields, "isApiErrorMessage") or model == "<synthetic>":
        level: Level = "error" if flag(fields, "isApiErrorMessage") else "info"
        if wording := texts_of(message.get("content")).strip():
            yield Notice(text=clipped(wording), level=level)
        return
    # Each block of a message is a line of its own and repeats the usage of the whole.
    first = value(fields, "apiBlockIndex", int, -1) == 0
    tokens = _tokens(value(message, "usage", Usage, None)) if first else None
    for block in value(message, "content", list[Fields], NO_BLOCKS):
        for entry in _block(block, fields, model):
            yield replace(entry, tokens=tokens)
            tokens = None


def _block(block: Fields, fields: Fields, model: str) -> Iterator[AssistantText | Thinking | tools.Action]:
    match text(block, "type"):
        case "text":
            if wording := text(block, "text").strip():
                yield AssistantText(text=clipped(wording, LONGEST_MESSAGE), model=model)
        case "thinking" | "redacted_thinking":
            seconds = max(0.0, value(fields, "thinkingDurationMs", float, 0.0)) / 1000
            yield Thinking(text=clipped(text(block, "thinking"), LONGEST_MESSAGE), seconds=seconds)
        case "tool_use" | "server_tool_use" | "mcp_tool_use" if text(block, "id"):
            given = tools.input_of(block.get("input", Raw(b"{}")))
            yield tools.started(text(block, "name"), given, text(block, "id"))
        case kind if kind.endswith("_tool_result") and text(block, "tool_use_id"):
            output = texts_of(block.get("content"))
            yield tools.completed(text(block, "tool_use_id"), output, flag(block, "is_error"), Raw(b"null"))
        case _:
            pass


# --- what the program itself notes -----------------------------------------------------------------------------


def _system(fields: Fields) -> Iterator[AnyEntry]:
    wording = text(fields, "content")
    match text(fields, "subtype"):
        case "turn_duration":
            yield Result(scope="turn", seconds=_seconds(fields, "durationMs"))
        case "compact_boundary":
            known = value(fields, "compactMetadata", Fields, NOTHING) or value(
                fields, "compact_metadata", Fields, NOTHING
            )
            yield Compaction(
                trigger=text(known, "trigger")[:40],
                tokens_before=value(known, "preTokens", int, value(known, "pre_tokens", int, None)),
                tokens_after=value(known, "postTokens", int, value(known, "post_tokens", int, None)),
            )
        case "api_error":
            yield Notice(text=_api_error(fields), level="error")
        case "local_command":
            yield from _said(wording, "")
        case "permission_denied":
            yield Notice(text=clipped(text(fields, "message") or "A call was refused."), level="warning")
        case "stop_hook_summary":
            for problem in value(fields, "hookErrors", list[str], NO_WORDS):
                yield Notice(text=clipped(f"A stop hook failed: {problem}"), level="warning")
        case _:
            if wording.strip() and not flag(fields, "isMeta"):
                yield Notice(text=clipped(_ANSI.sub("", wording.strip())), level=_level(fields))


def _api_error(fields: Fields) -> str:
    error = value(fields, "error", Fields, NOTHING)
    inner = value(value(error, "error", Fields, NOTHING), "error", Fields, NOTHING)
    why = text(inner, "message") or text(error, "message") or text(fields, "error")
    status = value(error, "status", int, 0)
    wording = " ".join(part for part in ("The model could not be asked:", str(status or ""), why) if part)
    attempt, most = value(fields, "retryAttempt", int, 0), value(fields, "maxRetries", int, 0)
    wait = value(fields, "retryInMs", float, 0.0) / 1000
    return clipped(wording) + (f" (retry {attempt} of {most} in {wait:.0f} s)" if attempt else "")


def _level(fields: Fields) -> Level:
    match text(fields, "level"):
        case "error":
            return "error"
        case "warning" | "warn":
            return "warning"
        case _:
            return "info"


def _result(fields: Fields) -> Iterator[AnyEntry]:
    """The end of a turn, as stream-json tells it; `is_error` decides, whatever the subtype is called."""
    yield Result(
        scope="turn",
        is_error=flag(fields, "is_error"),
        text=clipped(
            text(fields, "result") or ", ".join(value(fields, "errors", list[str], NO_WORDS)), LONGEST_MESSAGE
        ),
        cost_usd=value(fields, "total_cost_usd", float, None),
        seconds=_seconds(fields, "duration_ms"),
        turns=value(fields, "num_turns", int, None),
        tokens=_tokens(value(fields, "usage", Usage, None)),
    )


def _cost_state(fields: Fields) -> Iterator[AnyEntry]:
    nobody: dict[str, ModelUsage] = {}
    used = value(fields, "modelUsage", dict[str, ModelUsage], nobody).values()
    yield Result(
        scope="session",
        cost_usd=value(fields, "totalCostUSD", float, None),
        seconds=_seconds(fields, "totalDuration"),
        tokens=Tokens(
            sum(each.inputTokens for each in used),
            sum(each.outputTokens for each in used),
            sum(each.cacheReadInputTokens for each in used),
            sum(each.cacheCreationInputTokens for each in used),
        ),
    )


READERS = {
    "user": _user,
    "assistant": _assistant,
    "system": _system,
    "attachment": _attachment,
    "result": _result,
    "cost-state": _cost_state,
}


# --- fields ----------------------------------------------------------------------------------------------------


def value(fields: Fields, name: str, kind: type[T], otherwise: U) -> T | U:
    """A field as this type, or something else instead."""
    try:
        return msgspec.json.decode(fields[name], type=kind) if name in fields else otherwise
    except (ValueError, RecursionError):
        return otherwise


def text(fields: Fields, name: str) -> str:
    return value(fields, name, str, "")


def flag(fields: Fields, name: str) -> bool:
    return bytes(fields.get(name, b"")) == b"true"


def texts_of(content: Raw | None) -> str:
    """A content that is a text, or a list of blocks of which the text is wanted."""
    given = {"content": content} if content is not None else {}
    wording = text(given, "content")
    return wording or "\n".join(
        part for block in value(given, "content", list[Fields], NO_BLOCKS) if (part := _text(block))
    )


def _text(block: Fields) -> str:
    match text(block, "type"):
        case "text":
            return text(block, "text")
        case "image" | "document" as what:
            return f"[{what}]"
        case "web_search_result":
            return f"{text(block, 'title')} {text(block, 'url')}".strip()
        case _:
            return ""


def _unwrapped(wording: str, tag: str) -> str:
    return wording.removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")


def _tokens(usage: Usage | None) -> Tokens | None:
    if usage is None:
        return None
    return Tokens(
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
    )


def _seconds(fields: Fields, name: str) -> float | None:
    said = value(fields, name, float, None)
    return None if said is None else max(0.0, said) / 1000
