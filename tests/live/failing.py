#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A tracking pipeline that fails is started again: viewers stay, health and the pages tell, a second failure waits longer. What
hangs keeps no other camera waiting, and SIGTERM not at all. usage: failing.py BUILD"""
import asyncio
import os
import re
import sys
import tempfile
import time

from attacks import Pictures, Rtsp
from program import Page, Program, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

CONFIG = '[live]\ntoken=test-token\n[camera test]\nsource=test\nwidth=160\nheight=96\ninitial-prompt=point,x=80,y=48\n'


def write(path):
    with open(path, 'a', encoding='ascii') as f:
        f.write('x')


async def watch(program, path):
    viewers = Rtsp(program), Pictures(program)
    async with Page(program) as page:
        await page.wait_for(lambda s: s['objects'], 'the object')
        for viewer in viewers:
            await asyncio.to_thread(viewer.wait_for, 5)
        for _ in range(2):
            write(path)
            await page.wait_for(lambda s: 'lets it fail' in s['fault'], 'the failure')
            check(program.get('/healthz', token=False)[:2] == (503, 'failed\n'), 'the health does not show the failure')
            await page.wait_for(lambda s: not s['fault'] and s['objects'], 'the object after the failure', 40)
            check(program.get('/healthz', token=False)[0] == 200, 'the failure stays')
            for viewer in viewers:
                await asyncio.to_thread(viewer.wait_for, 20)
        reply = await page.ask('clear')
        check(reply['type'] == 'done', f'a request after the failures gives {reply}')
    m = program.metrics()
    check(m['samtrack_frames_total{camera="test",fate="received"}'] > 50, f'no frames come: {m}')
    times = [float(s) for s in re.findall(r'time=\S+:(\d\d\.\d+)Z level=\w+ event=pipeline-\w+', program.read_log())]
    check(len(times) == 4, f'the log has {len(times)} events of the pipeline')
    pauses = [(b - a) % 60 for a, b in zip(times[::2], times[1::2])]
    check(pauses[0] > 0.9 and pauses[1] > 1.9, f'the pipeline is started again after {pauses} s, expected 1 and 2')


def hang(build, folder):
    """A source that nobody answers, then the main loop: the program ends all the same."""
    os.mkfifo(f'{folder}/fifo')
    for name in 'failures', 'hang':
        os.environ[f'LIVE_{name.upper()}'] = f'{folder}/never-{name}'
    program = Program(build, f'hung=file://{folder}/fifo', 'live=test', cameras=2)
    try:
        program.wait_for_frames('live')
        for name in 'hang', 'failures':
            write(f'{folder}/never-{name}')
        time.sleep(2)  # it is started again after one
        program.process.terminate()
        status = program.process.wait(20)
        check(status == 1 and 'event=stop-hangs' in program.read_log(), f'status {status}:\n{program.read_log()}')
    finally:
        program.process.kill()


def main(build):
    os.environ['LIVE_PROGRAM'] = f'{build}/tests/live/samtrack-live-failing'
    with tempfile.TemporaryDirectory() as folder:
        os.environ['LIVE_FAILURES'] = f'{folder}/failures'
        with open(f'{folder}/live.conf', 'w', encoding='utf-8') as f:
            f.write(CONFIG)
        with Program(build, '--config', f'{folder}/live.conf') as program:
            program.wait_for_frames('test')
            asyncio.run(watch(program, f'{folder}/failures'))
            write(f'{folder}/failures')
            program.wait_for(lambda m: program.read_log().count('event=pipeline-failed') == 3, 'the failure')
            program.stop()  # while it waits for the next start
        hang(build, folder)
    print('ok')


main(sys.argv[1])
