"""In and out again: whoever tries yourcall and takes it out has the machine they had before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from pathlib import Path


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_uninstall_leaves_nothing_behind(tmp_path: Path) -> None:
    person = tmp_path / "ada"
    person.mkdir()
    yourcall = Yourcall(person)
    yourcall.start()
    said = yourcall.run("setup", "claude", "--yes")
    assert said.code == 0, said
    assert (person / ".claude" / "settings.json").exists()
    for index in ("search", "search/conversations"):
        assert yourcall.http("GET", f"/api/{index}?words=kite")[0] == 200
    said = yourcall.run("uninstall", "--yes")
    assert said.code == 0, said
    assert yourcall.ended() == 0
    assert everything(person) == set()
