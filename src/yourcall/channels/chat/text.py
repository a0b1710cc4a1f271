"""What a message in a chat says, as spans with a style each: never as markup, so nothing in it can break out.

Rule: every word that is not ours stands in a `code` or `pre` span, where a platform makes no link, mention or
command of it. Lengths are in UTF-16 units, as the strictest platform counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.buttons import left_out
from yourcall.channels.channel import Notice
from yourcall.channels.chat.draft import Draft, paged
from yourcall.channels.notice import WORDS, visible, warned
from yourcall.core.safety import LASTS
from yourcall.model.prompts import Prompt, Question

# `command`: our own words, with a command in them that a person may copy.
Style = Literal["", "bold", "italic", "code", "pre", "command"]

# The most that a message can have, if its platform has no lower limit.
LONGEST_TEXT = 4096

# What is longer than this is cut in the message and sent whole as a file: a thumb scrolls no further.
LONGEST_BODY = 2400
MOST_SPANS = 100  # styled ones; the strictest platform reads no more
LONGEST_OPTION = 400
LONGEST_OPTIONS = 1200
LONGEST_QUESTION = 400

# Only these say more than their label does; a plain yes or no needs no second line.
_WIDE = frozenset({"allow_session", "allow_always", "choose", "reply"})


# The one word that whoever tapped may go without: the message itself says so in a moment.
SENDING = "Sending…"


class Span(Struct, frozen=True):
    text: str
    style: Style = ""
    language: str = ""


class Message(Struct, frozen=True):
    """`text` is all that is read; `spans` are the same, with how each looks."""

    text: str
    spans: tuple[Span, ...] = ()


class File(Struct, frozen=True):
    name: str
    text: str


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2


def clean(text: str) -> str:
    """Without what no message may hold, or what turns the rest around: half letters, controls, direction marks."""
    return visible(text.replace("\r\n", "\n"))


def short(text: str, most: int) -> str:
    """At most so many units, whole letters."""
    if units(text) <= most:
        return text
    return text.encode("utf-16-le", "replace")[: (most - 1) * 2].decode("utf-16-le", "ignore").rstrip() + "…"


def compose(spans: Sequence[Span], longest: int = LONGEST_TEXT) -> Message:
    """One message of these; what does not fit is cut off at its end."""
    kept: list[Span] = []
    at = styled = 0
    for span in spans:
        if styled >= MOST_SPANS:
            break  # without a style the rest would not be inert
        text = short(clean(span.text), longest - at) if at < longest else ""
        if span.style and not text.strip():
            continue
        styled += bool(span.style)
        kept.append(Span(text, span.style, span.language))
        at += units(text)
    kept = _trimmed(kept)
    return Message("".join(span.text for span in kept) or "…", tuple(kept) or (Span("…"),))


def _trimmed(spans: list[Span]) -> list[Span]:
    """Without white space at both ends, which platforms cut off."""
    while spans and not spans[0].text.strip():
        del spans[0]
    while spans and not spans[-1].text.strip():
        del spans[-1]
    if spans:
        spans[0] = replace(spans[0], text=spans[0].text.lstrip())
        spans[-1] = replace(spans[-1], text=spans[-1].text.rstrip())
    return spans


def told(notice: Notice, draft: Draft | None = None, longest: int = LONGEST_TEXT) -> tuple[Message, list[File]]:
    """The message for a notice, and the files that hold what it has no room for."""
    spans = _heading(notice)
    if notice.standing == "open" and (warning := warned(notice.risk)):
        spans += [Span("\n"), Span(warning, "bold")]
    files: list[File] = []
    if len(notice.prompts) > 1:
        for number, prompt in enumerate(notice.prompts, 1):
            line = f"{prompt.title}: {prompt.body}" if prompt.body else prompt.title
            spans += [
                Span(f"\n{number}. "),
                Span(_place(prompt), "code"),
                Span("\n"),
                Span(short(line, 300), "pre"),
            ]
        spans.append(Span("\n\nTo speak to one of them: /steer"))
    elif notice.prompts:
        said, files = _one(notice, notice.prompts[0], draft or Draft(), longest)
        spans += said
    if notice.standing == "open" and notice.partly:
        spans.append(Span(f"\n\n{left_out(notice)}"))
    sure_of = draft.sure_of if draft is not None else ""
    if notice.standing == "open" and sure_of:
        spans += [Span("\n\n"), Span(notice.warning or LASTS, "bold"), Span(" Are you sure?")]
    if notice.standing == "open" and notice.outcome:
        spans += [Span("\n\n• "), Span(notice.outcome, "code")]
    elif notice.standing != "open":
        spans += [Span("\n\n"), Span(_mark(notice)), Span(notice.outcome or "Nothing is asked any more", "code")]
    return compose(spans, longest), files


def _heading(notice: Notice) -> list[Span]:
    again = Span("Again: ") if notice.reminder and notice.standing == "open" else Span("")
    if len(notice.prompts) > 1:
        return [again, Span(f"{len(notice.prompts)} sessions are ready for you", "bold"), Span("\n")]
    agent = Span(notice.agent.capitalize() or "An agent", "code")
    return [again, agent, Span(" "), Span(WORDS[notice.kind], "bold"), Span(" in "), Span(notice.project, "code")]


def _one(notice: Notice, prompt: Prompt, draft: Draft, longest: int) -> tuple[list[Span], list[File]]:
    spans: list[Span] = []
    files: list[File] = []
    body = prompt.body.strip("\n")
    if prompt.title and prompt.title not in body[: len(prompt.title) + 10]:
        spans += [Span("\n"), Span(short(prompt.title, 300), "pre")]
    if body:
        style = "diff" if is_diff(body) else ""
        spans += [Span("\n"), Span(short(body, min(LONGEST_BODY, longest // 2)), "pre", style)]
        if units(body) > min(LONGEST_BODY, longest // 2):
            files.append(File(_name(prompt, body), body))
            spans.append(Span("\nAll of it is in the file below."))
    if notice.standing == "over":
        return spans, files
    questions = _shown(prompt, draft)
    for question in questions:
        spans += _asked(prompt, question, draft)
        previews = [f"{option.label}\n\n{option.preview}" for option in question.options if option.preview]
        if previews and draft == Draft():
            files.append(File(f"{_plain(question.id)}.txt", "\n\n---\n\n".join(previews)))
    if notice.standing == "open":
        spans.append(Span(_how(prompt, questions)))
    return spans, files


def _shown(prompt: Prompt, draft: Draft) -> Sequence[Question]:
    if not paged(prompt):
        return prompt.questions
    return prompt.questions[min(draft.page, len(prompt.questions) - 1) :][:1]


def _asked(prompt: Prompt, question: Question, draft: Draft) -> list[Span]:
    spans: list[Span] = []
    if question.text not in ("", prompt.title) and (prompt.kind in ("question", "elicitation") or paged(prompt)):
        of = f"{draft.page + 1} of {len(prompt.questions)}: " if len(prompt.questions) > 1 else ""
        spans += [Span(f"\n{of}"), Span(short(question.text, LONGEST_QUESTION), "pre")]
    lines = [
        short(f"{option.label}: {option.description}", LONGEST_OPTION)
        for option in question.options
        if option.description and option.effect in _WIDE
    ]
    if lines:
        spans += [Span("\n"), Span(short("\n".join(lines), LONGEST_OPTIONS), "pre")]
    if text := draft.texts.get(question.id):
        spans += [Span("\nYour words: "), Span(short(text, 300), "code")]
    return spans


def _how(prompt: Prompt, questions: Sequence[Question]) -> str:
    if not prompt.answerable:
        return "\n\nIt can only be answered at the desk."
    if not any(question.free_text for question in questions):
        return ""
    if any(option.effect not in ("choose", "reply") for question in questions for option in question.options):
        return "\n\nTo say something with it, reply to this message first."
    return "\n\nReply to this message to answer as free text."


def _mark(notice: Notice) -> str:
    return "… " if notice.standing == "moving" else "✓ " if notice.outcome.startswith("Done") else "• "


def _place(prompt: Prompt) -> str:
    return prompt.cwd.rstrip("/").rpartition("/")[2] or prompt.cwd or "?"


def is_diff(text: str) -> bool:
    return text.startswith("--- ") and "\n@@" in text


def _name(prompt: Prompt, body: str) -> str:
    return "change.diff" if is_diff(body) else "plan.md" if prompt.kind == "plan" else f"{prompt.kind}.txt"


def _plain(name: str) -> str:
    return "".join(char for char in name if char.isascii() and char.isalnum())[:20] or "options"
