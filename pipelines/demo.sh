#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tracks objects in a video and writes an mp4 file with their masks drawn.
set -eu
. "$(dirname "$0")/common.sh"
usage="usage: pipelines/demo.sh [--output FILE] [--fps N] [VIDEO [PROMPT]]
  VIDEO   any file that GStreamer can play, a folder of JPEGs or PNGs, or their names with a number, such as
          frames/%05d.jpg (default: a generated clip)
  PROMPT  object to track, for example 'box,x=100,y=60,w=80,h=90'
          (default: the one in the middle, 'point,x=0.5,y=0.5,normalized=true';
          in the generated clip: the walker and the fish by a click each, the ball by a box)
  FILE    the mp4 file to write (default: samtrack-demo.mp4). It is FILE.part until it is whole;
          what there is of it after Ctrl-C or an error is named FILE.partial.mp4, and the status is not 0
  N       pictures a second (default: 30); a video file has its own
For the generated clip the true masks are known; it prints each object's mean J (intersection over union) against them."
output=samtrack-demo.mp4 fps=30
read_arguments "output fps" 0 2 "$@"
check_output "$output"
if [ ${#arguments[@]} = 0 ] || [ -z "${arguments[0]}" ]; then
    run --source="$("$root/pipelines/clip.sh")" --score --output="$output" --open \
        --prompt="${arguments[1]:-point,x=480,y=190;point,x=190,y=92;box,x=245,y=221,w=95,h=94}"
fi
check_video "${arguments[0]}"
run --video="${arguments[0]}" --fps="$fps" --output="$output" --open \
    --prompt="${arguments[1]:-point,x=0.5,y=0.5,normalized=true}"
