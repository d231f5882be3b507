#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a job of samtrack-batch takes on a cluster, by a model: which way of packing, and how often work is kept.

An archive of files of log-normal length with some whole days is tracked by workers that are started one after the other, and are
preempted at random; a preempted one waits, starts again, and has lost what it has done since its last commit. Prints a table.
tests/batch/calibrate.py compares the model with real tasks of Slurm that pretend to work.

usage: simulate_cluster.py [--workers 1000] [--files 100000] [--days 20] [--cost 0.051] [--hours 2] [--launch 6] [--start 5]
                           [--requeue 30] [--chunk 60] [--commit 0.05] [--seed 7]
"""
import argparse
import heapq
import math
import random
import sys

HOUR = 3600.0


def make_archive(files, days, seed):
    """Seconds of video: median a minute, four hours at most, and some whole days."""
    r = random.Random(seed)
    lengths = [min(math.exp(r.gauss(math.log(60), 1.2)), 4 * HOUR) for _ in range(files)]
    for i in r.sample(range(files), min(days, files)):
        lengths[i] = 24 * HOUR
    return lengths


def cut(lengths, piece=HOUR, overlap=10):
    """As plan --cut: pieces of which each but the last ends with the overlap."""
    pieces = []
    for length in lengths:
        count = max(math.ceil((length - overlap) / piece), 1)
        pieces += [piece + overlap] * (count - 1) + [length - piece * (count - 1)]
    return pieces


def pack(lengths, shards, packed):
    """Lists of lengths. Packed as plan does it: the longest first, each into the shard with the least."""
    lists = [[] for _ in range(shards)]
    if not packed:
        for i, length in enumerate(lengths):
            lists[i % shards].append(length)
        return lists
    heap = [(0.0, i) for i in range(shards)]
    for length in sorted(lengths, reverse=True):
        load, i = heapq.heappop(heap)
        lists[i].append(length)
        heapq.heappush(heap, (load + length, i))
    return lists


class Model:
    """One run. Times are seconds; cost: of work for a second of video."""

    def __init__(self, shards, cost, chunk=60.0, commit=0.05, mtbf=0.0, launch=6.0, start=5.0, requeue=30.0, steal=False, seed=1):
        self.shards = [list(reversed(shard)) for shard in shards]  # the next one is the last of a list
        self.cost, self.chunk, self.commit, self.mtbf, self.start, self.requeue = cost, chunk, commit, mtbf, start, requeue
        self.launch, self.steal, self.random = launch, steal, random.Random(seed)
        self.lost = 0.0
        self.victim = [i - 1 for i in range(len(shards))]  # whose end a worker looks at next

    def preempt(self, now):
        return now + self.random.expovariate(1 / self.mtbf) if self.mtbf else math.inf

    def take(self, worker):
        """Its own next item, or one from the end of another's; None if there is none."""
        if self.shards[worker]:
            return self.shards[worker].pop()
        for _ in range(len(self.shards) if self.steal else 0):
            other = self.shards[self.victim[worker]]
            if other:
                return other.pop(0)
            self.victim[worker] = (self.victim[worker] - 1) % len(self.shards)
        return None

    def work(self, now, length, preempted):
        """When the item is done, and when the worker is preempted next."""
        chunks = max(math.ceil(length / self.chunk), 1) if self.chunk < math.inf else 1
        left = length * self.cost + chunks * self.commit
        step = left / chunks
        while now + left > preempted:
            done = max(preempted - now, 0.0)
            kept = min(math.floor(done / step) * step, left)
            self.lost += done - kept
            left -= kept
            now = max(now, preempted) + self.requeue + self.start
            preempted = self.preempt(now)
        return now + left, preempted

    def run(self):
        """Seconds until the last item is done."""
        events = [(i / self.launch + self.start, i) for i in range(len(self.shards))]
        preempted = [self.preempt(at) for at, _ in events]
        heapq.heapify(events)
        end = 0.0
        while events:
            now, worker = heapq.heappop(events)
            length = self.take(worker)
            if length is None:
                continue
            now, preempted[worker] = self.work(now, length, preempted[worker])
            end = max(end, now)
            heapq.heappush(events, (now, worker))
        return end


def check_model():
    """Cases that can be counted by hand."""
    quick = {'cost': 1.0, 'commit': 0.0, 'launch': 1e9, 'start': 0.0}
    cases = ((Model([[10, 5], [3]], **quick).run(), 15), (Model([[10, 5], [3]], steal=True, **quick).run(), 10),
             (Model([[60]], **{**quick, 'commit': 2.0, 'start': 5.0}).run(), 67), (Model([[1], [1], [1]], **{**quick, 'launch': 0.5}).run(), 5))
    for found, wanted in cases:
        if abs(found - wanted) > 1e-6:
            sys.exit(f'simulate_cluster.py: the model gives {found} s, expected {wanted} s')
    if cut([3610.0, 7300.0]) != [3610, 3610, 3610, 100]:
        sys.exit(f'simulate_cluster.py: pieces of {cut([3610.0, 7300.0])} s')


def main():
    parser = argparse.ArgumentParser(description='how long a job takes on a cluster, by a model')
    for name, value, what in (('workers', 1000, 'tasks at a time'), ('files', 100000, 'videos'), ('days', 20, 'of them as long as a day'),
                              ('cost', 0.051, 'seconds of work for a second of video'), ('hours', 2.0, 'between two preemptions of a worker'),
                              ('launch', 6.0, 'tasks that are started a second'), ('start', 5.0, 'seconds until a task works'),
                              ('requeue', 30.0, 'seconds until a preempted task is started'), ('chunk', 60.0, 'seconds of video in a chunk'),
                              ('commit', 0.05, 'seconds to keep a chunk'), ('seed', 7, 'of the archive')):
        parser.add_argument(f'--{name}', type=type(value), default=value, help=f'{what} (default: {value})')
    args = parser.parse_args()
    if min(args.workers, args.files, args.chunk, args.launch, args.cost) <= 0 or args.days < 0 or args.hours < 0:
        sys.exit('simulate_cluster.py: numbers must be above 0')
    check_model()
    lengths = make_archive(args.files, args.days, args.seed)
    whole = sum(lengths)
    print(f'{args.files} files, {whole / HOUR:.0f} h of video, {args.workers} workers: {whole * args.cost / args.workers / HOUR:.2f} h if nothing '
          f'were lost; the longest file alone {max(lengths) * args.cost / HOUR:.2f} h\n')
    print('| | static modulo | longest first | and `--steal` |\n|---|---|---|---|')
    for name, files, mtbf, chunk in (('no preemption, kept per file', lengths, 0, math.inf),
                                     (f'preemption each {args.hours:g} h, kept per file', lengths, args.hours * HOUR, math.inf),
                                     (f'the same, kept each {args.chunk:g} s', lengths, args.hours * HOUR, args.chunk),
                                     ('the same, hours cut', cut(lengths), args.hours * HOUR, args.chunk)):
        cells = []
        for packed, steal in ((False, False), (True, False), (True, True)):
            model = Model(pack(files, args.workers, packed), args.cost, chunk, args.commit, mtbf, args.launch, args.start, args.requeue, steal)
            cells.append(f'{model.run() / HOUR:.2f} h')
        print(f'| {name} | ' + ' | '.join(cells) + ' |')


if __name__ == '__main__':
    main()
