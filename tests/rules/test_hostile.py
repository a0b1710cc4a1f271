"""Rules that people really write, and somebody who writes the model's text against them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hostile_commands import (
    EVERYDAY,
    FRIENDLY,
    GENEROUS,
    HOSTILE,
    HOSTILE_TOOLS,
    OTHER_HOSTS,
    OTHER_HOSTS_TOOLS,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_facts import facts, shell
from shell_joins import JOINS

from yourcall.model.action import Action
from yourcall.rules.policy import Ruling, decide
from yourcall.rules.rule import RequestContext, Rule, problem

SCENE = RequestContext(agent="claude", root="/p", home="/h")
COMMANDS = [command for commands in HOSTILE.values() for command in commands]


def ruled(rules: tuple[Rule, ...], asked: Action) -> Ruling:
    return decide(rules, asked, facts(asked), SCENE)


def test_the_rules_are_ones_that_could_be_written_and_the_attacks_are_many() -> None:
    assert [problem(rule) for rule in GENEROUS] == [""] * len(GENEROUS)
    assert len(set(COMMANDS)) == len(COMMANDS) >= 300
    assert len(set(FRIENDLY)) == len(FRIENDLY) >= 60


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_hostile_is_allowed(command: str) -> None:
    ruling = ruled(GENEROUS, shell(command))
    assert ruling.do != "allow", [(each.part.text, sorted(each.part.effects), each.rule) for each in ruling.parts]


@pytest.mark.parametrize("name", HOSTILE_TOOLS)
def test_no_hostile_tool_call_is_allowed(name: str) -> None:
    assert ruled(GENEROUS, HOSTILE_TOOLS[name]).do != "allow"


@pytest.mark.parametrize("command", FRIENDLY)
def test_what_people_expect_to_pass_does(command: str) -> None:
    ruling = ruled(EVERYDAY, shell(command))
    assert ruling.do == "allow", ruling.why


@pytest.mark.parametrize("asked", [*map(shell, OTHER_HOSTS), *OTHER_HOSTS_TOOLS.values()])
def test_a_rule_for_one_host_allows_no_other(asked: Action) -> None:
    assert ruled(EVERYDAY, asked).do != "allow"


Join = Callable[[str, str], str]
SHORT = [command for command in COMMANDS if len(command) < 2_000]


@given(
    st.sampled_from(SHORT),
    st.lists(st.tuples(st.sampled_from(JOINS), st.sampled_from(FRIENDLY), st.booleans()), min_size=1, max_size=3),
)
@settings(max_examples=300, deadline=None)
def test_nor_is_it_among_what_is_allowed(
    command: str, among: list[tuple[Callable[[str, str], str], str, bool]]
) -> None:
    for join, other, behind in among:
        command = join(other, command) if behind else join(command, other)
    assert ruled(GENEROUS, shell(command)).do != "allow"


LONG = 19_900
SLOW: dict[str, str] = {
    unit: (before + unit * ((LONG - len(before) - len(after)) // len(unit)) + after)
    for before, unit, after in (
        ("ls -", "a", ""),
        ("ls ", "-a ", ""),
        ("", "ls;", ""),
        ("", "ls && ", "ls"),
        ("", "ls | ", "ls"),
        ("cat ", "a ", ""),
        ("echo ", "$(ls) ", ""),
        ("", "(", ""),
        ("", "cat <<E\nx\nE\n", ""),
        ("sed '", "s/a/b/;", "' f"),
        ("sed 's/", "[", "/x/' f"),
        ("", "cd a || ", "ls"),
        ("ls ", "> f ", ""),
        ("", "a=b ", "ls"),
        ("curl ", "a.", ""),
        ("git ", "-c a=b ", "log"),
        ("printf '", "%s", "' a"),
        ("", "git pull && echo a > b && ", "ls"),
        ("", "nice ", "ls"),
        ("cat ", "*a ", ""),
        ("npm test ", "a:b,c", ""),
        ("find " + "a " * 4_000, "-delete ", ""),
        ("sed -i p ", "/x/", " f"),
    )
}


@pytest.mark.parametrize("unit", SLOW)
def test_nothing_takes_long(unit: str) -> None:
    """The slowest takes a quarter of a second, at the longest that is looked at; squared it would be minutes."""
    began = time.perf_counter()
    ruled(GENEROUS, shell(SLOW[unit]))
    assert time.perf_counter() - began < 5
