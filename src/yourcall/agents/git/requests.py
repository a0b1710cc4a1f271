"""What is to be done with a session's changes: its commands, and the prompt that asks for a yes to them.

Rule: pure. The commands that are shown are those that are run, word for word; what else they start is said.
"""

from __future__ import annotations

import hashlib
import shlex
from typing import Any, Literal

import msgspec
from msgspec import Struct

from yourcall.model.action import Action, CallKind
from yourcall.model.prompts import Option, Prompt, Question, Refused, Tool
from yourcall.model.sessions import Link, Session

AGENT = "git"
LINK = "git"
TOOL = "git"
TOOLS: dict[str, CallKind] = {TOOL: "command"}
DECISION = "decision"
YES, NO_HOOKS, NO = "yes", "no-hooks", "no"

GitAction = Literal["stage", "unstage", "commit", "push", "worktree", "discard"]

LONGEST_MESSAGE = 20_000
MOST_FILES = 500

TITLES: dict[GitAction, str] = {
    "stage": "Stage {files}",
    "unstage": "Take {files} out of the next commit",
    "commit": "Commit {files}",
    "push": "Push {branch}",
    "worktree": "Open a worktree for {branch}",
    "discard": "Discard the changes of {files}",
}
LABELS: dict[GitAction, str] = {
    "stage": "Stage",
    "unstage": "Unstage",
    "commit": "Commit",
    "push": "Push",
    "worktree": "Open it",
    "discard": "Discard",
}
# The hooks of a repository that each of these runs, if they are there. The index is written by all of them.
_INDEX = ("post-index-change",)
_REFS = (*_INDEX, "reference-transaction", "pre-auto-gc")
HOOKS: dict[GitAction, tuple[str, ...]] = {
    "stage": _INDEX,
    "unstage": _INDEX,
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", *_REFS),
    "push": ("pre-push", *_REFS),
    "worktree": ("post-checkout", *_REFS),
    "discard": ("post-checkout", *_INDEX),
}


class Plan(Struct, frozen=True):
    """`files`: paths below `root`. `new_files`: those of them that git does not know. `seen`: how each looked, by
    path. `branch`: that is pushed, or made. `place`: of the worktree. `remote`: where it is pushed. `starts`: what
    else a yes starts, as sentences; the hooks among them are in `seen`, too."""

    action: GitAction
    root: str
    files: tuple[str, ...] = ()
    new_files: tuple[str, ...] = ()
    seen: dict[str, str] = {}
    message: str = ""
    branch: str = ""
    place: str = ""
    remote: str = ""
    starts: tuple[str, ...] = ()


class GitBody(Struct, frozen=True):
    """The stored body of such a prompt; views and rules read `tool_input` by this name."""

    tool_input: dict[str, str]
    plan: Plan
    session_id: str
    by: str


def steps(plan: Plan, *, hooks: bool = True) -> tuple[tuple[str, ...], ...]:
    """The commands, one after the other; each only if the one before it worked."""
    files = ("--", *plan.files)
    known = tuple(path for path in plan.files if path not in plan.new_files)
    match plan.action:
        case "stage":
            return (("git", "add", *files),)
        case "unstage":
            return (("git", "reset", "-q", *files),)
        case "commit":
            # `--no-verify` alone leaves out two of them.
            git = ("git",) if hooks else ("git", "-c", "core.hooksPath=/dev/null")
            commit = (*git, "commit", "-m", plan.message, *(() if hooks else ("--no-verify",)))
            return ((*git, "add", *files), (*commit, *files)) if plan.files else (commit,)
        case "push":
            return (("git", "push", "--", plan.remote, f"refs/heads/{plan.branch}:refs/heads/{plan.branch}"),)
        case "worktree":
            return (("git", "worktree", "add", "-b", plan.branch, "--", plan.place, "HEAD"),)
        case "discard":
            undo = (("git", "restore", "--source=HEAD", "--staged", "--worktree", "--", *known),) if known else ()
            return (*undo, *((("git", "clean", "-f", "--", *plan.new_files),) if plan.new_files else ()))


def command(plan: Plan) -> str:
    return " && ".join(shlex.join(step) for step in steps(plan))


def prompt(plan: Plan, id: str, session: Session, by: str, at: float) -> tuple[Session, Prompt, bytes]:
    text = command(plan)
    body = msgspec.json.encode(GitBody({"command": text}, plan, session.id, by))
    count = len(plan.files)
    files = "what is staged" if not count else plan.files[0] if count == 1 else f"{count} files"
    title = TITLES[plan.action].format(files=files, branch=plan.branch)
    options = [Option(YES, LABELS[plan.action], "allow_once", f"yourcall runs it in {plan.root}.")]
    if plan.action == "commit" and any(each.startswith("hook") for each in plan.starts):
        options.append(Option(NO_HOOKS, "Commit without hooks", "allow_once", "The same, and no hook runs."))
    options.append(Option(NO, "Don't", "deny", "Nothing is run."))
    runs = "A yes also runs, as you:\n" + "\n".join(f"- {each}" for each in plan.starts) if plan.starts else ""
    mine = f"{AGENT}-{id}"
    asked = Prompt(
        id=id,
        kind="permission",
        agent=AGENT,
        session_id=mine,
        cwd=plan.root,
        title=title[:200],
        opened_at=at,
        body="\n\n".join(part for part in (text, runs) if part),
        tool=Tool(TOOL),
        questions=(Question(DECISION, f"{title}?"[:200], tuple(options)),),
        request=hashlib.sha256(body).hexdigest(),
        fingerprint=hashlib.sha256(body).hexdigest(),
        link=LINK,
        answerable=True,
    )
    own = Session(
        mine, AGENT, plan.root, "waiting", mode=AGENT, links=(Link(LINK),), note=f"asked by {by}"[:100],
        started_at=at, seen_at=at,
    )  # fmt: skip
    return own, asked, body


def objection(plan: Plan) -> Refused | None:
    """What is wrong with it, as far as its words tell."""
    if len(plan.files) > MOST_FILES:
        return Refused(f"Choose at most {MOST_FILES} files at a time.")
    if plan.action in ("stage", "unstage", "discard") and not plan.files:
        return Refused("Choose the files first.")
    if plan.action == "commit" and not plan.message.strip():
        return Refused("Write a message for the commit.")
    if len(plan.message) > LONGEST_MESSAGE:
        return Refused(f"The message is longer than {LONGEST_MESSAGE:,} characters; shorten it.")
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in plan.message + plan.branch):
        return Refused("The text contains an invalid character; write it again.")
    return None


def read(body: bytes | None) -> GitBody | None:
    try:
        return msgspec.json.decode(body or b"", type=GitBody)
    except (ValueError, RecursionError):
        return None


def action_of(body: bytes) -> Action | None:
    """What the rules judge: the commands, as a shell would be given them."""
    try:
        told: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])["tool_input"]
        words = told["command"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return Action(TOOL, "command", command=words) if isinstance(words, str) else None
