"""What a session changed: real git, in repositories that mean no good."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from yourcall.links.changes import Changes
from yourcall.model.changes import FilePatch, SessionChanges
from yourcall.model.conversation import Action, Page
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session
from yourcall.system import git

AUTHOR = {
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "n@x",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@x",
}
BEGAN = 1_700_000_000.0


def run(folder: Path, *words: str, at: float = BEGAN - 100) -> str:
    stamp = f"{int(at)} +0000"
    env = {
        **os.environ,
        **AUTHOR,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_COMMITTER_DATE": stamp,
        "GIT_AUTHOR_DATE": stamp,
    }
    return subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    (folder / "prices.py").write_text("a = 1\nb = 2\n")
    (folder / "old.txt").write_text("gone soon\n")
    run(folder, "add", "-A")
    run(folder, "commit", "-qm", "first")
    return folder


def changes(*entries: Action) -> Changes:
    async def page(_session: Session, _before: int | None, _file: str) -> Page:
        return Page(entries)

    return Changes(page)


def session(folder: Path) -> Session:
    return Session("s1", "claude", str(folder), started_at=BEGAN)


def files(folder: Path, against: Any = None, *entries: Action) -> SessionChanges | Refused:
    return asyncio.run(changes(*entries).files(session(folder), against))


def patch(folder: Path, against: Any, file_id: str) -> FilePatch | Refused:
    return asyncio.run(changes().patch(session(folder), against, file_id))


def listed(folder: Path, against: Any = None, *entries: Action) -> dict[str, Any]:
    found = files(folder, against, *entries)
    assert isinstance(found, SessionChanges)
    return {each.path: each for each in found.files}


def test_against_the_start_and_against_head(repo: Path) -> None:
    (repo / "prices.py").write_text("a = 1\nb = 3\n")
    run(repo, "commit", "-qam", "second", at=BEGAN + 50)
    (repo / "prices.py").write_text("a = 1\nb = 3\nc = 4\n")
    (repo / "old.txt").unlink()
    (repo / "new.txt").write_text("hello\n")
    edit = Action(kind="file_change", phase="completed", call_id="1", paths=(str(repo / "prices.py"),))
    found = files(repo, None, edit)
    assert isinstance(found, SessionChanges)
    assert (found.against, found.branch, found.complete, found.note) == ("start", "main", True, "")
    assert [(each.path, each.kind, each.touched, each.added, each.removed) for each in found.files] == [
        ("prices.py", "modified", True, 2, 1),
        ("new.txt", "untracked", False, None, None),
        ("old.txt", "deleted", False, 0, 1),
    ]
    against_head = listed(repo, "head")
    assert (against_head["prices.py"].added, against_head["prices.py"].removed) == (1, 0)
    shown = patch(repo, "start", found.files[0].id)
    assert isinstance(shown, FilePatch)
    assert "-b = 2\n+b = 3\n+c = 4" in shown.patch
    new = patch(repo, "head", found.files[1].id)
    assert isinstance(new, FilePatch)
    assert new.patch.endswith("@@ -0,0 +1,1 @@\n+hello\n")


def test_nothing_that_a_repository_names_is_run(repo: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    evil = f"touch {ran}; cat"
    for name in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "gpg.program",
    ):
        run(repo, "config", name, evil)
    for name in ("diff.external", "diff.evil.command", "core.fsmonitor", "core.pager", "core.sshCommand"):
        run(repo, "config", name, evil)
    for name, value in (
        ("filter.evil.required", "true"),
        ("log.showSignature", "true"),
        ("core.hooksPath", ".hooks"),
    ):
        run(repo, "config", name, value)
    attributes = "* filter=evil diff=evil merge=evil\n"
    (repo / ".gitattributes").write_text(attributes)
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text(attributes)
    (repo / ".hooks").mkdir()
    (repo / ".hooks" / "post-index-change").write_text(f"#!/bin/sh\n{evil}\n")
    (repo / ".hooks" / "post-index-change").chmod(0o755)
    (repo / "prices.py").write_text("a = 2\n")
    found = listed(repo)
    for each in found.values():
        patch(repo, "start", each.id)
        patch(repo, "head", each.id)
    assert "prices.py" in found
    assert not ran.exists()
    # The trap is a real one: plain git walks into it.
    subprocess.run(["git", "status"], cwd=repo, capture_output=True, check=False)
    assert ran.exists()


def test_names_that_are_no_text_and_links_that_lead_out(repo: Path) -> None:
    strange = b"caf\xe9 \x1b[31m\n.txt"
    Path(os.fsdecode(os.fsencode(repo) + b"/" + strange)).write_text("x\n")
    (repo / "-rf").write_text("y\n")
    (repo / ":(top)*").write_text("z\n")
    (repo / "out").symlink_to("/etc/passwd")
    (repo / "folder").symlink_to("/etc")
    found = listed(repo)
    assert "caf\\xe9 \x1b[31m\n.txt" in found
    for name, text in (("caf\\xe9 \x1b[31m\n.txt", "+x\n"), ("-rf", "+y\n"), (":(top)*", "+z\n")):
        shown = patch(repo, "head", found[name].id)
        assert isinstance(shown, FilePatch), name
        assert shown.patch.endswith(text)
    assert isinstance(patch(repo, "head", found["out"].id), Refused)
    with pytest.raises(git.GitProblem):
        git.patch(git.find(repo), "", b"../secret")


@pytest.mark.parametrize("file_id", ["", "!!", "AA", "x" * 9000, "Li4vLi4vZXRjL3Bhc3N3ZA", "L2V0Yy9wYXNzd2Q"])
def test_an_id_that_names_nothing_is_refused(repo: Path, file_id: str) -> None:
    assert isinstance(patch(repo, "head", file_id), Refused)


def test_where_there_is_no_git_the_record_tells(tmp_path: Path) -> None:
    diff = "@@ -1 +1 @@\n-a\n+b\n"
    done = Action(kind="file_change", phase="completed", call_id="1", paths=("notes.txt",), diff=diff)
    failed = Action(
        kind="file_change", phase="completed", call_id="2", paths=("no.txt",), diff=diff, is_error=True
    )
    found = files(tmp_path, None, done, failed)
    assert isinstance(found, SessionChanges)
    assert (found.against, found.note) == ("record", "This folder is not in a git repository.")
    assert [(each.path, each.added, each.removed) for each in found.files] == [("notes.txt", 1, 1)]
    shown = asyncio.run(changes(done).patch(session(tmp_path), "record", found.files[0].id))
    assert isinstance(shown, FilePatch)
    assert shown.patch == diff
    assert isinstance(files(tmp_path, "head"), Refused)
    gone = files(tmp_path / "gone", None)
    assert isinstance(gone, SessionChanges)
    assert gone.note == "The session's folder no longer exists."


def test_a_repository_without_a_commit_and_a_detached_head(tmp_path: Path, repo: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    run(empty, "init", "-q")
    (empty / "a").write_text("x\n")
    run(empty, "add", "a")
    found = files(empty)
    assert isinstance(found, SessionChanges)
    assert (found.against, [each.kind for each in found.files]) == ("head", ["added"])
    run(repo, "checkout", "-q", "--detach")
    (repo / "prices.py").write_text("")
    assert listed(repo, "head")["prices.py"].removed == 2


def test_binary_and_huge_files_are_not_read_into_memory(repo: Path) -> None:
    (repo / "picture.png").write_bytes(b"\x89PNG\0" + bytes(100))
    with (repo / "huge.bin").open("wb") as file:
        file.truncate(1 << 30)
    run(repo, "add", "picture.png")
    started = time.monotonic()
    found = listed(repo)
    shown = patch(repo, "head", found["huge.bin"].id)
    assert time.monotonic() - started < git.LONGEST_RUN_S
    assert found["picture.png"].added is None
    assert isinstance(shown, FilePatch)
    assert "Binary" in shown.patch


def test_a_long_change_is_cut_and_says_so(repo: Path) -> None:
    (repo / "prices.py").write_text("x" * 80 + "\n" + "y" * 60 * 1024 * 60)
    shown = patch(repo, "head", listed(repo)["prices.py"].id)
    assert isinstance(shown, FilePatch)
    assert (shown.complete, len(shown.patch)) == (False, git.MOST_PATCH)
