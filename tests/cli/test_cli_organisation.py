"""`yourcall rules org`: from a key to a rule that holds, which the agent and `rules explain` are told of."""

from __future__ import annotations

from pathlib import Path

from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import Yourcall

RULES = 'organisation = "Example Ltd"\nserial = 1\n[rules.no-publishing]\ndo = "deny"\ncommand = "npm publish"\n'


def test_from_a_key_to_a_rule_that_holds(yc: Yourcall, claude: ScriptedClaude, tmp_path: Path) -> None:
    key, file = tmp_path / "org.key", tmp_path / "org.toml"
    file.write_text(RULES)
    assert yc.run("rules", "org").out == "No organisation's rules hold here.\n"
    assert yc.run("rules", "org", "key", str(key)).code == 0
    assert key.stat().st_mode & 0o777 == 0o600
    assert yc.run("rules", "org", "sign", str(file), str(key)).code == 0
    assert "Nothing is on record" in yc.run("rules", "org", "try", str(file)).out
    assert yc.run("rules", "org", "trust", f"{key}.pub").code == 0
    assert yc.run("rules", "org").code == 1  # the key is known, and the rules are missing
    for name in ("org.toml", "org.toml.sig"):
        (yc.home / "org" / name).write_text((tmp_path / name).read_text())
    assert "org:no-publishing" in yc.run("rules", "org").out
    held = claude.asks("Bash", command="npm publish")
    answer = held.answer()
    assert answer is not None
    assert answer["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    told = yc.run("rules", "test", "npm publish", "--dir", "/")
    assert told.code == 3
    assert "organisation" in told.out
    changed = until(
        lambda: [each for each in yc.run("log", "settings", "--json").json if each["area"] == "policy"],
        what="the change on record",
    )
    assert changed[0]["about"] == "organisation"
