"""A change of the rules' file changes one rule, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from yourcall.daemon.rules.files import SETTLES_S, Files
from yourcall.model.prompts import Refused
from yourcall.rules.rule import Rule

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


ALLOW = '[reading]\ndo = "allow"\neffect = "read"\n'
DENY = '\n[no-keys]\ndo = "deny"\npath = "keys/**"\n'


def names(files: Files, root: str = "") -> list[str]:
    return [rule.name for rule in files.book(root).rules]


@pytest.mark.parametrize("piece", ["", ALLOW, ALLOW + "\n[no-ke"], ids=["emptied", "half", "in a word"])
def test_a_file_that_is_being_written_over_restricts_as_before(tmp_path: Path, piece: str) -> None:
    """An editor empties the file and writes it piece by piece: the deny at its end was missed meanwhile."""
    file, now = tmp_path / "rules.toml", 100.0
    files = Files(tmp_path, lambda: now)
    file.write_text(ALLOW + DENY)
    assert names(files) == ["reading", "no-keys"]
    with file.open("w") as editor:
        editor.write(piece)
        editor.flush()
        assert "no-keys" in names(files)
        assert files.book() is files.book()
        editor.write((ALLOW + DENY)[len(piece) :])
    assert names(files) == ["reading", "no-keys"]
    assert files.book().problems == ()


def test_so_does_a_projects_file_and_one_that_is_put_in_its_place(tmp_path: Path) -> None:
    now = 100.0
    (tmp_path / "home").mkdir()
    (tmp_path / "shop" / ".yourcall").mkdir(parents=True)
    file, root = tmp_path / "shop" / ".yourcall" / "rules.toml", str(tmp_path / "shop")
    files = Files(tmp_path / "home", lambda: now)
    files.path.write_text(ALLOW)
    file.write_text(DENY)
    assert names(files, root) == ["reading", "no-keys"]
    file.unlink()
    assert names(files, root) == ["reading", "no-keys"]
    file.write_text("")
    assert names(files, root) == ["reading", "no-keys"]
    now += SETTLES_S + 0.1
    assert names(files, root) == ["reading"]


def test_what_was_taken_out_by_hand_counts_no_more_once_the_file_has_settled(tmp_path: Path) -> None:
    now = 100.0
    files = Files(tmp_path, lambda: now)
    files.path.write_text(ALLOW + DENY)
    assert names(files) == ["reading", "no-keys"]
    files.path.write_text(ALLOW)
    assert names(files) == ["reading", "no-keys"]
    now += SETTLES_S + 0.1
    assert names(files) == ["reading"]
    # Through yourcall it is written whole: that counts at once.
    files.path.write_text(ALLOW + DENY)
    assert names(files) == ["reading", "no-keys"]
    assert files.remove("no-keys") is None
    assert names(files) == ["reading"]


def test_undo_takes_back_no_change_that_was_made_by_hand(tmp_path: Path) -> None:
    """A rule was made by a tap, a deny then written by hand: `undo` brought back the file of before both."""
    files = Files(tmp_path)
    assert not isinstance(files.add(Rule("reading", "allow", effect=("read",))), Refused)
    with files.path.open("a") as editor:
        editor.write(DENY)
    by_hand = files.path.read_text()
    said = files.undo()
    assert isinstance(said, Refused)
    assert "by hand" in said.reason
    assert files.path.read_text() == by_hand
    # What was made through yourcall is taken back, and made again.
    assert files.remove("reading") is None
    assert Files(tmp_path).undo() is None
    assert files.path.read_text() == by_hand
    assert files.undo() is None
    assert names(Files(tmp_path)) == ["no-keys"]
