#!/bin/sh
# SPDX-License-Identifier: MIT
# The engine's sources but those of ops/cpu are C11 without extensions; the public header is that,
# and C++.
# usage: plain.sh SOURCE-ROOT BUILD-ROOT CC...
set -e
engine=$1/engine
built=$2/engine
shift 2
strict="-pedantic-errors -Wall -Wextra -Werror -Wno-unused-parameter -fsyntax-only"

count=0
for file in $(find "$engine" -name '*.c' ! -path '*/ops/cpu/*'); do
    # What the compiler adds to C must not be needed: its attributes are taken away. POSIX and
    # Linux's libc are not C's affair.
    "$@" -std=c11 $strict '-D__attribute__(x)=' -D_DEFAULT_SOURCE '-DSAM_VERSION=""' \
        -I"$engine" -I"$engine/include" -I"$built" -I"$built/include" "$file"
    count=$((count + 1))
done
[ "$count" -gt 30 ]

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat > "$tmp/use.c" << 'END'
#include <samtrack/samtrack.h>
#include <samtrack/answers.h>
#include <samtrack/cover.h>
#include <samtrack/likes.h>
#include <samtrack/trunk.h>

int main(void)
{
    struct sam_params params = SAM_PARAMS_INIT;
    sam_tracker *tracker = 0;
    struct sam_error error;
    int status = sam_tracker_open(&tracker, &params, &error);
    sam_tracker_close(&tracker);
    return status;
}
END
printf '#include <samtrack/%s.h>\n' answers cover likes trunk > "$tmp/include.c"
include="-I$engine/include -I$built/include"
"$@" -std=c11 $strict $include "$tmp/use.c"
"$@" -std=c99 $strict $include "$tmp/use.c"
languages="C11 and C99"
if echo 'int i;' | "$@" -x c++ -std=c++20 -fsyntax-only - 2> /dev/null; then
    "$@" -x c++ -std=c++11 $strict $include "$tmp/include.c"
    "$@" -x c++ -std=c++20 $strict -Wno-missing-field-initializers $include "$tmp/use.c"
    languages="$languages, C++11 and C++20"
fi
echo "$count sources are C11, the header is $languages"
