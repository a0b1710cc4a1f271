"""What a git command does, by its subcommand.

Rule: an option that makes git run a program, or read another configuration, makes it `unknown`.
"""

from __future__ import annotations

import re

from yourcall.rules.effects.parts import UNKNOWN, Effect, Effects
from yourcall.rules.effects.table import words

_READ = words(
    "status log diff show blame annotate rev-parse ls-files ls-tree describe shortlog "
    "cat-file rev-list name-rev merge-base grep for-each-ref show-ref diff-tree diff-index "
    "diff-files count-objects whatchanged cherry check-ignore check-attr check-ref-format "
    "verify-commit verify-tag show-branch range-diff version help fsck ls-remote"
)
_WRITE = words(
    "add commit mv switch merge cherry-pick revert init bisect notes stage pull "
    "fetch clone push checkout restore rm clean stash tag branch remote reset rebase worktree "
    "sparse-checkout"
)
_NETWORK = frozenset(["fetch", "pull", "push", "clone", "ls-remote"])
_REWRITE = words("rebase reset filter-branch filter-repo replace update-ref")

# Any of these, anywhere: a program of somebody's choice runs, or the rules come from elsewhere.
_PROGRAMS = words(
        "--upload-pack --receive-pack --exec --ext-diff --textconv --open-files-in-pager --config "
        "--template --strategy --extcmd --tool --gpg-sign --edit --edit-description --patch --interactive "
        "--output --unsafe-paths --separate-git-dir --no-verify --repo --bare --mirror --pathspec-from-file"
    )  # fmt: skip

_ELSEWHERE = ("--output", "--unsafe-paths", "--separate-git-dir")
# The same by one letter, alone or among others (`-nOless`).
_RUNNING = {"grep": "O", "clone": "cu", "merge": "s", "pull": "s", "rebase": "s", "commit": "n"}


def effects(said: list[str]) -> Effects:
    """Of the words behind `git`, global options already taken off."""
    if not said:
        return frozenset({"read"})
    name, *rest = said
    found = set(_of(name, rest))
    long = [word.split("=", 1)[0] for word in rest if word.startswith("--") and len(word) > 2]
    if name in _READ:
        long = [word for word in long if word != "--patch"]  # it shows one there; elsewhere it asks for one
    if any(_short_for(word, program) for word in long for program in _PROGRAMS):
        found |= {"unknown"}
        if any(_short_for(word, option) for word in long for option in _ELSEWHERE):
            found |= {"write_outside"}
    if any("::" in word for word in rest) and name in _NETWORK | {"remote", "submodule"}:
        found |= {"unknown"}  # ext::sh -c … is an address to git
    if name in _SHOWS and _shows_stashed(rest):
        found |= {"unknown"}
    if name in _RUNNING and _has(rest, _RUNNING[name]):
        found |= {"unknown"}
    return frozenset(found)


_SHOWS = words(
    "log show diff diff-tree diff-index rev-list whatchanged reflog shortlog grep cat-file ls-tree format-patch"
)
_UNTRACKED = re.compile(r"stash.*\^\{?[/3-9]", re.DOTALL)


def _shows_stashed(rest: list[str]) -> bool:
    """The third parent of a stash holds the files that git did not know: a `.env`, say."""
    everything = _has(rest, "", "--all", "--reflog", "--glob")
    patches = any(
        re.fullmatch(r"-[a-zA-Z]*[pu]\w*|--patch|--patch-with-[a-z]+|-U[0-9]*|--unified.*", each) for each in rest
    )
    return (everything and patches) or any(_UNTRACKED.search(each) for each in rest)


def _short_for(word: str, option: str) -> bool:
    """Git takes any beginning that is unique."""
    return len(word) > 2 and word not in ("--no", "--no-") and option.startswith(word)


def _has(rest: list[str], short: str, *long: str) -> bool:
    """One of these options, alone, clustered, shortened or with a value."""
    for word in rest:
        if word == "--":
            return False
        if word.startswith("--"):
            name = word.split("=", 1)[0]
            if any(each.startswith(name) and len(name) > 2 for each in long):
                return True
        elif word.startswith("-") and any(letter in word[1:] for letter in short):
            return True
    return False


_CHANGES = {
    "branch": ("mcuq", "--move", "--copy", "--set-upstream-to", "--unset-upstream", "--edit-description"),
    "tag": ("asumFe", "--annotate", "--sign", "--local-user", "--message", "--file"),
}
_LISTS = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
_WHICH_CONFIG = words("--global --local --system --worktree --show-origin --show-scope -z --null --name-only")


def _of(name: str, rest: list[str]) -> set[Effect]:
    plain = [word for word in rest if not word.startswith("-")]
    match name:
        case "push":
            forced = _has(rest, "fd", "--force", "--force-with-lease", "--mirror", "--delete", "--prune")
            moved = any(word.startswith(("+", ":")) for word in plain)
            return {"network", "history_rewrite"} if forced or moved else {"network"}
        case "ls-remote":
            return {"network"}
        case "fetch":
            forced = _has(rest, "f", "--force") or any(word.startswith("+") for word in plain)
            return {"network", "write_inside", "history_rewrite"} if forced else {"network", "write_inside"}
        case "pull":
            rewrites = _has(rest, "rf", "--rebase", "--force")
            return {"network", "write_inside", "history_rewrite"} if rewrites else {"network", "write_inside"}
        case "clone":
            return {"network", "write_outside"} if len(plain) > 1 else {"network", "write_inside"}
        case "add" | "stage":
            # With force, what is ignored goes along: mostly that is where keys are.
            wide = any(re.fullmatch(r"\.?/?|:.*|.*\*.*", word) for word in plain)
            every = wide or _has(rest, "Au", "--all", "--update")
            return {"write_inside", "secrets"} if every and _has(rest, "f", "--force") else {"write_inside"}
        case "commit":
            amends = _has(rest, "", "--amend")
            return {"write_inside", "history_rewrite"} if amends else {"write_inside"}
        case "checkout":
            if _has(rest, "b", "--orphan") and not _has(rest, "fB", "--force"):
                return {"write_inside"}
            return {"write_inside", "delete"}
        case "switch":
            return (
                {"write_inside", "delete"}
                if _has(rest, "fC", "--force", "--discard-changes")
                else {"write_inside"}
            )
        case "restore":
            index = bool({"-S", "--staged"} & set(rest)) and not _has(rest, "W", "--worktree")
            return {"write_inside"} if index else {
                "write_inside",
                "delete",
            }  # fmt: skip
        case "rm":
            return {"delete"}
        case "clean":
            # `-en` is no dry run: it leaves out what is called n.
            sure = all(re.fullmatch(r"-[dfnqxX]+|--dry-run|--force|--quiet|[^-].*", word) for word in rest)
            return {"read"} if sure and _has(rest, "n", "--dry-run") else {"delete"}
        case "stash":
            verb = rest[0] if rest else "push"  # not behind an option: `git stash -m list` stashes
            if verb not in ("list", "show") and _has(rest, "ua", "--include-untracked", "--all"):
                return {"write_inside", "delete"}  # files that git does not know go, a project's own rules too
            if verb == "show" and _has(rest, "u", "--include-untracked", "--only-untracked"):
                return {"read", "unknown"}  # an earlier `git stash -u` took the `.env` along
            return (
                {"read"}
                if verb in ("list", "show")
                else {"delete"}
                if verb in ("drop", "clear")
                else {"write_inside"}
            )
        case "branch" | "tag":
            if _has(rest, "dD", "--delete"):
                return {"delete"}
            if _has(rest, "fMC", "--force"):
                return {"history_rewrite", "write_inside"}
            changes = _has(rest, *_CHANGES[name])
            lists = not plain or bool({"-l", "--list", "-n"} & set(rest)) or _has(rest, "", *_LISTS)
            return {"read"} if lists and not changes else {"write_inside"}
        case "remote":
            cut = rest.index("--") if "--" in rest else len(rest)
            asked = [*[word for word in rest[1:cut] if not word.startswith("-")], *rest[cut + 1 :]]
            address = any(re.search(r"[:/@~]", word) for word in asked)
            if rest[:1] == ["show"] and asked and (address or "-n" not in rest[:cut]):
                return {"network"}
            return {"read"} if not plain or rest[0] in ("show", "get-url") else {"write_inside", "unknown"}
        case "reset":
            return {"history_rewrite", "delete"} if _has(rest, "", "--hard", "--merge", "--keep") else {
                "history_rewrite"
            }  # fmt: skip
        case "reflog":
            return {"history_rewrite"} if {"expire", "delete", "drop", "write"} & set(plain) else {"read"}
        case "apply" | "am":
            return {"write_inside", "unknown"}  # a patch writes what is written in it, dotfiles too
        case "gc" | "prune" | "repack":
            return {"history_rewrite"}
        case "config":
            first = next((word for word in rest if word not in _WHICH_CONFIG), "")
            reads = first in ("-l", "--list", "--get", "--get-all", "--get-regexp", "get", "list")
            reads = reads or (len(rest) == 1 and "." in first and not first.startswith("-"))
            return _config_read(first, rest) if reads else {"write_outside", "unknown"}
        case "worktree":
            return {"read"} if plain[:1] == ["list"] else {"write_outside", "unknown"}
        case "bisect":
            # Up to 2.30, git runs what stands in the file it replays.
            runs = {"run", "view", "visualize", "replay"} & set(plain)
            return {"write_inside", "unknown"} if runs else {"write_inside"}
        case "credential" | "credential-store" | "credential-cache":
            return {"secrets"}
        case _ if name in _REWRITE:
            opaque = name != "rebase" or _has(rest, "xi", "--exec", "--interactive")
            return {"history_rewrite", "unknown"} if opaque else {"history_rewrite"}
        case _ if name in _READ:
            return {"read"}
        case _ if name in _WRITE:
            return {"write_inside"}
        case _:
            return set(UNKNOWN)


_SECRET_SETTING = re.compile(r"extraheader|token|passw|smtppass|secret", re.IGNORECASE)


def _config_read(first: str, rest: list[str]) -> set[Effect]:
    """One setting by its name is nobody's secret. A list of them is: headers and addresses hold tokens, of the
    project's file as well as of the user's own."""
    by_pattern = first == "get" and _has(rest, "", "--regexp", "--url")
    several = first in ("-l", "--list", "--get-regexp", "list") or by_pattern
    wide = (several and "--local" not in rest) or by_pattern or bool({"--global", "--system"} & set(rest))
    found: set[Effect] = {"read", "read_outside"} if wide else {"read"}
    if (several and "--name-only" not in rest) or any(_SECRET_SETTING.search(word) for word in rest):
        found.add("secrets")
    return found
