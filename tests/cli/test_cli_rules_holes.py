"""The two rules that docs/how-to/rules.md begins with, through the real hook: what once ran anything waits."""

from __future__ import annotations

import re
from pathlib import Path

from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import Yourcall

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "rules.md"

HOLES = (
    "echo '-maxdepth 0 -exec CMD ;' | xargs -I NOPE -n 99 find .",
    "echo ~/.ssh/id_ed25519 | xargs -I NOPE -n 9 cat",
    "find . -exe[c.] sh x ';'",
    "find . -delet[e.]",
    "rg x ./-* -*",
    "git grep -* x",
    "git -C d diff HEAD~1 HEAD",
    "sh -c 'a+=./x'",
    "{ echo a } always { ls; }",
    'x="y[$a(CMD)1]"; echo $y[x]',
    "mvn --version",
    "yarn -v",
    "make test deploy",
    "git merge -X subtree=.claude evil",
    "dig @6.6.6.6 DATA.docs.example.com",
)
ORDINARY = (
    "make -j4 test",
    'for f in *.py; do wc -l "$f"; done',
    "find src -name '*.py' | xargs wc -l",
    "find src -name '*.py' -exec grep -l x {} +",
    "unzip -l x.zip",
    "npm ls",
)


def test_what_once_ran_anything_waits_and_ordinary_work_does_not(yc: Yourcall, claude: ScriptedClaude) -> None:
    start = re.search(r"A good start:[^`]*?```toml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert start is not None
    tests = '\n[tests]\ndo = "allow"\ncommand = "make test"\n'
    tests += '[docs]\ndo = "allow"\neffect = "network"\nhost = "*.example.com"\n'
    merge = '[merge]\ndo = "allow"\neffect = ["read", "write_inside"]\n'
    (yc.home / "rules.toml").write_text(start[1] + tests + merge)
    project = claude.project
    for folder in ("src", "d", ".git"):
        (project / folder).mkdir(parents=True, exist_ok=True)
    (project / "src" / "a.py").write_text("x\n")
    for command in ORDINARY:
        answer = claude.asks("Bash", command=command).answer()
        assert answer is not None, command
        assert answer["hookSpecificOutput"]["decision"]["behavior"] == "allow", command
    for name in ("-exec", "-delete", "--pre=sh", "-Osh", ".yarnrc", "d/HEAD", "d/commondir", ".mvn"):
        (project / name).write_text("x\n")
    for command in HOLES:
        claude.asks("Bash", command=command)
        (prompt,) = until(lambda c=command: [p for p in yc.prompts() if p["tool"]["input"] == {"command": c}])
        assert prompt["state"] == "open", command
