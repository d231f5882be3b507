#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How often a page can be told what a click would take, beside one tracked object at 25 Hz, and what the tracker loses by it: samtrack-live with the embedded model,
asked as hover.js asks, 80 ms after the last time and not before the answer. usage: hover.py BUILD [SECONDS]     prints a line of JSON: previews a second, tracked frames a second without and with them;
milliseconds of a processor that the program takes for a frame without previews, and for a preview more, which other work on the machine changes less"""
import asyncio
import json
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'live'))
from film import make_film
from program import Page, Program, take_arguments

PAUSE = 0.08  # s between two requests


def get_cpu(program):
    """Seconds of a processor so far."""
    fields = pathlib.Path(f'/proc/{program.process.pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


async def count_frames(page, seconds):
    """Tracked frames, in so many seconds, with so many of a processor."""
    cpu, before, began = get_cpu(page.program), (await page.take('state'))['inferred'], time.monotonic()
    end = began + seconds
    while time.monotonic() < end:
        state = await page.take('state')
    return state['inferred'] - before, time.monotonic() - began, get_cpu(page.program) - cpu


async def ask(program, seconds):
    """Previews, in so many seconds, of a page that moves its mouse all the time."""
    async with Page(program) as page:
        began, number, answers = time.monotonic(), 0, 0
        while time.monotonic() < began + seconds:
            number, asked = number + 1, time.monotonic()
            x = 0.1 + 0.8 * (number * 0.017 % 1)
            await page.socket.send(json.dumps({'op': 'look', 'x': x, 'y': 0.4, 're': number}))
            while time.monotonic() < asked + 1:
                data = await asyncio.wait_for(page.socket.recv(), 20)
                if isinstance(data, bytes):
                    if data[0] == 2:
                        answers += 1
                        break
                    continue
                message = json.loads(data)
                if message['type'] == 'state':
                    await page.socket.send(json.dumps({'op': 'seen', 'n': message['n']}))
            await asyncio.sleep(max(asked + PAUSE - time.monotonic(), 0))
        return answers, time.monotonic() - began


async def main(build, seconds=15):
    with tempfile.TemporaryDirectory() as folder, Program(build, f'disc={make_film(folder, swing=90)}', '--initial-prompt', 'box,x=190,y=140,w=100,h=100') as program:
        program.wait_for_frames('disc')
        async with Page(program) as page:
            await page.wait_for(lambda s: s['objects'] and s['objects'][0]['area'], 'the object')
            alone, alone_s, alone_cpu = await count_frames(page, float(seconds))
            (previews, previews_s), (beside, beside_s, beside_cpu) = await asyncio.gather(ask(program, float(seconds)), count_frames(page, float(seconds)))
    frame_cpu = alone_cpu / max(alone, 1)
    print(json.dumps({'previews_hz': round(previews / previews_s, 2), 'tracked_alone_hz': round(alone / alone_s, 2), 'tracked_beside_hz': round(beside / beside_s, 2),
                      'frame_cpu_ms': round(1000 * frame_cpu, 1), 'preview_cpu_ms': round(1000 * (beside_cpu - beside * frame_cpu) / max(previews, 1), 1)}))


asyncio.run(main(*take_arguments(__doc__)))
