#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fuzzes every target for a while, from the corpora beside this script. Needs clang; without it
# the corpora are replayed. A finding is kept in build-fuzz/findings, its input with it.
# usage: tests/fuzz/run.sh [--minutes N | --seconds N] [--keep] [TARGET...]
#   --keep: inputs that reach new code join the corpus, the 40 smallest of each target
set -u
cd "$(dirname "$0")/../.."
seconds=20 keep= targets=
while [ $# -gt 0 ]; do
    case "$1" in
    --minutes) seconds=$((${2:?} * 60)); shift ;;
    --seconds) seconds=${2:?}; shift ;;
    --keep) keep=1 ;;
    -*) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
    *) targets="$targets $1" ;;
    esac
    shift
done
[ -n "$targets" ] || targets=$(ls tests/fuzz/corpus)

clang=$(command -v clang || compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -V | tail -1)
fuzzer=-fsanitize=fuzzer,address,undefined
if [ -z "$clang" ] || ! echo 'int LLVMFuzzerTestOneInput(void){return 0;}' |
        "$clang" $fuzzer -x c - -o /dev/null 2>/dev/null; then
    echo "no clang with libFuzzer here: the corpora are replayed only"
    [ -f build/build.ninja ] || meson setup build >/dev/null || exit 1
    meson test -C build --suite fuzz >/dev/null || { echo "fuzz: replay, findings in build/meson-logs"; exit 1; }
    echo "fuzz: $(echo $targets | wc -w) targets replayed, 0 findings"
    exit 0
fi

tests/kernels.sh || exit 1
if [ ! -f build-fuzz/build.ninja ]; then
    CC=$clang meson setup build-fuzz -Dfuzz=true -Dcuda=disabled -Demu=false -Doptimization=1 -Ddebug=true -Db_lundef=false \
        -Dkernels_of="$PWD/build" -Db_sanitize=address,undefined -Dc_args='-fsanitize=fuzzer-no-link -fno-sanitize-recover=all -g1' >/dev/null || exit 1
fi
ninja -C build-fuzz build.ninja >/dev/null || exit 1 # targets that are new since
here= # the prompt target is there only where GStreamer is
for t in $targets; do
    if grep -q "tests/fuzz/fuzz-$t:" build-fuzz/build.ninja; then here="$here $t"; else echo "$t: not in this build"; fi
done
targets=$here
ninja -C build-fuzz $(for t in $targets; do echo "tests/fuzz/fuzz-$t"; done) >build-fuzz/build.log ||
    { cat build-fuzz/build.log; echo "fuzz: the build failed"; exit 1; }

fuzz() { # one target; its log and findings in build-fuzz
    local t=$1 dict= max=16384
    [ "$t" = open ] && max=65536 # a whole model's names
    mkdir -p "build-fuzz/corpus/$t" build-fuzz/findings
    [ -f "tests/fuzz/$t.dict" ] && dict="-dict=tests/fuzz/$t.dict"
    nice "build-fuzz/tests/fuzz/fuzz-$t" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=$max \
        -print_final_stats=1 -artifact_prefix="build-fuzz/findings/$t-" $dict \
        "build-fuzz/corpus/$t" "tests/fuzz/corpus/$t" >"build-fuzz/$t.log" 2>&1
}

findings=0 count=0 running=
finish() { # wait for the targets that are running
    for t in $running; do
        if wait "${t#*:}"; then
            echo "${t%:*}: $(awk '/number_of_executed_units/ { print $2 }' "build-fuzz/${t%:*}.log") inputs, no finding"
        else
            findings=$((findings + 1))
            echo "${t%:*}: a finding"
            grep -E 'ERROR|SUMMARY|runtime error|Test unit written|deadly signal' "build-fuzz/${t%:*}.log" | head -5
        fi
    done
    running=
}
for t in $targets; do
    fuzz "$t" &
    running="$running $t:$!" count=$((count + 1))
    [ $((count % $(nproc))) = 0 ] && finish
done
finish

if [ -n "$keep" ] && [ $findings = 0 ]; then
    for t in $targets; do
        rm -rf build-fuzz/merged && cp -r "tests/fuzz/corpus/$t" build-fuzz/merged
        "build-fuzz/tests/fuzz/fuzz-$t" -merge=1 -max_len=2048 build-fuzz/merged "build-fuzz/corpus/$t" \
            >/dev/null 2>&1 || exit 1
        ls -rS build-fuzz/merged | while read -r f; do
            [ -e "tests/fuzz/corpus/$t/$f" ] || echo "$f"
        done | head -40 | while read -r f; do cp "build-fuzz/merged/$f" "tests/fuzz/corpus/$t/"; done
    done
fi
echo "fuzz: $count targets, $findings findings"
[ $findings = 0 ]
