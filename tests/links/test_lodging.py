"""What is started in a private tmux gets its words as they were given."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from kit.poll import until
from yourcall.links import lodging
from yourcall.links.lodging import Lodged

TELLS = "import json, os, sys, time; p = sys.argv[1]; open(p + '.new', 'w').write(json.dumps(sys.argv[2:]));"
TELLS += "os.rename(p + '.new', p); time.sleep(600)"


@pytest.mark.parametrize("last", ["call f();", "a\\;", ";", "kill-server"])
def test_a_word_that_ends_with_a_semicolon_is_a_word(tmp_path: Path, last: str) -> None:
    """For tmux it ends a command, and what follows is the next one."""
    told = tmp_path / "told"
    argv = [sys.executable, "-S", "-c", TELLS, str(told), "one;", "two", last]
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    lodged = lodging.start(tmp_path, argv, env, tmp_path)
    assert isinstance(lodged, Lodged), lodged
    try:
        until(told.exists, 20, what="its words")
        assert json.loads(told.read_text()) == ["one;", "two", last]
    finally:
        lodging.end(lodged.socket)
