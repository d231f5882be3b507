#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tracks an object in a video file and writes one PNG per frame: 0 is background, 1 and up are slots.
set -eu
. "$(dirname "$0")/common.sh"
usage="usage: pipelines/label-maps.sh [--fps N] VIDEO FOLDER PROMPT [MODEL]
  VIDEO   any file that GStreamer can play, a folder of JPEGs or PNGs, or their names with a number, such as
          frames/%05d.jpg
  FOLDER  a new or empty folder for 00000.png, 00001.png ... It is FOLDER.part until it is whole;
          what there is of it after Ctrl-C or an error is named FOLDER.partial, and the status is not 0
  PROMPT  objects to track, for example 'box,x=100,y=60,w=80,h=90;point,x=310,y=200'
  MODEL   weights file of SAM 2, SAM 2.1, EdgeTAM or EfficientTAM (default: the included model)
  N       pictures a second (default: 30); a video file has its own"
fps=30
read_arguments fps 3 4 "$@"
check_video "${arguments[0]}"
check_file model "${arguments[3]:-}"
[ -z "$(ls -A "${arguments[1]}" 2>/dev/null)" ] || fail 1 "'${arguments[1]}' exists, expected a new or an empty folder"
run --video="${arguments[0]}" --fps="$fps" --label-maps="${arguments[1]}" --prompt="${arguments[2]}" \
    ${arguments[3]:+--model="${arguments[3]}"}
