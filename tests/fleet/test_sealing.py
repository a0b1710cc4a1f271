"""Sealed messages open for whom they were sealed, as what they were sealed, and for nobody else."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from yourcall.fleet import sealing
from yourcall.fleet.keys import Keys
from yourcall.fleet.sealing import Unsealed, context

ONE, TWO, THREE = (X25519PrivateKey.generate() for _ in range(3))


def public(key: X25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def test_two_have_the_same_key_and_nobody_else_has_it() -> None:
    key = sealing.shared_key(ONE, public(TWO), "fleet")
    assert key == sealing.shared_key(TWO, public(ONE), "fleet")
    assert key != sealing.shared_key(ONE, public(TWO), "another fleet")
    assert key != sealing.shared_key(THREE, public(TWO), "fleet")


@given(
    data=st.binary(max_size=200), about=st.binary(max_size=20), place=st.integers(0, 1000), bit=st.integers(0, 7)
)
def test_what_was_altered_or_stands_for_something_else_is_not_opened(
    data: bytes, about: bytes, place: int, bit: int
) -> None:
    key = sealing.shared_key(ONE, public(TWO), "fleet")
    sealed = sealing.seal(key, data, about)
    assert sealing.unseal(key, sealed, about) == data
    assert sealing.seal(key, data, about) != sealed
    altered = bytearray(sealed)
    altered[place % len(altered)] ^= 1 << bit
    for wrong in (bytes(altered), sealed[:-1], b"", sealed[:31]):
        with pytest.raises(Unsealed):
            sealing.unseal(key, wrong, about)
    with pytest.raises(Unsealed):
        sealing.unseal(key, sealed, about + b"x")
    with pytest.raises(Unsealed):
        sealing.unseal(bytes(32), sealed, about)


def test_one_of_several_readers_cannot_make_a_message_for_another() -> None:
    keys = {"two": sealing.shared_key(ONE, public(TWO), "f"), "three": sealing.shared_key(ONE, public(THREE), "f")}
    to, body = sealing.seal_for(keys, b"a row", b"about")
    assert {name: sealing.unseal_one(keys[name], to[name], body, b"about") for name in keys} == {
        "two": b"a row",
        "three": b"a row",
    }
    # Two knows the key of the message. With another body it has nothing to wrap that for three.
    import hashlib

    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    inner = sealing.unseal(keys["two"], to["two"], b"about" + hashlib.sha256(body).digest())
    forged = ChaCha20Poly1305(inner).encrypt(bytes(12), b"another row", b"about")
    with pytest.raises(Unsealed):
        sealing.unseal_one(keys["three"], to["three"], forged, b"about")
    with pytest.raises(Unsealed):
        sealing.unseal_one(keys["three"], to["two"], body, b"about")


@pytest.mark.parametrize("point", [bytes(32), b"\x01" + bytes(31), b"", bytes(31), bytes(33)])
def test_a_key_that_everybody_knows_is_not_taken(point: bytes) -> None:
    with pytest.raises(Unsealed):
        sealing.shared_key(ONE, point, "fleet")


def test_parts_of_a_context_do_not_run_into_each_other() -> None:
    assert context("ab", "c") != context("a", "bc") != context("abc")


def test_keys_come_back_from_disk_and_nobody_else_reads_them(tmp_path) -> None:
    keys = Keys.made()
    keys.save(tmp_path)
    again = Keys.load(tmp_path)
    assert (again.id, again.nats_public, again.desk_public) == (keys.id, keys.nats_public, keys.desk_public)
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o600
    (tmp_path / "keys").write_bytes(b"short")
    with pytest.raises(ValueError, match="damaged"):
        Keys.load(tmp_path)
