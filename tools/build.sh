#!/usr/bin/env bash
# Configures the build folder build/ if needed, and builds all, or the targets that are named. Tells how far it is on
# standard error, and prints what the compiler says only on failure.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

configure() { # arguments of meson setup
    echo "tools/build.sh: configuring build/" >&2
    meson setup build "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }
}

# ninja's lines "[12/345] ..." as one line now and then, with the time that is left.
show() {
    awk -v terminal="$1" '
        function now() { srand(); return srand() }
        BEGIN { start = told = now() }
        { print >log_file }
        match($0, /^\[[0-9]+\/[0-9]+\]/) {
            split(substr($0, 2, RLENGTH - 2), n, "/")
            passed = now() - start
            if (n[1] == 1 || now() - told >= (terminal ? 1 : 10)) {
                told = now()
                line = "tools/build.sh: building, " n[1] " of " n[2]
                if (passed >= 3 && n[1] > 3) {
                    left = int(passed * (n[2] - n[1]) / n[1]) + 1
                    line = line ", " (left >= 60 ? int(left / 60) " min " : "") left % 60 " s left"
                }
                printf terminal ? "\r\033[K%s" : "%s\n", line
                fflush()
                open = terminal
            }
        }
        END { if (open) printf "\r\033[K" }' log_file="$log" >&2
}

if [ ! -f build/build.ninja ]; then
    configure -Demu=false
elif [ "$(tools/libraries.sh)" != "$(cat build/samtrack-libraries 2>/dev/null)" ]; then
    configure --reconfigure
fi
terminal=0
[ ! -t 2 ] || terminal=1
set -o pipefail
NINJA_STATUS='[%f/%t] ' ninja -C build "$@" 2>&1 | show $terminal || { cat "$log"; exit 1; }
