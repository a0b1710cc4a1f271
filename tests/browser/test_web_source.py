"""The source of the phone app: its types are the server's, its units hold, and nothing turns words into markup."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
WEB = ROOT / "web"
SOURCES = [file for file in (WEB / "src").rglob("*") if file.suffix in (".ts", ".js", ".svelte")]


def run(*words: str, folder: Path = ROOT) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_the_types_are_those_of_the_server() -> None:
    run(sys.executable, str(ROOT / "tools" / "gen_types.py"), "--check")


def test_the_agents_are_those_of_the_registry() -> None:
    run(sys.executable, str(ROOT / "tools" / "gen_agents.py"), "--check")


def test_words_become_markup_in_one_place_only() -> None:
    sinks = (
        r"\{@html|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b\(|new Function|setHTML|srcdoc"
    )
    found = [file.name for file in SOURCES if re.search(sinks, file.read_text())]
    assert found == ["Markdown.svelte"]
    storage = r"localStorage|sessionStorage|indexedDB|document\.cookie"
    assert [file.name for file in SOURCES if re.search(storage, file.read_text())] == ["deviceStorage.ts"]
    key = ROOT / "src" / "yourcall" / "server" / "assets" / "key.js"
    assert re.findall(r"localStorage|sessionStorage|document\.cookie", key.read_text()) == []


def test_the_page_asks_nobody_else_and_has_nothing_inline() -> None:
    html = (WEB / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:|https?://", html)
    for file in SOURCES:
        assert not re.search(r"""["'`]https?://""", file.read_text()), file.name
        assert not re.search(r"\sstyle=|<style", file.read_text()), file.name


def test_the_lock_names_no_registry() -> None:
    lock = (WEB / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    exact = re.findall(r'^    "[^"]+": "([^"]+)"', (WEB / "package.json").read_text(), re.MULTILINE)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+|vite build|svelte-check .*|vitest run|>=\S+", each) for each in exact)


@pytest.mark.browser
@pytest.mark.parametrize("script", ["check", "test"])
def test_its_own_checks_pass(built: None, script: str) -> None:
    run("npm", "run", "--silent", script, folder=WEB)


# Said better elsewhere, or not English: each was on a screen once.
NOT_SAID = (
    "letters that cannot be seen", "at the desk", "At your desk", "git's log", "By its record", "half of them",
    "wants to run", "sign of the agent", "Nobody can tell", "Answer this one at", "asks nothing", "What shall it",
    "Nothing waits for you", "This one is needed", "What came of it", "Leave it as it was", "It came back",
    "No agent has told", "Of projects", "Not here yet", "Claude asks", "reaches it.", "Why not, or what",
    "Goes with:", "All that ", "like this…", "prompts on record", "It said", "letters that can",
    "the app anew", "it is mended",
    "it would have decided", "to mend", "shall it do", "do no more", "What came before", "Its terminal",
)  # fmt: skip


def test_the_app_says_things_in_plain_words() -> None:
    for file in SOURCES:
        # Comments are for those who read the source.
        text = re.sub(r"(?m)^\s*//[^\n]*$|(?s:/\*\*.*?\*/|<!--.*?-->)", "", file.read_text())
        assert not [phrase for phrase in NOT_SAID if phrase in text], file.name
