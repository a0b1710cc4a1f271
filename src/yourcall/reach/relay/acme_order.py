"""Orders a certificate from an authority that speaks ACME: `python -m yourcall.reach.relay.acme_order HOME`.

Rule: a process of its own, so that the daemon neither waits for it nor carries what it loads. It proves the name
by TLS-ALPN-01 (RFC 8737): it leaves a certificate with the proof in the home, and the daemon shows that.
"""

# The library makes the fields of its messages at run time.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportGeneralTypeIssues=false, reportAttributeAccessIssue=false

from __future__ import annotations

import hashlib
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import requests
from acme import challenges, client, errors, messages
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from josepy.jwa import ES256
from josepy.jwk import JWK, JWKEC

from yourcall import __version__
from yourcall.reach import certificates
from yourcall.reach.relay import certificate as files
from yourcall.reach.way import Relay, read
from yourcall.system import private_files

ORDER_S = 120.0
REQUEST_S = 30
PROOF = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")  # id-pe-acmeIdentifier


class Cannot(Exception):
    """The sentence says why there is no certificate."""


# The library has dropped this challenge; the others need a port or a name server of ours.
class TlsAlpnResponse(challenges.KeyAuthorizationChallengeResponse):
    typ = "tls-alpn-01"


class TlsAlpn(challenges.KeyAuthorizationChallenge):
    typ = "tls-alpn-01"
    response_cls = TlsAlpnResponse

    def validation(self, account_key: JWK, **_: Any) -> bytes:
        return hashlib.sha256(self.key_authorization(account_key).encode()).digest()


challenges.Challenge.register(TlsAlpn)
challenges.ChallengeResponse.register(TlsAlpnResponse)


def order(home: Path, relay: Relay, name: str) -> None:
    """A certificate for this name, in its file."""
    account, acme = _enter(home, relay)
    key = ec.generate_private_key(ec.SECP256R1())
    wish = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    deadline = datetime.now() + timedelta(seconds=ORDER_S)  # local, as the library compares it
    try:
        ordered = acme.new_order(wish.public_bytes(Encoding.PEM))
        for each in ordered.authorizations:
            if each.body.status != messages.STATUS_VALID:
                _prove(home, acme, account, each, name)
        done = acme.poll_and_finalize(ordered, deadline)
    finally:
        files.challenge_file(home).unlink(missing_ok=True)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    private_files.write(files.chain(home, relay)[0], secret + done.fullchain_pem.encode())


def _enter(home: Path, relay: Relay) -> tuple[JWK, client.ClientV2]:
    """Our account at this authority; made if there is none."""
    try:
        known = msgspec.json.decode(files.account_file(home).read_bytes(), type=files.Account)
    except (OSError, msgspec.MsgspecError):
        known = None
    if known is not None and known.directory == relay.directory:
        key: JWK = JWKEC(key=JWKEC.from_json(known.key).key)  # pyright: ignore[reportCallIssue]
    else:
        known, key = None, JWKEC(key=ec.generate_private_key(ec.SECP256R1()))
    agent = f"yourcall/{__version__}"
    net = client.ClientNetwork(key, alg=ES256, user_agent=agent, timeout=REQUEST_S)
    directory = client.ClientV2.get_directory(relay.directory, net)
    acme = client.ClientV2(directory, net)
    if known is not None:
        try:
            acme.query_registration(messages.RegistrationResource(body=messages.Registration(), uri=known.uri))
        except messages.Error as error:
            if error.code != "accountDoesNotExist":
                raise
        else:
            return key, acme
    wish = messages.NewRegistration.from_data(email=relay.email or None, terms_of_service_agreed=True)
    made = acme.new_account(wish)
    issuers = tuple(getattr(getattr(directory, "meta", None), "caa_identities", None) or ())
    account = files.Account(relay.directory, made.uri, key.to_json(), issuers)
    private_files.write(files.account_file(home), msgspec.json.encode(account))
    return key, acme


def _prove(
    home: Path, acme: client.ClientV2, account: JWK, wanted: messages.AuthorizationResource, name: str
) -> None:
    for offered in wanted.body.challenges:
        if isinstance(offered.chall, TlsAlpn):
            proof = b"\x04\x20" + offered.chall.validation(account)  # as DER: 32 octets
            shown = certificates.self_signed(name, x509.UnrecognizedExtension(PROOF, proof))
            private_files.write(files.challenge_file(home), shown)
            acme.answer_challenge(offered, offered.chall.response(account))
            return
    raise Cannot("The certificate authority does not offer TLS-ALPN-01.")


def reason_of(error: Exception) -> str:
    """In words for the person; what the authority says is quoted, and not trusted to be short."""
    if isinstance(error, Cannot):
        return str(error)
    if isinstance(error, errors.ValidationError):
        said = [each.error.detail for one in error.failed_authzrs for each in one.body.challenges if each.error]
        return f"The certificate authority could not reach this machine: {'; '.join(map(str, said))}"
    if isinstance(error, errors.IssuanceError):
        return f"The certificate authority refuses: {error.error.detail}"
    if isinstance(error, messages.Error):
        return f"The certificate authority refuses: {error.detail or error.code}"
    if isinstance(error, errors.TimeoutError):
        return "The certificate authority did not come to a decision in time."
    if isinstance(error, requests.RequestException):
        return f"The certificate authority can't be reached ({type(error).__name__})."
    return f"There is no certificate: {type(error).__name__}: {error}"


def main() -> None:
    home = Path(sys.argv[1])
    way = read(home)
    if way is None or way.relay is None:
        sys.exit("This machine has no relay.")
    try:
        order(home, way.relay, way.names[0])
    except Exception as error:  # it is told by the daemon, whatever it is
        sys.exit(" ".join(reason_of(error).split())[:400])


if __name__ == "__main__":
    main()
