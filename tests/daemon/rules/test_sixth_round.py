# ruff: noqa: E501
"""The sixth round of attacks, against the two rules that the how-to recommends and a few more generous ones: what got
through, family by family, everything else that was tried, and ordinary work beside it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hostile_sixth import HOSTILE, ORDINARY
from test_third_round import START, Project

from yourcall.daemon.rules.paths import files_summed

WRITING = START + '[writing]\ndo = "allow"\neffect = ["read", "write_inside"]\n'
DENIES = """
[no-rm]
do = "deny"
command = "rm"
[no-push]
do = "deny"
command = "git push"
[no-delete]
do = "deny"
effect = "delete"
[no-network]
do = "deny"
effect = "network"
[only-here]
do = "deny"
effect = "write_outside"
"""


def hostile(project: Project) -> Project:
    """A repository whose settings run a program, and folders with secrets in them, came with the project."""
    project.trapped()
    for folder in ("bare/objects", "bare/refs", "sub", "other"):
        (project.shop / folder).mkdir(parents=True)
    (project.shop / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("evil.sh", "run.sh", "list", "args", "x.tgz", "x.zip", "notes.txt", "sub/.env", "sub/server.key"):
        (project.shop / name).write_text("text\n")
    (project.home / "other").mkdir()
    (project.home / "other" / "notes.txt").write_text("text\n")
    (project.shop / "sums").write_text("d41d8cd98f00b204e9800998ecf8427e  ../.ssh/id_ed25519\n")
    (project.shop / "up").symlink_to("..")
    (project.shop / "keydir").symlink_to(project.home / ".ssh")
    return project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Project(tmp_path)


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Project(tmp_path, WRITING)


@pytest.fixture
def denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Project(tmp_path, START + DENIES)


def test_nothing_of_the_sixth_round_is_allowed(project: Project) -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 1_500
    hostile(project)
    assert [command for command in HOSTILE if project.bash(command) == "allow"] == []


def test_ordinary_work_needs_no_question(project: Project) -> None:
    assert len(set(ORDINARY)) == len(ORDINARY) >= 150
    for name, text in (("data.csv", "a,b\n"), ("notes.txt.gz", ""), ("x.tgz", ""), ("x.zip", ""), ("lib/x.py", ""),
                       ("pyproject.toml", ""), ("Makefile", ""), ("SHA256SUMS", f"{'a' * 64}  a.py\n")):  # fmt: skip
        (project.shop / name).write_text(text)
    assert [command for command in ORDINARY if project.bash(command) != "allow"] == []


def test_a_pattern_does_not_become_a_repository(project: Project) -> None:
    """`git -C bar? diff` went to a folder that nobody had looked at, and ran what its settings name."""
    hostile(project)
    for folder in (
        "bar?",
        "./bar?",
        "[b]are",
        "bare*",
        "*are",
        "bar?/.",
        "src/../bar?",
        "$x",
        '"$x"',
        "{a,bare}",
        "''",
    ):
        for verb in ("diff", "status", "log -p"):
            assert project.bash(f"git -C {folder} {verb}") != "allow", (folder, verb)
            assert project.bash(f"bash -c 'git --no-pager -C {folder.replace(chr(39), '')} {verb}'") != "allow"
    assert project.bash("git -C src status") == "allow"


def test_what_env_takes_away_is_one_word(project: Project) -> None:
    """Of `env -u ./*.sh ls`, the second file was the program that ran."""
    hostile(project)
    for name in (
        "./*.sh",
        "*.sh",
        "$x",
        '"$x"',
        "{a,./evil.sh}",
        "a{1,2}",
        "$(echo a ./evil.sh)",
        "./*",
        "''",
        "./x",
    ):
        for option in ("-u", "--unset", "-i -u", "-u x -u"):
            assert project.bash(f"env {option} {name} ls") != "allow", (option, name)
    for command in ("env A=* ls", "env LC_ALL=C* ls", "env LC_ALL=$x ls"):
        assert project.bash(command) != "allow", command
    for command in ("env -u LC_ALL ls", "env -i LC_ALL=C ls", "env LC_ALL=C sort a.py"):
        assert project.bash(command) == "allow", command


@pytest.mark.parametrize("reads", ["grep -r A", "grep -d recurse A", "rg -. A", "rg -uu A", "egrep -R A", "rg A"])
def test_a_folder_that_find_hands_on_is_read_with_all_in_it(project: Project, reads: str) -> None:
    """Only the names that `find` looks for were held against what counts as a secret."""
    hostile(project)
    for found in ("-name sub", "-name 'su*'", "-maxdepth 1 -type d -name 's*'", "-name '*'"):
        for handed in (f"-exec {reads} {{}} +", f"-exec {reads} {{}} \\;", f"-print0 | xargs -0 {reads}"):
            assert project.bash(f"find . {found} {handed}") != "allow", (found, handed)
    assert project.bash(f"find src -name deep -exec {reads} {{}} +") != "allow" or "R" not in reads
    assert project.bash("find src -name deep -exec grep -r A {} +") == "allow"


def test_a_search_that_is_handed_nothing_searches_everything(project: Project) -> None:
    """`find . -name nothing | xargs grep -r x` runs `grep -r x`."""
    for handed in (
        "find . -name nothing -print0 | xargs -0",
        "find src -name deep | xargs",
        "grep -rl nothing src | xargs",
    ):
        for reads in ("grep -r K", "grep -rn K", "rg -. K", "rg -uu K", "grep -d recurse K"):
            assert project.bash(f"{handed} {reads}") == "ask", (handed, reads)
    for command in (
        "rg -l K src | xargs rg x",
        "find . -name '*.py' | xargs grep -n K",
        "find src -name deep -exec grep -r K {} +",
    ):
        assert project.bash(command) == "allow", command


def test_of_several_files_only_the_first_is_an_options_value(project: Project) -> None:
    """`rg K -g key*` became `rg K -g key.gz key.txt`: what stands behind the value is read, a link as well."""
    hostile(project)
    (project.shop / "key.gz").symlink_to(project.home / ".ssh" / "id_ed25519")
    for command in ("rg K -g key*", "rg K --glob key*", "rg --iglob k* K", "diff -x key* a.py b.py", "du --exclude key* src",
                    "tree -I key*", "fd K -E key*", "ag K --ignore key*", "rg -e su* -uu", "grep -r -e su*", "rg -A s* K lib"):  # fmt: skip
        assert project.bash(command) != "allow", command
    for command in (
        "rg K -g 'key*' src",
        "rg K -g '*.py'",
        "grep -rn K src --include=*.py",
        "diff -x '*.o' a.py b.py",
    ):
        assert project.bash(command) == "allow", command


def test_a_pattern_that_some_shell_leaves_out_has_the_folder_itself_searched(project: Project) -> None:
    (project.shop / "server.key").write_text("K")
    for name in ("HEAD1", "src/.hidden"):
        (project.shop / name).write_text("x")
    for pattern in ("HEAD^?", "head?", "?idden", "[H]EAD2", "s#x", "nothing*", "SRC/*.py"):
        assert project.bash(f"rg K {pattern}") == "ask", pattern
        assert project.bash(f"grep -r K {pattern}") == "ask", pattern
    for pattern in ("src/*.py", "HEAD?", "a*", "src/?.py"):
        assert project.bash(f"rg K {pattern}") == "allow", pattern


def test_a_folder_that_is_not_there_may_be_another(project: Project) -> None:
    """`cd HOME`, `cd x`: by CDPATH, or where the shell takes names of variables for folders."""
    for command in ("cd HOME && cat other/notes.txt", "x=~; cd x; cat other/notes.txt", "cd nothere; cat a.py"):
        assert project.bash(command) == "ask", command
    for command in ("cd src && cat a.py", "cd src/deep; ls", "(cd lib && ls)"):
        assert project.bash(command) == "allow", command


def test_what_is_written_is_not_left_to_a_pattern(writer: Project) -> None:
    """Where `*.zz` finds nothing and is left out, `cp a.py CLAUDE.md *.zz` writes CLAUDE.md."""
    for command in ("cp a.py CLAUDE.md *.zz", "cp a.py .mcp.json x*", "cp a.py b.py l?b"):
        assert writer.bash(command) != "allow", command
    assert writer.bash("cp *.py lib") == "allow"


def test_a_folder_that_is_made_first_is_there(writer: Project) -> None:
    for command in ("mkdir -p new/deep && cd new && ls", "mkdir new; cd new; touch x"):
        assert writer.bash(command) == "allow", command


def test_a_list_of_sums_names_files(project: Project) -> None:
    """`md5sum -c list` told whether a file elsewhere holds what somebody guessed."""
    hostile(project)
    for sums in ("sums", "< sums", "- < sums", "/dev/stdin < sums", "<(cat sums)", "nothere", "*ums", "../sums"):
        for program in ("md5sum -c", "sha256sum --check", "b2sum -wc", "cksum -c --quiet"):
            assert project.bash(f"{program} {sums}") != "allow", (program, sums)
    (project.shop / "sums").write_text(f"{'a' * 64}  a.py\n{'b' * 64} *src/a.py\nSHA256 (b.py) = {'c' * 64}\n")
    assert project.bash("sha256sum -c sums") == "allow"
    assert project.bash("cd src && sha256sum -c ../sums") == "allow"
    for line in ("../other/x", ".env", "~/x", str(project.home / "x")):
        (project.shop / "sums").write_text(f"{'a' * 64}  {line}\n")
        assert project.bash("sha256sum -c sums") == (
            "allow" if line == "~/x" else "deny" if "env" in line else "ask"
        )


def test_what_a_line_of_sums_may_mean(tmp_path: Path) -> None:
    sums = tmp_path / "sums"
    for text, names in (
        (f"{'a' * 32}  x\r\n", {"x", "x\r", " x\r", " x"}),
        (f"{'a' * 32}   x\n", {"x", " x", "  x"}),
        (f"{'a' * 32} *x\n# y\n\n", {"x", "*x"}),
        ("MD5 (a) b) = 0\n", {"a) b"}),
    ):
        sums.write_text(text, newline="")
        assert {each.strip() for each in names} <= {each.strip() for each in files_summed(str(sums)) or ()}, text
    for unsure in (f"\\{'a' * 32}  x\\ny\n", "not a sum\n", " " + "a" * 32 + "  x\n"):
        sums.write_text(unsure)
        assert files_summed(str(sums)) is None, unsure


def test_a_list_that_is_written_first_is_not_known(writer: Project) -> None:
    (writer.shop / "sums").write_text(f"{'a' * 32}  a.py\n")
    assert writer.bash("md5sum -c sums") == "allow"
    assert writer.bash("sort b.py > sums; md5sum -c sums") == "ask"


@pytest.mark.parametrize("takes", ["add .", "add -A", "add --all", "stage .", "add sub", "add -N ."])
def test_what_git_takes_up_it_shows_later(writer: Project, takes: str) -> None:
    """`git add . && git diff --cached` showed every key that no ignore file names."""
    assert writer.bash("git add .") == "allow"  # what git ignores stays out
    (writer.shop / "sub").mkdir()
    (writer.shop / "sub" / "server.key").write_text("K")
    assert writer.bash(f"git {takes}") == "ask"
    assert writer.bash("git add src") == "allow"
    assert writer.bash("git add -u") == "allow"
    if takes != "add sub":
        below = takes in ("add .", "stage .", "add -N .")
        assert writer.bash(f"cd src && git {takes}") == ("allow" if below else "ask")
    (writer.shop / ".ignore").write_text("*.key\n")  # not git's
    assert writer.bash(f"git {takes}") == "ask"
    (writer.shop / ".gitignore").write_text(".env\nsub/server.key\n")
    assert writer.bash(f"git {takes}") == "allow"
    (writer.shop / ".gitignore").write_text(".env\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "add", "-f", "sub/server.key"], check=True, cwd=writer.shop, env=clean)
    assert writer.bash(f"git {takes}") == "allow"  # git has it already


def test_what_is_written_where_git_runs_hooks_from_is_obeyed(writer: Project) -> None:
    for command in ("echo x > tools/hooks/pre-commit", "cp a.py tools/hooks/pre-commit", "mkdir -p tools/hooks/x"):
        assert writer.bash(command) == "allow", command
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "config", "core.hooksPath", "tools/hooks"], check=True, cwd=writer.shop, env=clean)
    (writer.shop / "tools" / "hooks").mkdir(parents=True)
    (writer.shop / "way").symlink_to("tools/hooks")
    for command in (
        "echo x > tools/hooks/pre-commit",
        "cp a.py tools/hooks/pre-commit",
        "tee way/x < a.py",
        "mkdir -p tools/hooks/x",
    ):
        assert writer.bash(command) == "ask", command
    assert writer.tool("Write", file_path=str(writer.shop / "tools/hooks/pre-push"), content="x") == "ask"
    assert writer.bash("echo x > tools/hook") == "allow"


def test_what_is_ignored_goes_along_by_force(writer: Project) -> None:
    assert writer.bash("git add -f src") == "allow"
    (writer.shop / "src" / ".env").write_text("K=1")
    assert writer.bash("git add src") == "allow"
    assert writer.bash("git add -f src") == "ask"


def test_nothing_is_told_to_a_terminal(project: Project) -> None:
    for command in ("echo x > /dev/tty", "printf '\\033]52;c;eA==\\a' > /dev/tty", "cat a.py | tee /dev/tty"):
        assert project.bash(command) == "ask", command


def test_what_is_handed_to_another_shell_is_no_plain_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule for `ssh build ls` allowed `ssh build ls '; rm -r x'`."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    runs = START + '[runs]\ndo = "allow"\ncommand = ["ssh build ls", "watch date", "task check", "adb shell ls"]\n'
    project = Project(tmp_path, runs)
    for command in ("ssh build ls", "watch date", "task check", "adb shell ls"):
        assert project.bash(command) == "allow", command
        for more in ("'; rm x'", "';rm x'", "'&&' rm", "'|sh'", "x\\;rm", "'$(rm x)'", "'a b'", "'>x'", "'*'"):
            assert project.bash(f"{command} {more}") == "ask", (command, more)
    assert project.bash("ssh build ls src") == "allow"


def test_what_a_comparison_names_is_looked_at(project: Project) -> None:
    for command in ("find . -samefile .env", "find . -newer ~/.ssh/id_ed25519", "find . -anewer src/../.env"):
        assert project.bash(command) == "deny", command
    assert project.bash("find . -newer ../x") == "ask"
    assert project.bash("find src -newer README.md") == "allow"


def test_a_star_outside_lists_names(project: Project) -> None:
    for command in ("echo ../*", "printf '%s\\n' ~/*", "basename -a /etc/*"):
        assert project.bash(command) != "allow", command
    for command in ("echo *", "printf '%s\\n' *.py", "echo src/*"):
        assert project.bash(command) == "allow", command
    assert project.bash("printf '%d\\n' *.py") == "ask"


PAST_DENIES = [
    "builtin command rm a.py", "env -S 'rm a.py'", "x=r y=m; $x$y a.py", "/bin/r? a.py", "/bin/r[m] a.py", "/b*/rm a.py",
    "alias x=rm; x a.py", "trap 'rm a.py' EXIT", "coproc rm a.py", "bash <<'E'\nrm a.py\nE", "sh <<< 'rm a.py'",
    "echo 'rm a.py' | sh", "echo 'git push' | bash -s", "watch rm a.py", "parallel rm ::: a.py", "script -c 'rm a.py'",
    "tmux send-keys 'rm a.py' Enter", "awk 'BEGIN{system(\"rm a.py\")}'", "sed '1e rm a.py' b.py", "vim -c '!rm a.py'",
    "git -c alias.x='!rm a.py' x", "git bisect run rm a.py", "git rebase -x 'rm a.py' HEAD~1", "git pus[h]", "git pu$x",
    "git ${x}sh origin", "git -c alias.p=push p", "python3 -c 'import os;os.system(\"git push\")'",
    "python3 <<'E'\nimport shutil\nshutil.rmtree('x')\nE", "node -e 'fetch(\"http://x\")'", "python3 -c 'import os;print(os.environ)'",
    "gawk 'BEGIN{getline < \"/inet/tcp/0/x/80\"}'", "tar xf x.tar -C ..", "sort -o ../x a.py", "zip ../x a.py", "iconv -o../y a.py",
    "cat \"$PWD/.env\"", "x=.env; cat $x", "x=env; cat .$x", "cat $(echo .env)", "find . -name '.e*' | xargs cat", "vim .env",
    "source .env", ". ./.env", "python3 -c 'print(open(\".env\").read())'", "bash -c \"cat $HOME/.ssh/id_rsa\"",
]  # fmt: skip
SILENT = [
    "npm test", "python3 tools/build.py", "make -j4", "./deploy.sh x", "npm run rm-cache", "cargo build", "git rebase main",
    "npm run push", "python3 -c 'print(1)'", "docker-compose ps", "node --version x", "pytest -q tests/test_rm.py",
    "git commit -m 'remove rm'", "for f in $(git ls-files); do head -3 \"$f\"; done", "python3 -c 'import os; os.environ[\"A\"]'",
    "cat \"$f\"", "ls \"$dir\"", "git log \"$x\"", "git commit -m \"$msg\"", "npm run build -- --out dist",
]  # fmt: skip


@pytest.mark.parametrize("command", PAST_DENIES)
def test_what_a_deny_names_is_asked_wherever_it_is_spelled(denied: Project, command: str) -> None:
    """In a mode in which the agent asks nobody, these ran in silence."""
    decided = denied.decides("Bash", command=command)
    assert decided.insists or (decided.answer and decided.answer.choices == {"decision": ("deny",)}), command


@pytest.mark.parametrize("command", SILENT)
def test_what_spells_nothing_is_left_to_the_agent(denied: Project, command: str) -> None:
    decided = denied.decides("Bash", command=command)
    assert decided.answer is None, command
    assert decided.insists == "", command
