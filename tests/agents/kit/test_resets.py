"""When a limit resets: the words of the real agents, and words that only look like them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.kit.resets import FURTHEST_S, JUST_NOW_S, reset_in

AT = datetime(2026, 11, 19, 12, 30, tzinfo=UTC).timestamp()


def utc(day: int, hour: int, minute: int = 0, month: int = 11, year: int = 2026) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("You've hit your session limit · resets 3pm (UTC)", utc(19, 15)),
        ("You've hit your session limit · resets 3:30pm (Europe/Berlin)", utc(19, 14, 30)),
        ("You've hit your weekly limit · resets Nov 22, 9am (America/New_York)", utc(22, 14)),
        ("You've hit your weekly limit · resets Nov 22 at 9am (UTC)", utc(22, 9)),
        ("5-hour limit reached ∙ resets 11am (UTC)", utc(20, 11)),  # the next one
        ("Claude AI usage limit reached|1795100400", 1795100400.0),
        (
            "You've hit your usage limit. Upgrade to Pro, or try again at Nov 20th, 2026 3:45 PM UTC.",
            utc(20, 15, 45),
        ),
        ("You've hit your usage limit. Try again in 2 days 3 hours 4 minutes.", AT + 2 * 86400 + 3 * 3600 + 240),
        ("try again in 45 minutes", AT + 2700),
        ("Usage limit reached for gemini-3. Access resets at 8:00 PM GMT+2.", utc(19, 18)),
        ("Usage limit reached for gemini-3. Access resets at 8:00 PM GMT-5:30.", utc(20, 1, 30)),
        ("resets Jan 2, 9am (UTC)", utc(2, 9, month=1, year=2027)),
        ("Access resets\nat 8:00 PM UTC.", utc(19, 20)),
    ],
)
def test_the_words_of_agents(text: str, when: float) -> None:
    assert reset_in(text, AT) == when


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Usage limit reached for gemini-3.8-flash.",
        "API Error: Request rejected (429) · this may be temporary",
        "The password resets at the third try",
        "He resets 3 counters",
        "resets 25pm (UTC)",
        "resets 3pm (Mars/Olympus)",
        "resets Nov 31, 9am (UTC)",
        "resets Nov 22, 2031 9am (UTC)",
        "limit reached|9999999999",
        "try again at once",
        "try again in a while",
    ],
)
def test_what_names_no_time(text: str) -> None:
    assert reset_in(text, AT) == 0.0


def test_a_time_without_a_zone_is_this_machines() -> None:
    found = reset_in("or try again at 3:45 PM.", AT)
    assert (datetime.fromtimestamp(found).hour, datetime.fromtimestamp(found).minute) == (15, 45)


@given(st.text(), st.floats(min_value=1e9, max_value=3e9))
def test_nothing_makes_it_fail_or_leave_its_range(text: str, at: float) -> None:
    for words in (
        text,
        f"resets {text}",
        f"try again at {text}",
        f"resets at {text} (UTC)",
        f"try again in {text}",
    ):
        found = reset_in(words, at)
        assert found == 0.0 or at - JUST_NOW_S < found < at + FURTHEST_S
