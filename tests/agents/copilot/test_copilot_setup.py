"""The flag in Copilot's settings: put in, taken out, and never taken for ours where it is the person's."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.copilot import extension
from yourcall.agents.copilot.setup import FLAG, FLAGS, OURS, add, check, remove
from yourcall.agents.setup_spec import Edited, parse_version
from yourcall.model.prompts import Refused

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
KEYS = st.text(max_size=6).filter(lambda key: key not in (FLAGS, "experimental"))
FLAG_NAMES = st.text(max_size=6).filter(lambda key: key not in (FLAG, OURS))
SETTINGS = st.builds(
    lambda rest, flags: {**rest, **({FLAGS: flags} if flags else {})},
    st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=2), min_size=1, max_size=4),
    st.none() | st.dictionaries(FLAG_NAMES, st.booleans(), min_size=1, max_size=3),
)


def added(text: str | None) -> str:
    edited = add(text, "/h/hook", [(1, 0, 102)], None)
    assert isinstance(edited, Edited), edited
    assert edited.text is not None
    return edited.text


def removed(text: str | None) -> str | None:
    edited = remove(text)
    assert isinstance(edited, Edited), edited
    return edited.text


@given(SETTINGS, st.sampled_from([None, 2, 4]))
def test_what_was_put_in_is_taken_out_to_the_letter(settings: dict[str, object], indent: int | None) -> None:
    text = json.dumps(settings, indent=indent)
    both = added(text)
    flags = {**(settings.get(FLAGS) or {}), FLAG: True, OURS: True}  # type: ignore[dict-item]
    assert json.loads(both) == {**settings, FLAGS: flags}
    assert check(both, "/h/hook", []) == []
    assert added(both) == both
    assert removed(both) == text
    # Copilot writes the file anew when a setting is changed.
    assert json.loads(removed(json.dumps(json.loads(both), indent=2)) or "") == settings


@pytest.mark.parametrize("text", [None, "", "\n"])
def test_a_file_of_our_own_goes_whole(text: str | None) -> None:
    assert json.loads(added(text)) == {FLAGS: {FLAG: True, OURS: True}}
    assert removed(added(text)) == ""


@pytest.mark.parametrize(
    "theirs", [{FLAGS: {FLAG: True}}, {"experimental": True}, {FLAGS: {FLAG: True, "X": False}}]
)
def test_a_flag_that_the_person_has_set_is_theirs(theirs: dict[str, object]) -> None:
    text = json.dumps(theirs)
    assert added(text) == text
    assert removed(text) == text


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"enabledFeatureFlags": []}', '{"enabledFeatureFlags": 1}'])
def test_what_cannot_be_read_is_never_written_over(text: str) -> None:
    assert isinstance(add(text, "/h/hook", [], None), Refused)


def test_a_flag_that_is_switched_off_is_not_switched_on() -> None:
    text = json.dumps({FLAGS: {FLAG: False}})
    assert isinstance(add(text, "/h/hook", [], None), Refused)
    assert [finding.code for finding in check(text, "/h/hook", [])] == ["missing"]


def test_an_older_version_is_refused() -> None:
    assert isinstance(add(None, "/h/hook", [(1, 0, 80)], None), Refused)
    assert parse_version("GitHub Copilot CLI 1.0.102.\nRun 'copilot update'") == (1, 0, 102)


@given(st.text(max_size=80))
def test_any_home_is_spelt_safely(home: str) -> None:
    """A folder's name is a string in the extension, whatever is in it."""
    text = extension.text(home)
    assert text.startswith(extension.MARK)
    (line,) = [each for each in text.split("\n") if each.startswith("const HOME = ")]
    assert json.loads(line.removeprefix("const HOME = ").removesuffix(";")) == home


def test_the_extension_is_a_module_that_prints_nothing(tmp_path: Path) -> None:
    text = extension.text("/h")
    assert "console." not in text
    assert "stdout" not in text
    node = shutil.which("node")
    if node is not None:  # npm, which the tests need, brings it
        (tmp_path / "extension.mjs").write_text(text)
        subprocess.run([node, "--check", str(tmp_path / "extension.mjs")], check=True)
