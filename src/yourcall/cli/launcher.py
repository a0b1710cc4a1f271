"""The launcher: the small program in yourcall's home that agents' hooks call.

Rule: the path that stands in an agent's settings never changes. An upgrade that moves the package, or Python,
only rewrites these files, so nobody's settings are touched again; and whatever is missing, it is silent.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from yourcall.cli.settings_file import write_whole

# The launcher calls the first, which loads the second if it has to.
PROGRAMS = ("hook.py", "holder.py")

_SCRIPT = """\
#!/bin/sh
# What coding agents call. Written by `yourcall setup` and `yourcall up`; changes made here are lost.
# Silent, and successful whatever happens: without yourcall the agent works as if it were not there.
here=${{0%/*}}
if [ "$2" = PreToolUse ]; then
  # `setup claude --ask`: Claude is told to ask before this tool runs, whatever its permission mode; but a rule
  # that decides it goes before that.
  said=
  [ -f "$here/rules.toml" ] && said=$({python} -I -S "$here/hook.py" "$1" Rules 2>/dev/null)
  if [ -n "$said" ]; then
    printf '%s' "$said"
    exit 0
  fi
  printf '%s' '{ask}'
  exit 0
fi
python={python}
if ! [ -x "$python" ]; then
  python=$(command -v python3) || exit 0
  # Without the developer tools, this python3 of macOS is a program that opens a dialog.
  if [ "$python" = /usr/bin/python3 ] && [ "$(uname)" = Darwin ]; then
    xcode-select -p >/dev/null 2>&1 || exit 0
  fi
fi
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

_ASK = json.dumps(
    {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "You told yourcall that you want to be asked for this.",
        }
    }
)


def launcher_path(home: Path) -> Path:
    return home / "hook"


def install_launcher(home: Path) -> Path:
    """Make the launcher in `home` call this Python and this version's hook; writes only what differs."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in PROGRAMS:
        write_whole(home / name, Path(__file__).with_name(name).read_bytes(), 0o600)
    script = _SCRIPT.format(python=shlex.quote(sys.executable or "python3"), ask=_ASK)
    write_whole(launcher_path(home), script.encode("utf-8", "surrogateescape"), 0o755)
    return launcher_path(home)
