#!/bin/sh
# Make .venv with the pinned dependencies and this project in it; quick when nothing changed.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "yourcall needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …" >&2
  exit 1
}
if ! [ -x .venv/bin/pip ]; then
  rm -rf .venv
  "$python" -c 'import ensurepip' 2>/dev/null || tools/need.sh python3-venv
  "$python" -m venv .venv
fi
.venv/bin/pip install -q --disable-pip-version-check -r requirements.txt
.venv/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
touch .venv/.made
