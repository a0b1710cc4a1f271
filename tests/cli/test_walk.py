"""The walk in the architecture page, held against a run of one request: the daemon notes each file it enters."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import Yourcall

pytestmark = pytest.mark.long

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "architecture.md"

# In the daemon alone: the file of every function that is called, once per call of another file.
TRACE = """
import sys
if sys.argv[0].endswith("yourcall") and sys.argv[1:2] == ["up"]:
    out = open({out!r}, "a", buffering=1)
    last = [""]
    def note(frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and "/yourcall/" in name and name != last[0]:
            last[0] = name
            out.write(name.rsplit("/yourcall/", 1)[1] + " " + frame.f_code.co_name + "\\n")
    sys.setprofile(note)
"""


class Traced(Yourcall):
    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "PYTHONPATH": f"{self.home.parent / 'site'}:{os.environ.get('PYTHONPATH', '')}"}


def walk() -> list[str]:
    """The files of the walk that the daemon runs, in the order of the page; the hook is a program of its own."""
    text = PAGE.read_text().split("## Follow one permission")[1].split("\n## ")[0]
    return [name for name in re.findall(r"`([a-z_/]+\.py)`", text) if not name.startswith(("hook/", "tests/"))]


def test_a_request_passes_the_files_of_the_walk_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    out = tmp_path / "trace"
    (tmp_path / "site" / "sitecustomize.py").write_text(TRACE.format(out=str(out)))
    with Traced(tmp_path) as yc, ScriptedClaude(tmp_path, yc) as claude:
        begun = len(out.read_text().splitlines())
        held = claude.asks("Bash", command="make")
        prompt = until(lambda: next(iter(yc.run("ls", "--json").json), None), what="the prompt")
        given = yc.run("answer", prompt["id"], "allow", "--no-wait")
        assert given.code == 6, given
        assert held.answer(60)
        claude.goes_on(held)
        until(lambda: yc.run("show", prompt["id"], "--json").json["state"] == "confirmed", what="confirmed")
        files = [line.split()[0] for line in out.read_text().splitlines()[begun:]]
    names, at = walk(), 0
    for name in names:
        assert name in files[at:], f"{name} is not entered after those before it"
        at += files[at:].index(name)
    assert len(names) == len(set(names)) <= 10, "a newcomer opens ten files at the most"
