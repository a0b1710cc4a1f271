"""Why a yes to a prompt must be said twice, wherever it is said: in the inbox, in a chat, under a notification.

Rule: careful rather than clever, like the phone's hold. It only ever makes a yes slower, never a no; what cannot
be read, and programs that nobody here knows, count as dangerous.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, cast

from yourcall.core.commands import parts_of
from yourcall.core.effects import Part, secret_path
from yourcall.core.shell import Unread

# Letters and symbols that draw nothing: a command could hide in them although they are no control characters.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U000e0100-\U000e01ef]")

_EFFECTS = {
    "privilege": "It runs with more rights than yours.",
    "delete": "It deletes files, or work.",
    "history_rewrite": "It throws away work that git may not bring back.",
    "secrets": "It touches keys or passwords.",
    "install": "It fetches programs and may run them.",
}
_KINDS = {
    "unknown": "yourcall cannot read what exactly is asked.",
    "trust": "It lets the agent work here, and run what this folder tells it to.",
    "startup": "It changes how the agent works from now on.",
}
# Programs whose effects nobody can list (they run the project's own code), but which people allow all day.
_EVERYDAY = {
    "npm": "test run ci start t", "pnpm": "test run", "yarn": "test run build", "bun": "test run", "deno": "test",
    "cargo": "build test check clippy run fmt", "go": "build test vet run", "make": "", "ninja": "", "cmake": "",
    "pytest": "", "tox": "", "nox": "", "mypy": "", "ruff": "", "eslint": "", "prettier": "", "tsc": "",
    "jest": "", "vitest": "", "gradle": "build test", "mvn": "test package compile", "dotnet": "build test run",
    "just": "", "git": "commit merge rebase cherry-pick revert am", "uv": "run",
}  # fmt: skip
_SPEAKERS = re.compile(r"(?:python[\d.]*|node|ruby|perl|php)$")
_SYSTEM = re.compile(
    r"/(?:(?:etc|usr|bin|sbin|boot|lib|opt|sys|proc|var|root)(?:/|$)|dev/(?!null$|std|tty$|fd/)|$)"
)
_DELICATE = re.compile(
    r"(?:^|/)(?:\.claude|\.codex|\.gemini|\.yourcall|\.husky|\.git/(?:hooks|config)|\.github/workflows|\.gitconfig"
    r"|\.(?:bash|zsh|profile)\w*|crontab|authorized_keys)(?:/|$)"
)
_HEAVY_NAME = re.compile(
    r"(?:^|[^a-z])(?:delete|remove|drop|destroy|purge|truncate|revoke|kill|terminate|shutdown|publish|deploy|transfer"
    r"|pay|charge|refund|merge|send|exec(?:ute)?|eval|run|shell|sudo)(?:[^a-z]|$)"
)
_SENDS = re.compile(r"-\w*[dFTX]$|--(?:data|form|upload|json|post|method|body|request)")
_ALWAYS_HEAVY = frozenset({"chown", "chgrp", "dd", "truncate", "shred", "crontab", "kill", "pkill", "killall"})


def command_in(fields: Mapping[str, Any]) -> str:
    """The command a tool would run, as a shell would be given it; empty for a tool that runs none."""
    found = fields.get("command") or fields.get("cmd")
    if isinstance(found, list):
        words = [str(word) for word in cast("list[Any]", found)]
        spelled = len(words) == 3 and re.search(r"(?:^|/)(?:ba|z|da)?sh$", words[0]) and words[1] in ("-c", "-lc")
        return words[2] if spelled else shlex.join(words)
    return found if isinstance(found, str) else ""


def danger(kind: str, tool: str | None, fields: Mapping[str, Any] | None, hold: bool = False) -> str:
    """Why this is dangerous, in a sentence; empty if nothing speaks for it.

    `fields`: what the tool gets; `hold`: a rule wants it to be said twice.
    """
    if kind in _KINDS:
        return _KINDS[kind]
    if kind != "permission":
        return ""
    if hold:
        return "A rule of yours wants to be sure of this."
    if tool is None:
        return "yourcall knows this only from the screen: read it with care."
    if fields is None:
        return "What the tool gets cannot be shown."
    if tool == "PowerShell":
        return "yourcall does not read PowerShell."
    # What a server's tool calls its command is one field among others: its name counts first.
    plain = re.sub(r"([a-z])([A-Z])", r"\1_\2", tool.removeprefix("mcp__")).lower()
    if tool.startswith("mcp__") and _HEAVY_NAME.search(plain):
        return "By its name, this tool changes something for good."
    command = command_in(fields)
    if command:
        return in_command(command)
    if tool == "Bash":
        return "The command cannot be shown."
    paths = [value for key in ("file_path", "notebook_path", "path") if isinstance(value := fields.get(key), str)]
    if re.search(r"Edit$|^Write$", tool):
        return (
            next((words for path in paths if (words := _at(path))), "") if paths else "It does not say which file."
        )
    return ""


def hides(text: str) -> bool:
    """It holds letters that draw nothing, or turn the rest around."""
    plain = text.replace("\r\n", "\n")
    return any(not (char in "\n\t" or char.isprintable()) for char in plain) or bool(_BLANK.search(plain))


def in_command(text: str) -> str:
    """The same for one shell command."""
    if hides(text):
        return "It holds letters that cannot be seen."
    if len(text) > 50_000:
        return "It is too long to be read by eye."
    found = parts_of(text)
    if isinstance(found, Unread):
        return "yourcall cannot read it for certain."
    said = [words for part in found if (words := _in_part(part))]
    return min(said, key=lambda words: words.startswith("yourcall"), default="")


def _in_part(part: Part) -> str:
    for effect, words in _EFFECTS.items():
        if effect in part.effects:
            return words
    for ref in part.refs:
        if ref.use in ("write", "delete"):
            if ref.path is None:
                return "It writes to a file whose name is not known yet."
            if words := _at(ref.path):
                return words
    program = (part.argv[0] or "").rsplit("/", 1)[-1] if part.argv else ""
    rest = [word or "" for word in part.argv[1:]]
    if program in _ALWAYS_HEAVY:
        return "It changes or ends what is not easily brought back."
    if program == "chmod" and any(re.search(r"^-\w*R|7[0-7]?7$|[+=]\w*s", word) for word in rest):
        return "It opens files to others."
    if program in ("mv", "cp", "ln", "install") and any(re.match(r"-\w*f|--force", word) for word in rest):
        return "It may overwrite files without asking."
    if program in ("curl", "wget", "http", "https") and any(_SENDS.match(word) for word in rest):
        return "It sends something to another machine."
    if part.kind == "tool" or "unknown" not in part.effects:
        return ""
    return _unknown(program, rest, network="network" in part.effects)


def _unknown(program: str, rest: list[str], *, network: bool) -> str:
    """Of a program whose effects the tables do not hold."""
    if network:
        return "It may change what others see, or another machine."
    if _SPEAKERS.match(program) and rest and re.match(r"[\w./-]+\.\w+$", rest[0]) and not rest[0].startswith("-"):
        return ""
    if program == "git" and rest[:1] == ["-c"]:
        return "It changes how git works; git can be told to run programs."
    verbs = _EVERYDAY.get(program)
    if verbs is not None and (not verbs or (rest and rest[0] in verbs.split())):
        return ""
    return "yourcall does not know what this program does." if program else "What it starts is not known yet."


def _at(path: str) -> str:
    if secret_path(path) or _DELICATE.search(path):
        return "It changes a file that holds keys, or runs by itself."
    return "It changes this machine itself." if _SYSTEM.match(path) else ""
