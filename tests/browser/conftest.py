"""Fixtures for the phone app: it is built, a daemon serves it, a real Chromium looks at it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

TESTS = Path(__file__).resolve().parent.parent
for folder in (TESTS / "browser", TESTS / "cli", TESTS / "channels", TESTS):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from chromium import Chromium, Page  # noqa: E402
from phone_scene import Agent, Daemon, Opens, enter  # noqa: E402

from kit.yourcall import Yourcall  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def built() -> None:
    """The app as it is now; does nothing if it is built already."""
    done = subprocess.run(
        [sys.executable, str(TESTS.parent / "tools" / "build_app.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def yc(built: None, tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path) as running:
        assert isinstance(running, Daemon)
        yield running


@pytest.fixture
def agent(tmp_path: Path, yc: Yourcall) -> Iterator[Agent]:
    with Agent(tmp_path, yc) as scripted:
        yield scripted


@pytest.fixture
def other(tmp_path: Path, yc: Yourcall) -> Iterator[Agent]:
    """A second session, in another project."""
    with Agent(tmp_path, yc, "weather-api") as scripted:
        yield scripted


@pytest.fixture
def opens(chromium: Chromium, yc: Yourcall) -> Iterator[Opens]:
    """`opens("phone")`: a paired phone of that name, at its inbox. No page may complain, or ask anybody else."""
    pages: list[Page] = []

    def pair(name: str = "phone", **look: object) -> Page:
        page = enter(chromium, yc, name, **look)
        pages.append(page)
        return page

    yield pair
    for page in pages:
        strange = [
            url for url in page.asked if not url.startswith((yc.url, yc.url.replace("http", "ws"), "data:"))
        ]
        assert not strange
        assert not page.errors
        page.close()
