"""A certificate authority for one machine, and the certificate that the daemon shows to phones at home.

Rule: the authority's key never leaves the home (mode 0600). The authority can vouch for this machine's names and
addresses only, so whoever steals its key can't pose as any other machine.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from yourcall.system import private_files

AUTHORITY_DAYS = 3650
CERTIFICATE_DAYS = 397  # browsers refuse longer ones
RENEW_DAYS = 30  # before it ends; the daemon looks each day
CLOCK_SLACK = datetime.timedelta(hours=24)  # a phone's clock may be behind ours


class Files(NamedTuple):
    authority: Path
    authority_key: Path
    certificate: Path
    key: Path


def files(home: Path) -> Files:
    folder = home / "tls"
    return Files(
        folder / "authority.pem", folder / "authority.key", folder / "machine.pem", folder / "machine.key"
    )


def make(home: Path, names: tuple[str, ...]) -> Files:
    """The authority and the certificate for these names; those that are there already and fit are kept."""
    paths = files(home)
    paths.authority.parent.mkdir(mode=0o700, exist_ok=True)
    if not _vouches(paths, names):
        _make_authority(paths, names)
        _make_certificate(paths, names)
    elif _ends_soon(paths.certificate) or _names_of(paths.certificate) != set(names):
        _make_certificate(paths, names)
    return paths


def renew(home: Path) -> bool:
    """Make the certificate anew if it ends soon; True if that was done."""
    paths = files(home)
    if not paths.certificate.is_file() or not _ends_soon(paths.certificate):
        return False
    _make_certificate(paths, tuple(sorted(_names_of(paths.certificate))))
    return True


def fingerprint(certificate: Path) -> str:
    """SHA-256 as phones show it: `AB:CD:…`."""
    digest = _read(certificate).fingerprint(hashes.SHA256()).hex().upper()
    return ":".join(digest[i : i + 2] for i in range(0, len(digest), 2))


def self_signed(name: str, extension: x509.ExtensionType | None = None) -> bytes:
    """A key and a certificate that nobody vouches for, as PEM: others know it by its digest, or by `extension`."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([_name(name.replace(" ", "-"))])
    builder = (
        _builder(_subject(name), _subject(name), key.public_key(), AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
    )
    if extension is not None:
        builder = builder.add_extension(extension, critical=True)
    return _key_pem(key) + builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def leaf(file: Path) -> x509.Certificate:
    """The first certificate in the file, which may hold others and a key besides."""
    return _read(file)


def _vouches(paths: Files, names: tuple[str, ...]) -> bool:
    """Is there an authority that may vouch for all these names?"""
    try:
        allowed = _read(paths.authority).extensions.get_extension_for_class(x509.NameConstraints).value
        _read_key(paths.authority_key)
        _read(paths.certificate)
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    permitted = {_plain(name) for name in allowed.permitted_subtrees or ()}
    return set(names) <= permitted


def _make_authority(paths: Files, names: tuple[str, ...]) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(f"yourcall on {names[0]}")
    permitted = [_constraint(name) for name in names]
    builder = (
        _builder(subject, subject, key.public_key(), AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(permitted_subtrees=permitted, excluded_subtrees=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    _write_key(paths.authority_key, key)
    _write_certificate(paths.authority, builder.sign(key, hashes.SHA256()))


def _make_certificate(paths: Files, names: tuple[str, ...]) -> None:
    authority, signer = _read(paths.authority), _read_key(paths.authority_key)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_subject(names[0]), authority.subject, key.public_key(), CERTIFICATE_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    _write_key(paths.key, key)
    _write_certificate(paths.certificate, builder.sign(signer, hashes.SHA256()))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SLACK)
        .not_valid_after(now - CLOCK_SLACK + datetime.timedelta(days=days))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates, key_cert_sign=signs_certificates, crl_sign=signs_certificates,
        content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _constraint(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_network(name))  # an address alone is the network of just this one
    except ValueError:
        return x509.DNSName(name)


def _plain(name: x509.GeneralName) -> str:
    return str(name.value.network_address) if hasattr(name.value, "network_address") else str(name.value)


def _names_of(certificate: Path) -> set[str]:
    names = _read(certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}


def _ends_soon(certificate: Path) -> bool:
    left = _read(certificate).not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    return left < datetime.timedelta(days=RENEW_DAYS)


def _read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{path} holds another kind of key")
    return key


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    private_files.write(path, _key_pem(key))


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain)


def _write_certificate(path: Path, certificate: x509.Certificate) -> None:
    private_files.write(path, certificate.public_bytes(serialization.Encoding.PEM))
    os.chmod(path, 0o644)  # public by nature
