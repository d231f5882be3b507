#!/usr/bin/env bash
# Tracks what a detector finds in a video, and writes an mp4 file with the masks and classes drawn.
set -eu
usage="usage: pipelines/detect.sh VIDEO DETECTOR-FILE [--output FILE]
  VIDEO          any file that GStreamer can play
  DETECTOR-FILE  weights of a detector, .safetensors: docs/DETECTORS.md lists the families and their licences
  FILE           the mp4 file to write (default: samtrack-detect.mp4)
It prints how many objects of each class were found."
output=samtrack-detect.mp4 files=()
while [ $# -gt 0 ]; do
    case $1 in
    --help) echo "$usage"; exit ;;
    --output) output=${2:?--output needs a file name}; shift ;;
    *) files+=("$1") ;;
    esac
    shift
done
[ ${#files[@]} = 2 ] || { echo "$usage" >&2; exit 2; }
video=${files[0]} detector=${files[1]}
[ -r "$video" ] || { echo "detect.sh: cannot read the video '$video'" >&2; exit 1; }
[ -r "$detector" ] || { echo "detect.sh: cannot read the detector '$detector'" >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/setup.sh" run
"$root/tools/build.sh"
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
log=$(mktemp) && trap 'rm -f "$log"' EXIT
gst-launch-1.0 -m filesrc location="$video" ! decodebin ! videoconvert ! queue \
    ! samtrack max-objects=16 detector-file="$detector" ! samoverlay ! videoconvert \
    ! video/x-raw,format=I420 ! x264enc speed-preset=veryfast ! mp4mux ! filesink location="$output" >"$log" 2>&1 \
    || { grep -E 'ERROR|WARNING' "$log" || cat "$log"; exit 1; } >&2
sed -n 's/.*samtrack-stats, frames-in=(guint64)\([0-9]*\).*frames-per-second=(double)\([0-9.]*\).*/frames \1, frames per second \2/p' "$log"
sed -n 's/.*samtrack-track, event=(string)track-confirmed.*label=(string)\(".*"\|[^,]*\), reason=.*/\1/p' "$log" \
    | tr -d '"\\' | sort | uniq -c | sort -rn | sed 's/^ *\([0-9]*\) \(.*\)/found \1 x \2/'
echo "wrote $output"
