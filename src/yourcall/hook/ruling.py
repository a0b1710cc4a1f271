"""Asked before a tool runs: do the rules decide? The agent waits for this, and silence lets the tool run.

Stand-alone like `hook.py`, which loads it.

Rules
  * The daemon is asked first. Its word that the rules have nothing to say counts; its silence does not.
  * A daemon whose heartbeat has stopped is not waited for; one that began to hang a moment ago is, until it has.
  * A daemon that is down, hung or crowded out is replaced by a look at the rules from here, which can deny and ask
    but never allow. That look has a hard limit.
  * Whatever else goes wrong is raised: then the launcher says `ask`, if there are rules at all.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    Connect = Callable[[str], socket.socket | None]
    Greeting = Callable[[str, str, str, bytes, Sequence[tuple[str, object]]], bytes]
    Hung = Callable[[str], bool]

DAEMON_S = 2.0  # a daemon that needs longer is hung, and the rules are looked at from here
LOOK_S = 0.2  # so often its heartbeat is looked at meanwhile
ALONE_S = 5.0  # so long that look may take; then the system ends us
RULES_FILE = "rules.toml"  # in yourcall's home, and below `.yourcall` in a project
ORG_KEY = "org.pub"  # in /etc/yourcall, or below `org` in yourcall's home: an organisation's rules hold here


def rule(
    agent: str,
    payload: bytes,
    home: str,
    connect: Connect,
    greeting: Greeting,
    hung: Hung,
    package: str,
    user: str,
) -> None:
    """Print what the rules say to this call; nothing, if they have nothing to say. `package`: the folder that
    yourcall lies in; `user`: the person's own home, whatever the environment says."""
    if not payload or not ruled(agent, payload, home, connect, greeting, hung):
        ruled_alone(agent, payload, home, package, user)


def ruled(agent: str, payload: bytes, home: str, connect: Connect, greeting: Greeting, hung: Hung) -> bool:
    """Print what the rules say to this call, if they say anything. False: the daemon did not tell."""
    sock = None if hung(home) else connect(home)
    if sock is None:
        return False
    started = (("started", time.time()),)
    rest = greeting(agent, "Rules", os.urandom(8).hex(), payload, started)
    end = time.monotonic() + DAEMON_S
    heard = b""
    watched = select.poll()
    while (left := end - time.monotonic()) > 0:
        watched.register(sock.fileno(), select.POLLIN | (select.POLLOUT if rest else 0))
        if not watched.poll(min(left, LOOK_S) * 1000):
            if hung(home):
                return False
            continue
        try:
            if rest:
                rest = rest[sock.send(rest) :]
                continue
            part = sock.recv(1 << 16)
        except BlockingIOError:
            continue
        except OSError:
            return False
        heard += part
        line, whole, body = heard.removeprefix(b"hold\n").partition(b"\n")
        words = line.split(b" ")
        if whole and words[0] != b"answer":
            return words[0] == b"release"  # nothing but this one word means that the rules have nothing to say
        if whole and len(body) >= int(words[3]):
            os.write(1, body[: int(words[3])])
            try:  # noqa: SIM105 - to import what is for this takes longer than all the rest
                sock.send(b"wrote " + words[1] + b"\n")
            except OSError:
                pass  # it has ended since; what it said is said
            return True
        if not part:
            return False
    return False


def ruled_alone(agent: str, payload: bytes, home: str, package: str, user: str) -> None:
    """Print what the rules have against this call, without a daemon."""
    import json

    asked = json.loads(payload)
    folders = [str(asked.get("cwd") or ""), os.environ.get("CLAUDE_PROJECT_DIR", "")]
    ours = (os.path.join(home, RULES_FILE), os.path.join(home, "org", ORG_KEY), f"/etc/yourcall/{ORG_KEY}")
    if not any(map(is_there, ours)) and not any(has_rules(each) for each in folders):
        return
    import signal

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, ALONE_S)
    import site

    sys.path.remove(home)
    site.main()  # we were started without: it finds the packages of this Python
    sys.path.append(package)
    os.environ["HOME"] = user
    from yourcall.hook.without_daemon import objection

    os.write(1, objection(agent, payload, home, folders))


def has_rules(folder: str) -> bool:
    """Is there a project's rules file here, or in a folder around this one?"""
    folder = os.path.realpath(folder) if folder.startswith("/") else ""
    while folder:
        if is_there(os.path.join(folder, ".yourcall", RULES_FILE)):
            return True
        folder = os.path.dirname(folder) if folder != "/" else ""
    return False


def is_there(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass  # it may not be looked at: it may say something
    return True
