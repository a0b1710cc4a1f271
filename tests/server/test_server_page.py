"""The page: the phone app, served whole; where it is not built, a sentence that says how to build it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
from server_house import House
from starlette.applications import Starlette
from starlette.routing import Route

from yourcall.server.app import KINDS, UNBUILT, page, page_files


def served(folder: Path, path: str = "/") -> httpx.Response:
    app = Starlette(routes=[Route(path, endpoint) for path, endpoint in page(folder).items()])

    async def get() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://desk") as client:
            return await client.get(path)

    return asyncio.run(get())


def test_the_page_and_what_it_refers_to_are_served(shared: House) -> None:
    with shared.http() as stranger:
        shown = stranger.get("/")
        assert (shown.text == UNBUILT) == (not page_files())
        for path in re.findall(r'(?:src|href)="(/(?!api/)[^"]+)"', shown.text):
            got = stranger.get(path)
            assert got.status_code == 200
            assert got.headers["content-type"].startswith(KINDS[f".{path.rpartition('.')[2]}"])
            assert path in page_files()


def test_without_a_built_app_it_says_how_to_build_it(tmp_path: Path) -> None:
    page_files.cache_clear()
    (tmp_path / "key.js").write_text("export {}")
    got = served(tmp_path)
    assert (got.status_code, got.headers["content-type"]) == (503, "text/plain; charset=utf-8")
    assert got.text.count("\n") == 1
    assert "make web" in got.text
    assert served(tmp_path, "/key.js").status_code == 404
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert re.search(r"^web:", makefile, re.MULTILINE)


def test_only_files_of_the_app_are_served(tmp_path: Path) -> None:
    for name in ("index.html", "sw.js", "assets/index-1.js", ".made", "secret.pem"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert set(page(tmp_path)) == {"/", "/sw.js", "/assets/index-1.js"}
    got = served(tmp_path)
    assert (got.status_code, got.text) == (200, "index.html")
    assert got.headers["content-type"] == "text/html; charset=utf-8"
