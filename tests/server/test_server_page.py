"""The page: served whole, and nothing in it that would turn an agent's words into markup."""

from __future__ import annotations

import re

from server_house import House

from yourcall.server.app import ASSETS, KINDS, page_files


def test_the_page_and_what_it_refers_to_are_served(shared: House) -> None:
    with shared.http() as stranger:
        page = stranger.get("/")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        for path in re.findall(r'(?:src|href)="(/(?!api/)[^"]+)"', page.text):
            got = stranger.get(path)
            assert got.status_code == 200
            assert got.headers["content-type"].startswith(KINDS[f".{path.rpartition('.')[2]}"])
            assert path in page_files()


def test_nothing_in_the_page_needs_more_than_its_policy_allows() -> None:
    html = page_files()["/"].read_text()
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:|https?://", html)


def test_the_words_of_others_only_ever_become_text() -> None:
    """On the small page; the built app has a test of its sources (tests/browser)."""
    scripts = [file for file in page_files(ASSETS).values() if file.suffix == ".js"]
    assert scripts
    for file in scripts:
        unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setHTML|srcdoc"
        assert not re.search(unsafe, file.read_text()), file.name
        assert "localStorage" not in file.read_text()  # the key is in a cookie that no script can read
