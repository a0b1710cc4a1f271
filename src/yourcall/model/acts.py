"""Who signed what somebody wants done: the word of a device that was verified, wherever the check was made.

Rule: a value of this type says that the signature, the device and the time were verified; it is made nowhere
else."""

from __future__ import annotations

from msgspec import Struct


class SignedAct(Struct, frozen=True):
    """`device`: the id that its key has; `name`: as the owner let it in. `id`: the act's own, the same
    however often it comes. `at`: when it was signed. `shown`: the digest of the prompt as it was shown, ""
    where none was."""

    device: str
    name: str
    id: str
    at: float
    shown: str = ""
