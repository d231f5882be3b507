#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pipelines/batch/ray_batch.py on a cluster of two nodes of Ray, of which one is killed: results are those of a run without a stop, to
the byte. Skipped where Ray is not installed.
usage: ray_cluster.py BUILD PROGRAM SOURCES"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from jobs import PROGRAM, call, check, check_nothing_left, clean, compare, get_environment, launch, run_parts

SOURCES = pathlib.Path(sys.argv[3])
os.environ.update(RAY_USAGE_STATS_ENABLED='0', RAY_DEDUP_LOGS='0')
try:
    from ray.cluster_utils import Cluster
except ImportError:
    print('skipped: there is no Ray')
    sys.exit(77)
ITEMS = 6
STORE = 80 << 20


def enter_network():
    """Ray listens on the machine's own address, unless there is none: in a network of its own."""
    if 'BATCH_NETWORK' in os.environ:
        return
    if subprocess.run(['unshare', '-n', 'ip', 'link', 'set', 'lo', 'up'], capture_output=True, check=False).returncode:
        print('skipped: no network of its own can be made')
        sys.exit(77)
    os.environ['BATCH_NETWORK'] = '1'
    os.execvp('unshare', ['unshare', '-n', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"', sys.executable, *sys.argv])


def lose_a_node(folder):
    launch('samscene', 'num-buffers=60', '!', 'video/x-raw,width=160,height=96,framerate=30/1', '!', 'videoconvert', '!', 'jpegenc', '!', 'matroskamux',
           '!', 'filesink', f'location={folder}/v.mkv')
    manifest = folder / 'm.jsonl'
    manifest.write_text(''.join(json.dumps({'id': f'v{i}', 'uri': 'v.mkv', 'prompt': 'box,x=8,y=8,w=40,h=30'}) + '\n' for i in range(ITEMS)))
    whole, job = folder / 'whole', folder / 'job'
    call('plan', manifest, f'--job={whole}', '--shards=1', '--chunk=1000')
    call('run', f'--job={whole}', '--shard=0')
    call('plan', manifest, f'--job={job}', f'--shards={ITEMS}', '--chunk=0.5')
    os.environ.update({k: v for k, v in get_environment(SAMTRACK_SCRIPT='step,0,50000,0').items() if k.startswith(('GST_', 'SAMTRACK_', 'LD_'))})
    cluster = Cluster(initialize_head=True, head_node_args={'num_cpus': 1, 'include_dashboard': False, 'object_store_memory': STORE})
    node = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    command = [sys.executable, SOURCES / 'pipelines/batch/ray_batch.py', job, f'--address={cluster.address}', '--cpus=1']
    env = dict(os.environ, SAMTRACK_BATCH=PROGRAM)
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + 120
    while len({path.parent.name for path in job.glob('parts/*/*/0*')}) < 2:
        check(time.monotonic() < end and process.poll() is None, f'two items did not begin: {process.poll()}')
        time.sleep(0.05)
    cluster.remove_node(node, allow_graceful=False)
    print('a node is lost')
    said = process.communicate(timeout=200)[0]
    check(process.returncode == 0, f'ray_batch.py ends with status {process.returncode}: {said}')
    again = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)
    check(again.returncode == 0, f'ray_batch.py again: {again.stdout}{again.stderr}')
    cluster.shutdown()
    clean(job)
    compare(job, whole, *(f'v{i}' for i in range(ITEMS)))
    check_nothing_left(job)


enter_network()
run_parts([lose_a_node])
