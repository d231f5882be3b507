#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Time stamps of a program that has run for hours and for weeks: pictures, prompts by RTP time stamp, annotations. The machine's date jumps.
usage: hours.py BUILD"""
import asyncio
import datetime
import json
import pathlib
import sys
import time

from clock import RTP_RATE, WRAP_S, Clocked
from program import Page, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

PROMPT = ('--initial-prompt', 'point,x=0.54,y=0.6,normalized=true')


def get_prompt_age(program):
    return program.metrics()['samtrack_prompt_age_seconds{camera="demo"}']


async def prompt_by_rtp(program):
    """A click on a frame that has passed, as a page makes it whose video comes by WebRTC: it must be found again."""
    async with Page(program) as page:
        await page.socket.send('{"op":"watch","camera":"demo","video":"webrtc"}')
        await page.take('offer')
        shown = await asyncio.to_thread(program.get_time, 'demo')
        await asyncio.sleep(0.2)
        reply = await page.ask('point', x=0.54, y=0.6, rtp=int(shown * RTP_RATE) % 2**32)
        check(reply['type'] == 'done', f'a prompt after {shown:.0f} s gives {reply}')
        await asyncio.sleep(0.5)
        age = get_prompt_age(program)
        check(0.1 < age < 20, f'a prompt for a frame of 0.2 s ago, {shown:.0f} s after the start, is {age} s old')
        await page.ask('remove', id=reply['id'])
        return shown


def check_time(program, expected):
    shown = program.get_time('demo')
    check(expected - 5 < shown < expected + 20, f'the picture is of {shown:.1f} s, expected {expected:.1f}')


def check_lines(program, last):
    """Masks of all that time, in order."""
    status, text, _ = program.get('/annotations/demo.jsonl')
    check(status == 200, f'the annotations give {status}')
    times = [json.loads(line)['mask_time'] / 1e9 for line in text.splitlines()]
    check(all(a < b for a, b in zip(times, times[1:])), 'the times of the masks do not increase')
    check(times and times[-1] > last - 60, f'the last mask is of {times[-1:]} s, expected some {last:.0f}')
    return times


async def set_dates(program):
    """The machine's date is set back by a day, and then to two days later: a page stays, events have the date that is then, what is kept is written, and saves are in order."""
    async with Page(program) as page:
        for n, seconds in enumerate((-86400, 2 * 86400)):
            program.set_date(seconds)
            newest = max((e['number'] for e in read_events(program)), default=0)
            id_ = (await page.ask('box', x=0.4, y=0.3, w=0.2, h=0.5))['id']
            await page.wait_for(lambda s: any(o['id'] == id_ for o in s['objects']), 'the object')
            check((await page.ask('rename', id=id_, name=f'date {n}'))['type'] == 'done', 'a name is refused')
            while not (events := [e for e in read_events(program) if e['number'] > newest and e['kind'] == 'appeared']):
                await page.take('state')
            date = datetime.datetime.fromisoformat(events[0]['time'].replace('Z', '+00:00')).timestamp()
            check(abs(date - time.time() - seconds) < 60, f'an event is of {events[0]["time"]}, {seconds} s from now expected')
            kept = pathlib.Path(program.folder.name, 'state/demo.kept.names')
            while not (kept.exists() and f'date {n}' in kept.read_text()):
                await page.take('state')
            check((await page.ask('save', name=f'date {n}'))['type'] == 'done', 'a save is refused')
            saves = [s for s in (await page.ask('saves'))['saves'] if s['save'] != 'kept']
            check([s['name'] for s in saves] == [f'date {i}' for i in reversed(range(n + 1))], f'the saves are {saves}')
            await page.ask('remove', id=id_)
    program.set_date(0)


def read_events(program):
    return json.loads(program.get('/api/cameras/demo/events')[1])['events']


def main(build):
    with Clocked(build, '--demo', *PROMPT) as program:
        program.wait_for_frames('demo')
        asyncio.run(set_dates(program))
        started = program.get_time('demo'), time.monotonic()
        asyncio.run(prompt_by_rtp(program))
        for name, to in (('RTP time stamps', WRAP_S), ('a day', 86400), ('milliseconds in 32 bits', 2**32 / 1000)):
            program.forward_to(to - 4, 'demo')
            before = asyncio.run(prompt_by_rtp(program))
            while program.get_time('demo') < to + 0.2:
                time.sleep(0.1)
            after = asyncio.run(prompt_by_rtp(program))
            check_time(program, started[0] + program.more / 1e9 + time.monotonic() - started[1])
            print(f'{name}: prompts {before - to:+.1f} s and {after - to:+.1f} s from {to:.1f} s')
        times = check_lines(program, to)
        check(times[0] < 1000, f'the first mask is of {times[0]} s')
        m = program.metrics()
        dropped, received = (m[f'samtrack_frames_total{{camera="demo",fate="{fate}"}}'] for fate in ('dropped', 'received'))
        check(dropped <= received / 25, f'frames were dropped, more than other work on the machine explains: {m}')
    print('ok')


if __name__ == '__main__':
    main(sys.argv[1])
