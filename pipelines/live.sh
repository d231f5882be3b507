#!/usr/bin/env bash
# Tracks objects in live video; shows it in a browser and by RTSP, until Ctrl-C.
set -eu
if [ "${1:-}" = --help ]; then
    echo "usage: pipelines/live.sh [--demo] [OPTION...] [SOURCE...]
  SOURCE  rtsp://..., a video file (looped), /dev/video0, demo or test; NAME=SOURCE gives it a name
          (default: --demo, a scene that the program draws)
  OPTION  as of samtrack-live: --config FILE, --address IP, --http-port N, --rtsp-port N, --token TEXT,
          --tls-certificate FILE, --tls-key FILE, --model-file FILE, --initial-prompt PROMPT
It prints the address of the page and those of the RTSP streams. docs/LIVE.md explains them."
    exit
fi
[ $# -gt 0 ] || set -- --demo
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/setup.sh" live
"$root/tools/build.sh"
if [ ! -x "$root/build/pipelines/live/samtrack-live" ]; then
    meson setup --reconfigure -Dlive=enabled "$root/build" >/dev/null && "$root/tools/build.sh"
fi
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
exec "$root/build/pipelines/live/samtrack-live" "$@"
