"""Paired devices: found by the hash of their key, until revoked."""

from __future__ import annotations

import asyncio
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest
from store_story import opened

from yourcall.store.devices import Device

KEY = sha256(b"key of the phone").hexdigest()
OTHER = sha256(b"key of the tablet").hexdigest()


def test_a_device_is_found_by_the_hash_of_its_key_until_it_is_revoked(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        phone = asyncio.run(store.add_device("phone", KEY, at=10.0))
        tablet = asyncio.run(store.add_device("tablet", OTHER, at=11.0))
        assert phone == Device(phone.id, "phone", 10.0)
        assert store.device_by_hash(KEY) == phone
        assert store.device_by_hash("key of the phone") is None
    with opened(path) as store:
        assert store.devices() == [phone, tablet]
        assert asyncio.run(store.revoke_device(phone.id, at=20.0)) is True
        assert store.device_by_hash(KEY) is None
        assert store.device_by_hash(OTHER) == tablet
        assert store.devices()[0].revoked_at == 20.0
        assert asyncio.run(store.revoke_device(phone.id, at=30.0)) is False
        assert asyncio.run(store.revoke_device("nobody")) is False
        assert store.devices()[0].revoked_at == 20.0


def test_a_key_belongs_to_one_device(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        asyncio.run(store.add_device("phone", KEY))
        with pytest.raises(sqlite3.IntegrityError):
            asyncio.run(store.add_device("thief", KEY))
        assert [device.name for device in store.devices()] == ["phone"]


def test_when_it_was_seen_is_written_and_never_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        phone = asyncio.run(store.add_device("phone", KEY, at=1000.0))
        assert phone.seen_at == 0.0
        store.touch_device(phone.id, at=1001.0)
        store.touch_device("nobody", at=1001.0)
    with opened(path) as store:
        assert store.devices()[0].seen_at == 1001.0
        store.touch_device(phone.id, at=900.0)
    with opened(path) as store:
        assert store.devices()[0].seen_at == 1001.0
