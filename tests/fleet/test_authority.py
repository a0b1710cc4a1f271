"""What the authority signs is believed; what anybody else says, or says in another place, is not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from yourcall.fleet.authority import Authority
from yourcall.fleet.certificates import (
    Device,
    Member,
    MemberRole,
    NotSigned,
    Roster,
    Signed,
    device_id,
    sign,
    verify,
)
from yourcall.fleet.keys import Keys
from yourcall.model.prompts import Refused


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path)
    made.make()
    return made


def admitted(authority: Authority, name: str = "anna", *roles: MemberRole) -> tuple[Keys, Signed]:
    keys = Keys.made()
    signed = authority.admit(name, keys.seal_public, keys.nats_public, roles or ("host", "hub"))
    assert isinstance(signed, Signed)
    return keys, signed


def test_a_certificate_of_another_authority_is_not_believed(authority: Authority, tmp_path: Path) -> None:
    _, signed = admitted(authority)
    assert verify(authority.public, signed, Member, authority.fleet).name == "anna"
    other = Authority(tmp_path / "other")
    (tmp_path / "other").mkdir()
    other.make()
    with pytest.raises(NotSigned):
        verify(other.public, signed, Member, authority.fleet)
    with pytest.raises(NotSigned, match="another fleet"):
        verify(authority.public, signed, Member, other.fleet)


def test_one_kind_of_certificate_never_stands_for_another(authority: Authority) -> None:
    keys, signed = admitted(authority)
    device = authority.allow("phone", keys.desk_public, ("read", "answer"))
    assert isinstance(device, Signed)
    kinds = {Member: signed, Device: device, Roster: authority.roster()}
    for kind, value in kinds.items():
        verify(authority.public, value, kind, authority.fleet)
        for other in kinds:
            if other is not kind:
                with pytest.raises(NotSigned):
                    verify(authority.public, value, other, authority.fleet)


def test_an_altered_certificate_is_not_believed(authority: Authority) -> None:
    _, signed = admitted(authority)
    for place in range(0, len(signed.body), 7):
        altered = bytearray(signed.body)
        altered[place] ^= 1
        with pytest.raises(NotSigned):
            verify(authority.public, Signed(bytes(altered), signed.signature), Member, authority.fleet)


def test_a_signed_value_of_the_wrong_form_is_no_certificate(authority: Authority) -> None:
    class Odd(msgspec.Struct, tag="member"):
        fleet: str

    odd = sign(authority.key, Odd(authority.fleet))  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotSigned):
        verify(authority.public, odd, Member, authority.fleet)


def test_who_was_removed_is_out_with_its_desk_and_cannot_come_back(authority: Authority) -> None:
    keys, _ = admitted(authority)
    desk = authority.allow("anna (desk)", keys.desk_public, ("answer",), keys.id)
    assert isinstance(desk, Signed)
    before = verify(authority.public, authority.roster(), Roster, authority.fleet)
    assert [hub.id for hub in before.hubs] == [keys.id]
    authority.remove((keys.id,))
    after = verify(authority.public, authority.roster(), Roster, authority.fleet)
    assert after.serial > before.serial
    assert after.hubs == ()
    assert set(after.revoked) == {keys.id, device_id(keys.desk_public)}
    assert authority.members() == []
    again = authority.admit("anna", keys.seal_public, keys.nats_public, ("host",))
    assert isinstance(again, Refused)


def test_two_machines_have_two_names(authority: Authority) -> None:
    names = [
        verify(authority.public, admitted(authority, "web")[1], Member, authority.fleet).name for _ in range(3)
    ]
    assert names == ["web", "web 2", "web 3"]
    other = authority.members()[0]
    assert isinstance(authority.rename(other.id, "WEB 2"), Refused)
    assert isinstance(authority.rename(other.id, "db"), Signed)


def test_an_export_is_worth_nothing_without_its_passphrase(authority: Authority, tmp_path: Path) -> None:
    admitted(authority)
    sealed = authority.exported("correct horse")
    fleet, public = authority.fleet, authority.public
    assert (
        Ed25519PrivateKey.from_private_bytes(authority.key.private_bytes_raw()).private_bytes_raw() not in sealed
    )
    authority.forget()
    assert not authority.here
    assert isinstance(authority.take(sealed, "wrong horse", fleet), Refused)
    assert isinstance(authority.take(sealed[:-1], "correct horse", fleet), Refused)
    assert isinstance(authority.take(sealed, "correct horse", "aaaaaaaaaa"), Refused)
    assert authority.take(sealed, "correct horse", fleet) is None
    assert authority.public == public
    assert [each.name for each in authority.members()] == ["anna"]
