#!/bin/sh
# SPDX-License-Identifier: MIT
# sam-stages over every golden below a folder; skipped (77) where there is none.
# usage: stages.sh SAM_STAGES FOLDER BACKEND PRECISION [NAME...]
# An empty FOLDER is $SAMTRACK_GOLDEN; without a NAME every golden in it is checked.
stages=$1 folder=${2:-$SAMTRACK_GOLDEN} backend=$3 precision=$4
shift 4
[ -n "$folder" ] && [ -d "$folder" ] || { echo "no goldens in '$folder': skipped"; exit 77; }

# x86 and arm64 have names for it; under qemu-user the file tells of another processor.
if [ "$backend" = cpu ] && [ "$precision" = bf16 ] && [ -z "${QEMU_CPU:-}" ] &&
    ! grep -qwE 'avx512_bf16|bf16' /proc/cpuinfo; then
    echo "this processor has no products of bf16: skipped"
    exit 77
fi

output=$(mktemp)
trap 'rm -f "$output"' EXIT
count=0
failed=0
check() { # MODEL GOLDEN [OPTION...]
    [ -f "$1" ] && [ -f "$2" ] || return
    model=$1 golden=$2
    shift 2
    "$stages" --model "$model" --golden "$golden" --backend "$backend" --precision "$precision" \
        "$@" > "$output" # the engine's warnings on standard error are shown
    status=$?
    [ $status -eq 77 ] && return # a golden of a whole run, without stages
    count=$((count + 1))
    [ $status -eq 0 ] || { failed=$((failed + 1)); cat "$output"; }
    echo "$model, $(basename "$golden"): $(tail -n 1 "$output")"
}

[ $# -gt 0 ] || set -- $(ls "$folder")
# What stands in a golden's script; another golden's model is run at the side told there.
told() { # DIR KEY
    sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" "$1scenarios.json" 2>/dev/null | head -n 1
}

for name in "$@"; do
    dir=$folder/$name/
    other=$(told "$dir" model)
    [ -z "$other" ] || for run in click refine; do
        check "$dir$other" "$dir$run.safetensors" --input-size "$(told "$dir" image_size)"
    done
    for file in "$dir"model.safetensors "$dir"model.pt; do
        case $dir in
        *-hf/) check "$file" "${dir%-hf/}/click.safetensors" ;; # the same weights, other names
        *) for run in click refine; do check "$file" "$dir$run.safetensors"; done ;;
        esac
    done
done
echo "$count goldens, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
