"""The emergency button: it locks, keeps the phone it was pressed on to look with, and tells what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from phone_scene import Agent, answered

from kit.poll import until

if TYPE_CHECKING:
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser


def test_one_button_locks_and_tells_what_happened(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    phone, other = opens("phone"), opens("laptop")
    line = agent.bash("lockaaaaa1", "make clean")
    prompt = yc.wait_prompt()
    assert yc.run("answer", prompt["id"], "deny", "--no-wait").code in (0, 6)
    answered(line)
    phone.tap("Settings", "nav")
    phone.tap("Lock everything")
    phone.sees("It is unlocked at the machine only")
    phone.tap("Lock", "dialog")
    phone.sees("What happened")
    phone.sees("make clean")
    assert (yc.home / "locked").exists()
    until(lambda: "Pair this device" in other.text(), what="the other one to be out", show=other.text)
    other.errors.clear()  # it was shut out in the middle of a word
    phone.tap("Close", "dialog")
    phone.sees("yourcall is locked.")
    assert "phone" in phone.sees("Locked")
