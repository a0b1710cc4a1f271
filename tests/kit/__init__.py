"""The test kit: a real agent CLI in a terminal of its own, against a scripted model on loopback.

    from kit.claude import ClaudeHome, start_claude
    from kit.model_server import ModelServer
    from kit.terminal import Ptys, Tmux
    from kit.turns import error, hang, pause, plan_file, text, thinking, tool

    def test_allow(claude_bin, model, claude_home, tmux):          # fixtures of tests/real/conftest.py
        words = model.script("touch", [tool("Bash", command="touch marker")], [text("Made it.")])
        claude = start_claude(tmux, claude_bin, claude_home, model)   # or `ptys`: the same outside tmux
        claude.say(words)                       # waits for the input box, types, sees the words, sends
        claude.wait_dialog()                    # the dialog is up, settled, and takes keys
        claude.press("1")                       # one key at the desk
        (result,) = model.wait_for(lambda m: m.tool_results())       # what the model was told
        assert not result.is_error
        assert (claude_home.project / "marker").exists()

Facts about the CLI's hooks, without any of our code:

    probe = Probe(tmp_path / "probe")           # kit.probe
    claude_home.write_settings(probe.settings(told=["PostToolUse", "Stop"]))
    (held,) = probe.wait_held()                 # {"pid": …, "payload": {…}}
    probe.answer(held["pid"], {"behavior": "allow"})

`claude.session` is the session file, `claude.wait_status("idle")` polls it, `claude_home.lines()` are the
transcript's lines, `claude_home.write_settings({...})` comes before the start. Nothing sleeps to wait: use
`kit.poll.until(probe, timeout)`.
"""
