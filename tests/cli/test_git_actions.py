"""Stage, commit, push, discard and worktrees: prompts like any other, run by yourcall with the real git."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import small_acp
from kit.poll import until
from kit.yourcall import Yourcall


class Repo:
    """A session of the small agent in a repository with some changes."""

    def __init__(self, yc: Yourcall, folder: Path) -> None:
        self.yc, self.root, self.log = yc, folder / "shop", folder / "told.jsonl"
        self.root.mkdir()
        (folder / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.net\n")
        self.env = {**yc.env, "HOME": str(folder)}
        self.git("init", "-q", "-b", "main")
        (self.root / "prices.py").write_text("LIMIT = 50\n")
        (self.root / "cart.py").write_text("CART = []\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        (self.root / "prices.py").write_text("LIMIT = 30\n")
        (self.root / "new file.py").write_text("NEW = 1\n")
        done = yc.run(
            "run", "--acp", "--cwd", str(self.root), "--", sys.executable, small_acp.__file__, str(self.log)
        )
        assert done.code == 0, done
        self.id = done.out.strip()

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=self.root, env=self.env, capture_output=True, text=True, check=True
        ).stdout

    def files(self) -> dict[str, str]:
        status, found = self.yc.http("GET", f"/api/sessions/{self.id}/changes?against=head")
        assert status == 200, found
        return {each["path"]: each["id"] for each in found["files"]}

    def ask(self, action: str, *paths: str, status: int = 201, **more: object) -> Any:
        known = self.files() if paths else {}
        body = {"action": action, "files": [known[path] for path in paths], **more}
        got, reply = self.yc.http("POST", f"/api/sessions/{self.id}/git", body)
        assert got == status, reply
        return reply if status == 201 else reply["error"]

    def answer(self, prompt: dict[str, Any], option: str = "yes") -> str:
        """What became of it."""
        done = self.yc.run("answer", prompt["id"], option, "--sure")
        shown = self.yc.wait_state(prompt["id"], "confirmed", "desk", "ended", "unsure")
        assert shown["state"] == "confirmed", (done, shown)
        return shown["history"][-1]["detail"]


@pytest.fixture
def repo(yc: Yourcall, tmp_path: Path) -> Iterator[Repo]:
    found = Repo(yc, tmp_path)
    yield found
    yc.run("stop", found.id)


def test_a_commit_of_chosen_files(repo: Repo) -> None:
    prompt = repo.ask("commit", "prices.py", "new file.py", message="Lower the limit; it's 30 now")
    assert prompt["title"] == "Commit 2 files"
    shown = prompt["action"]["command"]
    assert shown.startswith("git add -- prices.py 'new file.py' && git commit -m 'Lower the limit; it'")
    assert repo.git("log", "--oneline").count("\n") == 1  # nothing is done before the yes
    assert repo.answer(prompt).startswith("done")
    assert repo.git("log", "-1", "--format=%s|%an") == "Lower the limit; it's 30 now|Ada\n"
    assert repo.git("status", "--porcelain") == ""
    assert repo.yc.prompts() == []
    sessions = {each["agent"] for each in repo.yc.http("GET", "/api/sessions")[1]}
    assert "git" not in sessions  # its prompt is over, and so is that


def test_a_no_runs_nothing(repo: Repo) -> None:
    assert repo.answer(repo.ask("discard", "prices.py"), "deny") == "nothing was run"
    assert (repo.root / "prices.py").read_text() == "LIMIT = 30\n"


def test_stage_unstage_and_discard(repo: Repo) -> None:
    assert repo.answer(repo.ask("stage", "prices.py")) == "done"
    assert repo.git("diff", "--cached", "--name-only") == "prices.py\n"
    assert repo.answer(repo.ask("unstage", "prices.py")).startswith("done")
    assert repo.git("diff", "--cached", "--name-only") == ""
    prompt = repo.ask("discard", "prices.py", "new file.py")
    assert prompt["risk"]["level"] == "high"
    assert repo.answer(prompt).startswith("done")
    assert repo.git("status", "--porcelain") == ""


def test_what_has_changed_since_is_not_touched(repo: Repo) -> None:
    prompt = repo.ask("discard", "prices.py")
    (repo.root / "prices.py").write_text("LIMIT = 31  # at the desk\n")
    assert (
        repo.answer(prompt) == "failed: prices.py has changed since you were asked. Look again. Nothing was run."
    )
    assert "at the desk" in (repo.root / "prices.py").read_text()


def test_push_and_worktree(repo: Repo, tmp_path: Path) -> None:
    assert "no remote" in repo.ask("push", status=422)
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True, env=repo.env)
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    prompt = repo.ask("push")
    assert "remote.origin.url = " in prompt["body"]
    assert repo.answer(prompt).startswith("done")
    assert repo.git("ls-remote", "origin", "main").startswith(repo.git("rev-parse", "main").strip())
    assert repo.answer(repo.ask("worktree", branch="try/it")).startswith("done")
    assert (tmp_path / "shop-try-it" / "prices.py").read_text() == "LIMIT = 50\n"
    assert "is there already" in repo.ask("worktree", branch="try-it", status=422)
    for wrong in ("", "-x", "a b", "a..b", "main", "try/it"):
        assert "can't be the name" in repo.ask("worktree", branch=wrong, status=422)


def test_a_hook_is_named_and_runs_as_the_agents(repo: Repo) -> None:
    hook = repo.root / ".git" / "hooks" / "pre-commit"
    command = f"{sys.executable} -m yourcall.cli.main --home {repo.yc.home}"
    hook.write_text(f"#!/bin/sh\n{command} rules add --like nothing 2>said\n{command} pause 2>>said\nexit 1\n")
    hook.chmod(0o755)
    repo.git("config", "filter.odd.clean", "./odd.sh")
    prompt = repo.ask("commit", "prices.py", message="x")
    assert f"hook pre-commit ({hook})" in prompt["body"]
    assert "filter.odd.clean = ./odd.sh" in prompt["body"]
    assert repo.answer(prompt).startswith("failed: git commit (exit 1)")
    assert "only a person may pause rules" in (repo.root / "said").read_text().lower()
    assert repo.yc.http("GET", "/api/status")[1]["paused"] is False
    prompt = repo.ask("commit", "prices.py", message="x")
    assert repo.answer(prompt, "no-hooks").startswith("done")
    assert repo.git("log", "--oneline").count("\n") == 2


def test_programs_that_included_settings_name_are_named(repo: Repo) -> None:
    """By a file that is included, below the home as well, and by the settings of this working tree alone."""
    (repo.root / "more.cfg").write_text(
        '[gpg "ssh"]\n\tdefaultKeyCommand = ./key.sh\n[include]\n\tpath = ~/far.cfg\n'
    )
    home = Path(repo.yc.env["HOME"])
    (home / "far.cfg").write_text('[filter "far"]\n\tsmudge = ./far.sh\n[core]\n\tsshCommand = ./ssh.sh\n')
    repo.git("config", "include.path", "../more.cfg")
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "filter.here.clean", "./here.sh")
    named = (
        "gpg.ssh.defaultkeycommand = ./key.sh",
        "filter.far.smudge = ./far.sh",
        "filter.here.clean = ./here.sh",
    )
    for prompt in (repo.ask("commit", "prices.py", message="x"), repo.ask("worktree", branch="aside")):
        assert [each for each in named if each not in prompt["body"]] == []
    repo.git("config", "remote.origin.url", "ssh://there/x")
    assert "core.sshcommand = ./ssh.sh" in repo.ask("push")["body"]
    repo.git("config", "filter.long.clean", "x" * 2000)
    assert "more programs than can be shown" in repo.ask("commit", "prices.py", message="x", status=422)


def test_what_would_be_started_has_changed_since(repo: Repo) -> None:
    """Not by a hook that came later or reads otherwise now, nor by another place to push to."""
    late = "has changed since you were asked. Look again. Nothing was run."
    prompt = repo.ask("commit", "prices.py", message="x")
    hook = repo.root / ".git" / "hooks" / "post-commit"
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    assert repo.answer(prompt).endswith(late)
    prompt = repo.ask("commit", "prices.py", message="x")
    hook.write_text("#!/bin/sh\ntouch ran too\n")
    assert repo.answer(prompt).endswith(late)
    repo.git("config", "remote.origin.url", "ssh://there/x")
    prompt = repo.ask("push")
    repo.git("config", "remote.origin.url", "ssh://elsewhere/x")
    assert repo.answer(prompt).endswith(late)
    assert not (repo.root / "ran").exists()


def test_without_hooks_none_runs(repo: Repo) -> None:
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change"):
        hook = repo.root / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> '{repo.log}.ran'\n")
        hook.chmod(0o755)
    prompt = repo.ask("commit", "prices.py", message="x")
    assert "hook post-index-change" in prompt["body"]
    assert repo.answer(prompt, "no-hooks").startswith("done")
    assert not Path(f"{repo.log}.ran").exists()


def test_a_rule_answers_it_like_any_command(repo: Repo) -> None:
    (repo.yc.home / "rules.toml").write_text(
        '[staging]\ndo = "allow"\ncommand = "git add"\neffect = ["read", "write_inside"]\n'
    )
    prompt = repo.ask("stage", "prices.py")
    shown = repo.yc.wait_state(prompt["id"], "confirmed")
    assert shown["answered_by"] == "rule staging", shown
    assert repo.git("diff", "--cached", "--name-only") == "prices.py\n"


def test_what_cannot_be_done_is_said_and_changes_nothing(repo: Repo, tmp_path: Path) -> None:
    assert repo.ask("commit", status=422) == "Write a message for the commit."
    assert repo.ask("stage", status=422) == "Choose the files first."
    _, no = repo.yc.http("POST", f"/api/sessions/{repo.id}/git", {"action": "stage", "files": ["Li4vLi4veA"]})
    assert no["error"] == "One of these files does not differ any more. Look again."
    with (repo.root / "huge.bin").open("wb") as file:
        file.truncate(1 << 30)
    assert "larger than 100 MB" in repo.ask("commit", "huge.bin", message="x", status=422)
    (repo.root / "huge.bin").unlink()
    subprocess.run(["git", "init", "-q", str(repo.root / "below")], check=True, env=repo.env)
    (repo.root / "below" / "x").touch()
    assert "below" not in str(repo.files())  # a repository of its own is not listed
    repo.git("checkout", "-q", "--detach")
    assert "HEAD is detached" in repo.ask("commit", "prices.py", message="x", status=422)
    assert "HEAD is detached" in repo.ask("push", status=422)
    assert repo.yc.prompts() == []
    os.rename(repo.root / ".git", tmp_path / "elsewhere")
    _, no = repo.yc.http("POST", f"/api/sessions/{repo.id}/git", {"action": "push"})
    assert no["error"] == "This folder is not in a git repository."


def test_what_was_under_way_at_a_crash_is_not_repeated(repo: Repo) -> None:
    hook = repo.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho ran >> ran\nwhile [ ! -e go ]; do sleep 0.05; done\n")
    hook.chmod(0o755)
    prompt, later = repo.ask("commit", "prices.py", message="x"), repo.ask("stage", "new file.py")
    repo.yc.run("answer", prompt["id"], "yes", "--sure", "--no-wait")
    until(lambda: (repo.root / "ran").exists(), what="the hook")
    repo.yc.kill()
    (repo.root / "go").touch()
    repo.yc.start()
    shown = repo.yc.wait_state(prompt["id"], "unsure")
    assert "look at the repository" in str(shown["history"])
    assert (repo.root / "ran").read_text() == "ran\n"
    repo.git("reset", "-q")
    assert repo.answer(later) == "done"  # what nobody had answered waits as before
    assert repo.git("diff", "--cached", "--name-only") == "new file.py\n"


def test_comments_are_the_next_instruction(repo: Repo) -> None:
    comments = [
        {"path": "prices.py", "line": 1, "text": "Why 30?\nAsk first.", "code": "LIMIT = 30"},
        {"path": "cart.py", "line": 7, "text": "Keep it.", "code": "x = 1", "old": True},
    ]
    status, queue = repo.yc.http("POST", f"/api/sessions/{repo.id}/comments", {"comments": comments})
    assert status == 201, queue
    until(lambda: repo.log.exists() and repo.log.read_text(), what="the comments")
    assert "2 comments on your changes:\\n\\ncart.py:7 (a line that was removed)\\n> x = 1\\n  Keep it.\\n\\n" in (
        repo.log.read_text()
    )
    assert "prices.py:1\\n> LIMIT = 30\\n  Why 30?\\n  Ask first." in repo.log.read_text()
