"""Where paths really lead, and which folder is the project: on a real disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from yourcall.core.asked import Asked
from yourcall.core.doings import parts
from yourcall.core.effects import settled
from yourcall.core.shell import Unread
from yourcall.rulebook.ground import MOST_MATCHES, facts_of, project_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "shop" / "src").mkdir(parents=True)
    (home / "shop" / ".git").mkdir()
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("secret")
    return home


def effects(home: Path, command: str, cwd: str = "shop") -> str:
    found = parts(Asked("Bash", "command", command=command))
    assert not isinstance(found, Unread)
    where = home / cwd
    facts = facts_of(found, str(where), project_of(str(where), str(home)), str(home))
    return " ".join(sorted(frozenset().union(*(settled(part, facts).effects for part in found))))


def test_the_project_is_the_folder_with_the_mark_and_never_the_home(home: Path) -> None:
    shop = home / "shop"
    assert project_of(str(shop / "src"), str(home)) == str(shop)
    assert project_of(str(home), str(home)) == ""
    assert project_of(str(home.parent), str(home)) == ""
    assert project_of("/", str(home)) == ""
    assert project_of("src", str(home)) == ""
    (home / ".git").mkdir()  # dotfiles under git: still not a project that all of the home lies in
    (home / "plain" / "deep").mkdir(parents=True)
    assert project_of(str(home / "plain" / "deep"), str(home)) == str(home / "plain" / "deep")
    link = home / "link"
    link.symlink_to(shop / "src")
    assert project_of(str(link), str(home)) == str(shop)


def test_links_are_followed(home: Path) -> None:
    shop = home / "shop"
    (shop / "out").symlink_to(home)
    (shop / "key").symlink_to(home / ".ssh" / "id_rsa")
    (shop / "loop").symlink_to(shop / "loop")
    assert effects(home, "touch src/x") == "write_inside"
    assert effects(home, "touch out/x") == "write_outside"
    assert effects(home, "touch src/../out/x") == "write_outside"
    assert effects(home, "cd out && touch x") == "unknown write_outside"
    assert effects(home, "cat key") == "read secrets"
    assert effects(home, "cat src") == "read"
    assert effects(home, "echo x > out/.bashrc") == "write_outside"
    assert effects(home, "cd src && touch ../x") == "write_inside"
    (shop / "a" / "b").mkdir(parents=True)
    (shop / "near").symlink_to(shop / "a" / "b")
    assert effects(home, "cd near/../.. && touch x") == "unknown write_inside write_outside"  # a shell's own `..`
    assert effects(home, "cat near/../../.ssh/id_rsa") == "read secrets"


def test_patterns_are_what_they_match(home: Path) -> None:
    shop = home / "shop"
    (shop / "src" / "a.py").touch()
    assert effects(home, "cat src/*.py") == "read"
    (shop / "src" / "b.py").symlink_to(home / ".ssh" / "id_rsa")
    assert effects(home, "cat src/*.py") == "read secrets"
    (shop / ".env").touch()
    assert effects(home, "cat .e*") == "read secrets"
    (shop / "-rf").touch()
    assert effects(home, "sort *") == "read unknown"  # a file that is an option to whoever gets it
    assert effects(home, "sort ./*") == "read secrets"
    (shop / "src" / "-delete").touch()
    assert effects(home, "cd src && sort *") == "read unknown"
    (shop / "lib" / "-o").mkdir(parents=True)
    (shop / "lib" / "-o" / "x").touch()
    assert effects(home, "cd lib && sort */x") == "read unknown"  # sort -o/x
    assert effects(home, "cd lib && sort ./*/x") == "read"
    (shop / "src" / "-delete").unlink()
    for n in range(MOST_MATCHES + 1):
        (shop / "src" / f"{n}.txt").touch()
    assert effects(home, "cat src/*.txt") == "read unknown"


def test_outside_of_a_project_nothing_is_inside(home: Path) -> None:
    assert effects(home, "touch x", cwd=".") == "write_outside"
    assert effects(home, "rm x", cwd=".") == "delete write_outside"
