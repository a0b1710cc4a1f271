#!/bin/sh
# Build the phone app into the package (src/yourcall/server/assets/app); does nothing if web/ has not changed.
# Two at once are no problem: the second waits, then finds it done.
set -eu
cd "$(dirname "$0")/.."
out=src/yourcall/server/assets/app
here=$(pwd)

build() {
  seen=$(find web -path web/node_modules -prune -o -path web/tests -prune -o -name '.build*' -prune -o -type f -print0 | sort -z | xargs -0 cksum | cksum)
  [ -f "$out/.made" ] && [ "$(cat "$out/.made")" = "$seen" ] && return 0
  packages=$(cksum web/package-lock.json)
  if ! [ -f web/node_modules/.made ] || [ "$(cat web/node_modules/.made)" != "$packages" ]; then
    echo "fetching what the phone app is built with"
    # --ignore-scripts: nothing that was fetched may run by itself.
    (cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    echo "$packages" > web/node_modules/.made
  fi
  new=$(mktemp -d "$here/web/.build.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  (cd web && node_modules/.bin/vite build --logLevel warn --outDir "$new")
  echo "$seen" > "$new/.made"
  chmod 755 "$new"
  rm -rf "$out"
  mv "$new" "$out"
}

if command -v flock >/dev/null 2>&1; then
  exec 9> web/.building
  flock 9
fi
build
