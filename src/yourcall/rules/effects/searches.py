"""Which files a search through folders opens: `grep -r`, `rg --hidden`, `git grep --no-index`.

Rule: a search that opens a file of secrets reads secrets, although nobody named that file. Only the disk tells, so
each folder becomes a `search` reference, and the edge looks at the names below it. `rg` by itself opens neither
hidden nor ignored files; the edge leaves those out that it is sure of.
"""

from __future__ import annotations

import re
from itertools import pairwise

from yourcall.rules.effects import git_options, options
from yourcall.rules.effects.arguments import under
from yourcall.rules.effects.parts import Ref
from yourcall.rules.effects.piping import Walked, walked
from yourcall.rules.shell.items import Places
from yourcall.rules.shell.words import Word

_GREPS = frozenset({"grep", "egrep", "fgrep"})
_RECURSIVE = frozenset({"r", "R", "d", "--recursive", "--dereference-recursive", "--directories"})
_UNFILTERED = frozenset({"u", "."})
_GLOBS = ("g", "--glob", "--iglob")
_LIFTS = ("--no-ignore", "--hidden", "--unrestricted", "--ignore-file", "--type-add")
_AG_UNFILTERED = frozenset({"u", "U", "a", "t", "--hidden", "--unrestricted", "--all-types", "--all-text"})
_HERE = Word(".", ".")
# Excluded names are told apart from wanted ones by what stands in front of them.
SKIPPED_FOLDER, SKIPPED_FILE = "skip folder:", "skip file:"
# What begins with a dot, and what an ignore file names, is left out; unless one of them brings it back (`!.env`).
HIDDEN_OUT, IGNORED_OUT = "skip hidden:", "skip ignored:"
# To be staged: what git ignores, or has already, is left out; the search begins where the repository does.
KNOWN_OUT, FROM_TOP = "skip known:", "skip up:"
SEARCH_MARKS = (SKIPPED_FOLDER, SKIPPED_FILE, HIDDEN_OUT, IGNORED_OUT, KNOWN_OUT, FROM_TOP)

# The names that a type of files stands for to rg, or more; any name for all other types.
_TYPES: dict[str, tuple[str, ...]] = {
    "py": ("*.py", "*.pyi", "*.pyw"),
    "js": ("*.js", "*.cjs", "*.mjs", "*.jsx", "*.vue"),
    "ts": ("*.ts", "*.cts", "*.mts", "*.tsx"),
    "rust": ("*.rs",),
    "go": ("*.go",),
    "java": ("*.java", "*.jsp", "*.jspx", "*.properties"),
    **dict.fromkeys(("c", "h"), ("*.c", "*.h", "*.hpp", "*.in", "*.cats")),
    "cpp": ("*.c", "*.cpp", "*.cxx", "*.cc", "*.h", "*.hpp", "*.hxx", "*.hh", "*.in", "*.inl"),
    **dict.fromkeys(("md", "markdown"), ("*.markdown", "*.md", "*.mdown", "*.mdwn", "*.mkd", "*.mkdn", "*.mdx")),
    "html": ("*.htm", "*.html", "*.ejs"),
    "css": ("*.css", "*.scss"),
    "ruby": ("*.gemspec", "*.rb", "*.rbw", "*.ru"),
    "php": ("*.php", "*.php3", "*.php4", "*.php5", "*.php7", "*.php8", "*.phtml"),
    **dict.fromkeys(("cs", "csharp"), ("*.cs",)),
    "swift": ("*.swift",),
    "kotlin": ("*.kt", "*.kts"),
    "scala": ("*.scala", "*.sbt"),
    "lua": ("*.lua",),
    "rst": ("*.rst",),
    "sql": ("*.sql", "*.psql"),
    "json": ("*.json", "*.jsonl", "*.lock", "*.sarif"),
    "yaml": ("*.yaml", "*.yml"),
    "toml": ("*.toml", "*.lock"),
}


def searched(name: str, args: list[Word], places: Places, fed: bool = False) -> list[Ref]:
    """The folders it searches, once for each pattern of file names it is limited to. `fed`: it reads what another
    command writes, and rg then searches that, unless a folder is named."""
    known = options.of(name)
    if known is None or (name not in _GREPS and name not in ("rg", "ag")):
        return []
    taken = walked(known, args)
    plain, texts = taken.plain, taken.said
    wanted: list[str] = []
    skipped: list[str] = []
    if name == "ag":
        skipped = [] if texts & _AG_UNFILTERED else [HIDDEN_OUT, IGNORED_OUT]
    elif name == "rg":
        if "--files" in texts or "--type-list" in texts:
            return []  # it prints names only
        wanted, skipped = _filtered(taken)
    else:
        if not texts & _RECURSIVE:
            return []
        wanted = taken.given("--include")
        skipped = [SKIPPED_FOLDER + each.rstrip("/") for each in taken.given("--exclude-dir")]
        if not wanted:  # of an include and an exclude, the last one counts
            skipped += [SKIPPED_FILE + each for each in taken.given("--exclude")]
    given = bool(texts & {"e", "f", "--file", "--regexp"})
    starts = plain if given else plain[1:]
    if not given and plain and plain[0].glob:
        starts = plain  # of several files that it finds, the first one is the pattern
    # A pattern in an option's place: of several names that it finds, all but the first are searched.
    more = [word for _, word in taken.values if word.glob and any(word is each for each in args)]
    if not starts and fed and not more and name in ("rg", "ag"):
        return []
    if any(word.found is not None and word.found.piped for word in args):
        more.append(_HERE)  # nothing may have been found, and then it searches where it runs
    return _refs([*(starts or [_HERE]), *more], wanted, skipped, places)


def _filtered(taken: Walked) -> tuple[list[str], list[str]]:
    """The names that rg's options limit it to, and what it leaves out."""
    texts = taken.said
    globs = [word for name, word in taken.values if name in _GLOBS]
    wanted = [word.value or "" for word in globs if not (word.value or "").startswith("!")]
    if wanted:
        return wanted, []  # of these it opens hidden and ignored ones too
    skipped = _dropped([(word.value or "")[1:] for word in globs if not word.glob])
    if "--type-add" in texts:
        return [], skipped
    wanted, typed = _of_types(taken.given("t", "--type"))
    lifted = texts & _UNFILTERED or any(each.startswith(_LIFTS) for each in texts)
    return wanted, [*skipped, *([] if lifted else typed)]


def _dropped(patterns: list[str]) -> list[str]:
    """`-g '!x'`: what is called so is left out, a folder too."""
    plain = [each.rstrip("/") for each in patterns if "{" not in each]
    return [mark + each for each in plain for mark in (SKIPPED_FILE, SKIPPED_FOLDER)]


def _of_types(types: list[str]) -> tuple[list[str], list[str]]:
    """The names that are opened for these types. Of a type, hidden files are opened as well."""
    if not types:
        return [], [HIDDEN_OUT, IGNORED_OUT]
    known = all(each in _TYPES for each in types)
    return [name for each in types for name in _TYPES[each]] if known else [], [IGNORED_OUT]


def git_searched(verb: str, args: list[Word], places: Places) -> list[Ref]:
    """What `git grep` searches beside the files that git knows, and what a quoted pattern stands for to git."""
    texts = [word.value or "" for word in args]
    beside = verb == "grep" and any(value.startswith("--no-i") or value == "--untracked" for value in texts)
    # `:(glob)x` and `:/x` are patterns too; `:!x` takes files away.
    stars = [
        re.sub(r"^:(?:\([^)]*\)|/)?", "", value)
        for word in args
        if re.search(r"[*?\[]", value := word.value or "") and not value.startswith(("-", ":!", ":^"))
        if not word.glob  # the shell's own pattern, which the edge looks at anyway
    ]
    known = git_options.of(verb)
    taken = walked(known, args) if known is not None else None
    behind = [word.value or "" for word in taken.behind] if taken is not None else []
    if taken is not None:
        # A backslash is a pattern to git too; in the words that `git grep` looks for it is none.
        pattern = int(verb == "grep" and "e" not in taken.said and len(taken.plain) > len(taken.behind))
        escaped = [word.value or "" for word in taken.plain[pattern:] if not word.glob]
        stars += [re.sub(r"^:(?:\([^)]*\)|/)?", "", value) for value in escaped if "\\" in value]
    named = [value for value in behind if not re.search(r"[*?\[\\]|^:", value)]
    limited = bool(behind) and not named and not any(value.startswith(":") for value in behind)
    refs = _refs([_HERE], stars, [], places) if stars else []
    if verb in ("add", "stage"):
        return [*refs, *_staged(args, places)]
    if verb == "diff" and beside_index(args):
        return [*refs, *folders_compared(args, places)]
    if beside and not limited:
        refs += _refs([Word(each, each) for each in named] or [_HERE], [], [], places)
    return refs


def _staged(args: list[Word], places: Places) -> list[Ref]:
    """What `git add` takes up: from then on git has it, and shows it."""
    known = git_options.of("add")
    taken = walked(known, args) if known is not None else Walked(args, [], [], set())
    marks = [] if taken.said & {"f", "--force"} else [KNOWN_OUT]
    if taken.said & {"u", "--update"} and not taken.said & {"A", "--all"}:
        return []  # only what git has
    magic = any((word.value or "").startswith(":") for word in taken.plain)
    if magic or (not taken.plain and taken.said & {"A", "--all"}):
        return _refs([_HERE], [], [*marks, FROM_TOP], places)
    return _refs(taken.plain, [], marks, places)


def beside_index(args: list[Word]) -> bool:
    """Does `git diff` compare what lies in folders, whatever git knows of it?"""
    texts = [word.value or "" for word in args]
    return any(value.startswith(("--no-i", "/", "~", "..")) or "/../" in value for value in texts)


def folders_compared(args: list[Word], places: Places) -> list[Ref]:
    """Of two folders, every file in them is shown, and what a link in them leads to."""
    plain = [word for word in args if word.value and not word.value.startswith("-")]
    files = ("--from-file", "--to-file")
    plain += [after for word, after in pairwise([*args, _HERE]) if word.value in files]
    plain += [Word(tail, tail) for word in args if (tail := _value_of(word.value or "", files))]
    return [Ref(under(place, word.value or "."), "found", word.glob) for word in plain for place in places]


def _refs(starts: list[Word], wanted: list[str], skipped: list[str], places: Places) -> list[Ref]:
    limits = [each for pattern in wanted for each in _alternatives(pattern)]
    names = (*dict.fromkeys(limits), *skipped)
    return [
        Ref(under(place, word.value), "search", word.glob, names=names)
        for word in starts
        if word.value is not None
        for place in places
    ]


def _alternatives(pattern: str) -> list[str]:
    """`*.{ts,tsx}` as two patterns of a file's name; a folder in front of it is left out. Where that is not sure
    (`{x/y,.env}`, braces in braces, signs that are escaped), it is any name."""
    folder, _, last = pattern.rpartition("/")
    if not re.search(r"[{}]", pattern):
        return [last or "*"]
    braces = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", last)
    if re.search(r"[\\\[]", pattern) or not re.fullmatch(r"(?:[^{}]|\{[^{}]*\})*", folder):
        return ["*"]
    if braces:
        return [braces[1] + each + braces[3] for each in braces[2].split(",")]
    return ["*"] if re.search(r"[{}]", last) else [last or "*"]


def _value_of(word: str, names: tuple[str, ...]) -> str:
    name, _, tail = word.partition("=")
    return tail if name in names else ""


def tool_searched(folders: tuple[str, ...], patterns: tuple[str, ...], types: tuple[str, ...]) -> list[Ref]:
    """An agent's own search (Claude's Grep is rg, told to open hidden files). Limited to these patterns, it opens
    ignored ones too."""
    cut = [each for pattern in patterns for each in _cut(pattern)]
    wanted = [each for each in cut if not each.startswith("!")]
    skipped = [] if wanted else [IGNORED_OUT, *_dropped([each[1:] for each in cut])]
    wanted = wanted or _of_types(list(types))[0]
    return _refs([Word(each, each) for each in folders], wanted, skipped, (".",))


def _cut(pattern: str) -> list[str]:
    """Claude's search takes several patterns in one text, with blanks or commas between them."""
    pieces = [piece for piece in pattern.split() if piece]
    return [each for piece in pieces for each in ([piece] if "{" in piece else piece.split(",")) if each]
