"""`yourcall answer`: give an answer, stay with it, and say honestly what became of it.

Rule: exit 0 means *confirmed* and nothing less; an answer that may have been given is never given again.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import click

from yourcall.cli.client import Interrupted, Reply, get, refusal
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.requests import Typed, complete_id, complete_option, fetch, judged, understood
from yourcall.cli.step_up import act
from yourcall.cli.terminal.render import clock, safe, span, style
from yourcall.cli.views import Moment, Prompt, Result, read
from yourcall.core.identity import desk_word
from yourcall.server.option_matching import EFFECT_WORDS

# The word of a verdict -> the exit code that scripts rely on: never changed, only added to.
EXIT_CODES = {
    "confirmed": 0,
    "refused": 2,
    "too_late": 3,
    "bounced": 4,
    "unsure": 5,
    "accepted": 6,
    "sent": 6,
    "taken": 6,
    "approved": 7,
}

# The daemon holds one request at most this long; beyond it we look again ourselves.
LONGEST_HOLD = 60.0
LOOK_AGAIN = 0.5

_EPILOG = """\b
Exit codes:
  0  confirmed by the agent          4  bounced: the prompt is open again
  1  yourcall is not running         5  unsure
  2  bad usage                       6  given, not yet proven
  3  too late: somebody was first    7  approved: others have to agree

\b
Examples:
  yourcall answer k3fq allow
  yourcall answer k3fq deny --text "Use pnpm instead."
  yourcall answer k3fq allow --input '{"command": "ls"}'
  yourcall answer k3fq o1,o4
  yourcall answer k3fq Colour=red Sizes=s,m --set-text q3="Warm."
  yourcall answer k3fq allow --no-wait
"""


@click.command("answer", epilog=_EPILOG)
@click.argument("prompt_id", metavar="ID", shell_complete=complete_id)
@click.argument("words", metavar="[OPTION]...", nargs=-1, shell_complete=complete_option)
@click.option("--question", metavar="Q", help="Which question OPTION and --text are for, if there are several.")
@click.option("--text", metavar="T", help="A reason, a message or a free-text answer.")
@click.option("--input", "edited", metavar="JSON", help="Allow with this input instead; - reads it from stdin.")
@click.option("--set", "sets", metavar="Q=OPT[,OPT]", multiple=True, help="Answer one of several questions.")
@click.option("--set-text", "texts", metavar="Q=TEXT", multiple=True, help="Answer one of several in free text.")
@click.option(
    "--sure", is_flag=True, help="Confirm an answer that needs it: a held prompt, a risky yes, a lasting yes."
)
@click.option(
    "--wait", type=click.FloatRange(0), metavar="S", help="Wait this long for confirmation.  [default: 10]"
)
@click.option("--no-wait", is_flag=True, help="Send it and return at once.")
@click.option("--json", "as_json", is_flag=True, help="Print the daemon's reply.")
@pass_place
def command(
    place: Instance,
    prompt_id: str,
    words: tuple[str, ...],
    question: str | None,
    text: str | None,
    edited: str | None,
    sets: tuple[str, ...],
    texts: tuple[str, ...],
    sure: bool,
    wait: float | None,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Answer the prompt ID (its first letters are enough) with OPTION: an option's id, its label, or a word
    such as allow or deny. Where you may choose several: o1,o4. Where several questions are asked: QUESTION=OPTION
    for each. In a terminal it asks before it sends a risky yes or one that lasts; --sure says yes to that. Says
    what became of it: confirmed, too late (and who was first), bounced, unsure."""
    if no_wait and wait is not None:
        raise click.UsageError("--wait and --no-wait contradict each other; give one of them.")
    if not words and text is None and not sets and not texts:
        raise click.UsageError(f"Say what to answer. To see the options: {place.command(f'show {prompt_id}')}")
    patience = 0.0 if no_wait else 10.0 if wait is None else wait
    prompt = fetch(place.home, prompt_id)
    request = understood(prompt, Typed(words, question, text, edited, sets, texts), place)
    if not sure and prompt.state == "open" and sys.stdin.isatty() and sys.stderr.isatty():
        sure = _confirmed(place, prompt, request)
    request |= {"sure": "true"} if sure else {}
    began = time.monotonic()
    try:
        reply, result = give(place.home, prompt.id, request, patience)
    except KeyboardInterrupt:
        # Where we were cannot be told: before it was sent, or while the daemon, which has it, waits for proof.
        raise Problem(
            f"Stopped waiting; the answer may or may not have been taken. Check with: {_look(place, prompt.id)}",
            130,
        ) from None
    if as_json:
        click.echo(json.dumps(reply.data, indent=2))
    else:
        line = sentence(result, place, prompt, time.monotonic() - began)
        good = EXIT_CODES.get(result.result) in (0, 6, 7)
        click.echo(style(line, "green" if result.result == "confirmed" else "") if good else line, err=not good)
    raise click.exceptions.Exit(EXIT_CODES.get(result.result, 5))


def _confirmed(place: Instance, prompt: Prompt, request: dict[str, str]) -> bool:
    """Ask the person for what the inbox and the phone ask for, too; nothing is sent without a yes. A script is not
    asked: it was written in advance, and names what it means."""
    why = due(place.home, prompt, request)
    if not why:
        return False
    try:
        if click.confirm(f"{safe(why)} Send it?", err=True):
            return True
    except click.Abort:
        click.echo(err=True)
    raise Problem("Nothing was sent.", 2)


def due(home: Path, prompt: Prompt, request: dict[str, str]) -> str:
    """Why this answer needs a confirmation, as the daemon judged it; empty if it needs none. A word that may mean
    several options counts for each of them."""
    given: dict[str, Any] = {name: json.loads(request[name]) for name in ("option", "choices") if name in request}
    named = [given["option"]] if "option" in given else []
    named += [word for picks in given.get("choices", {}).values() for word in picks]
    words = {part.strip().casefold() for word in named for part in (word, *word.split(","))}
    meant = [
        option
        for question in prompt.questions
        for option in question.options
        if words & {option.id.casefold(), " ".join(option.label.casefold().split()), option.effect}
        or any(EFFECT_WORDS.get(word) == option.effect for word in words)
    ]
    reasons = {option.id: option.confirm_reason for option in meant if option.confirm}
    if "input" in request and meant:
        reasons = judged(home, prompt.id, request["input"]).confirm
    return next((reasons[option.id] for option in meant if option.id in reasons), "")


def give(home: Path, prompt_id: str, request: dict[str, str], patience: float) -> tuple[Reply, Result]:
    """Post the answer once, then stay with it; `request` maps each field to its JSON text."""
    hold = min(patience, LONGEST_HOLD)
    fields = {**request, "wait": json.dumps(hold)}
    body = "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in fields.items()) + "}"
    deadline = time.monotonic() + patience
    path = f"/api/prompts/{prompt_id}/answer"
    try:
        reply = act(home, "POST", path, body=body, timeout=hold + 10)
    except Interrupted as error:
        _lost_sight(error, prompt_id, Instance(home))
    payload: Any = reply.data
    if reply.status >= 500:
        raise Problem(
            "Unsure: yourcall hit an internal error; the answer may or may not have been taken."
            f" See how it stands: {_look(Instance(home), prompt_id)}",
            5,
        )
    if reply.status >= 400 and (not isinstance(payload, dict) or "result" not in payload):
        raise refusal(reply)
    try:
        result = read(reply.data, Result)
    except Problem as error:
        _lost_sight(error, prompt_id, Instance(home))
    if EXIT_CODES.get(result.result) == 6 and time.monotonic() < deadline:
        return _follow(home, prompt_id, reply, result, deadline)
    return reply, result


def _follow(home: Path, prompt_id: str, reply: Reply, result: Result, deadline: float) -> tuple[Reply, Result]:
    """Look again until the prompt's own story tells how our answer ended."""
    steps = len(result.prompt.history) if result.prompt else 0
    while time.monotonic() < deadline:
        try:
            data: Any = get(home, f"/api/prompts/{prompt_id}")
            prompt = read(data, Prompt)
        except Problem as error:  # whatever it is: the answer was sent, so it is not that yourcall was not running
            _lost_sight(error, prompt_id, Instance(home))
        # The first final step decides: a prompt that bounced may have been answered by another since.
        later = [m for m in prompt.history[steps:] if not m.detail.startswith("too late:")]
        news = next((m for m in later if m.state not in ("answering", "sent", "accepted")), None)
        if later:
            result = _ending(news or later[-1], prompt)
            told = {
                "result": result.result,
                "detail": result.detail,
                "by": result.by,
                "at": result.at,
                "prompt": data,
            }
            reply = Reply(reply.status, told)
        if news is not None:
            break
        time.sleep(min(LOOK_AGAIN, max(deadline - time.monotonic(), 0)))
    return reply, result


def _ending(step: Moment, prompt: Prompt) -> Result:
    """The verdict that a step of the prompt's story is, in the words of core/outcomes.py."""
    words = {
        "answering": "taken",
        "sent": "sent",
        "accepted": "accepted",
        "confirmed": "confirmed",
        "open": "bounced",
        "desk": "too_late",
    }
    if step.state == "desk":
        detail = f"{desk_word(prompt.outcome)} at the desk first"
        return Result("too_late", detail, "desk", prompt.closed_at or step.at, prompt)
    return Result(words.get(step.state, "unsure"), step.detail.removeprefix("bounced: "), step.by, step.at, prompt)


def _lost_sight(error: Exception, prompt_id: str, place: Instance) -> NoReturn:
    raise Problem(
        "Unsure: the connection was lost after the answer was sent; it may or may not have been taken."
        f" See how it stands: {_look(place, prompt_id)}",
        5,
    ) from error


def _look(place: Instance, prompt_id: str) -> str:
    return place.command(f"show {prompt_id}")


def sentence(result: Result, place: Instance, prompt: Prompt, took: float) -> str:
    """The verdict in words: what happened, who, where, when, and what to do now."""
    now = result.prompt or prompt
    detail = safe(result.detail).strip().rstrip(".")
    told = now.outcome if now.outcome not in (None, "unknown") else ""
    outcome = f" It was {safe(told)}." if told and told not in detail else ""
    when = f" at {clock(result.at)} ({span(time.time() - result.at)} ago)" if result.at else ""
    again = _look(place, prompt.id)
    match result.result:
        case "confirmed":
            text = f"Confirmed{f': {detail}' if detail else ''} (after {span(took)}).{outcome}"
        case "too_late":
            who = f", by {safe(result.by)}" if result.by and result.by not in detail.split() else ""
            text = f"Too late: {detail or 'already answered'}{who}{when}.{outcome}"
        case "bounced" if result.prompt is None:  # it is another machine's, and that is away
            text = f"Not sent: {detail}"
        case "bounced":
            where = "" if now.held else ", at the desk only"
            text = f"Bounced: {detail or 'the agent did not take it'}. The prompt is open again{where}: {again}"
        case "accepted":
            text = f"Accepted: {detail or 'the dialog closed'}; not yet proven. See how it ends: {again}"
        case "sent":
            text = f"Sent: no sign yet that the agent took it{f' ({detail})' if detail else ''}. See: {again}"
        case "taken":
            text = f"Taken: the answer is recorded and on its way. See how it ends: {again}"
        case "approved":
            text = f"Your yes counts: {detail}. The prompt stays open until the others agree. See: {again}"
        case "refused":
            text = f"Refused: {detail or 'this prompt does not take that answer'}. What it takes: {again}"
        case _:
            text = (
                f"Unsure: {detail or 'it cannot be known how this prompt ended'}. Look at the desk, and: {again}"
            )
    return text
