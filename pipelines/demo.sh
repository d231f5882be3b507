#!/usr/bin/env bash
# Tracks objects in a video and writes an mp4 file with their masks drawn.
set -eu
if [ "${1:-}" = --help ]; then
    echo "usage: pipelines/demo.sh [--output FILE] [VIDEO [PROMPT]]
  VIDEO   any file that GStreamer can play (default: a generated clip)
  PROMPT  object to track, for example 'box,x=100,y=60,w=80,h=90'
          (default: the one in the middle, 'point,x=0.5,y=0.5,normalized=true';
          in the generated clip: the walker, the fish and the ball, by a click each)
  FILE    the mp4 file to write (default: samtrack-demo.mp4)
For the generated clip the true masks are known; it prints each object's mean J (intersection over union) against them."
    exit
fi
output=samtrack-demo.mp4
[ "${1:-}" != --output ] || { output=${2:?--output needs a file name}; shift 2; }
video=${1:-} prompt=${2:-point,x=0.5,y=0.5,normalized=true}
[ -z "$video" ] || [ -r "$video" ] || { echo "demo.sh: cannot read the video '$video'" >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/setup.sh" run
"$root/tools/build.sh"
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
log=$(mktemp) && trap 'rm -f "$log"' EXIT
if [ -n "$video" ]; then source=(filesrc location="$video" ! decodebin ! videoconvert) score=()
else source=($("$root/pipelines/clip.sh")) score=(samscore !)
    prompt=${2:-point,x=480,y=190;point,x=190,y=92;point,x=292,y=268}; fi
gst-launch-1.0 -m "${source[@]}" ! queue ! samtrack initial-prompt="$prompt" ! "${score[@]}" samoverlay ! videoconvert \
    ! video/x-raw,format=I420 ! x264enc speed-preset=veryfast ! mp4mux ! filesink location="$output" >"$log" 2>&1 \
    || { grep -E 'ERROR|WARNING' "$log" || cat "$log"; exit 1; } >&2
sed -n 's/.*samtrack-stats, frames-in=(guint64)\([0-9]*\).*objects=(uint)\([0-9]*\), frames-per-second=(double)\([0-9.]*\).*/frames \1, objects \2, frames per second \3/p' "$log"
sed -n 's/.* samscore, object=(guint64)\([0-9]*\), thing=(string)\([a-z]*\), mean-j=(double)\([0-9.e-]*\), .*/\1 \2 \3/p' "$log" \
    | LC_ALL=C awk '{ printf "object %d, %s, mean J %.2f\n", $1, $2, $3 }'
echo "wrote $output"
[ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || xdg-open "$output" >/dev/null 2>&1 || true
