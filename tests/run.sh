#!/usr/bin/env bash
# Installs missing packages, builds, runs all tests. Last line: N passed, N failed, N skipped.
# --quick: without the sanitizers and the long runs (under 5 minutes on 2 cores). --full: on the
# emulated CUDA backend every scenario of every golden (another hour).
set -u
cd "$(dirname "$0")/.."
quick= full=false
case "${1:-}" in
--quick) quick=1 ;;
--full) full=true ;;
"") ;;
*) echo "usage: tests/run.sh [--quick|--full]" >&2; exit 2 ;;
esac

passed=0 failed=0 skipped=0

# Adds the verdicts of one meson test run to the totals; prints what failed.
count() { # name, build folder
    local log="$2/meson-logs/testlog.json" sums
    sums=$(python3 - "$log" <<'PY'
import json, sys
p = f = s = 0
try:
    for line in open(sys.argv[1]):
        t = json.loads(line)
        if t['result'] in ('OK', 'EXPECTEDFAIL'): p += 1
        elif t['result'] == 'SKIP': s += 1
        else:
            f += 1
            print(f"FAILED: {t['name']}\n{t.get('stdout', '')[-3000:]}{t.get('stderr', '')[-3000:]}", file=sys.stderr)
except FileNotFoundError:
    f = 1
    print('no test log', file=sys.stderr)
print(p, f, s)
PY
    )
    set -- "$1" $sums
    echo "== $1: $2 passed, $3 failed, $4 skipped, after $((SECONDS / 60)) min"
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
    exit
}

tools/setup.sh test || { failed=1; finish; }
# The emulated CUDA backend: a minute to build, a few to run.
if [ -z "$quick" ] && [ -f build/build.ninja ]; then
    meson configure build -Demu=true -Demu_full=$full
elif [ -z "$quick" ]; then
    meson setup build -Demu=true -Demu_full=$full >/dev/null
fi
tools/build.sh || { echo "the build failed"; failed=1; finish; }

suites="--no-suite slow"
[ -n "$quick" ] || suites=
meson test -C build --no-rebuild --print-errorlogs $suites >/dev/null 2>&1
count "tests" build

# Lines for reports, and no more optimization than keeps the tests quick: -O2 -g takes three times as long to compile.
checked=(-Doptimization=1 -Ddebug=true -Dc_args=-g1 -Dcpp_args=-g1 -Db_lundef=false)
if [ -z "$quick" ]; then
    # What a sanitizer watches takes longer: Check's limit of a test; -t 6 below is meson's of a program.
    export CK_TIMEOUT_MULTIPLIER=4
    # The same tests under AddressSanitizer and UBSan; the leak tracer of GStreamer is on in both.
    # Without a GPU the backend only refuses to open; its kernels would take minutes to compile again.
    if [ ! -f build-asan/build.ninja ]; then
        meson setup build-asan -Demu=false -Dcuda=disabled -Db_sanitize=address,undefined "${checked[@]}" >/dev/null || failed=$((failed + 1))
    fi
    if ninja -C build-asan >/dev/null; then
        ASAN_OPTIONS=detect_leaks=1 meson test -C build-asan --no-rebuild --no-suite nosan -t 6 >/dev/null 2>&1
        count "tests under ASan and UBSan" build-asan
    else
        echo "the build under ASan failed"; failed=$((failed + 1))
    fi
    # The tests in which several threads are at work under ThreadSanitizer.
    if [ ! -f build-tsan/build.ninja ]; then
        meson setup build-tsan -Demu=false -Dcuda=disabled -Db_sanitize=thread "${checked[@]}" >/dev/null || failed=$((failed + 1))
    fi
    # meson builds what these tests need, which is half of all.
    rm -f build-tsan/meson-logs/testlog.json
    if ninja -C build-tsan tests/gst/race >/dev/null; then
        # It needs addresses that are less random than some kernels make them.
        race=build-tsan/tests/gst/race fixed=
        $race mutex >/dev/null 2>&1 || fixed="setarch -R"
        if $fixed $race mutex >/dev/null 2>&1; then
            $fixed meson test -C build-tsan --suite threads --no-suite nosan -t 6 >/dev/null 2>&1
            count "tests of threads under TSan" build-tsan
        else
            echo "ThreadSanitizer does not run on this machine: skipped"
            skipped=$((skipped + 1))
        fi
    else
        echo "the build under TSan failed"; failed=$((failed + 1))
    fi
    if tests/fuzz/run.sh --seconds 20; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
fi
finish
