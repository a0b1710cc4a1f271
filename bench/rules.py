"""What a rule costs: a decision with five hundred of them, and a call that a rule allows.

The rule it keeps: every command is new to the program, so that nothing is remembered from the one before.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.agent import Agent
from bench.clock import in_turn, ms
from bench.place import Yourcall, clean
from bench.row import Row, percentile
from bench.size import Size
from yourcall.agents.claude.agent import CLAUDE
from yourcall.daemon.rules.book import Rulebook
from yourcall.model.prompts import Option, Prompt, Question, Tool
from yourcall.rules.shell.parser import parse

MANY = 500
WITHIN_MS = 2
QUESTION = Question("decision", "?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))

COMMANDS = (
    "git log --oneline -{n} | head -n {n}",
    "cd src && npm run build-{n} 2>&1 | tail -{n}",
    "grep -rn 'word{n}' src tests --include='*.py' | sort | uniq -c | sort -rn | head -{n}",
    "mkdir -p out/{n} && touch out/{n}/a && cat src/{n}.txt > out/{n}/b",
    "for f in a b c; do echo $f-{n}; done; git status --short",
    "bash -c 'git diff HEAD~{n} && ls -la src' || echo {n}",
)


class _Empty:
    def body(self, id: str, /) -> bytes | None:
        del id
        return None

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        del open_only, limit, before
        return []


def rules_file(at: Path) -> None:
    """As many as nobody has, of every kind; the one that decides comes last."""
    kinds = (
        '[c{n}]\ndo = "allow"\ncommand = ["tool{n} run", "tool{n} check *"]\n',
        '[p{n}]\ndo = "allow"\neffect = ["read", "write_inside"]\npath = "area{n}/**"\n',
        '[d{n}]\ndo = "deny"\ncommand = "forbidden{n}"\nmessage = "No."\n',
        '[h{n}]\ndo = "ask"\nhost = "*.example{n}.com"\n',
        '[m{n}]\ndo = "allow"\nmcp = "server{n}/list_*"\nhours = "08:00-20:00"\ndays = "mon-fri"\n',
    )
    text = "\n".join(kinds[n % len(kinds)].format(n=n) for n in range(MANY - 1))
    (at / "rules.toml").write_text(f'{text}\n[last]\ndo = "allow"\neffect = ["read", "write_inside"]\n')


def decided(at: Path, size: Size) -> Iterator[Row]:
    """From the stored request to the ruling: taken apart, paths followed, every rule looked at. In processor time:
    what else this machine does meanwhile is not the rules' doing."""
    project = at / "project"
    (project / "src").mkdir(parents=True)
    rules_file(at)
    book = Rulebook(at, _Empty(), {"claude": CLAUDE}.get, lambda: 0)
    rounds = size.of(20, 3)
    count = iter(range(10**9))

    def one(template: str) -> float:
        command = template.format(n=next(count))
        request = msgspec.json.encode({"tool_name": "Bash", "tool_input": {"command": command}})
        prompt = Prompt("p", "permission", "claude", "s", str(project), command, 1.0, tool=Tool("Bash"),
                        questions=(QUESTION,))  # fmt: skip
        began = time.thread_time()
        book.told(prompt, request, 1.0)
        return time.thread_time() - began

    def parsed(template: str) -> float:
        command = template.format(n=next(count))
        began = time.thread_time()
        parse(command)
        return time.thread_time() - began

    def worst(each: object) -> float:
        samples = [each(template) for _ in range(20) for template in COMMANDS]  # type: ignore[operator]
        return percentile(samples, 0.99)

    taken = in_turn(rounds, {"ours": lambda: worst(one), "parse": lambda: worst(parsed)}, warm_up=1)
    name = f"a decision with {MANY} rules, p99"
    yield Row(name, "ms", ms(taken["ours"]), "only taking the command apart", ms(taken["parse"]), most=WITHIN_MS)


def allowed(at: Path, size: Size) -> Iterator[Row]:
    """A call that a rule allows before Claude asks, against the same hook when no rule says anything."""
    agent = Agent(at)
    env = {**clean(at), **agent.env}
    with Yourcall(at) as ours:
        home = ours.launcher.parent
        rules_file(home)
        command = f"{shlex.quote(str(ours.launcher))} claude Rules"

        def call(bash: str) -> float:
            _, payload = agent.asks(bash)
            began = time.perf_counter()
            subprocess.run(["/bin/sh", "-c", command], input=payload, env=env, capture_output=True, check=True)
            return time.perf_counter() - began

        ways = {"ours": lambda: call("git log"), "none": lambda: call("frobnicate")}
        taken = {name: ms(each) for name, each in in_turn(size.of(40), ways, warm_up=2).items()}
    yield Row("a call that a rule allows", "ms", taken["ours"], "the hook, no rule deciding", taken["none"])
