# ruff: noqa: E501
"""The third round of attacks, against the two rules that the how-to recommends: what got through, family by family,
and everything else that was tried; ordinary work beside it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from hostile_third import HOSTILE, ORDINARY, secret_reads

from yourcall.agents.claude.agent import CLAUDE
from yourcall.daemon.rules.book import Rulebook
from yourcall.daemon.rules.lazy_rules import RuleDecision
from yourcall.model.prompts import Option, Prompt, Question, Tool

QUESTION = Question("decision", "?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))
START = """
[reading]
do = "allow"
effect = "read"
[no-secrets]
do = "deny"
effect = "secrets"
"""
TRAPS = ("s,a,evil,e\n#,x,", 'BEGIN{system("evil")}', '1;BEGIN{system("evil")}', "env", "+!evil", "@opts", "x.1")


class _Empty:
    def body(self, id: str, /) -> bytes | None:
        del id
        return None

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        del open_only, limit, before
        return []


class Project:
    """A repository with a `.env` that git ignores, and a key in the home around it."""

    def __init__(self, at: Path, rules: str = START) -> None:
        self.home, self.shop = at / "home", at / "home" / "shop"
        for folder in ("src/deep", "lib", "out", "t", "d1/dev", "git", "u/.env"):
            (self.shop / folder).mkdir(parents=True)
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh" / "id_ed25519").write_text("key")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        subprocess.run(["git", "init", "-q", str(self.shop)], check=True, env={**clean, "HOME": str(self.home)})
        for name in ("a.py", "b.py", "src/a.py", "src/b.py", "README.md", "package.json", "data.json", "x.tar"):
            (self.shop / name).write_text("text\n")
        (self.shop / ".env").write_text("K=1")
        (self.shop / ".gitignore").write_text(".env\n!.env.example\n")
        book = at / "rules"
        book.mkdir()
        (book / "rules.toml").write_text(rules)
        self._book = Rulebook(book, _Empty(), {"claude": CLAUDE}.get, lambda: 0, lambda _: str(self.shop))

    def trapped(self) -> Project:
        """With everything in it that a hostile project can bring."""
        for name in (
            *TRAPS,
            "secrets.json",
            "server.key",
            "src/.env",
            "opts",
            "u/.env/x.py",
            "t/-eq",
            "t/y[$(evil)]",
        ):
            (self.shop / name).write_text("text\n")
        key = self.home / ".ssh" / "id_ed25519"
        for link in ("key.txt", "lib/key.py", "d1/dev/null", "-"):
            (self.shop / link).symlink_to(key)
        (self.shop / "key2").symlink_to(self.shop / ".env")
        (self.shop / ".ignore").write_text("!.env\n")
        for folder in ("d", "out/common"):  # a repository to git, whose settings came with the project
            (self.shop / folder).mkdir()
            for name in ("HEAD", "commondir"):
                (self.shop / folder / name).touch()
        return self

    def decides(self, tool: str, **fields: object) -> RuleDecision:
        request = json.dumps({"tool_name": tool, "tool_input": fields}).encode()
        prompt = Prompt("p", "permission", "claude", "s", str(self.shop), tool, 1.0, tool=Tool(tool),
                        questions=(QUESTION,))  # fmt: skip
        return self._book.told(prompt, request, 1.0)

    def tool(self, tool: str, **fields: object) -> str:
        answer = self.decides(tool, **fields).answer
        return "ask" if answer is None else answer.choices["decision"][0]

    def bash(self, command: str) -> str:
        return self.tool(
            "Bash", command=command.replace("HOMEDIR", str(self.home)).replace("SHOP", str(self.shop))
        )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Project(tmp_path)


def test_nothing_of_the_third_round_is_allowed(project: Project) -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 1_000
    project.trapped()
    assert [command for command in HOSTILE if project.bash(command) == "allow"] == []


def test_no_way_to_a_file_of_secrets_is_allowed(project: Project) -> None:
    project.trapped()
    reads = secret_reads()
    assert len(set(reads)) == len(reads) >= 1_000
    assert [command for command in reads if project.bash(command) == "allow"] == []


def test_ordinary_work_needs_no_question(project: Project) -> None:
    assert len(set(ORDINARY)) == len(ORDINARY) >= 150
    assert [command for command in ORDINARY if project.bash(command) != "allow"] == []


def test_less_reads_on_behind_the_value_of_an_option(project: Project) -> None:
    for option in ("-z5klk", "-x4klk", "-j5klk", "-y5k lk", "'-px$klk'", "-z5Oout/log"):
        assert project.bash(f"less {option} a.py") == "ask", option
    assert project.bash("less -RFX a.py") == "allow"


def test_a_pattern_does_not_become_a_script_or_a_file_that_is_written(project: Project) -> None:
    project.trapped()
    for command in ("sed s,*,x, a.py", "sed -e s,*,x, a.py", "awk B* a.py", "awk 1* a.py", "jq -n e*", "uniq [ab].py", "xxd ?.py", "strings ?opts",
                    "less [+]*", "awk -F *.zzz 1 'BEGIN{system(\"evil\")}'", "for f in B*; do awk \"$f\" a.py; done", "ps 1*", "cd t && [ 1 * ]",
                    "find . -newer *.zzz -name -delete"):  # fmt: skip
        assert project.bash(command) == "ask", command
    for command in (
        "sed -n p src/*.py",
        "awk 1 src/*.py",
        "jq . d*.json",
        "sed -e p src/*.py",
        'for f in *.py; do [ -f "$f" ] && wc -l "$f"; done',
    ):
        assert project.bash(command) == "allow", command


def test_an_option_is_no_value(project: Project) -> None:
    for command in ("yq -a -i .a=2 data.yaml", "yq -o -i .a=2 data.yaml", "sort -k -o b.py a.py", "git log --author --output=out/x",
                    "rg -m --pre=evil x", "grep -m -r x .", "awk -F -f evil.sh"):  # fmt: skip
        assert project.bash(command) == "ask", command
    for command in (
        "grep -e --flag a.py",
        "rg -e '-> x' src",
        "head -n -5 a.py",
        "tail -c -9 a.py",
        "git log -S --flag",
        "find . -mtime -1",
    ):
        assert project.bash(command) == "allow", command


def test_what_xargs_cuts_elsewhere_is_not_known(project: Project) -> None:
    for cut in ("-d /", "-d/", "--delimiter=/", "--delimiter e", "-0 -d /"):
        assert project.bash(f"find u -name '*.py' | xargs {cut} cat") == "ask", cut
    for cut in ("-0 -d '\\n'", "-d '\\n' -0", "-0d '\\n'"):  # a name may hold a new line, or the other way round
        assert project.bash(f"find src -name '*.py' -print0 | xargs {cut} cat") == "ask", cut
    assert project.bash("find src -name '*.py' | xargs -d '\\n' cat") == "allow"


def test_zsh_reads_these_in_another_way(project: Project) -> None:
    project.trapped()
    for command in ("for f in .env/x; do cat $f:h; done", 'for f in key.txt/x; do cat "$f:h"; done', "cat d<->/dev/null", "cat d<1-9>/dev/null",
                    "for x in 'a[$(evil)0]'; do LINES=x; done", "ls >&2-", "ls >&２", "ls > -", "cat < -"):  # fmt: skip
        assert project.bash(command) != "allow", command
    assert project.bash("ls >&2") == project.bash("ls 2>&1") == "allow"


def test_a_folder_that_a_pattern_finds_is_searched_too(project: Project) -> None:
    (project.shop / "src" / ".env").write_text("K=1")
    for command in (
        "grep -rn K s*",
        "grep -r K -e x ./s*",
        "rg --hidden K s*",
        "diff -N out s*",
        "git diff --no-index out s*",
        "grep -r *",
    ):
        assert project.bash(command) == "ask", command
    # Where nothing is found, some shells leave the word out: then it is the folder itself that is searched.
    assert project.bash("grep -rn K *.zzz") == project.bash("rg --hidden K */x") == "ask"
    assert project.bash("grep -rn K l*") == project.bash("grep -rn K src/*.py") == "allow"


def test_folders_that_are_compared_are_read(project: Project) -> None:
    (project.shop / "src" / ".env").write_text("K=1")
    for command in (
        "diff -N out src",
        "diff -P out src",
        "diff . src",
        "diff -N --to-file=src out",
        "git diff --no-index out src",
    ):
        assert project.bash(command) == "ask", command
    (project.shop / "lib" / "x").symlink_to(project.home / ".ssh" / "id_ed25519")
    for command in ("diff -N out lib", "git diff --no-index out lib"):
        assert project.bash(command) == "deny", command
    assert project.bash("diff src/a.py src/b.py") == project.bash("git diff --no-index a.py b.py") == "allow"


def test_an_ignore_file_may_bring_secrets_back_for_rg(project: Project) -> None:
    assert project.bash("rg K") == "allow"
    assert (
        project.bash("rg --ignore-file=x K") == project.bash("ag -u K") == project.bash("ag --hidden K") == "ask"
    )
    (project.shop / ".ignore").write_text("!.env\n")
    assert project.bash("rg K") == project.bash("rg K .") == "ask"
    assert project.bash("rg K src") == "allow"


def test_git_reads_no_other_file_by_its_own_ways(project: Project) -> None:
    for command in (
        "git config --get --includes -f inc.cfg pypi.username",
        "git help git/../x.1",
        "git help ./x.1",
    ):
        assert project.bash(command) == "ask", command
    for command in (
        "git diff -- ':(icase)secrets.json'",
        "git log -p -- ':(top)credentials.json'",
        "git show ':(top).env'",
    ):
        assert project.bash(command) == "deny", command
    assert project.bash("git help log") == project.bash("git config --get user.name") == "allow"


def test_a_value_that_is_stuck_to_other_letters_is_a_file(project: Project) -> None:
    project.trapped()
    assert project.bash("grep -nfsecrets.json a.py") == project.bash("rg -nfkey2 a.py") == "deny"


def test_a_search_that_comes_upon_secrets_waits_for_a_person_in_every_mode(project: Project) -> None:
    """Nobody named the file: that is no reason to say no; but nobody said yes to it either."""
    for command in (
        "grep -r x .",
        "rg -uuu x",
        "git grep --no-index x",
        "cat *",
        "find . -type f -print0 | xargs -0 cat",
        "grep -r x --include='*' .",
    ):
        decided = project.decides("Bash", command=command)
        assert decided.answer is None, command
        assert "would open .env, " in decided.insists, command
        assert "no-secrets" in decided.insists, command
    for command in (
        "grep -r x .env",
        "cat .e*",
        "cat [.]env",
        "cat *env",
        "grep -r x --include='.e*' .",
        "rg -g .env x",
        "find . -name '.e*' -print0 | xargs -0 cat",
    ):
        assert project.bash(command) == "deny", command
    for command in ("grep -r x . --exclude=.env", "grep -rn x src", "rg x -g '!.env'", "ls *", "du -sh *"):
        assert project.bash(command) == "allow", command


def test_claudes_search_takes_several_patterns(project: Project) -> None:
    assert (
        project.tool("Grep", pattern="K", glob="*.py .env")
        == project.tool("Grep", pattern="K", glob="*.py,.env")
        == "deny"
    )
    assert project.tool("Grep", pattern="K", glob="*.py,*.md") == "allow"


def test_a_path_with_blanks_around_it_is_the_same_to_claude(project: Project) -> None:
    for path in (".env ", " .env", ".env\n", "\t.env", ".env\u00a0", "\ufeff.env", f" {project.shop}/.env"):
        assert project.tool("Read", file_path=path) == "deny", path
    assert project.tool("Read", file_path=" a.py") == "allow"


def test_a_command_that_does_more_than_run_is_asked(project: Project) -> None:
    assert project.tool("Bash", command="ls", description="x", timeout=5, run_in_background=True) == "allow"
    edit = {"filePath": "CLAUDE.md", "newContent": "x"}
    assert project.tool("Bash", command="ls", _simulatedSedEdit=edit) == "ask"
    assert project.tool("Bash", command="ls", allowed_domains=["x"]) == "ask"
    for free in (True, "true", 1):
        assert project.tool("Bash", command="ls", dangerouslyDisableSandbox=free) == "ask", free


def test_an_option_behind_a_file_is_a_file_that_is_written(project: Project) -> None:
    for command in ("xxd a.py -n5", "uniq a.py -c", "xxd - -n5", "xxd a.py --"):
        assert project.bash(command) == "ask", command
    assert project.bash("xxd -p a.py") == project.bash("uniq -c a.py") == "allow"


def test_no_decision_takes_long(project: Project) -> None:
    """Everybody waits while the rules look. In processor time, so that others on this machine do not count."""
    for number in range(60):
        folder = project.shop / "many" / str(number)
        folder.mkdir(parents=True)
        for file in range(100):
            (folder / f"file_{number}_{file}.js").touch()
    hostile = {
        "commands": "ls;" * 6_000, "words": "echo " + "a " * 9_900, "variables in a here-document": "cat <<E\n" + "$x " * 6_500 + "\nE",
        "open braces": "${" * 9_000, "here-documents": "<<a " * 4_000, "keywords": "case " * 4_000, "pipes": "ls|" * 6_000 + "ls",
        "loops": "for f in a b c d e f g h; do " + "cat $f x; " * 1_200 + "done", "a deep path": "cat " + "a/" * 9_000,
        "a search": "grep -r x .", "searches": "grep -r x . ; " * 200, "patterns": "cat " + "*/*/* " * 20, "files": "find . -type f -print0 | xargs -0 cat",
    }  # fmt: skip
    project.bash("ls")
    for name, command in hostile.items():
        began = time.thread_time()
        assert project.bash(command[:20_000]) != "allow", name
        assert time.thread_time() - began < 0.1, name  # a third of it on an idle machine
