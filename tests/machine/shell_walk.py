# ruff: noqa: E501
"""Commands made at random for a small project full of traps, and what real shells do with those that a rule allows.

The rule it keeps: nothing runs that the verdict did not allow, and no word that is generated names a place outside of
the sandbox. A program that is not a plain reader is a stub which writes down that it was run.

`make fuzz` walks over 100,000 of them and prints what it counted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.claude.requests import action_of
from yourcall.daemon.rules.book import Rulebook
from yourcall.model.action import Action
from yourcall.model.prompts import Option, Prompt, Question, Tool


def words_of(text: str) -> list[str]:
    return text.split(" ")


SECRET = "-----PRIVATE-KEY-7f3a-----"
# What nothing in the project may change, though git itself keeps its own books.
KEPT = (".git/hooks", ".git/config", ".git/info/attributes", ".claude", ".mvn", ".yarnrc")
QUESTION = Question("decision", "?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))
READING = '[reading]\ndo = "allow"\neffect = "read"\n[no-secrets]\ndo = "deny"\neffect = "secrets"\n'
WRITING = READING + '[writing]\ndo = "allow"\neffect = ["read", "write_inside"]\n'
TESTING = READING + '[tests]\ndo = "allow"\ncommand = ["make test", "just check", "npm test"]\n'
RULES = {"reading": READING, "writing": WRITING, "testing": TESTING}

NEEDED = ("bash", "zsh", "dash", "busybox", "git", "rg")

# Real programs: they read, or write where they are told, and the sandbox is compared with what it was.
REAL = words_of(
    "cat tac nl head tail wc cut paste tr rev fold sort uniq comm diff cmp ls stat du realpath readlink md5sum sha256sum "
    "od strings base64 grep egrep fgrep basename dirname seq expr true false sleep date file rg jq find xargs sed awk "
    "git env timeout nice nohup tee touch cp mv mkdir ln bash dash zsh busybox sh printf echo test dd truncate split mktemp "
    "less column hexdump xxd shuf join gzip zcat"
)
STUBS = words_of(
    "evil foo make just npm python3 node rm rmdir curl wget ssh sudo chmod shred mvn yarn cargo gradle tar unzip perl "
    "ruby vi nano more"
)
STUB = '#!/bin/sh\nprintf "%s\\0" "$#" "${0##*/}" "$@" >> "$SEEN"\n'
SHELLS = {
    "bash": ("bash", "--norc", "-c"),
    "bash, wide": ("bash", "--norc", "-O", "nullglob", "-O", "dotglob", "-c"),
    "zsh": ("zsh", "-f", "-c"),
    "zsh, extended": ("zsh", "-f", "-o", "extendedglob", "-o", "nullglob", "-o", "cdablevars", "-c"),
}
# They run a command only of an agent that does not say which shell it has; rules then believe less of it.
PLAIN_SHELLS = {"dash": ("dash", "-c"), "busybox": ("busybox", "sh", "-c")}


def _unsaid(request: bytes) -> Action | None:
    action = action_of(request)
    return None if action is None else replace(action, any_shell=True)


UNSAID = replace(CLAUDE, name="unsaid", action=_unsaid)


class _Empty:
    def body(self, id: str, /) -> bytes | None:
        del id
        return None

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        del open_only, limit, before
        return []


@dataclass
class Ran:
    """What a shell did: the stubs it ran, what it printed, which files are others than before."""

    stubs: list[list[str]]
    printed: str
    changed: list[str]


class World:
    """A project, a home and programs, in one folder; made anew when something has changed."""

    def __init__(self, at: Path) -> None:
        self.at = at
        self.shop, self.home, self.bin = at / "home" / "shop", at / "home", at / "bin"
        self._programs()
        self.fresh()
        self._books: dict[str, Rulebook] = {}
        for name, rules in RULES.items():
            folder = at / "rules" / name
            folder.mkdir(parents=True)
            (folder / "rules.toml").write_text(rules)
            self._books[name] = Rulebook(
                folder, _Empty(), {"claude": CLAUDE, "unsaid": UNSAID}.get, lambda: 0, lambda _: str(self.shop)
            )

    def _programs(self) -> None:
        self.bin.mkdir()
        for name in REAL:
            found = shutil.which(name)
            if found is not None:
                (self.bin / name).symlink_to(found)
        for name in STUBS:
            (self.bin / name).write_text(STUB)
            (self.bin / name).chmod(0o755)

    def fresh(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        for folder in ("src/deep", "lib", "d", "-o", "x --files0-from=", "out", ".claude"):
            (self.shop / folder).mkdir(parents=True)
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh" / "id_ed25519").write_text(SECRET + "\n")
        (self.home / ".bashrc").write_text("# mine\n")
        for name in (
            "-exec", "-delete", "--pre=evil", "-Oevil", "--output=out/f", "-rf", "a b.py", "x -exec evil {} ;.py",
            "evil", "deploy", "drop", "expire", ";", "!", "--files0-from=key.txt", "-o", "SHELL=evil", "of=out/g",
            "1;BEGIN{system(\"evil\")}", "s,e,evil,e\n#,x,", "@list", "+!evil", "t/-eq", "t/y[$(evil)]", "u/key.txt/x.py", "-",
            "a.py", "b.py", "a~", "src/a.py", "src/-n.py", "src/deep/c.py", "README.md", "Makefile", "HEAD1", "list",
        ):  # fmt: skip
            path = self.shop / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_dir():
                path.write_text("text of a file\nexec evil\n")
        for name in ("evil.sh", "two.sh"):
            (self.shop / name).write_text("evil\n")
            (self.shop / name).chmod(0o755)
        (self.shop / "ring").mkdir()
        for name in ("a", "b"):
            (self.shop / "ring" / name).symlink_to(self.home / ".ssh" / "id_ed25519")
        (self.shop / "key.gz").symlink_to(self.home / ".ssh" / "id_ed25519")
        (self.shop / "sums").write_text(f"{'a' * 32}  ../.ssh/id_ed25519\n")
        (self.shop / "key.txt").symlink_to(self.home / ".ssh" / "id_ed25519")
        (self.shop / "lib" / "key.py").symlink_to(self.home / ".ssh" / "id_ed25519")
        (self.shop / ".env").write_text(f"A={SECRET}\n")
        for name in ("server.key", ".secrets.yml", "lib/prod.tfvars"):  # no ignore file names them
            (self.shop / name).write_text(f"A: {SECRET}\n")
        (self.shop / "list").write_text(f"{self.home}/.ssh/id_ed25519\n")
        (self.shop / "d1" / "dev").mkdir(parents=True)
        (self.shop / "d1" / "dev" / "null").symlink_to(self.home / ".ssh" / "id_ed25519")
        (self.shop / ".mvn").mkdir()
        (self.shop / ".mvn" / "jvm.config").write_text("-javaagent:evil.jar\n")
        (self.shop / ".yarnrc").write_text("yarn-path evil\n")
        (self.shop / "package.json").write_text('{"scripts": {}}\n')
        self._repositories()
        (self.shop / "src" / "deep" / ".ignore").write_text("!.env\n")
        (self.shop / "src" / "deep" / ".env").write_text(f"A={SECRET}\n")
        (self.shop / "src" / ".env").write_text(f"A={SECRET}\n")  # not what git knows: that is shown by git
        self.before = self._seen()

    def _repositories(self) -> None:
        """The project's own; and one that came with it, whose settings run a program."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        run = ["git", "-c", "user.name=x", "-c", "user.email=x", "-c", "init.defaultBranch=main"]
        subprocess.run([*run, "init", "-q"], cwd=self.shop, env=env, check=True)
        subprocess.run([*run, "add", "src"], cwd=self.shop, env=env, check=True)
        subprocess.run([*run, "commit", "-qm", "x"], cwd=self.shop, env=env, check=True)
        common = self.shop / "out" / "common"
        shutil.copytree(self.shop / ".git", common)
        hooks = f"\n[diff]\n\texternal = evil\n[core]\n\tfsmonitor = {self.bin}/evil\n\tpager = evil\n"
        (common / "config").write_text((common / "config").read_text() + hooks)
        (self.shop / "d" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.shop / "d" / "commondir").write_text("../out/common\n")

    def _seen(self) -> dict[str, tuple[int, int, str]]:
        found: dict[str, tuple[int, int, str]] = {}
        todo = [str(self.home)]
        while todo:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                        found[entry.path] = (0, 0, "")
                    else:
                        stat = entry.stat(follow_symlinks=False)
                        link = os.readlink(entry.path) if entry.is_symlink() else ""
                        found[entry.path] = (stat.st_size, stat.st_mtime_ns, link)
        return found

    def allowed(self, rules: str, command: str, any_shell: bool = False) -> bool:
        """What the daemon would answer to Claude Code's request, from its bytes on; or to that of an agent which
        does not say which shell it has."""
        request = json.dumps({"tool_name": "Bash", "tool_input": {"command": command}}).encode()
        agent = "unsaid" if any_shell else "claude"
        prompt = Prompt("p", "permission", agent, "s", str(self.shop), command, 1.0, tool=Tool("Bash"),
                        questions=(QUESTION,))  # fmt: skip
        home, os.environ["HOME"] = os.environ.get("HOME", ""), str(self.home)
        try:
            answer = self._books[rules].told(prompt, request, 1.0).answer
        finally:
            os.environ["HOME"] = home
        return answer is not None and answer.choices == {"decision": ("allow",)}

    def run(self, shell: str, command: str) -> Ran:
        seen = self.at / "seen"
        seen.unlink(missing_ok=True)
        env = {
            "PATH": str(self.bin), "HOME": str(self.home), "SEEN": str(seen), "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat",
        }  # fmt: skip
        program, *rest = {**SHELLS, **PLAIN_SHELLS}[shell]
        # It ends what it started, all of it, if that waits for something.
        found = [shutil.which("timeout") or "timeout", "-k", "1", "5", shutil.which(program) or program]
        done = subprocess.run(
            [*found, *rest, command], cwd=self.shop, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=30, check=False,
        )  # fmt: skip
        words = iter((seen.read_text(errors="surrogateescape") if seen.exists() else "").split("\0")[:-1])
        stubs = [[next(words) for _ in range(int(count) + 1)] for count in words]
        after = self._seen()
        changed = sorted({path for path, _ in self.before.items() ^ after.items()})
        if changed:
            self.fresh()
        return Ran(stubs, done.stdout.decode(errors="replace"), changed)


# --- commands at random

NAMES = words_of(
    "a.py b.py src src/a.py . ./src README.md * *.py ./* ./-* -* -exe[c.] -delet[e.] [-]* ?exec src/* src/*.py */x s* "
    "d* e* S* .e* .en? .en#v ^a a~b a^b *~a.py key.txt key* lib lib/key.py .env out ~/.ssh/id_ed25519 '~'/x 'a b.py' '*' "
    "\"a b.py\" $x \"$x\" ${x:-a.py} {a,b}.py $(echo a.py) `echo a.py` -- - '-exec' '--pre=evil' \\-rf a\\ b.py '' \"\" "
    "--output=out/f -Oevil --pre=evil =evil $y[x] \"$y[x]\" evil drop expire deploy of=out/g ';' + {} HEAD HEAD~1 HEAD^ "
    "x=evil ~ ~/.bashrc ../shop/a.py .claude/x out/new d d/HEAD list } 1* s,*,x, ?list [ab].py ?.py +* @list u t key.txt/x $f:h "
    "d<->/dev/null d<1-9>/dev/null - :(top).env src/.env ring ring/* ring/? r*/* HEAD^? *.zz ?? [ks]* */*"
)
OPTIONS = words_of(
    "-l -n -n5 -1 -r -R -i -c -e -f -o -x -v -q -s -w -a -A -0 -z -t -u -L -H -p -C -I{} -I -n1 -d -m -k2 --help --version "
    "--color --include=*.py --files0-from=key.txt --output=out/f -o out/f --pre evil --compress-program=evil -exec "
    "-execdir -delete -fprint -print -print0 -name -type f -maxdepth 1 -ok -files0-from -uuu "
    "--no-index --ext-diff --textconv -Oevil --open-files-in-pager=evil --stat -S --cached --all -X subtree=.claude"
)
READERS = words_of(
    "cat head tail wc grep sort uniq ls stat du cut diff od strings rg find sed awk jq file md5sum tr nl less xxd column shuf"
)
WRITERS = words_of("touch tee cp mv mkdir ln dd truncate split sed")
GIT = words_of(
    "status log diff show grep ls-files blame stash reflog branch tag remote config bisect add commit merge cherry-pick "
    "checkout rev-parse cat-file worktree"
)
TARGETS = (
    "make test",
    "make -j4 test",
    "just check",
    "npm test",
    "make",
    "mvn --version",
    "yarn -v",
    "make -k test",
)


class Walk:
    """One generator of commands; the same number gives the same commands."""

    def __init__(self, number: int) -> None:
        self._dice = random.Random(number)

    def commands(self) -> Iterator[tuple[str, str]]:
        while True:
            yield self._dice.choice(["reading", "reading", "writing", "testing"]), self._mutated(self.line())

    def _one(self, words: list[str] | tuple[str, ...]) -> str:
        return self._dice.choice(words)

    def _some(self, words: list[str], most: int) -> list[str]:
        return [self._one(words) for _ in range(self._dice.randint(0, most))]

    def trick(self) -> str:
        """Something that once ran a program, with other words in its places."""
        name, other, reader = self._one(NAMES), self._one(NAMES), self._one(READERS)
        end, star = (
            self._one(["';'", "\\;", "+", "{} +"]),
            self._one(["-exe[c.]", "-ex*", "[-]exec", "?exec", "-exec", "-[d]elete"]),
        )
        fed = self._one(
            [
                "-maxdepth 0 -exec evil ;",
                "--files0-from=key.txt",
                "key.txt",
                "-exec",
                "--pre=evil text",
                "-n 1 evil",
            ]
        )
        count = self._one(["-n 99", "-n9", "-L 9", "--max-args=9", "--max-lines=2", "-L1", "-x"])
        return self._one(
            [
                f"find {name} {star} evil {end}", f"find . {star} evil x {end}", f"find . -name {other} {star} evil {end}",
                f"echo '{fed}' | xargs -I NOPE {count} {reader} {name}", f"echo '{fed}' | xargs -I NOPE {count} find .",
                f"echo '{fed}' | xargs {count} -I NOPE {reader}", f"printf '%s\\n' '{fed}' | xargs {reader} {name}",
                f"ls | xargs {count} {reader}", f"echo {name} | xargs -I X -n 9 {reader} X", f"ls {name} | xargs {reader}",
                f"rg text {name} {other}", "rg text ./-* -*", f"busybox grep -r PRIVATE {name}", f"busybox {reader} {name} {other}",
                f"rg PRIVATE {self._one(['-tyaml', '-tall', '-tpy', '-Tpy', 'src', '-g !server.key', '-i', '-l'])} {name}",
                f"cat a.py | rg PRIVATE {self._one(['', '.', '< /dev/null', '-'])}", f"sed {self._one(['s/a/y/w', 'p', 'w'])} -e p {name}",
                f"file {self._one(['-p', '-b', '-L'])} {name}", f"git stash show {self._one(['-p', '--include-untracked', '-u'])}", f"rg text {self._one(['./-*', '-*', '[-]*', '*', './*'])} -*",
                f"git grep {self._one(['-*', '-O*', '?O*', '[-]O*', '*'])} text", f"git -C d {self._one(GIT)} {name}",
                f"git -C d diff {self._one(['', 'HEAD', '--cached'])}", f"cd d && git {self._one(GIT)}", "git -C d log -p -1",
                f"git -C out/common {self._one(GIT)}", f"mv out/common {name}; git -C {name} status",
                f"git {self._one(['stash', 'reflog', 'bisect', 'config', 'remote'])} {self._one(['d*', 'e*', 'l*', '*'])}",
                f"{self._one(('sh', 'dash', 'busybox sh', 'bash', 'zsh'))} -c 'a+=./evil.sh; {reader} {other}'".replace("''", ""),
                f"{{ {reader} {other} }} always {{ evil; }}", "x='y[$a(evil)1]'; echo $y[x]", 'x="y[\\$(evil)1]"; echo "$#y[x]"',
                f"x='y[$(evil)1]'; {reader} $y[x]", f"[[ {name} || evil ]]", f"sh -c '[[ a || evil ]]; {reader}'",
                f"make test {name}", f"make -j4 test {name}", f"just check {name}", f"npm test {name}", "make test deploy",
                f"mvn {self._one(['--version', '-v', '--help'])}", f"yarn {self._one(['--version', '-v', '--help'])}",
                f"sort {name} {self._one(['-o', '-oout/f', '-o out/f'])} {other}", f"> {name}; {reader} *", f"touch -- {name}; {reader} *",
                f"for f in {name} {other}; do find . $f evil {end}; done", f'for f in *; do {reader} "$f"; done',
                f'for f in {name}; do {reader} "$f"; done', f"for f in {name}; do f={other}; {reader} $f; done",
                f"awk 1 {name} {self._one(['-f', '-fevil.sh', '--', '-e'])} {other}", f"cd -- && {reader} -r PRIVATE {name}",
                f"cd && {reader} -r PRIVATE", f"cd {name} && {reader} {other}", f"dd if=a.py {self._one(['o*', 'of=*', '*'])}",
                f"awk {self._one(['1*', '?*', '*', '-F *.zz', '[1]*'])} {name}", f"sed {self._one(['s,*,x,', '-e s,*,x,', '-n ?*'])} {name}",
                f"uniq {self._one(['[ab].py', '?.py', '*.py', './?.py'])}", f"less {self._one(['-z5klist', '-x4kx', '-j5k', '+!evil', '?*'])} {name}",
                f"find u -name '*.py' | xargs {self._one(['-d /', '-d/', '--delimiter=/', '-d e'])} {reader}",
                f"for f in {self._one(['.env/x', 'key.txt/x', 'x/.env', '.env.bak'])}; do {reader} {self._one(['$f:h', '$f:t', '$f:r'])}; done",
                f"{reader} {self._one(['d<->/dev/null', 'd<1-9>/dev/null', '< -', '<-'])}", f"{reader} {name} > {self._one(['-', '&2-', '&2'])}",
                f"diff {self._one(['-N', '-P', '', '-q'])} {self._one(['out', '.', 'lib'])} {self._one(['src', '.', 'u'])}",
                f"git diff --no-index {self._one(['out', 'lib', 'u'])} {self._one(['src', '.', name])}", f"cd t && [ 1 {self._one(['*', '?eq *'])} ]",
                f"grep -r {self._one(['PRIVATE', 'x'])} {self._one(['.', 'src', '. --include=*', '. --exclude=.env', 'lib'])}", f"grep -nf{name} a.py",
                f"find . -newer *.zz -name {self._one(['-delete', '-exec', '-fprint'])} {name}", f"rg PRIVATE {self._one(['-g', '-uu', '--hidden', '.'])} {name}",
                f"{reader} {name} {star} {other}", f"{reader} -- {name} {star}", f"diff a.py {self._one(['.en#v', 'ke#y.txt', '^a.py', 'key~x'])}",
                f"git -C {self._one(['d?', 'd*', '[d]', './d?', '*', 'd{,1}', '$x', 'src/../d?', '?'])} {self._one(GIT)} {self._one(['', other])}",
                f"env {self._one(['-u', '--unset', '-i -u', '-u x -u'])} {self._one(['./*.sh', '*.sh', '$x', '{a,evil}', 'e*', name])} {reader} {other}",
                f"env {self._one(['A=', 'LC_ALL=', 'TERM='])}{name} {reader} {other}", f"{self._one(['timeout', 'nice -n', 'stdbuf -o'])} {name} {reader} {other}",
                f"find . -name {self._one(['src', 's*', 'deep', 'lib', '*', 'd*'])} {self._one(['-exec', '-type d -exec', '-maxdepth 2 -exec'])} {self._one(['grep -r PRIVATE', 'rg -. PRIVATE', 'rg -uu PRIVATE', 'rg PRIVATE', 'ls -R', 'du -a', reader])} {{}} {end}",
                f"find . -name {self._one(['src', 's*', 'lib', '*'])} -print0 | xargs -0 {self._one(['grep -r PRIVATE', 'rg -. PRIVATE', 'grep -dr PRIVATE', reader])}",
                f"rg {self._one(['PRIVATE', ''])} {self._one(['-g', '--glob', '-e', '-A', '-t', '--iglob', '-m'])} {name} {other}",
                f"{self._one(['grep -r', 'diff', 'du', 'sort', 'head', 'cut', 'ls', 'jq .', 'od', 'fold'])} {self._one(['-e', '-A', '-x', '--exclude', '-k', '-n', '-d', '-I', '-w', '-t'])} {name} {other}",
                f"{reader} <({reader} {name})", f"{reader} <({self._one(['evil', 'echo evil', f'cat {other}'])}) {name}", f"diff <(sort {name}) <(sort {other})",
                f"{self._one(['zcat', 'gzip -dc', 'gzip -cd', 'zcat -f', 'gzip -dcf'])} {self._one(['key.gz', '*.gz', 'key*', name, '< key.gz'])}",
                f"awk '{self._one(['1 > 2', '{ if (1 > 2) print', '{ print > 2', '{ print(1) > 2', 'NR > 1 { print'])} {self._one(['}', '> x }', '| 3 }', '; print > 4 }', ''])}' a.py",
                f"awk 'NR > 1 {{ print {self._one(['> f', '| c', '', '(1 > 2)', '(1) > f'])} }}' {name}", f"md5sum {self._one(['-c', '--check', '-wc'])} {self._one(['sums', '< sums', 'list', '<(cat sums)', name])}",
                f"git add {self._one(['.', '-A', 'src', 'lib', '-N .', '-u', name])}; git diff {self._one(['--cached', 'HEAD', ''])}", f"git add {name} && git commit -m x && git show",
                f"cd {self._one(['HOME', 'PWD', 'x', 'nothere'])}{self._one([' &&', ';'])} {reader} {name}", f"x=..; cd x; {reader} {name}", f"printf {self._one(['%s', '%d', '%b', '%s%d'])} {name} {other}",
                f"{self._one(['GIT_PAGER', 'PAGER', 'GIT_EXTERNAL_DIFF', 'LESSOPEN'])}={self._one(['cat', 'evil', '', 'c*', 'less'])} git {self._one(['log', 'diff', '-p log'])}",
                f"cat {self._one(['ke#y.txt', 'key.tx[t]', 'k*t', '*~a.py', '^a.py', 'key.txt~x', 'lib/*', 'l*/k*', '../.ssh/i*'])}",
            ]
        )  # fmt: skip

    def line(self, depth: int = 0) -> str:
        kind = self._dice.random()
        if self._dice.random() < 0.3:
            return self.trick()
        if depth > 2 or kind < 0.45:
            return self.simple()
        a, b = self.line(depth + 1), self.line(depth + 1)
        name, word = self._one(["f", "x", "y", "path"]), self._one(NAMES)
        joins = [
            f"{a} && {b}", f"{a}; {b}", f"{a} | {b}", f"{a} || {b}", f"({a})", f"{{ {a}; }}", f"{{ {a} }} always {{ {b}; }}",
            f"for {name} in {word} {self._one(NAMES)}; do {self.about(name)}; done",
            f"for {name} in {word}; do {self.about(name)}; {b}; done",
            f"{name}={word}; {self.about(name)}", f"{name}+={word}", f"cd {word} && {a}", f"cd {word}; {a}",
            f"if {a}; then {b}; fi", f"echo $({a})", f'echo "{self._one(NAMES)} $({a})"',
            f"{self.lists()} | {self.xargs()}", f"{self.lists()} | {self.xargs()}", f"{a} | {self.xargs()}",
            f"{self._one(('sh', 'dash', 'bash', 'zsh', 'busybox sh'))} -c {shlex.quote(a)}",
            f"{a} > {word}", f"{a} 2>/dev/null", f"> {word}; {a}", f"{a} <<< {word}", f"[[ {word} || {a} ]]",
            f"env {a}", f"timeout 5 {a}", f"nice {a}", f"touch {word}; {a}", f"mkdir -p {word} && {a}",
            f"ln -s {word} {self._one(NAMES)}; {a}", f"cat <<E\n{word} $({a})\nE", f"! {a}", f"{a} &\n{b}",
            f"case {word} in {self._one(NAMES)}) {a};; esac", f"while read -r {name}; do {self.about(name)}; done < a.py",
        ]  # fmt: skip
        return self._one(joins)

    def about(self, name: str) -> str:
        said = self._one([f'"${name}"', f"${name}", f"${{{name}}}", f'"src/${name}"', f"./${name}", f"${name}[1]"])
        return " ".join([self._one(READERS), *self._some(OPTIONS, 1), said])

    def simple(self) -> str:
        kind = self._dice.random()
        if kind < 0.2:
            where = self._one(["", "", "-C d ", "-C src ", "-C out/common ", "--no-pager "])
            return f"git {where}{self._one(GIT)} {' '.join(self._some(OPTIONS, 1) + self._some(NAMES, 2))}"
        if kind < 0.3:
            return " ".join([self._one(WRITERS), *self._some(OPTIONS, 1), *self._some(NAMES, 3)])
        if kind < 0.37:
            return " ".join([self._one(TARGETS), *self._some(NAMES, 1)])
        if kind < 0.47:
            return self.lists()
        if kind < 0.5:
            return f"echo {' '.join(self._some(NAMES, 3))}"
        words = [*self._some(OPTIONS, 2), *self._some(NAMES, 3)]
        self._dice.shuffle(words)
        return " ".join([self._one(READERS), *words])

    def lists(self) -> str:
        tests = self._some(
            ["-name '*.py'", "-name *.py", "-type f", "-maxdepth 1", "-print0", "-print", "-o", "! -name x", "-L", "-exec",
             "-exec grep -l x {} +", "-exec cat {} \\;", "-exec wc -l {} +", "-execdir cat {} +", "-printf '%p\\n'",
             "-exec echo {} * \\;", "-newer a.py", "-empty"], 3,
        )  # fmt: skip
        return self._one(
            [f"find {self._one(NAMES)} {' '.join(tests)}", f"find . {' '.join(tests)}", f"find src {' '.join(tests)}",
             f"grep -rl text {self._one(NAMES)}", "rg -l text src", "git ls-files", "ls", f"echo {self._one(NAMES)}",
             f"printf '%s\\n' {self._one(NAMES)}", "grep -rlZ text src"],
        )  # fmt: skip

    def xargs(self) -> str:
        options = self._some(["-0", "-n 1", "-n1", "-I{}", "-I {}", "-I X", "-L1", "-r", "-P2", "-d '\\n'", "-t", "--",
                              "--max-args=9", "-i", "-E x", "-0n1"], 3)  # fmt: skip
        run = self._one(
            [*READERS, "wc -l", "grep -l x", "cat", "find .", "sh", "echo", "head -n1", "sed -n 1p", "git log"]
        )
        return " ".join(["xargs", *options, run, *self._some(["{}", "X", "-n", "--", "a.py"], 1)])

    def _mutated(self, command: str) -> str:
        """Now and then a sign or two where none belongs."""
        for _ in range(self._dice.choice([0, 0, 0, 0, 1, 2])):
            at = self._dice.randint(0, len(command))
            token = self._one(
                [*"\"'`$;&|(){}<>[]#*?~=!\\\n \t-+^", "$(", "&&", " evil ", "\n", "]]", "[[ ", "<<E\n", "${"]
            )
            command = command[:at] + token + command[at + self._dice.choice([0, 0, 1]) :]
        return command


def trespass(rules: str, ran: Ran, world: World) -> str:
    """What it did that the verdict did not name; empty if nothing."""
    named = (
        {"make": ["make", "test"], "just": ["just", "check"], "npm": ["npm", "test"]} if rules == "testing" else {}
    )
    for argv in ran.stubs:
        plain = [word for word in argv if not word.startswith("-")]
        wanted = named.get(argv[0])
        more = plain[2:] if argv[0] == "npm" else []
        if wanted is None or plain[: len(wanted)] != wanted or (plain[len(wanted) :] != more):
            return f"it ran {argv}"
    if SECRET in ran.printed:
        return "it printed a secret"
    ours = str(world.shop) + "/"
    for path in ran.changed:
        inside = path.startswith(ours) and not path.startswith(tuple(ours + name for name in KEPT))
        if rules != "writing" or not inside:
            return f"it changed {path}"
    return ""


@dataclass
class Count:
    """What a walk has tried so far."""

    commands: int = 0
    allowed: int = 0
    runs: Counter[str] = field(default_factory=Counter[str])
    wrong: int = 0

    def __str__(self) -> str:
        runs = ", ".join(f"{shell} {many:,}" for shell, many in sorted(self.runs.items()))
        return (
            f"{self.commands:,} commands, {self.allowed:,} allowed, {self.runs.total():,} runs ({runs}), "
            f"{self.wrong} did what the verdict did not name"
        )


def walk(world: World, seed: int, many: int, count: Count) -> Iterator[str]:
    """Run what is allowed of so many commands, and tell what did more than the verdict named."""
    shells = [name for name, words in SHELLS.items() if shutil.which(words[0])]
    for number, (rules, command) in zip(range(many), Walk(seed).commands(), strict=False):
        count.commands += 1
        if not world.allowed(rules, command):
            continue
        count.allowed += 1
        plain = [list(PLAIN_SHELLS)[number % 2]] if world.allowed(rules, command, any_shell=True) else []
        for shell in (shells[number % 2], shells[2 + number % 2], *plain):
            count.runs[shell] += 1
            wrong = trespass(rules, world.run(shell, command), world)
            if wrong:
                count.wrong += 1
                yield f"{wrong}, with the rules for {rules}, in {shell} (seed {seed}, {number}):\n{command}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run generated commands that a rule allows in real shells.")
    parser.add_argument("--commands", type=int, default=100_000)
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="its first; each 1,000 commands have another"
    )
    args = parser.parse_args()
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        sys.exit(f"needs {', '.join(missing)}")
    count, began = Count(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="yourcall-fuzz-") as folder:
        world = World(Path(folder))
        for number in range(-(-args.commands // 1_000)):
            for wrong in walk(world, args.seed + number, min(1_000, args.commands - count.commands), count):
                print(wrong, flush=True)
            print(f"seed {args.seed + number}, {time.monotonic() - began:.0f} s: {count}", flush=True)
    return 1 if count.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
