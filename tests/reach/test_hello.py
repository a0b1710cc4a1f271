"""Which name a ClientHello asks for: read as OpenSSL reads it, or refused."""

from __future__ import annotations

import ssl
import sys
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yourcall.reach.relay.hello import LARGEST, MOST_RECORDS, Hello, Incomplete, Malformed, is_name, read


def client_hello(name: str | None, *protocols: str, context: ssl.SSLContext | None = None) -> bytes:
    """What OpenSSL's client begins with."""
    context = context or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    outgoing = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def name_by_openssl(data: bytes) -> str | Malformed | None:
    """The name that OpenSSL's server takes it to ask for; `Malformed` if it does not come so far."""
    asked: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _tls, name, _context: asked.append(name)
    incoming = ssl.MemoryBIO()
    incoming.write(data)
    # Python hands the name on only if it is ASCII, and complains to nobody in particular if it is not.
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        with suppress(ssl.SSLError):
            context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True).do_handshake()
    finally:
        sys.unraisablehook = hook
    return asked[0] if asked else Malformed("OpenSSL refused it")


def vector(size: int, data: bytes) -> bytes:
    return len(data).to_bytes(size) + data


def sni(*names: bytes, kind: int = 0) -> tuple[int, bytes]:
    return 0, vector(2, b"".join(bytes([kind]) + vector(2, name) for name in names))


def alpn(*protocols: bytes) -> tuple[int, bytes]:
    return 16, vector(2, b"".join(vector(1, each) for each in protocols))


# What a client of TLS 1.2 must send besides, for OpenSSL to go on to the name.
GROUPS = (10, vector(2, b"\x00\x1d\x00\x17"))
SIGNATURES = (13, vector(2, b"\x04\x03\x08\x04"))


def message(
    *extensions: tuple[int, bytes], session: bytes = b"", ciphers: bytes = b"\xc0\x2b\xc0\x2f", tail: bytes = b"",
    compression: bytes = b"\x00", version: bytes = b"\x03\x03",
) -> bytes:  # fmt: skip
    listed = b"".join(kind.to_bytes(2) + vector(2, content) for kind, content in extensions)
    body = version + bytes(32) + vector(1, session) + vector(2, ciphers) + vector(1, compression)
    return b"\x01" + vector(3, body + vector(2, listed) + tail)


def record(data: bytes, kind: int = 22) -> bytes:
    return bytes([kind, 3, 1]) + vector(2, data)


def records(data: bytes, *sizes: int) -> bytes:
    """In records of these sizes, and one with the rest."""
    made = b""
    for size in sizes:
        made, data = made + record(data[:size]), data[size:]
    return made + record(data)


GOOD = message(sni(b"desk.example.net"), alpn(b"h2", b"http/1.1"), GROUPS, SIGNATURES)
WANTED = Hello("desk.example.net", (b"h2", b"http/1.1"))


def test_a_real_client_is_read() -> None:
    assert read(client_hello("desk.example.net", "yourcall-relay/1")) == Hello(
        "desk.example.net", (b"yourcall-relay/1",)
    )
    assert read(client_hello("DESK.Example.net")) == Hello("desk.example.net", ())
    assert read(client_hello(None)) == Hello("", ())
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert read(client_hello("localhost", context=old)) == Hello("localhost", ())


def test_it_may_come_in_any_pieces() -> None:
    data = client_hello("desk.example.net", "h2")
    wanted = read(data)
    for end in range(len(data)):
        so_far = read(data[:end])
        assert isinstance(so_far, Incomplete)
        assert end < so_far.needed <= len(data)
    for sizes in ((1,), (3, 1), (1,) * 20, (len(data) - 6,)):
        assert read(records(data[5:], *sizes)) == wanted
    assert read(data + b"\x14\x03\x03\x00\x01\x01" + record(b"early", 23)) == wanted  # what follows is not ours


def test_what_is_unknown_is_passed_over() -> None:
    """GREASE, a hello that is encrypted (ECH, or GREASE of it), and an extension of the year 2040."""
    greased = message(
        (0x0A0A, b""), sni(b"desk.example.net"), (0xFE0D, b"\x00" + bytes(120)), alpn(b"\x2a\x2a", b"http/1.1"),
        (0x3A3A, b"\x00"), (0x7777, b"?" * 300), session=bytes(32), ciphers=b"\xda\xda\x13\x01",
    )  # fmt: skip
    assert read(record(greased)) == Hello("desk.example.net", (b"\x2a\x2a", b"http/1.1"))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: desk.example.net\r\n\r\n",
        b"\x80\x2e\x01\x00\x02",  # SSL 2
        b"SSH-2.0-OpenSSH_9.2\r\n",
        record(GOOD, 23),
        b"\x16\x02\x00" + vector(2, GOOD),
        record(b"") + record(GOOD),
        record(b"\x02" + GOOD[1:]),  # a ServerHello
        b"\x16\x03\x01\xff\xff" + GOOD,
        record(GOOD + b"\x00"),
        record(GOOD[:9]) + record(GOOD[9:], 23),
        record(GOOD[:9]) + record(b"\x01", 21) + record(GOOD[9:]),
        records(GOOD, *(1,) * MOST_RECORDS),
        record(b"\x01" + (LARGEST + 1).to_bytes(3)),
        record(message(sni(b"desk.example.net"), tail=b"\x00")),
        record(message(sni(b"desk.example.net"), session=bytes(33))),
        record(message(sni(b"desk.example.net"), ciphers=b"")),
        record(message(sni(b"desk.example.net"), ciphers=b"\x13\x01\x13")),
        record(message(sni(b"desk.example.net"), compression=b"\x01")),
        record(message(sni(b"desk.example.net"), version=b"\x02\x03")),
        record(message(sni(b"desk.example.net"), sni(b"other.example.net"))),
        record(message(sni(b"desk.example.net", b"other.example.net"))),
        record(message(sni(b"desk.example.net", kind=1))),
        record(message((0, vector(2, b"")))),
        record(message((0, b""))),
        record(message((0, sni(b"desk.example.net")[1] + b"\x00"))),
        record(message(alpn())),
        record(message(alpn(b""))),
        record(message((16, b"\x00\x09\x02h2"))),
        *(
            record(message(sni(name)))
            for name in (
                b"", b".", b"desk.example.net.", b".desk.example.net", b"desk..example.net", b"a" * 64 + b".net",
                b"x." * 127 + b"net", b"desk.net\x00.evil.net", b"127.0.0.1", b"::1", b"desk_1.example.net",
                b"-desk.example.net", b"desk-.example.net", "d\u00e9sk.example.net".encode(), b"*.example.net",
                b"desk.example.net:443", b"desk.example.net\n", b"../../etc", b"desk.example.123",
            )
        ),
    ],
    ids=lambda data: data[:60].hex(),
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_refused(data: bytes) -> None:
    assert isinstance(read(data), Malformed)


def test_names() -> None:
    assert is_name("desk.example.net")
    assert is_name("localhost")
    assert is_name("xn--dsk-bma.example.net")
    assert not is_name("Desk.example.net")
    assert not is_name("10.0.0.1")
    assert not is_name("desk.example.net\n")


# -- held against OpenSSL: whoever is let through is somebody whom the machine's TLS takes for the same

changes = st.lists(
    st.tuples(st.sampled_from(("flip", "drop", "put")), st.integers(0, 600), st.binary(min_size=1, max_size=4)),
    max_size=6,
)


def changed(data: bytes, how: list[tuple[str, int, bytes]]) -> bytes:
    for kind, place, new in how:
        at = place % (len(data) + 1)
        cut = {"flip": len(new), "drop": len(new), "put": 0}[kind]
        data = data[:at] + (b"" if kind == "drop" else new) + data[at + cut :]
    return data


def test_openssl_is_asked_at_all() -> None:
    """Else the comparisons below would compare nothing."""
    assert name_by_openssl(client_hello("desk.example.net", "h2")) == "desk.example.net"
    assert name_by_openssl(records(GOOD, 7)) == "desk.example.net"
    assert name_by_openssl(record(message(GROUPS, SIGNATURES))) is None


def agrees_with_openssl(data: bytes) -> None:
    mine, theirs = read(data), name_by_openssl(data)
    if isinstance(mine, Hello) and not isinstance(theirs, Malformed):
        assert mine.name == (theirs or "").lower()


@given(changes)
@example([])
def test_a_changed_hello_is_no_other_name(how: list[tuple[str, int, bytes]]) -> None:
    agrees_with_openssl(changed(client_hello("desk.example.net", "h2"), how))
    agrees_with_openssl(changed(record(GOOD), how))


labels = st.from_regex(rb"\A[A-Za-z0-9.\x00_-]{1,20}\Z")
some = st.one_of(
    st.builds(
        lambda names, kind: sni(*names, kind=kind), st.lists(labels, max_size=2), st.sampled_from((0, 0, 0, 1))
    ),
    st.builds(lambda names: alpn(*names), st.lists(st.binary(max_size=9), max_size=3)),
    st.tuples(st.sampled_from((0, 16, 23, 35, 43, 51, 0x0A0A, 0xFE0D, 0xFF01)), st.binary(max_size=12)),
)


@given(st.lists(some, max_size=4), st.binary(max_size=33), st.lists(st.integers(1, 40), max_size=3))
def test_a_made_up_hello_is_no_other_name(
    extensions: list[tuple[int, bytes]], session: bytes, sizes: list[int]
) -> None:
    agrees_with_openssl(records(message(*extensions, GROUPS, SIGNATURES, session=session), *sizes))


@given(st.binary(max_size=400))
def test_noise_is_never_a_fault_of_ours(data: bytes) -> None:
    read(data)
    agrees_with_openssl(record(b"\x01" + vector(3, data)) if data else b"\x16")
