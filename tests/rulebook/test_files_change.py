"""A change of the rules' file changes one rule, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from yourcall.model import Refused
from yourcall.rulebook.files import Files

TEXT = '''[no-pushing]
do = "deny"
command = "git push"
message = """
[policy]
Ask the maintainers."""

[no-curl]
do = "deny"
command = "curl"
'''


@pytest.mark.parametrize("name", ["no-pushing", "policy"])
def test_a_rule_that_cannot_be_cut_out_cleanly_stays(tmp_path: Path, name: str) -> None:
    """A line of its message looks like a section: half of it stayed, and no rule of the file counted any more."""
    (tmp_path / "rules.toml").write_text(TEXT)
    said = Files(tmp_path).remove(name)
    assert isinstance(said, Refused)
    assert (tmp_path / "rules.toml").read_text() == TEXT
    assert Files(tmp_path).remove("no-curl") is None
    assert [rule.name for rule in Files(tmp_path).book().rules] == ["no-pushing"]


def test_a_file_with_a_mistake_can_be_mended_by_removing_it(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[bad]\ndo = "dance"\n\n[no-curl]\ndo = "deny"\ncommand = "curl"\n')
    assert Files(tmp_path).remove("bad") is None
    book = Files(tmp_path).book()
    assert ([rule.name for rule in book.rules], book.problems) == (["no-curl"], ())
