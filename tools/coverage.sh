#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lines and branches of engine/, gst/ and pipelines/live that the plain tests reach, per folder (tools/coverage.py). With a COMMIT:
# the same of that tree first, beside which this tree's stands; its new files are told apart. The tables stay in build-coverage/.
# Without the CUDA backend and its emulator. It takes half an hour of two cores, with a COMMIT an hour.
# Status 1: something has fallen; 2: nothing could be measured, or a test of this tree failed. Those that fail in the COMMIT's tree, as some
# do on a processor that it did not know, are named, and what they reach before counts. usage: tools/coverage.sh [COMMIT]
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
before=$root/build-coverage-before

tell() {
    echo "tools/coverage.sh: $1" >&2
}

fail() {
    tell "$1"
    exit 2
}

# gcov's counters of threads are exact only if each is added to by one at a time, which makes kernels ten times as slow. What is asked
# here is whether a line was reached at all.
measure() { # the root of a tree, what to do if tests fail twice
    cd "$1"
    tools/setup.sh test >/dev/null || fail "the packages that the tests of $1 need cannot be installed"
    [ -f build-coverage/build.ninja ] || meson setup build-coverage -Db_coverage=true -Doptimization=1 -Demu=false -Dcuda=disabled \
        -Dc_args=-fprofile-update=single -Dcpp_args=-fprofile-update=single >/dev/null
    ninja -C build-coverage >build-coverage/build.log || { tail -20 build-coverage/build.log >&2; fail "$1 cannot be built"; }
    find build-coverage -name '*.gcda' -delete
    export CK_TIMEOUT_MULTIPLIER=4
    meson test -C build-coverage --no-rebuild -t 5 >&2 || run_failed_again || "$2" "tests failed twice in $1: $(list_failed | tr '\n' ' ')"
}

list_failed() {
    python3 -c 'import json, sys
for test in map(json.loads, open("build-coverage/meson-logs/testlog.json")):
    if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
        print(test["name"].split(" / ", 1)[-1])'
}

# One at a time: of an older tree, tests may depend on what runs beside them.
run_failed_again() {
    local names
    mapfile -t names < <(list_failed)
    [ ${#names[@]} -gt 0 ] || return
    meson test -C build-coverage --no-rebuild -t 10 --num-processes 1 "${names[@]}" >&2
}

case "${1-}" in
-h | --help) sed -n '3,8s/^# //p' "$0"; exit ;;
-*) fail "there is no option '$1'; usage: tools/coverage.sh [COMMIT]" ;;
esac
[ $# -le 1 ] || fail "an argument too many, '$2'; usage: tools/coverage.sh [COMMIT]"
if [ -n "${1-}" ]; then
    commit=$(git -C "$root" rev-parse --verify --quiet "$1^{commit}") || fail "there is no commit '$1'"
    git -C "$root" worktree remove --force "$before" 2>/dev/null || rm -rf "$before"
    git -C "$root" worktree prune
    git -C "$root" worktree add --detach --quiet "$before" "$commit"
    trap 'git -C "$root" worktree remove --force "$before"' EXIT
    (measure "$before" tell)
    cp "$root/tools/coverage.py" "$before/tools/"
    mkdir -p "$root/build-coverage"
    git -C "$root" ls-tree -r --name-only "$commit" >"$root/build-coverage/before.files"
    python3 "$before/tools/coverage.py" "$before/build-coverage" >"$root/build-coverage/before.txt"
fi
(measure "$root" fail)
cd "$root/build-coverage"
python3 "$root/tools/coverage.py" . ${1:+before.txt before.files} | tee coverage.txt
