"""The grades of all agents, each as its own folder declares it."""

from __future__ import annotations

from yourcall.agents.acp.grade import GRADES as ACP
from yourcall.agents.claude.grade import GRADE as CLAUDE
from yourcall.agents.codex.grade import GRADE as CODEX
from yourcall.agents.gemini.grade import GRADE as GEMINI
from yourcall.agents.generic.grade import GRADE as GENERIC
from yourcall.agents.grade import Grade

GRADES: dict[str, Grade] = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "generic": GENERIC, **ACP}
