"""Where an organisation's rules lie, and whether its key has signed them.

Rule: a key that is known makes the file needed: one that is missing, unsigned, changed, or older than one that was
seen before counts as the strictest, and no rule allows anything until it is right again.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING

from yourcall.system import private_files

if TYPE_CHECKING:  # reads rules, which nobody needs where there are none
    from yourcall.rules.organisation import Organisation

KEY, FILE, SIGNATURE = "org.pub", "org.toml", "org.toml.sig"
SEEN = "org.serial"
LARGEST = 1 << 20
# The administrator's, then the user's own.
SYSTEM = Path("/etc/yourcall")


def folder_of(home: Path, system: Path = SYSTEM) -> Path | None:
    """The folder that holds a key; the administrator's goes before the user's. None: there is no organisation."""
    return next((each for each in (system, home / "org") if _there(each / KEY)), None)


def _there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass  # it is there, and may not be looked at: it counts
    return True


class SignedRules:
    """The organisation's rules as they are now; read anew when a file changes."""

    def __init__(self, home: Path, system: Path = SYSTEM) -> None:
        self._home, self._system = home, system
        self._known: tuple[tuple[object, ...], Organisation | None] = ((), None)

    @property
    def now(self) -> Organisation | None:
        """None: there is no organisation."""
        folder = folder_of(self._home, self._system)
        if folder is None:
            return None
        mark = (folder, *(_mark(folder / name) for name in (KEY, FILE, SIGNATURE)), _mark(self._home / SEEN))
        if self._known[0] != mark:
            self._known = (mark, self._read(folder))
        return self._known[1]

    def _read(self, folder: Path) -> Organisation:
        from yourcall.rules.organisation import broken, read

        try:
            text = (folder / FILE).read_bytes()[: LARGEST + 1]
            if len(text) > LARGEST:
                return broken(f"{folder / FILE} is too large.")
            key, signature = (folder / KEY).read_text(), (folder / SIGNATURE).read_text()
        except (OSError, ValueError) as error:
            return broken(f"The organisation's rules in {folder} cannot be read: {error}.")
        if not signed_by(key, text, signature):
            return broken(f"{folder / FILE} is not signed by the key in {folder / KEY}.")
        organisation = read(text.decode("utf-8", "replace"), str(folder / FILE))
        before = self._seen()
        if organisation.serial < before:
            return broken(f"{folder / FILE} has the serial {organisation.serial}; {before} was seen before.")
        if organisation.serial > before and not organisation.rules.problems:
            try:
                private_files.write(self._home / SEEN, str(organisation.serial).encode())
            except OSError as error:
                return broken(f"Which version was seen cannot be kept: {error}.")
        return organisation

    def _seen(self) -> int:
        try:
            return int((self._home / SEEN).read_text()[:20])
        except FileNotFoundError:
            return 0
        except (OSError, ValueError):
            return 1 << 62  # nobody knows: no version is new enough


def _mark(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def signed_by(key: str, text: bytes, signature: str) -> bool:
    """Is this the signature of this key's owner for this text, as rules?"""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from yourcall.rules.organisation import SIGNED_AS

    try:
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.strip(), validate=True))
        public.verify(base64.b64decode(signature.strip(), validate=True), SIGNED_AS + text)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def new_key() -> tuple[str, str]:
    """A private key and its public half, each as a line of base64."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.generate()
    return _line(made.private_bytes_raw()), _line(made.public_key().public_bytes_raw())


def sign(private: str, text: bytes) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from yourcall.rules.organisation import SIGNED_AS

    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(private.strip(), validate=True))
    return _line(key.sign(SIGNED_AS + text))


def _line(data: bytes) -> str:
    return base64.b64encode(data).decode() + "\n"
