#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the engine for arm64 by a cross compiler, in build-arm64/, and tests it under qemu-user, on processors with and without
# the instructions that its levels are for. Installs what that needs (Debian; tools/setup.sh arm64). Last line: N passed, N failed.
# usage: tests/arm64.sh [--quick]
# --quick: products, attention and one model alone. All takes about an hour of a processor, as every instruction is emulated.
set -u
cd "$(dirname "$0")/.."
quick=
case "${1:-}" in
'') ;;
--quick) quick=yes ;;
*) echo "tests/arm64.sh: '$1' is not known: usage: tests/arm64.sh [--quick]" >&2; exit 2 ;;
esac
root=$PWD/build-arm64-root built=$PWD/build-arm64
passed=0 failed=0
export QEMU_LD_PREFIX=$root

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
    exit
}

check() { # name, command
    local name=$1 log=$built/last.log
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok     $name: $(tail -n 1 "$log")"
    else
        failed=$((failed + 1))
        tail -n 40 "$log"
        echo "FAILED $name"
    fi
}

# Programs for scripts that start them.
wrap() { # name, program
    mkdir -p "$built/run"
    printf '#!/bin/sh\nexec qemu-aarch64-static "%s" "$@"\n' "$built/$2" >"$built/run/$1"
    chmod +x "$built/run/$1"
}

build() {
    [ -f "$built/build.ninja" ] ||
        meson setup build-arm64 --cross-file "$root/cross.ini" -Dcuda=disabled -Demu=false -Dgst=disabled >/dev/null || return
    ninja -C build-arm64 tools/sam-replay tests/model/sam-stages tests/ops/check_ops tests/base/test-{int8,levels,precision,half} |
        grep -v '^\[\|^ninja: ' || true
    [ "${PIPESTATUS[0]}" = 0 ]
}

# A processor of each level; the last has all instructions that qemu knows. Without pauth-impdef qemu spends its time on the
# signatures of return addresses.
all='max,pauth-impdef=on'
check_base() {
    local cpu name
    for cpu in cortex-a72 cortex-a76 "$all"; do
        for name in int8 levels precision half; do
            QEMU_CPU=$cpu check "$name, ${cpu%%,*}" qemu-aarch64-static "build-arm64/tests/base/test-$name"
        done
    done
}

check_operations() {
    local op ops
    ops=$(sed -n 's/^ *op(\([a-z_]*\),.*/\1/p' engine/ops/list.h)
    [ -z "$quick" ] || ops="linear attention"
    [ -n "$quick" ] || check vectors qemu-aarch64-static build-arm64/tests/ops/check_ops --vectors=tests/ops/vectors.safetensors
    for op in $ops; do
        check "$op" qemu-aarch64-static build-arm64/tests/ops/check_ops --op="$op" --threads=2 1
    done
}

check_models() {
    local name level names="a b c d e a-96 c-64"
    [ -z "$quick" ] || names=d
    wrap sam-stages tests/model/sam-stages
    wrap sam-replay tools/sam-replay
    check "stages, fp32" tests/model/stages.sh build-arm64/run/sam-stages tests/golden cpu fp32 $names
    check "stages, bf16" tests/model/stages.sh build-arm64/run/sam-stages tests/golden cpu bf16 $names
    for name in $names; do
        for level in generic neon; do
            SAMTRACK_CPU_LEVEL=$level check "replay $name, $level" \
                python3 tests/track/golden.py build-arm64/run/sam-replay "tests/golden/$name" --random --stages
        done
    done
}

tools/setup.sh arm64 && build || { failed=1; finish; }
check_base
export QEMU_CPU=$all
check_operations
check_models
finish
