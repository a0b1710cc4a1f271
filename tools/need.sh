#!/bin/sh
# Make sure that system programs are there: used if present, installed if we are root, else named with the command.
#   tools/need.sh tmux npm chromium
set -eu
missing=
for program in "$@"; do
  command -v "$program" >/dev/null 2>&1 && continue
  case $program in
    rg) missing="$missing ripgrep" ;; # whose package has another name
    certutil) missing="$missing libnss3-tools" ;;
    sshd) missing="$missing openssh-server" ;;
    *) missing="$missing $program" ;;
  esac
done
[ -z "$missing" ] && exit 0
if command -v apt-get >/dev/null 2>&1; then
  install="apt-get install -y --no-install-recommends$missing"
  if [ "$(id -u)" = 0 ]; then
    echo "installing:$missing"
    policy=/usr/sbin/policy-rc.d # a server that comes with a package is not started: the tests start their own
    if [ ! -e "$policy" ]; then
      trap 'rm -f "$policy"' EXIT
      printf '#!/bin/sh\nexit 101\n' >"$policy"
      chmod +x "$policy"
    fi
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive $install -qq) >/dev/null
    exit 0
  fi
  echo "missing:$missing. Install with: sudo $install" >&2
elif command -v brew >/dev/null 2>&1; then
  echo "missing:$missing. Install with: brew install$missing" >&2
else
  echo "missing:$missing. Install with your system's package manager." >&2
fi
exit 1
