#!/usr/bin/env bash
# Prints the pipeline that generates the clip of the demo: 150 frames of 640x360 with an orange ball,
# 120 px wide, that starts in the middle, in front of moving rings.
if [ "${1:-}" = --help ]; then
    echo "usage: gst-launch-1.0 \$(pipelines/clip.sh) ! autovideosink
  Prints a gst-launch pipeline that generates the demo's clip."
    exit
fi
size=video/x-raw,width=640,height=360,framerate=30/1
echo "videotestsrc num-buffers=150 pattern=zone-plate kx2=4 ky2=3 kt=1 ! $size
    ! videobalance saturation=0.3 contrast=0.35 brightness=-0.1 ! queue ! mix.sink_0
    videotestsrc num-buffers=150 pattern=ball motion=wavy animation-mode=frames
    background-color=0 foreground-color=0xffe08020
    ! video/x-raw,format=AYUV,width=160,height=90,framerate=30/1
    ! videoscale ! video/x-raw,width=480,height=270 ! queue ! mix.sink_1
    compositor name=mix sink_1::xpos=80 sink_1::ypos=45 ! $size ! videoconvert"
