"""`yourcall devices scope`: what a device may do, given and changed at the machine itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kit.yourcall import Yourcall


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    with Yourcall(tmp_path) as running:
        yield running


def test_scopes_are_least_by_default_and_changed_by_name(yc: Yourcall) -> None:
    made = yc.run("devices", "add", "ci", "--json").json
    assert made["scopes"] == ["read", "answer"]
    assert "read,answer" in yc.run("devices").out

    def tries(method: str, path: str) -> int:
        headers = {"Authorization": f"Bearer {made['token']}"}
        return httpx.request(method, yc.url + path, headers=headers, trust_env=False).status_code

    assert tries("GET", "/api/status") == 200
    assert tries("POST", "/api/pause") == 403
    said = yc.run("devices", "scope", "ci", "rules,read")
    assert (said.code, said.out) == (0, f"'ci' ({made['id']}) may: read, rules\n")
    assert tries("POST", "/api/pause") == 200
    assert yc.run("devices", "scope", made["id"][:4], "", "--json").json["scopes"] == []
    assert tries("GET", "/api/status") == 403


def test_a_wrong_scope_or_name_says_what_there_is(yc: Yourcall) -> None:
    yc.run("devices", "add", "ci")
    for words in (["devices", "scope", "ci", "root"], ["devices", "add", "x", "--scopes", "read,root"]):
        said = yc.run(*words)
        assert said.code == 2
        assert "'root' is not a scope. There are: read, answer, steer, rules, admin." in said.err
    assert yc.run("devices", "scope", "nobody", "read").code == 2
    assert [device["name"] for device in yc.run("devices", "--json").json] == ["ci"]
