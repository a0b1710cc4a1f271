"""Who makes room when a socket is full: a peer with many connections, and never one with a single one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yourcall.system.connections import Crowd, Guest


def test_of_those_who_have_not_said_who_they_are_the_oldest_of_the_greediest_goes() -> None:
    dropped: list[str] = []
    crowd = Crowd(4)
    for name in ("quiet", "greedy 1", "greedy 2", "greedy 3", "newcomer"):
        crowd.enter(name.split()[0], lambda name=name: dropped.append(name))
    assert dropped == ["greedy 1"]


def test_who_is_known_goes_only_if_it_has_several() -> None:
    dropped: list[str] = []
    crowd = Crowd(3)
    for name in ("a", "b", "b2"):
        crowd.know(crowd.enter("", lambda name=name: dropped.append(name)), name[0])
    crowd.know(crowd.enter("", lambda: dropped.append("c")), "c")
    assert dropped == ["b"]
    crowd.enter("", lambda: dropped.append("d"))
    assert dropped == ["b", "d"]  # everybody has one: there is no room to be made


@given(st.lists(st.tuples(st.sampled_from(["enter", "know", "leave"]), st.integers(0, 9)), max_size=60))
def test_there_are_never_more_than_most_and_never_is_one_forgotten(moves: list[tuple[str, int]]) -> None:
    crowd, inside = Crowd(5), list[Guest]()
    for move, number in moves:
        if move == "enter":
            inside.append(crowd.enter(str(number % 3), lambda: None))
            gone = [each for each in inside if each not in crowd]
            assert len(gone) == (len(inside) > 5)
            inside = [each for each in inside if each in crowd]
        elif inside and move == "know":
            crowd.know(inside[number % len(inside)], str(number % 4))
        elif inside:
            crowd.leave(inside.pop(number % len(inside)))
        assert all(each in crowd for each in inside)
        assert len(inside) <= 5
