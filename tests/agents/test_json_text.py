import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yourcall.agents.kit.json_edit import DEEPEST, LONGEST, Broken, Node, cut, put, scan, string, without

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def rebuilt(text: str, node: Node) -> object:
    if node.kind == "object":
        return {item.key: rebuilt(text, item) for item in node.items}
    if node.kind == "array":
        return [rebuilt(text, item) for item in node.items]
    raw = text[node.start : node.end]
    return string(raw) if node.kind == "string" else json.loads(raw)


@given(VALUES, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_every_json_text_is_read_as_json_reads_it(
    value: object, indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    tree = scan(text)
    assert isinstance(tree, Node)
    assert rebuilt(text, tree) == value


@given(st.text(alphabet='{}[]",:\\ \n\rtrue0-1.e+fanlsu\u00e9/x\x00\ufeff'))
@example('{"a":1,}')
@example("[1,]")
@example("[,1]")
@example("{,}")
@example('{"a" 1}')
@example('// comment\n{"a":1}')
@example("01")
@example("1.")
@example("-")
@example('"\\x"')
@example('"a\tb"')
@example("'a'")
@example("\u00a0{}")
@example("{}{}")
@example("")
@example("nul")
def test_what_is_not_json_is_never_taken_for_it(text: str) -> None:
    try:
        json.loads(text, parse_constant=lambda word: pytest.fail(word))
        valid = True
    except ValueError:
        valid = False
    assert isinstance(scan(text), Node) == (valid or (text[:1] == "\ufeff" and isinstance(scan(text[1:]), Node)))


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [('{\n  "a": 1,\n}', 3, 1), ('{"a": x}', 1, 7), ("{}\r\n  !", 2, 3), ("[1 2]", 1, 4), ("", 1, 1)],
)
def test_it_says_where_it_broke(text: str, line: int, column: int) -> None:
    found = scan(text)
    assert isinstance(found, Broken)
    assert (found.line, found.column) == (line, column)


def test_depth_and_length_have_a_limit() -> None:
    assert isinstance(scan("[" * DEEPEST + "]" * DEEPEST), Node)
    for text in ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "[" * LONGEST, '{"a":' * 300_000, " " * (LONGEST + 1)):
        assert isinstance(scan(text), Broken)


@given(st.lists(st.booleans(), min_size=1, max_size=8).filter(lambda gone: not all(gone)), st.booleans())
def test_what_is_cut_leaves_the_others_in_order(gone: list[bool], many_lines: bool) -> None:
    text = json.dumps(list(range(len(gone))), indent=2 if many_lines else None)
    tree = scan(text)
    assert isinstance(tree, Node)
    left = json.loads(cut(text, without(tree, gone)))
    assert left == [number for number, goes in enumerate(gone) if not goes]


def test_pieces_at_one_place_keep_their_order() -> None:
    assert put("ad", [(1, "b"), (0, "<"), (1, "c"), (2, ">")]) == "<abcd>"
