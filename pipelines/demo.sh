#!/usr/bin/env bash
# Tracks an object through a video and writes an mp4 with its mask.
set -eu
if [ "${1:-}" = --help ]; then
    echo "usage: pipelines/demo.sh [--output FILE] [VIDEO [PROMPT]]
  VIDEO   any file GStreamer plays; without one a moving clip is made
  PROMPT  e.g. 'box,x=100,y=60,w=80,h=90' or 'point,x=0.5,y=0.4,normalized=true' (the default)
  FILE    the mp4 to write (samtrack-demo.mp4)"
    exit
fi
output=samtrack-demo.mp4
[ "${1:-}" != --output ] || { output=${2:?--output needs a file name}; shift 2; }
video=${1:-} prompt=${2:-point,x=0.5,y=0.5,normalized=true}
[ -z "$video" ] || [ -r "$video" ] || { echo "demo.sh: cannot read the video '$video'" >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/setup.sh" run && "$root/tools/build.sh"
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
if [ -n "$video" ]; then
    source="filesrc location=\"$video\" ! decodebin ! videoconvert"
else
    source=$("$root/pipelines/clip.sh") prompt=${2:-box,x=26,y=146,w=64,h=64}
fi
"$root/build/tools/sam-launch" "$source ! queue ! samtrack initial-prompt=\"$prompt\" ! samoverlay
    ! videoconvert ! x264enc speed-preset=veryfast ! mp4mux ! filesink location=\"$output\""
echo "wrote $output"
[ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || xdg-open "$output" >/dev/null 2>&1 || true
