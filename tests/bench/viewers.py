#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""samtrack-live with four RTSP viewers and two pages in Chromium: frames dropped in the main pipeline, what a page costs
beside encoding, and the time from a click to its mask in the page's picture. Then four cameras: the time from opening a page to its first picture, for the first page
of a camera, whose encoder begins with it, and for a second one; what that one costs.
usage: viewers.py BUILD [SECONDS [CLICKS]]     0 CLICKS: the cameras alone. Prints a line of JSON; exit status 77: Chromium is missing"""
import asyncio
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'live'))
import chromium
from film import DISC, make_film
from outputs import start_client
from program import Program, skip, take_arguments

# Resolves to the ms from the next click to the first frame that shows red at the disc.
CLICK = '''new Promise((resolve) => {
  const canvas = document.createElement('canvas');
  canvas.width = 640; canvas.height = 360;
  const c = canvas.getContext('2d', { willReadFrequently: true });
  const read = () => {
    for (const layer of ['picture', 'overlay']) c.drawImage(document.getElementById(layer), 0, 0, 640, 360);
    const d = c.getImageData(%d, %d, 8, 8).data;
    let sum = 0;
    for (let i = 0; i < d.length; i += 4) sum += d[i] - (d[i + 1] + d[i + 2]) / 2;
    return sum / 64;
  };
  const before = read();
  let start = 0;
  document.getElementById('stage').addEventListener('pointerdown', () => { start = performance.now(); }, { once: true });
  const look = (now) => {
    if (start && read() > before + 40) resolve(now - start);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  window.ready = true;
})''' % DISC


def get_cpu(program):
    """{thread: seconds so far}"""
    seconds = {}
    for task in pathlib.Path(f'/proc/{program.process.pid}/task').iterdir():
        fields = (task / 'stat').read_text().rsplit(')', 1)[1].split()
        seconds[int(task.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
    return seconds


async def use_cores(program, seconds):
    """{thread: cores that it keeps busy}"""
    before, start = get_cpu(program), time.monotonic()
    await asyncio.sleep(seconds)
    passed = time.monotonic() - start
    return {thread: (cpu - before.get(thread, 0)) / passed for thread, cpu in get_cpu(program).items()}


async def measure_viewers(build, seconds):
    with Program(build, '--demo', '--initial-prompt', 'point,x=480,y=190') as program:
        program.wait_for_frames('demo')
        clients = [start_client(program.rtsp[0], frames=10**6) for _ in range(4)]
        program.wait_for(lambda m: m['samtrack_viewers{kind="rtsp"}'] == 4, 'RTSP viewers')
        without = await use_cores(program, seconds)
        async with chromium.Tab() as one, chromium.Tab() as two:
            for tab in one, two:
                await tab.open(program.page)
                await tab.wait_for('document.getElementById("video").videoWidth > 0')
            pages = await use_cores(program, seconds)
            metrics = program.metrics()
        for client in clients:
            client.kill()
            client.wait()
    # What a page costs: the threads that came with it, and what the main thread does more.
    main_thread = program.process.pid
    cost = sum(cores for thread, cores in pages.items() if thread not in without)
    cost += pages[main_thread] - without[main_thread]
    return {'viewers_dropped': metrics['samtrack_frames_total{camera="demo",fate="dropped"}'],
            'viewers_frames': metrics['samtrack_frames_total{camera="demo",fate="received"}'],
            'page_core_percent': round(cost / 2 * 100, 2)}


async def measure_clicks(build, clicks):
    times = []
    with tempfile.TemporaryDirectory() as folder, Program(build, f'disc={make_film(folder)}') as program:
        program.wait_for_frames('disc')
        async with chromium.Tab() as tab:
            await tab.open(program.page)
            await tab.wait_for('document.getElementById("video").videoWidth > 0')
            box = json.loads(await tab.run('JSON.stringify(document.getElementById("stage").getBoundingClientRect())'))
            for _ in range(clicks):
                await tab.run(f'window.ready = false; window.result = {CLICK}; undefined')
                await tab.wait_for('window.ready')
                await tab.click(box['x'] + box['width'] * DISC[0] / 640, box['y'] + box['height'] * DISC[1] / 360)
                times.append(await tab.run('window.result'))
                await tab.key('c')
                await tab.wait_for('document.querySelectorAll("#objects li").length === 0')
                await asyncio.sleep(0.5)
    return {'browser_click_ms': round(statistics.median(times), 1)}


# The ms from the navigation to the first picture, in window.first.
FIRST = '''addEventListener('DOMContentLoaded', () => {
  const stage = document.getElementById('stage');
  new MutationObserver(() => { if (stage.classList.contains('shown')) window.first ??= performance.now(); }).observe(stage, { attributes: true });
});'''


async def open_page(tab, url):
    await tab.before_load(FIRST)
    await tab.open(url)
    await tab.wait_for('window.first', 30)
    return await tab.run('window.first')


def count_frames(program):
    return program.metrics()['samtrack_frames_total{camera="camera1",fate="received"}']


async def measure_opening(build, seconds):
    names = [f'camera{i}' for i in range(1, 5)]
    with Program(build, *(f'{name}=demo' for name in names), '--initial-prompt', 'point,x=480,y=190', cameras=4) as program:
        for name in names:
            program.wait_for_frames(name)
        async with chromium.Tab() as one, chromium.Tab() as two:
            for tab in one, two:
                await tab.open(program.page)  # gets the cookie
                await tab.open(f'http://127.0.0.1:{program.port}/healthz')
            url = f'http://127.0.0.1:{program.port}/live-{program.port}/camera/camera1/'
            first = await open_page(one, url)
            await asyncio.sleep(2)
            without = await use_cores(program, seconds)
            second = await open_page(two, url)
            await asyncio.sleep(2)
            before, began = count_frames(program), time.monotonic()
            pages = await use_cores(program, seconds)
            rate = (count_frames(program) - before) / (time.monotonic() - began)
    main_thread = program.process.pid
    cost = sum(cores for thread, cores in pages.items() if thread not in without) + pages[main_thread] - without[main_thread]
    return {'first_picture_ms': round(first), 'second_page_ms': round(second), 'cameras_page_core_percent': round(100 * cost, 2), 'cameras_hz': round(rate, 1)}


async def main(build, seconds=20, clicks=11):
    result = await measure_opening(build, float(seconds))
    if int(clicks):
        result = {**await measure_viewers(build, float(seconds)), **await measure_clicks(build, int(clicks)), **result}
    print(json.dumps(result))


if not chromium.find():
    skip('there is no Chromium')
asyncio.run(main(*take_arguments(__doc__)))
