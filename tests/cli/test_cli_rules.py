"""Rules from the outside: a prompt is answered by one; one is made of a prompt, tried, explained, taken back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import Yourcall

READING = '[reading]\ndo = "allow"\neffect = "read"\n'


def write(yc: Yourcall, text: str) -> None:
    (yc.home / "rules.toml").write_text(text)


def decision(answer: dict[str, object] | None) -> dict[str, object]:
    assert answer is not None
    return answer["hookSpecificOutput"]["decision"]  # type: ignore[index]


def ask(yc: Yourcall, claude: ScriptedClaude, command: str) -> dict[str, object]:
    """Ask, and hear what is held: the prompt waits for a person."""
    claude.asks("Bash", command=command)
    (prompt,) = until(lambda: [p for p in yc.prompts() if p["tool"]["input"] == {"command": command}])
    return prompt


def test_a_rule_answers_and_the_record_names_it(yc: Yourcall, claude: ScriptedClaude) -> None:
    write(yc, READING + '\n[no-rm]\ndo = "deny"\ncommand = "rm"\nmessage = "Never."\n')
    held = claude.asks("Bash", command="git log | head -3")
    assert decision(held.answer())["behavior"] == "allow"
    claude.goes_on(held)
    denied = claude.asks("Bash", command="ls && bash -c 'r\"m\" -rf x'")
    assert decision(denied.answer()) == {"behavior": "deny", "message": "Never."}
    claude.goes_on(denied, decision="reject")
    until(lambda: len([x for x in yc.http("GET", "/api/log")[1] if x["state"] == "confirmed"]) == 2)
    lines = yc.http("GET", "/api/log")[1]
    assert [(x["by"], x["via"], x["outcome"]) for x in lines] == [
        ("rule no-rm", "rule", "denied"),
        ("rule reading", "rule", "allowed"),
    ]
    exported = [json.loads(line) for line in yc.run("log", "export").out.splitlines()]
    assert [line["rule"] for line in exported] == ["no-rm", "reading"]
    verified = yc.run("log", "verify", "--json")
    assert (verified.code, verified.json["problems"]) == (0, [])
    listed = yc.run("rules").out
    assert "reading" in listed
    assert "Deny commands `rm" in listed


def test_what_no_rule_allows_waits_and_unparsable_text_too(yc: Yourcall, claude: ScriptedClaude) -> None:
    write(yc, READING)
    for command in ("git log && curl x | sh", "ls $((x))", "cat .env", "ls; npm test"):
        prompt = ask(yc, claude, command)
        assert prompt["state"] == "open"
        said = yc.run("rules", "explain", str(prompt["id"]))
        assert said.code == 4, said
        assert "ask" in said.out


def test_paused_nothing_is_decided_by_rule(yc: Yourcall, claude: ScriptedClaude) -> None:
    write(yc, READING)
    assert yc.run("pause").code == 0
    assert yc.http("GET", "/api/status")[1]["paused"] is True
    prompt = ask(yc, claude, "git status")
    assert prompt["state"] == "open"
    yc.stop()
    yc.start()
    assert "Paused by cli" in yc.run("rules").out  # a restart does not let go of the brake
    assert yc.run("resume").code == 0
    assert decision(claude.asks("Bash", command="git diff").answer())["behavior"] == "allow"
    yc.stop()
    assert yc.run("pause").code == 0
    yc.start()
    assert yc.http("GET", "/api/status")[1]["paused"] is True


def test_too_many_in_a_minute_wait(yc: Yourcall, claude: ScriptedClaude) -> None:
    write(yc, READING)
    yc.configure("[rules]\nper_minute = 2\n")
    for n in range(2):
        assert decision(claude.asks("Bash", command=f"ls {n}").answer())["behavior"] == "allow"
    prompt = ask(yc, claude, "ls 3")
    assert "More than 2" not in str(prompt)
    assert prompt["state"] == "open"


def test_a_hold_wants_to_be_said_twice(yc: Yourcall, claude: ScriptedClaude) -> None:
    write(yc, '[push]\ndo = "ask twice"\ncommand = "git push"\n')
    prompt = ask(yc, claude, "git push origin main")
    assert prompt["hold"] is True
    refused = yc.run("answer", str(prompt["id"]), "allow", "--no-wait")
    assert refused.code == 2
    assert "requires confirmation" in refused.err
    assert yc.run("answer", str(prompt["id"]), "allow", "--sure", "--no-wait").code == 6
    other = ask(yc, claude, "git push -f")
    assert yc.run("answer", str(other["id"]), "deny", "--no-wait").code == 6  # a no is a no at once


def test_always_like_this(yc: Yourcall, claude: ScriptedClaude) -> None:
    first = ask(yc, claude, "npm test -- --quiet")
    status, proposal = yc.http("GET", f"/api/prompts/{first['id']}/rule")
    assert status == 200, proposal
    assert proposal["rule"]["name"] == "npm-test-quiet"
    assert "npm test -- --quiet" in proposal["rule"]["words"]
    assert "~/project" in proposal["rule"]["words"]
    assert proposal["tried"]["decided"] == 1
    assert not (yc.home / "rules.toml").exists()  # nothing is learnt by looking
    said = yc.run("rules", "add", "--like", str(first["id"]), "--yes")
    assert said.code == 0, said
    assert "rules remove npm-test-quiet" in said.out
    assert decision(claude.asks("Bash", command="npm test -- --quiet").answer())["behavior"] == "allow"
    assert ask(yc, claude, "npm test -- --quiet --and-more")["state"] == "open"
    assert yc.run("rules", "undo").code == 0
    assert ask(yc, claude, "npm test -- --quiet ")["state"] == "open"
    assert yc.run("rules", "undo").code == 0  # undone, the undoing
    assert yc.run("rules", "remove", "npm-test-quiet").code == 0
    assert yc.run("rules", "remove", "npm-test-quiet").code == 2
    assert "There are no rules" in yc.run("rules").out


def test_a_rule_is_used_up_and_a_restart_does_not_refill_it(yc: Yourcall, claude: ScriptedClaude) -> None:
    write(yc, READING + "uses = 2\n")
    assert decision(claude.asks("Bash", command="ls 1").answer())["behavior"] == "allow"
    yc.stop()
    yc.start()
    assert decision(claude.asks("Bash", command="ls 2").answer())["behavior"] == "allow"
    assert ask(yc, claude, "ls 3")["state"] == "open"


def test_a_projects_file_can_only_restrict(yc: Yourcall, claude: ScriptedClaude) -> None:
    write(yc, READING)
    own = claude.project / ".yourcall" / "rules.toml"
    own.parent.mkdir()
    own.write_text('[all]\ndo = "allow"\neffect = "write_inside"\n')
    assert ask(yc, claude, "touch x")["state"] == "open"
    assert ask(yc, claude, "ls")["state"] == "open"  # a file with a mistake in it lets nothing through
    own.write_text('[not-here]\ndo = "deny"\ncommand = "ls"\nmessage = "Not in this project."\n')
    assert decision(claude.asks("Bash", command="ls -la").answer())["message"] == "Not in this project."
    assert decision(claude.asks("Bash", command="pwd").answer())["behavior"] == "allow"


def test_a_link_leads_where_it_leads(yc: Yourcall, claude: ScriptedClaude, tmp_path: Path) -> None:
    write(yc, '[inside]\ndo = "allow"\neffect = ["read", "write_inside"]\n')
    (tmp_path / "elsewhere").mkdir()
    (claude.project / "link").symlink_to(tmp_path / "elsewhere")
    (claude.project / "real").mkdir()
    assert decision(claude.asks("Bash", command="touch real/x").answer())["behavior"] == "allow"
    assert ask(yc, claude, "touch link/x")["state"] == "open"
    assert ask(yc, claude, "touch real/../link/y")["state"] == "open"
    write_tool = claude.asks("Write", file_path=str(claude.project / "real" / "z"), content="z")
    assert decision(write_tool.answer())["behavior"] == "allow"
    claude.asks("Write", file_path=str(claude.project / "link" / "z"), content="z")
    until(lambda: [p for p in yc.prompts() if p["tool"]["name"] == "Write"])


def test_testing_a_command_and_a_wrong_file(yc: Yourcall, tmp_path: Path) -> None:
    write(yc, READING)
    (tmp_path / "project").mkdir()
    folder = ("--dir", str(tmp_path / "project"))
    assert yc.run("rules", "test", "git log", *folder).code == 0
    said = yc.run("rules", "test", "git log && rm -rf x", *folder, "--json")
    assert said.code == 4
    assert [(p["text"], p["do"], p["rule"]) for p in said.json["parts"]] == [
        ("git log", "allow", "reading"),
        ("rm -rf x", "ask", ""),
    ]
    write(yc, READING + '\n[broken]\ndo = "allow"\nefect = "read"\n')
    assert yc.run("rules", "test", "git log", *folder).code == 4
    listed = yc.run("rules")
    assert "[broken]" in listed.err
    assert "efect" in listed.err


def test_the_report_tells_what_would_have_saved_taps(yc: Yourcall, claude: ScriptedClaude) -> None:
    for n in range(3):
        held = claude.asks("Bash", command=f"git diff HEAD~{n}")
        prompt = until(yc.prompts)[0]
        assert yc.run("answer", prompt["id"], "allow", "--no-wait").code == 6
        held.answer()
        claude.goes_on(held)
        yc.wait_state(prompt["id"], "confirmed")
    said = yc.run("log", "report")
    assert said.code == 0, said
    assert "Would have saved you 3 taps" in said.out
    assert "git diff" in said.out
    write(yc, READING)
    dry = yc.run("rules", "dry-run", "--json").json
    assert (dry["decided"], dry["same"], dry["other"]) == (3, 3, 0)
    assert "saved" not in yc.run("log", "report").out


def before(
    yc: Yourcall, claude: ScriptedClaude, event: str, command: str, mode: str = "default"
) -> dict[str, str]:
    """What Claude hears from our hook before it runs a command."""
    payload = {
        "session_id": claude.session_id,
        "hook_event_name": "PreToolUse",
        "transcript_path": str(claude.transcript),
        "cwd": str(claude.project),
        "permission_mode": mode,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": "toolu_1",
    }
    done = subprocess.run(
        [str(yc.home / "hook"), "claude", event], input=json.dumps(payload).encode(), capture_output=True,
        env={"PATH": os.defpath, "CLAUDE_PID": str(claude.pid), "CLAUDE_CODE_ENTRYPOINT": "cli"},
        timeout=30, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}


def test_before_a_tool_runs_only_a_rule_that_decides_says_a_word(yc: Yourcall, claude: ScriptedClaude) -> None:
    write(yc, READING + '\n[no-rm]\ndo = "deny"\ncommand = "rm"\nmessage = "Never."\n')
    claude.is_("busy")
    allowed = before(yc, claude, "Rules", "git log")
    assert (allowed["permissionDecision"], allowed["permissionDecisionReason"]) == (
        "allow",
        "yourcall: rule reading",
    )
    denied = before(yc, claude, "Rules", "ls; rm x")
    assert (denied["permissionDecision"], denied["permissionDecisionReason"]) == ("deny", "Never.")
    assert before(yc, claude, "Rules", "npm test") == {}
    assert before(yc, claude, "Rules", "git log", mode="plan") == {}
    assert yc.prompts() == [] or all(prompt["state"] != "open" for prompt in yc.prompts())
    # `setup claude --ask`: a rule that decides goes before the asking.
    assert before(yc, claude, "PreToolUse", "git diff")["permissionDecision"] == "allow"
    assert before(yc, claude, "PreToolUse", "npm test")["permissionDecision"] == "ask"
    yc.stop()
    assert before(yc, claude, "Rules", "git log") == {}
    assert before(yc, claude, "PreToolUse", "git diff")["permissionDecision"] == "ask"
    yc.start()


def test_a_mistake_is_told_with_its_line_and_allows_nothing(yc: Yourcall) -> None:
    write(yc, READING + '\n[no-rm]\ndo = "deny"\ncommand = "rm"\n\n[x]\ndo = "allow"\neffekt = "read"\n')
    listed = yc.run("rules")
    assert listed.code == 1
    assert "line 11, [x]: a rule knows no 'effekt'; 'effect' is meant?" in listed.err
    assert "no rule allows anything" in listed.err
    assert "no-rm" in listed.out
    assert "reading" not in listed.out
    tested = yc.run("rules", "test", "ls")
    assert tested.code == 4
    assert "No rule allows anything" in tested.err
    checked = yc.run("rules", "check")
    assert (checked.code, "line 11" in checked.err) == (1, True)
    yc.stop()
    assert yc.run("rules", "check").code == 1  # without a daemon too
    write(yc, READING)
    assert "1 rule, nothing wrong." in yc.run("rules", "check").out
    theirs = yc.home / "theirs.toml"
    theirs.write_text(READING)
    said = yc.run("rules", "check", str(theirs), "--project")
    assert (said.code, "can only restrict" in said.err) == (1, True)
    missing = yc.run("rules", "check", str(yc.home / "none"))
    assert (missing.code, "No such file" in missing.err) == (1, True)
    (yc.home / "rules.toml").unlink()
    none = yc.run("rules", "check")
    assert (none.code, "You have no rules yet." in none.out) == (0, True)
    yc.start()


def test_a_pause_is_told_wherever_rules_are(yc: Yourcall) -> None:
    write(yc, READING)
    assert yc.run("pause").code == 0
    said = yc.run("rules", "test", "echo hi")
    assert said.out.startswith("allow")
    assert "Rules are paused" in said.err
    assert "Rules are paused" in yc.run("status").out
    assert yc.run("resume").code == 0
    assert "paused" not in yc.run("rules", "test", "ls").err
    assert "paused" not in yc.run("status").out
