#!/usr/bin/env bash
# One run on a machine with a GPU: every operation and golden on the device, compute-sanitizer over
# the operations, then speed beside the published code in the same run. A table of each figure that
# is asked for and whether it holds; the last line is JSON of all. It needs CUDA and a Python with
# torch; no GStreamer. It has not been run on a GPU yet.
#   PYTHON          a Python with torch and triton
#   SAM2_REPO       a checkout of the published code; without it the peer's columns say so
#   SAMTRACK_GOLDEN goldens of whole runs; without it the project's own small ones alone
# usage: tests/bench/gpu.sh                  builds build-gpu/ with meson, then all of it (an hour)
#        tests/bench/gpu.sh --bundle FOLDER  builds only, without a GPU: the programs and the
#                                            libraries they need, for a machine without meson
#        tests/bench/gpu.sh --from FOLDER    all of it, with the programs of such a bundle
#        ... --only PART                     correctness, sanitizer or speed
# GPU_ARCHS   architectures to build for (default 80,90; see meson_options.txt)
set -eu
cd "$(dirname "$0")/../.."
from= bundle= only=
while [ $# -gt 0 ]; do
    case "$1" in
    --bundle) bundle=${2:?a folder}; shift 2 ;;
    --from) from=${2:?a folder}; shift 2 ;;
    --only) only=${2:?a part}; shift 2 ;;
    *) echo "usage: tests/bench/gpu.sh [--bundle FOLDER | --from FOLDER] [--only PART]" >&2; exit 2 ;;
    esac
done

programs="tests/ops/check_ops tests/model/sam-stages tools/sam-replay tests/bench/bench-steps"
if [ -z "$from" ]; then
    [ -f build-gpu/build.ninja ] || meson setup build-gpu -Demu=false -Dgst=disabled -Dcuda=enabled \
        -Ddefault_library=static -Dgpu_archs="${GPU_ARCHS:-80,90}" >/dev/null
    ninja -C build-gpu $programs >/dev/null
    from=build-gpu
fi

if [ -n "$bundle" ]; then
    mkdir -p "$bundle/lib"
    for program in $programs; do
        install -D "$from/$program" "$bundle/$program"
        ldd "$from/$program" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so/ { print $3 }' \
            | while read -r library; do install "$library" "$bundle/lib/"; done
    done
    echo "$bundle: on the machine with the GPU, tests/bench/gpu.sh --from $bundle"
    exit
fi
export LD_LIBRARY_PATH="$(realpath "$from")/lib:${LD_LIBRARY_PATH:-}"
exec "${PYTHON:-python3}" tests/bench/gpu.py "$from" ${only:+--only "$only"}
