"""Which version of a prompt somebody has looked at.

Rule: whatever a person decides by is in the digest, and nothing else: how far an answer has come is not.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from yourcall.model.prompts import Answer, Prompt

# Nobody can choose what it is made of and the answer to it at the same time: this is to tell versions apart.
LETTERS = 16


def digest_of(prompt: Prompt) -> str:
    """All that is asked, as a hash: another one when anything of it has changed."""
    tool = prompt.tool.name if prompt.tool else ""
    shown = (
        prompt.id, prompt.kind, prompt.cwd, prompt.title, prompt.body, tool, prompt.request, prompt.questions,
    )  # fmt: skip
    return sha256(msgspec.json.encode(shown)).hexdigest()


def version_of(prompt: Prompt) -> str:
    """The same as long as the same is asked under this id."""
    return digest_of(prompt)[:LETTERS]


def act_of(prompt: Prompt, answer: Answer) -> str:
    """A digest of exactly this answer to exactly this version of the prompt: what a passkey signs, and what two
    persons agree to."""
    said = (
        "answer", prompt.id, digest_of(prompt), sorted(answer.choices.items()), sorted(answer.texts.items()),
        answer.input,
    )  # fmt: skip
    return sha256(msgspec.json.encode(said)).hexdigest()
