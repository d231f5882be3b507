#!/usr/bin/env bash
# Shows the video of a camera in a window, where a click on an object tracks it.
set -eu
if [ "${1:-}" = --help ]; then
    echo "usage: pipelines/camera.sh [DEVICE [PROMPT [MODEL]]]
  DEVICE  V4L2 device of the camera (default: /dev/video0)
  PROMPT  object to track from the first frame on, for example 'point,x=0.5,y=0.5,normalized=true'
  MODEL   weights file of SAM 2, SAM 2.1 or EdgeTAM (default: the included model)
In the window: click an object, or drag a box around it; right-click what does not belong to it; n next object,
u undo, c clear, Delete removes the object under the pointer."
    exit
fi
device=${1:-/dev/video0}
[ -e "$device" ] || { echo "camera.sh: there is no camera at '$device'" >&2; exit 1; }
[ -z "${3:-}" ] || [ -r "$3" ] || { echo "camera.sh: cannot read the model '$3'" >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/setup.sh" run
"$root/tools/build.sh"
export GST_PLUGIN_PATH="$root/build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
exec gst-launch-1.0 v4l2src device="$device" ! videoconvert ! queue \
    ! samtrack navigation=points-boxes initial-prompt="${2:-}" ${3:+model-file="$3"} ! samoverlay \
    ! videoconvert ! autovideosink
