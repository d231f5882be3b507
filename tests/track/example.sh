#!/bin/sh
# SPDX-License-Identifier: MIT
# The program in the public header's comment compiles as it stands there, and runs.
# usage: example.sh CC HEADER LIBRARY-FOLDER MODEL
set -e
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sed -n '/EXAMPLE BEGIN/,/EXAMPLE END/p' "$2" | sed '1d;$d;s,^// \{0\,1\},,' > "$tmp/example.c"
lines=$(wc -l < "$tmp/example.c")
[ "$lines" -ge 40 ]
"$1" -std=c11 -Wall -Wextra -Werror -I"$(dirname "$2")/.." -I"$3/engine/include" "$tmp/example.c" -L"$3" -lsamtrack \
    -Wl,-rpath,"$3" -o "$tmp/example"
"$tmp/example" "$4" > "$tmp/out"
[ "$(grep -c '^frame [0-9]* object 1: [0-9]* px at' "$tmp/out")" -eq 20 ]
if "$tmp/example" /nonexistent 2> "$tmp/err"; then exit 1; fi
grep -q /nonexistent "$tmp/err"
echo "$lines lines, 20 frames"
