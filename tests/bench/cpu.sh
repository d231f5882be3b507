#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Times our engine and its peers on this machine in one run: SAM 2.1 tiny at 1024 px with one object,
# full memory and all cores; then the embedded model. Prints a table, each required ratio and whether
# it is met; the last line is JSON with every figure. The row of a peer that is not installed says so.
#   PYTHON     a Python with torch, safetensors (and transformers, openvino)
#   SAM2_REPO  a checkout of the published code
# usage: tests/bench/cpu.sh            all rows, 15 to 20 minutes on two idle cores
#        tests/bench/cpu.sh --quick    only our own rows, 2 minutes
#        tests/bench/cpu.sh --edgetam  EdgeTAM beside its published code instead, EDGETAM_REPO is its checkout
#        tests/bench/cpu.sh --try N    every row with N frames (2 or more): a trial of the script;
#                                      memory is not full, and no ratio is checked
set -eu
cd "$(dirname "$0")/../.."
tools/setup.sh test
tools/build.sh
exec python3 tests/bench/cpu.py "$@"
