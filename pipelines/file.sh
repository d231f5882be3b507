#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Plays a video file in a window, where a click on an object tracks it.
set -eu
. "$(dirname "$0")/common.sh"
usage="usage: pipelines/file.sh [--fps N] [--end WHAT] VIDEO [PROMPT [MODEL]]
  VIDEO   any file that GStreamer can play, a folder of JPEGs or PNGs, or their names with a number, such as
          frames/%05d.jpg
  PROMPT  object to track from the first frame on, for example 'box,x=100,y=60,w=80,h=90' or 'point,x=310,y=200'
  MODEL   weights file of SAM 2, SAM 2.1, EdgeTAM or EfficientTAM (default: the included model)
  N       pictures a second (default: 30); a video file has its own
  WHAT    stay: at its end the last frame stays (default); close: the window closes
It is played as fast as it is tracked, at most at its own speed; no frame is left out.
In the window: click an object, or drag a box around it; right-click what does not belong to it. Keys: space pause,
. and , a frame on and back, left and right 5 s, Home, End, ? a list of all. A click on the bar of time goes there."
fps=30 end=stay
read_arguments "fps end" 1 3 "$@"
check_video "${arguments[0]}"
check_file model "${arguments[2]:-}"
check_display
run --video="${arguments[0]}" --fps="$fps" --window --end="$end" ${arguments[1]:+--prompt="${arguments[1]}"} \
    ${arguments[2]:+--model="${arguments[2]}"}
