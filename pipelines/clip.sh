#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Prints the pipeline that generates the clip of the demo: 300 frames of 640x360, in which a ball rolls and hops,
# a figure walks, a fish swims through the air and a paper plane flies, in front of and behind a pillar.
set -eu
. "$(dirname "$0")/common.sh"
usage="usage: gst-launch-1.0 \$(pipelines/clip.sh) ! autovideosink
  Prints a gst-launch pipeline that generates the demo's clip."
read_arguments "" 0 0 "$@"
echo "samscene num-buffers=300 ! video/x-raw,width=640,height=360,framerate=30/1"
