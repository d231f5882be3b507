#!/usr/bin/env bash
# Checks and times the CUDA backend on a machine with a GPU: every operation and golden on the device,
# the speed beside the published code in the same run, and the operations under compute-sanitizer.
# After every step it writes report.md and report.json, with each required figure and whether it is
# met, and the step's output, to one folder. A step that fails or hangs does not stop the others.
# Needs CUDA and a Python with torch, not GStreamer. It has not been run on a GPU yet.
#   PYTHON          a Python with torch and triton (default python3)
#   SAM2_REPO       a checkout of the published code, used as the peer and to make the models;
#                   without it models of the published sizes have random weights
#   SAMTRACK_GOLDEN goldens of whole runs; without it only the project's own small ones are used
#   GPU_ARCHS       architectures to build for (default: that of this machine's GPU, else 80,90;
#                   of a bundle: 80,90a)
# usage: tests/bench/gpu.sh                  builds build-gpu/, then runs all parts: about 65 minutes
#        tests/bench/gpu.sh --quick          runs the most important figures: about 15 minutes
#        tests/bench/gpu.sh --bundle FOLDER  only builds, without a GPU, for sm_80 and later:
#                                            FOLDER.tar.gz (at most 64 MiB) has programs, libraries,
#                                            scripts, own goldens and $SAMTRACK_GOLDEN's nano. On the
#                                            other machine, which needs neither these sources nor
#                                            meson nor a network: tar xf, then FOLDER/tests/bench/gpu.sh
#        tests/bench/gpu.sh --from FOLDER    runs all parts with the programs of such a bundle
#        ... --only PART                     correctness (10 minutes), speed (35) or sanitizer (20)
#        ... --minutes N                     starts no step later than that (default 1.5 times the above)
#        ... --out FOLDER                    folder of the results (default gpu-report/ in the build)
#        ... --op NAME                       correctness and sanitizer run only this operation
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
from='' bundle=''
rest=()
while [ $# -gt 0 ]; do
    case "$1" in
    --bundle) bundle=${2:?a folder}; shift 2 ;;
    --from) from=${2:?a folder}; shift 2 ;;
    --quick) rest+=("$1"); shift ;;
    --only | --minutes | --out | --op) rest+=("$1" "${2:?a value}"); shift 2 ;;
    *) sed -n '/^# usage/,/^set/{/^#/s/^# //p}' "$0" >&2; exit 2 ;;
    esac
done
# A bundle has no meson.build: it is run as it is.
[ -n "$from" ] || [ -f meson.build ] || from=.

# Meson and ninja, from the registry of this Python where they are not installed.
need_meson() {
    command -v meson >/dev/null && command -v ninja >/dev/null && return
    "$python" -m pip install --quiet --target build-gpu-tools meson ninja || {
        echo "gpu.sh: no meson and ninja, and they cannot be installed: make a bundle elsewhere" \
            "with --bundle, and come back with --from" >&2
        exit 1
    }
    export PYTHONPATH="$PWD/build-gpu-tools:${PYTHONPATH:-}" PATH="$PWD/build-gpu-tools/bin:$PATH"
}

archs() {
    local found
    [ -z "$bundle" ] || { echo 80,90a; return; } # and, by the driver, what is like the first
    found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ') || true
    case "$found" in 90) echo 90a ;; [0-9]*) echo "$found" ;; *) echo 80,90a ;; esac
}

programs="tests/ops/check_ops tests/model/sam-stages tools/sam-replay tests/bench/bench-steps"
programs="$programs tests/track/check_context"
if [ -z "$from" ]; then
    need_meson
    PATH="$PATH:/usr/local/cuda/bin"
    [ -f build-gpu/build.ninja ] || meson setup build-gpu -Demu=false -Dgst=disabled -Dcuda=enabled \
        -Ddefault_library=static -Dgpu_archs="${GPU_ARCHS:-$(archs)}" || {
        echo "gpu.sh: meson setup failed; see build-gpu/meson-logs/meson-log.txt" >&2
        exit 1
    }
    # What does not build is missed by its own steps only.
    for program in $programs; do
        ninja -C build-gpu "$program" >build-gpu/ninja.log 2>&1 || {
            echo "gpu.sh: $program does not build:" >&2
            grep -m 5 -iE 'error|FAILED' build-gpu/ninja.log >&2 || true
        }
    done
    from=build-gpu
fi

if [ -n "$bundle" ]; then
    mkdir -p "$bundle/lib"
    for program in $programs; do
        install -D "$from/$program" "$bundle/$program"
        ldd "$from/$program" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so/ { print $3 }' \
            | while read -r library; do install "$library" "$bundle/lib/"; done
    done
    # What gpu.py runs and reads, at the same places as here.
    for file in tests/bench/gpu.sh tests/bench/gpu.py tests/bench/peer_cuda.py tests/track/golden.py \
        tests/model/stages.sh engine/ops/list.h tools/blank_model.py tools/published.py; do
        install -D "$file" "$bundle/$file"
    done
    cp -r tests/golden "$bundle/tests/"
    if [ -d "${SAMTRACK_GOLDEN:-}/nano" ]; then
        mkdir -p "$bundle/golden"
        cp -r "$SAMTRACK_GOLDEN/nano" "$bundle/golden/"
    fi
    tar -C "$(dirname "$bundle")" -czf "$bundle.tar.gz" "$(basename "$bundle")"
    bytes=$(stat -c %s "$bundle.tar.gz")
    echo "$bundle.tar.gz: $((bytes >> 20)) MiB; elsewhere: tar xf it, $(basename "$bundle")/tests/bench/gpu.sh"
    [ "$bytes" -le $((64 << 20)) ] || { echo "gpu.sh: more than 64 MiB" >&2; exit 1; }
    exit
fi
from=$(realpath "$from")
[ -n "${SAMTRACK_GOLDEN:-}" ] || [ ! -d golden ] || export SAMTRACK_GOLDEN="$PWD/golden"
export LD_LIBRARY_PATH="$from/lib:${LD_LIBRARY_PATH:-}"
exec "$python" tests/bench/gpu.py "$from" "${rest[@]}"
