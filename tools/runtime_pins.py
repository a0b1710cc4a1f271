"""What an install of yourcall brings along: the pins that it runs on, without those of the tests."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[1] / "requirements.txt"


def names() -> set[str]:
    """The distributions that yourcall needs, and those that these need, as this environment knows them."""
    found: set[str] = set()
    todo = ["yourcall"]
    while todo:
        name = todo.pop()
        try:
            wanted = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another platform
        for each in wanted:
            plain = canonical(re.split(r"[^A-Za-z0-9._-]", each, maxsplit=1)[0])
            if "extra ==" not in each and plain not in found:
                found.add(plain)
                todo.append(plain)
    return found


def pins() -> dict[str, str]:
    """Each pin with its hashes, as it stands in requirements.txt, by name."""
    blocks = REQUIREMENTS.read_text().replace("\\\n", "\\\0").splitlines()
    by_name = {canonical(block.partition("==")[0]): block.replace("\\\0", "\\\n") for block in blocks}
    return {name: by_name[name] for name in sorted(names()) if name in by_name}


def text() -> str:
    return "".join(f"{pin}\n" for pin in pins().values())


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
