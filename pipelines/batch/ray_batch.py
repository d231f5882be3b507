#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tracks what is not done of a job of samtrack-batch on a cluster with Ray: a task for each shard.
usage: ray_batch.py FOLDER [--address=ADDRESS] [--cpus=N] [--gpus=N]
The folder, and the videos, are seen by all nodes. ADDRESS: of the cluster (default: auto). Run it again at any time: what is done, is
left out. SAMTRACK_BATCH: the program, if it is not on the nodes' PATH. Its status is the worst of the shards': 0, 3, 75, 2."""
import argparse
import ctypes
import os
import signal
import subprocess
import sys

import ray

PR_SET_PDEATHSIG = 1
WORST = [0, 3, 75, 2]


def run_shard(program, job, shard):
    """On a node. A worker of Ray that dies takes the program with it, or there would be two."""
    def follow():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    status = subprocess.run([program, 'run', f'--job={job}', f'--shard={shard}'], preexec_fn=follow, check=False).returncode
    if status == 75:
        raise InterruptedError(f'shard {shard} is to be run again')  # Ray does so
    return status if status in WORST else 75


def main():
    parser = argparse.ArgumentParser(description='tracks what is not done of a job of samtrack-batch on a cluster with Ray')
    parser.add_argument('folder')
    parser.add_argument('--address', default='auto')
    parser.add_argument('--cpus', type=float, default=4)
    parser.add_argument('--gpus', type=float, default=0)
    args = parser.parse_args()
    program, job = os.environ.get('SAMTRACK_BATCH', 'samtrack-batch'), os.path.realpath(args.folder)
    missing = subprocess.run([program, 'status', f'--job={job}', '--missing'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    spans = [span.partition('-') for span in missing.split(',') if span]
    shards = [n for first, _, last in spans for n in range(int(first), int(last or first) + 1)]
    ray.init(address=args.address, log_to_driver=False)
    task = ray.remote(run_shard).options(num_cpus=args.cpus, num_gpus=args.gpus, max_retries=20, retry_exceptions=[InterruptedError])
    waiting, statuses = {task.remote(program, job, shard): shard for shard in shards}, [0]
    while waiting:
        (done,), _ = ray.wait(list(waiting), num_returns=1)
        try:
            statuses.append(ray.get(done))
        except (ray.exceptions.RayError, InterruptedError) as e:
            print(f'ray_batch.py: shard {waiting[done]}: {str(e).strip().splitlines()[-1]}', file=sys.stderr)
            statuses.append(75)
        waiting.pop(done)
    return max(statuses, key=WORST.index)


if __name__ == '__main__':
    sys.exit(main())
