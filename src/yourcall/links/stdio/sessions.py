"""The sessions that yourcall started and speaks with over pipes: begun, answered, steered, ended.

Rules
  * What a line means, and how an answer is spelt, is the talk's to say; here it is carried, in order.
  * Proof that overtakes the word "written" is kept back until that word is on record, without anybody waiting.
  * One that can outlives the daemon behind its keeper, and is taken over at the next start. The others end with
    it: those on record are told as ended.
  * One thing at a time is said or heard in a session, and what follows from it is on record before the next.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from hmac import compare_digest
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.session_spec import Child, Headless, LiveSession, RequestDone, Speaking, StartOptions
from yourcall.agents.spec import Agent
from yourcall.links import session_ids
from yourcall.links.event_sink import EventSink
from yourcall.links.stdio import keeper_client, launch
from yourcall.links.stdio.keeper_client import KeptProcess
from yourcall.links.stdio.process import PipedProcess, Written
from yourcall.links.stdio.records import Records
from yourcall.model.events import (
    AnswerNotWritten,
    AnswerWritten,
    AnyEvent,
    CallSettled,
    DialogClosed,
    HolderConnected,
    PromptRaised,
    SessionEnded,
    TraceLost,
)
from yourcall.model.prompts import Answer, Prompt, Refused, Verdict
from yourcall.model.sessions import Session
from yourcall.system.sockets import short_folder

log = logging.getLogger(__name__)
T = TypeVar("T")

LINK = "stdio"
MOST = 24  # each is a program of some 300 MB; more than this is a mistake, or somebody else's doing
BEGINS_S = 60.0  # MCP servers start before the first turn does
GRANTED_S = 10.0

# Each of these switches the asking off, so it is a matter for the desk: its config, or its own command line.
UNASKED = frozenset({"bypassPermissions", "auto"})
MODES = ("default", "manual", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions")


RUNS_ALREADY = Refused("That session is running. Speak to it, or stop it before you resume it.")


class Policy(Struct, frozen=True):
    """What the local config says about sessions that are started here."""

    model: str = ""
    allowed_tools: tuple[str, ...] = ()
    permission_mode: str = ""
    api_billing: bool = False
    skip_permissions: bool = False
    cool_down: bool = True


class About(Struct, frozen=True):
    """What a keeper keeps about its session for the next daemon."""

    agent: str
    options: StartOptions
    secret: str
    recorded: bool = False


class Running:
    """One session: its program, its talk, and what is under way between the two."""

    def __init__(
        self, piped: PipedProcess | KeptProcess, live: LiveSession, resumes: str = "", secret: str = ""
    ) -> None:
        self.piped, self.talk, self.resumes, self.secret = piped, live, resumes, secret
        self.turn = asyncio.Lock()
        self.known: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()
        self.former: set[str] = set()  # ids it went by: a word to one of them may still be on its way
        self.gave_up = ""
        self.asked: dict[str, asyncio.Future[RequestDone]] = {}
        self.unwritten: dict[str, list[AnyEvent]] = {}  # prompts whose answer is not on record as written yet


class StdioSessions:
    def __init__(
        self,
        teller: EventSink,
        agents: Mapping[str, Agent],
        policy: Policy,
        others: Mapping[str, Policy] | None = None,
        records: Records | None = None,
        home: Path | None = None,
    ) -> None:
        """`policy` is what the config says about Claude; `others`: about agents with a section of their own.
        `records`: where the conversations are kept of agents that keep none themselves. `home`: whose daemon's
        sessions they are; without one, none outlives us."""
        self._teller = teller
        self._agents = agents
        self._policy = policy
        self._others = others or {}
        self._records = records
        self._home = home
        self._keepers = short_folder(home, "keepers") if home is not None else None
        self._shell = launch.LoginShell()
        self._running: set[Running] = set()
        self._closing = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self.barred: Callable[[], Refused | None] = lambda: None  # why nothing may be started or changed now
        self.listeners: set[Callable[[str, bytes], None]] = set()  # who hears each line a session says, as it is

    # --- beginning and ending -------------------------------------------------------------------------------

    async def offers(self) -> list[str]:
        """The agents that can be started on this machine: those whose program is there."""
        env = await self._shell.environment()
        programs = {name: agent.headless.program for name, agent in self._agents.items() if agent.headless}
        return [name for name, each in programs.items() if each and isinstance(launch.find(each, env), str)]

    async def environment(self) -> dict[str, str]:
        """What a command of the person's runs in: that of a new terminal, with nothing of an agent's."""
        return launch.prepared(await self._shell.environment(), api_billing=self._policy.api_billing)

    async def start(self, agent: str, options: StartOptions, *, remote: bool) -> str | Refused:
        """Start a session; its id, once it has one. `remote`: asked for by a device, not at this machine."""
        known = self._agents.get(agent)
        if known is None or known.headless is None:
            return Refused(
                f"yourcall cannot start a session of {agent[:40]!r}. Here it can start: "
                f"{', '.join(await self.offers()) or 'none, for no agent is on the PATH of your login shell'}."
            )
        secret = secrets.token_hex(16)
        ready = await self.prepared(agent, known.headless, options, remote=remote, owned=secret)
        if isinstance(ready, Refused):
            return ready
        if self._closing:
            return Refused("yourcall is stopping: it starts nothing any more.")
        # What was begun is followed, even if whoever asked for it hangs up meanwhile.
        return await asyncio.shield(self._spawn(self._begin(agent, known.headless, *ready, secret)))

    async def _begin(
        self, agent: str, headless: Headless, program: str, env: dict[str, str], options: StartOptions, secret: str
    ) -> str | Refused:
        if options.resume and any(
            options.resume == (each.talk.session_id or each.resumes) for each in self._running
        ):
            return RUNS_ALREADY  # begun by somebody else while our own start was prepared
        name, *arguments = options.command or (headless.program, *headless.arguments(options))
        about = About(agent, options, secret, self._records is not None and self._records.has(options.resume))
        try:
            piped = await self._started(headless, about, [program, *arguments], env)
        except OSError as error:
            return Refused(f"{name} could not be started: {error.strerror}.")
        live = headless.session(options, self._child(piped, about))
        running = Running(piped, live, options.resume, secret)
        self._running.add(running)
        for line in live.open():
            piped.send(line, state=live.state())
        self._spawn(self._follow(running))
        return await self._begun(running, program)

    async def _started(
        self, headless: Headless, about: About, argv: list[str], env: Mapping[str, str]
    ) -> PipedProcess | KeptProcess:
        cwd = Path(about.options.cwd)
        env = {**env, "PWD": str(cwd)}
        if headless.restored is None or self._home is None or self._keepers is None:
            return PipedProcess.start(argv, env, cwd)
        piped = await KeptProcess.start(self._home, self._keepers, msgspec.json.encode(about), argv, env, cwd)
        if self._closing:
            await piped.stop()
            raise InterruptedError(4, "yourcall is being stopped")
        return piped

    def _child(self, piped: PipedProcess | KeptProcess, about: About) -> Child:
        records = str(self._records.folder) if self._records is not None else ""
        return Child(piped.pid, piped.started, about.options.cwd, records, about.recorded)

    async def prepared(
        self, agent: str, headless: Headless, options: StartOptions, *, remote: bool, owned: str = ""
    ) -> tuple[str, dict[str, str], StartOptions] | Refused:
        """The program, its environment and the whole wish, if it may be started. `owned`: the secret of a session
        that we speak with."""
        options = self._completed(options, self._others.get(agent, self._policy))
        wrong = self.barred() or self._objection(agent, headless, options, remote)
        if wrong is not None:
            return wrong
        env = launch.prepared(await self._shell.environment(), api_billing=self._policy.api_billing, owned=owned)
        value = launch.find(options.command[0] if options.command else headless.program, env)
        if isinstance(value, Refused):
            return Refused(f"{value.reason} {headless.missing}".strip())
        return value, env, options

    async def _begun(self, running: Running, program: str) -> str | Refused:
        try:
            async with asyncio.timeout(BEGINS_S):
                session_id = await asyncio.shield(running.known)
        except TimeoutError:
            await running.piped.stop()
            return Refused(f"{program} did not begin a session within {BEGINS_S:.0f} s; it was ended.")
        if session_id:
            return session_id
        text = running.gave_up or running.piped.last_words or "it gave no reason"
        return Refused(f"{program} ended at once: {text}")

    async def _follow(self, running: Running) -> None:
        """Read it to its end. Whatever it says, the pipe is read on."""
        live, piped = running.talk, running.piped
        try:
            async for line in piped.lines():
                if running.gave_up and not live.session_id:
                    continue
                async with running.turn:
                    await self._heard(running, line)
        except Exception:
            # A mistake of ours, or a full disk: with nobody to read it, the session must not go on.
            log.exception("session %s is ended", live.session_id or piped.pid)
            await piped.stop()
            raise
        finally:
            code = await piped.ended()
            self._running.discard(running)
            if not running.known.done():
                running.known.set_result("")
            for waiting in running.asked.values():
                waiting.cancel()
            if live.session_id:
                why = "" if code == 0 else piped.last_words or f"its process ended ({code})"
                why = running.gave_up or why
                await self._teller.post(SessionEnded(time.time(), live.session_id, why[:200]))
            running.over.set()

    async def _heard(self, running: Running, line: bytes) -> None:
        """One line, and all that follows from it."""
        live, piped = running.talk, running.piped
        before = live.session_id
        output = live.hear(line, time.time())
        if before and live.session_id != before:
            running.former.add(before)
        if not running.known.done() and self._taken(running):
            running.gave_up = f"it calls its session {live.session_id}, and another one that runs has this name"
            live.session_id = ""  # which is the other one's: nothing of this one is told
            self._spawn(piped.stop())
            return
        for listener in tuple(self.listeners):
            listener(live.session_id, line)
        waiting = running.asked.pop(output.done.request_id, None) if output.done is not None else None
        if output.done is not None and waiting is not None and not waiting.done():
            waiting.set_result(output.done)  # unless who asked has left this very moment
        if output.record and self._records is not None:
            self._records.append(live.session_id, output.record)
        for event in output.events:
            await self._tell(running, event, output.bodies)
        # Now that it is on record it need not be heard again, by the next daemon either.
        piped.dealt_with(live.state(), news=bool(output.events or output.lines))
        for reply in output.lines:
            piped.send(reply, state=live.state())
        if output.gives_up and not running.gave_up:
            running.gave_up = output.gives_up
            self._spawn(piped.stop())
        if live.session_id and not running.known.done():
            running.known.set_result(live.session_id)

    async def _tell(self, running: Running, event: AnyEvent, bodies: Mapping[str, bytes]) -> None:
        match event:
            case PromptRaised():
                await self._teller.post(event, dict(bodies))
            case SessionEnded(goes_on_as=new) if new:
                before = self._teller.state.sessions.get(event.session_id)
                if before is not None:
                    await session_ids.follow(self._teller, before, new)
            case DialogClosed() | CallSettled() | TraceLost() if event.prompt_id in running.unwritten:
                running.unwritten[event.prompt_id].append(event)
            case _:
                await self._teller.post(event)

    async def take_over(self) -> None:
        """After a start: go on with those whose keeper runs. The pipes of the others went with the daemon that
        held them, so they are ending or have ended."""
        if self._keepers is not None:
            await asyncio.gather(
                *(self._take_over(self._keepers, name) for name in keeper_client.kept(self._keepers))
            )
        for session in list(self._teller.state.sessions.values()):
            if any(link.kind == LINK for link in session.links) and self._of(session.id) is None:
                await self._teller.post(SessionEnded(time.time(), session.id, "yourcall was stopped"))

    async def _take_over(self, folder: Path, name: str) -> None:
        try:
            piped = await KeptProcess.meet(folder, name)
        except ConnectionRefusedError as error:
            log.info("nobody keeps %s: %s", name, error.strerror)
            keeper_client.forget(folder, name)
            return
        except OSError as error:
            log.warning("a session of before is out of reach: %s", error)
            return
        try:
            about = msgspec.json.decode(piped.about, type=About)
            agent = self._agents.get(about.agent)
            if agent is None or agent.headless is None or agent.headless.restored is None:
                raise ValueError(f"there is no agent {about.agent[:40]!r}")
            talk = agent.headless.restored(about.options, self._child(piped, about), piped.state)
        except ValueError as error:
            log.warning("a session of before can't be taken over, and is ended: %s", error)
            await piped.stop()
            return
        running = Running(piped, talk, about.options.resume, about.secret)
        self._running.add(running)
        if talk.session_id:
            running.known.set_result(talk.session_id)
        await self._resume_answers(running, piped)
        self._spawn(self._follow(running))

    async def _resume_answers(self, running: Running, piped: KeptProcess) -> None:
        """The keeper knows what became of each answer: one that never came to it is carried now."""
        for prompt in self._teller.state.of_session(running.talk.session_id):
            if prompt.link != LINK or prompt.answer is None or prompt.state not in ("answering", "unsure"):
                continue
            match piped.taken_over.get(prompt.answer.id):
                case "w":
                    await self._teller.post(HolderConnected(time.time(), prompt.id, prompt.answer.id))
                case "q":
                    running.unwritten[prompt.id] = []
                    piped.await_written(prompt.answer.id, self._written(running, prompt, prompt.answer))
                case _:
                    await self._teller.post(HolderConnected(time.time(), prompt.id))

    async def close(self) -> None:
        self._closing = True  # or we would wait for the end of one that nobody ends
        for running in list(self._running):
            self._spawn(running.piped.stop())
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _spawn(self, work: Coroutine[None, None, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # --- answers and wishes ---------------------------------------------------------------------------------

    async def deliver(self, prompt: Prompt, answer: Answer, request: bytes) -> None:
        """Carry an answer to the session that asked; whatever becomes of it is posted."""
        running = self._of(prompt.session_id)
        if running is None:
            await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer.id, "The session has ended."))
            return
        async with running.turn:
            line = running.talk.answer(prompt, answer, request)
            if isinstance(line, Refused):
                await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer.id, line.reason))
                return
            running.unwritten[prompt.id] = []
            written = self._written(running, prompt, answer)
            if not running.piped.send(line, written, tag=answer.id, state=running.talk.state()):
                await written("the session does not read what it is told")

    def _written(self, running: Running, prompt: Prompt, answer: Answer) -> Written:
        async def written(failure: str) -> None:
            now = time.time()
            if failure:
                await self._teller.post(AnswerNotWritten(now, prompt.id, answer.id, failure))
            else:
                await self._teller.post(AnswerWritten(now, prompt.id, answer.id))
            for event in running.unwritten.pop(prompt.id, []):
                await self._teller.post(event)

        return written

    async def send(self, session: Session, text: str, as_command: bool = False) -> Verdict:
        """Tell it something while it works, or run one of its commands."""
        running = self._of(session.id, session.pid)
        if running is None:
            return Verdict("refused", "This session was not started by yourcall, or it has ended.")
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def written(failure: str) -> None:
            if not done.done():
                done.set_result(failure)

        async with running.turn:
            line = running.talk.say(text, as_command)
            if isinstance(line, Refused):
                return Verdict("refused", line.reason)
            if not running.piped.send(line, written, state=running.talk.state()):
                return Verdict("refused", "The session does not read what it is told.")
        failure = await done
        return Verdict("refused", failure) if failure else Verdict("sent", "it was told")

    async def interrupt(self, session: Session) -> Verdict:
        prompts = self._teller.state.of_session(session.id)
        if any(prompt.kind == "ready" and prompt.state == "open" for prompt in prompts):
            return Verdict("refused", "It rests: there is no turn to stop.")
        return await self._ask(session, "interrupt", "")

    async def change(
        self, session: Session, what: Literal["mode", "model"], value: str, *, remote: bool
    ) -> Verdict:
        """Another permission mode, or another model, from now on."""
        wrong = self.barred() or (
            self._objection_to_mode(session.agent, value, remote) if what == "mode" else None
        )
        if wrong:
            return Verdict("refused", wrong.reason)
        return await self._ask(session, what, value)

    async def stop(self, session: Session) -> Verdict:
        """End the session and all that it runs."""
        running = self._of(session.id, session.pid)
        if running is None:
            ended = session.state == "ended"
            why = "This session has already ended." if ended else "yourcall didn't start this session."
            return Verdict("refused", why if ended else f"{why} End it in its own terminal.")
        await running.piped.stop()
        await running.over.wait()
        return Verdict("confirmed", "the session has ended")

    def owns(self, secret: str, session_id: str, pid: str) -> bool:
        """Does a hook with this secret belong to a session of ours? What that session runs inherits the secret: an
        agent that tells its process, and is neither that process nor that session, is another one."""
        return any(
            compare_digest(secret.encode("utf-8", "replace"), running.secret.encode())
            and (not pid or pid == str(running.piped.pid) or session_id == running.talk.session_id)
            for running in self._running
            if running.secret
        )

    def speaking(self, session: Session) -> Speaking | None:
        running = self._of(session.id, session.pid)
        return running.talk.speaking if running else None

    async def _ask(self, session: Session, what: str, value: str) -> Verdict:
        running = self._of(session.id, session.pid)
        if running is None:
            return Verdict("refused", "This session was not started by yourcall, or it has ended.")
        async with running.turn:
            wished = running.talk.ask(what, value)
            if isinstance(wished, Refused):
                return Verdict("refused", wished.reason)
            request_id, line = wished
            done = running.asked[request_id] = asyncio.get_running_loop().create_future()
            if not running.piped.send(line, state=running.talk.state()):
                return Verdict("refused", "The session does not read what it is told.")
        try:
            async with asyncio.timeout(GRANTED_S):
                error = (await done).error
        except TimeoutError:
            return Verdict("unsure", "The session was told, and has not replied.")
        except asyncio.CancelledError:
            if done.cancelled():
                return Verdict("refused", "The session has ended.")
            raise
        finally:
            running.asked.pop(request_id, None)
        return Verdict("refused", error) if error else Verdict("confirmed", "granted")

    def _taken(self, new: Running) -> bool:
        """Is there one of that name already? An answer to the one would go to the other."""
        named = new.talk.session_id
        return bool(named) and any(each.talk.session_id == named for each in self._running if each is not new)

    def _of(self, session_id: str, pid: int = 0) -> Running | None:
        """The one that goes by this id; else the one that did until now (`/clear` gives another), if it is that
        very process."""
        for each in self._running:
            if each.talk.session_id == session_id:
                return each
        same = (each for each in self._running if session_id in each.former and pid in (0, each.piped.pid))
        return next(same, None)

    # --- what may be started --------------------------------------------------------------------------------

    def _completed(self, options: StartOptions, policy: Policy) -> StartOptions:
        """What was not said is as the config, or the session that is resumed, has it. One that only reads has
        none of what the config allows."""
        if options.read_only:
            return replace(options, permission_mode="", model=options.model or policy.model)
        return replace(
            options,
            permission_mode=options.permission_mode or policy.permission_mode,
            model=options.model or policy.model,
            allowed_tools=policy.allowed_tools,
            skip_permissions=policy.skip_permissions,
        )

    def _objection(self, agent: str, headless: Headless, options: StartOptions, remote: bool) -> Refused | None:
        if len(self._running) >= MOST:
            return Refused(f"{MOST} sessions that yourcall started are running; stop one first.")
        if options.read_only and not headless.read_only:
            return Refused(f"{agent} has no mode in which it only reads.")
        if options.command and (remote or not headless.idles):
            return Refused("A command of your own can be started at the machine itself only: yourcall run --acp.")
        if not options.prompt.strip() and not headless.idles:
            return Refused("Write what the session shall do.")
        if "\0" in options.cwd or not Path(options.cwd).is_absolute() or not os.path.isdir(options.cwd):
            return Refused(f"{options.cwd[:200]!r} is not a folder here; give its whole path.")
        if options.model.startswith("-") or options.resume.startswith(("-", ".")) or "/" in options.resume:
            return Refused("A model does not begin with a dash, and a session id is one word.")
        if options.resume in self._teller.state.sessions:
            return RUNS_ALREADY
        return self._objection_to_mode(agent, options.permission_mode, remote) if options.permission_mode else None

    def _objection_to_mode(self, agent: str, mode: str, remote: bool) -> Refused | None:
        """What the config allows one agent, it allows no other."""
        if mode not in MODES:
            return Refused(f"There is no permission mode {mode[:40]!r}; there are: {', '.join(MODES)}.")
        policy = self._others.get(agent, self._policy)
        allowed = policy.skip_permissions or mode == policy.permission_mode
        if mode in UNASKED and remote and not allowed:
            known = self._agents.get(agent)
            # An agent over ACP has no section in the config: what it may do unasked is said in its own.
            own = known is not None and known.headless is not None and known.headless.idles
            section = "" if own else f', or by [{agent}] permission_mode = "{mode}" in its config.toml'
            return Refused(
                f"In {mode} mode you are no longer asked. You can switch to it at the machine itself{section}."
            )
        return None
