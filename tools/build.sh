#!/usr/bin/env bash
# Configures (once) and builds the folder build/. Quiet unless something fails.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -f build/build.ninja ]; then
    meson setup build -Demu=false >"$log" 2>&1 || { cat "$log"; exit 1; }
fi
ninja -C build "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }
