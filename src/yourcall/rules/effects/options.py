"""The options that each program in the tables is known to have.

Rule: an option that does not stand here makes the command `unknown`. Names are exact: a shortened one (`--outp`)
is not known. What is listed only reads, counts or prints; whatever writes elsewhere, runs a program or takes its
words from a file is left out on purpose.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from yourcall.rules.shell.words import Word


class Spec(Struct, frozen=True):
    """`flags` and `valued` are single letters; `sticky` ones take a value only in the same word. `words`: options
    written in full (`--color`, `-maxdepth`), with how they take a value. `numbers`: `-20` is an option too."""

    flags: frozenset[str]
    valued: frozenset[str]
    sticky: frozenset[str]
    words: dict[str, str]
    numbers: bool


def spec(text: str) -> Spec:
    """`-abc` are three flags, `-n=` takes a value, `-M?` takes one in the same word, `--color?` may have one,
    `-#` is a number; `:-maxdepth=` is one word with a single dash."""
    flags: set[str] = set()
    valued: set[str] = set()
    sticky: set[str] = set()
    words: dict[str, str] = {}
    numbers = False
    for each in text.split():
        name, kind = (each[:-1], each[-1]) if each[-1] in "=?" and len(each) > 2 else (each, "")
        if each == "-#":
            numbers = True
        elif name.startswith("--"):
            words[name] = kind
        elif name.startswith(":"):
            words[name[1:]] = kind
        else:
            {"": flags, "=": valued, "?": sticky}[kind].update(name[1:])
    return Spec(frozenset(flags), frozenset(valued), frozenset(sticky), words, numbers)


def understood(known: Spec, args: list[Word]) -> bool:
    """Is every option among the arguments known? What is no option is not looked at."""
    at = 0
    while at < len(args):
        word = args[at]
        value = word.value
        at += 1
        if value is None or value == "-" or not value.startswith("-"):
            continue
        if value == "--":
            return True
        if word.glob and not value.startswith(GLOBBED):
            return False  # it may become any option that a file is called
        name, sign, _ = value.partition("=")
        kind = known.words.get(name)
        if kind is not None:
            if sign and not kind:
                return False
            takes = int(kind == "=" and not sign)
        elif value.startswith("--"):
            return False
        else:
            clustered = _cluster(known, value)
            if clustered is None:
                return False
            takes = clustered
        if takes and at < len(args) and _dashed(args[at].value or "") and not _takes_pattern(known, value):
            return False  # an option itself, to a program of the same name that takes no value here
        at += takes
    return True


def _takes_pattern(known: Spec, option: str) -> bool:
    """Of a search, and of `git log`: what stands behind these is a pattern, whatever it begins with."""
    search, log = "A" in known.valued, "--pickaxe-all" in known.words
    return (search and option in ("-e", "--regexp")) or (log and option in ("-S", "-G", "--grep"))


_NEGATIVE = re.compile(r"-(?:[0-9].*)?", re.DOTALL)


def _dashed(value: str) -> bool:
    return value.startswith("-") and _NEGATIVE.fullmatch(value) is None


def file_values(name: str, value: str) -> list[str]:
    """What may be the value of an option in a word such as `-nflist`: where the letters end and the value begins,
    the program knows."""
    known = of(name)
    if known is None or not value.startswith("-") or value.startswith("--"):
        return []
    at = next((n for n, letter in enumerate(value[1:], 1) if letter in known.valued | known.sticky), 0)
    return [value[at + 1 :]] if at > 1 and value[at + 1 :] else []


# An unquoted pattern behind these stays the same option, whatever it finds.
GLOBBED = ("--include=", "--exclude=", "--exclude-dir=")


def _cluster(known: Spec, value: str) -> int | None:
    """How many of the next words belong to `-abc`; None if one of its letters is not known."""
    for at, letter in enumerate(value[1:], 1):
        if letter in known.flags or (known.numbers and letter.isdecimal() and letter.isascii()):
            continue
        if letter in known.valued:
            return 0 if value[at + 1 :] else 1
        return 0 if letter in known.sticky else None
    return 0


@lru_cache(maxsize=512)
def of(name: str) -> Spec | None:
    text = OPTIONS.get(name)
    return None if text is None else spec(text)


def known(name: str, args: list[Word]) -> bool:
    """The same by the program's name; of a program that is not listed here nothing is known."""
    found = of(name)
    return found is not None and understood(found, args)


# Their values say what files are called, and none is opened by it.
_NAMED_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep"), ("--include", "--exclude", "--exclude-dir")),
    "rg": ("-g", "--glob", "--iglob"),
    "ag": ("--ignore", "--ignore-dir"),
    **dict.fromkeys(("fd", "fdfind"), ("-E", "--exclude")),
    "diff": ("-x", "--exclude"),
    "du": ("--exclude",),
    "tree": ("-I", "-P"),
}


def without_names(name: str, args: list[Word]) -> list[Word]:
    """The arguments without patterns of file names; all of them where an option is not known."""
    named, spelled = _NAMED_BY.get(name), of(name)
    if named is None or spelled is None or not understood(spelled, args):
        return args
    left: list[Word] = []
    at = 0
    while at < len(args):
        value = args[at].value or ""
        if value == "--":
            return [*left, *args[at:]]
        option, sign, _ = value.partition("=")
        kind = spelled.words.get(option)
        takes = 0
        if value.startswith("-") and value != "-":
            takes = int(kind == "=" and not sign) if kind is not None else _cluster(spelled, value) or 0
        if option not in named or not (takes or sign):
            left += args[at : at + 1 + takes]
        elif takes:
            # Of several files that a pattern finds, only the first is the value; the others are files.
            left += [word for word in args[at + 1 : at + 2] if word.glob]
        at += 1 + takes
    return left


_HELP = " --help --version"
HASHES = ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum")
_SUMS = (
    "-bctwz --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn -a= "
    "-l= --length="
)
_GREP = (
    "-EFGPacbhHiIlLnoqrsvwxyzUuTZRS -e= -f= -m= -A= -B= -C= -d= -D= -# --extended-regexp --fixed-strings "
    "--basic-regexp --perl-regexp --regexp= --file= --ignore-case --no-ignore-case --invert-match "
    "--word-regexp "
    "--line-regexp --count --color? --colour? --files-without-match --files-with-matches --max-count= "
    "--only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= "
    "--line-number --initial-tab --null --after-context= --before-context= --context= --group-separator= "
    "--no-group-separator --text --binary-files= --devices= --directories= --exclude= --exclude-from= "
    "--exclude-dir= --include= --recursive --dereference-recursive --line-buffered --binary --null-data"
)
_DIFF = (
    "-abBdeEiNnpPqrsTtuvwyclZ -C= -U= -F= -I= -W= -x= -X= -S= -L= -# --normal --brief --report-identical-files "
    "--context? --unified? --ed --rcs --side-by-side --width= --left-column --suppress-common-lines "
    "--show-c-function --show-function-line= --label= --expand-tabs --initial-tab --tabsize= --recursive "
    "--no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --exclude= --exclude-from= "
    "--starting-file= --from-file= --to-file= --ignore-case --ignore-tab-expansion --ignore-trailing-space "
    "--ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text "
    "--strip-trailing-cr --minimal --horizon-lines= --speed-large-files --color? --palette="
)
_LS = (
    "-aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1e@OPTWy -I= -w= --all --almost-all --author --escape --block-size= "
    "--ignore-backups --color? --directory --dired --classify? --file-type --format= --full-time "
    "--group-directories-first --no-group --human-readable --si --dereference-command-line --hide= "
    "--hyperlink? "
    "--indicator-style= --inode --ignore= --kibibytes --dereference --numeric-uid-gid --literal "
    "--hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse --recursive --size "
    "--sort= --time= --time-style= --tabsize= --width= --context --zero"
)
_RG = (
    "-acFhHilLnNoPpqsSUuvVwx0I. -A= -B= -C= -d= -e= -E= -f= -g= -j= -m= -M= -r= -t= -T= "
    "--after-context= --before-context= --context= --regexp= --file= --glob= --iglob= --max-count= "
    "--max-columns= "
    "--max-depth= --maxdepth= --replace= --type= --type-not= --type-add= --threads= --encoding= --sort= "
    "--sortr= "
    "--color= --colors= --context-separator= --max-filesize= --engine= --path-separator= "
    "--field-match-separator= "
    "--field-context-separator= --dfa-size-limit= --regex-size-limit= --ignore-file= --max-columns-preview "
    "--byte-offset --case-sensitive --column --no-column --count --count-matches --crlf --debug --files "
    "--files-with-matches --files-without-match --fixed-strings --follow --glob-case-insensitive --heading "
    "--no-heading --hidden --no-hidden --ignore-case --ignore-file-case-insensitive --include-zero "
    "--invert-match "
    "--json --line-buffered --line-number --no-line-number --line-regexp --mmap --no-mmap --multiline "
    "--multiline-dotall --no-config --no-filename --with-filename --no-ignore --no-ignore-dot "
    "--no-ignore-exclude "
    "--no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs "
    "--no-messages "
    "--no-require-git --no-unicode --null --null-data --one-file-system --only-matching --passthru "
    "--passthrough "
    "--pcre2 --pcre2-version --pretty --quiet --smart-case --stats --no-stats --stop-on-nonmatch --text --trim "
    "--no-trim --type-list --unrestricted --vimgrep --word-regexp --block-buffered --no-pre --no-search-zip"
)
_FD = (
    "-HIusiFgpaLl0qhV1 -d= -t= -e= -E= -S= -o= -c= -j= -B= --hidden --no-ignore --no-ignore-vcs "
    "--no-ignore-parent "
    "--unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path "
    "--list-details "
    "--follow --full-path --print0 --max-depth= --min-depth= --exact-depth= --exclude= --prune --type= "
    "--extension= "
    "--size= --changed-within= --changed-before= --owner= --color= --threads= --max-results= --quiet "
    "--show-errors --one-file-system --strip-cwd-prefix? --no-require-git --and= --path-separator="
)

OPTIONS: dict[str, str] = {
    # --- what only reads or prints
    "cat": "-AbeEnstTuvl --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs "
        "--show-nonprinting",
    "tac": "-br -s= --before --regex --separator=",
    "nl": "-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --body-numbering= --number-width= "
        "--starting-line-number=",
    "head": "-qvz -c= -n= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated",
    "tail": "-fFqvzr -b= -c= -n= -s= -# --bytes= --lines= --follow? --quiet --silent --verbose --pid= "
        "--retry --sleep-interval= --zero-terminated",
    "wc": "-clLmw --bytes --chars --lines --max-line-length --words --total=",
    "cut": "-nsz -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --complement --only-delimited "
        "--output-delimiter= --zero-terminated",
    "paste": "-sz -d= --delimiters= --serial --zero-terminated",
    "tr": "-cCdstu --complement --delete --squeeze-repeats --truncate-set1",
    "rev": "-0 --zero",
    "fold": "-bs -w= --bytes --spaces --width=",
    "fmt": "-cstu -p= -w= -g= -# --crown-margin --split-only --tagged-paragraph --uniform-spacing --width= "
        "--goal= --prefix=",
    "expand": "-i -t= -# --initial --tabs=",
    "unexpand": "-af -t= --all --first-only --tabs=",
    "column": "-tnexdLJ -s= -c= -o= -N= -R= -T= -H= -O= -l= -W= --table --separator= --output-separator= "
        "--table-columns= --table-right= --json --output-width= --fillrows --keep-empty-lines",
    "comm": "-123iz --check-order --nocheck-order --output-delimiter= --total --zero-terminated",
    "join": "-iz -a= -e= -j= -o= -t= -v= -1= -2= --ignore-case --check-order --nocheck-order --header "
        "--zero-terminated",
    "diff": _DIFF,
    "cmp": "-blsz -i= -n= --print-bytes --verbose --quiet --silent --ignore-initial= --bytes=",
    **dict.fromkeys(("ls", "dir", "vdir"), _LS),
    "stat": "-LftxFlnqrs -c= --dereference --file-system --format= --printf= --terse --cached=",
    "du": "-0abcDhHkLlmsSxPAI -B= -d= -t= -X= --null --all --apparent-size --block-size= --bytes --total "
        "--dereference-args --max-depth= --human-readable --inodes --dereference --count-links "
        "--no-dereference --separate-dirs --si --summarize --threshold= --time? --time-style= "
        "--exclude-from= --exclude= --one-file-system",
    "df": "-ahHiklPTvbgm -B= -t= -x= --all --block-size= --human-readable --si --inodes --local --no-sync "
        "--output? --portability --total --type= --print-type --exclude-type=",
    "pwd": "-LP --logical --physical",
    "realpath": "-eLmPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet "
        "--relative-to= --relative-base= --strip --no-symlinks --zero",
    "readlink": "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline "
        "--quiet --silent --verbose --zero",
    **dict.fromkeys(HASHES, _SUMS),
    "sum": "-rs --sysv",
    "od": "-abcdfFhHiIlLoOsvxX -A= -j= -N= -S= -t= -w? --address-radix= --skip-bytes= --read-bytes= "
        "--strings? --format= --output-duplicates --width? --endian=",
    "hexdump": "-bcCdovxX -e= -n= -s= -L?",
    "strings": "-afowd -n= -t= -e= -s= -U= -# --all --data --print-file-name --bytes= --radix= "
        "--include-all-whitespace --encoding= --output-separator= --unicode=",
    "base32": "-di -w= --decode --ignore-garbage --wrap=",
    "base64": "-dD -w= -b= -i= --decode --ignore-garbage --wrap= --break= --input=",
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP),
    "uname": "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine "
        "--processor --hardware-platform --operating-system",
    "whoami": _HELP,
    "id": "-aGgnruz --group --groups --name --real --user --zero",
    "groups": _HELP,
    "uptime": "-ps --pretty --since",
    "nproc": "--all --ignore=",
    "which": "-as --all",
    "whereis": "-bmsu",
    "type": "-afptPwSm",
    "tty": "-s --silent --quiet",
    "cal": "-13jmsywhY -A= -B= -d= -n=",
    "ncal": "-13bejhJMpowy -A= -B= -d= -m= -s=",
    "free": "-bkmghtvwl -s= -c= --bytes --kilo --mega --giga --human --lohi --total --wide --si",
    "getconf": "-a",
    "locale": "-ackmkv --all-locales --charmaps --category-name --keyword-name",
    "ps": "-AadefFjlLmMTvwyzcHeuxXNS -C= -g= -G= -O= -o= -p= -q= -s= -t= -u= -U= --forest --no-headers "
        "--headers --sort= --pid= --ppid= --user= --format= --cols= --columns= --rows= --width= --deselect",
    "pgrep": "-acfilLnovwxq -d= -g= -G= -P= -s= -t= -u= -U= --list-name --list-full --full --newest --oldest "
        "--count --parent= --euid= --uid= --exact --ignore-case",
    "numfmt": "-z -d= --delimiter= --field= --format= --from= --from-unit= --grouping --header? --invalid= "
        "--padding= --round= --suffix= --to= --to-unit= --zero-terminated",
    "pr": "-acdfFJmrtTv -# -h= -i= -l= -n? -o= -w= -W= -D= -S? -s?",
    "tsort": _HELP,
    "clear": "-x -T=",
    "tput": "-T=",
    "hexyl": "-n= -c= -s= --length= --bytes= --skip= --color= --border= --plain --no-squeezing",
    "users": _HELP,
    "who": "-abdHlmpqrstTuw --all --boot --dead --heading --ips --login --lookup --process --count "
        "--runlevel --short --time --users",
    "w": "-fhiops --no-header --short --old-style --ip-addr --pids",
    "logname": _HELP,
    "dircolors": "-bcp --sh --bourne-shell --csh --c-shell --print-database --print-ls-colors",
    "test": "",
    "lscpu": "-abcCehJpsxy --all --online --offline --json --extended? --parse?",
    "lsblk": "-abdDfhiJlmnOpPrstSTvxz -e= -I= -o= -M --all --bytes --json --list --output= --fs --nodeps "
        "--paths --tree? --noheadings --raw",
    "pstree": "-aAcghGlnNpsStTuUZ -H= -C= --arguments --show-pids",
    "arch": "",
    "date": "-uRjn -d= -I? -r= -v= --date= --iso-8601? --rfc-email --rfc-3339= --reference= --utc --universal",
    "file": "-bcdhiIklLNnrsEv0 -e= -F= -P= --brief --mime --mime-type --mime-encoding --dereference "
        "--no-dereference --keep-going --separator= --extension --print0 --apple --raw --special-files "
        "--list --no-pad",
    "sort": "-bcCdfghiMmnRrsuVz -k= -S= -t= --ignore-leading-blanks --check? --dictionary-order "
        "--ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting --key= --merge "
        "--month-sort --numeric-sort --random-sort --reverse --stable --buffer-size= --field-separator= "
        "--unique --version-sort --zero-terminated --parallel= --sort= --debug --batch-size=",
    "shuf": "-erz -i= -n= --echo --input-range= --head-count= --repeat --zero-terminated --random-source=",
    "rg": _RG,
    "ag": "-acfghHiklLnoQsSuUvwt0 -A= -B= -C= -G= -m= -W= --ackmate --ignore= --ignore-dir= --hidden "
        "--nogroup --group --nocolor --color --column --numbers --nonumbers --depth= --files-with-matches "
        "--files-without-matches --literal --smart-case --ignore-case --case-sensitive --word-regexp --count "
        "--follow --silent --stats --vimgrep --noheading --heading --nobreak --break --unrestricted "
        "--all-types --all-text --python --js --ts --go --rust --java --ruby --html --css --cc --cpp",
    **dict.fromkeys(("fd", "fdfind"), _FD),
    "tree": "-aACdDfFghiJlNnpqQrsStuUvxX -I= -L= -P= -H= -T= --dirsfirst --filesfirst --du --si --noreport "
        "--prune --matchdirs --ignore-case --fromfile --gitignore --charset= --filelimit= --timefmt= --sort? "
        "--inodes --device --info --metafirst --nolinks --fflinks",
    "yq": "-rPeNCMnjycS -o= -p= -I= --raw-output --prettyPrint --exit-status --no-doc --colors "
        "--no-colors --null-input --output-format= --input-format= --indent= --arg= --unwrapScalar? --tojson "
        "--compact-output --sort-keys",
    "jq": "-cCMSaejnrRs --arg= --argjson= --slurpfile= --rawfile= --args --jsonargs --compact-output "
        "--color-output --monochrome-output --sort-keys --ascii-output --exit-status --join-output "
        "--null-input --raw-output --raw-output0 --raw-input --slurp --tab --indent= --unbuffered --stream "
        "--seq --stream-errors",
    "lsof": "-abChlnNoOPRtUVwX -c= -d= -F? -g? -i? -p= -s? -u=",
    # None that takes a value: less reads on behind it (`-z5kfile` loads `file`, which names programs to run).
    "less": "-aAeEfFgGiIJKLmMnNqQrRsSuUwWX -# --quit-if-one-screen --RAW-CONTROL-CHARS "
        "--raw-control-chars --LINE-NUMBERS --line-numbers --chop-long-lines --no-init --ignore-case "
        "--IGNORE-CASE --squeeze-blank-lines --quit-at-eof --QUIT-AT-EOF",
    "more": "-cdeflpsu -# -n= --squeeze --plain --silent",
    "tokei": "-fCV -e= -o= -s= -t= -c= -n= --files --exclude= --output= --sort= --type= --hidden --compact "
        "--no-ignore --columns=",
    "scc": "-acdhlmpuvwz -e= -i= -s= -x= --by-file --exclude-dir= --include-ext= --no-complexity --no-cocomo "
        "--sort= --wide --no-gen --no-duplicates --exclude-ext= --ci --no-min",
    # --- with a second file they write it
    "uniq": "-cdDiuz -f= -s= -w= -# --count --repeated --all-repeated? --skip-fields= --group? --ignore-case "
        "--skip-chars= --unique --zero-terminated --check-chars=",
    "xxd": "-abeEhiprtuvC -c= -g= -l= -n= -o= -s= -R= :-ps :-plain :-postscript :-include :-autoskip :-bits "
        ":-revert :-cols= :-groupsize= :-len= :-seek= :-uppercase :-ascii",
    # --- what writes the paths it is told
    "mkdir": "-pvZ -m= --mode= --parents --verbose",
    "touch": "-acfhm -d= -t= -A= --no-create --date= --no-dereference --time=",
    "tee": "-aip --append --ignore-interrupts --output-error?",
    "truncate": "-co -s= --no-create --io-blocks --size=",
    "mv": "-finuvT -t= --force --interactive --no-clobber --update? --verbose --no-target-directory "
        "--target-directory= --strip-trailing-slashes",
    "mkfifo": "-m= --mode=",
    "split": "-dexu -a= -b= -C= -l= -n= -t= -p= -# --suffix-length= --bytes= --line-bytes= "
        "--numeric-suffixes? --lines= --number= --elide-empty-files --separator= --unbuffered --verbose",
    "csplit": "-ksz -f= -n= --prefix= --keep-files --digits= --quiet --silent --elide-empty-files",
    "chmod": "-cfvRhHLPrwxXst --changes --silent --quiet --verbose --recursive --preserve-root "
        "--no-preserve-root",
    "ln": "-sfhinrvTLPF -t= --symbolic --force --interactive --no-dereference --relative --verbose "
        "--no-target-directory --target-directory= --logical --physical",
    "install": "-cCdDpTv -m= -t= --compare --directory --mode= --preserve-timestamps --target-directory= "
        "--no-target-directory --verbose",
    "mktemp": "-dqut -p= --directory --dry-run --quiet --tmpdir? --suffix=",
    # --- what deletes
    "rm": "-rRfiIdvxPW --recursive --force --interactive? --dir --verbose --one-file-system --preserve-root? "
        "--no-preserve-root",
    "rmdir": "-pv --parents --verbose --ignore-fail-on-non-empty",
    "unlink": "",
    "shred": "-fuvxz -n= -s= --force --iterations= --size= --remove? --verbose --exact --zero",
    "trash": "-vFse",
    "trash-put": "-v --trash-dir=",
}  # fmt: skip
