#!/usr/bin/env bash
# SAM 2.1 tiny at 1024 px, one object, full memory, all cores: our engine beside its peers on this
# machine in one run; then the embedded model. A table with each ratio that is asked for and whether
# it holds; the last line is JSON of every figure. A peer that is not installed says so in its row.
#   PYTHON     a Python with torch, safetensors (and transformers, openvino)
#   SAM2_REPO  a checkout of the published code
# usage: tests/bench/cpu.sh            everything, 15 to 20 minutes on two cores that are otherwise idle
#        tests/bench/cpu.sh --quick    our own rows, 2 minutes
#        tests/bench/cpu.sh --try N    every row over N frames (2 or more): tries the script out,
#                                      memory is not full and nothing is judged
set -eu
cd "$(dirname "$0")/../.."
tools/setup.sh test && tools/build.sh
exec python3 tests/bench/cpu.py "$@"
