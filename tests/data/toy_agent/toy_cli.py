"""The toy as a program in a terminal: it asks before it runs what its model says, and its plugin tells of it.

What it does wrong is named by its own file name: `toy-deaf` tells nobody, `toy-mute` never says what became of a
request, `toy-liar` runs what was denied and says that it did not.
"""

import json
import os
import re
import select
import socket
import subprocess
import sys
import termios
import tty
import urllib.request
from itertools import count
from pathlib import Path

WRONG = Path(sys.argv[0]).name.partition("-")[2]
numbers = count(1)


def plugin() -> socket.socket:
    """A connection, as the file says that setup wrote."""
    text = (Path.home() / ".toy" / "plugin" / "yourcall.js").read_text()
    (launcher,) = re.findall(r"dial\('(.*)'\)", text)
    home = next(each for each in Path(launcher).parents if (each / "plugin.sock").exists())
    os.chdir(home)
    line = socket.socket(socket.AF_UNIX)
    line.connect("plugin.sock")
    about = json.dumps({"session": f"toy-{os.getpid()}", "cwd": os.environ["PWD"]})
    line.sendall(f"yourcall/1 toy {about}\n".encode())
    os.chdir(os.environ["PWD"])
    return line


def model(words: str) -> list[str]:
    """The commands that it calls for."""
    body = {"model": "toy", "tools": [{}], "stream": True, "messages": [{"role": "user", "content": words}]}
    request = urllib.request.Request(os.environ["TOY_MODEL"] + "/chat/completions", json.dumps(body).encode())
    found = []
    with urllib.request.urlopen(request) as reply:
        for line in reply:
            if line.startswith(b"data: {"):
                for call in json.loads(line[6:])["choices"][0]["delta"].get("tool_calls", []):
                    found.append(json.loads(call["function"]["arguments"])["command"])
    return found


def ask(line: socket.socket, command: str) -> bool:
    """The first answer wins: a key, or a line of the plugin's."""
    name = f"r{next(numbers)}"
    if WRONG != "deaf":
        tell(line, type="asked", id=name, command=command)
    print(f"Run {command}? (y/n)", flush=True)
    allowed = None
    while allowed is None:
        ready, _, _ = select.select([0, line], [], [])
        if 0 in ready:
            allowed = {b"y": True, b"n": False}.get(os.read(0, 1))
        elif b'"answer"' in (heard := line.recv(4096)):
            allowed = json.loads(heard)["allow"]
    if WRONG != "mute":
        tell(line, type="replied", id=name, allowed=allowed)
    return allowed or WRONG == "liar"


def tell(line: socket.socket, **message: object) -> None:
    line.sendall(json.dumps(message).encode() + b"\n")


def main() -> None:
    if "--version" in sys.argv:
        print("1.0.0")
        return
    os.environ["PWD"] = os.getcwd()
    before = termios.tcgetattr(0)
    line = plugin()
    while True:
        termios.tcsetattr(0, termios.TCSANOW, before)
        words = input("toy> ")
        tty.setcbreak(0)
        for command in model(words):
            if ask(line, command):
                subprocess.run(["/bin/sh", "-c", command], check=False)
            print("\033[2J\033[H", end="", flush=True)


if __name__ == "__main__":
    main()
