#!/usr/bin/env python3
"""Prove a matrix of agents and versions, and write docs/reference/grades.md.

    python3 tools/grades.py                     # everything: about an hour
    python3 tools/grades.py claude codex        # only these; the rest stays as it was
    python3 tools/grades.py claude --version 2.1.144
    python3 tools/grades.py --write             # only write the page anew from tools/grades.json

The rule it keeps: a cell of the table is what `yourcall doctor --live` found with the real program of that
version, fetched into the test cache; what npm no longer serves, or what does not run, is said with its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from fetch_clis import CannotFetch, fetch  # noqa: E402

FOUND = ROOT / "tools" / "grades.json"
PAGE = ROOT / "docs" / "reference" / "grades.md"
SCREENS = "YOURCALL_GRADES_SCREENS"  # a folder for the screens that were seen
KINDS = ("permission", "question", "plan", "elicitation", "trust", "ready", "problem")

# Newest, pinned, about half a year and about a year old, as npm served them in November 2026. Its dates are of
# little use for old versions, which were published anew; the numbers between two sure dates were taken.
MATRIX: dict[str, dict[str, str]] = {
    "claude": {"2.1.328": "newest", "2.1.325": "pinned", "2.1.144": "half a year", "2.0.36": "a year"},
    "codex": {"0.169.0": "newest", "0.166.0": "pinned", "0.134.0": "half a year", "0.59.0": "a year"},
    "gemini": {"0.61.0": "newest, pinned", "0.42.0": "half a year", "0.17.0": "a year"},
    "copilot": {"1.0.102": "newest, pinned", "1.0.48": "half a year", "0.0.365": "a year"},
    "qwen": {"0.24.4": "newest, pinned", "0.15.6": "half a year", "0.5.0": "a year"},
    "opencode": {"1.18.33": "newest, pinned", "1.15.4": "half a year", "1.0.98": "a year"},
    "kilo": {"7.7.9": "pinned"},
    "droid": {"0.225.2": "pinned"},
}
HEAD = """# Grades: which version of which agent does what

Made by `make grades`: [`yourcall doctor --live claude`](../how-to/prove-an-agent.md) on Linux x64, with each
version as npm served it in November 2026, in a sandbox against a scripted model. A grade is what was
seen with that version, once. For versions that are not pinned, nothing was tuned but that a dialog
of theirs is seen at all. The machine had two cores and was busy, so the times are upper bounds.

| grade | means |
|---|---|
| proved | noticed, shown exactly, allowed, denied or answered, confirmed, withdrawn when the desk was first |
| partly | some answers arrive, others don't |
| shown | noticed and shown; answered at the desk |
| unknown | noticed as a screen that yourcall doesn't know: the screen itself, and keys |
| missed | not noticed |
| not asked | this version went on without asking, or knows no such call: nothing could be tried |
| wrong | what yourcall said is not what happened |
| – | this agent has no such prompt, or no trial of it |
"""


def prove(agent: str, version: str) -> dict[str, Any]:
    """What `doctor --live` says of it, or why it could not be tried."""
    try:
        program = fetch(agent, version)
    except CannotFetch as failure:
        return {"problem": str(failure)}
    command = [
        sys.executable,
        "-m",
        "yourcall.cli.main",
        "doctor",
        "--live",
        agent,
        "--cli",
        str(program),
        "--json",
    ]
    if folder := os.environ.get(SCREENS):
        command += ["--screens", str(Path(folder) / f"{agent}-{version}")]
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "YOURCALL_HOME": home}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    try:
        return {"kinds": json.loads(done.stdout)["kinds"]}
    except (ValueError, KeyError):
        return {"problem": done.stderr.strip()[-300:] or f"doctor ended with {done.returncode}"}


def page(found: dict[str, dict[str, Any]]) -> str:
    parts = [HEAD]
    for agent, versions in MATRIX.items():
        notes: list[str] = []
        parts.append(f"## {agent}\n")
        parts.append(f"| version | | {' | '.join(KINDS)} |\n|---|---|{'---|' * len(KINDS)}")
        for version, age in versions.items():
            cell = found.get(agent, {}).get(version, {})
            if "kinds" not in cell:
                notes.append(f"{version}: {cell.get('problem', 'not tried')}")
                parts.append(f"| {version} | {age} | {' | '.join('–' for _ in KINDS)} |")
                continue
            row: list[str] = []
            for kind in KINDS:
                one = cell["kinds"].get(kind)
                row.append("–" if one is None else _cell(one))
                if one is not None and one["why"]:
                    notes.append(f"{version}, {kind}: {one['why']}")
            parts.append(f"| {version} | {age} | {' | '.join(row)} |")
        parts.append("".join(f"\n- {' '.join(note.split())}" for note in notes) + "\n")
    return "\n".join(parts).rstrip() + "\n"


def _cell(one: dict[str, Any]) -> str:
    return str(one["grade"]) + (f", {one['ms']} ms" if one["ms"] >= 0 else "")


def write(found: dict[str, dict[str, Any]]) -> None:
    FOUND.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(found))
    subprocess.run([sys.executable, str(ROOT / "tools" / "wrap_docs.py")], check=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Prove agents and versions, and write the page of grades.")
    parser.add_argument("agents", nargs="*", metavar="|".join(MATRIX), help="default: all")
    parser.add_argument("--version", help="only this version (with one agent)")
    parser.add_argument("--write", action="store_true", help="prove nothing, only write the page")
    asked = parser.parse_args(arguments)
    found: dict[str, dict[str, Any]] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    for agent in () if asked.write else asked.agents or MATRIX:
        for version in [asked.version] if asked.version else MATRIX[agent]:
            found.setdefault(agent, {})[version] = one = prove(agent, version)
            grades = {kind: each["grade"] for kind, each in one.get("kinds", {}).items()}
            print(agent, version, grades or one, flush=True)
            write(found)
    write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
