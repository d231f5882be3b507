#!/usr/bin/env bash
# Configures the build folder build/ if needed, and builds. Prints output only on failure.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -f build/build.ninja ]; then
    meson setup build -Demu=false >"$log" 2>&1 || { cat "$log"; exit 1; }
fi
ninja -C build "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }
