"""The project is the session's, never the folder that a model names in one request."""

from __future__ import annotations

import json
from pathlib import Path

from yourcall.agents.codex.agent import CODEX
from yourcall.daemon.rules.book import Rulebook
from yourcall.daemon.rules.lazy_rules import LazyRules
from yourcall.model.prompts import Option, Prompt, Question

QUESTION = Question("decision", "?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))


class _Empty:
    def body(self, id: str, /) -> bytes | None:
        del id
        return None

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        del open_only, limit, before
        return []


def test_a_request_in_a_folder_of_the_models_choice_is_outside(tmp_path: Path) -> None:
    shop, other, home = (tmp_path / name for name in ("shop", "other", "yourcall"))
    for folder in (shop / ".git", other, home):
        folder.mkdir(parents=True)
    (home / "rules.toml").write_text('[in]\ndo = "allow"\neffect = ["read", "write_inside"]\n')
    book = Rulebook(home, _Empty(), {"codex": CODEX}.get, lambda: 0, lambda _: str(shop))
    request = json.dumps(
        {"method": "item/commandExecution/requestApproval", "params": {"command": "touch x"}, "tool_name": "Bash"}
    ).encode()
    for number, (cwd, allowed) in enumerate([(other, False), (shop, True)]):
        prompt = Prompt(
            f"p{number}",
            "permission",
            "codex",
            "s1",
            str(cwd),
            "touch x",
            1.0,
            questions=(QUESTION,),
            link="socket",
        )
        assert (book.told(prompt, request, 1.0).answer is not None) is allowed


def test_a_folder_that_cannot_be_one_is_nobodys(tmp_path: Path) -> None:
    """A request may name anything as its folder; then it is asked, and nothing breaks."""
    (tmp_path / "rules.toml").write_text('[in]\ndo = "allow"\neffect = ["read"]\n')
    book = Rulebook(tmp_path, _Empty(), {"codex": CODEX}.get, lambda: 0, lambda _: str(tmp_path))
    for cwd in ("\0", "/x\0y", "", "x" * 10_000):
        assert book.test("cat notes.txt", cwd, "codex").do == "ask"


def test_a_request_cannot_leave_the_rules_of_its_project_by_naming_another_folder(tmp_path: Path) -> None:
    """With rules in the project alone, a request that names a folder elsewhere was not even held against them."""
    shop, other, home = (tmp_path / name for name in ("shop", "other", "yourcall"))
    for folder in (shop / ".yourcall", shop / "src", other, home):
        folder.mkdir(parents=True)
    (shop / ".yourcall" / "rules.toml").write_text('[no-touching]\ndo = "deny"\ncommand = "touch"\n')
    request = json.dumps(
        {"method": "item/commandExecution/requestApproval", "params": {"command": "touch x"}, "tool_name": "Bash"}
    ).encode()
    (tmp_path / "link").symlink_to(shop / "src")
    for cwd, started_in in ((shop, shop), (other, shop), (tmp_path / "link", tmp_path / "link")):
        rules = LazyRules(home, _Empty(), {"codex": CODEX}.get, lambda: 0, lambda _, where=started_in: str(where))
        prompt = Prompt(
            "p1", "permission", "codex", "s1", str(cwd), "touch x", 1.0, questions=(QUESTION,), link="socket"
        )
        answer = rules.told(prompt, request, 1.0).answer
        assert answer is not None, cwd
        assert answer.choices == {"decision": ("deny",)}


def test_a_repository_within_a_project_does_not_leave_the_rules_of_the_project(tmp_path: Path) -> None:
    """A submodule has a .git of its own: a session started in it heard nothing of the deny around it."""
    shop, lib, home = tmp_path / "sh*p", tmp_path / "sh*p" / "libs" / "lib", tmp_path / "yourcall"
    for folder in (shop / ".yourcall", shop / ".git", lib / ".git", lib / ".yourcall", lib / "keys", home):
        folder.mkdir(parents=True)
    (home / "rules.toml").write_text('[all]\ndo = "allow"\neffect = ["read", "write_inside", "delete"]\n')
    (shop / ".yourcall" / "rules.toml").write_text(
        '[no-touching]\ndo = "deny"\ncommand = "touch"\n[keys]\ndo = "deny"\npath = "libs/lib/keys/**"\n'
    )
    (lib / ".yourcall" / "rules.toml").write_text(
        '[no-ls]\ndo = "deny"\ncommand = "ls"\n[mine]\ndo = "ask"\npath = "x"\n'
    )
    book = Rulebook(home, _Empty(), {"codex": CODEX}.get, lambda: 0)
    for where, command, said in (
        (lib, "touch x", "deny"),
        (lib, "ls", "deny"),
        (lib, "cat keys/a", "deny"),
        (lib, "rm -r ../lib/keys", "deny"),
        (lib, "cat x", "ask"),
        (lib, "cat y", "allow"),
        (shop, "ls", "allow"),
        (shop, "touch x", "deny"),
        (shop, "cat x", "allow"),
        (shop, "cat libs/lib/keys/a", "deny"),
        (shop, "rm -r libs", "deny"),
    ):
        assert book.test(command, str(where), "codex").do == said, (where, command)
    assert {rule.name for rule in book.book(str(lib)).rules} == {"all", "no-touching", "keys", "no-ls", "mine"}
    # A mistake in any of them may hide a restriction.
    (shop / ".yourcall" / "rules.toml").write_text("[no")
    assert book.test("cat y", str(lib), "codex").do == "ask"


def test_a_project_that_is_called_by_a_link_is_that_project(tmp_path: Path) -> None:
    """`project = "~/shop"`, and ~/shop is a link to another disk: such a rule was about no project at all."""
    disk, home = tmp_path / "disk", tmp_path / "yourcall"
    for folder in (disk / "shop" / ".git", disk / "other" / ".git", home):
        folder.mkdir(parents=True)
    (tmp_path / "shop").symlink_to(disk / "shop")
    (tmp_path / "work").symlink_to(disk)
    for project in ("shop", "shop/", "work/shop", "work/sh*", "work/*", "work/**", "disk/shop"):
        rules = f'[no]\ndo = "deny"\ncommand = "touch"\nproject = "{tmp_path}/{project}"\n'
        (home / "rules.toml").write_text(rules)
        book = Rulebook(home, _Empty(), {"codex": CODEX}.get, lambda: 0)
        assert book.test("touch x", str(tmp_path / "shop"), "codex").do == "deny", project
        elsewhere = book.test("touch x", str(disk / "other"), "codex").do
        assert elsewhere == ("deny" if project in ("work/*", "work/**") else "ask"), project
    (home / "rules.toml").write_text(f'[yes]\ndo = "allow"\ncommand = "touch"\nproject = "{tmp_path}/shop"\n')
    book = Rulebook(home, _Empty(), {"codex": CODEX}.get, lambda: 0)
    assert book.test("touch x", str(disk / "shop"), "codex").do == "allow"
    (tmp_path / "shop").unlink()
    (tmp_path / "shop").symlink_to(disk / "other")
    assert book.test("touch x", str(disk / "shop"), "codex").do == "ask"


def test_what_restricts_in_a_folder_does_so_in_all_that_lies_in_it(tmp_path: Path) -> None:
    """A folder of projects, and a folder within one, are no project: a deny for them stopped nothing."""
    home, mono = tmp_path / "yourcall", tmp_path / "work" / "mono"
    for folder in (mono / ".git", mono / "pkg" / "src", mono / "other", home):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(mono / "pkg")
    for project, in_pkg, in_other in (
        ("work", "deny", "deny"),
        ("wo?k", "deny", "deny"),
        ("work/mono/pkg", "deny", "ask"),
        ("link", "deny", "ask"),
        ("wor", "ask", "ask"),
        ("wo\\u0000rk", "ask", "ask"),
        ("wo\\u0000rk/*", "ask", "ask"),
    ):
        where = f'project = "{tmp_path}/{project}"\n'
        (home / "rules.toml").write_text(f'[no]\ndo = "deny"\ncommand = "touch"\n{where}')
        book = Rulebook(home, _Empty(), {"codex": CODEX}.get, lambda: 0)
        assert book.test("touch x", str(mono / "pkg" / "src"), "codex").do == in_pkg, project
        assert book.test("touch x", str(mono / "other"), "codex").do == in_other, project
        (home / "rules.toml").write_text(f'[yes]\ndo = "allow"\ncommand = "touch"\n{where}')
        book = Rulebook(home, _Empty(), {"codex": CODEX}.get, lambda: 0)
        assert book.test("touch x", str(mono / "pkg"), "codex").do == "ask", project
