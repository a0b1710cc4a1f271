"""The socket of yourcall's home is reached from any folder that one can stand in."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

# As root nothing is unreadable: the child gives that up first (no capabilities, in the third form of the call).
CHILD = """
import ctypes, os, socket, sys
from pathlib import Path
from yourcall.system.sockets import reach_unix
if os.getuid() == 0:
    none = ctypes.create_string_buffer(24)
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    assert ctypes.CDLL(None).capset(head, none) == 0
try:
    os.listdir(".")
    sys.exit("it can be read")
except PermissionError:
    pass
before = os.stat(".").st_ino
reach_unix(Path(sys.argv[1]), "api.sock", 5).close()
assert os.stat(".").st_ino == before
"""


def test_from_a_folder_that_cannot_be_read_the_socket_is_reached(tmp_path: Path) -> None:
    """A folder that may be entered but not listed: every command failed there, as if yourcall were away."""
    closed = tmp_path / "closed"
    closed.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "api.sock"))
        listening.listen()
        closed.chmod(0o111)
        try:
            done = subprocess.run(
                [sys.executable, "-c", CHILD, str(tmp_path)],
                cwd=closed, capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
        finally:
            closed.chmod(0o755)
    assert done.returncode == 0, done.stderr
