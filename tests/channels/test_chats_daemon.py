"""Each chat with a real daemon: added by the command, paired, tried, answered from, and said to be deaf."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent.parent
for folder in (TESTS / "browser", TESTS / "cli"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from chat_stage import PLATFORMS  # noqa: E402
from phone_scene import Agent, Daemon, answered  # noqa: E402

from kit.poll import until  # noqa: E402


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    daemon.home.mkdir()
    (daemon.home / "config.toml").write_text("[notify]\ndesk_s = 0\npush_s = 0\n")
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.mark.parametrize("name", sorted(set(PLATFORMS) - {"telegram"}))
def test_a_chat_is_added_paired_tried_and_answers(tmp_path: Path, yc: Daemon, name: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with PLATFORMS[name]() as people, Agent(tmp_path, yc) as agent:
        given = {**people.settings(), **people.secrets}
        sets = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
        said = yc.run("channels", "add", name, "--yes", *sets)
        assert said.code == 0, said
        assert "!pair ABCD-EFGH" in said.out
        until(lambda: people.opened, what="a line")
        people.say("!pair ABCD-EFGH")
        until(lambda: any("Paired" in each.text for each in people.shown()), what="paired")

        def test_message() -> Any:
            return next((m for m in people.shown() if "This is a test" in m.text and m.labels), None)

        with ThreadPoolExecutor(1) as pool:
            testing = pool.submit(yc.run, "channels", "test", name, "--wait", "30")
            until(test_message, what="the test")
            people.tap(test_message().id, "Yes, it does")
            assert "sent, and its button was pressed" in testing.result(60).out

        line = agent.bash("chataaaaa2", "npm test")
        asked = until(lambda: next((m for m in people.shown() if "npm test" in m.text and m.labels), None))
        until(lambda: "✅ Allow" in people.shown()[-1].labels, what="its buttons")
        people.tap(asked.id, "✅ Allow")
        assert answered(line)["decision"]["behavior"] == "allow"
        until(lambda: any("(Ada: Allow)" in each.text for each in people.shown()), what="its outcome")

        people.hang_up()
        until(lambda: "nobody is heard there" in str(yc.http("GET", "/api/channels")[1]), what="said in the list")
        assert "nobody is heard there" in yc.run("channels").out
        (found,) = [each for each in yc.run("doctor", "--json").json if each["check"] == "channels"]
        assert found["level"] == "wrong"
        log = (yc.home / "log" / "yourcall.log").read_text()
        for secret in ("topic-secret", "ABCD-EFGH"):
            assert secret not in log
