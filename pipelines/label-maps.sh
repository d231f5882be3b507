#!/usr/bin/env bash
# Tracks an object in a video file and writes one PNG per frame: 0 is background, 1 and up are slots.
set -eu
if [ "${1:-}" = --help ] || [ $# -lt 3 ]; then
    echo "usage: pipelines/label-maps.sh VIDEO FOLDER PROMPT [MODEL]
  VIDEO   any file that GStreamer can play
  FOLDER  folder for 00000.png, 00001.png ...; created if it does not exist
  PROMPT  objects to track, for example 'box,x=100,y=60,w=80,h=90;point,x=310,y=200'
  MODEL   weights file of SAM 2, SAM 2.1 or EdgeTAM (default: the included model)"
    [ "${1:-}" = --help ] && exit 0 || exit 2
fi
[ -r "$1" ] || { echo "label-maps.sh: cannot read the video '$1'" >&2; exit 1; }
mkdir -p "$2"
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/setup.sh" run
"$root/tools/build.sh"
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
# Each pad needs its own queue, as after a tee.
gst-launch-1.0 -q filesrc location="$1" ! decodebin ! videoconvert ! queue \
    ! samtrack name=track initial-prompt="$3" ${4:+model-file="$4"} track.src ! queue ! fakesink \
    track.overlay ! queue ! video/x-raw,format=GRAY8 ! pngenc ! multifilesink location="$2/%05d.png"
echo "wrote $(find "$2" -name '*.png' | wc -l) label maps to $2"
