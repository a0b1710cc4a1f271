"""Commands are taken apart as a real shell would run them, and each part is what it does."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from shell_facts import effects, facts, shell
from shell_joins import JOINS
from shell_table import MASKED, OUTSIDE, TABLE

from yourcall.rules.effects.commands import parts_of
from yourcall.rules.policy import decide
from yourcall.rules.rule import RequestContext, Rule
from yourcall.rules.shell.items import Unread

CASES = [
    (command, want)
    for table in (TABLE, MASKED, OUTSIDE)
    for want, commands in table.items()
    for command in commands
]


def test_the_table_is_large_and_says_each_command_once() -> None:
    assert len(CASES) >= 300
    assert len({command for command, _ in CASES}) == len(CASES)


@pytest.mark.parametrize(("command", "want"), CASES)
def test_a_command_does_what_the_table_says(command: str, want: str) -> None:
    found = effects(command)
    got = "unread" if found is None else " ".join(sorted(found))
    assert got == want


def test_a_command_that_breaks_off_anywhere_is_taken_apart_without_an_error() -> None:
    """An error here is no decision at all: a person is asked for what a rule allows, and a deny is not applied."""
    words = {tuple(command.split(" ")) for command, _ in CASES}
    begun = {" ".join(each[:many]) for each in words for many in range(1, len(each))}
    for command in sorted(begun | {f"{each} --" for each in begun} | {f"{each} -" for each in begun}):
        parts_of(command)


# --- nothing denied is ever allowed, however it is dressed up ------------------------------------------------

RULES = (
    Rule("reading", "allow", effect=("read",)),
    Rule("tests", "allow", command=("npm test", "git commit")),
    Rule("inside", "allow", effect=("read", "write_inside")),
    Rule("never", "deny", command=("rm",)),
)
SCENE = RequestContext(agent="claude", root="/p", home="/h")


def ruled(command: str) -> str:
    asked = shell(command)
    return decide(RULES, asked, facts(asked), SCENE).do


ALLOWED = st.sampled_from(
    ["ls", "git log", "cat README.md", "npm test", "echo 'a b'", "touch x", "git commit -m 'x'", "true", "pwd"]
)
DENIED = st.sampled_from(
    [
        *r"""rm a|rm -rf a b|\rm a|r''m a|'rm' a|"rm" a|/bin/rm a|$'\x72m' a|${x:-rm} a|$x a|/bin/r[m] a|{rm,a}
command rm a|sudo rm a|env rm a|env -S 'rm a'|eval rm a|xargs rm|find . -exec rm {} +|bash -c 'rm a'|sh -c "rm a"
timeout -s 9 1 rm a|exec rm a|X=1 rm a|f() { rm a; }; f|`echo rm` a|$(printf 'r\155') a|busybox rm a|nohup rm a &
nice rm a|time rm a|! rm a|coproc rm a|echo a $(rm b)|rm<a|>a rm b""".replace("\n", "|").split("|"),
        "r\\\nm a",
        "\u200brm a",
        "rm\u00a0a",
        "echo 'rm a' | sh",
    ]
)


@st.composite
def dressed(draw: st.DrawFn) -> str:
    """A denied command among allowed ones, joined and wrapped at will."""
    command = draw(DENIED)
    for _ in range(draw(st.integers(0, 4))):
        join = draw(st.sampled_from(JOINS))
        other = draw(ALLOWED)
        command = join(other, command) if draw(st.booleans()) else join(command, other)
    return command


@given(dressed())
@settings(max_examples=600)
def test_no_dress_lets_a_denied_command_through(command: str) -> None:
    assert ruled(command) != "allow"


@given(st.lists(ALLOWED, min_size=1, max_size=5))
def test_what_is_allowed_alone_is_allowed_together(commands: list[str]) -> None:
    """Or the test above would pass with rules that allow nothing."""
    for sign in (" && ", "; ", "\n", " || ", " | "):
        assert ruled(sign.join(commands)) == "allow"


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_at_all_is_taken_apart_or_not_and_never_breaks(text: str) -> None:
    assert ruled(text) in ("allow", "ask", "deny", "hold")


# --- the real shell runs nothing that was not seen -----------------------------------------------------------

NAMES = ("foo", "bar", "baz")
TOKENS = [
    *NAMES,
    "foo",
    "bar",
    " ",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "&",
    "&&",
    "|",
    "||",
    "(",
    ")",
    "{ ",
    "; }",
    "'",
    '"',
]
TOKENS += [
    "\\",
    "\\\n",
    "$x",
    "$(",
    "`",
    "#",
    " # ",
    "=",
    "x=",
    "!",
    "! ",
    "if ",
    "; then ",
    "; fi",
    "for i in ",
    "*",
]
TOKENS += [
    "; do ",
    "; done",
    "case a in a) ",
    ";; esac",
    "<",
    "> f",
    ">> f",
    "2>&1",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "-",
]
TOKENS += [
    "{a,b}",
    "~",
    "$'",
    "a",
    "b",
    "${x}",
    "${x:-",
    "}",
    "<(",
    "<<< ",
    "[ ",
    " ]",
    "[[ ",
    " ]]",
    "2>",
    "eval ",
]
TOKENS += [
    "command ",
    "env ",
    "time ",
    "bash -c '",
    "-c",
    "\t",
    "é",
    "$",
    "[a-z]",
    "0",
    "1",
    "$((",
    "))",
    "in",
    "do",
]

# One write for all of it: several may run at a time. How many words, then each with what no word can hold.
STUB = """#!/bin/sh
printf "%s\\0" "$#" "${0##*/}" "$@" >> "$SEEN"
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sandbox")
    (folder / "bin").mkdir()
    (folder / "home").mkdir()  # `2>~` writes nowhere: it is a folder
    for name in NAMES:
        (folder / "bin" / name).write_text(STUB)
        (folder / "bin" / name).chmod(0o755)
    for name in ("bash", "env"):  # so that what they wrap runs too
        found = shutil.which(name)
        assert found is not None
        (folder / "bin" / name).symlink_to(found)
    return folder


def _bash() -> str:
    return shutil.which("bash") or "/bin/bash"


def ran(sandbox: Path, command: str) -> list[list[str]]:
    """What a real bash ran of the stubs, with all their arguments."""
    name = secrets.token_hex(8)
    seen, work = sandbox / f"seen-{name}", sandbox / f"work-{name}"
    work.mkdir()
    env = {"PATH": str(sandbox / "bin"), "SEEN": str(seen), "HOME": str(sandbox / "home"), "LC_ALL": "C.UTF-8"}
    # Read to its end: what runs behind holds the pipe open until it is done too.
    subprocess.run(
        [_bash(), "-c", command], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, timeout=30, check=False,
    )  # fmt: skip
    words = iter((seen.read_text(errors="surrogateescape") if seen.exists() else "").split("\0")[:-1])
    return [[next(words) for _ in range(int(count) + 1)] for count in words]


def check(sandbox: Path, command: str) -> bool:
    """True if it was taken apart, bash reads it too, and so it was compared."""
    parts = parts_of(command)
    if isinstance(parts, Unread) or any(
        part.kind == "command" and part.argv[:1] in ((), (None,)) for part in parts
    ):
        return False
    seen = [part.argv for part in parts if part.kind == "command"]
    if any(argv[0] not in (*NAMES, "test", "echo") and "unknown" in part.effects for argv, part in
           ((part.argv, part) for part in parts if part.kind == "command")):  # fmt: skip
        return False  # a shell script, `eval $x`: said to be unknown, which nothing allows
    for argv in ran(sandbox, command):
        assert any(_same(argv, said) for said in seen), (command, argv, seen)
    # What bash would not even read runs nothing, as was just seen, and counts for nothing.
    valid = subprocess.run(
        [_bash(), "-n", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return valid.returncode == 0


def _same(argv: list[str], said: tuple[str | None, ...]) -> bool:
    """Word by word; a word that only running it tells may be any number of words."""
    if argv[0] != said[0]:
        return False
    if None in said or any(set(word or "") & set("*?[~") for word in said):
        return True
    return argv == list(said)


@given(st.lists(st.sampled_from(TOKENS), min_size=2, max_size=14).map("".join))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@example("foo\\\nbar")
@example("foo \\\nbar")
@example("foo 0<<< bar")
@example("foo <<E\n$(bar)\nE\nbaz")
@example("foo 'a'\"b\"c $'\\x41' ~/x")
@example("foo 2>&1>f bar|baz")
@example("if foo; then bar; fi;for i in 1 2; do baz $i; done")
@example("foo && (bar; baz) || { foo; } & bar")
@example("env x=1 foo; time bar; eval 'baz a'; bash -c 'foo b'")
def test_a_real_bash_runs_nothing_that_was_not_seen(sandbox: Path, command: str) -> None:
    check(sandbox, command)


WORDS = st.sampled_from(["foo", "bar a 'b c'", 'baz "x y" z', "foo $'\\x41'", "bar a\\ b", "baz > f", "foo 2>&1"])
# `while foo` would never end: the stubs always succeed.
ENDING = st.sampled_from([join for join in JOINS if "while" not in join("", "")])


@st.composite
def joined(draw: st.DrawFn, most: int = 4) -> str:
    command = draw(WORDS)
    for join in draw(st.lists(ENDING, min_size=1, max_size=most)):
        command = join(draw(WORDS), command)
    return command


@st.composite
def disturbed(draw: st.DrawFn) -> str:
    """Joined commands with a token or two where none belongs: mostly still a script, and seldom the same one."""
    command = draw(joined(most=3))
    for token in draw(st.lists(st.sampled_from(TOKENS), max_size=2)):
        at = draw(st.integers(0, len(command)))
        command = command[:at] + token + command[at:]
    return command


@pytest.mark.long
@given(joined())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_real_bash_agrees_on_joined_commands(sandbox: Path, command: str) -> None:
    compared = check(sandbox, command)
    assert compared or isinstance(parts_of(command), Unread) or "bash -c" in command or "<(" in command


@pytest.mark.soak
@pytest.mark.timeout(3_600)  # four minutes on a quiet machine
def test_a_long_walk_with_a_real_bash(sandbox: Path) -> None:
    """Half of it soup of tokens, of which a twentieth is a script at all; half scripts that were disturbed."""
    examples = int(os.environ.get("YOURCALL_SHELL_EXAMPLES", "20000"))
    compared = {"soup": 0, "disturbed": 0}
    soup = st.lists(st.sampled_from(TOKENS), min_size=2, max_size=20).map("".join)

    @given(st.tuples(st.just("soup"), soup) | st.tuples(st.just("disturbed"), disturbed()))
    @settings(max_examples=examples, database=None, deadline=None)
    def walk(drawn: tuple[str, str]) -> None:
        kind, command = drawn
        compared[kind] += check(sandbox, command)

    walk()
    assert compared["soup"] > examples // 100
    assert compared["disturbed"] > examples // 20
