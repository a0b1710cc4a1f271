"""A script's items as parts with effects: what each program does with the words it is given.

Rule: an argument that only running it tells makes its command `unknown`; a wrapper hands on what it wraps, and is
a part of its own.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from yourcall.rules.effects import network, options, piping, table
from yourcall.rules.effects.arguments import (
    dashed_files,
    found_refs,
    host_of,
    named,
    names_tell,
    options_behind,
    ref_of,
    refs_of,
    says,
)
from yourcall.rules.effects.files import writes
from yourcall.rules.effects.git import git_parts
from yourcall.rules.effects.network import fetches
from yourcall.rules.effects.overlap import Growth, settled_in_turn
from yourcall.rules.effects.parts import NOTHING, UNKNOWN, Effect, Part, Ref, Use
from yourcall.rules.effects.programs import awk, packages, prints, sed
from yourcall.rules.effects.searches import folders_compared, searched
from yourcall.rules.shell.items import Assign, Item, Places, Redirect, Script, Simple, Test, Unread, under
from yourcall.rules.shell.parser import NUMBERS, only_bash_reads, parse
from yourcall.rules.shell.words import Word

# sh -c "sh -c …": each of them is parsed; more of them nobody writes in good faith.
DEEPEST = 5
# Each is looked up on the disk.
MOST_STARS = 20

_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_BIN = re.compile(r"(?:/usr(?:/local)?|/opt/homebrew)?/s?bin/([^/]+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TESTED = re.compile(r"-[A-Za-z]{1,2}|-?[0-9]+|[!\]]")
_DURATION = re.compile(r"[0-9.]+[smhd]?")
_GH = table.words("pr issue run repo release search")
_GH_READS = table.words("view list status diff checks watch")
_SWEEPS = table.words("grep egrep fgrep rg ag diff")
_PS_TELLS = re.compile(r"-?[A-DF-Za-z]*[eE]|.*environ", re.IGNORECASE | re.DOTALL)
_PS = table.words("-e -ef -eo -elf -eF -A --no-headers --sort")
# yq spells it `load_str`, `str_load`, `strload`, `xml_load`.
_ENV = re.compile(r"\b(?:str)?env(?:subst)?\b|\$ENV|\bENV\b|input_filename|load|\b(?:include|import)\b")
# The value of a variable that a program looks up a file by (a language, a zone) leads nowhere else.
_SETTING = re.compile(r"(?!.*\.\.)(?:[\w@.+=,-][\w@.+=,:/-]*)?")
_SHELL_OPTIONS = table.words("-e -u -x -l --login -eu -ex -euo -o")
# Of these, a word that a pattern makes is a file like any other, as long as it is no option.
_STARRED = (
    table.TAKES_FOUND
    | table.WRITERS
    | table.DELETERS
    | table.words("comm join diff cmp base32 base64 fmt column hexyl tokei scc tree fd fdfind ag dir vdir shuf pr")
    | table.words("jq yq sed awk gawk mawk cd find git printf")
    | table.UNPACKERS
)
# Of these, a word in front is a program of its own: what a pattern finds must stand behind it.
_SCRIPTED = table.words("jq yq sed awk gawk mawk")


def parts_of(command: str) -> tuple[Part, ...] | Unread:
    """Every part of a command, paths still to be resolved."""
    script = parse(command)
    if isinstance(script, Unread):
        return script
    parts = _Parts()
    parts.take(script, 0)
    if parts.fed:
        parts.parts = [
            replace(part, refs=tuple(replace(ref, fed=ref.use == "write") for ref in part.refs))
            for part in parts.parts
        ]
    return settled_in_turn(parts.parts, parts.grown, parts.loops)


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
                self._simple(list(item.words), item.text, item.places, depth, item.source)
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
        if op in (">&", "<&") and re.fullmatch(r"[0-9]+|-", target.value or "?"):
            return
        use: Use = "read" if op in ("<", "<&") else "write"
        text = f"{op} {target.text}"
        if target.value is not None and target.value.startswith(("/dev/tcp/", "/dev/udp/")):
            host = target.value.split("/")[3]
            self.parts.append(Part("redirect", text, (), frozenset({"network", "unknown"}), hosts=(host,)))
            return
        refs = tuple(ref_of(target, use, place) for place in item.places)
        if target.stream and use == "read":
            refs = ()
        self.parts.append(Part("redirect", text, (), names_tell((target,)), refs))

    def _assign(self, item: Assign) -> None:
        harmless = item.name in table.HARMLESS_VARIABLES or item.name.startswith("LC_")
        if item.lasting and _NAME.fullmatch(item.name):
            harmless = harmless or plain_variable(item.name)
        # Wherever it is calculated with (zsh: `$y[x]`), a command within it would run.
        held = item.value.value or ""
        if harmless and item.name.isupper():
            harmless = item.value.value is not None and _SETTING.fullmatch(held) is not None
        if item.name in table.PAGERS:
            harmless = item.value.value in ("cat", "") and not item.value.glob
        if item.name in ("COLUMNS", "LINES"):
            harmless = re.fullmatch(r"[0-9]+", held) is not None  # zsh calculates what they become
        effects = NOTHING if harmless and "$(" not in held and "`" not in held else UNKNOWN
        told = names_tell((item.value,))
        self.parts.append(Part("assign", f"{item.name}={item.value.text}", (), effects | told))

    def _note(
        self, words: list[Word], text: str, effects: set[Effect], refs: list[Ref], hosts: list[str], places: Places
    ) -> None:
        name = _program(words[0].value)
        stars = [word for word in words[1:] if word.glob and name not in table.NEUTRAL]
        # A file may be called `--upload-pack=x`, or like the word that says what to do.
        bare = name in _STARRED and len(stars) <= MOST_STARS and _behind_script(name or "", words[1:])
        if not bare or any(_dashed(word) for word in stars):
            effects |= {"unknown"} if stars else set()
        else:
            seen = {ref.path for ref in refs if ref.glob}
            more = [ref_of(word, "expand", place) for word in stars for place in places]
            refs += [ref for ref in more if ref.path not in seen]
        loose = "unknown" in effects
        argv = (name, *(None if loose and _loose(word) else word.value for word in words[1:]))
        self.parts.append(
            Part("command", text, argv, frozenset(effects) | names_tell(words), tuple(refs), tuple(hosts))
        )

    def _simple(
        self, words: list[Word], text: str, places: Places, depth: int, source: tuple[Word, ...] = ()
    ) -> None:
        name = None if words[0].glob else _program(words[0].value)
        args = words[1:]
        effects: set[Effect] = set()
        refs: list[Ref] = []
        hosts: list[str] = []
        if depth > DEEPEST or name is None:
            self._note(words, text, {"unknown"}, [], [], places)
            return
        values = [word.value for word in args]
        known = [value for value in values if value is not None]
        untold = [word for word in args if word.value is None and not (word.stream and name in table.READERS)]
        if untold and name not in _ANY_WORDS:
            if name in table.TAKES_FOUND and all(word.found is not None for word in untold):
                refs += found_refs(untold, places, name in _SWEEPS and sweeps(name, args))
            else:
                effects.add("unknown")
        if len(args) == 1 and name in table.VERSION_WORDS.get(values[0] or "", ()):
            picks = [Ref(under(place, "."), "tools", names=_choosers(name)) for place in places]
            self._note(words, text, {"read"}, picks, [], places)
            return
        if name in table.READERS or name in table.WRITERS:
            refs += options_behind(args, places)
        match name:
            case "cd":
                ways = args[1:] if values[:1] == ["--"] else args
                to = ways[-1] if ways else Word("~", "~", tilde=True)
                refs = [ref_of(to, "enter", place) for place in places]
                if len(ways) > 1 or (to.value or "").startswith("-"):
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
                if known[:1] != ["auth"] and not _gh(args):
                    effects.add("unknown")
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
                # What a pattern finds may stand for a number, too.
                found = any(word.glob for word in args)
                texts = found and (args[0].glob or not prints(values[0] or "", ["x"] * len(values[0] or "")))
                refs += refs_of([word for word in args if word.glob], "read", places)
                if not values or values[0] is None or texts or not prints(values[0], values[1:]):
                    effects.add("unknown")
            case "test" | "[":
                sums = any(value in NUMBERS or value == "-t" for value in known)
                odd = [v for v in known if not _TESTED.fullmatch(v)]
                if None in values or "-v" in known or "-R" in known or (sums and odd):
                    effects.add("unknown")
            case "dd":
                for word in args:
                    key, _, value = (word.value or "").partition("=")
                    if key in ("if", "of"):
                        use: Use = "write" if key == "of" else "read"
                        refs += [named(value, use, place) for place in places]
                    elif key not in _DD:
                        effects.add("unknown")
            case "unzip" | "zipinfo" if _lists_zip(name, args):
                effects.add("read")
                refs += refs_of(args, "read", places)
            case "tar" if _lists_tar(known):
                effects.add("read")
                refs += refs_of(args[1:], "read", places)
            case _ if name in table.UNPACKERS and _unpacks(name, args):
                effects.add("read")
                refs += refs_of(args, "read", places)
            case "tar" | "unzip" | "zip" | "patch" | "gzip" | "gunzip" | "bzip2" | "xz" | "zstd" | "7z":
                effects |= {"write_inside", "unknown"}
                refs += refs_of(args, "read", places)
                self.grown.append(Growth(len(self.parts), None))
            case _ if name in table.NUMBERED:
                if not all(value.isdecimal() for value in known):
                    effects.add("unknown")
            case _ if name in table.NEUTRAL:
                # `echo ../*` lists names.
                stars = [word for word in args if word.glob and re.search(r"[*?\[]", word.value or "")]
                refs += refs_of(stars, "read", places)
            case _ if name in network.PROGRAMS:
                network.asks(name, args, effects, refs, hosts, places)
            case _ if name in table.SHELLS or name == "eval":
                self._shell(name, args, effects, places, depth)
                refs += [Ref(under(place, "."), "stand") for place in places if "unknown" in effects]
            case _ if name in table.WRAPPERS:
                self._wrapper(name, words, text, effects, places, depth, source)
                return
            case _ if name in table.READERS:
                effects.add("read")
                if not options.known(name, args) or (name in table.NO_PLUS and any(v[:1] == "+" for v in known)):
                    effects.add("unknown")
                if name == "arch" and args:
                    effects.add("unknown")  # on a Mac it runs the program that is named
                if name == "strings" and any(w.value[:1] == "@" or _opens(w) for w in args if w.value):
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
                if name in options.HASHES and says(args, "-c --check"):
                    lists = [word for word in args if word.value and not word.value.startswith("-")]
                    if not lists or any(word.glob or word.value is None for word in args):
                        effects.add("unknown")  # which files it reads, stands in what it is given
                    refs += [
                        Ref(under(place, word.value or "") if place else None, "listed", names=(place or "",))
                        for word in lists
                        for place in places
                    ]
                files = options.without_names(name, args)
                refs += refs_of(files, "sweep" if name in _SWEEPS and sweeps(name, args) else "read", places)
                stuck = [each for value in known for each in options.file_values(name, value)]
                refs += [named(each, "read", place) for each in stuck for place in places]
                refs += searched(name, args, places, fed=bool(source))
                if name == "diff":
                    refs += folders_compared(args, places)
            case _ if name in table.ONE_FILE:
                effects.add("read")
                plain = [word for word in args if word.value == "-" or not (word.value or "").startswith("-")]
                refs += refs_of(args, "read", places)
                if not options.known(name, args) or dashed_files(args):
                    effects.add("unknown")
                if any(word.glob for word in args):
                    effects.add("unknown")  # of two files that it finds, the second one is written
                behind = args[args.index(plain[0]) :] if plain else []
                if any((word.value or "-").startswith("-") and word.value != "-" for word in behind):
                    effects.add("unknown")  # behind a file it is no option to xxd, but the file that is written
                if len(plain) > 1 or says(args, "-r -revert"):
                    refs += refs_of(args, "write", places)
            case _ if name in table.WRITERS:
                grows = writes(name, args, effects, refs, places)
                self.grown += [Growth(len(self.parts), each, name in ("cp", "ln"), moved=True) for each in grows]
            case _ if name in table.DELETERS:
                effects.add("delete")
                refs += refs_of(args, "delete", places)
                if not options.known(name, args):
                    effects.add("unknown")
            case _ if name in table.ALWAYS:
                effects |= table.ALWAYS[name]
                hosts += [h for value in known if (h := host_of(value))]
                if name == "pass" and (
                    known[:1] not in (["show"], ["ls"]) or len(known) > 2 or "-" in known[-1][:1]
                ):
                    effects.add("unknown")
            case _ if name in table.PACKAGES:
                packages(name, known, effects)
                if effects == {"read"}:
                    refs += [Ref(under(place, "."), "tools", names=_choosers(name)) for place in places]
                refs += [Ref(under(place, "."), "stand") for place in places if "unknown" in effects]
            case _:
                effects.add("unknown")
                refs += [Ref(under(place, "."), "stand") for place in places]
        self._note(words, text, effects, refs, hosts, places)

    def _find(self, args: list[Word], effects: set[Effect], refs: list[Ref], places: Places, depth: int) -> None:
        effects.add("read")
        looked = piping.search(args)
        if not looked.known:
            effects.add("unknown")
        found = piping.found_by(looked)
        for how, inner in looked.runs:
            # The files are named from the folders that it looks in; for -execdir it moves to each of them.
            handed = [
                Word(w.text, None, found=found if w.value == "{}" and how == "-exec" else None)
                if "{}" in (w.value or "{}")
                else w
                for w in inner
            ]
            if handed:
                there = places if how == "-exec" else (None,)
                self._simple(handed, " ".join(w.text for w in handed), there, depth + 1)
            if how != "-exec":
                effects.add("unknown")
        if "-delete" in looked.said:
            effects.add("delete")
            # The folders, and whatever its tests name: `-name CLAUDE.md`.
            here = [word for word in args if not (word.value or "-").startswith(("-", "(", ")", "!", ","))]
            refs += refs_of([*([] if looked.starts else [Word(".", ".")]), *here], "weed", places)
            if looked.said & {"-L", "-follow"}:
                effects.update(("write_outside", "unknown"))  # links are followed, wherever they lead
        elif looked.said & {"-L", "-follow"}:
            effects.add("unknown")  # links below are followed, wherever they lead
        refs += [ref_of(word, "write", place) for word in looked.writes for place in places]
        refs += refs_of([*looked.starts, *looked.compared], "read", places)

    def _env(self, words: list[Word], text: str, places: Places, depth: int) -> None:
        """`env [-i] [NAME=value…] command`; alone it prints every variable."""
        rest = words[1:]
        effects: set[Effect] = set()
        while rest:
            value = rest[0].value
            if value in ("-i", "-", "--ignore-environment", "--"):
                rest = rest[1:]
            elif value in ("-u", "--unset") and len(rest) > 1 and _VARIABLE.fullmatch(_sole(rest[1])):
                rest = rest[2:]  # of several words, the second would be the program that runs
            elif _ASSIGNMENT.match(_sole(rest[0])):
                assert value is not None
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
        self,
        name: str,
        words: list[Word],
        text: str,
        effects: set[Effect],
        places: Places,
        depth: int,
        source: tuple[Word, ...],
    ) -> None:
        """The command that is wrapped, as a part of its own; then the wrapper itself."""
        effects |= table.ALWAYS.get(name, NOTHING) - {"unknown"}
        if name == "command" and len(words) > 1 and words[1].value in ("-v", "-V"):
            self._note(words, text, {"read"}, [], [], places)
            return
        inner = _behind_options(name, words[1:])
        if name == "timeout" and inner and _DURATION.fullmatch(inner[0].value or ""):
            inner = inner[1:]
        if name == "xargs":
            handed = piping.xargs(words[1:], source)
            inner = list(handed.words) if handed is not None else None
        if not inner or inner[0].value is None or _ASSIGNMENT.match(inner[0].value):
            effects.add("unknown")
        else:
            if name == "busybox" and inner[0].value not in table.BUSYBOX:
                effects.add("unknown")
            passed = source if name != "xargs" else ()
            self._simple(inner, " ".join(word.text for word in inner), places, depth + 1, passed)
        # At a terminal, what it wraps writes there.
        logs = [Ref(under(place, "nohup.out"), "write") for place in places] if name == "nohup" else []
        self._wraps(words, text, effects, logs)

    def _wraps(self, words: list[Word], text: str, effects: set[Effect], refs: list[Ref] | None = None) -> None:
        """The wrapper itself, with all its words: a rule may name both (`sudo rm`). What they do is said above."""
        argv = (_program(words[0].value), *(word.value for word in words[1:]))
        self.parts.append(Part("command", text, argv, frozenset(effects), tuple(refs or ())))

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
        plain = name in ("bash", "zsh", "eval") or not only_bash_reads(text)
        if isinstance(script, Unread) or depth >= DEEPEST or not plain:
            effects.add("unknown")
        else:
            self.take(script, depth + 1)


def _sets(texts: list[str]) -> bool:
    """A bare number sets the clock; behind `-d` and `-r` it is the time that is shown."""
    pairs = zip(["", *texts], texts, strict=False)
    return any(
        re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", it) and before not in ("-d", "-r", "--date") for before, it in pairs
    )


def plain_variable(name: str) -> bool:
    """A name that means nothing to any program, nor to zsh."""
    return name not in table.TIED and not name.startswith(("npm_", "pip_")) and not name.endswith("_functions")


def sweeps(name: str, args: list[Word]) -> bool:
    """Does it read everything below the folders it is told?"""
    if name == "diff" and says(args, "-N -P --new-file --unidirectional-new-file"):
        return True  # of two folders, it shows every file that is in one of them only
    return name in ("rg", "ag") or says(args, "-r -R --recursive --dereference-recursive --directories -d")


def _behind_options(name: str, rest: list[Word]) -> list[Word] | None:
    """What a wrapper runs; None if an option is not known for sure."""
    flags, valued = (options.split() for options in table.WRAPPERS[name])
    while rest and (rest[0].value is None or (rest[0].value.startswith("-") and rest[0].value != "-")):
        option = rest[0].value
        if option is None or rest[0].glob:
            return None
        if option == "--":
            return rest[1:]
        if option in flags or (name == "nice" and option[1:].isdecimal()):
            rest = rest[1:]
        elif option in valued and len(rest) > 1 and rest[1].value is not None and not rest[1].glob:
            rest = rest[2:]
        elif option.split("=", 1)[0] in valued or (option[:2] in valued and not option.startswith("--")):
            rest = rest[1:]
        else:
            return None
    return rest


def _choosers(name: str) -> tuple[str, ...]:
    return (*table.CHOSEN_BY.get(name, ()), *table.CHOSEN)


def _sole(word: Word) -> str:
    """The word, if it is one and stays one; else nothing."""
    return word.value if word.value is not None and not word.glob else ""


def _opens(word: Word) -> bool:
    """A pattern that begins with a sign: what it finds may begin with anything."""
    return word.glob and re.match(r"[*?\[#^]", word.value or "*") is not None


def _behind_script(name: str, args: list[Word]) -> bool:
    """Does every pattern stand behind the script, so that no file's name can become one?"""
    first = next((at for at, word in enumerate(args) if word.glob), len(args))
    if name not in _SCRIPTED or first == len(args):
        return True
    known = options.of(name) or _SCRIPT_OPTIONS
    before = (args[first - 1].value or "") if first else ""
    valued = (before.startswith("-") and before[-1:] in known.valued) or known.words.get(before) == "="
    plain, given, texts = piping.operands(known, args[:first])
    return not valued and (bool(plain) or (name == "sed" and (given or "--expression" in texts)))


# Of sed and awk: the options before a script, and those that take a value.
_SCRIPT_OPTIONS = options.spec("-nErsuz -e= -F= -v= --expression=")


def _dashed(word: Word) -> bool:
    """A pattern that may become an option by how it is written; what it finds, the edge looks at."""
    value = word.value or "-"
    return value.startswith("-") and not value.startswith(options.GLOBBED)


def _loose(word: Word) -> bool:
    """A pattern without a folder in front of it: it may become any word."""
    if not word.glob or word.value is None:
        return False
    return "/" not in re.split(r"[*?\[#^]|(?<!^)~", word.value, maxsplit=1)[0]


# Nothing that these are told makes them do anything else.
_ANY_WORDS = table.NEUTRAL | {"printf", "xargs", "test", "["}
_DD = table.words("bs cbs conv count ibs iflag iseek obs oflag oseek seek skip status")
_GH_OPTIONS = options.spec(
    "-c -L= -s= -S= -l= -A= -a= -B= -H= -q= -R= -t= --limit= --state= --search= --label= --author= "
    "--assignee= --base= "
    "--head= --json= --jq= --repo= --comments --log --log-failed --job= --workflow= --branch= --event= "
    "--status= "
    "--user= --patch --name-only --color= --exit-status --verbose --interval= --watch --required --fail-fast "
    "--draft --milestone= --mention= --app= --language= --owner= --sort= --order= --match= --visibility= "
    "--topic= "
    "--exclude-drafts --exclude-pre-releases --archived --no-archived --fork --source --attempt= --commit= "
    "--created= --all"
)


def _gh(args: list[Word]) -> bool:
    """Options that only narrow what is shown; a repository on GitHub itself, not one of another host."""
    elsewhere = any((word.value or "").count("/") > 1 and ":" not in (word.value or "") for word in args)
    return options.understood(_GH_OPTIONS, args) and not elsewhere


def _lists_zip(name: str, args: list[Word]) -> bool:
    values = [word.value or "-?" for word in args]
    first = values[0] if values else ""
    shows = re.fullmatch(r"-[lv]q?|-Z1?|-[lv]{2}", first) is not None or name == "zipinfo"
    rest = values if name == "zipinfo" and not first.startswith("-") else values[1:]
    if name == "zipinfo" and first.startswith("-") and not re.fullmatch(r"-[12lmvhtz]+", first):
        return False
    return shows and bool(rest) and not any(value.startswith("-") for value in rest)


def _unpacks(name: str, args: list[Word]) -> bool:
    """`zcat x.gz`, `gzip -dc x.gz`: it prints what is packed, or tells of it. Files are called as such ones are:
    to another name an ending is put."""
    values = [word.value or "?" for word in args]
    options = [value for value in values if value.startswith("-")]
    files = values[len(options) :]
    if any(value.startswith("-") for value in files) or not all(_PACKED.fullmatch(file) for file in files):
        return False
    letters = "".join(option[1:] for option in options)
    if not all(re.fullmatch(r"-[cdklqtv]+", option) for option in options):
        return False
    if name.endswith("cat"):
        return not letters.strip("q")
    tells = letters.strip("qv") in ("l", "t") and name in ("gzip", "xz", "zstd") and bool(files)
    return tells or ("c" in letters and ("d" in letters or name.startswith(("gun", "un", "bun"))))


_PACKED = re.compile(r"[^\s].*\.(?:gz|tgz|Z|bz2|tbz2?|xz|txz|lzma|zst|lz4)", re.DOTALL)


def _lists_tar(known: list[str]) -> bool:
    """`tar tf x.tgz`; a file with a colon in its name is one on another machine."""
    if len(known) < 2 or not re.fullmatch(r"-?[tvzjJa]*t[tvzjJa]*f", known[0]):
        return False
    return not any(value.startswith("-") or ":" in value for value in known[1:])


def _program(value: str | None) -> str | None:
    """`/usr/bin/git` is `git`; a path anywhere else is a program of its own."""
    if not value:
        return None
    known = _BIN.fullmatch(value)
    return known[1] if known else value
