"""The changes on the phone: comments on lines, and a commit of chosen files, asked like anything else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_git_actions import Repo

from kit.poll import until

if TYPE_CHECKING:
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser


def test_a_comment_and_a_commit(yc: Yourcall, tmp_path: Path, opens: Opens) -> None:
    repo = Repo(yc, tmp_path)
    page = opens()
    page.js(f"location.hash = '#/c/{repo.id}'")
    page.tap("M", within=".files-list")
    page.becomes("document.querySelectorAll('.diff button.pick').length", 2)
    page.js("document.querySelectorAll('.diff button.pick')[1].click()")
    page.write("Your comment", "Why 30?")
    page.tap("Add comment")
    page.becomes("document.querySelectorAll('.diff .row.noted').length", 1)
    page.tap("Send 1 comment")
    page.sees("They are the next instruction")
    until(lambda: repo.log.exists() and repo.log.read_text(), what="the comment")
    assert "prices.py:1\\n> LIMIT = 30\\n  Why 30?" in repo.log.read_text()

    page.tap("Choose files")
    page.sees("0 chosen")
    for n in range(2):
        page.js(f"document.querySelectorAll('.pick-file input')[{n}].click()")
    page.sees("2 chosen")
    page.tap("Commit", within=".bar")
    page.write("Message", "Lower the limit")
    page.tap("Continue")
    page.sees("git commit -m 'Lower the limit'")
    assert repo.git("log", "--oneline").count("\n") == 1
    page.tap("Commit")
    until(lambda: repo.git("log", "--oneline").count("\n") == 2, what="the commit", show=page.text)
    assert repo.git("status", "--porcelain") == ""
    yc.run("stop", repo.id)
