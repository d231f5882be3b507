#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tracks what a detector finds in a video, and writes an mp4 file with the masks and classes drawn.
set -eu
. "$(dirname "$0")/common.sh"
usage="usage: pipelines/detect.sh VIDEO DETECTOR-FILE [--output FILE] [--fps N]
  VIDEO          any file that GStreamer can play, a folder of JPEGs or PNGs, or their names with a number, such as
                 frames/%05d.jpg
  DETECTOR-FILE  weights of a detector, .safetensors: docs/DETECTORS.md lists the families and their licences
  FILE           the mp4 file to write (default: samtrack-detect.mp4). It is FILE.part until it is whole;
                 what there is of it after Ctrl-C or an error is named FILE.partial.mp4, and the status is not 0
  N              pictures a second (default: 30); a video file has its own
It prints how many objects of each class were found."
output=samtrack-detect.mp4 fps=30
read_arguments "output fps" 2 2 "$@"
check_video "${arguments[0]}"
check_file detector "${arguments[1]}"
check_output "$output"
run --video="${arguments[0]}" --fps="$fps" --detector="${arguments[1]}" --max-objects=16 --output="$output"
