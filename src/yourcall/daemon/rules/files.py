"""The files of the rules: `rules.toml` in yourcall's home, `.yourcall/rules.toml` in a project, and the brake.

Rule: read anew when they change, written whole or not at all, and the text of before is kept for one undo. A file
that cannot be read allows nothing.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.daemon.rules.organisation import SignedRules
from yourcall.daemon.rules.paths import around
from yourcall.model.prompts import Refused
from yourcall.rules.organisation import Organisation
from yourcall.rules.rule import Rule, meant_from
from yourcall.rules.text import RuleFile, named, read, section, without
from yourcall.system import private_files

NAME = "rules.toml"
BEFORE = "rules.toml.before"
WRITTEN = "rules.toml.written"
USED = "rules.toml.used"
PAUSED = "paused"
LOCKED = "locked"  # what daemon/lockdown.py writes
# Thousands of rules fit into this; what is larger is not a list that somebody wrote.
LARGEST = 1 << 20
# Many editors empty a file and write it piece by piece. So long, what it restricted before goes on to count: by
# then the pieces are there. A file of rules is written in milliseconds; a slow disk may take a second.
SETTLES_S = 2.0
_EMPTY = RuleFile()


class Paused(Struct, frozen=True):
    at: float = 0.0
    by: str = ""


class Used(Struct, frozen=True):
    """How often the rule of this name that was made at `since` has decided."""

    since: float = 0.0
    times: int = 0


class Files:
    """The rules of one home, and of the projects they are asked about."""

    def __init__(self, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.home = home
        self._clock = clock
        self._known: dict[Path, tuple[tuple[int, int, int], RuleFile]] = {}
        self._last: dict[Path, RuleFile] = {}  # what each said when it was last looked at
        self._settling: dict[Path, list[tuple[float, Rule]]] = {}  # what it restricted before, and until when
        self._joined: dict[Path, RuleFile] = {}
        self._both: tuple[tuple[RuleFile, ...], RuleFile] = ((), _EMPTY)
        self.organisation = SignedRules(home)
        self._theirs: set[str] = set()  # folders that have, or had, rules of their own

    @property
    def path(self) -> Path:
        return self.home / NAME

    @cached_property
    def _user(self) -> str:
        return os.path.realpath(Path.home())

    def book(self, root: str = "", instead: Organisation | None = None) -> RuleFile:
        """An organisation's rules, the user's, those of this project, and those of any folder around it.

        `instead`: of an organisation that is tried."""
        ours = self._read(self.path, "")
        folders = around(root, self._user) if root else ()  # pausing needs no such home
        read_there = [
            self._read(Path(folder) / ".yourcall" / NAME, folder) for folder in folders if self._met(folder)
        ]
        theirs = [each for each in read_there if each != _EMPTY]
        organisation = self.organisation.now if instead is None else instead
        if organisation is None and not theirs:
            return ours
        above = organisation.rules if organisation is not None else _EMPTY
        said = (above, ours, *theirs)
        if len(self._both[0]) == len(said) and all(a is b for a, b in zip(self._both[0], said, strict=True)):
            return self._both[1]
        # A mistake in the project's file may hide a restriction: then nothing is allowed here.
        wrong = any(each.problems for each in (above, *theirs))
        kept = [rule for rule in (*above.rules, *ours.rules) if not wrong or rule.do != "allow"]
        # Uses are counted by name, and the record knows a rule by it: the user's own are nobody else's.
        taken = {rule.name for rule in (*above.rules, *ours.rules)}
        added: list[Rule] = []
        for rule in (rule for each in theirs for rule in each.rules):
            free = named(rule, taken)
            added.append(replace(free, path=tuple(meant_from(rule.of_project, each) for each in free.path)))
            taken.add(free.name)
        both = RuleFile((*kept, *added), tuple(problem for each in said for problem in each.problems))
        self._both = (said, both)
        return both

    def _met(self, folder: str) -> bool:
        """Are there rules in this folder, or were there? Mostly not, and every decision looks at all around it."""
        try:
            os.stat(f"{folder}/.yourcall/{NAME}")
        except (FileNotFoundError, NotADirectoryError):
            return folder in self._theirs
        except OSError:
            pass  # it is there, and may restrict
        if len(self._theirs) > 200:
            self._theirs.clear()
        self._theirs.add(folder)
        return True

    def _read(self, path: Path, root: str) -> RuleFile:
        """What it says now; and what it restricted a moment ago, for it may not be whole yet."""
        book = self._as_it_stands(path, root)
        last = self._last.get(path, _EMPTY)
        settling = self._settling.get(path, [])
        if book is not last:
            self._last[path] = book
            until = self._clock() + SETTLES_S
            settling = settling + [(until, rule) for rule in last.rules if rule.do != "allow"]
        if not settling:
            return book
        now = self._clock()
        settling = [(until, rule) for until, rule in settling if until > now]
        if settling:
            self._settling[path] = settling
        else:
            self._settling.pop(path, None)
        more = dict.fromkeys(rule for _, rule in settling if rule not in book.rules)
        if not more:
            return book
        both = RuleFile((*book.rules, *more), book.problems)
        if self._joined.get(path) != both:  # the same one as long as it says the same: others keep an index of it
            self._joined[path] = both
        return self._joined[path]

    def _as_it_stands(self, path: Path, root: str) -> RuleFile:
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            self._known.pop(path, None)
            return _EMPTY
        except OSError as error:  # it is there, and may restrict
            return RuleFile(problems=(f"{path} cannot be read: {error}.",))
        mark = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = self._known.get(path)
        if known is not None and known[0] == mark:
            return known[1]
        try:
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                raise ValueError("it is not a file, or too large")
            book = read(path.read_text(encoding="utf-8"), str(path), root)
        except (OSError, ValueError) as error:
            book = RuleFile(problems=(f"{path} cannot be read: {error}.",))
        if len(self._known) > 200:
            for each in (self._known, self._last, self._settling, self._joined):
                each.clear()
        self._known[path] = (mark, book)
        return book

    # -- changing

    def add(self, rule: Rule) -> Rule | Refused:
        """The rule as it is now in the user's file, under a name that was free."""
        text = self._text()
        if isinstance(text, Refused):
            return text
        before = read(text, NAME)
        if before.problems:
            return Refused(f"Nothing was changed: {before.problems[0]} Correct it first.")
        free = named(rule, {each.name for each in before.rules})
        new = f"{text.rstrip()}\n\n{section(free)}" if text.strip() else section(free)
        after = read(new, NAME)
        if after.problems or [each.name for each in after.rules] != [*(r.name for r in before.rules), free.name]:
            return Refused(f"Nothing was changed: {(after.problems or ('the rule cannot be written',))[0]}")
        self._write(new, text)
        return free

    def remove(self, name: str) -> Refused | None:
        text = self._text()
        if isinstance(text, Refused):
            return text
        new = without(text, name)
        if new is None:
            return Refused(f"There is no rule {name!r} in {self.path}. See which there are: yourcall rules list")
        before, after = read(text, NAME), read(new, NAME)
        # No rule that restricts may go with it; the allows of a file come back with its last mistake gone.
        kept = [rule for rule in before.rules if rule.name != name]
        if len(after.problems) > len(before.problems) or any(rule not in after.rules for rule in kept):
            return Refused(
                f"{name!r} cannot be cut out of {self.path} cleanly: remove it there. Nothing was changed."
            )
        self._write(new, text)
        return None

    def undo(self, removed: str = "") -> Refused | None:
        """The file as it was before the last change that was made through yourcall; undoing it again redoes it.

        `removed`: only if all that happened since is that this rule was removed.
        """
        before = self.home / BEFORE
        text = self._text()
        try:
            old = before.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return Refused("There is nothing to undo.")
        if isinstance(text, Refused):
            return text
        if removed and without(old, removed) != text:
            return Refused(f"The rules were changed since: {removed} was not brought back.")
        if not removed and self._by_hand(text):
            return Refused(
                f"{self.path} was changed by hand since: nothing was undone. To take one rule out: yourcall rules "
                "remove NAME"
            )
        self._write(old, text)
        return None

    def _by_hand(self, text: str) -> bool:
        """Is it another text than we wrote last? Not known, from before that was noted: no."""
        try:
            return (self.home / WRITTEN).read_text() != _hash(text)
        except (OSError, ValueError):
            return False

    def _text(self) -> str | Refused:
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            return Refused(f"{self.path} cannot be read: {error}. Nothing was changed.")

    def _write(self, new: str, old: str) -> None:
        private_files.write(self.home / BEFORE, old.encode())
        private_files.write(self.home / WRITTEN, _hash(new).encode())
        private_files.write(self.path, new.encode())
        for each in (self._known, self._last, self._settling):  # it is whole: what it says counts at once
            each.pop(self.path, None)

    # -- what is used up

    def used(self) -> dict[str, Used] | None:
        """By the name of the rule; None if it cannot be read: then nobody knows."""
        try:
            return msgspec.json.decode((self.home / USED).read_bytes(), type=dict[str, Used])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return None

    def keep_used(self, counts: dict[str, Used]) -> None:
        kept = self.used()
        if kept is None:  # the counts of others are in there
            raise ValueError(f"{self.home / USED} cannot be read; fix it, or remove it to start counting again")
        private_files.write(self.home / USED, msgspec.json.encode({**kept, **counts}))

    # -- the brake

    def paused(self) -> Paused | None:
        """Since when and by whom; a file that cannot be read pauses too, and so does the emergency lock."""
        path = self.home / PAUSED
        if os.path.lexists(self.home / LOCKED):
            return Paused(by="lock")
        try:
            return msgspec.json.decode(path.read_bytes(), type=Paused)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return Paused()

    def pause(self, at: float, by: str) -> None:
        private_files.write(self.home / PAUSED, msgspec.json.encode(Paused(at, by)))

    def resume(self) -> None:
        (self.home / PAUSED).unlink(missing_ok=True)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
