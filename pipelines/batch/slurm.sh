#!/bin/sh
# SPDX-License-Identifier: MIT
# Tracks what is not done of a job of samtrack-batch on a cluster with Slurm: job arrays with a task for each shard.
# Usage: slurm.sh FOLDER [OPTION OF sbatch ...], such as --partition=gpu --cpus-per-task=4 --time=4:00:00
# The folder, and the videos, are seen by all nodes. Run it again at any time: what is done, is left out.
# SAMTRACK_BATCH: the program, if it is not on the nodes' PATH.
set -eu

case ${1:-} in
'' | -*)
    echo "usage: slurm.sh FOLDER [OPTION OF sbatch ...]" >&2
    exit 2
    ;;
esac
SAMTRACK_JOB=$(realpath "$1")
SAMTRACK_BATCH=${SAMTRACK_BATCH:-samtrack-batch}
export SAMTRACK_JOB SAMTRACK_BATCH SAMTRACK_BASE
shift

missing=$("$SAMTRACK_BATCH" status --job="$SAMTRACK_JOB" --missing)

# Recordings that were cut are put together when their pieces are done.
merge() {
    if ! grep -q '"cut":0\.0,' "$SAMTRACK_JOB/job.json"; then
        sbatch --job-name=samtrack-merge --output="$SAMTRACK_JOB/log/%j.log" "$@" --wrap='"$SAMTRACK_BATCH" merge --job="$SAMTRACK_JOB"'
    fi
}

mkdir -p "$SAMTRACK_JOB/log"
if [ -z "$missing" ]; then
    merge "$@"
    echo "slurm.sh: nothing is left to do of '$SAMTRACK_JOB'"
    exit 0
fi
most=$(scontrol show config | sed -n 's/^MaxArraySize *= *//p')

# A site's arrays have fewer tasks than a job may have shards: windows, each with the number of its first shard.
echo "$missing" | tr , '\n' | awk -F- -v most="$most" '
{
    first = $1 + 0
    last = (NF > 1 ? $2 : $1) + 0
    while (first <= last) {
        window = int(first / most)
        end = (window + 1) * most - 1
        end = end < last ? end : last
        list[window] = list[window] comma[window] (first - window * most) (end > first ? "-" (end - window * most) : "")
        comma[window] = ","
        top = window > top ? window : top
        first = end + 1
    }
}
END {
    for (window = 0; window <= top; window++)
        if (window in list)
            print window * most, list[window]
}' | {
after=afterany
while read -r SAMTRACK_BASE list; do
    # The first of two minutes that are left of the time is for the chunk to end. Status 75: it is to be run again.
    said=$(sbatch --array="$list" --job-name=samtrack --requeue --open-mode=append --signal=B:USR1@120 \
        --output="$SAMTRACK_JOB/log/%A_%a.log" "$@" <<'EOF'
#!/bin/sh
trap 'kill -TERM "$run"' TERM USR1
SAMTRACK_SHARD=$((SAMTRACK_BASE + SLURM_ARRAY_TASK_ID)) "$SAMTRACK_BATCH" run --job="$SAMTRACK_JOB" &
run=$!
while kill -0 "$run" 2>/dev/null; do
    wait "$run"
    status=$?
done
if [ "$status" = 75 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$status"
EOF
)
    echo "$said"
    after=$after:${said##* }
done
merge --dependency="$after" "$@"
}
echo "slurm.sh: when the queue is empty, 'slurm.sh $SAMTRACK_JOB' submits what lost tasks have left"
