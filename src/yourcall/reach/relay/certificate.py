"""The certificate for the name at the relay: where it lies, when it is due, and who is shown which one.

Rule: key and certificates are one file, so that they always fit together, and nobody else may read it.
"""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from yourcall.reach import certificates
from yourcall.reach.relay.messages import ACME
from yourcall.reach.way import Relay
from yourcall.system import private_files

DIRECTORY = "https://acme-v02.api.letsencrypt.org/directory"


class Account(msgspec.Struct, frozen=True):
    """At an authority. `issuers`: how the authority calls itself in DNS (CAA)."""

    directory: str
    uri: str
    key: dict[str, str]
    issuers: tuple[str, ...] = ()


class Problems(msgspec.Struct, frozen=True):
    """What is wrong, as the daemon saw it last: with the connection to the relay, and with the certificate."""

    relay: str = ""
    certificate: str = ""


def machine_key(home: Path) -> Path:
    return home / "tls" / "relay.id"


def challenge_file(home: Path) -> Path:
    return home / "tls" / "challenge.pem"


def account_file(home: Path) -> Path:
    return home / "tls" / "acme.json"


def chain(home: Path, relay: Relay) -> tuple[Path, Path]:
    """The certificate with those that vouch for it, and its key: ours in one file, or the person's own."""
    ours = home / "tls" / "relay.pem"
    return (Path(relay.certificate), Path(relay.key)) if relay.certificate else (ours, ours)


def leaf(home: Path, relay: Relay) -> x509.Certificate | None:
    """What phones are shown; None as long as there is none that can be read."""
    try:
        return certificates.leaf(chain(home, relay)[0])
    except (OSError, ValueError):
        return None


def due_in(home: Path, relay: Relay, name: str) -> float:
    """Seconds until it is to be renewed, which is when a third of its time is left; negative if it is due."""
    certificate = leaf(home, relay)
    if certificate is None or name not in names_of(certificate):
        return -1.0
    began, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    due = ends - (ends - began) / 3
    return (due - datetime.datetime.now(datetime.UTC)).total_seconds()


def names_of(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.DNSName)


def der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def context(home: Path, relay: Relay) -> ssl.SSLContext:
    """For phones. OSError: there is no certificate, or it does not fit its key."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    made.load_cert_chain(*chain(home, relay))
    return made


def challenge_context(home: Path) -> ssl.SSLContext:
    """For an authority that looks whether the name is ours. OSError: nobody has asked it to."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols([ACME.decode()])
    made.load_cert_chain(challenge_file(home))
    return made


def caa_record(home: Path, name: str) -> str:
    """What in the name's DNS lets only this machine's account get certificates for it; empty without one."""
    try:
        account = msgspec.json.decode(account_file(home).read_bytes(), type=Account)
    except (OSError, msgspec.MsgspecError):
        return ""
    return f'{name}. CAA 0 issue "{account.issuers[0]}; accounturi={account.uri}"' if account.issuers else ""


def note_problems(home: Path, problems: Problems) -> None:
    private_files.write(home / "tls" / "relay.json", msgspec.json.encode(problems))


def problems(home: Path) -> Problems:
    try:
        return msgspec.json.decode((home / "tls" / "relay.json").read_bytes(), type=Problems)
    except (OSError, msgspec.MsgspecError):
        return Problems()
