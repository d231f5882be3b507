#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What an object more costs: the embedded model in a pipeline of 640x360 frames with 1, 2, 4 and 8 tracked objects, in the
# precision of the processor and in int8. Processor milliseconds are user and system time of a long run less those of a
# short one, by frame, so that opening is not in them and other work on the machine hardly is; frames a second are the
# pipeline's. Prints a table; the last line is JSON with every figure.
# usage: tests/bench/objects.sh [FRAMES]
#   FRAMES: of a run, 8 or more; default 120
set -eu
cd "$(dirname "$0")/../.."
frames=${1:-120}
[[ $# -le 1 && $frames =~ ^[0-9]+$ && $frames -ge 8 ]] || { echo "usage: tests/bench/objects.sh [FRAMES], 8 or more" >&2; exit 2; }
tools/setup.sh run
tools/build.sh
export GST_PLUGIN_PATH="$PWD/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
json=

# Boxes side by side, two rows of four at most.
prompts() { # how many
    local n text=
    for ((n = 0; n < $1; n++)); do
        text+="${text:+;}box,x=$((20 + n % 4 * 155)),y=$((40 + n / 4 * 160)),w=110,h=110"
    done
    echo "$text"
}

# Processor milliseconds of a run; its messages go to the log.
run() { # frames, objects, precision
    local TIMEFORMAT='%U %S' spent
    spent=$({ time gst-launch-1.0 -m videotestsrc num-buffers="$1" pattern=smpte animation-mode=frames \
        ! video/x-raw,format=I420,width=640,height=360,framerate=30/1 ! queue \
        ! samtrack initial-prompt="$(prompts "$2")" max-objects="$2" precision="$3" overload-policy=block ! fakesink >"$log" 2>&1; } 2>&1) ||
        { grep -m 1 ERROR "$log" >&2 || tail -n 3 "$log" >&2; return 1; }
    awk '{ printf "%.1f", 1000 * ($1 + $2) }' <<<"$spent"
}

measure() { # precision, prefix of the names in JSON
    local n short long fps ms
    for n in 1 2 4 8; do
        short=$(run $((frames / 4)) "$n" "$1")
        long=$(run "$frames" "$n" "$1")
        fps=$(grep samtrack-stats "$log" | tail -n 1 | sed -n 's/.*[, ]frames-per-second=(double)\([0-9.]*\).*/\1/p')
        ms=$(awk -v a="$short" -v b="$long" -v n="$((frames - frames / 4))" 'BEGIN { printf "%.1f", (b - a) / n }')
        printf '%-5s %d objects %8.1f ms of a processor a frame %7.1f frames/s\n' "$1" "$n" "$ms" "${fps:?no statistics}"
        json+="${json:+, }\"$2cpu_ms_$n\": $ms, \"$2fps_$n\": $fps"
    done
}

measure auto ''
measure int8 int8_
echo "{$json}"
