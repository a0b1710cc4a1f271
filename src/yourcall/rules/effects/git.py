"""What a git command names: the folders it enters, the files it reads or writes, the machines it talks to.

Rule: an address in place of a remote's name is somebody else's repository, so it makes the command `unknown`; an
option before the subcommand that could change what git runs stays among the words, and no rule for the
subcommand matches it.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from msgspec.structs import replace

from yourcall.rules.effects import git_options
from yourcall.rules.effects.arguments import ref_of, refs_of
from yourcall.rules.effects.parts import UNKNOWN, Effect, Effects, Ref, Use
from yourcall.rules.effects.searches import beside_index, git_searched
from yourcall.rules.effects.table import words
from yourcall.rules.shell.items import Places, under
from yourcall.rules.shell.words import Word

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


def effects_of(texts: list[str]) -> Effects:
    """Of the words behind `git`, global options already taken off."""
    if not texts:
        return frozenset({"read"})
    name, *rest = texts
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


_PLAIN_GLOBALS = words("--no-pager --no-optional-locks --literal-pathspecs -P")
_READS = words(
    "show cat-file diff log whatchanged grep blame annotate add stage rm clean checkout restore apply am config "
    "ls-files check-ignore check-attr"
)
# Their `-F file` and `-t file` become a message that is pushed some day.
_MESSAGES = words("commit tag notes merge")
# They bring files that nobody has looked at, links among them.
GROWS = words(
    "pull checkout switch merge rebase reset cherry-pick revert stash restore am apply bisect read-tree "
    "sparse-checkout submodule worktree"
)
# Options of push, fetch and pull that no value follows.
_ALONE = words(
    "-- -a -d -f -n -p -q -r -t -u -v --all --atomic --autostash --delete --dry-run --exit-code --ff --ff-only "
    "--follow-tags --force --force-with-lease --heads --no-edit --no-ff --no-rebase --no-tags --progress --prune "
    "--quiet --rebase --refs --set-upstream --tags --verbose"
)
# The first plain word behind these says what to do: a file of that name, found by a pattern, would choose it.
_PICKERS = words("reflog stash bisect config remote worktree submodule notes sparse-checkout credential help")
# Behind these, what a pattern finds is a file.
_FILES = words(
    "add stage rm mv diff log show blame annotate grep ls-files ls-tree checkout restore commit status "
    "check-ignore whatchanged shortlog"
)
# `HEAD~1`, `main^`: a pattern to zsh at most, and one that finds nothing but what begins so.
_REVISION = re.compile(r"[\w@][^*?\[#]*")
# `host.name:path` too; without a dot it is a branch and where it goes.
_ADDRESS = re.compile(r"(?:[A-Za-z][\w+.-]*://|[^/\s:]+@[^/\s:]+:|[./~]|[^/\s:]*\.[^/\s:]*:).*", re.DOTALL)
_HOST = re.compile(r"(?:[a-z]+://(?:[^/@\s]*@)?|[^/\s:]+@)([A-Za-z0-9_.-]+)(?:[:/].*)?", re.DOTALL)


def git_parts(
    words: list[Word], effects: set[Effect], refs: list[Ref], hosts: list[str], places: Places
) -> tuple[list[Word], tuple[str | None, ...]]:
    """The words by which a rule knows the command (`git push`), and what it makes grow: None is everything."""
    rest = words[1:]
    odd = False
    while rest and (rest[0].value or "").startswith("-"):
        option = rest[0].value or ""
        if option == "-C" and len(rest) > 1 and (folder := rest[1].value) and not rest[1].glob:
            refs += [ref_of(rest[1], "enter", place) for place in places]
            places = tuple(under(place, folder) for place in places)
            rest = rest[2:]
        elif option in _PLAIN_GLOBALS:
            rest = rest[1:]
        else:
            odd = True
            valued = option in ("-C", "-c", "--config-env", "--git-dir", "--work-tree", "--namespace")
            rest = rest[2:] if valued else rest[1:]
    if odd:
        effects.add("unknown")
    said = [word.value for word in rest]
    verb = said[0] if said and said[0] else ""
    if verb not in _PICKERS:
        rest = [replace(w, glob=False) if w.glob and _REVISION.fullmatch(w.value or "") else w for w in rest]
    if any(word.glob for word in rest[1:]) and verb not in _FILES:
        effects.add("unknown")
    if rest and (rest[0].glob or not git_options.known(verb, rest[1:])):
        effects.add("unknown")
    if verb == "help" and not all(re.fullmatch(r"-.*|[a-z][a-z0-9-]*", word or "") for word in said[1:]):
        effects.add("unknown")  # `man` shows a file by its path, and what that includes
    effects |= effects_of([value if value is not None else "\0" for value in said])
    if said[:1] == [None]:
        effects.add("unknown")
    refs += [Ref(under(place, "."), "repo") for place in places]
    grows = _named(verb, rest[1:], effects, refs, hosts, places)
    return (words if odd else [words[0], *rest]), grows


def _named(
    verb: str, args: list[Word], effects: set[Effect], refs: list[Ref], hosts: list[str], places: Places
) -> tuple[str | None, ...]:
    plain = [word for word in args if word.value and not word.value.startswith("-")]
    if verb in _READS:
        use: Use = "delete" if verb == "rm" else "sweep" if _outside(verb, args) else "read"
        named = [Word(w.text, _file_of(w.value) if w.value else None, w.glob, w.tilde) for w in args]
        refs += [ref for ref in refs_of(named, use, places) if ref.path is not None]
        refs += git_searched(verb, args, places) if use != "delete" else []
        if verb in ("checkout", "restore"):
            refs += [ref for ref in refs_of(plain, "write", places) if ref.path is not None]
    if verb in _MESSAGES:
        refs += refs_of(_message_files(args), "read", places)
    if verb in ("push", "fetch", "pull", "ls-remote"):
        first = (plain[0].value or "") if plain else ""
        if ":" in first or any(_address(word.value or "") for word in plain):
            effects.add("unknown")
        refs += [Ref(under(place, word.value or ""), "remote") for word in _remotes(args) for place in places]
    if verb in ("push", "fetch", "pull", "ls-remote", "clone", "remote", "submodule"):
        hosts += [found[1].lower() for word in plain if (found := _HOST.fullmatch(word.value or ""))]
    if verb in ("mv", "init"):
        refs += refs_of(plain, "write", places)
    if verb == "clone":
        # Without a folder's name it is taken from the address.
        into = [Word(name, name) for word in plain if (name := _folder_of(word.value or ""))]
        refs += refs_of(into + plain[1:], "write", places)
        effects -= {"write_outside"}
        return tuple(under(place, word.value or "") for word in into + plain[1:] for place in places)
    return (None,) if verb in GROWS else ()


def _file_of(value: str) -> str:
    """The file of `HEAD:a.py`, `:(icase)a.py` or `a.py`."""
    return re.sub(r"^:\([^)]*\)", "", value) if value.startswith(":(") else value.rsplit(":", 1)[-1]


def _outside(verb: str, args: list[Word]) -> bool:
    """Does it look at what git does not know? `git diff a ~` compares folders, all that lies below them."""
    texts = [word.value or "" for word in args]
    if verb == "diff":
        return beside_index(args)
    return verb == "grep" and any(value.startswith("--no-i") or value == "--untracked" for value in texts)


def _address(value: str) -> bool:
    """Another repository than one that has a name here; `.` is this one."""
    return value != "." and _ADDRESS.fullmatch(value) is not None


def _remotes(args: list[Word]) -> list[Word]:
    """The words that may be a remote's name: the first one, and those before it that may be an option's value."""
    found: list[Word] = []
    several = any((word.value or "").startswith("--mu") for word in args)
    for before, word in zip(["", *(each.value or "" for each in args)], args, strict=False):
        if not word.value or word.value.startswith("-") or word.value == ".":
            continue
        found.append(word)
        if not several and (not before.startswith("-") or "=" in before or before in _ALONE):
            break
    return found


def _folder_of(address: str) -> str:
    """Where `git clone` puts what it gets from there."""
    name = re.split(r"[/:]", re.sub(r"(?:/+\.git)?/*$", "", address))[-1]
    return unquote(re.sub(r"\.(?:git|bundle)$", "", name))


def _message_files(args: list[Word]) -> list[Word]:
    """What `-F`, `--file`, `-t` and `--template` name, however they are written."""
    found: list[Word] = []
    for at, word in enumerate(args):
        value = word.value or ""
        after = args[at + 1 : at + 2]
        if value.startswith("--"):
            name, sign, tail = value.partition("=")
            if len(name) > 2 and any(option.startswith(name) for option in ("--file", "--template")):
                found += [Word(tail, tail)] if sign else after
        elif value.startswith("-") and (letters := re.match(r"-[A-Za-z]*?[Ft](.*)", value, re.DOTALL)):
            found += [Word(letters[1], letters[1]), *([] if letters[1] else after)]
    return [word for word in found if word.value]
