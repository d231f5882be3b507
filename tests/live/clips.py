#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Clips around events: each is a video that plays, of the seconds around its event; they are bounded, found again after a restart, and lost
without harm where there is no room. The page that lists them, in a headless browser: wide, a phone's width, the dark.
usage: clips.py BUILD OUT_FOLDER     the screenshots stay in OUT_FOLDER"""
import asyncio
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import chromium
from program import ROOT, Page, Program, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

BOX = 'box,x=0.2,y=0.25,w=0.25,h=0.25,normalized=true'
CARDS = '[...document.querySelectorAll("#grid li")]'


def ask(program, path):
    status, body, headers = program.ask('GET', f'/api/cameras/demo/{path}')
    return status, body, headers


def wait_for_clip(program, number=None):
    """The newest event, or that one, once it has a clip."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        events = json.loads(ask(program, 'events')[1])['events']
        for event in events:
            if 'clip' in event and number in (None, event['number']):
                return event
        time.sleep(0.5)
    raise AssertionError(f'no clip comes: {events}')


def measure(folder, data):
    """(seconds, frames) of a clip, all of which decodes."""
    path = pathlib.Path(folder, 'clip.mp4')
    path.write_bytes(data)
    text = subprocess.run(['gst-launch-1.0', '-v', 'filesrc', f'location={path}', '!', 'qtdemux', '!', 'h264parse', '!', 'avdec_h264', '!',
                           'identity', 'silent=false', '!', 'fakesink', 'sync=false', 'silent=true'], capture_output=True, text=True, timeout=120)
    check(text.returncode == 0, f'a clip does not play: {text.stderr}')
    times = [line.split('pts: ')[1].split(',')[0] for line in text.stdout.splitlines() if 'chain' in line and 'pts: ' in line]
    seconds = [sum(float(part) * scale for part, scale in zip(t.split(':'), (3600, 60, 1))) for t in times]
    check(seconds == sorted(seconds) and seconds[0] < 0.5, f'the times of a clip are {seconds}')
    return seconds[-1], len(seconds)


async def track_again(program):
    """Another object appears."""
    async with Page(program) as page:
        state = await page.wait_for(lambda s: s['width'] and s['fps'], 'frames')
        reply = await page.ask('point', x=0.7, y=0.7, positive=True, id=0)
        check(reply['type'] == 'done', f'a click gives {reply}')
        return await page.wait_for(lambda s: len(s['objects']) > len(state['objects']), 'the object')


def look_at_clip(program, folder):
    event = wait_for_clip(program)
    status, data, headers = ask(program, event['clip'])
    check(status == 200 and headers['Content-Type'] == 'video/mp4', f'the clip gives {status}, {headers}')
    seconds, frames = measure(folder, data)
    # Five seconds before, if there were as many since the start, and five behind; it begins with a key frame, which may be older.
    check(4 < seconds < 16 and frames > 3 * seconds, f'a clip of {seconds} s has {frames} frames')
    files = os.listdir(f'{folder}/state/demo.clips')
    check(all(name.endswith('.mp4') for name in files), f'files are {files}')
    for wrong in ('events/999.mp4', 'events/0.mp4', 'events/x.mp4'):
        check(ask(program, wrong)[0] == 404, f'{wrong} is there')
    return event


async def see(program, out, number):
    for name, width, dark in (('wide', 1280, False), ('phone', 320, True)):
        async with chromium.Tab(width, 800, dark=dark) as tab:
            await tab.open(f'http://127.0.0.1:{program.port}/live-{program.port}/events?camera=demo&token={program.token}')
            await tab.wait_for(f'{CARDS}.length && {CARDS}.every((c) => c.querySelector("img").naturalWidth > 1)')
            texts = await tab.run(f'{CARDS}.map((c) => c.innerText)')
            check(any('appeared' in text for text in texts), f'cards say {texts}')
            check(await tab.run('document.documentElement.scrollWidth') <= width, f'the page is wider than {width} px')
            card = f'{CARDS}.find((c) => c.dataset.number === "{number}")'
            await tab.run(f'{card}.querySelector("button").click()')
            await tab.wait_for(f'{card}.querySelector("video")?.currentTime > 0 && {card}.querySelector("video").videoWidth > 0')
            check((await tab.run(f'{card}.querySelector("a[download]").href')).endswith(f'/events/{number}.mp4'), 'the download leads elsewhere')
            await tab.screenshot(f'{out}/events-{name}.png')
            check(not tab.errors, f'the page has errors: {tab.errors}')


def main(build, out):
    os.environ['LD_LIBRARY_PATH'] = f'{build}/tests/scripted'
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

    with tempfile.TemporaryDirectory() as folder:
        keys = pathlib.Path(folder, 'keys.conf')
        keys.write_text('[live]\nclips=1\n')
        arguments = ('--demo', '--set', 'max-objects=4', '--set', 'framerate=10', '--config', str(keys))
        with Program(build, *arguments, '--state-folder', f'{folder}/state', '--set', f'initial-prompt={BOX}') as program:
            event = look_at_clip(program, folder)
            if chromium.find():
                asyncio.run(see(program, out, event['number']))
            asyncio.run(track_again(program))  # it ends with a clip under way, which is written
        with Program(build, *arguments, '--state-folder', f'{folder}/state') as program:
            check(wait_for_clip(program, event['number'])['clip'] == event['clip'], 'the clip is gone after a restart')
            events = json.loads(ask(program, 'events')[1])['events']
            newest = next(e for e in events if 'clip' in e)
            check(newest['number'] > event['number'], f'the clip that was under way is lost: {events}')
            check(program.metrics()['samtrack_clip_bytes{camera="demo"}'] <= 1 << 20, 'more is kept than was said')
        with Program(build, *arguments, '--state-folder', f'{folder}/full', '--set', f'initial-prompt={BOX}', before=limit) as program:
            end = time.monotonic() + 120
            while 'event=clip-lost' not in program.read_log():
                check(time.monotonic() < end, 'no clip is lost')
                time.sleep(0.5)
            check(not os.listdir(f'{folder}/full/demo.clips'), 'half a clip is kept')
            check(program.metrics()['samtrack_source_up{camera="demo"}'] == 1, 'the camera is gone')
    print('ok')


main(*sys.argv[1:])
