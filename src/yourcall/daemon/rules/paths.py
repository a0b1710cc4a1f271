"""The ground that rules stand on: which folder is the project, and where the paths of a request really lead.

Rule: links and `..` are followed before anything is compared; what cannot be followed is left out, and then counts
as unknown.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path

from yourcall.daemon.rules.patterns import Looks, matching, name_pattern, surely_finds
from yourcall.daemon.rules.searched_files import MOST_SEARCHED, repository_of, secrets_below, text_of
from yourcall.model.prompts import Prompt
from yourcall.rules.effects.known_files import LONGEST, reserved_path, secrets_in
from yourcall.rules.effects.parts import NOWHERE, Facts, Part, Ref, inside
from yourcall.rules.effects.searches import FROM_TOP
from yourcall.rules.rule import RequestContext, exactly, is_project

# To follow one takes 20 µs, and an agent waits: a command that names more is for a person to read.
MOST_PATHS = 400

# `./*`, with no pattern before it: what it finds begins with a folder.
_ANCHORED = re.compile(r"(?:[^*?\[#^~]*/)?\./[^/]*[*?\[#^~]")

# Entries of folders that one decision looks at, for all of its paths together; to look at them takes less than
# twenty milliseconds, and everybody else waits for that long.
MOST_LOOKED = 3_000
# Of a `package.json`; longer ones are nobody's.
MOST_READ = 1_000_000
# A name with one of these is cut there, or read as quoted.
_CUT = re.compile(r"[\s'\"\\\x00-\x1f\x7f]")

# What these mean depends on who asks.
_OURS = re.compile(r"//?(?:proc/(?:self|thread-self|\d+)/(?:cwd|root|fd|task|map_files)|dev/fd)(?:/|$)")

MARKS = (".git", ".yourcall", ".hg")


def project_of(cwd: str, home: str) -> str:
    """The folder that holds the project: the nearest with a mark, or this one. The home, or a folder around it, is
    no project: inside of it would be everything."""
    if not cwd.startswith("/") or "\0" in cwd:
        return ""
    here = os.path.realpath(cwd)
    value = here
    for folder in (here, *map(str, Path(here).parents)):
        if _around(folder, home):
            break
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in MARKS):
            value = folder
            break
    return "" if _around(value, home) else value


@lru_cache(maxsize=256)
def around(root: str, home: str) -> tuple[str, ...]:
    """The project, and every folder around it that could be one: a repository within another, a submodule, does
    not leave the rules of the outer one, which can only restrict."""
    folders = (root, *map(str, Path(root).parents))
    return tuple(folder for folder in folders if not _around(folder, home))


def _around(folder: str, home: str) -> bool:
    return folder == "/" or home == folder or home.startswith(folder + "/")


def facts_of(parts: Iterable[Part], cwd: str, root: str, home: str) -> Facts:
    """Every path that is named, followed to its end."""
    parts = tuple(parts)
    refs = {ref for part in parts for ref in part.refs if ref.path is not None}
    made = [ref.path or "" for part in parts if part.argv[:1] == ("mkdir",) or part.argv[:2] == ("git", "clone")
            for ref in part.refs if ref.use == "write"]  # fmt: skip
    resolved: dict[Ref, tuple[str, ...]] = {}
    named: dict[Ref, tuple[str, ...]] = {}
    starts = _starts(cwd)
    left, looks = MOST_PATHS, Looks(MOST_LOOKED, MOST_SEARCHED)
    for ref in sorted(
        refs, key=lambda ref: (ref.path or "", ref.use, ref.glob)
    ):  # always the same ones, if not all
        found = _followed(ref, cwd, home, looks) if left > 0 else ()
        if ref.use == "enter" and not any(map(os.path.isdir, found)) and not _made(ref.path or "", made):
            found = ()  # what is no folder here, a shell may look for elsewhere (CDPATH, cdable_vars)
        left -= len(found)
        if found:
            resolved[ref] = found
        named[ref] = tuple(_called(ref, each, home) for each in starts)
    away = not (cwd.startswith("/") and starts and inside(starts[0], root))
    written = any(ref.use in ("write", "delete", "weed") for ref in refs)
    return Facts(root, home, resolved, named, away, hooks_of(root) if written and root else "")


# `hooksPath = tools/hooks`, as git itself writes it.
_HOOKS = re.compile(r'^\s*hooksPath\s*=\s*"?([^"#;\n]+?)"?\s*$', re.IGNORECASE | re.MULTILINE)


def hooks_of(root: str) -> str:
    """The folder that git runs this project's hooks from, where its own settings name one; what is written there,
    a commit runs."""
    items = _HOOKS.findall(text_of(os.path.join(root, ".git/config"), MOST_READ // 10) or "")
    return os.path.realpath(os.path.join(root, os.path.expanduser(items[-1]))) if items else ""


def _made(folder: str, made: list[str]) -> bool:
    """Does the same command make this folder?"""
    plain = os.path.normpath(folder)
    return any(f"{os.path.normpath(path)}/".startswith(f"{plain}/") for path in made if path)


def _starts(cwd: str) -> tuple[str, ...]:
    """The folder it runs in, first as links lead to it, then as it is called."""
    try:
        return tuple(dict.fromkeys((os.path.realpath(cwd), cwd)))
    except (OSError, ValueError):
        return ()


def _called(ref: Ref, start: str, home: str) -> str:
    """The path from the root, as it is called."""
    path = ref.path or ""
    path = home + path[1:] if path == "~" or path.startswith("~/") else path
    return os.path.normpath(os.path.join(start, path))


def _followed(ref: Ref, cwd: str, home: str, looks: Looks) -> tuple[str, ...]:
    path = ref.path or ""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    whole = os.path.join(cwd, path)
    if not whole.startswith("/") or len(whole) > LONGEST:
        return ()  # nobody says which folder it is in, or no system opens it
    if ref.use == "dashed":
        return () if os.path.lexists(whole) else (whole,)
    if ref.use == "remote" and any(os.path.lexists(each) for each in (whole, whole.rstrip("/") + ".git")):
        return ()
    plain = os.path.normpath(whole)
    if plain in NOWHERE or plain == "/dev/stdin":
        return (plain,) if ref.use != "listed" else ()  # where our own output goes is not where a command's does
    if _OURS.match(os.path.normpath(whole)):
        return ()
    try:
        # As it stands it may be a file too: a quoted star is only a star.
        ends = [os.path.realpath(whole)]
        if ".." in path:
            # `cd link/..` leads back to where the link lies, `cat link/../x` to where it points: both are meant.
            ends.append(os.path.realpath(os.path.normpath(whole)))
        if ref.use == "repo" and any(_odd_repository(end) for end in ends):
            return ()
        if ref.use == "listed":
            listed = files_summed(ends[0])
            folder = os.path.join(cwd, *ref.names)
            return () if listed is None else (*ends, *(os.path.realpath(os.path.join(folder, f)) for f in listed))
        if ref.use == "tools" and any(_chooses(end, ref.names, home) for end in ends):
            return ()
        if ref.glob and ref.use in ("search", "found"):
            names = matching(path, cwd, looks)
            if names is None:
                return ()
            # A shell that leaves out what finds nothing has the folder itself searched.
            ends = [os.path.realpath(each) for each in names]
            ends += [] if surely_finds(path, cwd) else [os.path.realpath(cwd)]
        if ref.use == "search":
            ends = [repository_of(each) for each in ends] if FROM_TOP in ref.names else ends
            secrets = secrets_below(ends, ref.names, looks)
            return () if secrets is None else (*ends, *secrets)
        if ref.use in ("found", "split"):
            below = [_files_below(end, ref, looks) for end in ends]
            known = [each for each in below if each is not None] if len(ends) == 1 or ref.glob else []
            return (*ends, *(path for each in known for path in each)) if len(known) == len(ends) else ()
        if ref.glob:
            names = matching(path, cwd, looks)
            # A file named like an option is one to the command that gets it (`*/x`: `-o/x`); `./*` is none.
            if names is None or (not _ANCHORED.match(path) and any("/-" in each[len(cwd) :] for each in names)):
                return ()
            ends += [os.path.realpath(each) for each in names]
            if ref.use == "write":  # a link is copied under its own name
                pairs = [os.path.split(each) for each in names]
                ends += [os.path.join(os.path.realpath(folder), name) for folder, name in pairs]
        if ref.use == "merge" and any(_holds(end, lambda entry: entry.is_symlink(), looks) for end in ends):
            return ()
        if ref.use == "carry" and any(_holds(end, lambda entry: reserved_path(entry.name), looks) for end in ends):
            return ()
    except (OSError, ValueError):
        return ()
    return tuple(dict.fromkeys(ends))


def _holds(folder: str, such: Callable[[os.DirEntry[str]], bool], looks: Looks) -> bool:
    """Is there such an entry anywhere below, or too much to look at?"""
    todo = [folder]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    looks.left -= 1
                    if looks.left < 0 or such(entry):
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return False


def _files_below(folder: str, ref: Ref, looks: Looks) -> tuple[str, ...] | None:
    """Of the files below that are called so: where the links among them lead, and those that hold secrets. None if
    there are too many, or one would be cut into several words on its way (`split`)."""
    called = [name_pattern(each) for each in ref.names]
    plain = ref.use == "split"
    itself = {".", os.path.basename(folder), os.path.basename((ref.path or "").rstrip("/"))}
    names: list[str] = []
    # With each folder, whether everything in it counts, as it is handed on itself.
    todo = [(folder, ref.deep and all(any(map(each.fullmatch, itself)) for each in called))]
    if plain and _CUT.search(folder):
        return None
    while todo:
        here, whole = todo.pop()
        try:
            entries = os.scandir(here)
        except (FileNotFoundError, NotADirectoryError):
            continue
        with entries:
            secret = secrets_in(here)
            for entry in entries:
                looks.left -= 1
                if looks.left < 0 or (plain and _CUT.search(entry.name)):
                    return None
                matches = all(pattern.fullmatch(entry.name) for pattern in called)
                if entry.is_dir(follow_symlinks=False):
                    todo.append((entry.path, whole or (ref.deep and matches)))
                if not (whole or matches):
                    continue
                if entry.is_symlink():  # one that is not handed on itself is not followed
                    names += [os.path.realpath(entry.path)] if matches else []
                elif secret(entry.name):
                    names.append(entry.path)
                if len(names) > MOST_PATHS:
                    return None
    return tuple(names)


# `abc…  file`, `abc… *file`, `abc… file`; `SHA256 (file) = abc…`.
_SUM = re.compile(
    r"(?:[0-9a-fA-F]{32,128}|[0-9]+ [0-9]+)[ \t](?P<a>[^\\]+)|[A-Z][A-Za-z0-9/-]* \((?P<b>[^\\]+)\) = [^\\]+"
)


def files_summed(path: str) -> tuple[str, ...] | None:
    """The files that a list of check sums names; None if that is not sure."""
    text = text_of(path, MOST_READ // 10)
    names: set[str] = set()
    for line in (text or "").split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        match = _SUM.fullmatch(line)
        if match is None or len(names) > MOST_PATHS:
            return None
        name = match["a"] or match["b"]
        # With one blank the name begins there, with two behind them: both may be meant.
        names |= {name, name[1:] if name[:1] in (" ", "*") else name, name.rstrip("\r")}
    return None if text is None else tuple(sorted(names))


def _chooses(folder: str, names: tuple[str, ...], home: str) -> bool:
    """Is one of these files here, or in a folder around it? `package.json#x`: and it speaks of x."""
    own = os.path.join(os.path.realpath(home), ".npmrc")  # the user's settings, and no project's
    for here in (folder, *map(str, Path(folder).parents)):
        for name in names:
            file, _, word = name.partition("#")
            path = os.path.join(here, file)
            if path != own and os.path.lexists(path) and (not word or _speaks_of(path, word)):
                return True
    return False


def _speaks_of(path: str, word: str) -> bool:
    text = text_of(path, MOST_READ)
    # Escaped, it would be the same key to who reads the file.
    return text is None or word in text or "\\u" in text


def _odd_repository(folder: str) -> bool:
    """Would git, from here, find a repository whose settings anybody may have written? They name programs that git
    runs. Such a one can come with a project: a folder with `HEAD` and either `commondir`, or `objects` and `refs`;
    or one that a `.git` names which is a file or a link. Nobody but git writes into what is called `.git`."""
    for here in (folder, *map(str, Path(folder).parents)):
        named = _git_folder(os.path.join(here, ".git"))
        if named is not None and _repository(named):
            return ".git" not in Path(named).parts
        if _repository(here):
            return ".git" not in Path(here).parts
    return False


def _repository(folder: str) -> bool:
    has = {
        name for name in ("HEAD", "commondir", "objects", "refs") if os.path.lexists(os.path.join(folder, name))
    }
    return "HEAD" in has and ("commondir" in has or {"objects", "refs"} <= has)


def _git_folder(path: str) -> str | None:
    """Where `.git` leads: it is a folder, a link, or a file that says where the folder is."""
    if not os.path.lexists(path):
        return None
    real = os.path.realpath(path)
    if not os.path.isfile(real):
        return real
    try:
        with open(real, "rb") as file:
            text = file.read(4096).decode(errors="replace")
    except OSError:
        return real
    wording = text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else ""
    return os.path.realpath(os.path.join(os.path.dirname(real), wording)) if wording else None


@cache
def machine() -> str:
    return socket.gethostname()


def called(patterns: Iterable[str], folders: tuple[str, ...], home: str) -> frozenset[str]:
    """Which of what rules write for a project means one of these folders by way of a link; looked up each time,
    for a link may lead elsewhere by now."""
    names: set[str] = set()
    marks = {_mark(folder) for folder in folders} - {None} if patterns else set[object]()
    for pattern in patterns:
        written = home + pattern[1:] if pattern == "~" or pattern.startswith("~/") else pattern
        plain = re.match(r"[^*?\[]*", written)
        folder = plain[0] if plain else ""
        if "\0" in written:
            continue  # no folder is called so
        if folder == written:
            same = _mark(written) in marks
        else:  # `~/code/*`: the folder in front of the star may be a link
            folder = folder[: folder.rfind("/") + 1]
            led = exactly(os.path.realpath(folder)) + "/" + written[len(folder) :] if folder else written
            same = any(is_project(led, each) for each in folders)
        if same:
            names.add(pattern)
    return frozenset(names)


def _mark(folder: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(folder)
    except (OSError, ValueError):
        return None
    return seen.st_dev, seen.st_ino


def scene_of(
    prompt: Prompt,
    root: str,
    home: str,
    at: float,
    used: dict[str, int],
    started_in: str = "",
    projects: Iterable[str] = (),
) -> RequestContext:
    try:
        here = os.path.realpath(prompt.cwd)
    except (OSError, ValueError):
        here = ""  # no folder has such a name, so no rule is about it
    local = time.localtime(at)
    projects = tuple(projects)
    within = _within(root, started_in or here) if projects else ()
    return RequestContext(
        agent=prompt.agent,
        root=root,
        home=home,
        machine=machine(),
        mode=prompt.permission_mode,
        subagent=bool(prompt.subagent),
        at=at,
        minute=local.tm_hour * 60 + local.tm_min,
        day=local.tm_wday,
        used=used,
        away=bool(started_in) and here not in (root, os.path.realpath(started_in)),
        called=called(projects, (root,) if root else (), home),
        within=within,
        called_within=called(projects, within, home),
    )


def _within(root: str, started_in: str) -> tuple[str, ...]:
    """The folder a session was started in, its project, and every folder around those."""
    first = [os.path.realpath(each) for each in (started_in, root) if each]
    return tuple(dict.fromkeys(str(each) for folder in first for each in (folder, *Path(folder).parents)))
