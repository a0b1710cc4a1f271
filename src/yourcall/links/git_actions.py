"""Runs what a person asks git to do with a session's changes, once a prompt for it was answered with a yes.

Rules
  * Plain `git`, in the working tree of the session, with the repository's hooks and settings: they are its
    owner's, or the agent wrote them. So the prompt names what a yes starts, and all of it runs as one of the
    agent's own processes, which can answer and allow nothing here.
  * The files, and what a yes would start, are looked at when it is asked and again before it runs: what has
    changed since is not touched.
  * What was begun is never repeated. After a crash somebody must look.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from yourcall.agents.git import requests
from yourcall.agents.git.requests import LINK, NO, NO_HOOKS, GitAction, Plan
from yourcall.agents.kit.prompts import LETTERS
from yourcall.core.safety import chosen
from yourcall.links.agent_processes.run_as import Ran, last_line
from yourcall.links.changes import id_of
from yourcall.links.event_sink import EventSink
from yourcall.model.events import (
    AnswerWritten,
    CallSettled,
    HolderConnected,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.model.sessions import Session
from yourcall.system import git

# A commit may run a project's tests by its hooks.
LONGEST_RUN_S = 900.0
# Nothing larger belongs into a commit that is made from afar.
LARGEST_FILE = 100 << 20
# Each is a line on somebody's phone.
MOST = 50

# Nobody sits there to be asked, and no program is to be opened.
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C.UTF-8",
}
SSH = "ssh -o BatchMode=yes"

Run = Callable[[Session, Sequence[str], str, Mapping[str, str], float], Awaitable[Ran]]


class GitActions:
    """`run`: runs a command as a process of that session. `known`: a session, living or not."""

    def __init__(self, teller: EventSink, run: Run, known: Callable[[str], Session | None]) -> None:
        self._teller, self._run, self._known = teller, run, known
        self._one: dict[str, asyncio.Lock] = {}  # by working tree: git locks its index, and would fail

    async def ask(
        self,
        session: Session,
        action: GitAction,
        by: str,
        *,
        files: Sequence[str] = (),
        message: str = "",
        branch: str = "",
    ) -> Prompt | Refused:
        """Raise the prompt. `files`: their ids in the list of changes."""
        if len(self._mine()) >= MOST:
            return Refused(f"{MOST} such prompts wait already; answer some first.")
        chosen_files = await self._chosen(session, action, files)
        if isinstance(chosen_files, Refused):
            return chosen_files
        try:
            plan = await asyncio.to_thread(_planned, session, action, chosen_files, message, branch)
            plan = plan if isinstance(plan, Refused) else await asyncio.to_thread(_with_programs, plan)
        except git.GitProblem as problem:
            return Refused(str(problem))
        if isinstance(plan, Refused):
            return plan
        id = "".join(secrets.choice(LETTERS) for _ in range(10))
        own, prompt, body = requests.prompt(plan, id, session, by, time.time())
        await self._teller.post(SessionSeen(prompt.opened_at, own))
        await self._teller.post(PromptRaised(prompt.opened_at, prompt), {prompt.request: body})
        return self._teller.state.prompts.get(id) or prompt

    async def _chosen(
        self, session: Session, action: GitAction, ids: Sequence[str]
    ) -> list[tuple[str, bool]] | Refused:
        """Each path, and whether git does not know it."""
        if not ids or action in ("push", "worktree"):
            return []
        try:
            known = await asyncio.to_thread(_differing, session)
        except git.GitProblem as problem:
            return Refused(str(problem))
        gone = [id for id in ids if id not in known]
        if gone:
            return Refused("One of these files does not differ any more. Look again.")
        found: list[tuple[str, bool]] = []
        for each in (known[id] for id in dict.fromkeys(ids)):
            try:
                found.append((each.path.decode(), each.kind == "untracked"))
            except UnicodeDecodeError:
                return Refused("A file whose name isn't UTF-8 is for git at the machine itself.")
        return found

    def deliver(self, prompt: Prompt, answer: Answer, request: bytes) -> Coroutine[None, None, None] | Refused:
        body = requests.read(request)
        if body is None:
            return Refused("What was asked can't be read; ask again.")
        if answer.input is not None:
            return Refused("This command can't be edited; ask anew.")
        return self._delivered(prompt, answer, body)

    async def _delivered(self, prompt: Prompt, answer: Answer, body: requests.GitBody) -> None:
        options = {option.id for option in chosen(prompt, answer)}
        await self._teller.post(AnswerWritten(time.time(), prompt.id, answer.id))
        if NO in options or not options:
            await self._over(prompt, "denied", "nothing was run")
            return
        async with self._one.setdefault(body.plan.root, asyncio.Lock()):
            detail = await self._carried_out(body, hooks=NO_HOOKS not in options)
        await self._over(prompt, "allowed", detail)

    async def _carried_out(self, body: requests.GitBody, *, hooks: bool) -> str:
        """What became of it, in words."""
        plan, session = body.plan, self._known(body.session_id)
        if session is None:
            return "failed: its session is not known any more; nothing was run"
        try:
            wrong = await asyncio.to_thread(_changed_since, plan)
        except git.GitProblem as problem:
            return f"failed: {problem} Nothing was run."
        if wrong:
            return f"failed: {wrong} Nothing was run."
        said = ""
        for step in requests.steps(plan, hooks=hooks):
            try:
                ran = await self._run(session, step, plan.root, QUIET, LONGEST_RUN_S)
            except OSError as error:
                return f"failed: {step[0]} could not be started: {error.strerror}"
            said = last_line(ran.output)
            if ran.code != 0:
                how = "took too long" if ran.code is None else f"exit {ran.code}"
                verb = step[3] if step[1] == "-c" else step[1]
                return f"failed: git {verb} ({how}){': ' + said if said else ''}"
        return f"done{': ' + said if said else ''}"

    async def _over(self, prompt: Prompt, outcome: str, detail: str) -> None:
        what = "allowed" if outcome == "allowed" else "denied"
        await self._teller.post(CallSettled(time.time(), prompt.id, what, "held", detail[:500]))
        await self._teller.post(SessionEnded(time.time(), prompt.session_id))

    async def recover(self) -> None:
        """After a start: what was under way is not repeated, and nobody knows how far it came."""
        for prompt in self._mine():
            if prompt.state == "open":
                await self._teller.post(HolderConnected(time.time(), prompt.id))
            else:
                why = "yourcall was stopped while git ran; look at the repository"
                await self._teller.post(TraceLost(time.time(), prompt.id, why))
                await self._teller.post(SessionEnded(time.time(), prompt.session_id))
        waiting = {prompt.session_id for prompt in self._mine()}
        for session in list(self._teller.state.sessions.values()):
            if session.agent == requests.AGENT and session.id not in waiting:
                await self._teller.post(SessionEnded(time.time(), session.id))

    async def withdraw(self, prompt_id: str) -> None:
        prompt = self._teller.state.prompts.get(prompt_id)
        if prompt is not None and prompt.link == LINK and prompt.state == "open":
            await self._teller.post(PromptWithdrawn(time.time(), prompt_id, "it is not wanted any more"))
            await self._teller.post(SessionEnded(time.time(), prompt.session_id))

    def _mine(self) -> list[Prompt]:
        return [p for p in self._teller.state.prompts.values() if p.link == LINK]


def _differing(session: Session) -> dict[str, git.Changed]:
    """What differs from the last commit, by the ids of the list of changes."""
    repository = git.find(Path(session.cwd))
    return {id_of(each.path): each for each in git.listing(repository, repository.head).files}


def _planned(
    session: Session, action: GitAction, files: Sequence[tuple[str, bool]], message: str, branch: str
) -> Plan | Refused:
    """What is to be done, with how each file looks now; or why it can't be."""
    repository = git.find(Path(session.cwd))
    root = str(repository.root)
    if action in ("commit", "push") and not repository.branch:
        return Refused("HEAD is detached: check out a branch first, at the machine.")
    if action in ("discard", "worktree", "push", "unstage") and not repository.head:
        return Refused("There is no commit here yet.")
    plan = Plan(
        action, root, tuple(path for path, _ in files), tuple(path for path, new in files if new), {}, message
    )
    if wrong := requests.objection(plan):
        return wrong
    seen: dict[str, str] = {}
    for path, _ in files:
        look = _look(repository.root, path)
        if isinstance(look, Refused) and action in ("stage", "commit"):
            return look
        seen[path] = "" if isinstance(look, Refused) else look
    plan = Plan(action, root, plan.files, plan.new_files, seen, message)
    match action:
        case "push":
            return _pushed(plan, repository)
        case "worktree":
            return _beside(plan, repository, branch)
        case _:
            return plan


def _look(root: Path, path: str) -> str | Refused:
    """How this file looks now: the same word as long as nobody writes to it. No link is followed."""
    try:
        about = os.lstat(root / path)
    except FileNotFoundError:
        return "gone"
    except OSError as error:
        return Refused(f"{path}: {error.strerror}.")
    if stat.S_ISDIR(about.st_mode):
        return Refused(f"{path} is a repository of its own (a submodule): do it inside of it.")
    if about.st_size > LARGEST_FILE:
        return Refused(f"{path} is larger than {LARGEST_FILE >> 20} MB: that is for git at the machine itself.")
    return f"{about.st_mode}:{about.st_size}:{about.st_mtime_ns}:{about.st_ino}"


def _changed_since(plan: Plan) -> str:
    """Which file looks different from when it was asked, if one does; or that its branch is another one now."""
    repository = git.find(Path(plan.root))
    if plan.action == "push" and repository.branch != plan.branch:
        return f"{plan.branch} is not checked out any more."
    for path, before in plan.seen.items():
        now = _look(repository.root, path)
        if before and now != before:
            return f"{path} has changed since you were asked. Look again."
    if _sentences(*_programs(plan)) != plan.starts:
        return "What git would start besides has changed since you were asked. Look again."
    return ""


def _pushed(plan: Plan, repository: git.Repository) -> Plan | Refused:
    remotes = git.remotes(repository)
    wanted = git.setting(repository, f"branch.{repository.branch}.remote")
    remote = wanted if wanted in remotes else "origin" if "origin" in remotes else ""
    if not remote:
        return Refused("There is no remote to push to: add one at the machine (git remote add).")
    return Plan(plan.action, plan.root, branch=repository.branch, remote=remote)


def _beside(plan: Plan, repository: git.Repository, branch: str) -> Plan | Refused:
    """A folder beside the working tree, named after it and the branch."""
    branch = branch.strip()
    if not branch or not git.may_be_branch(repository, branch):
        return Refused(f"{branch[:100]!r} can't be the name of a branch.")
    place = repository.root.with_name(f"{repository.root.name}-{branch.replace('/', '-')}")
    if place.exists():
        return Refused(f"{place} is there already.")
    return Plan(plan.action, plan.root, branch=branch, place=str(place))


def _with_programs(plan: Plan) -> Plan:
    """With what a yes starts besides git, and how each of the hooks among it looks now."""
    hooks, settings = _programs(plan)
    files = {path for hook in hooks for path in (hook, os.path.realpath(hook))}
    looks = {path: look for path in files if isinstance(look := _look(Path(plan.root), path), str)}
    return replace(plan, starts=_sentences(hooks, settings), seen={**plan.seen, **looks})


def _sentences(hooks: Sequence[str], settings: Sequence[str]) -> tuple[str, ...]:
    return (*(f"hook {os.path.basename(hook)} ({hook})" for hook in hooks), *settings)


def _programs(plan: Plan) -> tuple[list[str], list[str]]:
    """The hooks that are there, by their paths, and the settings that name programs."""
    repository = git.find(Path(plan.root))
    folder = git.hooks_folder(repository)
    hooks = [str(folder / name) for name in requests.HOOKS[plan.action] if os.access(folder / name, os.X_OK)]
    named = git.programs(repository, plan.action == "push")
    return hooks, [f"{key} = {value}" for key, value in named]
