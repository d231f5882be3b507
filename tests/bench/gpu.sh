#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks and times the CUDA backend on a machine with a GPU, in steps in the order of their worth:
#   1 library      whether cuBLASLt really makes the large products; fails loudly if not
#   2 frames       of tiny, base+ and large, in the GPU's and in the host's memory: recorded, and every
#                  operation by itself, timed by events
#   3 peers        the published code, eager; of one size compiled
#   4 kernels      beside cuBLASLt, cuDNN and FlashAttention
#   5 correctness  of every operation and golden
#   6 more         sizes, objects, 10 000 frames in a row
#   7 sanitizer    compute-sanitizer over every operation
# After everything that was tried it writes report.md, report.json, logs/ and report.tar.gz of them.
# What fails or hangs does not stop the rest. A machine that is there for minutes only wants --lease, which docs/GPU.md explains.
# Needs CUDA and a Python with numpy, and torch for the peers; not GStreamer.
#   PYTHON          that Python (default python3)
#   SAM2_REPO       a checkout of the published code, the peer; a bundle carries it if it is set
#                   when the bundle is made
#   SAMTRACK_GOLDEN goldens of whole runs; without it only the project's own small ones are used
#   GPU_ARCHS       architectures to build for (default: that of this machine's GPU, else 80,90a)
# usage: tests/bench/gpu.sh                  builds build-gpu/, then takes all steps
#        tests/bench/gpu.sh --minutes 9      begins nothing that would last longer: exit status 3 means
#        tests/bench/gpu.sh --minutes 9 --continue    that this goes on where the last one stopped
#        tests/bench/gpu.sh --step STEP      takes one step (number or name), again if need be
#        tests/bench/gpu.sh --list           the steps, with their estimated minutes
#        tests/bench/gpu.sh --bundle FOLDER --lease    only builds, without a GPU, for sm_90a: FOLDER.tar.xz is for
#                                            a machine that has this tree, too. $SAM2_REPO has to be set
#        tests/bench/gpu.sh --lease --from FOLDER.tar.xz --minutes 8.5 --copy RESULTS    there: in one order, by the
#                                            clock; RESULTS (at most 8 files) is whole after every part
#        ... --lease --minutes 3 --continue  takes what was left
#        ... --lease --phases right,alone    takes these phases only: answers first, and times once they are right
#        tests/bench/gpu.sh --lease --emulated    the same order on the emulator of build/, with small models
#        tests/bench/gpu.sh --bundle FOLDER  only builds, without a GPU, for sm_80 and later:
#                                            FOLDER.tar.xz (at most 64 MiB) has programs, libraries,
#                                            scripts, what the published code needs of Python, own
#                                            goldens and $SAMTRACK_GOLDEN's nano. On the other
#                                            machine, which needs neither these sources nor meson
#                                            nor a network: tar xf, then FOLDER/tests/bench/gpu.sh
#        tests/bench/gpu.sh --from FOLDER    takes the steps with the programs of such a bundle
#        ... --out FOLDER                    folder of the results (default gpu-report/ in the build)
#        ... --op NAME                       correctness and sanitizer of this operation only
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
from='' bundle='' lease='' emulated=''
rest=()
while [ $# -gt 0 ]; do
    case "$1" in
    --bundle) bundle=${2:?a folder}; shift 2 ;;
    --from) from=${2:?a folder}; shift 2 ;;
    --lease) lease=1; shift ;;
    --emulated) emulated=1 rest+=("$1"); shift ;;
    --continue | --list | --dry-run) rest+=("$1"); shift ;;
    --step | --minutes | --out | --op | --copy | --phases) rest+=("$1" "${2:?a value}"); shift 2 ;;
    *) sed -n '/^# usage/,/^set/{/^#/s/^# //p}' "$0" >&2; exit 2 ;;
    esac
done
command -v "$python" >/dev/null || { echo "gpu.sh: no $python here: it needs Python 3" >&2; exit 1; }
if [ -n "$lease" ] && [ -z "$bundle" ] && [ -z "$from" ]; then
    [ -n "$emulated" ] || { echo "gpu.sh: --lease wants --from, with what --bundle FOLDER --lease has made" >&2; exit 2; }
    from=build
fi

# With tar, which wants xz; else by Python, whose tarfile has both in it.
unpack() { # archive, folder
    mkdir -p "$2"
    tar -C "$2" -xf "$1" 2>/dev/null || "$python" -c 'import sys, tarfile
tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$2" || {
        echo "gpu.sh: $1 cannot be unpacked: neither tar with xz nor Python's tarfile can" >&2
        exit 1
    }
}
if [ -f "$from" ]; then
    archive=$from
    from=$(dirname "$archive")/$(basename "$archive" .tar.xz).unpacked/$(basename "$archive" .tar.xz)
    [ -d "$from" ] || unpack "$archive" "$(dirname "$from")"
fi
[ -z "$from" ] || [ -d "$from" ] || { echo "gpu.sh: --from $from: expected a folder or an archive, found none" >&2; exit 2; }
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
    [ -z "$lease" ] || { echo 90a; return; }
    [ -z "$bundle" ] || { echo 80,90a; return; } # and, by the driver, what is like the first
    found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ') || true
    case "$found" in 90) echo 90a ;; [0-9]*) echo "$found" ;; *) echo 80,90a ;; esac
}

# Of the published code's requirements what a Python with torch lacks: as wheels, which gpu.py unpacks. PyYAML
# is compiled for each Python, and is where torch is.
carry_wheels() { # folder
    "$python" -m pip wheel --quiet --no-deps --disable-pip-version-check --wheel-dir "$1" hydra-core==1.3.2 \
        omegaconf==2.3.0 antlr4-python3-runtime==4.9.3 iopath==0.1.10 portalocker==3.2.0 tqdm packaging \
        typing_extensions
}

# The compiler: of CUDA 12.x where it is, as its programs run on drivers since 525.
find_nvcc() {
    local found
    found=$(ls -d /usr/local/cuda-12.[5-9]/bin /usr/local/cuda-12.[1-9][0-9]/bin 2>/dev/null | sort -V | tail -n 1)
    [ -z "$found" ] || PATH="$found:$PATH"
    PATH="$PATH:/usr/local/cuda/bin"
}

programs="tests/ops/check_ops tests/model/sam-stages tools/sam-replay tests/bench/bench-steps"
programs="$programs tests/track/check_context tests/track/check_uploader"
# Where the plugin is built it is carried; it runs where GStreamer has its CUDA elements.
gst=disabled
if [ -n "$lease" ]; then
    programs="$programs tests/ops/check_wgmma tools/sam-detect tests/detect/detect tests/detect/rfdetr tests/detect/mask2former"
    ! pkg-config --exists gstreamer-cuda-1.0 2>/dev/null || gst=auto programs="$programs gst/libgstsamtrack.so libsamtrack.so.1"
fi
if [ -n "$bundle" ] && [ -n "$lease" ] && ! [ -d "${SAM2_REPO:-}/sam2" ]; then
    echo "gpu.sh: SAM2_REPO: expected a checkout of the published code, found '${SAM2_REPO:-}'; without it nothing is timed beside it" >&2
    exit 1
fi
if [ -z "$from" ]; then
    need_meson
    find_nvcc
    [ -f build-gpu/build.ninja ] || meson setup build-gpu -Demu=false -Dgst=$gst -Dlive=disabled -Dcuda=enabled \
        -Dgpu_archs="${GPU_ARCHS:-$(archs)}" >/dev/null || {
        echo "gpu.sh: meson setup failed; see build-gpu/meson-logs/meson-log.txt" >&2
        exit 1
    }
    # What does not build is missed by its own steps only.
    for program in $programs; do
        ninja -C build-gpu "$program" >build-gpu/ninja.log 2>&1 || {
            echo "gpu.sh: $program does not build:" >&2
            grep -m 5 -iE 'error|FAILED' build-gpu/ninja.log >&2 || true
            [ -z "$bundle" ] || exit 1
        }
    done
    from=build-gpu
fi

if [ -n "$bundle" ]; then
    rm -rf "$bundle"
    mkdir -p "$bundle/lib" "$bundle/wheels"
    for program in $programs; do
        install -s -D "$from/$program" "$bundle/$program"
        case "$program" in *.so | *.so.1) continue ;; esac # its libraries are the system's GStreamer
        ldd "$from/$program" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so/ { print $3 }' \
            | while read -r library; do install "$library" "$bundle/lib/"; done
    done
    "$python" tests/bench/gpu_bundle.py needs "$bundle" build-gpu
    carry_wheels "$bundle/wheels" || {
        echo "gpu.sh: the wheels cannot be downloaded: without them the published code runs only where its" \
            "requirements are installed" >&2
        [ -z "$lease" ] || exit 1
    }
    if [ -d "${SAM2_REPO:-}/sam2" ]; then
        mkdir -p "$bundle/published"
        cp -r "$SAM2_REPO/sam2" "$bundle/published/"
        cp "$SAM2_REPO"/LICENSE* "$bundle/published/"
    fi
    if [ -n "$lease" ]; then
        [ ! -d "${SAMTRACK_GOLDEN:-}/nano" ] || "$python" tests/bench/gpu_bundle.py golden "$bundle" "$SAMTRACK_GOLDEN/nano"
    else
        # What gpu.py runs and reads, at the same places as here.
        for file in tests/bench/gpu.sh tests/bench/gpu.py tests/bench/gpu_report.py tests/bench/peer_cuda.py \
            tests/bench/recipes.json tests/track/golden.py tests/model/stages.sh engine/ops/list.h tools/blank_model.py tools/published.py; do
            install -D "$file" "$bundle/$file"
        done
        cp -r tests/golden "$bundle/tests/"
        [ ! -d "${SAMTRACK_GOLDEN:-}/nano" ] || { mkdir -p "$bundle/golden" && cp -r "$SAMTRACK_GOLDEN/nano" "$bundle/golden/"; }
    fi
    find "$bundle" -name __pycache__ -prune -exec rm -r {} +
    # Every program has the same kernels in it: a dictionary as large as all of them finds that.
    tar -C "$(dirname "$bundle")" -c "$(basename "$bundle")" \
        | xz --threads=1 --lzma2=preset=0,dict=256MiB,mf=hc4,nice=273 >"$bundle.tar.xz"
    bytes=$(stat -c %s "$bundle.tar.xz")
    if [ -n "$lease" ]; then
        rm -r "$bundle" # it would travel, too
        exec "$python" tests/bench/gpu_bundle.py fits "$bundle" "$bytes"
    fi
    echo "$bundle.tar.xz: $((bytes >> 20)) MiB; elsewhere: tar xf it, $(basename "$bundle")/tests/bench/gpu.sh"
    [ "$bytes" -le $((64 << 20)) ] || { echo "gpu.sh: more than 64 MiB" >&2; exit 1; }
    exit
fi
from=$(realpath "$from")
for golden in "$from/golden" golden; do
    [ -n "${SAMTRACK_GOLDEN:-}" ] || [ ! -d "$golden" ] || export SAMTRACK_GOLDEN="$(realpath "$golden")"
done
export SAMTRACK_GPU_LIB="$from/lib" # not LD_LIBRARY_PATH, or a Python with torch would find our libraries
[ -z "$lease" ] || exec "$python" tests/bench/gpu_lease.py "$from" "${rest[@]}"
exec "$python" tests/bench/gpu.py "$from" "${rest[@]}"
