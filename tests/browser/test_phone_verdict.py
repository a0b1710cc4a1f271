"""The phone shows the daemon's verdict: the commands of `tests/conformance/test_one_verdict.py`, through the app's
own code and its service worker."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from kit.verdicts import Stored, cases
from yourcall.channels.notice import notice
from yourcall.channels.push.channel import fitting, message
from yourcall.server.views import prompt_view

WEB = Path(__file__).resolve().parent.parent.parent / "web"


@pytest.mark.browser
def test_the_phone_shows_the_verdict_of_the_daemon(built: None, tmp_path: Path) -> None:
    every = cases()
    stored = Stored(every)
    sent = [
        {
            "prompt": prompt_view(case.prompt, stored),
            "warning": case.warning,
            "confirm": list(case.confirm),
            "command": msgspec.json.decode(case.body)["tool_input"]["command"],
            "push": fitting(message(notice("n", [case.prompt], url="https://desk.example.net", body=case.body))),
        }
        for case in every
    ]
    (tmp_path / "verdicts.json").write_bytes(msgspec.json.encode(sent))
    done = subprocess.run(
        ["npx", "vitest", "run"],
        cwd=WEB,
        env={**os.environ, "VERDICTS": str(tmp_path / "verdicts.json")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "verdicts.shared.ts" in done.stdout
