#!/usr/bin/env python3
"""Write what the phone app knows of the agents, from what each agent's folder says (`agents/phone_spec.py`).

python tools/gen_agents.py            # write web/src/lib/agents.ts and web/src/design/agents.css
python tools/gen_agents.py --check    # fail if they are not up to date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec

from yourcall.agents.registry import AGENTS, USUAL

WEB = Path(__file__).resolve().parent.parent / "web" / "src"
MADE = "Made by tools/gen_agents.py from what each agent's folder says; not to be edited."
TYPES = """\
export interface Logo { path: string; stroke: number; filled: boolean }
export interface SlashCommand { name: string; about: string }
export interface PermissionMode { id: string; about: string }
export interface Agent {
  title: string;
  logo: Logo | null;
  commands: SlashCommand[];
  modes: PermissionMode[];
  /** A session of it that has ended can be continued from here. */
  continues: boolean;
}
"""
# How much of its colour the tile behind a logo has.
TINT = "13%"


def typescript() -> str:
    rows = [f"  {json.dumps(name)}: {_row(name)}," for name, agent in AGENTS.items() if agent.title]
    usual = f"/** The agent that is offered first. */\nexport const USUAL = {json.dumps(USUAL)};\n"
    agents = "export const AGENTS: Record<string, Agent> = {\n" + "\n".join(rows) + "\n};\n"
    return "\n".join([f"// {MADE}\n", TYPES, usual, agents])


def _row(name: str) -> str:
    agent, phone = AGENTS[name], AGENTS[name].phone
    logo = phone.logo
    fields = {
        "title": agent.title,
        "logo": logo and {"path": logo.path, "stroke": logo.stroke, "filled": logo.filled},
        **{field: msgspec.to_builtins(getattr(phone, field)) for field in ("commands", "modes", "continues")},
    }
    return json.dumps(fields, ensure_ascii=False)


def stylesheet() -> str:
    """The agents' own colours, for their logos only."""
    every = {name: agent.phone.logo for name, agent in AGENTS.items()}
    logos = {name: logo for name, logo in every.items() if logo and logo.light}
    light = "\n".join(_tile(name, logo.light) for name, logo in logos.items())
    dark = "\n".join(f"  {_tile(name, logo.dark)}" for name, logo in logos.items())
    return f"/* {MADE} */\n\n{light}\n\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def _tile(name: str, colour: str) -> str:
    mixed = f"color-mix(in srgb, {colour} {TINT}, var(--surface))"
    return f".logo-tile.{name} {{ color: {colour}; background: {mixed}; }}"


def main() -> int:
    made = {WEB / "lib" / "agents.ts": typescript(), WEB / "design" / "agents.css": stylesheet()}
    outdated = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in outdated:
            print(f"{path.name} is not up to date; make it with: python tools/gen_agents.py", file=sys.stderr)
        return 1 if outdated else 0
    for path in outdated:
        path.write_text(made[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
