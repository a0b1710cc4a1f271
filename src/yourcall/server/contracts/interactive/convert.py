"""Prompts in the normalised form of a second contract: InteractivePrompt out, PromptResponse in, by `requestId`.

Rule: only a view. A response is an answer to that one prompt, through the same ladder as from everywhere else; a
prompt with several questions is shown one question at a time, and answered when the last one is.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from yourcall.agents.assess import assessed
from yourcall.core.safety import confirmation, too_late
from yourcall.model.prompts import Answer, Kind, Prompt, Question, Refused, Verdict, VerdictWord
from yourcall.server.auth import Caller
from yourcall.server.option_matching import find, several
from yourcall.server.peers import ANSWER, author_of, lasting_refusal, name_of
from yourcall.server.ports import Bodies, Prompts, Ties
from yourcall.server.views import tool_input

Type = Literal["permission", "question", "plan", "loop-detected"]

TYPES: dict[Kind, Type] = {
    "permission": "permission",
    "trust": "permission",
    "startup": "permission",
    "plan": "plan",
    "loop": "loop-detected",
}  # everything else is a question

# Long enough to hear that somebody was first; an answer that comes back later is told as a prompt again.
SAID_S = 1.0

# What was answered of a prompt with several questions is kept for this many prompts; the oldest is forgotten.
MOST_BEGUN = 100


class Choice(Struct, frozen=True, omit_defaults=True):
    """`confirm`: why to ask the person once more before this one is sent; left out if there is no need."""

    value: str
    label: str
    confirm: str = ""


class TextInput(Struct, frozen=True, omit_defaults=True):
    placeholder: str = ""


class InteractivePrompt(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One thing to answer: buttons for `options`, a text field for `textInput`, both if there are both.
    `multiSelect`: several options may be chosen."""

    request_id: str
    type: Type
    title: str
    description: str
    tool_name: str | None = None
    tool_input: Raw | None = None
    options: tuple[Choice, ...] | None = None
    text_input: TextInput | None = None
    multi_select: bool = False


class PromptResponse(Struct, frozen=True, rename="camel"):
    """Where several may be chosen: `selectedOptions`, or `selectedOption` with commas between them."""

    request_id: Annotated[str, Meta(min_length=1, max_length=200)]
    selected_option: str | None = None
    text_value: str | None = None
    selected_options: tuple[str, ...] = ()


class ResponseResult(Struct, frozen=True, rename="camel"):
    """`result` as for any answer; `next`: the prompt's next question, to be answered under its own `requestId`."""

    request_id: str
    result: VerdictWord | Literal["next"]
    detail: str
    next: InteractivePrompt | None = None


class Begun(Struct):
    """What somebody has answered so far of a prompt with several questions."""

    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    questions: tuple[Question, ...] = ()  # what it answers: to others under the same names it says nothing


class Responses:
    """Who has begun to answer what; one for the whole server."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, str], Begun] = {}

    def at(self, caller: Caller, prompt: Prompt) -> Begun:
        key = (caller.device_id or caller.by, prompt.id)
        begun = self._begun.get(key)
        if begun is None or begun.questions != prompt.questions:
            begun = self._begun[key] = Begun(questions=prompt.questions)
        while len(self._begun) > MOST_BEGUN:
            del self._begun[next(iter(self._begun))]
        return begun

    def forget(self, caller: Caller, prompt: Prompt) -> None:
        self._begun.pop((caller.device_id or caller.by, prompt.id), None)


def interactive(prompt: Prompt, bodies: Bodies, place: int = 0) -> InteractivePrompt:
    """This question of the prompt."""
    question = prompt.questions[place] if place < len(prompt.questions) else None
    form = len(prompt.questions) > 1
    body = bodies.body(prompt.request)
    given = tool_input(body) if prompt.tool is not None else None
    risk = assessed(prompt, body).risk
    asked = question.text if question is not None and (form or prompt.kind != "permission") else ""
    return InteractivePrompt(
        request_id=request_ids(prompt)[place],
        type=TYPES.get(prompt.kind, "question"),
        title=(question.header or question.text) if question is not None and form else prompt.title,
        description="\n\n".join(dict.fromkeys(part for part in (asked, prompt.body) if part)),
        tool_name=prompt.tool.name if prompt.tool is not None else None,
        tool_input=None if given is None or bytes(given) == b"null" else given,
        options=tuple(Choice(o.id, o.label, confirmation(o, risk)) for o in question.options) or None
        if question is not None
        else None,
        text_input=_field(question),
        multi_select=question is not None and question.multi_select,
    )


def request_ids(prompt: Prompt) -> list[str]:
    """The names under which it is shown, question by question."""
    several = len(prompt.questions) > 1
    return [f"{prompt.id}.{place + 1}" for place in range(len(prompt.questions))] if several else [prompt.id]


async def respond(
    desk: Prompts, begun: Responses, caller: Caller, response: PromptResponse, ties: Ties | None = None
) -> ResponseResult | None:
    """What becomes of a response; None if there is no such prompt."""
    id, _, number = response.request_id.partition(".")
    prompt = desk.store.prompt(id)
    if prompt is None:
        return None
    place = int(number) - 1 if number.isascii() and number.isdecimal() and len(number) < 4 else 0
    if not 0 <= place < max(len(prompt.questions), 1) or bool(number) != (len(prompt.questions) > 1):
        return None
    if late := too_late(prompt):
        return _result(response, late)
    if not prompt.questions:
        return _result(response, Verdict("refused", "This prompt can only be answered at the desk."))
    author = await author_of(ties, caller, ANSWER, prompt)
    if isinstance(author, Refused):
        return _result(response, Verdict("refused", author.reason))
    so_far = begun.at(caller, prompt)
    wrong = _take(so_far, prompt, prompt.questions[place], response)
    if wrong is not None:
        return _result(response, Verdict("refused", wrong.reason))
    lasting = lasting_refusal(caller, author, desk.store.prompt(id) or prompt, so_far.choices)
    if lasting is not None:
        begun.forget(caller, prompt)
        return _result(response, Verdict("refused", lasting))
    missing = next((n for n, q in enumerate(prompt.questions) if not _answered(so_far, q)), None)
    refuses = any(
        option.id in so_far.choices.get(question.id, ()) and option.effect in ("deny", "stop")
        for question in prompt.questions
        for option in question.options
    )
    if missing is not None and not refuses:
        left = interactive(prompt, desk.store, missing)
        return ResponseResult(response.request_id, "next", "There is another question.", left)
    begun.forget(caller, prompt)
    answer = Answer(
        secrets.token_hex(12),
        name_of(caller, author),
        caller.via,
        so_far.choices,
        so_far.texts,
        device=caller.device_id,
        author_certainty=author.certainty,
    )
    verdict, _ = await desk.answer(prompt.id, answer, SAID_S)
    return _result(response, verdict)


def _take(so_far: Begun, prompt: Prompt, question: Question, response: PromptResponse) -> Refused | None:
    words, text = list(response.selected_options), response.text_value or ""
    if response.selected_option is not None:
        words += several(question, response.selected_option)
    if not words and not text:
        return Refused("Give `selectedOption` or `textValue`.")
    if not words and prompt.kind == "plan":
        # Feedback on a plan is what one writes instead of approving it: the first no is the one that takes it.
        words = [option.id for option in question.options if option.effect == "deny"][:1]
    picked: list[str] = []
    for word in words:
        option = find(question, word)
        if isinstance(option, Refused):
            return option
        picked.append(option.id)
    if picked:
        so_far.choices = {**so_far.choices, question.id: tuple(dict.fromkeys(picked))}
    if text:
        so_far.texts = {**so_far.texts, question.id: text}
    return None


def _answered(so_far: Begun, question: Question) -> bool:
    return question.id in so_far.choices or question.id in so_far.texts or not question.required


def _field(question: Question | None) -> TextInput | None:
    if question is None or not question.free_text:
        return None
    deciding = any(option.effect not in ("choose", "reply") for option in question.options)
    return TextInput("Your reason, if you like" if deciding else "Type your answer…")


def _result(response: PromptResponse, verdict: Verdict) -> ResponseResult:
    return ResponseResult(response.request_id, verdict.result, verdict.detail)


def decode(data: str | bytes) -> PromptResponse | Refused:
    """A message of a client's; whatever else it says beside the response does not matter."""
    try:
        return msgspec.json.decode(data, type=PromptResponse)
    except (ValueError, RecursionError) as error:
        return Refused(f"This is not a PromptResponse: {error}.")
