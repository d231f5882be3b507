#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the CPU kernels of build/, which builds with sanitizers and fuzzers take instead of compiling them again (-Dkernels_of).
# usage: tests/kernels.sh
set -u
cd "$(dirname "$0")/.."
[ $# = 0 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
# As --quick has it, which run.sh knows.
[ -f build/build.ninja ] || { meson setup build -Demu=false -Dcuda=disabled >/dev/null && touch build/quick; } || exit 1
ninja -C build $(ninja -C build -t targets all | sed -n 's,^\(engine/ops/cpu/lib[a-z0-9_]*\.a\):.*,\1,p') >/dev/null
