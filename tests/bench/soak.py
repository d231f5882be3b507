#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""samtrack-live for a long time. Memory and open files are told ten times; the last line is JSON.
usage: soak.py BUILD viewers [N]       N viewers come and go, eight at a time, every second one without a word. Default 10000
       soak.py BUILD reconnects [N]    a camera that ends every connection, N times. Default 1000
       soak.py BUILD outage [SECONDS]  a camera that is gone for so long; ms from its answering again to the first
                                       annotated frame. Default 60
       soak.py BUILD hours [N]         so many hours of the program's clock, at 150 times its pace, with two RTSP viewers,
                                       JPEGs, a tracked object and annotations of 1 MiB. Default 24"""
import asyncio
import json
import pathlib
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'live'))
from camera import Camera
from clock import Clocked
from hours import PROMPT, check_lines, check_time, prompt_by_rtp
from program import Page, Program, check, get_free_port
from viewer import Viewer

AT_ONCE = 8
PACE = 150  # of the hours


def tell(done, metrics):
    print(f'{done:6d}: {metrics["samtrack_resident_bytes"] / 2**20:7.1f} MiB, {metrics["samtrack_open_files"]:.0f} open files',
          flush=True)
    return {'n': done, 'mib': round(metrics['samtrack_resident_bytes'] / 2**20, 1), 'files': metrics['samtrack_open_files']}


def come_and_go(program, numbers, failures):
    while True:
        try:
            number = numbers.pop()
        except IndexError:
            return
        try:
            viewer = Viewer(program.rtsp[number % 4 // 2])
            viewer.play()
            viewer.watch(1)
            viewer.vanish() if number % 2 else viewer.tear_down()
        except Exception as e:
            failures.append(repr(e))


def soak_viewers(build, n):
    rows, failures = [], []
    with Program(build, '--demo') as program:
        program.wait_for_frames('demo')
        for done in range(0, n, n // 10):
            numbers = list(range(n // 10))
            threads = [threading.Thread(target=come_and_go, args=(program, numbers, failures)) for _ in range(AT_ONCE)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            metrics = program.wait_for(lambda m: m['samtrack_viewers{kind="rtsp"}'] == 0, 'the end of the sessions')
            time.sleep(3)  # those that are gone are kept for up to two seconds
            rows.append(tell(done + n // 10, program.metrics()))
        dropped = metrics['samtrack_frames_total{camera="demo",fate="dropped"}']
    return {'viewers': n, 'failed': len(failures), 'failures': failures[:3], 'dropped': dropped, 'rows': rows}


def soak_reconnects(build, n):
    camera, rows = Camera(build, get_free_port()), []
    camera.start(320, 180, 'flap')
    name = 'samtrack_reconnects_total{camera="gate"}'
    try:
        with Program(build, f'gate=rtsp://127.0.0.1:{camera.port}/camera') as program:
            for done in range(n // 10, n + 1, n // 10):
                metrics = program.wait_for(lambda m: m[name] >= done, f'{done} reconnects', 60 + n)
                rows.append(tell(done, metrics))
    finally:
        camera.kill()
    return {'reconnects': n, 'rows': rows}


def watch_on(url, ended, packets):
    viewer = Viewer(url)
    viewer.play()
    while not ended.is_set():
        viewer.watch(10)
        packets[url] = packets.get(url, 0) + 10
    viewer.tear_down()


def pass_hours(program, hours):
    """The clock is moved 50 times a second."""
    begun = now = time.monotonic()
    while now < begun + hours * 3600 / PACE:
        time.sleep(0.02)
        passed, now = time.monotonic() - now, time.monotonic()
        program.forward(passed * (PACE - 1))


def soak_hours(build, hours):
    rows, packets, ended = [], {}, threading.Event()
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as config:
        config.write(f'[live]\nannotations=1\n[camera demo]\nsource=demo\nwidth=320\nheight=180\ninitial-prompt={PROMPT[1]}\n')
        config.flush()
        with Clocked(build, '--config', config.name) as program:
            program.wait_for_frames('demo')
            begun, started = program.get_time('demo'), time.monotonic()
            threads = [threading.Thread(target=watch_on, args=(url, ended, packets)) for url in program.rtsp]
            for t in threads:
                t.start()
            for done in range(1, 11):
                before = dict(packets)
                pass_hours(program, hours / 10)
                time.sleep(2)
                now = begun + program.more / 1e9 + time.monotonic() - started
                check_time(program, now)
                asyncio.run(prompt_by_rtp(program))
                check(all(packets[url] > before.get(url, 0) for url in program.rtsp), f'a viewer gets nothing: {packets}')
                rows.append({'hours': round(now / 3600, 2), **tell(done, program.metrics())})
            ended.set()
            for t in threads:
                t.join()
            times = check_lines(program, now)
            m = program.metrics()
    fate = 'samtrack_frames_total{camera="demo",fate="%s"}'
    return {'hours': hours, 'frames': m[fate % 'received'], 'dropped': m[fate % 'dropped'], 'inferred': m[fate % 'inferred'],
            'packets': sum(packets.values()), 'masks_kept_hours': round((times[-1] - times[0]) / 3600, 2),
            'masks_forgotten': m['samtrack_annotated_frames{camera="demo",fate="forgotten"}'], 'rows': rows}


async def measure_outage(build, seconds):
    camera = Camera(build, get_free_port())
    camera.start()
    try:
        with Program(build, f'gate=rtsp://127.0.0.1:{camera.port}/camera') as program:
            async with Page(program) as page:
                await page.wait_for(lambda s: not s['fault'] and s['width'], 'the camera')
                reply = await page.ask('point', x=0.54, y=0.6)
                check(reply['type'] == 'done', f'the prompt gives {reply}')
                await page.wait_for(lambda s: [o['state'] for o in s['objects']] == ['tracked'], 'the object')
                camera.kill()
                await page.wait_for(lambda s: s['fault'], 'the fault')
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    await page.take('state')
                answers = camera.start()
                await page.wait_for(lambda s: not s['fault'], 'the camera')
                shown = time.monotonic()
                state = await page.wait_for(lambda s: s['objects'] and s['objects'][0]['state'] in ('found', 'tracked'),
                                            'the object')
                found = time.monotonic()
    finally:
        camera.kill()
    return {'away_s': seconds, 'back_ms': round((shown - answers) * 1000), 'found_ms': round((found - answers) * 1000),
            'ids': [o['id'] for o in state['objects']], 'states': [o['state'] for o in state['objects']]}


def main(build, what, n=None):
    if what == 'outage':
        result = asyncio.run(measure_outage(build, float(n or 60)))
    elif what == 'hours':
        result = soak_hours(build, float(n or 24))
    else:
        result = {'viewers': soak_viewers, 'reconnects': soak_reconnects}[what](
            build, int(n or {'viewers': 10000, 'reconnects': 1000}[what]))
    print(json.dumps(result))


main(*sys.argv[1:])
