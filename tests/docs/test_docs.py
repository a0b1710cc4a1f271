"""The docs say what is there: links lead somewhere, commands exist, examples have the fields of the wire.

Rule: checked against the program itself, never against another list that somebody has to keep up to date.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from msgspec.structs import fields

from yourcall.agents.claude.setup import EVENTS, WAIT_SECONDS, wanted
from yourcall.cli.main import COMMANDS, cli
from yourcall.daemon.config import Config
from yourcall.server.wire import AnswerReply, AnswerRequest, Hello, LogLine, PromptStory, PromptView, SessionView

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
MODULE = re.compile(r"[\w/]+/[\w/]*\w\.py")
ENDS = {"|", "||", "&&", ";", ")", ">", "<", "&", ">>"}

# What must never get into the repository: folders of one machine, and where it gets its packages from. Written so
# that this file is not found itself.
FOREIGN = {
    "a path of one machine": re.compile(rb"(?<![\w./-])/(?:work|root)/"),
    "a package registry": re.compile(rb"(?im)(?:index-url|find-links|--registry|^registry) ?= ?\S|//_auth[T]oken"),
    "an address of a package": re.compile(rb'(?i)"resolved": ["]http'),
}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def blocks(page: Path, language: str) -> list[str]:
    return [body for _, said, body in FENCE.findall(page.read_text("utf-8")) if said == language]


def anchors(page: Path) -> set[str]:
    """The headings as GitHub makes anchors of them."""
    headings = re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_there_are_pages_to_check() -> None:
    assert {"README.md", "docs/README.md", "docs/reference/api.md"} <= {name(page) for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken: list[str] = []
    for target in LINK.findall(prose(page)):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


def test_every_page_can_be_found_from_the_index() -> None:
    index = DOCS / "README.md"
    linked = {(index.parent / target.partition("#")[0]).resolve() for target in LINK.findall(prose(index))}
    assert [name(page) for page in DOCS.rglob("*.md") if page != index and page not in linked] == []


# --- commands -----------------------------------------------------------------------------------------------


def command_lines(page: Path) -> list[list[str]]:
    """Every `yourcall …` of the shell blocks and of the code in the prose, as words."""
    found: list[list[str]] = []
    for line in [
        *(line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()),
        *re.findall(r"`(yourcall [^`]+)`", prose(page)),
    ]:
        words = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
        words.whitespace_split = True
        rest = list(words)
        while "yourcall" in rest:
            rest = rest[rest.index("yourcall") + 1 :]
            end = next((n for n, word in enumerate(rest) if word in ENDS), len(rest))
            found.append(rest[:end])
    return found


def objection(command: click.Command, words: list[str], above: click.Context | None, called: str) -> str:
    """Why the program would not understand these words; empty if it would. Nothing is run."""
    context = command.make_context(called, [], above, resilient_parsing=True)
    context.resilient_parsing = False  # lenient while the context was made, strict with the words
    try:
        given, rest, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return error.format_message()
    if isinstance(command, click.Group):
        if not rest:
            return ""
        below = command.get_command(context, rest[0])
        return objection(below, rest[1:], context, rest[0]) if below else f"there is no command {rest[0]!r}"
    for parameter in command.params:
        value = given.get(parameter.name)
        choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
        if choices and isinstance(value, str) and value not in choices:
            return f"{value!r} is none of {choices}"
        lacks = isinstance(parameter, click.Argument) and parameter.required and not isinstance(value, str | tuple)
        if lacks and words:  # a command's bare name is a mention of it, not a call
            return f"{parameter.name} is missing"
    return f"{rest} is too much" if rest else ""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_line_is_understood(page: Path) -> None:
    wrong = {shlex.join(words): objection(cli, words, None, "yourcall") for words in command_lines(page)}
    assert {line: why for line, why in wrong.items() if why} == {}


def test_the_check_of_command_lines_sees_what_is_wrong() -> None:
    assert objection(cli, ["answer", "k3fq", "allow", "--wait", "3"], None, "yourcall") == ""
    assert "--wiat" in objection(cli, ["answer", "k3fq", "--wiat", "3"], None, "yourcall")
    assert "no command" in objection(cli, ["anwser", "k3fq"], None, "yourcall")
    assert "no command" in objection(cli, ["devices", "forget"], None, "yourcall")
    assert "missing" in objection(cli, ["show", "--json"], None, "yourcall")
    assert "none of" in objection(cli, ["setup", "clod"], None, "yourcall")
    assert ["ls", "--json"] in command_lines(DOCS / "how-to" / "answer-from-a-script.md")


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    said = {
        target
        for page in PAGES
        for target in [
            *re.findall(r"^make ([a-z]+)", "\n".join(blocks(page, "sh")), re.MULTILINE),
            *re.findall(r"`make ([a-z]+)`", prose(page)),
        ]
    }
    assert {"run", "test", "demo"} <= said
    assert said - targets == set()


def test_every_command_has_its_help_in_the_reference() -> None:
    text = (DOCS / "reference" / "cli.md").read_text("utf-8")
    names = [command for section in COMMANDS.values() for command in section]
    assert [command for command in names if f"### yourcall {command}\n" not in text] == []


# --- what the code knows ------------------------------------------------------------------------------------


def test_generated_parts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gen_docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", [PromptStory, AnswerRequest, SessionView, LogLine, AnswerReply, Hello])
def test_every_field_of_the_wire_is_in_the_reference(kind: Any) -> None:
    text = (DOCS / "reference" / "api.md").read_text("utf-8")
    said = set(re.findall(r"[`\"]([\w]+)[`\"]", text))
    assert {field.name for field in fields(kind)} - said == set()


@pytest.mark.parametrize(
    ("heading", "kind"), [("A prompt", PromptView), ("A session", SessionView), ("The log", LogLine)]
)
def test_the_examples_have_all_fields_and_no_others(heading: str, kind: Any) -> None:
    text = (DOCS / "reference" / "api.md").read_text("utf-8")
    section = text.partition(f"\n## {heading}\n")[2]
    example = json.loads(FENCE.findall(section)[0][2])
    assert set(example) == {field.name for field in fields(kind)}


def test_every_json_example_is_json() -> None:
    for page in PAGES:
        for block in blocks(page, "json"):
            whole = block if block.lstrip().startswith(("{", "[")) else "{" + block + "}"
            try:
                json.loads(whole)
            except ValueError:
                for line in block.splitlines():
                    json.loads(line)  # several messages, one per line


def test_every_key_of_the_configuration_is_explained() -> None:
    text = (DOCS / "reference" / "config.md").read_text("utf-8")
    parts = [part for part in fields(Config) if part.name not in ("channels", "supervisors", "export")]
    keys = [f"{part.name}.{key.name}" for part in parts for key in fields(part.default)]
    assert [key for key in keys if f"`{key}`" not in text] == []


def test_every_promise_names_tests_that_exist() -> None:
    told = "".join(path.read_text("utf-8") for path in DOCS.rglob("*.md"))
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", told)
    assert len(named) > 20
    for page in ("safety", "threat-model"):
        text = (DOCS / "explanation" / f"{page}.md").read_text("utf-8")
        assert len(re.findall(r"`tests/[\w/]+\.py", text)) > 15, page
    gone = [f"{file}::{test}" for file, test in named if f"def {test}(" not in source(file)]
    assert gone == []


@cache
def source(file: str) -> str:
    path = ROOT / file
    return path.read_text("utf-8") if path.exists() else ""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    said = {word for code in re.findall(r"`([^`\n]+)`", prose(page)) for word in MODULE.findall(code)}
    places = (ROOT, ROOT / "src" / "yourcall", ROOT / "tests")
    assert [file for file in sorted(said) if not any((place / file).exists() for place in places)] == []


# --- what must not be there ---------------------------------------------------------------------------------


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / file for file in listed.decode().split("\0") if file]


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    files = tracked()
    assert len(files) > 100
    found: list[str] = []
    for path in files:
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        found += [f"{name(path)}: {what}" for what, pattern in FOREIGN.items() if pattern.search(data)]
    assert found == []


def test_the_check_of_files_sees_what_is_wrong() -> None:
    bad = b"cd /wo" + b"rk/x\nregistry=" + b"https://r.example\n" + b'"resolved": ' + b'"https://r.example/a.tgz"'
    assert all(pattern.search(bad) for pattern in FOREIGN.values())


def test_the_page_on_claude_names_the_hooks_that_setup_writes() -> None:
    """Each event by its name, those that hold apart from those that inform, and what `--ask` adds."""
    page = (DOCS / "how-to/connect-claude.md").read_text()
    added = page.split("## What is added")[1].split("\n## ")[0]
    holding, informing = added.split("**hold**")[0], added.split("**hold**")[1].split("**inform**")[0]
    hooks = wanted("/home/me/.yourcall/hook", [(2, 1, 325)])
    waits = {name for name, event in EVENTS.items() if event.waits}
    assert set(re.findall(r"`([A-Z][A-Za-z]+)`", holding)) == waits & set(hooks)
    assert set(re.findall(r"`([A-Z][A-Za-z]+)`", informing)) == set(hooks) - waits
    # "hold … until somebody answers", "run in the background and are over in milliseconds".
    assert all(hooks[name]["timeout"] == WAIT_SECONDS for name in waits)
    assert all(hooks[name].get("async") is True for name in set(hooks) - waits)
    asking = set(wanted("/home/me/.yourcall/hook", [(2, 1, 325)], "Bash")) - set(hooks)
    assert asking == {"PreToolUse"}
    assert "`PreToolUse`" in added
    # "all calling the small program", "An older Claude Code gets only the events it knows".
    assert all("/home/me/.yourcall/hook" in str(hook["command"]) for hook in hooks.values())
    assert set(wanted("/home/me/.yourcall/hook", [(2, 0, 45)])) < set(hooks)


def test_the_table_of_packages_lists_every_package() -> None:
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "docs/explanation/architecture.md").read_text(), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([a-z_]+)/`", row)}
    packages = {path.parent.name for path in (ROOT / "src" / "yourcall").glob("*/__init__.py")}
    assert packages <= listed


def test_the_promises_are_the_same_in_readme_and_safety() -> None:
    safety = (ROOT / "docs/explanation/safety.md").read_text()
    readme = (ROOT / "README.md").read_text().split("## What it promises")[1].split("\n## ")[0]
    words = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    count = re.search(r"^yourcall makes (\w+) promises\.", safety, re.MULTILINE)
    explained = re.findall(r"^## (Never .+)$", safety, re.MULTILINE)
    listed = re.findall(r"^\d+\. \*\*(Never .+?)\.?\*\*", readme, re.MULTILINE)
    assert count is not None
    assert words.index(count[1]) == len(explained)
    assert listed == explained


def test_prose_wraps_at_100_columns() -> None:
    """`make format` wraps it."""
    script = ROOT / "tools" / "wrap_docs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
