"""The list of workspaces: kept, private, and never written over when it cannot be read."""

from __future__ import annotations

from pathlib import Path

from yourcall.model.prompts import Refused
from yourcall.store.workspaces import Workspace, Workspaces


def test_what_was_named_is_there_after_a_restart(tmp_path: Path) -> None:
    first = Workspaces(tmp_path)
    assert first.all() == ()
    assert first.add(f"{tmp_path}/./", "") == Workspace(str(tmp_path), tmp_path.name)
    assert first.add(str(tmp_path), " Kites ") == Workspace(str(tmp_path), "Kites")
    again = Workspaces(tmp_path)
    assert again.all() == (Workspace(str(tmp_path), "Kites"),)
    assert (tmp_path / "workspaces.json").stat().st_mode & 0o777 == 0o600
    assert again.remove(str(tmp_path))
    assert not again.remove(str(tmp_path))
    assert Workspaces(tmp_path).all() == ()


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    here = Workspaces(tmp_path)
    for path in ("", "relative", str(tmp_path / "file"), str(tmp_path / "none"), "/\0", "/" + "x" * 5000):
        assert isinstance(here.add(path, ""), Refused), path
    assert here.all() == ()


def test_a_file_that_cannot_be_read_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "workspaces.json"
    file.write_text('[{"path": 1}]')
    here = Workspaces(tmp_path)
    assert here.all() == ()
    refused = here.add(str(tmp_path), "")
    assert isinstance(refused, Refused)
    assert "workspaces.json" in refused.reason
    assert file.read_text() == '[{"path": 1}]'
