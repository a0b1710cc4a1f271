"""Buttons that answer by themselves: each gets a token of its own, which works once.

Rule: a token is known to the one place it is sent to; on disk there is only its hash. No button says yes under a
text that shows less than the whole.
"""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from yourcall.channels.channel import Channel, Notice
from yourcall.channels.context import Taps
from yourcall.core.taps import PREFIX, hash_of
from yourcall.model.prompts import Prompt, Tap
from yourcall.rules.fully_shown import offerable

# Where a token is brought, on our own address.
TAP = "/api/tap"

PARTLY = "(Not all of it is shown here. To allow it, open it.)"
PASSKEY = "(To allow it takes your passkey. Open it.)"


def left_out(made: Notice) -> str:
    """Why there is no button for a yes."""
    return PASSKEY if made.passkey else PARTLY


def fair(made: Notice, sent: str) -> Notice:
    """The notice with the buttons that may stand under the text that is sent."""
    kept = [each for each in made.buttons if offerable(made.needed, each.question, each.option, each.effect, sent)]
    if len(kept) == len(made.buttons):
        return made
    # Half of the choices would read like all of them.
    kept = [each for each in kept if each.effect != "choose"]
    text = "\n".join(filter(None, (made.text, left_out(made))))
    return replace(made, buttons=tuple(kept), partly=True, text=text)


async def with_tokens(made: Notice, channel: Channel, prompt: Prompt, taps: Taps, now: float) -> Notice:
    """The notice with as many live buttons as fit; without any where nobody could be reached by them."""
    able = channel.abilities
    made = fair(made, channel.rendered(made)) if able.buttons else made
    if made.warning and not able.twice:
        # A yes to what is risky takes more than a tap in passing; a no does not.
        made = replace(made, buttons=tuple(each for each in made.buttons if each.effect != "allow_once"))
    # Half of the choices would read like all of them.
    if not made.buttons or len(made.buttons) > able.buttons or not (made.url or able.knows_who):
        return replace(made, buttons=())
    if able.knows_who:
        return made
    tokens = [PREFIX + secrets.token_urlsafe(24) for _ in made.buttons]
    rows = [
        (hash_of(token), Tap(prompt.id, button.question, button.option, made.offer, channel.name, now))
        for token, button in zip(tokens, made.buttons, strict=True)
    ]
    await taps.put_taps(rows)
    given = [replace(button, token=token) for token, button in zip(tokens, made.buttons, strict=True)]
    return replace(made, buttons=tuple(given), answer_url=made.url.partition("/#")[0] + TAP)
