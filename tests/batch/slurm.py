#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pipelines/batch/slurm.sh on a cluster of three nodes, which Debian's slurm plays in a network of its own: a task is killed, a node
is lost with its tasks, tasks are preempted, and the results are those of a run without a stop, to the byte.
usage: slurm.py BUILD SOURCES PROGRAM FOLDER. FOLDER: where `tools/setup.sh slurm` has put the packages; without it the test is
skipped, as it is where it cannot have a network of its own."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import children  # noqa: E402
from cluster import Cluster, check, find  # noqa: E402

BUILD, SOURCES, PROGRAM, ROOT = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
ITEMS = 7  # more than an array may have
PROMPT = 'box,x=0.25,y=0.25,w=0.375,h=0.5,normalized=true'


def read_results(job):
    return {path.parent.name: path.read_bytes() for path in job.glob('items/*/*/frames.jsonl')}


def make_jobs(folder, env):
    subprocess.run(['gst-launch-1.0', '-q', '-e', 'samscene', 'num-buffers=90', '!', 'video/x-raw,width=160,height=96,framerate=30/1', '!',
                    'videoconvert', '!', 'jpegenc', '!', 'matroskamux', '!', 'filesink', f'location={folder}/v.mkv'],
                   env=env, check=True, timeout=60)
    manifest = folder / 'm.jsonl'
    items = [{'id': f'v{i}', 'uri': 'v.mkv', 'prompt': PROMPT} for i in range(ITEMS - 2)]
    items.append({'id': 'cut', 'uri': 'v.mkv', 'seconds': 3, 'prompts': [{'at': at, 'prompt': PROMPT} for at in (0, 1.6)]})  # in two pieces
    manifest.write_text(''.join(json.dumps(item) + '\n' for item in items))
    for name, shards, chunk in (('whole', 1, 1000), ('job', ITEMS, 0.5)):
        subprocess.run([PROGRAM, 'plan', manifest, f'--job={folder}/{name}', f'--shards={shards}', f'--chunk={chunk}', '--cut=1.6',
                        '--overlap=0.4'], env=env, check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for words in (['run', '--shard=0'], ['merge']):
        subprocess.run([PROGRAM, *words, f'--job={folder}/whole'], env=env, check=True, timeout=60, stderr=subprocess.DEVNULL)
    return folder / 'whole', folder / 'job'


def main():
    children.end_with_test()
    find(ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cluster = Cluster(folder, BUILD, PROGRAM, ROOT)
        plain = {k: v for k, v in cluster.env.items() if k != 'LD_LIBRARY_PATH'}
        whole, job = make_jobs(folder, plain)
        submit = ['sh', str(SOURCES / 'pipelines/batch/slurm.sh'), str(job)]
        slow = dict(cluster.env, SAMTRACK_SCRIPT='step,0,30000,0')  # three seconds an item
        said = subprocess.run(submit, env=slow, capture_output=True, text=True, timeout=60, check=False)
        check(said.returncode == 0 and said.stdout.count('Submitted batch job') == 3, f'slurm.sh: {said.stdout}{said.stderr}')
        cluster.wait(lambda: len(list(job.glob('parts/*/*/000000'))) >= 2, 'two items that are begun')
        os.kill(cluster.get_tasks()[0], signal.SIGKILL)
        cluster.lose_node(1)
        subprocess.run(['sbatch', '--partition=urgent', '--array=0-2', '--output=/dev/null', '--wrap=sleep 1'], env=cluster.env, check=True,
                       timeout=60, stdout=subprocess.DEVNULL)
        cluster.wait(cluster.is_idle, 'an empty queue')
        log = (folder / 'slurmctld.log').read_text()
        check('preempted' in log, f'no task was preempted: {log[-3000:]}')
        left = subprocess.run([PROGRAM, 'status', f'--job={job}', '--missing'], env=plain, capture_output=True, text=True, timeout=60,
                              check=True).stdout.strip()
        print(f'left by what was lost: {left or "nothing"}')
        check(left, 'a task that was killed must leave its shard')
        cluster.start_node(1)
        said = subprocess.run(submit, env=slow, capture_output=True, text=True, timeout=60, check=False)
        check(said.returncode == 0, f'slurm.sh again: {said.stdout}{said.stderr}')
        cluster.wait(cluster.is_idle, 'an empty queue')
        said = subprocess.run(submit, env=slow, capture_output=True, text=True, timeout=60, check=False)
        check('nothing is left to do' in said.stdout, f'slurm.sh at the end: {said.stdout}{said.stderr}')
        cluster.wait(cluster.is_idle, 'an empty queue')
        check(read_results(job) == read_results(whole) and len(read_results(job)) == ITEMS - 1, 'results are not those of a run without a stop')
        check(not list(job.glob('parts/*/*')), f'left over: {list(job.glob("parts/*/*"))}')


main()
