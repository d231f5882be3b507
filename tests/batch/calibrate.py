#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs that pretend to work, on clusters that Debian's slurm plays on one machine: whether all is done once whatever is lost, how fast
tasks are started, and what the model of tools/simulate_cluster.py says of the same job. Takes minutes: it is no test of `meson test`.
usage: calibrate.py BUILD SOURCES PROGRAM FOLDER NODES...
FOLDER: of tools/setup.sh slurm. NODES: numbers of nodes, the smallest first; of it the time is taken that a task needs to begin."""
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
import children  # noqa: E402
from cluster import Cluster, check, find  # noqa: E402
from simulate_cluster import Model, pack  # noqa: E402

if len(sys.argv) < 6 or not all(a.isdigit() for a in sys.argv[5:]):
    sys.exit('calibrate.py: ' + __doc__[__doc__.index('usage: '):])
BUILD, SOURCES, PROGRAM, ROOT = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
COUNTS = [int(a) for a in sys.argv[5:]]
ITEMS = 4        # of a shard
SECONDS = 200    # of video in an item, about
PRETEND = 0.05   # seconds for each
CHUNK = 60
COMMIT = 0.02    # seconds: two files to the disk and a rename


def make_jobs(folder, nodes, env):
    lengths = random.Random(nodes)
    items = [{'id': f'v{i}', 'uri': 'none.mp4', 'prompt': 'point,x=1,y=1', 'seconds': round(SECONDS * lengths.uniform(0.3, 1.7))}
             for i in range(ITEMS * nodes)]
    manifest = folder / 'm.jsonl'
    manifest.write_text(''.join(json.dumps(item) + '\n' for item in items))
    for name in ('quiet', 'lossy'):
        subprocess.run([PROGRAM, 'plan', manifest, f'--job={folder}/{name}', f'--shards={nodes}', f'--chunk={CHUNK}',
                        f'--pretend={PRETEND}'], env=env, check=True, timeout=60, stdout=subprocess.DEVNULL)
    return [item['seconds'] for item in items]


def submit(cluster, job):
    said = subprocess.run(['sh', str(SOURCES / 'pipelines/batch/slurm.sh'), str(job)], env=cluster.env, capture_output=True, text=True,
                          timeout=60, check=False)
    check(said.returncode == 0, f'slurm.sh: {said.stdout}{said.stderr}')


def get_starts(cluster):
    """When tasks began, in seconds, sorted."""
    told = cluster.ask('squeue', '-h', '-t', 'R,CG,CD,F,NF', '-o', '%S').split()
    return sorted(datetime.datetime.fromisoformat(t).timestamp() for t in told if t[:1].isdigit())


def read_results(job):
    return {path.parent.name: path.read_bytes() for path in job.glob('items/*/*/frames.jsonl')}


def run_quiet(cluster, job, nodes):
    """Seconds from the submission to the last item, and the tasks that were started a second."""
    begin = time.time()
    submit(cluster, job)
    cluster.wait(lambda: len(get_starts(cluster)) == nodes, 'tasks', 600)
    starts = get_starts(cluster)
    cluster.wait(cluster.is_idle, 'an empty queue', 900)
    end = max(path.stat().st_mtime for path in job.glob('items/*/*/item.json'))
    return end - begin, (nodes - 1) / max(starts[-1] - starts[0], 1)


def run_lossy(cluster, job, nodes):
    """Loses a twentieth of the nodes, kills a fifth of the tasks, preempts a third; the times that it had to be submitted."""
    submit(cluster, job)
    cluster.wait(lambda: len(cluster.get_tasks()) >= nodes * 2 // 3, 'most tasks', 600)
    lost = range(max(nodes // 20, 1))
    for i in lost:
        cluster.lose_node(i)
    for pid in cluster.get_tasks()[:max(nodes // 5, 1)]:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    subprocess.run(['sbatch', '--partition=urgent', f'--array=1-{max(nodes // 3, 1)}', '--output=/dev/null', '--wrap=sleep 1'],
                   env=cluster.env, check=True, timeout=60, stdout=subprocess.DEVNULL)
    times = 1
    cluster.wait(cluster.is_idle, 'an empty queue', 900)
    for i in lost:
        cluster.start_node(i)
    while len(read_results(job)) < ITEMS * nodes and times < 5:
        submit(cluster, job)
        times += 1
        cluster.wait(cluster.is_idle, 'an empty queue', 900)
    return times


def main():
    children.end_with_test()
    find(ROOT)
    start = None
    print('| nodes | started a second | the job | by the model | disturbed: submitted |\n|---|---|---|---|---|', flush=True)
    for nodes in COUNTS:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            cluster = Cluster(folder, BUILD, PROGRAM, ROOT, nodes, 10000)
            lengths = make_jobs(folder, nodes, {k: v for k, v in cluster.env.items() if k != 'LD_LIBRARY_PATH'})
            took, rate = run_quiet(cluster, folder / 'quiet', nodes)
            model = {'cost': PRETEND, 'chunk': CHUNK, 'commit': COMMIT, 'launch': rate}
            start = took - Model(pack(lengths, nodes, True), start=0, **model).run() if start is None else start
            told = Model(pack(lengths, nodes, True), start=start, **model).run()
            times = run_lossy(cluster, folder / 'lossy', nodes)
            check(read_results(folder / 'quiet') == read_results(folder / 'lossy') and len(read_results(folder / 'lossy')) == ITEMS * nodes,
                  'results of the disturbed job are not those of the quiet one')
            left = [p for kind in ('parts', 'failed') for p in (folder / 'lossy').glob(f'{kind}/*/*') if not p.name.startswith('.')]
            check(not left, f'left over: {left}')
            print(f'| {nodes} | {rate:.1f} | {took:.0f} s | {told:.0f} s | {times} times |', flush=True)
            children.kill_descendants()


main()
