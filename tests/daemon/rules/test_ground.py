"""Where paths really lead, and which folder is the project: on a real disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from yourcall.daemon.rules.paths import MOST_PATHS, facts_of, project_of
from yourcall.daemon.rules.patterns import MOST_MATCHES
from yourcall.model.action import Action
from yourcall.rules.action_parts import parts
from yourcall.rules.effects.parts import settled
from yourcall.rules.policy import decide
from yourcall.rules.rule import RequestContext, Rule, problem
from yourcall.rules.shell.items import Unread


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "shop" / "src").mkdir(parents=True)
    (home / "shop" / ".git").mkdir()
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("secret")
    return home


def effects(home: Path, command: str, cwd: str = "shop") -> str:
    found = parts(Action("Bash", "command", command=command))
    assert not isinstance(found, Unread)
    where = home / cwd
    facts = facts_of(found, str(where), project_of(str(where), str(home)), str(home))
    return " ".join(sorted(frozenset().union(*(settled(part, facts).effects for part in found))))


def opened(home: Path, command: str) -> list[str]:
    """The files of secrets that it comes upon."""
    found = parts(Action("Bash", "command", command=command))
    assert not isinstance(found, Unread)
    facts = facts_of(found, str(home / "shop"), str(home / "shop"), str(home))
    return [path for part in found for path in settled(part, facts).opens]


def test_the_project_is_the_folder_with_the_mark_and_never_the_home(home: Path) -> None:
    shop = home / "shop"
    assert project_of(str(shop / "src"), str(home)) == str(shop)
    assert project_of(str(home), str(home)) == ""
    assert project_of(str(home.parent), str(home)) == ""
    assert project_of("/", str(home)) == ""
    assert project_of("src", str(home)) == ""
    (home / ".git").mkdir()  # dotfiles under git: still not a project that all of the home lies in
    (home / "plain" / "deep").mkdir(parents=True)
    assert project_of(str(home / "plain" / "deep"), str(home)) == str(home / "plain" / "deep")
    link = home / "link"
    link.symlink_to(shop / "src")
    assert project_of(str(link), str(home)) == str(shop)


def test_links_are_followed(home: Path) -> None:
    shop = home / "shop"
    (shop / "out").symlink_to(home)
    (shop / "key").symlink_to(home / ".ssh" / "id_rsa")
    (shop / "loop").symlink_to(shop / "loop")
    assert effects(home, "touch src/x") == "write_inside"
    assert effects(home, "touch out/x") == "write_outside"
    assert effects(home, "touch src/../out/x") == "write_outside"
    assert effects(home, "cd out && touch x") == "unknown write_outside"
    assert effects(home, "cat key") == "read read_outside secrets"
    assert effects(home, "cat src") == "read"
    assert effects(home, "echo x > out/.bashrc") == "write_outside"
    assert effects(home, "cd src && touch ../x") == "write_inside"
    (shop / "a" / "b").mkdir(parents=True)
    (shop / "near").symlink_to(shop / "a" / "b")
    assert effects(home, "cd near/../.. && touch x") == "unknown write_inside write_outside"  # a shell's own `..`
    assert effects(home, "cat near/../../.ssh/id_rsa") == "read read_outside secrets"


def test_patterns_are_what_they_match(home: Path) -> None:
    shop = home / "shop"
    (shop / "src" / "a.py").touch()
    assert effects(home, "cat src/*.py") == "read"
    (shop / "src" / "b.py").symlink_to(home / ".ssh" / "id_rsa")
    assert effects(home, "cat src/*.py") == "read read_outside secrets"
    (shop / ".env").touch()
    assert effects(home, "cat .e*") == "read secrets"
    (shop / "-rf").touch()
    assert effects(home, "sort *") == "read unknown"  # a file that is an option to whoever gets it
    assert effects(home, "sort ./*") == "read"
    assert opened(home, "sort ./*") == [str(shop / ".env")]
    (shop / "src" / "-delete").touch()
    assert effects(home, "cd src && sort *") == "read unknown"
    (shop / "lib" / "-o").mkdir(parents=True)
    (shop / "lib" / "-o" / "x").touch()
    assert effects(home, "cd lib && sort */x") == "read unknown"  # sort -o/x
    assert effects(home, "cd lib && sort ./*/x") == "read"
    (shop / "src" / "-delete").unlink()
    for n in range(MOST_MATCHES + 1):
        (shop / "src" / f"{n}.txt").touch()
    assert effects(home, "cat src/*.txt") == "read unknown"


def test_outside_of_a_project_nothing_is_inside(home: Path) -> None:
    assert effects(home, "touch x", cwd=".") == "write_outside"
    assert effects(home, "rm x", cwd=".") == "delete write_outside"


def test_a_pattern_means_what_any_shell_would_find(home: Path) -> None:
    shop = home / "shop"
    (shop / ".env").touch()
    (shop / "src" / ".env").touch()
    (shop / "src" / "a.py").touch()
    for pattern in (".[^a]nv", ".[[:lower:]]nv", ".[!x]nv", ".e[m-o]v", ".??v", "s*/.e*", ".E*"):
        assert effects(home, f"cat {pattern}") == "read secrets", pattern
    assert effects(home, "cat *") == "read"
    assert opened(home, "cat *") == [str(shop / ".env")]  # nobody named it
    assert effects(home, "cat .[e]n[v]") == "read read_outside secrets"  # `..`, too, could be meant
    assert effects(home, "cat **/.en?") == "read unknown"  # zsh looks below all folders
    assert effects(home, "wc -l src/*.py") == "read"
    (shop / "[id]").mkdir()
    (shop / "[id]" / ".env").touch()
    assert effects(home, "cat .e*", cwd="shop/[id]") == "read secrets"
    assert effects(home, "cd '[id]' && cat .e*") == "read secrets"
    (shop / "--output=x").touch()
    assert effects(home, "git log [-]*") == "read unknown"
    assert effects(home, "git log -- *") == "read unknown"


def test_git_in_a_folder_that_is_itself_a_repository_is_not_known(home: Path) -> None:
    shop = home / "shop"
    odd = shop / "src" / "r"
    assert effects(home, "git -C src status") == "read"
    for name in ("objects", "refs", "deep"):
        (odd / name).mkdir(parents=True)
    (odd / "HEAD").write_text("ref: refs/heads/main")
    for command in ("git -C src/r status", "cd src/r && git status", "git -C src/r/deep log"):
        assert effects(home, command) == "read unknown write_outside", command
    assert effects(home, "git status", cwd="shop/src/r") == "read unknown write_outside"
    assert effects(home, "git -C src status") == "read"
    (odd / ".git").mkdir()
    assert effects(home, "git -C src/r status") == "read unknown write_outside"  # an empty one is none to git
    for name in ("objects", "refs"):
        (odd / ".git" / name).mkdir()
    (odd / ".git" / "HEAD").write_text("ref: refs/heads/main")
    assert effects(home, "git -C src/r status") == "read"
    made = "mkdir -p q/objects q/refs && echo x > q/HEAD && echo y > q/config && git -C q status"
    assert "unknown" in effects(home, made)


def test_what_grows_first_may_be_in_the_way(home: Path) -> None:
    for command in (
        "git clone https://example.com/x d && echo y > d/link",
        "cp -r src d && cat d/link",
        "mv src d && echo y > d/link",
        "git checkout other && cat notes",
        "git clone https://example.com/x d && git -C d/sub status",
    ):
        assert "unknown" in effects(home, command), command
    for command in (
        "git clone https://example.com/x d && cd d && ls",
        "git clone https://example.com/x d && cat README.md",
        "git checkout main && git pull && git log -3 -- src",
        "mkdir d && echo y > d/a && cat d/a",
    ):
        assert "unknown" not in effects(home, command), command


def test_a_command_that_names_too_much_is_not_followed(home: Path) -> None:
    many = " ".join(f"f{n}" for n in range(MOST_PATHS + 1))
    assert effects(home, f"cat {many}") == "read unknown"
    assert effects(home, f"cat {' '.join(['f'] * 900)}") == "read"


def test_a_program_runs_in_the_project_or_is_not_known(home: Path) -> None:
    (home / "other").mkdir()
    found = parts(Action("Bash", "command", command="npm test"))
    assert not isinstance(found, Unread)
    root = project_of(str(home / "shop"), str(home))
    for cwd, want in (("shop/src", "unknown"), ("other", "unknown write_outside")):
        facts = facts_of(found, str(home / cwd), root, str(home))
        assert " ".join(sorted(settled(found[0], facts).effects)) == want


def test_what_depends_on_who_asks_is_not_followed(home: Path) -> None:
    for path in ("/proc/self/cwd/x", "/proc/1/root/etc/x", "/dev/fd/3", "/proc/./self/fd/3"):
        assert effects(home, f"cat {path}") == "read unknown", path
    assert effects(home, "cat /proc/self/status") == "read read_outside"
    assert effects(home, "cat /proc/cpuinfo") == "read"


def test_where_nothing_is_written(home: Path) -> None:
    for name in ("null", "stdout", "stderr"):
        assert effects(home, f"echo x > /dev/{name}") == ""


def test_a_terminal_is_written_to(home: Path) -> None:
    """What it is told (`\\e]52;…`) lies on the clipboard then, or is typed by it."""
    assert effects(home, "echo x > /dev/tty") == "write_outside"


def test_a_star_is_never_the_folder_above(home: Path) -> None:
    (home / "shop" / "build").mkdir()
    (home / "shop" / "build" / ".hidden").touch()
    assert effects(home, "rm -rf build/*") == "delete"
    assert effects(home, "rm -rf build/.*") == "delete write_outside"  # older shells mean `..` by it, too


def test_the_project_itself_is_more_than_its_files(home: Path) -> None:
    assert effects(home, "rm -rf src") == "delete"
    assert effects(home, "rm -rf ../shop") == "delete write_outside"
    assert effects(home, "find . -name '*.pyc' -delete") == "delete read"


def test_a_stream_is_the_file_it_was_given(home: Path) -> None:
    """`2< f > /dev/stderr` opens the second stream anew, to write: until now it counted as reading f."""
    assert effects(home, "cat src/x 2< src/y > /dev/stderr") == "read write_outside"
    assert effects(home, "cat src/x 2< src/y > /dev/./stderr") == "read write_outside"
    assert effects(home, "cat src/x 2< src/y > ../../../../../../../../../../dev/stderr") == "read write_outside"
    assert effects(home, "cat src/x < src/y > /dev/stdin") == "read write_outside"
    assert effects(home, "cat src/x 2< src/y > /dev/null") == "read"
    assert effects(home, "cat src/x > /dev/stderr") == "read"
    assert effects(home, "cat /dev/stdin < src/y") == "read"


def test_what_a_pattern_copies_keeps_its_name(home: Path) -> None:
    """`cp vendor/.m* .` writes .mcp.json, which counted as writing in the project."""
    vendor = home / "shop" / "vendor"
    vendor.mkdir()
    for name in (".mcp.json", "lefthook.yml", "data", "a.py"):
        (vendor / name).write_text("x")
    (vendor / "mise.toml").symlink_to(vendor / "data")
    for pattern in (".m*", "?mcp.json", "[.]mcp.json", "left*", "mise*", "*.toml"):
        assert effects(home, f"cp vendor/{pattern} .") == "read write_inside write_outside", pattern
    assert effects(home, "cp vendor/*.py src") == "read write_inside"
    assert effects(home, "cp src/*.py vendor") == "read write_inside"


def test_a_link_that_is_made_first_leads_anywhere(home: Path) -> None:
    """Its target is meant from where it lies: `sub/l` leads to `sub/out/x`, and that out of the project."""
    sub = home / "shop" / "sub"
    sub.mkdir()
    (sub / "out").symlink_to(home)
    assert "write_outside" in effects(home, "ln -s out/x sub/l && echo y > sub/l")
    assert effects(home, "ln -s a sub/l && ls src") == "read write_inside"


def test_a_repository_in_the_project_is_no_remote(home: Path) -> None:
    """`git push r main` runs the hooks that lie in r, if r is a folder; so does r for r.git, or for a file that
    names one."""
    shop = home / "shop"
    (shop / "vendor" / "x.git").mkdir(parents=True)
    (shop / "r.git").mkdir()
    (shop / "named").write_text("gitdir: vendor/x.git")
    pushed = "network unknown write_outside"
    for words in ("r main", "r.git main", "named", "vendor/x main", "vendor/x.git", "-u r main", "-o x r main"):
        assert effects(home, f"git push {words}") == pushed, words
    for command in ("git fetch r", "git fetch --depth 1 r", "git fetch --multiple origin r", "git pull r main"):
        assert "unknown" in effects(home, command), command
    assert "unknown" in effects(home, "git ls-remote r")
    assert "unknown" in effects(home, "cp -r vendor/x.git q && git push q main")
    assert "unknown" in effects(home, "ln -s vendor/x.git q && git push q main")
    for words in ("", "origin main", "-u origin r", "origin vendor", "--force-with-lease=x origin r"):
        assert "unknown" not in effects(home, f"git push {words}"), words
    assert effects(home, "git pull && git push origin main") == "network write_inside"
    assert effects(home, "git fetch . main") == "network write_inside"


def said(home: Path, command: str, *rules: Rule) -> str:
    asked = Action("Bash", "command", command=command)
    found = parts(asked)
    assert not isinstance(found, Unread)
    shop = str(home / "shop")
    facts = facts_of(found, shop, shop, str(home))
    return decide(rules, asked, facts, RequestContext(root=shop, home=str(home))).do


def test_a_deny_finds_what_is_called_so_and_what_it_leads_to(home: Path) -> None:
    """`data` is a link to another disk: a deny for `data/**` stopped nothing, for no path began so any more."""
    (home / "disk").mkdir()
    (home / "shop" / "data").symlink_to(home / "disk")
    (home / "shop" / "other").symlink_to(home / "disk")
    reading = Rule("reading", "allow", effect=("read",))
    for pattern in ("data/**", "data/", f"{home}/shop/data/**", f"{home}/disk/", "~/disk/**", "data/x", "data/*"):
        deny = Rule("no", "deny", path=(pattern,))
        assert problem(deny) == ""
        assert said(home, "cat data/x", reading, deny) == "deny", pattern
        assert said(home, "cat src/x", reading, deny) == "allow", pattern
    assert said(home, "cat other/x", reading, Rule("no", "deny", path=("~/disk/**",))) == "deny"
    assert said(home, "cat src/../data/x", reading, Rule("no", "deny", path=("data/**",))) == "deny"
    # What is allowed is what it leads to, as ever.
    assert said(home, "cat data/x", Rule("yes", "allow", effect=("read",), path=("data/**",))) == "ask"
    assert said(home, "cat src/x", Rule("yes", "allow", effect=("read",), path=("src/",))) == "allow"


@pytest.mark.parametrize("pattern", ["../other/**", "src/../keys/*", "$HOME/.ssh/**", "~root/x", "${HOME}/x"])
def test_a_path_that_would_stop_nothing_is_a_mistake(pattern: str) -> None:
    assert "is none" in problem(Rule("no", "deny", path=(pattern,)))


def test_what_is_denied_does_not_go_with_the_folder_around_it(home: Path) -> None:
    """`rm -r src` took `src/keys` along, which a rule denies to touch."""
    (home / "shop" / "src" / "keys").mkdir()
    (home / "shop" / "link").symlink_to(home / "shop" / "src")
    allow = Rule("yes", "allow", effect=("delete", "write_inside", "read"))
    for pattern in ("src/keys/**", "src/keys/", "src/keys/a*", "~/shop/src/keys/*"):
        deny = Rule("no", "deny", path=(pattern,))
        for command in ("rm -r src", "rm -r src/", "rm -r ./src", "mv src old", "find src -delete", "rm -r link/"):
            assert said(home, command, allow, deny) == "deny", (pattern, command)
        for command in ("rm -r src/other", "rm srcs", "ls src", "touch src/x", "mv a b"):
            assert said(home, command, allow, deny) == "allow", (pattern, command)


def test_a_deny_for_a_path_finds_it_in_capitals_too(home: Path) -> None:
    """On a Mac `KEYS/x` is `keys/x`; an allow goes by the letter."""
    reading, deny = Rule("reading", "allow", effect=("read",)), Rule("no", "deny", path=("keys/**",))
    assert said(home, "cat KEYS/x", reading, deny) == "deny"
    assert said(home, "cat key/x", reading, deny) == "allow"
    deleting = Rule("yes", "allow", effect=("delete",), path=("src/**",))
    assert (
        said(home, "rm -r SRC", replace(deleting, path=("SRC/**",)), Rule("no", "deny", path=("src/a/*",)))
        == "deny"
    )
    assert said(home, "rm -r SRC/x", deleting) == "ask"


def test_a_folder_that_is_copied_into_may_hold_a_link(home: Path) -> None:
    """`cp -r a out` writes out/a/f, which a project can bring as a link: ~/.bashrc was written in the project."""
    shop = home / "shop"
    (shop / "a" / "deep").mkdir(parents=True)
    (shop / "a" / "deep" / "f").write_text("evil")
    (shop / "out" / "a" / "deep").mkdir(parents=True)
    assert effects(home, "cp -r a out") == "read write_inside"
    assert effects(home, "cp -r a new") == "read write_inside"
    (shop / "out" / "a" / "deep" / "f").symlink_to(home / ".bashrc")
    assert "write_outside" in effects(home, "cp -r a out")
    assert "write_outside" in effects(home, "cp -r a/deep out/a")
    assert "write_outside" in effects(home, "cp -r ? out")
    assert effects(home, "cp -r src out") == "read write_inside"
    assert effects(home, "cp -r a new") == "read write_inside"


def test_find_deletes_what_links_lead_to_only_by_leave(home: Path) -> None:
    assert effects(home, "find src -name x -delete") == "delete read"
    for command in ("find -L src -name x -delete", "find src -follow -delete"):
        assert "write_outside" in effects(home, command), command
