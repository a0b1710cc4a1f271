"""What the rules say against a call when no daemon answers: the hook's own look, where a deny must still hold.

Rule: it can deny and it can ask; it never allows, and it writes nothing. Where the rules have nothing against a
call it says nothing, and the agent goes its own way, as without us.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.sightings import HookCall
from yourcall.agents.spec import Agent
from yourcall.daemon.rules.book import Rulebook
from yourcall.daemon.rules.lazy_rules import RuleDecision
from yourcall.model.events import PromptRaised
from yourcall.model.prompts import Prompt, Refused

# The agents whose hook asks the rules before a tool runs.
AGENTS = {CLAUDE.name: CLAUDE}

UNREAD = "what is asked cannot be read, so no rule can be looked up for it"


class _NoRecord:
    """What was decided before is the daemon's to know. It would matter only to what is allowed."""

    def body(self, _id: str, /) -> bytes | None:
        return None

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        del open_only, limit, before
        return []


def objection(name: str, payload: bytes, home: str, folders: Iterable[str]) -> bytes:
    """What the hook prints; empty if the rules have nothing against it. `folders`: where the session may have been
    started. Which one it was only the daemon knows, so the rules of each count."""
    agent = AGENTS[name]
    now = time.time()
    result = agent.read_hook(HookCall(now, "Rules", payload, {}, "withoutdaemon", "withoutdaemon"))
    prompt = next((event.prompt for event in result.events if isinstance(event, PromptRaised)), None)
    if prompt is None:
        return _insist(agent, UNREAD) if result.problem else b""
    request = result.bodies.get(prompt.request, b"")
    asks = ""
    for folder in dict.fromkeys(each for each in folders if each.startswith("/")):
        rule_decision = _told(agent, Path(home), folder, prompt, request, now)
        if rule_decision.answer is not None:
            plan = agent.reply(prompt, rule_decision.answer, request)
            return _insist(agent, plan.reason) if isinstance(plan, Refused) else plan.output
        asks = asks or rule_decision.insists
    return _insist(agent, asks) if asks else b""


def _told(agent: Agent, home: Path, folder: str, prompt: Prompt, request: bytes, now: float) -> RuleDecision:
    book = Rulebook(home, _NoRecord(), {agent.name: agent}.get, lambda: 0, lambda _: folder)
    return book.against(prompt, request, now)


def _insist(agent: Agent, why: str) -> bytes:
    if agent.insist is None:
        raise ValueError(f"{agent.name} cannot be told to ask")
    return agent.insist(why)
