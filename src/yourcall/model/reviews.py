"""A second opinion: another agent reads what a session did, and says what it thinks."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ReviewState = Literal["running", "done", "failed", "ended"]


class Review(Struct, frozen=True, forbid_unknown_fields=True):
    """`session_id` is reviewed by `reviewer`, in a session of its own: `by_session`. `subject`: the beginning of
    what it is about. `text`: the whole review, once it is done; `detail`: why there is none. `round` counts those
    of one session. `sent_at`, `order_id`: when it went back, and as which instruction. `whole_diff`: it was given
    all changes of the `files` that differ."""

    id: str
    session_id: str
    reviewer: str
    by_session: str
    question: str
    at: float
    by: str
    via: str
    round: int = 1
    subject: str = ""
    prompt_id: str = ""
    state: ReviewState = "running"
    text: str = ""
    detail: str = ""
    cost_usd: float = 0.0
    done_at: float = 0.0
    sent_at: float = 0.0
    order_id: str = ""
    files: int = 0
    whole_diff: bool = True
