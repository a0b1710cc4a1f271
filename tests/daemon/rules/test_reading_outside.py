"""Reading outside of the project, and writing what agents obey, held against the rules that the docs recommend: on
a real disk, from the request as an agent sends it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hostile_reads import READS, READS_AGAIN, WRITES, WRITES_AGAIN

from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.codex.agent import CODEX
from yourcall.daemon.rules.book import Rulebook
from yourcall.model.prompts import Option, Prompt, Question, Refused

QUESTION = Question("decision", "?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))
EVERY_READ, EVERY_WRITE = READS + READS_AGAIN, WRITES + WRITES_AGAIN
DOCS = Path(__file__).parents[3] / "docs"
WRITING = '[writing]\ndo = "allow"\neffect = ["read", "write_inside"]\n'
GENEROUS = WRITING + '[all]\ndo = "allow"\neffect = ["read", "write_inside", "delete", "network"]\n'


def recommended() -> str:
    """The rules of the how-to, as they stand there."""
    found = re.search(r"```toml\n(.*?)```", (DOCS / "how-to" / "rules.md").read_text(), re.DOTALL)
    assert found is not None
    return found[1]


ORDINARY = r"""
ls
ls -la src
cat README.md package.json
cat SHOP/src/a
cat src/../README.md
git status
git log --oneline -5
git diff HEAD~1 -- src
git show HEAD:src/a
pwd
date
whoami
rg -n TODO
rg TODO src
rg '/api/users' src
rg -n '../utils' src
rg -g '*.ts' '/api/' src
grep -rn '/api/v1/users' src
grep -rn "from '../a'" src
grep -n '~/x' README.md
rg process.env src
grep -c / README.md
git grep -n '/api/users'
git log -S /api/users --oneline
git log --grep=/api/x
ls src | cut -d/ -f2
ls src | tr / _
ls | sort -t/ -k2
find . -name '*.md' -not -path './x/*'
wc -l src/a
head -5 README.md | sort | uniq -c
which node
df -h /
cat /usr/include/stdio.h
cat ~/.cargo/registry/src/x/lib.rs
rg x ~/.cargo/registry/src
ls /usr/share/doc
cat /proc/cpuinfo
cat src/a > /dev/null
cat < src/a
cd src && cat ../README.md
cd src && ls
uname -a
nproc
jq .scripts package.json
sed -n '/a/,/b/p' src/a
awk '/x/ {print $1}' src/a
echo hi
cat -
"""


class _Bodies(dict[str, bytes]):
    def body(self, id: str, /) -> bytes | None:
        return self.get(id)

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        del open_only, limit, before
        return []


class Place:
    """A project, a folder `opt` beside it, and a home elsewhere."""

    def __init__(self, base: Path, rules: str = "") -> None:
        self.home, self.shop, self.out = base / "home", base / "code" / "shop", base / "code" / "opt"
        for folder in (
            self.home,
            self.shop / ".git",
            self.shop / "src" / "sub",
            self.shop / ".vscode",
            self.out,
            base / "yc",
        ):
            folder.mkdir(parents=True)
        for name in ("src/a", "src/b", "src/CLAUDE.md", "CLAUDE.md", "AGENTS.md", "README.md", "package.json"):
            (self.shop / name).write_text("x")
        (self.shop / "src" / ".vscode").mkdir()
        (self.out / "a.txt").write_text("not theirs")
        (self.shop / "away").symlink_to(self.out)
        (self.shop / "doc.md").symlink_to(self.shop / "CLAUDE.md")
        (self.shop / "up").symlink_to("..")
        (self.shop / "deep").mkdir()
        (self.shop / "deep" / "l2").symlink_to(self.out)
        (self.shop / "dangling").symlink_to(self.out / "later")
        (self.shop / "settings").symlink_to(".vscode")
        (self.shop / "AGENTS.txt").symlink_to("AGENTS.md")
        (self.shop / "GEMINI.md").symlink_to("src/a")
        (self.shop / "-e").touch()
        (base / "yc" / "rules.toml").write_text(rules or recommended())
        self.bodies = _Bodies()
        agents = {"claude": CLAUDE, "codex": CODEX}
        self.book = Rulebook(base / "yc", self.bodies, agents.get, lambda: 0, lambda _: str(self.shop))

    def prompt(self, agent: str, tool: str, request: Mapping[str, object], cwd: Path | None = None) -> Prompt:
        self.bodies["r"] = json.dumps(request).encode()
        link = "hook" if agent == "claude" else "socket"
        where = str(cwd or self.shop)
        return Prompt(
            "p", "permission", agent, "s", where, tool, 1.0, questions=(QUESTION,), link=link, request="r"
        )

    def says(self, agent: str, tool: str, request: Mapping[str, object], cwd: Path | None = None) -> str:
        prompt = self.prompt(agent, tool, request, cwd)
        answer = self.book.told(prompt, self.bodies["r"], 1.0).answer
        return "ask" if answer is None else answer.choices["decision"][0]

    def claude(self, tool: str, **fields: object) -> str:
        return self.says("claude", tool, {"tool_name": tool, "tool_input": fields})

    def bash(self, command: str) -> str:
        return self.claude("Bash", command=command.replace("OUT", str(self.out)))

    def codex(self, command: str, cwd: Path | None = None) -> str:
        method = "item/commandExecution/requestApproval"
        return self.says(
            "codex", "Bash", {"method": method, "params": {"command": command}, "tool_name": "Bash"}, cwd
        )


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Place]:
    number = itertools.count()

    def made(rules: str = "") -> Place:
        base = tmp_path / str(next(number))
        monkeypatch.setenv("HOME", str(base / "home"))
        return Place(base, rules)

    return made


def test_the_lists_are_long() -> None:
    assert len(set(EVERY_READ + EVERY_WRITE)) == len(EVERY_READ + EVERY_WRITE) >= 900


def test_no_rule_of_the_how_to_lets_anything_outside_be_read(at: Callable[..., Place]) -> None:
    place = at()
    assert [command for command in EVERY_READ if place.bash(command) == "allow"] == []


def test_nor_does_one_that_allows_writing_and_deleting_in_the_project(at: Callable[..., Place]) -> None:
    place = at(GENEROUS)
    assert [command for command in EVERY_READ + EVERY_WRITE if place.bash(command) == "allow"] == []


def test_what_reads_in_the_project_goes_on_unasked(at: Callable[..., Place]) -> None:
    place = at()
    (place.home / ".cargo" / "registry" / "src" / "x").mkdir(parents=True)
    (place.home / ".cargo" / "registry" / "src" / "x" / "lib.rs").touch()
    ordinary = ORDINARY.replace("SHOP", str(place.shop)).strip().splitlines()
    assert [command for command in ordinary if place.bash(command) != "allow"] == []


def test_what_writes_in_the_project_goes_on_unasked(at: Callable[..., Place]) -> None:
    place = at(WRITING)
    ordinary = [
        "echo x > src/c",
        "cp src/a src/c",
        "cp -r src/sub src/c",
        "mv src/a src/c",
        "mv src/sub src/c",
        "mkdir -p src/d/e",
        "touch README.md",
        "sed -i s/a/b/ src/a",
        "tee src/c < src/a",
        "cp -r src/sub lib && ls src",
        "cp -l src/a src/c",
    ]
    assert [command for command in ordinary if place.bash(command) != "allow"] == []


def test_the_tools_of_the_agents_go_by_the_same_rule(at: Callable[..., Place]) -> None:
    place = at()
    out, inside = str(place.out), str(place.shop / "src" / "a")
    assert place.claude("Read", file_path=inside) == "allow"
    assert place.claude("Grep", pattern="x", path=str(place.shop)) == "allow"
    assert place.claude("Grep", pattern="x") == "allow"
    assert place.claude("Glob", pattern="**/*.ts") == "allow"
    assert place.claude("LS", path=str(place.shop / "src")) == "allow"
    for tool, fields in (
        ("Read", {"file_path": f"{out}/a.txt"}),
        ("Read", {"file_path": "../opt/a.txt"}),
        ("Read", {"file_path": str(place.shop / "away" / "a.txt")}),
        ("Grep", {"pattern": "x", "path": out}),
        ("Grep", {"pattern": "x", "path": ".."}),
        ("Grep", {"pattern": "x", "path": "away"}),
        ("Glob", {"pattern": f"{out}/**"}),
        ("Glob", {"pattern": "../**"}),
        ("Glob", {"pattern": "*/../../opt/*"}),
        ("Glob", {"pattern": "*", "path": out}),
        ("LS", {"path": out}),
        ("NotebookRead", {"notebook_path": f"{out}/a.ipynb"}),
    ):
        assert place.claude(tool, **fields) == "ask", (tool, fields)
    assert place.claude("Read", file_path="~/.config/Signal/config.json") == "deny"


def test_the_tools_of_the_agents_do_not_write_what_agents_obey(at: Callable[..., Place]) -> None:
    place = at(GENEROUS + '[edits]\ndo = "allow"\ntool = ["Write", "Edit", "apply_patch"]\n')

    def patch(*changes: dict[str, object]) -> str:
        request = {"method": "item/fileChange/requestApproval", "params": {}, "tool_input": {"changes": changes}}
        return place.says("codex", "apply_patch", {**request, "tool_name": "apply_patch"})

    add, shop = {"type": "add"}, str(place.shop)
    assert place.claude("Write", file_path=f"{shop}/src/new.py", content="") == "allow"
    assert patch({"path": f"{shop}/src/new.py", "kind": add, "diff": ""}) == "allow"
    for name in (
        "CLAUDE.md",
        "src/AGENTS.md",
        ".mcp.json",
        "x.code-workspace",
        ".bsp/x.json",
        "doc.md",
        "GEMINI.md",
        "claude.md",
    ):
        assert place.claude("Write", file_path=f"{shop}/{name}", content="") == "ask", name
        assert place.claude("Edit", file_path=name, old_string="a", new_string="b") == "ask", name
        assert (
            patch({"path": f"{shop}/src/a", "kind": add, "diff": ""}, {"path": name, "kind": add, "diff": ""})
            == "ask"
        )
    moved = {"type": "update", "move_path": f"{shop}/.cursorrules"}
    assert patch({"path": f"{shop}/src/a", "kind": moved, "diff": ""}) == "ask"


def test_a_folder_of_the_models_choice_is_outside(at: Callable[..., Place]) -> None:
    """Codex names a folder with each command; what names no path reads that folder."""
    place = at()
    for command in (
        "ls",
        "rg -uuu key",
        "rg --files",
        "find -name '*.txt'",
        "tree",
        "du -a",
        "cat a.txt",
        "git status",
    ):
        assert place.codex(command, place.out) == "ask", command
        assert place.codex(command, place.shop / "away") == "ask", command
    assert place.codex("ls", place.shop / "src") == "allow"


def test_who_restricts_reading_restricts_it_anywhere(at: Callable[..., Place]) -> None:
    everything = '[all]\ndo = "allow"\neffect = ["read", "read_outside", "secrets"]\n'
    place = at(everything)
    commands = ("cat src/a", "cat OUT/a.txt", "rg -uuu x OUT", "ls ~")
    assert [place.bash(command) for command in commands] == ["allow"] * 4
    assert place.claude("Read", file_path=str(place.out / "a.txt")) == "allow"
    for do in ("deny", "ask", "ask twice"):
        place = at(f'{everything}[less]\ndo = "{do}"\neffect = "read"\n')
        assert {place.bash(command) for command in commands} == {"deny" if do == "deny" else "ask"}
        place = at(f'{everything}[less]\ndo = "{do}"\neffect = "read_outside"\n')
        assert place.bash("cat src/a") == "allow"
        assert place.bash("cat OUT/a.txt") != "allow"
        assert place.claude("Read", file_path=str(place.out / "a.txt")) != "allow"


def test_a_rule_says_that_it_reads_outside(at: Callable[..., Place]) -> None:
    place = at('[logs]\ndo = "allow"\neffect = ["read", "read_outside"]\npath = "/**/code/opt/**"\n')
    assert place.bash("cat OUT/a.txt") == "allow"
    assert place.claude("Read", file_path=str(place.out / "a.txt")) == "allow"
    assert place.bash("cat ~/other.txt") == "ask"
    # By its name alone a command or a tool does what it usually does, and that is reading in the project.
    place = at('[cat]\ndo = "allow"\ncommand = "cat"\n[read]\ndo = "allow"\ntool = "Read"\n')
    assert place.bash("cat src/a") == "allow"
    assert place.bash("cat OUT/a.txt") == "ask"
    assert place.claude("Read", file_path="src/a") == "allow"
    assert place.claude("Read", file_path=str(place.out / "a.txt")) == "ask"
    wrong = at('[half]\ndo = "allow"\neffect = "read_outside"\n').book.book("").problems
    assert len(wrong) == 1
    assert 'effect = ["read", "read_outside"]' in wrong[0]


def test_a_proposal_reads_no_more_than_was_asked(at: Callable[..., Place]) -> None:
    place = at()

    def proposed(command: str) -> object:
        request = {"tool_name": "Bash", "tool_input": {"command": command}}
        rule = place.book.like(place.prompt("claude", "Bash", request))
        assert not isinstance(rule, Refused)
        return rule.command, rule.effect, rule.text

    assert proposed("cat src/a") == (("cat",), ("read",), "")
    assert proposed(f"cat {place.out}/a.txt") == ((), (), f"cat {place.out}/a.txt")
    request = {"tool_name": "Read", "tool_input": {"file_path": f"{place.out}/a.txt"}}
    rule = place.book.like(place.prompt("claude", "Read", request))
    assert not isinstance(rule, Refused)
    assert (rule.effect, rule.path) == (("read", "read_outside"), (f"{place.out}/a.txt",))


def test_without_a_project_everything_is_outside(at: Callable[..., Place]) -> None:
    place = at()
    book = Rulebook(
        place.book.files.home, place.bodies, {"claude": CLAUDE}.get, lambda: 0, lambda _: str(place.home)
    )
    assert book.test("ls", str(place.home), "claude").do == "ask"
    assert book.test("cat notes.txt", str(place.home), "claude").do == "ask"
    assert book.test("echo hi", str(place.home), "claude").do == "allow"
