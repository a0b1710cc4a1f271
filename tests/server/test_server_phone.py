"""What only a phone asks for: another name for a device, files for an agent, sessions that are over, branches."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from typing import TYPE_CHECKING

import anyio
import pytest

from yourcall.model.events import SessionEnded
from yourcall.model.prompts import Refused
from yourcall.server.api import uploads
from yourcall.server.api.uploads import Uploads, plain_name
from yourcall.server.project import _look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from server_house import House


async def _bytes(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def test_a_device_gets_another_name_and_never_somebody_elses(house: House) -> None:
    with house.http(house.token("phone")) as phone:
        mine, tablet = phone.get("/api/devices").json()[0]["id"], house.run(house.devices.add("tablet"))[0].id
        renamed = phone.post(f"/api/devices/{mine}", json={"name": "  Ada's   phone "})
        assert (renamed.status_code, renamed.json()["name"], renamed.json()["current"]) == (
            200,
            "Ada's phone",
            True,
        )
        assert phone.post(f"/api/devices/{mine}", json={"name": "ADA'S PHONE"}).json()["name"] == "ADA'S PHONE"
        assert phone.post(f"/api/devices/{tablet}", json={"name": "ada's phone"}).json()["name"] == "ada's phone 2"
        assert phone.post(f"/api/devices/{mine}", json={"name": "desk"}).json()["name"] == "desk 2"
        house.run(house.devices.revoke(tablet))
        assert phone.post(f"/api/devices/{tablet}", json={"name": "back"}).status_code == 404
    assert house.http().post(f"/api/devices/{mine}", json={"name": "x"}).status_code == 401


def test_whoever_has_a_new_name_answers_by_it(house: House) -> None:
    house.ask("p1")
    with house.http(house.token("phone")) as phone:
        mine = phone.get("/api/devices").json()[0]["id"]
        phone.post(f"/api/devices/{mine}", json={"name": "tablet"})
        told = phone.post("/api/prompts/p1/answer", json={"option": "allow", "wait": 0}).json()
    assert told["prompt"]["history"][-1]["by"] == "tablet"


def test_sessions_that_are_over_are_listed_the_latest_first(house: House) -> None:
    for name in ("s1", "s2", "s3"):
        house.session(name)
    house.post(SessionEnded(100.0, "s2"))
    house.post(SessionEnded(200.0, "s1"))
    with house.http(house.token()) as phone:
        assert [each["id"] for each in phone.get("/api/sessions?ended=1").json()] == ["s1", "s2"]
        assert [each["id"] for each in phone.get("/api/sessions?ended=1&limit=1").json()] == ["s1"]
        assert [each["id"] for each in phone.get("/api/sessions").json()] == ["s3"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("photo 1.png", "photo-1.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\a.txt", "a.txt"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("a\nb;$(x).sh", "a-b-x-.sh"),
        ("\u202egnp.exe", "gnp.exe"),
        ("", "file"),
        ("...", "file"),
        ("x" * 300 + ".jpeg", "x" * 60 + ".jpeg"),
    ],
)
def test_a_file_gets_a_harmless_name(said: str, kept: str) -> None:
    assert plain_name(said) == kept


def test_a_file_is_kept_privately_and_whole(tmp_path: Path) -> None:
    place = Uploads(tmp_path / "uploads")
    kept = anyio.run(place.keep, "a.png", _bytes(b"abc", b"def"))
    assert isinstance(kept, tuple)
    path, size = kept
    assert (path.read_bytes(), size, path.name[12:]) == (b"abcdef", 6, "-a.png")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_too_large_or_too_old_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "LARGEST", 10)
    monkeypatch.setattr(uploads, "MOST_BYTES", 15)
    place = Uploads(tmp_path)
    assert isinstance(anyio.run(place.keep, "a", _bytes(b"x" * 6, b"x" * 6)), Refused)
    assert isinstance(anyio.run(place.keep, "a", _bytes()), Refused)
    assert list(tmp_path.iterdir()) == []
    first = anyio.run(place.keep, "a", _bytes(b"x" * 10))
    assert isinstance(first, tuple)
    full = anyio.run(place.keep, "b", _bytes(b"x" * 6))
    assert isinstance(full, Refused)
    assert "no room" in full.reason
    old = time.time() - uploads.KEPT_S - 10
    os.utime(first[0], (old, old))
    assert isinstance(anyio.run(place.keep, "b", _bytes(b"x" * 6)), tuple)
    assert not first[0].exists()


def git(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    named = ("-c", "user.name=a", "-c", "user.email=a@example.net")
    subprocess.run(["git", *named, *words], cwd=folder, env=env, check=True, capture_output=True)


def test_the_branch_is_read_as_git_keeps_it(tmp_path: Path) -> None:
    main = tmp_path / "main"
    (main / "deep" / "er").mkdir(parents=True)
    assert _look(str(main)) == ""
    git(main, "init", "-q", "-b", "feature/kites")
    assert _look(str(main)) == _look(str(main / "deep" / "er")) == "feature/kites"
    git(main, "commit", "-q", "--allow-empty", "-m", "one")
    git(main, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert _look(str(tmp_path / "tree")) == "other"
    git(main, "checkout", "-q", "--detach")
    assert len(_look(str(main))) == 7


def test_odd_folders_say_nothing_and_keep_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert _look(str(tmp_path)) == ""
    (tmp_path / ".git" / "HEAD").unlink()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/a b\x1b[31m\n")
    assert _look(str(tmp_path)) == ""
    assert [_look(odd) for odd in ("", "relative", "/no/such/folder", "/a\0b")] == [""] * 4


def test_a_project_cannot_hide_what_waits_by_an_odd_git_file(house: House, tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: a\0b\n")
    house.ask("there", cwd=str(tmp_path))
    with house.http(house.token()) as phone:
        assert [(each["id"], each["branch"]) for each in phone.get("/api/prompts").json()] == [("there", "")]
