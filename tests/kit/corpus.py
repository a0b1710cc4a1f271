"""Screens that were taken from the real programs, each with its right reading."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import msgspec

from yourcall.model.screen import Reading

CORPUS = Path(__file__).parents[1] / "corpus"
# Who is there when a CLI has left.
SHELLS = (
    "$",
    "user@host:~/shop$ ",
    "# ",
    "❯",
    "~/shop % ",
    "➜  shop git:(main) ls",
)
by_name = {"ids": lambda case: case.name}


@dataclass(frozen=True)
class Case:
    name: str
    version: str
    screen: str
    title: str | None
    expect: Reading


def cases(agent: str) -> list[Case]:
    return [_load(folder) for folder in sorted((CORPUS / agent).iterdir())]


def _load(folder: Path) -> Case:
    meta = json.loads((folder / "meta.json").read_text())
    expect = msgspec.json.decode((folder / "expect.json").read_bytes(), type=Reading)
    screen = (folder / "screen.txt").read_text()
    return Case(folder.name, meta.get("version", ""), screen, meta.get("pane_title"), expect)
