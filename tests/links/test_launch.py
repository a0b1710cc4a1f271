"""The environment of a session that we start: the person's own, by our rules."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from yourcall.links.stdio import launch
from yourcall.model.prompts import Refused

# Debian's .bashrc begins like this, and nvm's installer appends to it.
INTERACTIVE = "case $- in *i*) ;; *) return;; esac\n"
PLAIN = os.defpath


def asked(home: Path, shell: str, **more: str) -> dict[str, str]:
    return launch.login_environment({"HOME": str(home), "SHELL": shell, "PATH": PLAIN, **more})


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
def test_the_login_shell_is_asked_as_a_terminal_would_ask_it(tmp_path: Path, shell: str) -> None:
    noise = 'echo "motd = $HOME"; read -r never; printf "\\0\\0"\n'
    export = "export NVM_BIN=$HOME/nvm PATH=$HOME/nvm:$PATH ODD='a\nb = c'\n"
    (tmp_path / ".bashrc").write_text(INTERACTIVE + noise + export)
    (tmp_path / ".profile").write_text('. "$HOME/.bashrc"\n')
    env = asked(tmp_path, shell, KEPT="yes")
    assert env["NVM_BIN"] == f"{tmp_path}/nvm"
    assert env["PATH"].startswith(f"{tmp_path}/nvm:")
    assert (env["ODD"], env["KEPT"]) == ("a\nb = c", "yes")
    assert launch.RESOLVING not in env


def test_a_shell_whose_files_run_off_to_somewhere_is_asked_more_plainly(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text(f"{INTERACTIVE}exec true\n")
    (tmp_path / ".profile").write_text('. "$HOME/.bashrc"\nexport FROM=profile\n')
    assert asked(tmp_path, "/bin/bash")["FROM"] == "profile"


def test_a_shell_that_waits_for_a_person_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "SHELL_S", 0.3)
    (tmp_path / ".profile").write_text("while :; do sleep 1; done\n")
    env = asked(tmp_path, "/bin/sh", KEPT="yes")
    assert (env["PATH"], env["KEPT"]) == (PLAIN, "yes")


def test_a_shell_we_do_not_know_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text("export FROM=profile\n")
    assert asked(tmp_path, shutil.which("false") or "/bin/false")["FROM"] == "profile"


def test_a_path_that_changed_counts_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HOME", str(tmp_path)), ("SHELL", "/bin/sh"), ("PATH", PLAIN)):
        monkeypatch.setenv(name, value)
    profile = tmp_path / ".profile"

    def goes_by(folder: str) -> None:
        profile.write_text(f'echo >> "$HOME/asked"; export PATH={folder}:$PATH\n')

    async def starts() -> list[str]:
        shell = launch.LoginShell()
        goes_by("/first")
        before = await shell.environment()
        goes_by("/second")
        (tmp_path / "asked").unlink()
        burst = await asyncio.gather(*(shell.environment() for _ in range(20)))
        return [env["PATH"].split(":")[0] for env in (before, *burst)]

    assert asyncio.run(starts()) == ["/first", *["/second"] * 20]
    assert len((tmp_path / "asked").read_text()) <= 2  # a burst of starts asks once, or twice


def test_what_is_withheld_and_what_is_passed_on() -> None:
    env = {
        "ANTHROPIC_API_KEY": "sk-secret",
        "CLAUDE_CODE_OAUTH_TOKEN": "token",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_MESSAGING_TOKEN": "secret",
        "TMUX": "/tmp/x,1,0",
        "TMUX_PANE": "%3",
        "TERM": "dumb",
    }
    kept = launch.prepared(env, api_billing=False, owned="a secret")
    assert kept == {
        "CLAUDE_CODE_OAUTH_TOKEN": "token",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "TERM": "xterm-256color",
        "YOURCALL_OWNED": "a secret",
    }
    kept = launch.prepared({**env, "TERM": "screen", "YOURCALL_OWNED": "of another"}, api_billing=True)
    assert (kept["ANTHROPIC_API_KEY"], kept["TERM"], kept["TMUX_PANE"]) == ("sk-secret", "screen", "%3")
    assert "YOURCALL_OWNED" not in kept


def test_a_program_is_found_where_the_shell_finds_it(tmp_path: Path) -> None:
    own, old = tmp_path / "bin" / "claude", tmp_path / ".claude" / "local" / "claude"
    for file in (own, old):
        file.parent.mkdir(parents=True)
        file.write_text("#!/bin/sh\n")
    env = {"PATH": f"/nowhere:{own.parent}", "HOME": str(tmp_path)}
    assert isinstance(launch.find("claude", env), Refused)
    old.chmod(0o755)
    assert launch.find("claude", env) == str(old)
    own.chmod(0o755)
    assert launch.find("claude", env) == str(own)
    assert isinstance(launch.find("no-such-agent", env), Refused)
