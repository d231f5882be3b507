#!/usr/bin/env bash
# Plays a video file in a window, where a click on an object tracks it.
set -eu
if [ "${1:-}" = --help ] || [ $# -lt 1 ]; then
    echo "usage: pipelines/file.sh VIDEO [PROMPT [MODEL]]
  VIDEO   any file that GStreamer can play
  PROMPT  object to track from the first frame on, for example 'box,x=100,y=60,w=80,h=90' or 'point,x=310,y=200'
  MODEL   weights file of SAM 2, SAM 2.1 or EdgeTAM (default: the included model)
In the window: click an object, or drag a box around it; right-click what does not belong to it; n next object,
u undo, c clear, Delete removes the object under the pointer."
    [ "${1:-}" = --help ] && exit 0 || exit 2
fi
[ -r "$1" ] || { echo "file.sh: cannot read the video '$1'" >&2; exit 1; }
[ -z "${3:-}" ] || [ -r "$3" ] || { echo "file.sh: cannot read the model '$3'" >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/setup.sh" run
"$root/tools/build.sh"
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
exec gst-launch-1.0 filesrc location="$1" ! decodebin ! videoconvert ! queue \
    ! samtrack navigation=points-boxes initial-prompt="${2:-}" ${3:+model-file="$3"} ! samoverlay ! videoconvert ! autovideosink
