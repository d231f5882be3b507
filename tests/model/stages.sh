#!/bin/sh
# sam-stages over every golden below a folder; skipped (77) where there is none.
# usage: stages.sh SAM_STAGES FOLDER BACKEND PRECISION; an empty FOLDER is $SAMTRACK_GOLDEN
stages=$1 folder=${2:-$SAMTRACK_GOLDEN} backend=$3 precision=$4
[ -n "$folder" ] && [ -d "$folder" ] || { echo "no goldens in '$folder': skipped"; exit 77; }

count=0
failed=0
check() { # MODEL GOLDEN
    [ -f "$1" ] && [ -f "$2" ] || return
    count=$((count + 1))
    "$stages" --model "$1" --golden "$2" --backend "$backend" --precision "$precision" \
        > /tmp/stages.$$ 2>&1 || { failed=$((failed + 1)); grep FAILED /tmp/stages.$$; }
    echo "$1: $(tail -n 1 /tmp/stages.$$)"
    rm -f /tmp/stages.$$
}

for dir in "$folder"/*/; do
    for model in "$dir"model.safetensors; do
        case $dir in
        */mini-hf/) check "$model" "${dir%-hf/}/click.safetensors" ;; # the weights of mini
        *) check "$model" "${dir}click.safetensors"
           check "$model" "${dir}refine_stages.safetensors" ;;
        esac
    done
done
echo "$count goldens, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
