#!/usr/bin/env bash
# SAM 2.1 tiny at 1024 px, one object, full memory, all cores: our engine beside its peers on this
# machine in one run; then the embedded model. A table; the last line is JSON of every figure.
#   PYTHON     a Python with torch (transformers, openvino); without it the peers' columns say so
#   SAM2_REPO  a checkout of the published code
# usage: tests/bench/cpu.sh [--no-peers]
set -eu
cd "$(dirname "$0")/../.."
tools/setup.sh test && tools/build.sh
exec python3 tests/bench/cpu.py "$@"
