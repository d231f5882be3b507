#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs missing packages, builds, runs all tests. Last line: N passed, N failed, N skipped.
# usage: tests/run.sh [--quick | --full] [--again] [JOB...]
#   JOB: plain, emu (the CUDA backend on the CPU), asan (with UBSan), tsan, fuzz; none: all of them
#   --quick: plain without the long runs (3 minutes on 2 cores, without the CUDA backend where nothing was built)
#   --full: on the emulated CUDA backend every scenario of every golden (another hour)
#   --again: also tests that passed here before with the same program and data (tests/unchanged.py)
# A failing test is told when it fails. Without a GPU nvcc does not optimize; its objects are kept in $SAMTRACK_NVCC_CACHE, ~/.cache/samtrack/nvcc.
set -u
cd "$(dirname "$0")/.."
quick= full=false again= jobs=
usage() { sed -n '3,8s/^# //p' "$0" >&2; exit 2; }
for argument in "$@"; do
    case "$argument" in
    --quick) quick=1 ;;
    --full) full=true ;;
    --again) again=--again ;;
    plain | emu | asan | tsan | fuzz) jobs="$jobs $argument" ;;
    *) usage ;;
    esac
done
[ -z "$quick" ] || [ "$full" = false ] || usage
[ -n "$jobs" ] || jobs=$([ -n "$quick" ] && echo plain || echo plain emu asan tsan fuzz)
export SAMTRACK_NVCC_CACHE="${SAMTRACK_NVCC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/samtrack/nvcc}"

plain="--no-suite emu${quick:+ --no-suite slow}" # what the job runs
passed=0 failed=0 skipped=0 table= fixed=
wants() { case " $jobs " in *" $1 "*) true ;; *) false ;; esac; }

# Of this script and of what it ran: hundredths of a second on a processor.
get_processor_time() {
    local fields
    read -r -a fields </proc/$$/stat
    echo $((fields[13] + fields[14] + fields[15] + fields[16]))
}

# Runs a part, and adds it to the table: minutes, and those of a processor.
part() { # name, command with arguments
    local name=$1 began=$SECONDS used line status
    used=$(get_processor_time)
    shift
    "$@"
    status=$?
    line=$(awk -v name="$name" -v s=$((SECONDS - began)) -v cpu=$(($(get_processor_time) - used)) \
        'BEGIN { printf "%-28s %8.1f %14.1f", name, s / 60, cpu / 6000 }')
    table="$table$line"$'\n'
    echo "== $name: done after $((SECONDS / 60)) min"
    return $status
}

# Adds the verdicts of one run of meson test to the totals.
run_tests() { # name, build folder, arguments of meson test
    local sums
    sums=$($fixed python3 tests/progress.py $again "$@")
    set -- "$1" $sums
    echo "== $1: ${2:-0} passed, ${3:-1} failed, ${4:-0} skipped"
    passed=$((passed + ${2:-0})) failed=$((failed + ${3:-1})) skipped=$((skipped + ${4:-0}))
}

fail() { # what could not be done
    echo "FAILED: $1"
    failed=$((failed + 1))
}

# Where there is no GPU, kernels are compiled to see that they can be: tools/build.sh optimizes them once there is one.
build_plain() {
    local options=() quickly=() targets=
    [ -n "$quick" ] || ! wants emu || options+=(-Demu=true -Demu_full=$full)
    [ -n "$quick" ] || tools/has_gpu.sh || quickly=(-Dgpu_quick=true)
    if [ -f build/build.ninja ]; then
        [ -n "$quick" ] || [ ! -f build/quick ] || options+=(-Dcuda=auto "${quickly[@]}")
        [ ${#options[@]} = 0 ] || meson configure build "${options[@]}"
        [ -n "$quick" ] || [ ! -f build/quick ] || [ ${#quickly[@]} = 0 ] || touch build/no-gpu
        [ -n "$quick" ] || rm -f build/quick
    else
        wants emu || options+=(-Demu=false)
        [ -z "$quick" ] || options+=(-Dcuda=disabled)
        meson setup build "${options[@]}" "${quickly[@]}" >/dev/null
        [ ${#quickly[@]} = 0 ] || touch build/no-gpu
        [ -z "$quick" ] || touch build/quick # it has no CUDA backend
    fi
    if [ -n "$quick" ]; then
        ninja -C build build.ninja >/dev/null || return
        targets=$(python3 tests/progress.py --targets build $plain) || return
    fi
    tools/build.sh $targets
}

# Levels of CPU kernels of which a sanitizer sees something here: all that this processor has, or those that it takes by itself.
list_levels() { # all | taken
    local flags levels=generic taken=generic
    flags=" $(sed -n '/^flags/{s/.*: //p;q}' /proc/cpuinfo) "
    has() { local f; for f; do case "$flags" in *" $f "*) ;; *) return 1 ;; esac; done; }
    if has avx2 fma f16c; then levels=$levels,avx2 taken=avx2; fi
    if has avx_vnni; then levels=$levels,avx_vnni taken=$taken,avx_vnni; fi
    if has avx2 avx512f avx512bw avx512vl avx512dq; then levels=$levels,avx512 taken=avx512; fi
    if has avx512f avx512_vnni; then levels=$levels,vnni taken=$taken,vnni; fi
    if has avx512f avx512_bf16; then levels=$levels,bf16 taken=$taken,bf16; fi
    if has avx512f amx_tile amx_bf16 amx_int8; then levels=$levels,amx taken=$taken,amx; fi
    [ "$(uname -m)" = x86_64 ] || levels= taken= # all
    [ "$1" = all ] && echo "$levels" || echo "$taken"
}

# Lines for reports, and optimization only of loops (meson.build), which keeps the tests quick: -O2 -g takes three times as long to compile.
# Without a GPU the CUDA backend only refuses to open; its kernels would take minutes to compile again. Elements and the live
# program run on kernels without checks, of build/: those of the tests of the engine have them.
build_checked() { # folder, sanitizers, levels (of list_levels), suite (else of all what its tests need)
    local folder=$1 sanitizers=$2 targets=
    tests/kernels.sh || return
    [ -f "$folder/build.ninja" ] || meson setup "$folder" -Demu=false -Dcuda=disabled -Db_sanitize="$sanitizers" -Doptimization=0 \
        -Ddebug=true -Db_ndebug=false -Dc_args=-g1 -Dcpp_args=-g1 -Db_lundef=false -Dchecked_kernels=false -Dkernels_of="$PWD/build" \
        -Dchecked_levels="$(list_levels "$3")" >/dev/null || return
    ninja -C "$folder" build.ninja >/dev/null || return # tests that are new since
    targets=$(python3 tests/progress.py --targets "$folder" --no-suite nosan ${4:+--suite "$4"}) || return
    ninja -C "$folder" $targets >"$folder/build.log" || { grep -A20 FAILED "$folder/build.log"; return 1; }
}

run_asan() {
    # The leak tracer of GStreamer is on in both. For tests that have no options of their own; tests/meson.build says why a call is not to be intercepted.
    ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0 run_tests asan build-asan --no-suite nosan -t 6
}

# The tests in which several threads are at work.
run_tsan() {
    # It needs addresses that are less random than some kernels make them.
    local race=build-tsan/tests/gst/race
    fixed=
    $race mutex >/dev/null 2>&1 || fixed="setarch -R"
    if ! $fixed $race mutex >/dev/null 2>&1; then
        echo "ThreadSanitizer does not run on this machine: skipped"
        skipped=$((skipped + 1))
        return
    fi
    run_tests tsan build-tsan --suite threads --no-suite nosan -t 6
    fixed=
}

run_fuzz() {
    if tests/fuzz/run.sh --seconds 8; then passed=$((passed + 1)); else fail "the fuzzers"; fi
}

finish() {
    [ -z "$table" ] || printf '%-28s %8s %14s\n%s' part minutes "of a processor" "$table"
    echo "$passed passed, $failed failed, $skipped skipped" && [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
    exit
}

part packages tools/setup.sh test || { fail "the packages"; finish; }
if wants plain || wants emu; then
    part "build" build_plain || { fail "the build"; finish; }
    ! wants plain || part "plain" run_tests plain build $plain
    ! wants emu || part "emu" run_tests emu build --suite emu
fi
# What a sanitizer watches takes longer: Check's limit of a test; -t 6 is meson's of a program.
export CK_TIMEOUT_MULTIPLIER=4
if wants asan; then
    if part "build, ASan and UBSan" build_checked build-asan address,undefined all; then
        part "asan" run_asan
    else
        fail "the build under ASan"
    fi
fi
if wants tsan; then
    if part "build, TSan" build_checked build-tsan thread taken threads; then
        part "tsan" run_tsan
    else
        fail "the build under TSan"
    fi
fi
! wants fuzz || part "fuzz" run_fuzz
finish
