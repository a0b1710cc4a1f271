"""A script's items as parts with effects: what each program does with the words it is given.

Rule: an argument that only running it tells makes its command `unknown`; a wrapper hands on what it wraps, and is
a part of its own.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from yourcall.core import effects_table as table
from yourcall.core.arguments import host_of, named, names_tell, ref_of, refs_of, says
from yourcall.core.copying import writes
from yourcall.core.effects import NOTHING, UNKNOWN, Effect, Part, Ref, Use
from yourcall.core.fetching import fetches
from yourcall.core.git_parts import git_parts
from yourcall.core.grown import Growth, settled_in_turn
from yourcall.core.packages import packages
from yourcall.core.programs import awk, prints, sed
from yourcall.core.shell import NUMBERS, parse
from yourcall.core.shell_items import Assign, Item, Places, Redirect, Script, Simple, Test, Unread, under
from yourcall.core.shell_words import Word

# sh -c "sh -c …": each of them is parsed; more of them nobody writes in good faith.
DEEPEST = 5
# Each is looked up on the disk.
MOST_STARS = 20

_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_BIN = re.compile(r"(?:/usr(?:/local)?|/opt/homebrew)?/s?bin/([^/]+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_DURATION = re.compile(r"[0-9.]+[smhd]?")
_GH = table.words("pr issue run repo release search")
_GH_READS = table.words("view list status diff checks watch")
_SWEEPS = table.words("grep egrep fgrep rg ag diff")
_PS_TELLS = re.compile(r"-?[A-DF-Za-z]*[eE]|.*environ", re.IGNORECASE | re.DOTALL)
_PS = table.words("-e -ef -eo -elf -eF -A --no-headers --sort")
# yq spells it `load_str`, `str_load`, `strload`, `xml_load`.
_ENV = re.compile(r"\b(?:str)?env(?:subst)?\b|\$ENV|input_filename|load|\b(?:include|import)\b")
# The value of a variable that a program looks up a file by (a language, a zone) leads nowhere else.
_SETTING = re.compile(r"(?!.*\.\.)(?:[\w@.+=,-][\w@.+=,:/-]*)?")
_BASHISM = re.compile(r"\$'|\[\[|[<>]\(|&>|\|&|<<<")
_SHELL_OPTIONS = table.words("-e -u -x -l --login -eu -ex -euo -o")
_STARRED = table.NEUTRAL | {"find"}  # it looks at its own
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})


def parts_of(command: str) -> tuple[Part, ...] | Unread:
    """Every part of a command, paths still to be resolved."""
    script = parse(command)
    if isinstance(script, Unread):
        return script
    found = _Parts()
    found.take(script, 0)
    if found.fed:
        found.parts = [
            replace(part, refs=tuple(replace(ref, fed=ref.use == "write") for ref in part.refs))
            for part in found.parts
        ]
    return settled_in_turn(found.parts, found.grown, found.loops)


class _Parts:
    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.grown: list[Growth] = []
        self.loops = False
        self.fed = False

    def take(self, script: Script, depth: int) -> None:
        self.loops = self.loops or script.loops
        for item in script.items:
            self._item(item, depth)

    def _item(self, item: Item, depth: int) -> None:
        match item:
            case Simple():
                self._simple(list(item.words), item.text, item.places, depth)
            case Redirect():
                self._redirect(item)
            case Assign():
                self._assign(item)
            case Test():
                effects = NOTHING if item.plain else UNKNOWN
                self.parts.append(Part("command", item.text, ("test",), effects | names_tell(item.words)))

    def _redirect(self, item: Redirect) -> None:
        target, op = item.target, item.op
        # A file to read from, or a stream that may be one, under the number of an output: 2< f, 2<&0, 2>&3.
        self.fed = self.fed or op.startswith("<") or (op == ">&" and target.value not in ("1", "2", "-"))
        if target.value == "-" or (op in (">&", "<&") and (target.value or "").rstrip("-").isdecimal()):
            return
        use: Use = "read" if op in ("<", "<&") else "write"
        text = f"{op} {target.text}"
        if target.value is not None and target.value.startswith(("/dev/tcp/", "/dev/udp/")):
            host = target.value.split("/")[3]
            self.parts.append(Part("redirect", text, (), frozenset({"network", "unknown"}), hosts=(host,)))
            return
        refs = tuple(ref_of(target, use, place) for place in item.places)
        self.parts.append(Part("redirect", text, (), names_tell((target,)), refs))

    def _assign(self, item: Assign) -> None:
        harmless = item.name in table.HARMLESS_VARIABLES or item.name.startswith("LC_")
        if item.lasting and _NAME.fullmatch(item.name):
            harmless = harmless or plain_variable(item.name)
        # Wherever it is calculated with (zsh: `$y[x]`), a command within it would run.
        held = item.value.value or ""
        if harmless and item.name.isupper():
            harmless = item.value.value is not None and _SETTING.fullmatch(held) is not None
        effects = NOTHING if harmless and "$(" not in held and "`" not in held else UNKNOWN
        told = names_tell((item.value,))
        self.parts.append(Part("assign", f"{item.name}={item.value.text}", (), effects | told))

    def _note(self, words: list[Word], text: str, effects: set[Effect], refs: list[Ref], hosts: list[str]) -> None:
        argv = (_program(words[0].value), *(word.value for word in words[1:]))
        # A star that is no path here could become an option: a file may be called `--upload-pack=x`.
        seen = [ref.path for ref in refs if ref.glob and ref.path]
        stars = [word.value or "" for word in words[1:] if word.glob and argv[0] not in _STARRED]
        if len(stars) > MOST_STARS or not all(any(path.endswith(star) for path in seen) for star in stars):
            effects.add("unknown")
        self.parts.append(
            Part("command", text, argv, frozenset(effects) | names_tell(words), tuple(refs), tuple(hosts))
        )

    def _simple(self, words: list[Word], text: str, places: Places, depth: int) -> None:
        name = None if words[0].glob else _program(words[0].value)
        args = words[1:]
        effects: set[Effect] = set()
        refs: list[Ref] = []
        hosts: list[str] = []
        if depth > DEEPEST or name is None:
            self._note(words, text, {"unknown"}, [], [])
            return
        values = [word.value for word in args]
        known = [value for value in values if value is not None]
        if None in values and name not in ("echo", "printf", "xargs", "test", "["):
            effects.add("unknown")
        if len(args) == 1 and name in table.VERSION_WORDS.get(values[0] or "", ()):
            self._note(words, text, {"read"}, [], [])
            return
        match name:
            case "cd":
                refs = [
                    ref_of(args[-1] if args else Word("~", "~", tilde=True), "enter", place) for place in places
                ]
                if (len(args) > 1 and values[0] != "--") or values[-1:] == ["-"]:
                    effects.add("unknown")
            case "git":
                words, grows = git_parts(words, effects, refs, hosts, places)
                self.grown += [Growth(len(self.parts), each) for each in grows]
            case "find":
                self._find(args, effects, refs, places, depth)
            case "env":
                self._env(words, text, places, depth)
                return
            case "curl" | "wget":
                fetches(name, args, effects, refs, hosts, places)
            case "gh":
                effects |= {"secrets"} if known[:1] == ["auth"] else {"network"}
                looks = len(known) > 1 and known[0] in _GH and known[1] in _GH_READS
                if not looks and known[:2] not in (["auth", "status"], ["auth", "token"]):
                    effects.add("unknown")
                if any(_ENV.search(value) for value in known):
                    effects.add("secrets")
            case "sed":
                sed(args, effects, refs, places)
            case "awk" | "gawk" | "mawk":
                awk(args, effects, refs, places)
            case "set":
                if not known:
                    effects.add("secrets")
                elif not all(re.fullmatch(r"[-+][euxo]+|pipefail", value) for value in known):
                    effects.add("unknown")
            case "read":
                if not all((_NAME.fullmatch(value) and plain_variable(value)) or value == "-r" for value in known):
                    effects.add("unknown")
            case "hostname":
                effects.add("privilege" if known else "read")
            case "printf":
                if not values or values[0] is None or not prints(values[0], values[1:]):
                    effects.add("unknown")
            case "test" | "[":
                sums = any(value in NUMBERS or value == "-t" for value in known)
                odd = [v for v in known if not (v.isdecimal() or v.startswith("-") or v in ("!", "]"))]
                if None in values or "-v" in known or "-R" in known or (sums and odd):
                    effects.add("unknown")
            case "dd":
                for word in args:
                    key, _, value = (word.value or "").partition("=")
                    if key in ("if", "of"):
                        use: Use = "write" if key == "of" else "read"
                        refs += [named(value, use, place) for place in places]
            case "tar" | "unzip" | "zip" | "patch" | "gzip" | "gunzip" | "bzip2" | "xz" | "zstd" | "7z":
                effects |= {"write_inside", "unknown"}
                refs += refs_of(args, "read", places)
                self.grown.append(Growth(len(self.parts), None))
            case _ if name in table.NUMBERED:
                if not all(value.isdecimal() for value in known):
                    effects.add("unknown")
            case _ if name in table.NEUTRAL:
                effects -= {"unknown"} if name == "echo" else set()
            case _ if name in table.SHELLS or name == "eval":
                self._shell(name, args, effects, places, depth)
                refs += [Ref(under(place, "."), "stand") for place in places if "unknown" in effects]
            case _ if name in table.WRAPPERS:
                self._wrapper(name, words, text, effects, places, depth)
                return
            case _ if name in table.READERS:
                effects.add("read")
                if says(args, table.READERS[name]) or (name in table.NO_PLUS and any(v[:1] == "+" for v in known)):
                    effects.add("unknown")
                if name == "strings" and any(v[:1] == "@" for v in known):
                    effects.add("unknown")  # further words, so other files too, stand in that file
                if says(args, table.FOLLOWERS.get(name, "")):
                    effects.add("unknown")
                if name in ("jq", "yq") and any(_ENV.search(value) for value in known):
                    effects.add("secrets")
                if name == "yq" and any(re.search(r"eval\s*\(|\bsystem\b", value) for value in known):
                    effects.add("unknown")
                if name == "date" and (known and (known[0][:1] not in ("+", "-") or _sets(known))):
                    effects.add("unknown")  # `date 0101…` sets the clock, behind an option too
                if name == "ps" and any(_PS_TELLS.match(v) and v not in _PS for v in known):
                    effects.add("secrets")  # `ps eww` shows what the variables of others hold
                refs += refs_of(args, "sweep" if name in _SWEEPS and sweeps(name, args) else "read", places)
            case _ if name in table.ONE_FILE:
                effects.add("read")
                plain = [word for word in args if word.value == "-" or not (word.value or "").startswith("-")]
                refs += refs_of(args, "read", places)
                if len(plain) > 1 or says(args, "-r -revert"):
                    refs += refs_of(args, "write", places)
            case _ if name in table.WRITERS:
                grows = writes(name, args, effects, refs, places)
                self.grown += [Growth(len(self.parts), each, itself=name in ("cp", "ln")) for each in grows]
            case _ if name in table.DELETERS:
                effects.add("delete")
                refs += refs_of(args, "delete", places)
            case _ if name in table.ALWAYS:
                effects |= table.ALWAYS[name]
                hosts += [h for value in known if (h := host_of(value))]
                if name == "dig" and says(args, "-f -k"):
                    refs += refs_of(args, "read", places)  # every line of the file is asked for
            case _ if name in table.PACKAGES:
                packages(name, known, effects)
                refs += [Ref(under(place, "."), "stand") for place in places if "unknown" in effects]
            case _:
                effects.add("unknown")
                refs += [Ref(under(place, "."), "stand") for place in places]
        self._note(words, text, effects, refs, hosts)

    def _find(self, args: list[Word], effects: set[Effect], refs: list[Ref], places: Places, depth: int) -> None:
        effects.add("read")
        at = 0
        while at < len(args):
            value = args[at].value or ""
            if value in _FIND_RUNS:
                end = next((n for n in range(at + 1, len(args)) if _ends(args, n)), len(args))
                inner = [Word(w.text, None if "{}" in (w.value or "{}") else w.value) for w in args[at + 1 : end]]
                if inner:
                    self._simple(inner, " ".join(w.text for w in inner), (None,), depth + 1)
                at = end
            elif value == "-delete" and "delete" not in effects:
                effects.add("delete")
                here = [w for w in args[:at] if not (w.value or "").startswith("-")]
                refs += refs_of(here or [Word(".", ".")], "weed", places)
                if any(w.value in ("-L", "-follow") for w in args):
                    effects.update(("write_outside", "unknown"))  # links are followed, wherever they lead
            elif value in _FIND_WRITES and at + 1 < len(args):
                refs += [ref_of(args[at + 1], "write", place) for place in places]
            elif value in ("-files0-from",) or (args[at].glob and "." not in value):
                effects.add("unknown")  # an unquoted `*` may find a file that is called -delete
            at += 1
        first = next((n for n, w in enumerate(args) if (w.value or "").startswith(("-", "(", "!"))), len(args))
        refs += refs_of(args[:first], "read", places)

    def _env(self, words: list[Word], text: str, places: Places, depth: int) -> None:
        """`env [-i] [NAME=value…] command`; alone it prints every variable."""
        rest = words[1:]
        effects: set[Effect] = set()
        while rest:
            value = rest[0].value
            if value in ("-i", "-", "--ignore-environment", "--"):
                rest = rest[1:]
            elif value in ("-u", "--unset") and len(rest) > 1:
                rest = rest[2:]
            elif value is not None and _ASSIGNMENT.match(value):
                name, _, held = value.partition("=")
                self._assign(Assign(name, Word(held, held), lasting=False))
                rest = rest[1:]
            else:
                break
        if not rest:
            effects.add("secrets")
        elif rest[0].value is None or rest[0].value.startswith("-"):
            effects.add("unknown")
        else:
            self._simple(rest, " ".join(word.text for word in rest), places, depth + 1)
        self._wraps(words, text, effects)

    def _wrapper(
        self, name: str, words: list[Word], text: str, effects: set[Effect], places: Places, depth: int
    ) -> None:
        """The command that is wrapped, as a part of its own; then the wrapper itself."""
        effects |= table.ALWAYS.get(name, NOTHING) - {"unknown"}
        if name == "command" and len(words) > 1 and words[1].value in ("-v", "-V"):
            self._note(words, text, {"read"}, [], [])
            return
        inner, mark = _behind_options(name, words[1:])
        if name == "timeout" and inner and _DURATION.fullmatch(inner[0].value or ""):
            inner = inner[1:]
        if name == "xargs" and inner is not None:
            # Whatever xargs reads becomes arguments, at the end or where the mark stands.
            inner = inner or [Word("echo", "echo")]
            marked = [Word(w.text, None if mark in (w.value or mark) else w.value, w.glob) for w in inner]
            inner = marked if mark else [*inner, Word("…", None)]
        if not inner or inner[0].value is None or _ASSIGNMENT.match(inner[0].value):
            effects.add("unknown")
        else:
            self._simple(inner, " ".join(word.text for word in inner), places, depth + 1)
        self._wraps(words, text, effects)

    def _wraps(self, words: list[Word], text: str, effects: set[Effect]) -> None:
        """The wrapper itself, with all its words: a rule may name both (`sudo rm`). What they do is said above."""
        argv = (_program(words[0].value), *(word.value for word in words[1:]))
        self.parts.append(Part("command", text, argv, frozenset(effects)))

    def _shell(self, name: str, args: list[Word], effects: set[Effect], places: Places, depth: int) -> None:
        """`bash -c '…'` is parsed like the rest; a script, or what comes through a pipe, is anybody's guess."""
        rest = list(args)
        while (
            rest
            and name != "eval"
            and rest[0].value in ("-e", "-u", "-x", "-l", "--login", "-eu", "-ex", "-euo", "-o")
        ):
            # The word behind -o is its own; alone it would be a script of that name.
            option = (rest[0].value or "").endswith("o")
            if option and (len(rest) < 2 or rest[1].value != "pipefail"):
                break
            rest = rest[2:] if option else rest[1:]
        inline = name == "eval" or (bool(rest) and re.fullmatch(r"-[euxl]*c", rest[0].value or "") is not None)
        said = rest if name == "eval" else rest[1:2]
        more = bool(rest[2:]) and name != "eval"
        if not inline or not said or more or any(word.value is None for word in said):
            effects.add("unknown")
            return
        text = " ".join(word.value or "" for word in said)
        script = parse(text, places)
        # What only bash and zsh know is read otherwise by other shells: `[[ a || ./x ]]` runs ./x there.
        plain = name in ("bash", "zsh", "eval") or not _BASHISM.search(text)
        if isinstance(script, Unread) or depth >= DEEPEST or not plain:
            effects.add("unknown")
        else:
            self.take(script, depth + 1)


def _sets(said: list[str]) -> bool:
    """A bare number sets the clock; behind `-d` and `-r` it is the time that is shown."""
    pairs = zip(["", *said], said, strict=False)
    return any(
        re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", it) and before not in ("-d", "-r", "--date") for before, it in pairs
    )


def plain_variable(name: str) -> bool:
    """A name that means nothing to any program, nor to zsh."""
    return name not in table.TIED and not name.startswith(("npm_", "pip_"))


def sweeps(name: str, args: list[Word]) -> bool:
    """Does it read everything below the folders it is told?"""
    if name == "diff" and says(args, "-N -P --new-file --unidirectional-new-file"):
        return True  # of two folders, it shows every file that is in one of them only
    return name in ("rg", "ag") or says(args, "-r -R --recursive --dereference-recursive --directories -d")


def _ends(args: list[Word], at: int) -> bool:
    """Where the command of `find -exec` ends: a `+` does it only behind `{}`."""
    return args[at].value == ";" or (args[at].value == "+" and args[at - 1].value == "{}")


def _behind_options(name: str, rest: list[Word]) -> tuple[list[Word] | None, str]:
    """What a wrapper runs, and the mark of `xargs -I`; None if an option is not known for sure."""
    flags, valued = (options.split() for options in table.WRAPPERS[name])
    mark = ""
    while rest and (rest[0].value is None or (rest[0].value.startswith("-") and rest[0].value != "-")):
        option = rest[0].value
        if option is None:
            return None, ""
        if option == "--":
            return rest[1:], mark
        if option in flags or (name == "nice" and option[1:].isdecimal()):
            rest = rest[1:]
        elif option in valued and len(rest) > 1 and rest[1].value is not None and not rest[1].glob:
            mark = (rest[1].value or "") if option == "-I" else mark
            if option == "-I" and not mark:
                return None, ""
            rest = rest[2:]
        elif option.split("=", 1)[0] in valued or (option[:2] in valued and not option.startswith("--")):
            mark = option[2:] if option[:2] == "-I" else mark
            rest = rest[1:]
        else:
            return None, ""
    return rest, mark


def _program(value: str | None) -> str | None:
    """`/usr/bin/git` is `git`; a path anywhere else is a program of its own."""
    if not value:
        return None
    known = _BIN.fullmatch(value)
    return known[1] if known else value
