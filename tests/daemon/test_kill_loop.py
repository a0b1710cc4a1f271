"""kill -9 at any moment loses nothing acknowledged: no prompt that was shown, no answer that was taken."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import TYPE_CHECKING

from kit.poll import until
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    import socket
    from pathlib import Path

KILLS = 10
HOLDERS = 4


class FakeHook(threading.Thread):
    """Holds one request as hook.py does: same words on the same socket, reconnects, writes at most once.

    Every second one is slow: it reads its answer only when the daemon that sent it is dead, so that nothing but
    what was on disk before that can tell the next one of it.
    """

    def __init__(self, yourcall: Yourcall, number: int, died: threading.Event) -> None:
        super().__init__(daemon=True)
        self.slow = died if number % 2 else None
        self.yourcall, self.id = yourcall, f"hook{number:06d}"
        self.payload = json.dumps(
            {"session_id": f"session-{number}", "tool_name": "Bash", "tool_input": {"command": f"echo {number}"}}
        ).encode()
        self.written: list[str] = []
        self.stopped = False

    def run(self) -> None:
        tries = 0
        while not self.stopped and not self.written:
            try:
                with self.yourcall.connect("hook.sock") as sock:
                    sock.settimeout(0.2)
                    env = f"again={tries}"
                    tries += 1
                    head = f"yourcall/1 claude PermissionRequest {self.id} {len(env)} {len(self.payload)}\n{env}"
                    sock.sendall(head.encode() + self.payload)
                    self._hold(sock)
            except OSError:
                pass
            time.sleep(0.05)  # as the hook itself does between two tries

    def _hold(self, sock: socket.socket) -> None:
        heard = b""
        if self.slow is not None:
            self.slow.wait(30)
        while not self.stopped:
            try:
                part = sock.recv(65536)
            except TimeoutError:
                continue
            if not part:
                return
            heard += part
            for line in heard.split(b"\n"):
                if line.startswith(b"release"):
                    self.stopped = True
                    return
                if line.startswith(b"answer "):
                    self.written.append(line.split()[1].decode())
                    sock.sendall(f"wrote {self.written[-1]}\n".encode())
                    return


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    chance = random.Random(7)
    yourcall = Yourcall(tmp_path)
    yourcall.start()
    hooks: list[FakeHook] = []
    shown: set[str] = set()
    taken: dict[str, str] = {}
    for _ in range(KILLS):
        died = threading.Event()
        for _ in range(HOLDERS):
            hooks.append(FakeHook(yourcall, len(hooks), died))
            hooks[-1].start()
        stop = threading.Event()
        people = [
            threading.Thread(target=answer_what_is_there, args=(yourcall, stop, shown, taken, n)) for n in range(2)
        ]
        for person in people:
            person.start()
        time.sleep(chance.uniform(0.02, 0.4))  # the moment of death is what is being tried
        yourcall.kill()
        died.set()
        stop.set()
        for person in people:
            person.join()
        yourcall.start()
        rows = {row["id"]: row for row in yourcall.http("GET", "/api/prompts?all=1&limit=500")[1]}
        assert shown <= set(rows), "a prompt that was shown is gone"
        for prompt_id in taken:
            assert rows[prompt_id]["state"] != "open" or not rows[prompt_id]["held"], rows[prompt_id]

    # Whatever was taken reaches its one holder, once; whatever was not can still be answered.
    assert taken
    for hook in hooks:
        if hook.id in taken:
            until(lambda hook=hook: hook.written, what=f"{hook.id} to be handed its answer")
        assert len(hook.written) <= 1
    handed = {hook.id for hook in hooks if hook.written}
    assert set(taken) <= handed
    for hook in hooks:
        hook.stopped = True
    yourcall.stop()


def answer_what_is_there(
    yourcall: Yourcall, stop: threading.Event, shown: set[str], taken: dict[str, str], number: int
) -> None:
    """A person who answers the first open prompt, again and again, and remembers what they were told."""
    while not stop.is_set():
        try:
            status, rows = yourcall.http("GET", "/api/prompts")
            shown.update(row["id"] for row in rows)
            waiting = [row for row in rows if row["state"] == "open" and row["held"]]
            if status == 200 and waiting:
                chosen = waiting[number % len(waiting)]["id"]
                status, reply = yourcall.http("POST", f"/api/prompts/{chosen}/answer", {"option": "allow"})
                if status == 202:
                    taken[chosen] = reply["result"]
        except (OSError, ValueError, EOFError):
            continue  # the daemon died under us: nothing was acknowledged
        except Exception as error:  # http.client has a family of its own for a reply that breaks off
            if type(error).__module__ != "http.client":
                raise
