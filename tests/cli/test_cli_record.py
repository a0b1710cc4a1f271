"""Changes that no daemon was asked for are on record all the same; `log settings` and `log export` show them."""

from __future__ import annotations

import json

from kit.poll import until
from kit.yourcall import Yourcall

RULES = '[no-pushing]\ndo = "deny"\ncommand = "git push"\n'


def _settings(yc: Yourcall) -> list[tuple[str, str, str, str]]:
    lines = json.loads(yc.run("log", "settings", "--json").out)
    return [(each["area"], each["what"], each["about"], each["by"]) for each in reversed(lines)]


def test_what_was_changed_in_files_is_recorded_also_while_no_daemon_ran(yc: Yourcall) -> None:
    yc.run("pause")
    paused = [("pause", "paused", "rules", "cli")]
    until(lambda: _settings(yc) == paused)
    yc.stop()
    yc.run("resume")
    (yc.home / "rules.toml").write_text(RULES)
    with (yc.home / "config.toml").open("a") as config:
        config.write('\n[channels.hooks]\ntype = "webhook"\nurl = "http://127.0.0.1:9/"\n')
    (yc.home / "secrets.toml").write_text('[hooks]\nsecret = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0"\n')
    (yc.home / "secrets.toml").chmod(0o600)
    yc.start()
    wanted = {
        *paused,
        ("pause", "resumed", "rules", "a file"),
        ("rules", "found", "rules.toml", "a file"),
        ("channels", "added", "hooks", "a file"),
    }
    until(lambda: set(_settings(yc)) == wanted)
    head = json.loads(yc.run("log", "verify", "--json").out)
    yc.stop()
    yc.start()
    yc.run("devices", "add", "script")
    until(lambda: ("devices", "added") in {each[:2] for each in _settings(yc)})
    assert len(_settings(yc)) == len(wanted) + 1, "what is on record is not recorded again"

    exported = [json.loads(line) for line in yc.run("log", "export").out.splitlines()]
    assert [line["area"] for line in exported] == [each[0] for each in reversed(_settings(yc))]
    assert "whsec" not in json.dumps(exported)
    assert yc.run("log", "verify", "--head", f"{head['links']}:{head['head']}").code == 0
    assert yc.run("log", "verify", "--head", f"{head['links']}:{'0' * 64}").code == 1
