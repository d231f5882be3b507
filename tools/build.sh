#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configures the build folder build/ if needed, and builds all, or the targets that are named. Tells how far it is on
# standard error, and prints what the compiler says only on failure. Where there is no GPU, nvcc's kernels, which take
# minutes, are left out until there is one; tests/run.sh builds them whatever there is (build/quick tells it to), but optimizes
# them only where there is one.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

configure() { # arguments of meson setup
    echo "tools/build.sh: configuring build/" >&2
    meson setup build "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }
}

# ninja's lines "[12/345] ..." as one line now and then, with the time that is left. No awk: Debian's reads a pipe in
# blocks.
show() {
    local line text told=-10 left
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] && [ $((SECONDS - told)) -ge $interval ] || continue
        told=$SECONDS text="tools/build.sh: building, ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
        if [ "$SECONDS" -ge 3 ] && [ "${BASH_REMATCH[1]}" -ge 3 ]; then
            left=$((SECONDS * (BASH_REMATCH[2] - BASH_REMATCH[1]) / BASH_REMATCH[1] + 1))
            text+=", $([ $left -lt 60 ] || echo "$((left / 60)) min ")$((left % 60)) s left"
        fi
        printf "$form" "$text" >&2
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

if [ ! -f build/build.ninja ]; then
    if tools/has_gpu.sh; then
        configure -Demu=false
    else
        configure -Demu=false -Dcuda=disabled
        touch build/quick build/no-gpu
    fi
elif [ -f build/no-gpu ] && tools/has_gpu.sh; then
    configure --reconfigure -Dcuda=auto -Dgpu_quick=false
    rm -f build/quick build/no-gpu
elif [ "$(tools/libraries.sh)" != "$(cat build/samtrack-libraries 2>/dev/null)" ]; then
    configure --reconfigure
fi
interval=10 form='%s\n'
[ ! -t 2 ] || interval=1 form='\r\033[K%s'
SECONDS=0
set -o pipefail
NINJA_STATUS='[%f/%t] ' ninja -C build "$@" 2>&1 | show || { cat "$log"; exit 1; }
