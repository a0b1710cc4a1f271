"""The trials of one agent: each kind of prompt is raised, shown, answered and withdrawn in a sandbox.

Rule: what is said of a kind is what was seen. A step passes when the world shows it: a file that a command made or
did not make, words that the model heard, a prompt that closed. Nothing is tried twice; what fails says why.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from yourcall.agents.live_spec import LiveCheck, Turns
from yourcall.agents.model_turns import Block, error, text
from yourcall.agents.registry import GRADES
from yourcall.agents.setup_spec import Installed
from yourcall.cli.instance import Problem
from yourcall.live_check.grades import KindGrade
from yourcall.live_check.sandbox import Sandbox, sandbox
from yourcall.live_check.terminal import Pane, squeezed
from yourcall.live_check.waiting import NotInTime, until

QUESTION, LABELS = "Which database should we use?", ("PostgreSQL", "SQLite")
PLAN = "# Add a health check\n\n1. Add `GET /health`\n2. Test it\n"
PAUSES = ("ready", "problem")
YES = ("allow_once", "allow_session", "allow_always")
NO = ("deny", "stop")
# A burst of letters and Enter right behind them would be a paste to some.
BREATH_S = 0.4
# What is typed right after the start may be swallowed whole: then it is typed once more.
SEEN_S = 5.0
# Some show their input box first, and ask then what they ask at each start; other versions never do.
ASKS_LATE_S = 8.0
# Whose answer a form got stands on no record: waiting for proof that never comes would only take time.
FORM_S = 3.0


class Failed(Exception):
    """A step did not pass; its text says why."""


class NotAsked(Exception):
    """The agent went on without asking anything: nothing could be tried."""


class Wrong(Exception):
    """Worse: what yourcall said is not what happened."""


Saw = Callable[[str, str], None]


class Trials:
    """`patience`: so long each step may take. `saw`: is shown each screen, with what is known to be on it."""

    def __init__(self, spec: LiveCheck, program: Installed, patience: float, saw: Saw | None = None) -> None:
        self.spec, self.program, self.patience, self.saw = spec, program, patience, saw
        self.unconnected = ""
        self._box: Sandbox | None = None
        self._number = 0
        self._steps: dict[str, str] = {}
        self._ms = -1
        self._began = 0.0

    def kinds(self) -> dict[str, Callable[[], None]]:
        """What can be tried of this agent."""
        spec = self.spec
        tried: dict[str, tuple[object, Callable[[], None]]] = {
            "permission": (spec.command, self._permission),
            "question": (spec.question, self._question),
            "plan": (spec.plan, self._plan),
            "elicitation": (spec.form, self._form),
            "trust": (spec.untrusted, self._trust),
            "ready": (True, self._ready),
            "problem": (True, self._problem),
        }
        declared = GRADES[spec.agent].kinds
        return {kind: trial for kind, (has, trial) in tried.items() if has and kind in declared}

    def grade(self, kind: str) -> KindGrade:
        """Try one kind, in a home of its own."""
        self._steps, self._ms, self._began = {}, -1, time.time()
        why, wrong = "", False
        try:
            self.kinds()[kind]()
        except Failed as failure:
            why = str(failure)
        except NotAsked:
            return KindGrade("not asked", why="The agent went on without asking.")
        except NotInTime as late:
            why = str(late).split("\n")[0]
        except Wrong as failure:
            why, wrong = str(failure), True
        except Problem as failure:
            why = failure.format_message()
        if self._box is not None:
            self.unconnected = self.unconnected or self._box.unconnected
        return KindGrade.of(self._steps, why, self._ms, wrong=wrong)

    # Each kind.

    def _permission(self) -> None:
        command = "touch {}"
        with self._session() as pane:
            for step in ("withdrawn", "denied", "allowed"):
                made = f"{step}-{self._next()}"
                prompt = self._raise(
                    pane, ((self._command(command.format(made)),), (text("Done."),)), "permission"
                )
                if "exact" not in self._steps:
                    self._exact(prompt, command.format(made), (YES, NO))
                if step == "withdrawn":
                    self._at_the_desk(pane, prompt)
                else:
                    self._decided(prompt, *((YES, "allowed") if step == "allowed" else (NO, "denied")))
                if step == "allowed":
                    self._until(lambda name=made: self._made(name), "the command to run")
                elif self._made(made):
                    raise Wrong("The command ran without a yes.")
                self._steps[step] = ""
            self._steps["confirmed"] = ""

    def _question(self) -> None:
        ask = self.spec.question
        assert ask is not None
        with self._session() as pane:
            turns = ((ask(QUESTION, LABELS),), (text("Thanks."),))
            prompt = self._raise(pane, turns, "question")
            self._exact(prompt, QUESTION, (), LABELS)
            self._at_the_desk(pane, prompt)
            self._steps["withdrawn"] = ""
            prompt = self._raise(pane, turns, "question")
            (asked,) = prompt["questions"][:1]
            chosen = next(o["id"] for o in asked["options"] if o["label"].startswith(LABELS[1]))
            before = len(self.box.model.requests)
            choices = {asked["id"]: [chosen]}
            # A form has a last question of its own: send it, or not.
            for each in prompt["questions"][1:]:
                choices[each["id"]] = [o["id"] for o in each["options"] if o["effect"] not in NO][:1]
            self._answer(prompt, {"choices": choices})
            self._until(lambda: self._told(LABELS[1], LABELS[0], since=before), "the model to hear the answer")
            self._steps["answered"] = ""
            self._settled(prompt, ("confirmed", "accepted"))
            self._steps["confirmed"] = ""

    def _plan(self) -> None:
        plan = self.spec.plan
        assert plan is not None
        with self._session(*self.spec.planning) as pane:
            for key in self.spec.planning_keys:
                self._rest(pane)
                pane.key(key)
            for step in ("withdrawn", "denied", "allowed"):
                end = f"begun-{self._next()}"
                prompt = self._raise(pane, (*plan(PLAN), (text(end),)), "plan")
                if "exact" not in self._steps:
                    self._exact(prompt, PLAN.strip(), (YES, NO))
                if step == "withdrawn":
                    self._at_the_desk(pane, prompt)
                else:
                    self._decided(prompt, *((YES, "allowed") if step == "allowed" else (NO, "denied")))
                self._steps[step] = ""
            self._steps["confirmed"] = ""

    def _form(self) -> None:
        """A permission for the tool comes first, where the agent asks for one."""
        with self._session() as pane:
            turns = (*self.spec.form, (text("Booked."),))
            before = self._known()
            wording = self._say(pane, turns)
            prompt = self._next_prompt(before)
            while prompt["kind"] == "permission":
                self._keep(self._settle(pane), "permission for a tool of a server")
                self._answer(prompt, {"choices": self._choice(prompt, YES)}, wait=0)
                before |= {prompt["id"]}
                try:
                    prompt = self._next_prompt(before)
                except NotInTime as late:
                    self._keep(pane.screen(), "elicitation not noticed")
                    if self._went_on(pane, wording, turns):
                        raise NotAsked from late
                    raise
            self._noticed(prompt, "elicitation")
            self._keep(self._settle(pane), "elicitation")
            fields = {each["id"]: each for each in prompt["questions"]}
            if not {"people", "seating", "name", "window"} <= fields.keys():
                raise Failed(f"The form's fields are shown as {', '.join(fields)}.")
            seats = {o["label"]: o["id"] for o in fields["seating"]["options"]}
            if list(seats) != ["inside", "terrace"]:
                raise Failed(f"The options are shown as {', '.join(seats)}.")
            self._steps["exact"] = ""
            choices = {"seating": [seats["terrace"]]}
            for name, each in fields.items():
                accepting = [o["id"] for o in each["options"] if o["effect"] == "reply"]
                if accepting and name not in ("people", "seating", "name", "window"):
                    choices[name] = accepting[:1]
            self._answer(prompt, {"choices": choices, "texts": {"people": "4", "name": "Ann"}}, FORM_S)
            self._until(lambda: self.box.heard("terrace"), "the server to hear the answer")
            self._steps["answered"] = ""
            self._settled(prompt, ("confirmed", "accepted"))
            self._steps["confirmed"] = ""

    def _trust(self) -> None:
        for step in ("withdrawn", "answered"):
            with self._running(trusted=False) as pane:
                prompt = self._next_prompt(set())
                self._keep(self._settle(pane), "trust")
                self._noticed(prompt, "trust")
                options: list[dict[str, Any]] = [o for q in prompt["questions"][:1] for o in q["options"]]
                screen = pane.screen()
                missing = [o["label"] for o in options if squeezed(o["label"]) not in squeezed(screen)]
                if missing or len(options) < 2:
                    raise Failed(f"Its options are shown as {', '.join(o['label'] for o in options) or 'none'}.")
                self._steps["exact"] = ""
                if step == "withdrawn":
                    self._at_the_desk(pane, prompt)
                else:
                    chosen: str = next((o["id"] for o in options if o["effect"] in YES), "")
                    if not chosen:
                        raise Failed("No option is known to trust the folder.")
                    self._answer(prompt, {"option": chosen})
                    self._attended(pane)
                    self._settled(prompt, ("confirmed", "accepted"))
                    self._steps["confirmed"] = ""
                self._steps[step] = ""

    def _ready(self) -> None:
        with self._session() as pane:
            wording = f"All is said {self._next()}."
            self._say(pane, ((text(wording),),))
            ready = self._pause("ready", pane)
            whole = wording in ready["body"]
            if whole:
                self._steps["exact"] = ""
            again = self.box.script(f"s{self._next()}", ((text("Heard."),),))
            (asked,) = ready["questions"][:1]
            self._answer(ready, {"texts": {asked["id"]: again}})
            self._until(lambda: self.box.heard(again), "the instruction to arrive")
            self._steps["answered"] = ""
            self._settled(ready, ("confirmed", "accepted"))
            self._steps["confirmed"] = ""
            second = self._pause("ready", pane, ready["id"])
            self._say(pane, ((text("Said at the desk."),),))
            self._closed(second)
            self._steps["withdrawn"] = ""
            if not whole:
                raise Failed(f"It shows {ready['body'][:80]!r}, not what the agent said last.")

    def _problem(self) -> None:
        with self._session() as pane:
            self._say(pane, ((error(400, "invalid_request_error", "no such thing"),),))
            self._pause("problem", pane)

    # What they are made of.

    @property
    def box(self) -> Sandbox:
        """The sandbox of the kind that is tried now."""
        assert self._box is not None
        return self._box

    def _command(self, command: str) -> Block:
        return self.spec.command(command)

    def _made(self, name: str) -> bool:
        return (Path(self.box.place.project) / name).exists()

    def _next(self) -> int:
        self._number += 1
        return self._number

    @contextmanager
    def _session(self, *arguments: str) -> Generator[Pane]:
        """The agent at rest, in a home of its own."""
        with self._running(*(arguments or self.spec.arguments)) as pane:
            self._attended(pane)
            yield pane

    @contextmanager
    def _running(self, *arguments: str, trusted: bool = True) -> Generator[Pane]:
        with sandbox(self.spec, self.program, trusted=trusted) as self._box:
            pane = self._box.start(*arguments)
            self._box.watch(pane)
            yield pane

    def _attended(self, pane: Pane) -> None:
        """Wait until it takes an instruction; what it asks of a person before that is answered by a key."""
        left = dict(self.spec.first)
        since = 0.0  # when it took instructions at last

        def ready() -> bool:
            nonlocal since
            screen = pane.screen()
            for wording, keys in left.items():
                if squeezed(wording) in squeezed(screen):
                    del left[wording]
                    for key in keys:
                        self._settle(pane)
                        pane.key(key)
                    since = 0.0
                    return False
            if re.search(self.spec.ready, screen) is None:
                return False
            since = since or time.monotonic()
            return not left or time.monotonic() - since > ASKS_LATE_S

        self._until(ready, "the agent to take an instruction", pane)
        self._settle(pane)

    def _rest(self, pane: Pane) -> None:
        self._until(lambda: not self._asking(), "the prompts to close", pane)
        self._until(lambda: re.search(self.spec.ready, pane.screen()), "its input box", pane)
        self._settle(pane)

    def _went_on(self, pane: Pane, wording: str, turns: Turns) -> bool:
        """Was nobody waited for? Then it has asked the model for the last turn; if none of them calls for a tool,
        it takes the next instruction."""
        if any(block.kind == "tool_use" for turn in turns for block in turn):
            return self.box.heard(wording, tools=True) >= len(turns)
        return re.search(self.spec.ready, pane.screen()) is not None

    def _say(self, pane: Pane, turns: Turns) -> str:
        """Type an instruction, see it there, and send it; its words."""
        self._rest(pane)
        wording = self.box.script(f"s{self._next()}", turns)
        self._keep(pane.screen(), "idle")
        pane.text(wording)
        with suppress(NotInTime):
            until(lambda: pane.shows(wording), SEEN_S, every=0.05)
        if not pane.shows(wording):
            pane.text(wording)
            self._until(lambda: pane.shows(wording), "the instruction in its input box", pane)
        self._settle(pane, BREATH_S)
        pane.key("Enter")
        self._until(lambda: self.box.heard(wording), "the model to hear the instruction", pane)
        return wording

    def _asking(self) -> list[dict[str, Any]]:
        return [prompt for prompt in self.box.get("/api/prompts") if prompt["kind"] not in PAUSES]

    def _known(self) -> set[str]:
        return {prompt["id"] for prompt in self.box.get("/api/prompts")}

    def _next_prompt(self, known: set[str]) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            return next((p for p in self._asking() if p["id"] not in known), None)

        value = self._until(look, "a prompt")
        assert value is not None
        return value

    def _raise(self, pane: Pane, turns: Turns, kind: str) -> dict[str, Any]:
        before = self._known()
        wording = self._say(pane, turns)
        try:
            prompt = self._next_prompt(before)
            self._noticed(prompt, kind)
        except (Failed, NotInTime) as failure:
            self._keep(pane.screen(), f"{kind} not noticed")
            if isinstance(failure, NotInTime) and self._went_on(pane, wording, turns):
                raise NotAsked from failure
            raise
        answerable = self._until(lambda: self._answerable(prompt["id"]), "an answer to be possible", pane)
        self._keep(self._settle(pane), kind)
        return answerable

    def _answerable(self, prompt_id: str) -> dict[str, Any] | None:
        """Other signs of the same dialog may still arrive, and complete it."""
        shown = self.box.get(f"/api/prompts/{prompt_id}")
        return shown if shown["held"] or shown["state"] != "open" else None

    def _noticed(self, prompt: dict[str, Any], kind: str) -> dict[str, Any]:
        shown = self.box.get(f"/api/prompts/{prompt['id']}")
        if self._ms < 0 and self.box.model.spoke_at > self._began and kind not in ("trust", "problem"):
            self._ms = max(0, round(1000 * (shown["history"][0]["at"] - self.box.model.spoke_at)))
        if prompt["kind"] != kind:
            self._steps["noticed"] = prompt["kind"]
            raise Failed(f"It is shown as {prompt['kind']}: {prompt['title']!r}.")
        self._steps["noticed"] = ""
        return prompt

    def _exact(
        self,
        prompt: dict[str, Any],
        shows: str,
        effects: tuple[tuple[str, ...], ...],
        labels: tuple[str, ...] = (),
    ) -> None:
        """The whole text is there; there is a yes and a no, or the options that the model named, in its order."""
        shown = json.dumps([prompt[part] for part in ("title", "body", "questions", "tool")], ensure_ascii=False)
        if _letters(shows) not in _letters(shown.replace("\\n", "\n")):
            raise Failed(f"It shows {prompt['title']!r}, not the whole of {shows!r}.")
        options = [option for question in prompt["questions"] for option in question["options"]]
        for wanted in effects:
            if not any(option["effect"] in wanted for option in options):
                raise Failed(f"None of its options is {wanted[0]}: {', '.join(o['label'] for o in options)}.")
        named = tuple(option["label"] for option in options)[: len(labels)]
        if named != labels:
            raise Failed(f"Its options are shown as {', '.join(named)}.")
        self._steps["exact"] = ""

    def _choice(self, prompt: dict[str, Any], effects: tuple[str, ...]) -> dict[str, list[str]]:
        options = [(q["id"], o) for q in prompt["questions"] for o in q["options"]]
        match = next(((q, o["id"]) for effect in effects for q, o in options if o["effect"] == effect), None)
        if match is None:
            raise Failed(f"There is no option to say {effects[0]}.")
        return {match[0]: [match[1]]}

    def _answer(self, prompt: dict[str, Any], body: dict[str, Any], wait: float = 60.0) -> None:
        path = f"/api/prompts/{prompt['id']}/answer"
        wait = min(self.patience, wait)
        status, reply = self.box.post(path, {**body, "sure": True, "wait": wait}, wait)
        if status not in (200, 202):
            raise Failed(f"The answer was refused ({status}): {reply.get('reason') or reply}.")

    def _decided(self, prompt: dict[str, Any], effects: tuple[str, ...], outcome: str) -> None:
        self._answer(prompt, {"choices": self._choice(prompt, effects)})
        shown = self._settled(prompt, ("confirmed",))
        fine = ("denied", "stopped") if outcome == "denied" else (outcome,)
        if shown["outcome"] not in fine:
            raise Wrong(f"It was {outcome}, and yourcall says {shown['outcome']!r}.")

    def _settled(self, prompt: dict[str, Any], states: tuple[str, ...]) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            shown = self.box.get(f"/api/prompts/{prompt['id']}")
            return shown if shown["state"] in states else None

        value = self._until(look, f"it to be {states[0]}")
        assert value is not None
        return value

    def _at_the_desk(self, pane: Pane, prompt: dict[str, Any]) -> None:
        """A person closes the dialog, without a yes."""
        self._settle(pane)
        for key in self.spec.refuse:
            pane.key(key)
            self._settle(pane)
        self._closed(prompt)
        shown = self.box.get(f"/api/prompts/{prompt['id']}")
        if shown["outcome"] == "allowed":
            raise Wrong("It was closed without a yes, and yourcall says that it was allowed.")

    def _closed(self, prompt: dict[str, Any]) -> None:
        path = f"/api/prompts/{prompt['id']}"
        self._until(lambda: self.box.get(path)["state"] in ("desk", "ended", "unsure"), "it to be withdrawn")

    def _pause(self, kind: str, pane: Pane, besides: str = "") -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            data = self.box.get("/api/prompts")
            return next((p for p in data if p["kind"] == kind and p["id"] != besides), None)

        value = self._until(look, f"a prompt that says {kind}", pane)
        assert value is not None
        return self._noticed(value, kind)

    def _told(self, wording: str, other: str, *, since: int) -> bool:
        """Does the model's last request hold the one answer where it did not before?"""
        requests: list[Any] = list(self.box.model.requests)[since:]
        last = [str(getattr(each, "body", each).get("messages", each)) for each in requests]
        return any(wording in each.rsplit(QUESTION, 1)[-1] and other != wording for each in last)

    def _settle(self, pane: Pane, quiet: float = 0.3) -> str:
        """The screen once it stands still; one that shows a clock never does, and is good as it is."""
        with suppress(NotInTime):
            return pane.settle(quiet, 3.0)
        return pane.screen()

    def _keep(self, screen: str, what: str) -> None:
        if self.saw is not None:
            self.saw(what, screen)

    def _until(self, probe: Callable[[], Any], what: str, pane: Pane | None = None) -> Any:
        try:
            return until(probe, self.patience, what=what, every=0.03)
        except NotInTime as late:
            if pane is not None:
                self._keep(pane.screen(), f"waited in vain for {what}")
            raise NotInTime(f"Waited {self.patience:g} s in vain for {what}.") from late


def _letters(wording: str) -> str:
    """Without what Markdown may be drawn as."""
    return "".join(char for char in wording if char.isalnum() or char in "/?-.")
