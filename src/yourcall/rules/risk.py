"""How risky a yes to a prompt is, and why: the only judge of it, for every front end.

Rule: careful rather than clever. It only ever makes a yes slower, never a no; what cannot be read, and programs
that nobody here knows, are `unclear` and need a confirmation like what is dangerous. It takes bounded time.
"""

from __future__ import annotations

import re

from yourcall.model.action import ActionView
from yourcall.model.prompts import Prompt, Risk
from yourcall.rules.effects.commands import parts_of
from yourcall.rules.effects.parts import Part, secret_path
from yourcall.rules.shell.parser import Unread

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
_LOOKS = re.compile(r"\b(?:theme|text style|colou?rs?|appearance)\b", re.I)
_MORE_THAN_LOOKS = re.compile(r"\b(?:trust|permission|key|token|log ?in|sign|server|hooks?|model|mode)\b", re.I)
_READS_SECRETS = "It reads keys or passwords."
# How the sentences begin that say: nobody can tell.
UNCLEAR = ("yourcall", "What it starts")
LOW = Risk("low", "Nothing in it looks dangerous.")
# Nobody reads a change of more files than this before saying yes.
_MOST_PATHS = 1_000
_ALWAYS_HEAVY = frozenset({"chown", "chgrp", "dd", "truncate", "shred", "crontab", "kill", "pkill", "killall"})


def risk(prompt: Prompt, action: ActionView | None) -> Risk:
    """The verdict on a yes to this prompt. `action`: what its tool would do; None if that cannot be read."""
    if prompt.kind == "startup" and _only_looks(prompt):
        return LOW
    if prompt.kind in _KINDS:
        return Risk("unclear" if prompt.kind == "unknown" else "high", _KINDS[prompt.kind])
    if prompt.needs_confirmation:
        return Risk("high", "One of your rules requires confirmation.")
    if prompt.kind != "permission":
        return LOW
    if prompt.tool is None:
        return Risk("unclear", "yourcall knows this only from the screen: read it with care.")
    reason = "yourcall cannot show what the tool gets." if action is None else _in_action(action)
    if not reason:
        return LOW
    return Risk("unclear" if reason.startswith(UNCLEAR) else "high", reason)


def _only_looks(prompt: Prompt) -> bool:
    """A choice of colours at the start, and nothing besides."""
    texts = " ".join((prompt.title, *(question.text for question in prompt.questions)))
    choices = all(option.effect == "choose" for question in prompt.questions for option in question.options)
    return choices and bool(_LOOKS.search(texts)) and not _MORE_THAN_LOOKS.search(texts)


def _in_action(action: ActionView) -> str:
    """Why this is risky; empty if nothing speaks for it."""
    if action.unboxed:
        return "It leaves the agent's sandbox."
    match action.kind:
        case "command" if action.shell:
            return f"yourcall does not read {'PowerShell' if action.shell == 'powershell' else action.shell}."
        case "command":
            return in_command(action.command) if action.command else "yourcall cannot show the command."
        case "mcp":
            # What a server's tool calls its command is one field among others: its name counts first.
            name = re.sub(r"([a-z])([A-Z])", r"\1_\2", f"{action.server}_{action.name}").lower()
            if _HEAVY_NAME.search(name):
                return "By its name, this tool changes something for good."
            given = next((field.value for field in action.more if field.name in ("command", "cmd")), "")
            return in_command(given) if given else ""
        case "write":
            if any(change.change == "delete" for change in action.changes):
                return _EFFECTS["delete"]
            if not action.paths:
                return "yourcall cannot tell which file it changes."
            if len(action.paths) > _MOST_PATHS:
                return "yourcall does not look at so many files one by one."
            return next((reason for path in action.paths if (reason := _at(path))), "")
        case "read":
            return _READS_SECRETS if any(secret_path(path) for path in action.paths) else ""
        case _:
            return ""


def hides(text: str) -> bool:
    """It holds letters that draw nothing, or turn the rest around."""
    plain = text.replace("\r\n", "\n")
    return any(not (char in "\n\t" or char.isprintable()) for char in plain) or bool(_BLANK.search(plain))


def in_command(text: str) -> str:
    """Why this shell command is risky; empty if nothing speaks for it."""
    if len(text) > 50_000:
        return "It is too long to be read by eye."
    if hides(text):
        return "Contains invisible characters."
    parts = parts_of(text)
    if isinstance(parts, Unread):
        return "yourcall cannot read it for certain."
    texts = [words for part in parts if (words := _in_part(part))]
    return min(texts, key=lambda words: words.startswith("yourcall"), default="")


def _in_part(part: Part) -> str:
    for effect, text in _EFFECTS.items():
        if effect in part.effects:
            return text
    for ref in part.refs:
        if ref.use in ("read", "sweep", "found", "split") and secret_path(ref.path or ""):
            return _READS_SECRETS
        if ref.use in ("write", "delete"):
            if ref.path is None:
                return "It writes to a file whose name is not known yet."
            if text := _at(ref.path):
                return text
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
