"""From prompts to the notice that people see: masked, cut to size, with what can be answered by one tap.

Rule: everything that leaves goes through here; with `titles_only` not a word of the agent's does.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from yourcall.agents.assess import assessed
from yourcall.channels.channel import Button, Notice, Standing
from yourcall.core.identity import desk_word, over
from yourcall.core.lifecycle import CLOSED, IN_FLIGHT
from yourcall.core.prompt_version import digest_of, version_of
from yourcall.core.redact import masked, masked_json, masked_prompt
from yourcall.core.safety import chosen
from yourcall.core.taps import offered
from yourcall.model.prompts import Kind, Moment, Prompt, PromptState, Risk
from yourcall.rules.fully_shown import needed

# What a lock screen shows at most; channels that have more room look into `prompts`.
LONGEST_TITLE = 120
LONGEST_TEXT = 1_500

# Stands before the sentence that says why a yes is risky.
MARK = "⚠"

WORDS: dict[Kind, str] = {
    "permission": "asks for permission",
    "question": "has a question",
    "plan": "has a plan",
    "trust": "asks whether to trust a folder",
    "elicitation": "has a form to fill in",
    "loop": "asks whether to go on",
    "startup": "waits at its start",
    "ready": "is ready for you",
    "problem": "has a problem",
    "unknown": "waits for something",
}


def notice(
    name: str,
    prompts: Sequence[Prompt],
    *,
    titles_only: bool = False,
    url: str = "",
    body: bytes | None = None,
    reminder: int = 0,
    passkey: Collection[tuple[str, str]] = (),
) -> Notice:
    """`body`: what the agent sent with the first of them, verbatim. `passkey`: options, by their question's id and
    their own, that take a passkey: no button can bring one."""
    first = prompts[0]
    project = PurePath(first.cwd).name or first.cwd
    shown = tuple(_bare(prompt) if titles_only else masked_prompt(prompt) for prompt in prompts)
    risk = assessed(first, body).risk if first.state == "open" and len(prompts) == 1 else None
    back = came_back(first) if first.state == "open" and len(prompts) == 1 else ""
    words = () if titles_only else (back, _text(shown))
    made = Notice(
        id=name,
        kind=first.kind,
        title=_short(_title(prompts), LONGEST_TITLE),
        text=_short("\n".join(filter(None, (warned(risk), *words))), LONGEST_TEXT),
        standing=standing(prompts),
        outcome=outcome(first, titles_only) if len(prompts) == 1 else "",
        agent=first.agent,
        project=project,
        url=_link(url, first) if url else "",
        prompts=shown,
        input="" if titles_only else masked_json(_input(body)),
        reminder=reminder,
        risk=risk,
        version=sum(len(prompt.history) for prompt in prompts),
        back=len(_returns(first)) if len(prompts) == 1 else 0,
        seen=version_of(first) if len(prompts) == 1 else "",
    )
    if made.standing != "open" or len(prompts) > 1:
        return made
    must = None if titles_only else needed(first, _fields(body))
    if must is not None and passkey:
        must = replace(must, options={each: words for each, words in must.options.items() if each not in passkey})
    made = replace(made, offer=digest_of(first), needed=must, passkey=bool(passkey))
    buttons = [
        Button(_short(masked(option.label), 40), option.effect, question.id, option.id)
        for question, option in offered(first)
    ]
    if titles_only:  # an option's label is a word of the agent's unless it is a plain no
        made = replace(made, partly=bool(buttons))
        buttons = [replace(button, label="Deny") for button in buttons if button.effect == "deny"][:1]
    return replace(made, buttons=tuple(buttons))


def warned(risk: Risk | None) -> str:
    """The verdict as a line of its own, before any word of the agent's; empty for what is harmless."""
    return f"{MARK} {risk.reason}" if risk is not None and risk.level != "low" else ""


def face(made: Notice) -> str:
    """What the notice shows, as a short word: another one when there is something new to see."""
    seen = (made.title, made.text, made.standing, made.outcome, [button.option for button in made.buttons])
    return sha256(msgspec.json.encode(seen)).hexdigest()[:16]


def standing(prompts: Sequence[Prompt]) -> Standing:
    each = {_standing(prompt) for prompt in prompts}
    return "open" if "open" in each else "moving" if "moving" in each else "over"


def _standing(prompt: Prompt) -> Standing:
    if prompt.state in CLOSED or over(prompt):
        return "over"
    return "open" if prompt.state == "open" else "moving"


def outcome(prompt: Prompt, titles_only: bool = False) -> str:
    """What became of it, never more than is known; with `titles_only` without what was chosen, and why."""
    if prompt.state == "open":
        return came_back(prompt, titles_only)
    by = prompt.answer.by if prompt.answer is not None else ""
    picked = chosen(prompt, prompt.answer) if prompt.answer and not titles_only else []
    text = ", ".join(masked(option.label) for option in picked)
    what = f"{by}: {text}" if text else by
    verb = desk_word(prompt.outcome)
    word: dict[PromptState, str] = {
        "answering": f"Sending ({what})",
        "sent": f"Sent ({what}), not taken yet",
        "accepted": f"Taken ({what})",
        "confirmed": f"Done ({what})",
        "desk": f"{verb.capitalize()} at the desk" + (f": {prompt.outcome}" if verb == "answered" else ""),
        "ended": "No longer asked",
        "unsure": "The result is unknown" if prompt.state not in IN_FLIGHT else "",
    }
    return word.get(prompt.state, "")


def came_back(prompt: Prompt, titles_only: bool = False) -> str:
    """That an answer was given and did not get through, and why; empty if it waits for its first."""
    again = _returns(prompt)
    if not again:
        return ""
    why = "" if titles_only else _short(masked(again[-1].detail.removeprefix("bounced: ")), 200)
    return f"An answer came back{f': {why}' if why else ''}"


def _returns(prompt: Prompt) -> list[Moment]:
    return [two for one, two in pairwise(prompt.history) if one.state != "open" and two.state == "open"]


def _title(prompts: Sequence[Prompt]) -> str:
    if len(prompts) > 1:
        return f"{len(prompts)} sessions are ready for you"
    first = prompts[0]
    project = PurePath(first.cwd).name
    return masked(f"{first.agent.capitalize()} {WORDS[first.kind]}" + (f" in {project}" if project else ""))


def _text(prompts: Sequence[Prompt]) -> str:
    if len(prompts) > 1:
        return "\n".join(_short(f"{PurePath(p.cwd).name}: {p.title or p.body}", 120) for p in prompts)
    first = prompts[0]
    asked = [question.text for question in first.questions if question.text not in ("", first.title)]
    parts = [first.title, first.body, *(asked if first.kind in ("question", "elicitation") else [])]
    if first.kind == "question" and first.state == "open":  # what a choice means is part of what is asked
        parts += [f"{o.label}: {o.description}" for q in first.questions for o in q.options if o.description]
    if not first.answerable and first.state == "open":
        parts.append("It can only be answered at the desk.")
    return "\n".join(dict.fromkeys(part for part in parts if part))


def _bare(prompt: Prompt) -> Prompt:
    """The row without a word of the agent's; what is left says that something waits, and where."""
    return replace(
        prompt, title="", body="", questions=(), tool=None, answer=None, history=(), request="", fingerprint=""
    )


def _link(url: str, prompt: Prompt) -> str:
    return f"{url.rstrip('/')}/#/p/{quote(prompt.id, safe='')}"


class _Asked(msgspec.Struct):
    tool_input: msgspec.Raw = msgspec.Raw(b"")


def _input(body: bytes | None) -> bytes:
    if not body:
        return b""
    try:
        return bytes(msgspec.json.decode(body, type=_Asked).tool_input)
    except (ValueError, RecursionError):
        return b""


def _fields(body: bytes | None) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(_input(body), type=dict[str, Any])
    except (ValueError, RecursionError):
        return None


def visible(text: str) -> str:
    """What hides in a text, or turns it around, by its number: a space in its place would be a lie."""
    return "".join(char if char in "\n\t" or char.isprintable() else f"<U+{ord(char):04X}>" for char in text)


def _short(text: str, most: int) -> str:
    plain = visible(text.replace("\r\n", "\n")).replace("\t", " ").strip()
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"
