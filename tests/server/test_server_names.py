"""Names of devices: who answers is told by name, so no two have the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import uvloop

from yourcall.server.devices import Devices
from yourcall.store.sqlite import Store


def test_two_devices_that_come_at_the_same_moment_are_told_apart(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "yourcall.db")
    devices = Devices(store)

    async def come() -> list[str]:
        one, two = await asyncio.gather(devices.add("phone"), devices.add("phone"))
        old, _ = await devices.add("old")
        three, _ = await asyncio.gather(devices.add("tablet"), devices.rename(old.id, "tablet"))
        return [one[0].name, two[0].name, three[0].name]

    try:
        assert uvloop.run(come()) == ["phone", "phone 2", "tablet"]
        assert sorted(device.name for device in devices.all()) == ["phone", "phone 2", "tablet", "tablet 2"]
    finally:
        store.close()
