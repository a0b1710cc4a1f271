"""The HTTP API against its own document: schemathesis makes requests from it, a real daemon replies.

Each operation gets a bounded number of requests that fit the document and of such that do not; `make soak` more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from kit.yourcall import Yourcall
from yourcall.server.docs.openapi import document
from yourcall.server.routes import LIVE, ROUTES
from yourcall.server.signatures import HEADER

EXAMPLES = 150 if os.environ.get("YOURCALL_SOAK") == "1" else 8
# A WebSocket, and what only the user's own socket offers: neither is plain HTTP from afar.
OPERATIONS = sorted((r.method, r.path) for r in ROUTES if r.key != "local")
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


class Bare(Yourcall):
    """Without an agent on its path: a request that fits must not start one."""

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "PATH": os.defpath, "SHELL": "/bin/sh"}


ALL = "read,answer,steer,rules,admin"


@contextmanager
def fuzzed(home: Path) -> Iterator[tuple[str, str]]:
    with Bare(home) as running:
        yield running.url, running.run("devices", "add", "fuzzer", "--scopes", ALL, "--json").json["token"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with fuzzed(tmp_path_factory.mktemp("api")) as place:
        yield place


@pytest.fixture
def place(request: pytest.FixtureRequest, method: str, path: str, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Where the operation is tried: the emergency lock would shut all the others out."""
    if (method, path) != ("POST", "/api/lock"):
        yield request.getfixturevalue("daemon")
        return
    with fuzzed(tmp_path) as own:
        yield own


@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")  # schemathesis does
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda each: str(each))
def test_the_api_does_what_its_document_says(place: tuple[str, str], method: str, path: str) -> None:
    url, token = place
    schema = schemathesis.openapi.from_dict(document(ROUTES, LIVE))
    schema.config.update(base_url=url)
    operation = schema[path][method]
    checks = [CHECKS.get_one(name) for name in CHECKED]

    tried: list[int] = []

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy(generation_mode=mode))
        def one(case: Any) -> None:
            # It has a token; a signature of its own making, the other way in, would be looked at first.
            if path == "/api/lock" and isinstance(case.body, dict):
                case.body["keep"] = True  # else it locks itself out
            case.headers = {k: v for k, v in (case.headers or {}).items() if k.lower() != HEADER.lower()}
            # Raises if one of the checks fails.
            told = case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=checks, timeout=30)
            tried.append(told.status_code)

        one()
    assert tried
    assert 401 not in tried, "the fuzzer was let in"
