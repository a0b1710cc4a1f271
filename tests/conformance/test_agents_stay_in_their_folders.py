"""Agents stay in their folders: no code outside of one names it, nor does the phone app; none imports another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from yourcall import agents
from yourcall.agents.registry import AGENTS

SOURCE = Path(agents.__file__).resolve().parents[1]
FOLDERS = sorted(
    path.name for path in (SOURCE / "agents").iterdir() if (path / "agent.py").is_file() or path.name == "script"
)

# A program of any agent, or its folder: `claude-agent-acp` counts by its parts. `generic`, `demo`, `script` and
# `acp` are common words, and mean no program.
NAMES = sorted({name for each in AGENTS.values() for name in each.programs} | {"opencode", "copilot"})
NAMED = re.compile(rf"(?<![a-z])({'|'.join(NAMES)})(?![a-z])", re.IGNORECASE)

# Where a name has to stand, and why. A file that needs no exception any more fails the test.
EXCEPT = {
    "agents/sightings.py": "the hook program passes the agent's process under this name, for every agent",
    "client/sdk.py": "for programs that are built on that SDK",
    "cli/commands/agents.py": "examples in its help",
    "cli/commands/attach.py": "examples in its help",
    "cli/commands/doctor.py": "examples in its help",
    "cli/commands/mcp.py": "examples in its help",
    "cli/commands/review.py": "examples in its help",
    "cli/commands/run.py": "examples in its help; the name of a config section",
    "cli/commands/screen.py": "examples in its help",
    "cli/commands/setup.py": "examples in its help",
    "cli/main.py": "examples in its help",
    "daemon/config.py": "sections of the config are named after agents; they are a contract",
    "demo/agent.py": "plays one, as measured",
    "demo/stage.py": "shows how to connect one",
    "hook/headless.py": "works without the package, and reads what one agent tells its hooks",
    "hook/holder.py": "works without the package",
    "hook/hook.py": "works without the package",
    "hook/launcher.py": "works without the package",
    "hook/ruling.py": "works without the package",
    "hook/without_daemon.py": "decides without the daemon, for the one agent that asks it to",
    "rules/effects/known_files.py": "files that any agent obeys, installed or not",
    "rules/effects/options.py": "an option of `free` is called like one",
    "rules/risk.py": "files that any agent obeys, installed or not",
    "server/contracts/rpc/wire.py": "names of a contract",
}


def sources() -> list[Path]:
    inside = [SOURCE / "agents" / folder for folder in FOLDERS]
    return [path for path in sorted(SOURCE.rglob("*.py")) if not any(path.is_relative_to(each) for each in inside)]


def named(path: Path) -> Iterator[str]:
    """Every identifier and every string of the code that names an agent; comments and docstrings are prose."""
    tree = ast.parse(path.read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        texts: list[str] = []
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose:
                texts = [text]
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text) | ast.keyword(arg=str(text)):
                texts = [text]
            case ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text) | ast.ClassDef(name=text):
                texts = [text]
            case ast.ImportFrom(module=str(text)):
                texts = [text, *(name.name for name in node.names)]
            case ast.Import():
                texts = [name.name for name in node.names]
        for text in texts:
            if NAMED.search(text.replace("_", " ")):
                yield f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}: {text.strip()[:60]!r}"


def test_no_code_outside_its_folder_names_an_agent() -> None:
    found = [line for path in sources() for line in named(path) if str(path.relative_to(SOURCE)) not in EXCEPT]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", EXCEPT)
def test_every_exception_is_needed(file: str) -> None:
    assert any(named(SOURCE / file)), f"{file} names no agent any more: take it off the list"


def test_no_agent_imports_another() -> None:
    for folder in FOLDERS:
        others = {f"yourcall.agents.{other}" for other in FOLDERS if other != folder}
        for path in (SOURCE / "agents" / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
                assert not [n for n in names for o in others if f"{n}.".startswith(f"{o}.")], path


# Made from what the folders say.
MADE = {"lib/agents.ts", "design/agents.css"}
PROSE = re.compile(r"/\*.*?\*/|<!--.*?-->|(?<!:)//[^\n]*", re.DOTALL)


def test_the_phone_app_names_no_agent() -> None:
    app = SOURCE.parents[1] / "web" / "src"
    files = [path for path in sorted(app.rglob("*")) if path.suffix in (".ts", ".js", ".svelte", ".css")]
    assert len(files) > 100
    found = [
        f"{path.relative_to(app)}: {line.strip()[:80]}"
        for path in files
        if path.relative_to(app).as_posix() not in MADE
        for line in PROSE.sub("", path.read_text()).splitlines()
        if NAMED.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_registry_names_no_agent() -> None:
    assert not list(named(SOURCE / "agents" / "registry.py"))
