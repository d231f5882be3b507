#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows the video of a camera in a window, where a click on an object tracks it.
set -eu
. "$(dirname "$0")/common.sh"
usage="usage: pipelines/camera.sh [DEVICE [PROMPT [MODEL]]]
  DEVICE  V4L2 device of the camera (default: /dev/video0)
  PROMPT  object to track once the model is loaded, for example 'point,x=0.5,y=0.5,normalized=true'
  MODEL   weights file of SAM 2, SAM 2.1, EdgeTAM or EfficientTAM (default: the included model)
In the window: click an object, or drag a box around it; right-click what does not belong to it; ? lists the keys.
The environment variable SAMTRACK_CAMERA replaces the camera by elements of GStreamer, for a trial without one:
  SAMTRACK_CAMERA='videotestsrc is-live=true pattern=ball' pipelines/camera.sh
or by the element that gst-device-monitor-1.0 Video/Source prints for a camera that is no V4L2 device, 'pipewiresrc target-object=48' say."
read_arguments "" 0 3 "$@"
device=${arguments[0]:-/dev/video0}
[ -n "${SAMTRACK_CAMERA:-}" ] || [ -c "$device" ] || fail 1 "there is no camera at '$device'; gst-device-monitor-1.0 Video/Source lists those that there are"
check_file model "${arguments[2]:-}"
check_display
if [ -n "${SAMTRACK_CAMERA:-}" ]; then
    input=--source=$SAMTRACK_CAMERA
else
    input=--camera=$device
fi
run "$input" --window ${arguments[1]:+--prompt="${arguments[1]}"} ${arguments[2]:+--model="${arguments[2]}"}
