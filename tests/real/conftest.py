"""Fixtures for tests that drive a real agent CLI: fresh home, private terminal, scripted model."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from kit.claude import ClaudeHome
from kit.model_server import ModelServer
from kit.scene import Scene
from kit.terminal import Ptys, Tmux
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TESTS = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is `real`: `-m "not real"` leaves them out."""
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.real)


def missing(reason: str) -> NoReturn:
    """Skip on a person's machine; fail where the tests must run."""
    if os.environ.get("CI") == "true" or os.environ.get("YOURCALL_REQUIRE_REAL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def fetched() -> Callable[..., Path]:
    """Fetch an agent's CLI, once: `fetched("claude")` the pinned one, `fetched("claude", "2.0.76")` another."""
    where = TESTS.parent / "tools" / "fetch_clis.py"
    spec = importlib.util.spec_from_file_location("fetch_clis", where)
    assert spec is not None
    assert spec.loader is not None
    fetch_clis = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fetch_clis)

    def fetch(agent: str, version: str | None = None) -> Path:
        try:
            return fetch_clis.fetch(agent, version)
        except fetch_clis.CannotFetch as failure:
            missing(f"{agent} cannot be fetched ({failure}); try: python3 tools/fetch_clis.py {agent}")

    return fetch


@pytest.fixture(scope="session")
def claude_bin(fetched: Callable[..., Path]) -> Path:
    """The pinned Claude Code."""
    return fetched("claude")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def claude_home(tmp_path: Path) -> ClaudeHome:
    return ClaudeHome.make(tmp_path)


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        missing("tmux is not installed; install the package `tmux`")
    with Tmux() as server:
        yield server


@pytest.fixture
def ptys() -> Iterator[Ptys]:
    with Ptys() as terminals:
        yield terminals


@pytest.fixture
def yourcall(tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path) -> Iterator[Yourcall]:
    """A running yourcall, connected to the Claude of `claude_home`."""
    with Yourcall(tmp_path, claude_home) as running:
        running.setup_claude(claude_bin)
        yield running


@pytest.fixture
def scene(claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, yourcall: Yourcall, tmux: Tmux) -> Scene:
    return Scene(claude_bin, model, claude_home, yourcall, tmux)
