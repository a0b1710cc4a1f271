"""What a git command names: the folders it enters, the files it reads or writes, the machines it talks to.

Rule: an address in place of a remote's name is somebody else's repository, so it makes the command `unknown`; an
option before the subcommand that could change what git runs stays among the words, and no rule for the
subcommand matches it.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from msgspec.structs import replace

from yourcall.rules.effects import git, git_options
from yourcall.rules.effects.arguments import ref_of, refs_of
from yourcall.rules.effects.parts import Effect, Ref, Use
from yourcall.rules.effects.searches import beside_index, git_searched
from yourcall.rules.effects.table import words
from yourcall.rules.shell.items import Places, under
from yourcall.rules.shell.words import Word

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
    effects |= git.effects([value if value is not None else "\0" for value in said])
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
    said = [word.value or "" for word in args]
    if verb == "diff":
        return beside_index(args)
    return verb == "grep" and any(value.startswith("--no-i") or value == "--untracked" for value in said)


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
