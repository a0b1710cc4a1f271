"""An act is taken once, by one host, in one run, within two minutes, and only with its device's signature."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from yourcall.fleet.acts import MOST_ACTS, WINDOW_S, Act, Acts, Stale, Unsound, digest_of, statement
from yourcall.fleet.keys import point
from yourcall.system.p256 import sign, signed_by

KEY = ec.generate_private_key(ec.SECP256R1())
NOW = 1_800_000_000.0
ACT = Act("h" * 16, "d" * 16, "act-number-1", "run-of-today", int(NOW * 1000), digest_of(b"{}"), "s" * 43)


def taken(acts: Acts, act: Act) -> object:
    return acts.take(act, statement("fleet", act, "POST", "/api/x"))


def test_every_part_of_an_act_is_signed() -> None:
    text = statement("fleet", ACT, "POST", "/api/prompts/p/answer")
    signature = sign(KEY, text)
    assert signed_by(point(KEY), text, signature)
    others = [
        statement("other", ACT, "POST", "/api/prompts/p/answer"),
        statement("fleet", ACT, "GET", "/api/prompts/p/answer"),
        statement("fleet", ACT, "POST", "/api/prompts/q/answer"),
        *(
            statement("fleet", replace(ACT, **{name: value}), "POST", "/api/prompts/p/answer")
            for name, value in {
                "host": "i" * 16, "device": "e" * 16, "id": "act-number-2", "run": "run-of-before",
                "time": ACT.time + 1, "digest": digest_of(b"{ }"), "shown": "",
            }.items()
        ),
    ]  # fmt: skip
    assert len({text, *others}) == len(others) + 1
    assert not any(signed_by(point(KEY), each, signature) for each in others)


def test_the_same_act_is_one_act_and_another_of_its_id_is_refused() -> None:
    acts = Acts("run-of-today", lambda: NOW)
    assert taken(acts, ACT) is True
    assert taken(acts, ACT) is False
    assert isinstance(taken(acts, replace(ACT, digest=digest_of(b"other"))), Unsound)
    assert taken(acts, replace(ACT, device="e" * 16)) is True  # ids are each device's own


@pytest.mark.parametrize("seconds", [-WINDOW_S - 1, WINDOW_S + 1, -86_400, 86_400])
def test_an_act_of_another_time_is_stale_and_is_told_the_time(seconds: float) -> None:
    acts = Acts("run-of-today", lambda: NOW)
    late = replace(ACT, time=int((NOW + seconds) * 1000))
    assert taken(acts, late) == Stale("run-of-today", int(NOW * 1000))


def test_an_act_for_another_run_is_stale() -> None:
    assert isinstance(taken(Acts("run-of-tomorrow", lambda: NOW), ACT), Stale)


def test_an_act_is_remembered_for_longer_than_it_could_be_taken() -> None:
    clock = [NOW]
    acts = Acts("run-of-today", lambda: clock[0])
    newest = replace(ACT, time=int((NOW + WINDOW_S) * 1000))
    assert taken(acts, newest) is True
    for clock[0] in (NOW + WINDOW_S, NOW + 2 * WINDOW_S - 0.1):
        assert taken(acts, newest) is False
    clock[0] = NOW + 2 * WINDOW_S + 1
    assert isinstance(taken(acts, newest), Stale)


def test_one_device_cannot_make_a_host_forget() -> None:
    acts = Acts("run-of-today", lambda: NOW)
    for number in range(MOST_ACTS):
        assert taken(acts, replace(ACT, id=f"act-number-{number:05d}")) is True
    assert isinstance(taken(acts, replace(ACT, id="one-too-many-")), Unsound)
    assert taken(acts, replace(ACT, id="act-number-00000")) is False


def test_a_desk_signature_is_what_web_crypto_verifies() -> None:
    signature = sign(KEY, b"text")
    assert len(signature) == 86
    assert signed_by(point(KEY), b"text", signature)
    for wrong in ("", "A" * 86, signature[:-1], signature + "=", signature[:-1] + "!"):
        assert not signed_by(point(KEY), b"text", wrong)
    assert not signed_by(b"\x04" + bytes(64), b"text", signature)
