"""The app-server's own messages, captured from Codex 0.166.0, played to the reader of a connection."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.codex.live.connection import ServerConnection
from yourcall.agents.codex.live.session import HEADLESS
from yourcall.agents.codex.rollout import read_line, settled
from yourcall.agents.codex.wire import Thread
from yourcall.agents.session_spec import Child, StartOptions
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.model.events import AnswerGiven, AnswerWritten, AnyEvent, HolderLost
from yourcall.model.prompts import Answer, Prompt, Refused

DATA = Path(__file__).resolve().parents[2] / "data/codex"
CAPTURED = sorted(path.stem for path in (DATA / "app-server").glob("*.jsonl"))


def captured(name: str) -> list[tuple[str, dict[str, Any]]]:
    lines = (DATA / "app-server" / f"{name}.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    return [(each["dir"], each["msg"]) for each in told if each.get("dir") in ("send", "recv")]


@dataclass
class Desk:
    """The core beside a connection: what is heard is posted, what is answered is written."""

    server: ServerConnection = field(default_factory=lambda: ServerConnection("socket", "/a/socket"))
    state: State = field(default_factory=State)
    rows: dict[str, Prompt] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    now: float = 1000.0

    def post(self, event: AnyEvent) -> None:
        done = step(self.state, event)
        self.state.take(done)
        self.rows |= {prompt.id: prompt for prompt in done.prompts}

    def hear(self, message: dict[str, Any] | bytes) -> list[bytes]:
        self.now += 1
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        spoke = self.server.hear(data, self.now)
        self.bodies |= spoke.bodies
        for event in spoke.events:
            self.post(event)
        return list(spoke.lines)

    def asking(self) -> list[Prompt]:
        return [p for p in self.rows.values() if p.state == "open" and p.kind not in ("ready", "problem")]

    def answer(self, choices: dict[str, tuple[str, ...]], texts: dict[str, str]) -> list[dict[str, Any]]:
        """Answer the one open request; what was written."""
        (prompt,) = self.asking()
        answer = Answer(f"answer{self.now}", "phone", "http", choices, texts)
        self.post(AnswerGiven(self.now, prompt.id, answer))
        assert self.rows[prompt.id].state == "answering"
        written = self.server.answer(self.rows[prompt.id], answer, self.bodies[prompt.request])
        assert not isinstance(written, Refused), written
        self.post(AnswerWritten(self.now, prompt.id, answer.id))
        return [json.loads(message) for message in written]

    def the(self, *kinds: str) -> Prompt:
        (prompt,) = [p for p in self.rows.values() if p.kind in kinds]
        return prompt


def play(name: str, *answers: tuple[dict[str, tuple[str, ...]], dict[str, str]]) -> Desk:
    """Play what was captured; where a person answered then, answer now, and compare what is written."""
    desk, mine = Desk(), list(answers)
    desk.server.open()
    for way, message in captured(name):
        if way == "recv":
            desk.hear(message)
        elif "result" in message and mine:
            assert desk.answer(*mine.pop(0)) == [message]
    return desk


def pick(option: str) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    return {"decision": (option,)}, {}


FORM = (
    {"action": ("accept",), "environment": ("o1",), "notify": ("o2",)},
    {"version": "v1.2.3", "replicas": "3"},
)


@pytest.mark.parametrize(
    ("name", "answer", "state", "outcome"),
    [
        ("cmd-accept", pick("allow"), "confirmed", "allowed"),
        ("cmd-amendment", pick("rule1"), "confirmed", "allowed"),
        ("cmd-decline", pick("deny"), "confirmed", "denied"),
        ("cmd-cancel", pick("stop"), "confirmed", "stopped"),
        ("extraperm", pick("allow"), "confirmed", "allowed"),
        ("untrusted-policy", pick("allow"), "confirmed", "allowed"),
        ("patch-accept", pick("allow"), "confirmed", "allowed"),
        ("patch-accept-for-session", pick("session"), "confirmed", "allowed"),
        ("patch-decline", pick("deny"), "confirmed", "denied"),
        ("patch-cancel", pick("stop"), "confirmed", "stopped"),
        ("perm-grant-turn", pick("allow"), "accepted", None),  # the rollout tells, not the wire
        ("perm-grant-session", pick("session"), "accepted", None),
        ("perm-deny", pick("deny"), "accepted", None),
        ("ask-freeform", ({}, {"db": "use DuckDB\nplease"}), "accepted", None),
        ("mcp-tool-approve", pick("allow"), "confirmed", "allowed"),
        ("mcp-tool-approve-session", pick("session"), "confirmed", "allowed"),
        ("mcp-tool-decline", pick("deny"), "confirmed", "denied"),
        ("mcp-form-accept", FORM, "accepted", None),  # whose answer was taken is on no record
        ("mcp-form-cancel", ({"action": ("cancel",)}, {}), "accepted", None),
        ("mcp-url", ({"action": ("accept",)}, {}), "accepted", None),
    ],
)
def test_an_answer_is_written_as_the_real_server_took_it(
    name: str, answer: tuple[dict[str, tuple[str, ...]], dict[str, str]], state: str, outcome: str | None
) -> None:
    prompt = play(name, answer).the("permission", "question", "elicitation")
    assert (prompt.state, prompt.outcome) == (state, outcome), prompt.history


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("cmd-accept", "allowed"),
        ("cmd-decline", "denied"),
        ("cmd-cancel", "stopped"),
        ("cmd-interrupt-while-pending", "stopped"),
        ("patch-accept", "allowed"),
        ("patch-decline", "denied"),
        ("patch-cancel", "stopped"),
        ("mcp-tool-approve", "allowed"),
        ("mcp-tool-decline", "denied"),
        ("mcp-form-accept", "unknown"),
        ("perm-deny", None),
        ("ask-empty", None),
    ],
)
def test_what_another_answers_is_the_desks(name: str, outcome: str | None) -> None:
    """The same messages, with no answer of ours: somebody else gave it."""
    prompt = play(name).the("permission", "question", "elicitation")
    assert (prompt.state, prompt.outcome) == ("desk", outcome), prompt.history


def test_a_desk_that_decided_otherwise_is_not_our_doing() -> None:
    """We said no; the messages of a yes follow: another was first."""
    desk = Desk()
    desk.server.open()
    for way, message in captured("cmd-accept"):
        if way == "recv":
            desk.hear(message)
            if message.get("method") == "item/commandExecution/requestApproval":
                assert desk.answer(*pick("deny")) == [{"id": 0, "result": {"decision": "decline"}}]
    prompt = desk.the("permission")
    assert (prompt.state, prompt.outcome) == ("desk", "allowed")


def test_words_go_along_with_a_no() -> None:
    desk = Desk()
    desk.server.open()
    for way, message in captured("cmd-decline"):
        if way == "recv":
            desk.hear(message)
        if desk.asking():
            reply, words = desk.answer({"decision": ("deny",)}, {"decision": "Use the build folder."})
            break
    assert reply["result"] == {"decision": "decline"}
    assert words["method"] == "turn/start"
    assert words["params"]["input"] == [{"type": "text", "text": "Use the build folder."}]


@pytest.mark.parametrize(("name", "said"), [("cmd-cancel", True), ("cmd-accept", False), ("cmd-decline", False)])
def test_words_that_go_with_a_stop_are_said_after_it_and_only_then(name: str, said: bool) -> None:
    """If the desk was first, its turn goes on; words of an answer that came too late are no next instruction."""
    desk, written = Desk(), list[Any]()
    desk.server.open()
    for way, message in captured(name):
        if way == "recv":
            written += [json.loads(line) for line in desk.hear(message)]
        if desk.asking():
            desk.answer({"decision": ("stop",)}, {"decision": "Do it otherwise."})
    assert desk.the("permission").state == ("confirmed" if said else "desk")
    assert [m["params"]["input"][0]["text"] for m in written if m["method"] == "turn/start"] == (
        ["Do it otherwise."] if said else []
    )


def test_the_rollout_tells_how_a_question_was_answered() -> None:
    output = '{"answers":{"db":{"answers":["user_note: use DuckDB\\nplease"]}}}'
    payload = {"type": "function_call_output", "call_id": "call_297", "output": output}
    line = json.dumps({"type": "response_item", "payload": payload}).encode()
    (result,) = read_line(line)
    mine = play("ask-freeform", ({}, {"db": "use DuckDB\nplease"})).the("question")
    proof = settled(mine, result, 2000.0)
    assert proof is not None
    assert (proof.outcome, proof.source) == ("allowed", "held")
    theirs = settled(mine, read_line(line.replace(b"DuckDB", b"SQLite"))[0], 2000.0)
    assert theirs is not None
    assert theirs.source == "desk"


def late(desk: Desk, name: str = "late-join-after-tui-killed") -> None:
    """Play a join of our own: each request of ours is answered with what was captured for it."""
    replies = {}
    asked: dict[int, str] = {}
    for way, message in captured(name):
        if way == "send" and "method" in message and "id" in message:
            asked[message["id"]] = message["method"]
        elif way == "recv" and "result" in message and "method" not in message:
            replies[asked[message["id"]]] = message["result"]
    thread = replies["thread/resume"]["thread"]
    known = {
        "initialize": replies["initialize"],
        "thread/loaded/list": {"data": [thread["id"]]},
        "thread/read": {"thread": thread},
        "thread/resume": replies["thread/resume"],
        "thread/items/read": {"data": []},
    }
    todo = desk.server.open()
    while todo:
        message = json.loads(todo.pop(0))
        if "id" in message:
            todo += desk.hear({"id": message["id"], "result": known[message["method"]]})
    for way, message in captured(name):
        if way == "recv" and "method" in message and "id" in message:
            desk.hear(message)
            break


def test_a_join_reads_resumes_and_shows_what_waits() -> None:
    desk = Desk()
    late(desk)
    (prompt,) = desk.asking()
    assert (prompt.title, prompt.answerable) == ("touch /etc/demo-marker", True)
    (session,) = desk.state.sessions.values()
    assert session.links[0].kind == "socket"
    assert session.state == "waiting"


def test_one_who_joins_late_sees_the_change_too() -> None:
    """The request names the item; the item comes with the reply to `thread/resume`."""
    messages = [message for way, message in captured("patch-accept") if way == "recv"]
    started = next(m["params"]["thread"] for m in messages if m.get("method") == "thread/started")
    items = [m["params"] for m in messages if m.get("method") == "item/started"]
    (item,) = [each for each in items if each["item"]["type"] == "fileChange"]
    asked = next(m for m in messages if m.get("method") == "item/fileChange/requestApproval")
    desk = Desk()
    desk.server.open()
    active = {"type": "active", "activeFlags": ["waitingOnApproval"]}
    desk.hear({"method": "thread/started", "params": {"thread": started}})
    (resume,) = desk.hear(
        {"method": "thread/status/changed", "params": {"threadId": started["id"], "status": active}}
    )
    turn = {"id": item["turnId"], "status": "inProgress", "items": [item["item"]]}
    desk.hear(
        {"id": json.loads(resume)["id"], "result": {"thread": started, "initialTurnsPage": {"data": [turn]}}}
    )
    desk.hear(asked)
    (prompt,) = desk.asking()
    assert prompt.title == "Add /etc/demo-outside.txt"
    assert "+outside the workspace" in prompt.body


def test_a_request_of_before_is_held_again_and_an_answer_that_was_not_taken_comes_back() -> None:
    before = Desk()
    late(before)
    (prompt,) = before.asking()
    before.answer(*pick("allow"))
    sent = before.rows[prompt.id]
    assert sent.state == "sent"
    after = Desk(state=before.state, rows=before.rows, bodies=before.bodies, now=before.now)
    after.server.before.add(sent, after.bodies[sent.request])
    late(after)
    again = after.rows[prompt.id]
    assert (again.state, again.answerable) == ("open", True)
    assert "did not take the answer" in again.history[-2].detail
    assert after.server.before.give_up(after.now) == []


@pytest.mark.parametrize("same", [True, False])
def test_a_pause_of_before_is_held_again_if_no_turn_has_been_since(same: bool) -> None:
    """We were away, and the desk went on: what Codex says last is another question, and a yes would be to that."""
    before = play("cmd-accept", pick("allow"))
    pause = before.the("ready")
    thread = next(m["result"]["thread"] for _, m in captured("cmd-accept") if "thread" in m.get("result", {}))
    desk = Desk(state=before.state, rows=before.rows, bodies=before.bodies, now=before.now)
    desk.post(HolderLost(desk.now, pause.id, "we were away"))
    desk.server.before.add_session(thread["id"])
    desk.server.before.add(desk.rows[pause.id], b"")
    idle = {**thread, "status": {"type": "idle"}}
    said = {"type": "agentMessage", "id": "m2", "text": "All done." if same else "Shall I push it?"}
    turn = {"id": pause.turn_id if same else "another", "status": "completed", "items": [said]}
    known = {
        "initialize": {},
        "thread/loaded/list": {"data": [thread["id"]]},
        "thread/read": {"thread": idle},
        "thread/resume": {"thread": idle, "initialTurnsPage": {"data": [turn]}},
        "thread/unsubscribe": {},
    }
    todo = desk.server.open()
    while todo:
        message = json.loads(todo.pop(0))
        if "id" in message:
            todo += desk.hear({"id": message["id"], "result": known[message["method"]]})
    assert not desk.server.awaits_replies
    assert desk.server.before.give_up(desk.now) == []
    (waits,) = [p for p in desk.rows.values() if p.kind == "ready" and p.state == "open"]
    assert (waits.id == pause.id, waits.answerable, waits.body) == (same, True, said["text"])
    answer = Answer("a9", "phone", "http", {}, {"next": "Yes."})
    for prompt in (pause, waits):
        assert isinstance(desk.server.answer(prompt, answer, b""), list) == (prompt.id == waits.id)


@pytest.mark.parametrize("then", ["completed", "interrupted"])
def test_a_turn_that_is_read_as_interrupted_is_read_again(then: str) -> None:
    """A busy Codex is idle before the end of the turn is on disk, and reads such a turn as interrupted."""
    desk = Desk()
    desk.server.open()
    thread = next(m["result"]["thread"] for _, m in captured("cmd-accept") if "thread" in m.get("result", {}))
    desk.hear({"method": "thread/started", "params": {"thread": thread}})

    def status(now: str) -> list[bytes]:
        params = {"threadId": thread["id"], "status": {"type": now}}
        return desk.hear({"method": "thread/status/changed", "params": params})

    def resumed(line: bytes, turn: str) -> None:
        said = {"type": "agentMessage", "id": "m2", "text": "All done."}
        page = {"data": [{"id": "t2", "status": turn, "items": [said]}]}
        desk.hear({"id": json.loads(line)["id"], "result": {"thread": thread, "initialTurnsPage": page}})

    (first,) = status("active")
    status("idle")
    resumed(first, "interrupted")
    assert not [p for p in desk.rows.values() if p.kind == "ready"]
    assert desk.server.awaits_replies
    (again,) = desk.server.again()
    resumed(again, then)
    (ready,) = [p for p in desk.rows.values() if p.kind == "ready"]
    assert ready.body == ("All done." if then == "completed" else "The turn was stopped.")
    assert desk.server.again() == []


def test_what_a_new_server_does_not_know_is_told_as_such() -> None:
    before = Desk()
    late(before)
    (prompt,) = before.asking()
    server = ServerConnection("socket", "/a/socket")
    server.before.add(prompt, before.bodies[prompt.request])
    (over,) = server.before.give_up(2000.0)
    before.post(over)
    assert before.rows[prompt.id].state == "ended"
    other = Desk()
    late(other)
    other.answer(*pick("allow"))
    server.before.add(other.rows[prompt.id], other.bodies[prompt.request])
    (lost,) = server.before.give_up(2000.0)
    other.post(lost)
    assert other.rows[prompt.id].state == "unsure"


def test_a_session_that_a_new_server_has_not_loaded_is_over() -> None:
    desk = Desk()
    late(desk)
    (session,) = desk.state.sessions.values()
    (prompt,) = desk.asking()
    for loaded, over in ([session.id], False), ([], True):
        server = ServerConnection("socket", "/a/socket")
        server.before.add_session(session.id)
        (first,) = server.open()
        told = server.hear(json.dumps({"id": json.loads(first)["id"], "result": {}}).encode(), 2000.0).lines
        listing = json.loads(told[-1])
        server.hear(json.dumps({"id": listing["id"], "result": {"data": loaded}}).encode(), 2000.0)
        events = server.before.give_up(2001.0)
        assert bool(events) == over
        for event in events:
            desk.post(event)
    assert desk.state.sessions == {}
    assert desk.rows[prompt.id].state == "ended"


def test_helpers_of_codex_are_no_sessions() -> None:
    desk = play("shared-tui-and-daemon")
    assert "thread_title" in (DATA / "app-server/shared-tui-and-daemon.jsonl").read_text()
    ephemeral = {
        message["params"]["thread"]["id"]
        for way, message in captured("shared-tui-and-daemon")
        if message.get("method") == "thread/started" and message["params"]["thread"]["ephemeral"]
    }
    assert ephemeral
    assert not ephemeral & set(desk.state.sessions)


def test_the_end_of_a_turn_says_what_is_next() -> None:
    assert play("cmd-accept", pick("allow")).the("ready").body == "All done."
    stuck = play("err429").the("problem")
    assert stuck.title == "Codex's usage limit is reached"
    planned = play("plan-mode").the("ready")
    assert planned.body.startswith("# Add a health endpoint")


def test_a_plan_wants_a_word_where_no_terminal_shows_it() -> None:
    desk = Desk(server=ServerConnection("stdio", "", Child(7, "1", "/tmp")))
    desk.server.open()
    for way, message in captured("plan-mode"):
        if way == "recv":
            desk.hear(message)
    plan = desk.the("plan")
    answer = Answer("a1", "phone", "http", {"next": ("approve",)})
    (written,) = desk.server.answer(plan, answer, b"")  # pyright: ignore[reportGeneralTypeIssues]
    told = json.loads(written)["params"]
    assert told["input"][0]["text"] == "Implement the plan."
    assert told["collaborationMode"]["mode"] == "default"


def test_a_secret_is_not_asked_for_from_afar() -> None:
    desk = Desk()
    desk.server.open()
    for way, message in captured("ask-answer"):
        if way == "recv":
            if message.get("method") == "item/tool/requestUserInput":
                message["params"]["questions"][0]["isSecret"] = True
            desk.hear(message)
            if desk.asking():
                break
    (prompt,) = desk.asking()
    assert prompt.questions == ()


def test_every_option_has_a_reply() -> None:
    for name in CAPTURED:
        desk = Desk()
        desk.server.open()
        for way, message in captured(name):
            if way == "recv":
                desk.hear(message)
            for prompt in desk.asking():
                for question in prompt.questions:
                    for option in question.options:
                        choices = {q.id: (q.options[0].id,) for q in prompt.questions if q.options}
                        texts = {q.id: "1" for q in prompt.questions if q.free_text and not q.options}
                        answer = Answer("a1", "x", "http", {**choices, question.id: (option.id,)}, texts)
                        written = desk.server.answer(prompt, answer, desk.bodies[prompt.request])
                        assert not isinstance(written, Refused), (name, option)


@given(
    st.binary(max_size=200) | st.sampled_from(CAPTURED).flatmap(lambda n: st.sampled_from(captured(n))).map(str)
)
def test_nothing_that_can_be_sent_raises(junk: bytes | str) -> None:
    desk = Desk()
    desk.server.open()
    desk.hear(junk if isinstance(junk, bytes) else junk.encode())
    assert desk.rows == {}


@given(st.data())
def test_captured_messages_with_a_hole_never_raise(data: st.DataObject) -> None:
    messages = [m for way, m in captured(data.draw(st.sampled_from(CAPTURED))) if way == "recv"]
    desk = Desk()
    desk.server.open()
    for message in messages:
        params = message.get("params")
        if isinstance(params, dict) and data.draw(st.booleans()):
            key = data.draw(st.sampled_from(sorted(params) or ["x"]))
            params[key] = data.draw(st.none() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({}))
        desk.hear(message)
    assert all(p.answerable == bool(p.questions) or p.state != "open" for p in desk.rows.values())


def test_a_request_in_other_words_is_shown_and_left_to_the_desk() -> None:
    desk = Desk()
    desk.server.open()
    for way, message in captured("cmd-accept"):
        if way == "recv":
            if message.get("method") == "item/commandExecution/requestApproval":
                message["params"]["command"] = {"argv": ["touch", "x"]}
            desk.hear(message)
            if desk.asking():
                break
    (prompt,) = desk.asking()
    assert (prompt.kind, prompt.questions) == ("unknown", ())
    assert "cannot read" in prompt.title


HOST = "registry.example.com"
NETWORK = {
    "command": "/bin/bash -lc 'npm install'",
    "networkApprovalContext": {"host": HOST, "protocol": "https"},
    "availableDecisions": [
        "accept",
        "acceptForSession",
        {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": HOST, "action": "allow"}}},
        {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": HOST, "action": "deny"}}},
        "cancel",
    ],
}


@pytest.mark.parametrize("option", ["allow", "session", "rule1", "rule2", "deny", "stop"])
def test_a_connection_is_asked_for_and_answered_as_the_schema_has_it(option: str) -> None:
    """Nobody could make the real one ask this: it stands and falls with Codex's own schema."""
    validators = {
        name: jsonschema_rs.validator_for(
            (DATA / f"schema/CommandExecutionRequestApproval{name}.json").read_text()
        )
        for name in ("Params", "Response")
    }
    desk = Desk()
    desk.server.open()
    for way, message in captured("cmd-accept"):
        if way == "recv":
            if message.get("method") == "item/commandExecution/requestApproval":
                del message["params"]["proposedExecpolicyAmendment"]
                message["params"] |= NETWORK
                validators["Params"].validate(message["params"])
            desk.hear(message)
            if desk.asking():
                break
    (prompt,) = desk.asking()
    assert prompt.title == f"Connect to {HOST} (https)"
    labels = {o.id: (o.label, o.effect) for o in prompt.questions[0].options}
    assert labels["rule1"] == (f"Always allow {HOST}", "allow_always")
    assert labels["rule2"] == (f"Never allow {HOST}", "deny")
    (reply,) = desk.answer(*pick(option))
    validators["Response"].validate(reply["result"])


def test_a_helper_that_is_over_is_forgotten() -> None:
    desk = Desk()
    desk.server.open()
    started = next(m for way, m in captured("cmd-accept") if "thread" in m.get("result", {}))["result"]["thread"]
    desk.hear({"method": "thread/started", "params": {"thread": {**started, "ephemeral": True}}})
    assert not isinstance(desk.server.say(started["id"], "x"), Refused)
    desk.hear({"method": "thread/closed", "params": {"threadId": started["id"]}})
    assert isinstance(desk.server.say(started["id"], "x"), Refused)


@pytest.mark.parametrize(
    ("begun", "mode"), [("", "plan"), ("", "bypassPermissions"), ("bypassPermissions", "default")]
)
def test_a_mode_that_would_not_hold_is_refused_while_it_runs(begun: str, mode: str) -> None:
    talk = HEADLESS.session(StartOptions("/tmp", "x", begun), Child(7, "1", "/tmp"))
    assert isinstance(talk.ask("mode", mode), Refused)
    assert isinstance(
        HEADLESS.session(StartOptions("/tmp", "x"), Child(7, "1", "/tmp")).ask("mode", "dontAsk"), tuple
    )


@pytest.mark.parametrize("message", ["Which region?", "Which zone?"])
def test_a_form_outside_of_a_turn_is_not_taken_for_one_of_an_earlier_server(message: str) -> None:
    """`turnId` may be null, and a server counts its requests from 0: what was answered in an earlier life of this
    thread had the same number, and the new form was shown to nobody, or answered with what the old one asked."""
    lines = [message for way, message in captured("mcp-form-accept") if way == "recv"]
    asked = next(m for m in lines if m.get("method") == "mcpServer/elicitation/request")
    thread = Thread(asked["params"]["threadId"], cwd="/tmp")
    rows: list[Prompt] = []
    for pid, words in ((7, "Which region?"), (8, message)):
        desk = Desk(ServerConnection("stdio", "", Child(pid, f"s{pid}", "/tmp")))
        desk.server.own(thread, 1.0)
        params = {**asked["params"], "turnId": None, "message": words}
        for _ in range(2):  # and what is told again is the same
            desk.hear({**asked, "params": params})
        rows += desk.asking()
    first, second = rows
    assert first.id != second.id


@pytest.mark.parametrize("declined", [True, False])
def test_a_stop_right_behind_our_yes_says_no_more_than_is_known(declined: bool) -> None:
    """Found by `make prove`: Esc after a yes that was taken. The command had run, and was told as stopped."""
    desk = Desk()
    desk.server.open()
    over = [m for _, m in captured("cmd-cancel") if m.get("method") in ("item/completed", "turn/completed")]
    ours = [m for _, m in captured("cmd-cancel") if m.get("method") == "item/started"][-1]["params"]
    for way, message in captured("cmd-cancel"):
        if way == "recv" and message not in over:
            desk.hear(message)
        elif "result" in message:
            desk.answer(*pick("allow"))
        elif message in over[:1]:
            desk.hear(message)  # what the person said
    for message in over[1:]:
        mine = message["method"] == "item/completed" and message["params"]["item"]["id"] == ours["item"]["id"]
        if declined or not mine:
            desk.hear(message)
    prompt = desk.the("permission")
    assert (prompt.state, prompt.outcome) == (("desk", "stopped") if declined else ("unsure", None))
