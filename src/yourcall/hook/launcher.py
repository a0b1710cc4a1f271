"""The launcher: the small program in yourcall's home that agents' hooks call.

Rule: the path that stands in an agent's settings never changes. An upgrade that moves the package, or Python,
only rewrites these files, so nobody's settings are touched again; and whatever is missing, it is silent. The one
exception is a tool that rules are asked about: where there are rules and nobody can read them, a person is asked.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import yourcall
from yourcall.agents.claude.managed import FOR_EVERYBODY
from yourcall.system.settings_file import write_whole

# The launcher calls the first, which loads the others if it has to.
PROGRAMS = ("hook.py", "holder.py", "ruling.py", "headless.py")

_SCRIPT = """\
#!/bin/sh
# What coding agents call. Written by `yourcall setup` and `yourcall up`; changes made here are lost.
# Silent, and successful whatever happens: without yourcall the agent works as if it were not there.
here=${{0%/*}}
# What the administrator's settings tell for everybody (`setup --scope managed`), or this person's own settings
# (beside the plugin), is not told twice. A tool that is asked about stands in the person's own settings only.
case $YOURCALL_CALLED_BY:$*: in
  managed:* | *'claude PreToolUse:' | *'claude Rules:') ;;
  *'claude '*) [ -e {managed} ] && exit 0 ;;
esac
case $1:$CLAUDE_CODE_SESSION_ATTENDED:$CLAUDE_CODE_ENTRYPOINT:$2 in
  claude:0:cli:*) ;; # in the background: it has a dialog
  # Runs without a dialog. `claude -p` waits 1.5 s at its end for a hook that still runs, also for an asynchronous
  # one and for what that left behind in its session. So the end of a turn, after which the run may be over, is
  # not passed on; other news is, by a process with a session of its own.
  claude:0:*:Stop | claude:0:*:StopFailure) exit 0 ;;
  claude:0:*:PermissionRequest | claude:0:*:Elicitation | claude:0:*:PreToolUse | claude:0:*:Rules) ;;
  claude:0:*)
    if command -v setsid >/dev/null && [ -x {python} ]; then
      payload=$(cat)
      printf '%s' "$payload" | setsid {python} -I -S "$here/hook.py" "$@" >/dev/null 2>&1 &
      exit 0
    fi
    ;;
esac
if [ "$2" = PreToolUse ]; then
  # `setup claude --ask`: Claude is told to ask before this tool runs, whatever its permission mode; but a rule
  # that decides it goes before that.
  exec 2>/dev/null
  if [ -f "$here/rules.toml" ]; then
    # Nobody could look at the rules: one of them may deny this, so it is asked, dialog or not.
    said=$({python} -I -S "$here/hook.py" "$1" Rules {package} {user}) || said='{failed}'
    [ -z "$said" ] || {{ printf '%s' "$said"; exit 0; }}
  fi
  # Where no dialog can be shown (`claude -p`), Claude takes "ask" for a "no" and asks nobody: then not a word.
  # Sessions that yourcall drives itself ask through their pipes.
  if [ "$CLAUDE_CODE_ENTRYPOINT$CLAUDE_CODE_SESSION_ATTENDED" != cli1 ] && [ -z "$YOURCALL_OWNED" ]; then
    [ "$({python} -I -S "$here/hook.py" "$1" Unseen </dev/null 2>/dev/null)" = unseen ] && exit 0
  fi
  printf '%s' '{ask}'
  exit 0
fi
python={python}
if ! [ -x "$python" ]; then
  python=$(command -v python3) || python=
  # Without the developer tools, this python3 of macOS is a program that opens a dialog.
  if [ "$python" = /usr/bin/python3 ] && [ "$(uname)" = Darwin ]; then
    xcode-select -p >/dev/null 2>&1 || python=
  fi
fi
if [ "$2" = Rules ]; then
  # `setup claude --rules`: silence lets the tool run, so it counts only from a hook that came to its end.
  exec 2>/dev/null
  if [ -n "$python" ] && said=$("$python" -I -S "$here/hook.py" "$1" Rules {package} {user}); then
    printf '%s' "$said"
    exit 0
  fi
  # Nobody could look at the rules. Where there are some, one of them may deny this.
  found=
  [ -e "$here/rules.toml" ] && found=yes
  for folder in "$PWD" "$CLAUDE_PROJECT_DIR"; do
    while [ "${{folder#/}}" != "$folder" ]; do
      [ -e "$folder/.yourcall/rules.toml" ] && found=yes
      folder=${{folder%/*}}
    done
  done
  [ -n "$found" ] && printf '%s' '{failed}'
  exit 0
fi
[ -n "$python" ] || exit 0
if [ "$1" = -b ]; then
  # For an agent that waits for every hook: take what it says, let it go on, and pass it on meanwhile.
  shift
  payload=$(cat)
  trap '' HUP
  {{ printf '%s' "$payload" | "$python" -I -S "$here/hook.py" "$@"; }} </dev/null >/dev/null 2>&1 &
  exit 0
fi
exec "$python" -I -S "$here/hook.py" "$@"
"""


def _asking(why: str) -> str:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": why}
    return json.dumps({"hookSpecificOutput": said})


_ASK = _asking("You told yourcall that you want to be asked for this.")
_FAILED = _asking("yourcall: its rules could not be looked at, and one of them may deny this.")


def _managed_settings() -> str:
    everybody = FOR_EVERYBODY
    return f"{everybody.folder(sys.platform)}/{everybody.file}"


def launcher_path(home: Path) -> Path:
    return home / "hook"


def install_launcher(home: Path) -> Path:
    """Make the launcher in `home` call this Python and this version's hook; writes only what differs."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in PROGRAMS:
        write_whole(home / name, Path(__file__).with_name(name).read_bytes(), 0o600)
    package = shlex.quote(str(Path(yourcall.__file__).parents[1]))
    python = shlex.quote(sys.executable or "python3")
    managed = shlex.quote(_managed_settings())
    user = shlex.quote(str(Path.home()))  # an agent's settings may name another home to its hooks
    script = _SCRIPT.format(python=python, package=package, user=user, managed=managed, ask=_ASK, failed=_FAILED)
    write_whole(launcher_path(home), script.encode("utf-8", "surrogateescape"), 0o755)
    return launcher_path(home)
