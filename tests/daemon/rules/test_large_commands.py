"""Commands that are too long, or do too much, to be held against every rule: never allowed, and asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from yourcall.daemon.rules.book import Rulebook
from yourcall.model.prompts import Prompt
from yourcall.rules.action_parts import MOST_PARTS
from yourcall.rules.risk import in_command
from yourcall.rules.shell.tokens import LONGEST

RULES = '[all]\ndo = "allow"\ncommand = "ls"\n\n[no]\ndo = "deny"\ncommand = "git push"\n'


class NoPast:
    def body(self, id: str, /) -> bytes | None:
        return None

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        return []


@pytest.fixture
def book(tmp_path: Path) -> Rulebook:
    (tmp_path / "rules.toml").write_text(RULES)
    return Rulebook(tmp_path, NoPast(), lambda _: None, lambda: 100)


def test_what_does_very_many_things_is_never_allowed(book: Rulebook, tmp_path: Path) -> None:
    assert book.test("; ".join(["ls"] * MOST_PARTS), str(tmp_path), "claude").do == "allow"
    ruling = book.test("; ".join(["ls"] * (MOST_PARTS + 1)), str(tmp_path), "claude")
    assert (ruling.do, ruling.insists) == ("ask", False)
    assert f"it does more than {MOST_PARTS} things" in ruling.why


def test_a_deny_that_may_be_meant_has_a_person_asked(book: Rulebook, tmp_path: Path) -> None:
    many = "; ".join(["ls"] * MOST_PARTS)
    ruling = book.test(f"{many}; git push origin", str(tmp_path), "claude")
    assert (ruling.do, ruling.insists) == ("ask", True)


def test_five_megabytes_are_not_searched_for_what_a_rule_names(book: Rulebook, tmp_path: Path) -> None:
    ruling = book.test("echo " + "a " * 2_500_000, str(tmp_path), "claude")
    assert (ruling.do, ruling.insists) == ("ask", True)
    assert f"it is longer than {LONGEST:,} characters" in ruling.why
    assert "Rule no may be about it" in ruling.why


def test_a_long_command_is_too_long_to_judge() -> None:
    assert in_command("echo " + "a " * 2_500_000) == "It is too long to be read by eye."
