"""An organisation's rules: signed by a key the machine knows, not overridden below, and strict where unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from yourcall.agents.claude.agent import CLAUDE
from yourcall.daemon.rules import organisation
from yourcall.daemon.rules.book import Rulebook
from yourcall.daemon.rules.lazy_rules import LazyRules
from yourcall.model.people import AnswerPolicy, Quorum, StepUp
from yourcall.model.prompts import Prompt
from yourcall.rules.organisation import STRICTEST, read, stricter

RULES = """
organisation = "Example Ltd"
serial = 3

[step_up]
required = true

[people]
quorum = [{ effects = ["delete"], persons = 2 }]

[rules.no-publishing]
do = "deny"
command = "npm publish"
message = "Releases are made by the pipeline."

[rules.pushing]
do = "ask"
effect = "network"
command = "git push"

[rules.testing]
do = "allow"
command = "make test"
"""


class _NoRecord:
    def body(self, _id: str, /) -> bytes | None:
        return None

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        del open_only, limit, before
        return []


class Firm:
    """A machine that trusts a key, and the key."""

    def __init__(self, home: Path, system: Path) -> None:
        self.home, self.system = home, system
        self.private, self.public = organisation.new_key()
        (home / "org").mkdir(parents=True)
        (home / "org" / organisation.KEY).write_text(self.public)

    def ships(self, text: str = RULES, *, key: str = "", folder: Path | None = None) -> None:
        there = folder or self.home / "org"
        (there / organisation.FILE).write_text(text)
        signature = organisation.sign(key or self.private, text.encode())
        (there / organisation.SIGNATURE).write_text(signature)

    @property
    def now(self) -> organisation.SignedRules:
        return organisation.SignedRules(self.home, self.system)

    def says(self, command: str, own: str = "") -> tuple[str, str]:
        """What is done with it, and by which rule."""
        (self.home / "rules.toml").write_text(own)
        book = Rulebook(self.home, _NoRecord(), {CLAUDE.name: CLAUDE}.get, lambda: 0, lambda _: "/srv/shop")
        book.files.organisation = self.now
        ruling = book.test(command, "/srv/shop", "claude")
        rule = ruling.rules[0] if ruling.rules else next((part.rule for part in ruling.parts if part.rule), "")
        return ruling.do, rule


@pytest.fixture
def firm(tmp_path: Path) -> Firm:
    made = Firm(tmp_path / "home", tmp_path / "etc")
    made.ships()
    return made


def test_nobody_below_can_loosen_it(firm: Firm) -> None:
    loose = '[mine]\ndo = "allow"\ncommand = ["npm publish --tag next", "git push origin main"]\nwhole = true\n'
    assert firm.says("npm publish --tag next", loose) == ("deny", "org:no-publishing")
    assert firm.says("git push origin main", loose) == ("ask", "org:pushing")
    assert firm.says("make test") == ("allow", "org:testing")


def test_everybody_below_can_be_stricter(firm: Firm) -> None:
    assert firm.says("make test", '[mine]\ndo = "deny"\ncommand = "make"\n') == ("deny", "mine")
    assert firm.says("make test", '[mine]\ndo = "ask"\ncommand = "make"\n') == ("ask", "mine")


def test_what_is_not_signed_right_allows_nothing_and_wants_the_most(firm: Firm) -> None:
    mine = '[mine]\ndo = "allow"\ncommand = "make lint"\n'
    folder = firm.home / "org"
    assert firm.says("make lint", mine)[0] == "allow"
    other, _ = organisation.new_key()
    spoilt = {
        "changed": lambda: (folder / organisation.FILE).write_text(RULES.replace("deny", "allow")),
        "another key": lambda: firm.ships(key=other),
        "no signature": lambda: (folder / organisation.SIGNATURE).unlink(),
        "no file": lambda: (folder / organisation.FILE).unlink(),
        "rubbish": lambda: (folder / organisation.SIGNATURE).write_text("%%%"),
        "no key": lambda: (folder / organisation.KEY).write_text("none"),
        "a mistake": lambda: firm.ships(RULES + "\n[rules.x]\ndo = 'maybe'\n"),
        "not ours": lambda: firm.ships("[rules]\n"),
    }
    for how, spoil in spoilt.items():
        (folder / organisation.KEY).write_text(firm.public)
        firm.ships()
        spoil()
        assert firm.says("make lint", mine)[0] == "ask", how
        assert firm.now.now is not None
        assert firm.now.now.policy == STRICTEST, how


def test_an_older_version_is_not_taken(firm: Firm) -> None:
    assert firm.now.now is not None
    newer = RULES.replace("serial = 3", "serial = 4").replace('"deny"', '"ask"')
    firm.ships(newer.replace('message = "Releases are made by the pipeline."', ""))
    assert firm.says("npm publish") == ("ask", "org:no-publishing")
    firm.ships()
    found = firm.now.now
    assert found is not None
    assert "serial 3; 4 was seen" in found.rules.problems[0]
    (firm.home / organisation.SEEN).write_text("who knows")
    firm.ships(RULES.replace("serial = 3", "serial = 5"))
    found = firm.now.now
    assert found is not None
    assert found.rules.problems


def test_the_administrators_key_goes_before_the_users(firm: Firm) -> None:
    firm.system.mkdir()
    private, public = organisation.new_key()
    (firm.system / organisation.KEY).write_text(public)
    firm.ships(RULES.replace("npm publish", "make deploy"), key=private, folder=firm.system)
    assert firm.says("make deploy now") == ("deny", "org:no-publishing")
    assert firm.says("npm publish")[0] == "ask"


def test_what_it_wants_of_a_yes_is_joined_with_the_machines_own(firm: Firm) -> None:
    own = AnswerPolicy(StepUp(risk="high", window_minutes=10, command_line=False), (), ("any",))
    lazy = LazyRules(firm.home, _NoRecord(), {CLAUDE.name: CLAUDE}.get, lambda: 0)
    both = lazy.policy(own)
    assert both.step_up == StepUp(risk="high", window_minutes=10, command_line=False, required=True)
    assert both.quorum == (Quorum(("delete",), 2),)
    assert both.not_by_who_asked == ("any",)
    (firm.home / "org" / organisation.FILE).unlink()
    assert lazy.policy(own).step_up == STRICTEST.step_up
    for each in (own, AnswerPolicy(), STRICTEST):
        assert stricter(each, STRICTEST).step_up == STRICTEST.step_up


def test_a_signature_for_something_else_is_none_for_this(firm: Firm) -> None:
    import base64

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(firm.private))
    plain = base64.b64encode(key.sign(RULES.encode())).decode()
    assert not organisation.signed_by(firm.public, RULES.encode(), plain)
    assert organisation.signed_by(firm.public, RULES.encode(), organisation.sign(firm.private, RULES.encode()))


def test_every_mistake_in_a_file_is_told() -> None:
    for text in ("serial = 1", 'organisation = "x"\nserial = "1"', "[", RULES + "\n[other]\nx = 1\n"):
        assert read(text, "org.toml").rules.problems, text
