#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Times the embedded model in a pipeline of 640x360 frames with a tracked object: frames per second and
# the time that the element adds to the engine's step, alone and with x264enc on the same processors.
# No published peer runs in a pipeline. Then live pipelines: a slow model behind a camera, clicks, and
# frames without objects; samtrack-live with viewers. Prints a table; the last line is JSON with every figure.
# usage: tests/bench/live.sh [FRAMES [SECONDS [MODEL]]]
#   SECONDS, MODEL: for the slow model; default 60, and the default model at 1024 px
set -eu
cd "$(dirname "$0")/../.."
frames=${1:-300} seconds=${2:-60} model=${3:-}
tools/setup.sh run
tools/build.sh
export GST_PLUGIN_PATH="$PWD/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
json=

measure() { # name, what follows samtrack
    local name=$1 log stats fps step added
    shift
    log=$(gst-launch-1.0 -m videotestsrc num-buffers="$frames" pattern=ball motion=wavy animation-mode=frames \
        ! video/x-raw,format=I420,width=640,height=360,framerate=30/1 ! queue \
        ! samtrack initial-prompt="box,x=300,y=160,w=40,h=40" "$@" 2>&1) || true
    stats=$(grep samtrack-stats <<<"$log" | tail -n 1) || true # the last counts every frame
    field() { sed -n "s/.*[, ]$1=([a-z0-9]*)\([0-9.]*\).*/\1/p" <<<"$stats"; }
    fps=$(field frames-per-second) step=$(field step-p50-ns) added=$(field added-p50-ns)
    if [ -z "$fps" ] || [ -z "$step" ] || [ -z "$added" ]; then
        printf '%-16s not run: %s\n' "$name" "$(grep -m 1 -E 'ERROR|WARNING' <<<"$log" || tail -n 1 <<<"$log")"
        return
    fi
    awk -v n="$name" -v f="$fps" -v s="$step" -v a="$added" 'BEGIN {
        printf "%-16s %7.1f frames/s   engine step %7.2f ms   the element adds %6.3f ms (medians): ", n, f, s / 1e6, a / 1e6
        print (f >= 30 && a < 1e5) ? "holds" : "MISSED" }'
    [ "$name" != alone ] || json="\"fps\": $fps, \"added_ms\": $(awk -v a="$added" 'BEGIN { printf "%.3f", a / 1e6 }')"
    json="$json${json:+, }\"$name\": {\"fps\": $fps, \"step_p50_ns\": $step, \"added_p50_ns\": $added}"
}

# Runs a mode of bench-live and adds its figures to the line of JSON.
more() { # sentence, mode and its arguments
    local sentence=$1 line
    shift
    line=$(build/tests/bench/bench-live "$@") || { echo "bench-live $1: not run"; return 0; }
    echo "$sentence"
    echo "  $line"
    line=${line#\{}
    json="$json, ${line%\}}"
}

echo "asked for: 30 frames/s, the element adds less than 0.1 ms at the median"
measure alone ! fakesink
measure x264enc ! queue ! x264enc speed-preset=veryfast ! fakesink
[ -n "$json" ] || json='"fps": 0'
more "a camera of 30 Hz before a slow model (${model:-the default one at 1024 px}): no two frames further apart than 100 ms, 99.9 % not more than 50 ms" \
    slow "$seconds" "${model:-}" "$([ -n "${model:-}" ] && echo 0 || echo 1024)"
more "from a click to its mask, frames of a camera of 30 Hz: 2 and a step at the median" click 30
more "a frame where nothing is tracked: less than 20 us" idle 2000
more "a camera of 25 Hz beside looks by words one after another: no frame is lost, two thirds of the tracked ones at least" \
    look 10 tests/golden/scene-words/model.safetensors 128
tools/setup.sh test
echo "samtrack-live with four RTSP viewers and two pages: no dropped frame, a page costs less than 5 % of a core, a click takes 400 ms at most"
if line=$(tests/bench/viewers.py "$PWD/build" | tail -n 1) && [ -n "$line" ]; then
    echo "  $line"
    line=${line#\{}
    json="$json, ${line%\}}"
else
    echo "  not run"
fi
echo "{$json}"
