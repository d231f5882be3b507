#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints an Indexed Job of Kubernetes that tracks what is not done of a job of samtrack-batch: a pod for each shard.
# Usage: k8s.sh FOLDER --image=IMAGE --claim=CLAIM [--name=NAME] [--path=PATH] [--parallel=N] [--cpu=N] [--memory=SIZE] [--gpu=N] [--queue=NAME] [--secret=NAME]
# The folder is seen by this machine; in the pods it is PATH (default: /work/NAME OF THE FOLDER) of the volume that CLAIM names, mounted at
# /work, as are the videos. --queue: of Kueue. --secret: its keys are variables, as those of an object store. Apply what is printed with
# kubectl; print and apply it again, with another name, to try what has failed for good with run --retry, or what was left when the Job ended.
# SAMTRACK_BATCH: the program, if it is not on the PATH of this machine. In the image it is.
set -eu

usage() {
    echo "usage: k8s.sh FOLDER --image=IMAGE --claim=CLAIM [--name= --path= --parallel= --cpu= --memory= --gpu= --queue= --secret=]" >&2
    exit 2
}

case ${1:-} in '' | -*) usage ;; esac
job=$1
shift
image= claim= name=samtrack path=/work/$(basename "$job") parallel=100 cpu=4 memory=4Gi gpu=0 queue= secret=
for option; do
    value=${option#*=}
    # A value goes into the text of the manifest: no quotes, blanks or lines.
    case $value in *[!A-Za-z0-9._/:@-]*|'') echo "k8s.sh: the value of '${option%%=*}' is '$value', expected letters, digits and ._/:@-" >&2; exit 2 ;; esac
    case $option in
    --image=*) image=$value ;;
    --claim=*) claim=$value ;;
    --name=*) name=$value ;;
    --path=*) path=$value ;;
    --parallel=*) parallel=$value ;;
    --cpu=*) cpu=$value ;;
    --memory=*) memory=$value ;;
    --gpu=*) gpu=$value ;;
    --queue=*) queue=$value ;;
    --secret=*) secret=$value ;;
    *) usage ;;
    esac
done
[ -n "$image" ] && [ -n "$claim" ] || usage

status=$("${SAMTRACK_BATCH:-samtrack-batch}" status --job="$job")
shards=$(echo "$status" | sed -n 's/^shards \([0-9]*\), to run .*/\1/p')
left=$(echo "$status" | sed -n 's/^shards [0-9]*, to run \([0-9]*\)$/\1/p')
if [ "$left" = 0 ]; then
    echo "k8s.sh: nothing is left to do of '$job'" >&2
    exit 0
fi

# Every shard has a pod, as an index is its number; those that are done end at once. Status 2: the job or the settings are wrong; 3: all that
# is left of the shard has failed for good; 75, and whatever else: again.
cat <<EOF
apiVersion: batch/v1
kind: Job
metadata:
  name: $name
  labels: {app: samtrack-batch${queue:+, kueue.x-k8s.io/queue-name: $queue}}
spec:
  completionMode: Indexed
  completions: $shards
  parallelism: $parallel
  backoffLimitPerIndex: 20
  maxFailedIndexes: $shards
  podFailurePolicy:
    rules:
    - action: FailJob
      onExitCodes: {containerName: samtrack-batch, operator: In, values: [2]}
    - action: FailIndex
      onExitCodes: {containerName: samtrack-batch, operator: In, values: [3]}
    - action: Ignore
      onPodConditions: [{type: DisruptionTarget, status: "True"}]
  template:
    metadata:
      labels: {app: samtrack-batch}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 60
      securityContext: {runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000}
      containers:
      - name: samtrack-batch
        image: $image
        command: [samtrack-batch, run, --job=$path]
        env:
        - {name: GST_REGISTRY, value: /tmp/registry.bin}$([ -z "$secret" ] || printf '\n        envFrom:\n        - secretRef: {name: %s}' "$secret")
        resources:
          requests: {cpu: "$cpu", memory: $memory}
          limits: {cpu: "$cpu", memory: $memory$([ "$gpu" = 0 ] || echo ", nvidia.com/gpu: $gpu")}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        volumeMounts:
        - {name: work, mountPath: /work}
        - {name: tmp, mountPath: /tmp}
      volumes:
      - name: work
        persistentVolumeClaim: {claimName: $claim}
      - name: tmp
        emptyDir: {}
EOF
