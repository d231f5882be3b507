#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tracks objects in live video; shows it in a browser and by RTSP, until Ctrl-C.
set -eu
. "$(dirname "$0")/common.sh"
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    echo "usage: pipelines/live.sh [--demo] [OPTION...] [SOURCE...]
  SOURCE  rtsp://..., a video file (looped), /dev/video0, demo or test; NAME=SOURCE gives it a name
          (default: --demo, a scene that the program draws)
  OPTION  as of samtrack-live: --config FILE, --address IP, --http-port N, --rtsp-port N, --token TEXT,
          --tls-certificate FILE, --tls-key FILE, --model-file FILE, --initial-prompt PROMPT
It prints the address of the page and those of the RTSP streams. docs/LIVE.md explains them."
    exit
fi
[ $# -gt 0 ] || set -- --demo
"$root/tools/setup.sh" live
"$root/tools/build.sh" gst/libgstsamtrack.so gst/scene/libgstsamscene.so pipelines/live/samtrack-live ||
    fail 1 "samtrack-live was not built: is the option 'live' of build/ disabled, or is a library missing?"
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
exec "$root/build/pipelines/live/samtrack-live" "$@"
