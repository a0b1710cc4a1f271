"""What running a command would do, part by part, in eleven classes; and where, once its paths are resolved.

Rule: a part never gets fewer effects than it could have; what is not in the tables is `unknown`. Paths are
named here and resolved at the edge (`Facts`), so that a link or a `..` counts as what it leads to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from yourcall.rules.effects.known_files import is_dependency, reserved_path, secret_path
from yourcall.rules.effects.text_arguments import texts_of

Effect = Literal[
    "read",
    "read_outside",
    "write_inside",
    "write_outside",
    "delete",
    "network",
    "install",
    "history_rewrite",
    "secrets",
    "privilege",
    "unknown",
]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

# `sweep`: it reads everything below, too. `weed`: it deletes some of what lies below. `stand`: what it does
# depends on the folder it runs in; `repo`: and on the repository that git finds from there. `remote`: a name that
# git knows, unless there is a folder or a file of it here: that would be a repository, with programs to run.
# `merge`: a folder is written into, file by file; a link that lies in it leads on. `carry`: it lands elsewhere in
# the project, with all that lies below; that may be files that are obeyed there. `found`: files below it are
# handed to a program one by one; `split`: and their names are cut at blanks first. `expand`: a pattern that only
# becomes words. `tools`: the version of a tool is asked for here, which a project may choose. `search`: files
# below it are opened, and one of them may hold secrets. `dashed`: an option behind a file; a program that takes
# options first takes it for another file, if there is one of that name. `listed`: a list of check sums; the files
# that it names, from the folder in `names`, are read as well.
Use = Literal[
    "read",
    "sweep",
    "write",
    "merge",
    "carry",
    "delete",
    "weed",
    "enter",
    "stand",
    "repo",
    "remote",
    "found",
    "split",
    "expand",
    "tools",
    "search",
    "dashed",
    "listed",
]
STANDS = ("stand", "repo", "remote", "expand", "tools", "search", "dashed")
Effects = frozenset[Effect]
NOTHING: Effects = frozenset()
UNKNOWN: Effects = frozenset({"unknown"})


class Ref(Struct, frozen=True):
    """A path as a command names it, from the folder it runs in; None: it cannot be known before it runs.
    `fed`: the same command gives files to its streams, and `/dev/stderr` may be one of them by then.
    `names`: of `found` and `split`, patterns that a file's name meets; of `tools`, the files that choose one;
    of `search`, patterns of the files that are opened and, with a mark, of those that are left out. `deep`: of
    what is `found`, folders are read with all that lies below them."""

    path: str | None
    use: Use
    glob: bool = False
    fed: bool = False
    names: tuple[str, ...] = ()
    deep: bool = False


class Part(Struct, frozen=True):
    """One thing that would happen. `argv`: a command's words, None where only running it tells. `paths` are the
    resolved ones, set by `settled`, and `named` the same as they are called; `razed` those that go with all that
    lies below. `opens`: files of secrets that nobody named, and that it comes upon (`grep -r x .`). No effects at
    all: it does nothing that anybody would mind (`echo`)."""

    kind: Literal["command", "redirect", "assign", "tool"]
    text: str
    argv: tuple[str | None, ...] = ()
    effects: Effects = NOTHING
    refs: tuple[Ref, ...] = ()
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    razed: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()


class Facts(Struct, frozen=True):
    """What only the edge can know: the project's folder (empty: there is none that could be meant), the user's
    home, and what the named paths lead to. A path that is not in `resolved` could not be resolved. `named`: the
    same paths from the root, with no link followed. `away`: it runs outside of the project. `hooks`: the folder
    that git runs hooks from, if its settings name one."""

    root: str = ""
    home: str = ""
    resolved: Mapping[Ref, tuple[str, ...]] = {}
    named: Mapping[Ref, tuple[str, ...]] = {}
    away: bool = False
    hooks: str = ""


# Somewhere below these lie keys too: environments, other people's homes, what a container was given.
_KEEPS = re.compile(r"/(?:proc|root|home|Users|run)(?:/|$)")

# A stream by name. Whoever opens it opens what the stream is: `2< file > /dev/stderr` writes the file.
STREAMS = frozenset({"/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"})
# Writing to these writes nothing. Not to a terminal: what it is told may be typed by it, or lie on the clipboard.
NOWHERE = frozenset({"/dev/null", *STREAMS})

# In small letters a `$key` is somebody's loop; these are how environments spell it.
_SECRET_NAME = re.compile(
    r"(?i:TOKEN|SECRET|PASSW|API_?KEY|PRIVATE|CREDENTIAL|AUTH|ACCESS_KEY|SESSION_KEY)|KEYS?(?:_?\d+|_[A-Z]+)?$"
    r"|(?:^|_)(?:PASS|PW|PWD\d|PAT|DSN|JWT|BEARER|SK|MNEMONIC|SEED_PHRASE)\d*$|_PWD$|PASSPHRASE|COOKIE|WEBHOOK"
    r"|CONNECTION_?STRING|(?:DATABASE|DB|REDIS|MONGO\w*|POSTGRES\w*|MYSQL|AMQP)\w*_UR[IL]$"
)


def secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.search(name))


def settled(part: Part, facts: Facts) -> Part:
    """The part with what its paths add, now that it is known where they lead."""
    effects: set[Effect] = set(part.effects)
    if facts.away and "read" in effects:
        effects.add("read_outside")  # `ls` names no path, and reads the folder it runs in
    if not part.refs:
        return replace(part, effects=frozenset(effects)) if facts.away else part
    paths: list[str] = []
    opens: list[str] = []
    texts = texts_of(part.argv)
    for ref in part.refs:
        names = facts.resolved.get(ref) if ref.path is not None else None
        if names is None:
            effects |= _lost(ref.use)
            continue
        for path in names:
            does: set[Effect] = {"read"} if texts and _is_text(ref, texts) else _of_path(ref, path, facts)
            if "secrets" in does and inside(path, facts.root) and _comes_upon(ref, path):
                does.discard("secrets")
                opens += [path] if part.argv[:1] == () or part.argv[0] not in _NAMES_ONLY else []
            effects |= does
        paths += names if ref.use not in STANDS else ()
    called = (name for ref in part.refs if ref.use not in STANDS for name in facts.named.get(ref, ()))
    uses = ("delete", "weed", "write") if part.argv[:1] == ("mv",) else ("delete", "weed")
    gone = [ref for ref in part.refs if ref.use in uses]
    return replace(
        part,
        effects=frozenset(effects),
        paths=tuple(dict.fromkeys(paths)),
        named=tuple(name for name in dict.fromkeys(called) if name not in paths),
        opens=tuple(dict.fromkeys(opens)),
        razed=tuple(path for ref in gone for path in (*facts.resolved.get(ref, ()), *facts.named.get(ref, ()))),
    )


# They show what files are called, and open none.
_NAMES_ONLY = frozenset({"ls", "dir", "vdir", "stat", "du", "tree", "realpath", "readlink", "printf", "echo"})
# `*`, `*.json`, `?*`: it says nothing about what the file is called.
_ANY_NAME = re.compile(r"[*?](?:[*?]|\[[^\]]*\])*(\.\w+)?")


def _comes_upon(ref: Ref, path: str) -> bool:
    """Is this file of secrets only one of many that a search or a pattern finds, and named by nobody? A link that
    leads out of the project is another matter."""
    if ref.use not in ("search", "found", "split", "read", "sweep") or secret_path(ref.path or ""):
        return False
    if ref.use in ("search", "found", "split"):
        wanted = [name for name in ref.names if not name.startswith("skip ")]
        if ref.deep:  # the names are those of folders
            return not any(map(secret_path, wanted))
        return bool(ref.path) and not path.endswith("/" + (ref.path or "")) and all(map(_any_name, wanted))
    return ref.glob and _any_name((ref.path or "").rstrip("/").rpartition("/")[2])


def _any_name(pattern: str) -> bool:
    match = _ANY_NAME.fullmatch(pattern)
    return match is not None and not secret_path(match[1] or "")


def inside(path: str, root: str) -> bool:
    return bool(root) and (path == root or path.startswith(root.rstrip("/") + "/"))


def _is_text(ref: Ref, texts: frozenset[str]) -> bool:
    """Does the word only look like a path (`grep /api/users src`)? A pattern becomes files: only the first of them
    is what `grep` looks for."""
    path = ref.path or ""
    return (
        ref.use in ("read", "sweep")
        and not ref.glob
        and any(path == text or path.endswith("/" + text) for text in texts)
    )


def _lost(use: Use) -> set[Effect]:
    match use:
        case "read" | "sweep" | "enter" | "found" | "split" | "expand" | "tools" | "search" | "dashed" | "listed":
            return {"unknown"}
        case "write" | "merge" | "carry" | "stand" | "repo" | "remote":
            return {"write_outside", "unknown"}
        case "delete" | "weed":
            return {"delete", "write_outside", "unknown"}


def _of_path(ref: Ref, path: str, facts: Facts) -> set[Effect]:
    ours = inside(path, facts.root)
    secret: set[Effect] = {"secrets"} if secret_path(path) or secret_path(ref.path or "") else set()
    match ref.use:
        case "remote" | "merge" | "carry" | "expand" | "tools" | "dashed":
            return set()
        case "search":
            return secret
        case "enter":
            return set() if ours else {"unknown"}
        case "stand" | "repo":
            # Somewhere else it is another project's script that runs, and nobody has said yes to that.
            return set() if ours or not facts.root else {"write_outside", "unknown"}
        case "read" | "sweep" | "found" | "split" | "listed" if ours or is_dependency(path, facts.home):
            return {"read", *secret}
        case "read" | "listed":
            return {"read", "read_outside", *secret}
        case "sweep" | "found" | "split":
            # Below the home, but for the project, lie keys and tokens of all kinds.
            home = facts.home and (inside(path, facts.home) or inside(facts.home, path))
            kept: set[Effect] = {"secrets"} if home or _KEEPS.match(path) else set()
            return {"read", "read_outside", *secret, *kept}
        case "write" if path in NOWHERE and not (ref.fed and path in STREAMS):
            return set()
        case "write" | "delete" | "weed":
            names = (path, *facts.named.get(ref, ()))  # a link called CLAUDE.md, too, is obeyed under that name
            reserved = any(
                inside(name, facts.hooks) or (inside(name, facts.root) and reserved_path(name[len(facts.root) :]))
                for name in names
            )
            razed = ref.use == "delete" and path == facts.root  # its .git and all
            here: set[Effect] = {"write_inside"} if ours and not reserved and not razed else {"write_outside"}
            if ref.use != "write":
                here = {"delete", *(here - {"write_inside"})}
            return here | secret
