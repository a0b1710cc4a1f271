# ruff: noqa: E501
"""The fifth round of attacks, against the two rules that the how-to recommends: searches that come upon secrets which
no ignore file names, busybox, programs that take options first, and what lies in a stash; ordinary work beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_third_round import Project

UNIGNORED = ("server.key", "secrets.json", "prod.env", "terraform.tfvars", ".secrets.yml", ".credentials.json")
SEARCHES = [
    f"{program}{options} K{where}"
    for program in ("rg", "ag", "timeout 5 rg", "nice rg", "command rg", "cd src; cd ..; rg")
    for options in ("", " -i", " -l", " -n", " -c", " -w", " -C2")
    for where in ("", " .", " ./", " SHOP", " src ..")
]
TYPES = [
    f"rg {kind} K{where}"
    for kind in (
        "-tyaml",
        "-t yaml",
        "--type yaml",
        "--type=yaml",
        "-tjson",
        "-tall",
        "-t all",
        "-tconfig",
        "-tpy -tjson",
        "-itjson",
        "-nt yaml",
        "-t sh -t yaml",
    )
    for where in ("", " .", " SHOP")
]
FOLLOWS = [
    f"busybox {applet} {options} K {where}"
    for applet in ("grep", "egrep", "fgrep")
    for options in ("-r", "-rH", "-rn", "-R", "-ri", "-rl", "-rc", "-ro", "-r -n", "-nr")
    for where in ("lib", ".", "lib src", "./lib", "SHOP/lib")
]
APPLETS = [
    f"busybox {applet} {rest}"
    for applet in (
        "sed",
        "awk",
        "find",
        "xargs",
        "tar",
        "unzip",
        "wget",
        "vi",
        "less",
        "env",
        "nohup",
        "timeout 5",
        "diff -r",
        "ed",
        "date",
        "ps",
        "top",
        "watch",
        "uniq",
        "xxd",
        "dd",
        "cp",
        "mv",
        "ln",
        "tee",
        "chroot",
        "nc",
        "httpd",
        "start-stop-daemon",
        "run-parts",
    )
    for rest in ("a.py", "-n 1p a.py", "src lib", "-exec evil")
]
ORDER = [
    f"sed {script} {option} {file}"
    for script in ("'s/a/y/w CLAUDE.md'", "w.mcp.json", "'1w out/x'", "'s/x/evil/e'", "w.envrc", "'$w x'", "a.py")
    for option in ("-e p", "-n -e p", "-e p -n", "-e 1p", "--expression=p", "--expression p", "-s -e p", "-E -e p")
    for file in ("a.py", "b.py src/a.py")
]
WRITES = [
    "file -p a.py",
    "file --preserve-date a.py",
    "file -pb a.py",
    "file -bp a.py",
    "file a.py -p",
    "file -kp a.py",
    "file -p -- a.py",
    "file -p src/*.py",
]
STASH = [
    "git stash show --include-untracked", "git stash show -p --include-untracked", "git stash show --only-untracked", "git stash show -p --only-untracked",
    "git stash show -u", "git stash show -pu", "git stash show -up", "git stash show -u stash@{1}", "git stash show --stat -u -p", "git stash show --include-u",
    "git show stash^3", "git show 'stash@{0}^3'", "git show refs/stash^3", "git log -p stash^3", "git diff stash^3", "git grep K stash^3", "git diff HEAD stash^3",
    "git show stash^3 --stat -p", "git show 'stash@{1}^3'", "git log -1 -p 'stash^3'", "git ls-tree -r stash^3", "git cat-file -p 'stash^3:.env'", "git show stash^{/x}^3",
    "git log --all -p", "git log -p --all", "git log --all --patch", "git log --reflog -p", "git log --all -u", "git rev-list --all -p", "git log --all -pS K", "git log --glob=refs/* -p",
]  # fmt: skip
ORDINARY = [
    "rg -tpy K", "rg -trust K", "rg -tts -tjs K", "rg K src", "rg -g '*.py' K", "rg --files", "rg --type-list", "cat a.py | rg K", "git log --oneline | rg K", "git diff | rg -n K",
    "git log | head -20 | rg K", "rg -Tpy K src", "rg K a.py", "rg K a.py b.py", "rg -n K src/a.py",
    "rg K -g '!server.key' -g '!secrets.json' -g '!prod.env' -g '!terraform.tfvars'", "rg K -g '!*.key' -g '!*.json' -g '!prod.*' -g '!*.tfvars'",
    "busybox ls", "busybox cat a.py", "busybox wc -l a.py", "busybox head -n 3 a.py", "busybox sh -c 'ls src'",
    "sed -n -e 1p a.py", "sed -e s/a/b/ a.py", "sed s/a/b/ a.py", "sed -n 1,5p a.py b.py",
    "file a.py", "file -b a.py", "file --mime-type a.py", "git stash list", "git stash show", "git stash show -p", "git stash show stash@{0}",
    "git log --all --oneline", "git log -p -1", "git log -p", "git log --all --graph --oneline", "git log --all -S K", "git show HEAD", "git show HEAD^", "git diff HEAD^ HEAD",
    "git log --all --stat", "cat a.py -n", "grep K a.py -n", "ls src -la", "head a.py -n 5", "wc a.py -l", "sort a.py -u", "diff a.py b.py -u",
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    made = Project(tmp_path)
    (made.shop / "lib" / "key.py").symlink_to(made.home / ".ssh" / "id_ed25519")
    return made


def unignored(project: Project) -> Project:
    for name in UNIGNORED:
        (project.shop / name).write_text("K=1\n")
    return project


@pytest.mark.parametrize(
    "family", [SEARCHES, TYPES, FOLLOWS, APPLETS, ORDER, WRITES, STASH],
    ids=["searches", "types", "follows", "applets", "order", "writes", "stash"],
)  # fmt: skip
def test_nothing_of_the_fifth_round_is_allowed(project: Project, family: list[str]) -> None:
    unignored(project)
    assert len(set(family)) == len(family)
    assert [command for command in family if project.bash(command) == "allow"] == []


def test_it_was_more_than_five_hundred() -> None:
    assert sum(map(len, (SEARCHES, TYPES, FOLLOWS, APPLETS, ORDER, WRITES, STASH))) >= 500


def test_what_looks_most_like_it_needs_no_question(project: Project) -> None:
    unignored(project)
    assert [command for command in ORDINARY if project.bash(command) != "allow"] == []


def test_what_an_ignore_file_surely_names_is_not_opened(project: Project) -> None:
    unignored(project)
    lines = "*.key\n/secrets.json\nprod.env\nterraform.tfvars\n.secrets.yml\n.credentials.json\n.env\n"
    (project.shop / ".gitignore").write_text(lines)
    for command in ("rg K", "rg K .", "rg -n K", "ag K"):
        assert project.bash(command) == "allow", command
    assert project.tool("Grep", pattern="K") == "allow"
    # What is meant from a folder above the search, rg forgets.
    (project.shop / "src" / "id_rsa").write_text("K")
    (project.shop / ".gitignore").write_text(lines + "/src/id_rsa\n")
    assert project.bash("rg K") == "allow"
    assert project.bash("rg K src") == "ask"
    for unsure in (
        "src/**",
        "[i]d_rsa",
        "id_rs?",
        "{id_rsa,x}",
        "\\id_rsa",
        "src/id_rsa/",
        "id_rsa/",
        "# id_rsa",
        " id_rsa",
    ):
        (project.shop / ".gitignore").write_text(f"{lines}{unsure}\n")
        assert project.bash("rg K") == "ask", unsure


def test_lines_for_git_count_only_in_a_repository(project: Project) -> None:
    (project.shop / "server.key").write_text("K")
    (project.shop / ".gitignore").write_text(".env\n*.key\n")
    assert project.bash("rg K") == "allow"
    inner = project.shop / "src" / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "server.key").write_text("K")
    assert project.bash("rg K") == "ask"  # a repository of its own forgets the outer one's lines
    (project.shop / ".ignore").write_text("*.key\n")
    assert project.bash("rg K") == "allow"


@pytest.mark.parametrize("file", [".gitignore", ".ignore", ".rgignore"])
def test_an_ignore_file_below_may_bring_secrets_back(project: Project, file: str) -> None:
    (project.shop / "src" / "deep" / ".env").write_text("K=1\n")
    assert project.bash("rg K") == "allow"
    (project.shop / "src" / "deep" / file).write_text("!.env\n")
    for command in ("rg K", "rg K src", "rg K src/deep", "cd src && rg K", "ag K"):
        assert project.bash(command) == "ask", command
    assert project.bash("rg K lib") == "allow"


def test_claudes_search_opens_what_no_ignore_file_names(project: Project) -> None:
    assert project.tool("Grep", pattern="K") == "allow"
    unignored(project)
    assert project.tool("Grep", pattern="K") == "ask"
    for kind in ("yaml", "json", "all", "sh"):
        assert project.tool("Grep", pattern="K", type=kind) == "ask", kind
    assert project.tool("Grep", pattern="K", type="py") == "allow"
    assert project.tool("Grep", pattern="K", path="src") == "allow"


def test_an_option_behind_a_file_may_be_a_file_of_that_name(project: Project) -> None:
    """Where options come first (BSD, POSIXLY_CORRECT), `cat a.py -n` reads a file called `-n`."""
    key = project.home / ".ssh" / "id_ed25519"
    for name, command in (
        ("-n", "cat a.py -n"),
        ("-la", "ls src -la"),
        ("-u", "sort a.py -u"),
        ("--include=x", "grep x a.py --include=x"),
    ):
        assert project.bash(command) == "allow", command
        (project.shop / name).symlink_to(key)
        assert project.bash(command) == "ask", command


@pytest.mark.timeout(20)
def test_a_pipe_called_like_an_ignore_file_stops_nobody(project: Project) -> None:
    for name in (".gitignore", ".ignore", "package.json"):
        (project.shop / name).unlink(missing_ok=True)
        os.mkfifo(project.shop / name)
    assert project.bash("rg K") == "ask"
    assert project.bash("npm --version") == "ask"
