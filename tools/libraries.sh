#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Prints the libraries and compilers that decide what is built, with their versions. meson keeps what it printed when the
# build folder was configured; where it prints something else, tools/build.sh configures again.
for library in gstreamer-1.0 gstreamer-app-1.0 gstreamer-rtsp-server-1.0 gstreamer-webrtc-1.0 gstreamer-check-1.0 \
    gstreamer-cuda-1.0 gstreamer-analytics-1.0 libsoup-3.0 json-glib-1.0 libpng pangocairo libjpeg jansson dnnl; do
    ! pkg-config --exists "$library" 2>/dev/null || echo "$library $(pkg-config --modversion "$library")"
done
for file in /usr/include/MQTTAsync.h "$(command -v nvcc)"; do
    [ ! -e "$file" ] || echo "$file"
done
