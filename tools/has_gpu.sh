#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whether this machine has a GPU of NVIDIA's: status 0 or 1. $SAMTRACK_GPU_DEVICES: files to look for in the place of its devices.
for device in ${SAMTRACK_GPU_DEVICES-/dev/nvidiactl /dev/nvhost-gpu /dev/dxg}; do
    [ ! -e "$device" ] || exit 0
done
exit 1
