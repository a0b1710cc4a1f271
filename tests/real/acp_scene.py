"""What the tests of real ACP agents share: one story that every one of them must go through."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kit.acp import Stage, stage
from kit.poll import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# What the package is called whose program speaks for this agent.
PACKAGES = {"gemini-acp": "gemini"}


@contextmanager
def on_stage(name: str, folder: Path, fetched: Callable[..., Path]) -> Iterator[Stage]:
    agent = stage(name, folder, fetched(PACKAGES.get(name, name)))
    with agent.closing:
        yield agent


def answer(agent: Stage, prompt: dict[str, Any], word: str) -> tuple[str, str]:
    said = agent.yourcall.run("answer", prompt["id"], word)
    assert said.code == 0, said
    return agent.settled(prompt)


def the_story(agent: Stage) -> str:
    """Asked and allowed, asked and refused, a file, stopped, ended: the id of the session that it was."""
    yourcall = agent.yourcall
    session = agent.session(agent.script("touch", [("run", "touch marker")], [("speak", "Made it.")]))
    prompt = agent.prompt()
    assert (prompt["session_id"], prompt["agent"]) == (session, agent.name)
    assert prompt["title"] == "touch marker"
    assert prompt["tool"]["input"]["command"] == "touch marker"
    assert prompt["questions"][0]["options"][0]["effect"] == "allow_once"
    assert not agent.made("marker")
    assert answer(agent, prompt, "allow") == ("confirmed", "allowed")
    assert agent.ready()["body"] == "Made it."
    assert agent.made("marker")

    words = agent.script("refuse", [("run", "touch refused")], [("speak", "Then not.")])
    assert yourcall.run("send", session, words).code == 0
    assert answer(agent, agent.prompt(), "deny") == ("confirmed", "denied")
    agent.ready()
    assert not agent.made("refused")

    words = agent.script("write", [("write", "hello.txt", "hello\n")], [("speak", "Written.")])
    assert yourcall.run("send", session, words).code == 0
    prompt = agent.prompt()
    assert "+hello" in prompt["body"]
    assert not agent.made("hello.txt")
    assert answer(agent, prompt, "allow") == ("confirmed", "allowed")
    assert agent.ready()["body"] == "Written."
    assert (agent.project / "hello.txt").read_text() == "hello\n"

    words = agent.script("slow", [("speak", "Slowly. "), ("halt", "never"), ("speak", "Done.")])
    assert yourcall.run("send", session, words).code == 0
    until(lambda: agent.model.requests and "DO slow" in str(agent.model.requests[-1]), what="the slow turn")
    assert yourcall.run("interrupt", session).code == 0
    assert agent.ready()["body"] == "The turn was stopped."
    agent.model.release("never")

    told = [(e["type"], e.get("phase"), e.get("title") or e.get("text")) for e in agent.entries(session)]
    assert told[0] == ("user", None, "DO touch")
    assert ("action", "started", "touch marker") in told
    assert ("action", "completed", "touch marker") in told
    assert ("assistant", None, "Made it.") in told

    group = agent.pid(session)
    assert yourcall.run("stop", session).code == 0
    agent.gone(group)
    return session


def goes_on(agent: Stage, session: str) -> None:
    """The same session in a new process: the model knows what was said, the conversation is whole."""
    words = agent.script("again", [("speak", "Again.")])
    said = agent.start("--resume", session, agent.name, say=words)
    assert said.out.strip() == session
    assert agent.ready()["body"] == "Again."
    assert "DO touch" in str(agent.model.requests[-1])
    texts = [entry.get("text") for entry in agent.entries(session)]
    assert texts.count("DO touch") == 1
    assert texts[-2:] == ["DO again", "Again."]
