#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an item of samtrack-batch costs beside its frames: a shard of many small videos in one process, less one of few, so that neither
the program's start nor opening the model is in it. Milliseconds of a processor are the least of the rounds, as other work only adds
to them; those of the clock, too, which waits for the disk. Prints a table; the last line is JSON.

item      of a video of one frame, with a prompt, from one item to the next
opening   a video of one frame, decoded to its end, as gst-launch-1.0 does it beside others
frame     a tracked frame: of videos of many frames, less those of one
start     the item, less opening and a frame

usage: items.py BUILD [--items N] [--rounds N] [--program FILE] [--set NAME=VALUE]..."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROMPT = 'box,x=0.25,y=0.25,w=0.375,h=0.5,normalized=true'
FRAMES = 21  # of the long videos
LAUNCHED = 9


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.program = options.program or f'{options.build}/pipelines/batch/samtrack-batch'
        self.env = dict(os.environ, GST_PLUGIN_PATH=f'{options.build}/gst', GST_REGISTRY=f'{folder}/registry', GST_REGISTRY_FORK='no')

    def call(self, *words):
        """Milliseconds of a processor, and of the clock."""
        begin, before = time.monotonic(), os.times()
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, check=False)
        after = os.times()
        if done.returncode:
            sys.exit(f'items.py: {words[0]} ends with status {done.returncode}: {done.stdout}{done.stderr}')
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        return 1e3 * spent, 1e3 * (time.monotonic() - begin)

    def make_video(self, name, frames):
        self.call('gst-launch-1.0', '-q', '-e', 'samscene', f'num-buffers={frames}', '!', 'video/x-raw,width=640,height=360,framerate=30/1', '!',
                  'videoconvert', '!', 'jpegenc', '!', 'matroskamux', '!', 'filesink', f'location={self.folder}/{name}')

    def run_job(self, video, items):
        """A new job each time: what is done is not done again."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            manifest, job = pathlib.Path(name) / 'm.jsonl', f'{name}/job'
            manifest.write_text(''.join(json.dumps({'id': f'v{i}', 'uri': f'{self.folder}/{video}', 'prompt': PROMPT}) + '\n' for i in range(items)))
            self.call(self.program, 'plan', manifest, f'--job={job}', '--shards=1', *(f'--set={text}' for text in self.options.set))
            return self.call(self.program, 'run', f'--job={job}', '--shard=0')

    def launch(self, times):
        return self.call('gst-launch-1.0', '-q', *(['uridecodebin', f'uri=file://{self.folder}/one.mkv', '!', 'fakesink'] * times))

    def measure(self, run, less, more):
        """Milliseconds by which a further one of `less` to `more` adds: of a processor, of the clock."""
        few, many = ([run(n) for _ in range(self.options.rounds)] for n in (less, more))
        return [(min(b) - min(a)) / (more - less) for a, b in zip(zip(*few), zip(*many))]


def main():
    parser = argparse.ArgumentParser(usage=__doc__[__doc__.index('usage: ') + 7:])
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--items', type=int, default=20)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--program')
    parser.add_argument('--set', action='append', default=[])
    options = parser.parse_args()
    if options.items < 1 or options.rounds < 1:
        parser.error('expected an item and a round, or more')
    options.build = options.build.resolve()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(options, pathlib.Path(name))
        bench.make_video('one.mkv', 1)
        bench.make_video('many.mkv', FRAMES)
        bench.launch(1)  # writes the registry
        item = bench.measure(lambda n: bench.run_job('one.mkv', n), 1, 1 + options.items)
        longer = bench.measure(lambda n: bench.run_job('many.mkv', n), 1, 1 + max(options.items // 4, 1))
        opening = bench.measure(bench.launch, 1, 1 + LAUNCHED)[0]
    frame = (longer[0] - item[0]) / (FRAMES - 1)
    figures = {'item_cpu_ms': item[0], 'item_ms': item[1], 'opening_cpu_ms': opening, 'frame_cpu_ms': frame,
               'start_cpu_ms': item[0] - opening - frame}
    for key, value in figures.items():
        print(f'{key:16} {value:8.1f}')
    print(json.dumps({key: round(value, 2) for key, value in figures.items()}))


main()
