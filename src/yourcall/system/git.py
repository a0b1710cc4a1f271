"""Plain `git`, only to look: what differs between a commit and a working tree.

Rule: nothing of the repository is executed. Its configuration and attributes can name programs (filters, external
diffs, a file system monitor, hooks), and an agent may have written them. So git runs with a configuration
of our own, in a git directory of our own that borrows the repository's objects and index. What it may write, and
for how long it may run, is bounded.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Literal

from msgspec import Struct

# A person waits for it; a repository that takes longer is said to be too large.
LONGEST_RUN_S = 10.0
# Ten thousand changed files with names of a hundred letters, and as much again.
MOST_LISTED = 4 << 20
# A change that is longer is cut, and says so.
MOST_PATCH = 2 << 20
# A larger file is compared as a binary one: by its hash.
BIG_FILE = "8m"

Kind = Literal["added", "modified", "deleted", "untracked"]


class GitProblem(Exception):
    """Why nothing can be said about this folder, as a sentence."""


class Repository(Struct, frozen=True):
    """`git_dir` is the working tree's own, `objects` is shared by all of them. `head`: "" before a commit."""

    root: Path
    git_dir: Path
    objects: Path
    head: str
    branch: str
    sha256: bool


class Changed(Struct, frozen=True):
    """One file; `added` and `removed` are None for a binary one, or where there was no time to count."""

    path: bytes
    kind: Kind
    added: int | None = None
    removed: int | None = None


class Listing(Struct, frozen=True):
    """`complete`: False if there are more than could be listed."""

    files: tuple[Changed, ...]
    complete: bool


# Counting lines reads every file; beyond this many they are only listed.
MOST_COUNTED = 1_000

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NO_COMMIT = {False: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
_NO_COMMIT[True] = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
_KINDS: dict[bytes, Kind] = {b"A": "added", b"D": "deleted"}


def find(folder: Path) -> Repository:
    """The repository this folder is in."""
    words = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    done = _look(folder, *words)
    places = done.split("\n")
    if len(places) < 3 or not all(place.startswith("/") for place in places[:3]):
        raise GitProblem("This folder is not in a git repository.")
    root, git_dir, common = (Path(place) for place in places[:3])
    # A repository can be told that its files are elsewhere; what is shown is what is around the session.
    if not folder.resolve().is_relative_to(root.resolve()):
        raise GitProblem("The repository says that its files are somewhere else.")
    head = _quiet(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
    branch = _quiet(folder, "symbolic-ref", "--quiet", "--short", "HEAD").strip()
    kind = _quiet(folder, "rev-parse", "--show-object-format").strip()
    return Repository(
        root, git_dir, common / "objects", head if _HASH.fullmatch(head) else "", branch, kind == "sha256"
    )


def commit_at(repository: Repository, at: float) -> str:
    """The commit that was checked out then, as git's own log of HEAD tells; "" if it does not go that far back."""
    words = (
        "log",
        "-g",
        "-n",
        "1000",
        "--no-show-signature",
        "--no-patch",
        "--date=unix",
        "--format=%H %gd",
        "HEAD",
        "--",
    )
    for line in _quiet(repository.root, *words).split("\n"):
        match = re.fullmatch(r"([0-9a-f]{40,64}) HEAD@\{(\d+)\}", line)
        if match and int(match[2]) <= at:
            return match[1]
    return ""


def listing(repository: Repository, commit: str) -> Listing:
    """The files that differ between this commit ("": none at all) and the working tree; untracked ones, too."""
    with _private(repository) as env:
        base = commit or _NO_COMMIT[repository.sha256]
        raw, whole = _run(repository, env, MOST_LISTED, *_DIFF, "--raw", "-z", "--abbrev=40", base, "--")
        kinds = _kinds(raw)
        counts: dict[bytes, tuple[int | None, int | None]] = {}
        if len(kinds) <= MOST_COUNTED:
            numbers, _ = _run(repository, env, MOST_LISTED, *_DIFF, "--numstat", "-z", base, "--")
            counts = _counts(numbers)
        others, all_others = _run(
            repository,
            env,
            MOST_LISTED,
            "ls-files",
            "--others",
            "--exclude-standard",
            "-z",
            "--full-name",
            "--",
            ":/",
        )
    files = [Changed(path, kind, *counts.get(path, (None, None))) for path, kind in kinds.items()]
    files += [
        Changed(path, "untracked") for path in _split(others) if path not in kinds and not path.endswith(b"/")
    ]
    return Listing(tuple(sorted(files, key=lambda each: each.path)), whole and all_others)


def whole_patch(repository: Repository, commit: str, most: int) -> tuple[bytes, bool]:
    """How all files that git knows differ, as one diff of at most so many bytes; and whether that is all."""
    with _private(repository) as env:
        base = commit or _NO_COMMIT[repository.sha256]
        return _run(repository, env, most, *_DIFF, "--patch", "--unified=3", base, "--")


def patch(repository: Repository, commit: str, path: bytes) -> tuple[bytes, bool]:
    """How this file differs, as a unified diff; and whether that is all of it."""
    with _private(repository) as env:
        base = commit or _NO_COMMIT[repository.sha256]
        words = ("--literal-pathspecs", *_DIFF, "--patch", "--unified=3", base, "--", os.fsdecode(path))
        text, whole = _run(repository, env, MOST_PATCH, *words)
        if text:
            return text, whole
        words = (
            "--literal-pathspecs",
            "ls-files",
            "--others",
            "--exclude-standard",
            "-z",
            "--",
            os.fsdecode(path),
        )
        known, _ = _run(repository, env, MOST_LISTED, *words)
    return _new_file(repository.root, path) if path in _split(known) else (b"", True)


# `--ignore-submodules=dirty`: to see whether a submodule is dirty, git would run inside of it, with its settings.
_DIFF = (
    "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=dirty",
    "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


def _kinds(raw: bytes) -> dict[bytes, Kind]:
    """`:100644 100644 old new M`, the path, and so on."""
    parts = _split(raw)
    return {
        path: _KINDS.get(about.rsplit(b" ", 1)[-1][:1], "modified")
        for about, path in zip(parts[::2], parts[1::2], strict=False)
        if about.startswith(b":")
    }


def _counts(numbers: bytes) -> dict[bytes, tuple[int | None, int | None]]:
    found: dict[bytes, tuple[int | None, int | None]] = {}
    for line in _split(numbers):
        added, _, rest = line.partition(b"\t")
        removed, _, path = rest.partition(b"\t")
        if added.isdigit() and removed.isdigit():
            found[path] = int(added), int(removed)
    return found


def _split(data: bytes) -> list[bytes]:
    """What is between the NULs; a last piece without one was cut off."""
    return data.split(b"\0")[:-1]


def _new_file(root: Path, path: bytes) -> tuple[bytes, bool]:
    """A file that git does not know, as a diff of nothing but new lines; no link is followed on the way to it."""
    try:
        at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        *folders, name = path.split(b"/")
        try:
            for folder in folders:
                below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
                os.close(at)
                at = below
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        finally:
            os.close(at)
    except OSError:
        return b"", True
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b"", True
        data = file.read(MOST_PATCH + 1)
    whole = len(data) <= MOST_PATCH
    if b"\0" in data[:8000]:
        return b"Binary files /dev/null and b/" + path + b" differ\n", True
    lines = data[:MOST_PATCH].removesuffix(b"\n").split(b"\n") if data else []
    head = b"--- /dev/null\n+++ b/" + path + b"\n@@ -0,0 +1,%d @@\n" % len(lines)
    return head + b"".join(b"+" + line + b"\n" for line in lines), whole


# -- running it


@contextlib.contextmanager
def _private(repository: Repository) -> Generator[dict[str, str]]:
    """An environment in which git uses a git directory of ours, with the repository's objects and index."""
    folder = Path(tempfile.mkdtemp(prefix="yourcall-git-"))
    try:
        (folder / "refs").mkdir()
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        version, more = ("1", "[extensions]\n\tobjectFormat = sha256\n") if repository.sha256 else ("0", "")
        core = f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n\tbigFileThreshold = {BIG_FILE}\n"
        (folder / "config").write_text(core + more)
        yield _clean_environment() | {
            "GIT_DIR": str(folder),
            "GIT_WORK_TREE": str(repository.root),
            "GIT_OBJECT_DIRECTORY": str(repository.objects),
            "GIT_INDEX_FILE": str(repository.git_dir / "index"),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _clean_environment() -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
    }


def _look(folder: Path, *words: str) -> str:
    """What git says about where things are; these commands read no index and run nothing."""
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *words],
            cwd=folder, env=_clean_environment(), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=LONGEST_RUN_S, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        gone = "git is not installed here." if folder.is_dir() else "The session's folder no longer exists."
        raise GitProblem(gone) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitProblem("git does not answer here.") from error
    if done.returncode != 0:
        raise GitProblem("This folder is not in a git repository.")
    return os.fsdecode(done.stdout)


def _quiet(folder: Path, *words: str) -> str:
    try:
        return _look(folder, *words)
    except GitProblem:
        return ""


def _run(repository: Repository, env: dict[str, str], most: int, *words: str) -> tuple[bytes, bool]:
    """What git writes, up to this many bytes; and whether that is all of it."""
    running = subprocess.Popen(
        ["git", *words],
        cwd=repository.root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert running.stdout is not None
    until, data, whole = time.monotonic() + LONGEST_RUN_S, bytearray(), True
    try:
        with selectors.DefaultSelector() as ready:
            ready.register(running.stdout, selectors.EVENT_READ)
            while True:
                left = until - time.monotonic()
                if left <= 0 or not ready.select(left):
                    raise GitProblem("The repository is too large: git took longer than ten seconds.")
                part = os.read(running.stdout.fileno(), 1 << 16)
                if not part:
                    break
                data += part
                if len(data) > most:
                    whole = False
                    break
    finally:
        if running.poll() is None and (not whole or time.monotonic() >= until):
            running.kill()
        running.stdout.close()
        code = running.wait()
    if code != 0 and whole:
        raise GitProblem("git cannot compare this working tree.")
    return bytes(data[:most]), whole


# -- what its own settings say; nothing of it is run


# Settings that name a program, or where one is fetched from.
_NAMES_PROGRAM = re.compile(
    r"filter\..*\.(?:clean|smudge|process)|core\.(?:hookspath|fsmonitor|editor|pager)|gpg\..*program|gpg\.program"
    r"|gpg\..*defaultkeycommand|core\.alternaterefscommand",
    re.I,
)
_FOR_REMOTES = re.compile(
    r"core\.(?:sshcommand|gitproxy|askpass)|credential\..*helper|credential\.helper|url\..*"
    r"|remote\..*\.(?:url|pushurl|receivepack|uploadpack|proxy|vcs)|http\..*|ssh\.variant|lfs\..*",
    re.I,
)
MOST_SETTINGS = 40
LONGEST_SETTING = 1000


def remotes(repository: Repository) -> list[str]:
    """The names of its remotes."""
    return [name for name in _quiet(repository.root, "remote").split("\n") if name]


def setting(repository: Repository, key: str) -> str:
    """One of the repository's own settings."""
    return _quiet(repository.root, "config", "--local", "--get", key).strip()


def programs(repository: Repository, remote: bool) -> list[tuple[str, str]]:
    """The repository's own settings that name programs; with `remote`, those about other places, too."""
    # What a file of settings includes counts as its own; a `~` in there is the person's home, as it will be.
    env = _clean_environment() | {"HOME": os.environ.get("HOME", "/nonexistent")}
    words = ["git", "config", "--includes", "--null", "--show-scope", "--list"]
    try:
        done = subprocess.run(
            words, cwd=repository.root, env=env, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=LONGEST_RUN_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise GitProblem("The repository's settings can't be read.") from error
    pairs = [each.partition("\n") for each in os.fsdecode(done.stdout).split("\0")[1::2]]
    wanted = [
        (key, " ".join(value.split()))
        for key, _, value in pairs
        if _NAMES_PROGRAM.fullmatch(key) or (remote and _FOR_REMOTES.fullmatch(key))
    ]
    if len(wanted) > MOST_SETTINGS or any(len(value) > LONGEST_SETTING for _, value in wanted):
        raise GitProblem("The repository's settings name more programs than can be shown.")
    return wanted


def hooks_folder(repository: Repository) -> Path:
    """Where git looks for this repository's hooks."""
    words = ["git", "-c", "core.fsmonitor=false", "rev-parse", "--path-format=absolute", "--git-path", "hooks"]
    try:  # the person's own settings may name a folder for all repositories
        done = subprocess.run(
            words,
            cwd=repository.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_RUN_S,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return repository.git_dir / "hooks"
    return Path(os.fsdecode(done.stdout).rstrip("\n"))


def may_be_branch(repository: Repository, name: str) -> bool:
    """Can a new branch be called this?"""
    if name.startswith("-") or not _quiet(repository.root, "check-ref-format", "--branch", name).strip():
        return False
    return not _quiet(repository.root, "rev-parse", "--verify", "--quiet", f"refs/heads/{name}").strip()
