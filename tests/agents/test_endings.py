"""From what was said without an id to the prompt it is about: whose word was it?"""

from __future__ import annotations

import pytest

from yourcall.agents.endings import ended
from yourcall.agents.sightings import Ending
from yourcall.core.state import State
from yourcall.model.events import CallSettled
from yourcall.model.prompts import Answer, Prompt


@pytest.mark.parametrize(
    ("sent", "arrived", "source"),
    [
        ("go on", "go on", "held"),
        ("if x:\r\n\tgo on\n", "if x:\n    go on", "held"),
        ("go\u200b on", "go on", "held"),
        ("go on", "go away", "desk"),
        ("go on", "go", "desk"),
    ],
)
def test_an_instruction_is_ours_however_it_was_typed(sent: str, arrived: str, source: str) -> None:
    answer = Answer("a1", "phone", "http", texts={"next": sent})
    prompt = Prompt("p1", "ready", "claude", "s1", "/", "Ready", 1.0, "sent", fingerprint="ready", answer=answer)
    told = Ending("s1", "ready", "allowed", arrived, "told")
    (settled,) = ended(State({"p1": prompt}), told, 2.0)
    assert isinstance(settled, CallSettled)
    assert (settled.prompt_id, settled.outcome, settled.source) == ("p1", "allowed", source)
