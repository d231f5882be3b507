#!/bin/sh
# SPDX-License-Identifier: MIT
# The default model: found by the library in the build folder, by nobody else through it.
# usage: default.sh CC HEADER LIBRARY-FOLDER INSTALLED-MODEL
set -e
if [ -e "$4" ]; then
    echo "skipped: $4 is installed"
    exit 77
fi
unset SAMTRACK_MODEL
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
model=$(basename "$4")
sed -n '/EXAMPLE BEGIN/,/EXAMPLE END/p' "$2" | sed '1d;$d;s,^// \{0\,1\},,' > "$tmp/example.c"
"$1" -std=c11 -I"$(dirname "$2")/.." -I"$3/engine/include" "$tmp/example.c" -L"$3" -lsamtrack -o "$tmp/example"

# frames LIBRARY-FOLDER: how many the example tracks with that library; its errors in $tmp/err.
frames() {
    LD_LIBRARY_PATH=$1 "$tmp/example" 2> "$tmp/err" | grep -c '^frame' || true
}

cd /
[ "$(frames "$3")" -eq 20 ] || { cat "$tmp/err"; exit 1; }

# A library elsewhere, as an installed one: it must not look for the tree that it was built from.
mkdir "$tmp/lib"
cp "$3"/libsamtrack.so.[0-9] "$tmp/lib"
[ "$(frames "$tmp/lib")" -eq 0 ] || { echo "a copied library found a model"; exit 1; }
grep "no default model: $4: " "$tmp/err"
source=$(cd "$(dirname "$0")/../.." && pwd)
if grep -aq "$source/models" "$tmp"/lib/libsamtrack.so.[0-9]; then
    echo "the library holds the path $source/models"
    exit 1
fi

# Nor in the current folder, however it was loaded.
mkdir "$tmp/models" "$tmp/lib/models"
cp "$3/models/$model" "$tmp/models"
cp "$3/models/$model" "$tmp/lib/models"
cd "$tmp/lib"
[ "$(frames .)" -eq 0 ] || { echo "a library loaded by a relative path found a model"; exit 1; }
[ "$(frames "$tmp/lib")" -eq 20 ] || { cat "$tmp/err"; exit 1; }
