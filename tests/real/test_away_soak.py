"""Two weeks of outages in minutes, with several sessions at once and at any moment of their turns.

The rule it keeps: what is true comes from processes, from Claude's own session files, from the files that commands
made and from what the model was told. yourcall is only compared with that.
"""

from __future__ import annotations

import random
import re
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import MANUAL, Claude, start_claude
from kit.poll import until
from kit.terminal import alive
from kit.turns import text, tool
from real.test_claude_headless import Driven, drive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.terminal import Tmux
    from kit.turns import Block

# A terminal of its own inside the pane: yourcall can't look at it.
UNSEEN = "import os, pty, sys; os.environ.pop('TMUX'); os.environ.pop('TMUX_PANE'); pty.spawn(sys.argv[1:])"
STATES = {"idle": "idle", "waiting": "waiting", "busy": "working"}
OUTAGES = ("killed", "down", "hung")
HOW_OFTEN = {"talk": 2, "ask": 6, "desk yes": 3, "desk no": 2, "desk stop": 2, "far yes": 3, "far no": 2, "die": 1}


@dataclass
class Call:
    """A tool call that the model made; `end` is what the test did about it: "" while it is open."""

    marker: str
    end: str = ""

    def made(self) -> Block:
        return tool("Bash", command=f"touch {self.marker}", description=self.marker)


class Unseen(Claude):
    """A Claude behind a terminal of its own; its pid is that of the helper's child."""

    child = 0

    @property
    def pid(self) -> int:
        return self.child or super().pid


@dataclass
class Worker:
    """A place where a Claude runs, one after another."""

    name: str
    begin: Callable[[], Claude]
    claude: Claude | None = None
    said: str = ""  # its last words, if the turn went to its end
    calls: list[Call] = field(default_factory=list)
    known: bool = False  # yourcall has heard of this one; the others it finds, at rest or not

    @property
    def open(self) -> Call | None:
        return self.calls[-1] if self.calls and not self.calls[-1].end else None


class Weeks:
    def __init__(self, driven: Driven, tmux: Tmux, binary: Path, seed: int) -> None:
        self.driven, self.model, self.home, self.yourcall = driven, driven.model, driven.home, driven.yourcall
        self.tmux, self.binary, self.chance = tmux, binary, random.Random(seed)
        self.outage, self.count, self.diary = "", 0, list[str]()
        self.workers = [
            Worker("first", self._in_tmux),
            Worker("second", self._in_tmux),
            Worker("unseen", self._unseen),
        ]
        self.pipes = ""  # the id of the session that yourcall drives itself
        self.pipes_pid = 0
        self.pipes_call: Call | None = None
        self.all_calls: list[Call] = []

    def _in_tmux(self) -> Claude:
        claude = start_claude(self.tmux, self.binary, self.home, self.model)
        claude.wait_ready()
        return claude

    def _unseen(self) -> Claude:
        helper = Path(sys.executable)
        started = start_claude(
            self.tmux, helper, self.home, self.model, args=("-c", UNSEEN, str(self.binary), *MANUAL)
        )
        claude = Unseen(started.terminal, self.home)
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
        claude.child = until(
            lambda: next((pid for pid in map(int, children.read_text().split()) if self.home.session(pid)), 0),
            what="the session in a terminal of its own",
        )
        claude.wait_ready()
        return claude

    # --- what may happen ------------------------------------------------------------------------------------

    def step(self) -> None:
        self.bury()
        if self.outage and self.chance.random() < 0.3:
            self.end_outage()
        elif not self.outage and self.chance.random() < 0.3:
            self.begin_outage()
        if self.chance.random() < 0.25:
            self.drive_pipes()
        else:
            self.work(self.chance.choice(self.workers))
        if not self.outage:
            self.check()

    def begin_outage(self) -> None:
        self.outage = self.chance.choice(OUTAGES)
        self.note(f"yourcall is {self.outage}")
        match self.outage:
            case "killed":
                self.yourcall.kill()
            case "down":
                self.yourcall.stop()
            case _:
                self.yourcall.signal(signal.SIGSTOP)

    def end_outage(self) -> None:
        if self.outage == "hung":
            self.yourcall.signal(signal.SIGCONT)
        else:
            self.yourcall.start()
        self.note("yourcall is back")
        self.outage = ""

    def work(self, worker: Worker) -> None:
        if worker.claude is None:
            worker.claude, worker.known = worker.begin(), not self.outage
            self.note(f"{worker.name} begins as {worker.claude.pid}")
            return
        possible = ["desk yes", "desk no", "desk stop"] if worker.open else ["talk", "ask"]
        if worker.open and not self.outage:
            possible += ["far yes", "far no"]
        possible.append("die")
        what = self.chance.choices(possible, [HOW_OFTEN[each] for each in possible])[0]
        self.note(f"{worker.name}: {what} {worker.open.marker if worker.open else ''}")
        match what:
            case "talk":
                self.say(worker, [text(self.words(worker))])
                worker.claude.wait_status("busy", "idle")
                until(lambda: worker.said in self.transcript(worker), what="its words in the record")
                worker.claude.wait_status("idle")
            case "ask":
                said = text(self.words(worker))
                call = Call(f"made{self.count}")
                self.say(worker, [call.made()], [said])
                worker.claude.wait_dialog()
                worker.calls.append(call)
                self.all_calls.append(call)
            case "die":
                worker.claude.kill()
                if worker.open:
                    worker.open.end = "died"
                worker.claude, worker.said = None, ""
            case _:
                self.decide(worker, what)

    def decide(self, worker: Worker, what: str) -> None:
        claude, call = worker.claude, worker.open
        assert claude is not None
        assert call is not None
        where, _, decision = what.partition(" ")
        if where == "far":
            prompt = self.wait_asked(call)
            said = self.yourcall.run("answer", prompt["id"], {"yes": "allow", "no": "deny"}[decision])
            assert said.code == 0, (said, self.shown())
        else:
            no = re.search(r"(\d)\. No\b", claude.wait_dialog())  # 3 or 4: Claude offers auto mode once
            assert no is not None
            claude.press({"yes": "1", "no": no[1], "stop": "Escape"}[decision])
        claude.wait_status("idle")
        call.end = what
        if what in ("desk no", "desk stop"):
            worker.said = ""  # Claude takes a bare no at the desk for the end of the turn
        else:
            until(lambda: worker.said in self.transcript(worker), what="the end of its turn")
        assert (self.home.project / call.marker).exists() == (decision == "yes")

    def bury(self) -> None:
        """`yourcall down` ends the session that it drives; a kill or a hang doesn't."""
        if self.pipes_pid and not alive(self.pipes_pid):
            assert self.outage == "down", "the session over pipes died with a daemon that was killed"
            self.note("the session over pipes is gone")
            if self.pipes_call:
                self.pipes_call.end = "died"
            self.pipes, self.pipes_pid, self.pipes_call = "", 0, None

    def drive_pipes(self) -> None:
        """The session without a terminal can only be spoken to while yourcall is there."""
        if self.outage:
            return
        if self.pipes_call:
            call, decision = self.pipes_call, self.chance.choice(("allow", "deny"))
            prompt = self.wait_asked(call)
            self.note(f"pipes: {decision} {call.marker}")
            told = self.driven.answer(prompt, option=decision, wait=60)
            assert told["result"] == "confirmed", (told, self.shown())
            call.end, self.pipes_call = f"far {'yes' if decision == 'allow' else 'no'}", None
            return
        self.count += 1
        call = Call(f"made{self.count}")
        self.note(f"pipes: ask {call.marker}")
        turns = ([call.made()], [text(f"Said {self.count}.")])
        if self.pipes:
            words = self.model.script(f"work{self.count}", *turns)
            status, told = self.driven.post(self.pipes, "send", text=words)
            assert status in (200, 202), told
        else:
            self.pipes = self.driven.start(*turns, name=f"work{self.count}")
            row = self.driven.session(self.pipes)
            assert row is not None
            self.pipes_pid = row["pid"]
        self.pipes_call = call
        self.all_calls.append(call)
        self.wait_asked(call)

    def say(self, worker: Worker, *turns: Any) -> None:
        assert worker.claude is not None
        worker.known |= not self.outage
        worker.claude.say(self.model.script(f"work{self.count}", *turns))

    def words(self, worker: Worker) -> str:
        self.count += 1
        worker.said = f"Said {self.count}."
        return worker.said

    def transcript(self, worker: Worker) -> str:
        assert worker.claude is not None
        return "".join(
            p.read_text() for p in self.home.transcripts() if worker.claude.session["sessionId"] in p.name
        )

    # --- the truth, and what yourcall says ------------------------------------------------------------------

    def check(self) -> None:
        until(lambda: not self.wrong(), what="the truth", show=lambda: "\n".join([*self.wrong(), self.shown()]))

    def wrong(self) -> list[str]:
        """All in which yourcall differs from what is so."""
        return [*self.wrong_sessions(), *self.wrong_waiting(), *self.wrong_outcomes()]

    def wrong_sessions(self) -> list[str]:
        true = {w.claude.pid: STATES[w.claude.status or "idle"] for w in self.workers if w.claude}
        if self.pipes_pid and alive(self.pipes_pid):
            true[self.pipes_pid] = "waiting" if self.pipes_call else "idle"
        told = {row["pid"]: row["state"] for row in self.yourcall.http("GET", "/api/sessions")[1]}
        return [f"sessions are {true}, not {told}"] if told != true else []

    def wrong_waiting(self) -> list[str]:
        open_calls = {c.marker for c in self.all_calls if not c.end}
        waiting = self.yourcall.waiting()
        asked = sorted(marker(p) for p in waiting if p["kind"] == "permission")
        wrong = [f"{sorted(open_calls)} wait, not {asked}"] if asked != sorted(open_calls) else []
        for worker in self.workers:
            if worker.claude is None or worker.open:
                continue
            session = worker.claude.session["sessionId"]
            ready = [p["body"] for p in waiting if (p["kind"], p["session_id"]) == ("ready", session)]
            wanted = [worker.said] if worker.said else []
            if ready != wanted and (worker.known or ready):
                wrong.append(f"{worker.name} said {wanted} at the end of its turn, not {ready}")
        return wrong

    def wrong_outcomes(self) -> list[str]:
        """The files that commands made, and what the model was told of each call."""
        results = {str(r.input.get("command", "")): r.is_error for r in self.model.tool_results()}
        wrong: list[str] = []
        for prompt in self.yourcall.http("GET", "/api/prompts?all=1&limit=500")[1]:
            if prompt["kind"] != "permission":
                continue
            (call,) = [c for c in self.all_calls if c.marker == marker(prompt)]
            ran = (self.home.project / call.marker).exists()
            assert results.get(f"touch {call.marker}", not ran) is not ran, "the model was told something else"
            told = (prompt["state"], prompt["outcome"])
            if told not in possible(call, ran):
                wrong.append(f"{call.marker} ({call.end}) {'ran' if ran else 'did not run'}: {told}")
        return wrong

    def wait_asked(self, call: Call) -> dict[str, Any]:
        def asked() -> list[dict[str, Any]]:
            return [p for p in self.yourcall.prompts() if (p["state"], marker(p)) == ("open", call.marker)]

        (prompt,) = until(asked, what=f"{call.marker} to be asked", show=self.shown)
        return prompt

    def note(self, line: str) -> None:
        self.diary.append(line)
        print(line, flush=True)

    def shown(self) -> str:
        rows = self.yourcall.http("GET", "/api/prompts?all=1&limit=500")[1]
        brief = [
            (p["kind"], p["title"], p["state"], p["outcome"], p["body"][:20], p["session_id"][:8]) for p in rows
        ]
        return "\n".join([*self.diary, *map(str, self.yourcall.http("GET", "/api/sessions")[1]), *map(str, brief)])


def possible(call: Call, ran: bool) -> tuple[tuple[str, str | None], ...]:
    """What yourcall may say of a call that ended so."""
    no = "allowed" if ran else "denied"
    match call.end.split():
        case []:
            return (("open", None),)
        case ["died"]:
            return (("ended", None), ("ended", "unknown"))
        case ["desk", "yes"]:
            return (("desk", "allowed"),)
        case ["desk", _]:
            return (("desk", "stopped"),)  # a bare no in Claude's dialog stops the turn, too
        case _:
            return (("confirmed", no),)


def marker(prompt: dict[str, Any]) -> str:
    return prompt["tool"]["input"]["command"].removeprefix("touch ")


@pytest.fixture
def weeks(
    tmp_path: Path,
    claude_home: ClaudeHome,
    claude_bin: Path,
    model: ModelServer,
    tmux: Tmux,
    request: pytest.FixtureRequest,
) -> Iterator[Weeks]:
    tmux.run("new-session", "-d", "sleep", "100000")
    with ExitStack() as stack:
        driven = stack.enter_context(drive(tmp_path, claude_home, claude_bin, model))
        driven.yourcall.discovery = "all"
        root = tmux.run("display-message", "-p", "#{pid}").strip()
        driven.yourcall.configure(f"[claude]\nuse_api_billing = true\n[discovery]\nroot_pid = {root}\n")
        yield Weeks(driven, tmux, claude_bin, request.param)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("weeks", range(4), indirect=True)
def test_two_weeks_of_outages_leave_nothing_untrue(weeks: Weeks) -> None:
    for _ in range(60):
        weeks.step()
    if weeks.outage:
        weeks.end_outage()
    weeks.check()
