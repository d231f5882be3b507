#!/usr/bin/env bash
# Tracks an object in the video of a camera and shows it in a window.
set -eu
if [ "${1:-}" = --help ]; then
    echo "usage: pipelines/camera.sh [DEVICE [PROMPT]]
  DEVICE  V4L2 device of the camera (default: /dev/video0)
  PROMPT  object to track (default: the one in the middle, 'point,x=0.5,y=0.5,normalized=true')"
    exit
fi
device=${1:-/dev/video0} prompt=${2:-point,x=0.5,y=0.5,normalized=true}
[ -e "$device" ] || { echo "camera.sh: there is no camera at '$device'" >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/setup.sh" run && "$root/tools/build.sh"
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
# The leaky queue keeps only the newest frame, so that the camera never waits.
exec gst-launch-1.0 v4l2src device="$device" ! videoconvert ! queue leaky=downstream max-size-buffers=1 \
    ! samtrack initial-prompt="$prompt" ! samoverlay ! videoconvert ! autovideosink sync=false
