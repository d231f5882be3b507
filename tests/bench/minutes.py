#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Somebody's first five minutes with samtrack-live and its own scene, in Chromium: the program is started, the page opened, a thing clicked and named, another one boxed, all removed by mistake and
brought back, a zone drawn, data sets downloaded, a film recorded, and the program started again.
usage: minutes.py BUILD     prints a line for each with the seconds since the start and those that it took, and a line of JSON; exit status 77: Chromium or websockets is missing"""
import asyncio
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'live'))
import chromium
from program import Program, check, skip, take_arguments

try:
    from learn import find_motion
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

ROWS = '[...document.querySelectorAll("#objects li")].map(li => [li.querySelector("input").value, li.classList.contains("tracked") || li.classList.contains("found")])'
BOX = 45  # px of the scene, half the side of the box that is dragged
PICTURES = 5  # until data sets are downloaded


class Watch:
    def __init__(self):
        self.began, self.times = time.monotonic(), {}

    async def take(self, what, work):
        """Awaits it; its seconds are noted."""
        began = time.monotonic()
        result = await work
        self.times[what] = round(time.monotonic() - began, 1)
        print(f'{began - self.began:6.1f} s  {self.times[what]:5.1f} s  {what}', flush=True)
        return result


async def place(tab, x, y):
    box = await tab.run('document.getElementById("stage").getBoundingClientRect().toJSON()')
    return box['x'] + x * box['width'], box['y'] + y * box['height']


async def start(build, state):
    return await asyncio.to_thread(Program, build, '--demo', '--http-port', os.environ.get('PORT', '0'), '--state-folder', state)


async def open_page(tab, page):
    await tab.open(page)
    await tab.wait_for('document.getElementById("stage").classList.contains("shown")', 60)


async def click(tab):
    await tab.click(*await place(tab, *await find_motion(tab, [])))
    await tab.wait_for(f'{ROWS}.some(([, tracked]) => tracked)', 60)


async def name(tab):
    for key in ('Enter', *'first', 'Enter'):
        await tab.key(key)
    await tab.wait_for(f'{ROWS}[0][0] === "first"')


async def drag(tab, known):
    x, y = await find_motion(tab, known)
    to = [min(max(v, 0), 1) for v in (x - BOX / 640, y - BOX / 360, x + BOX / 640, y + BOX / 360)]
    await tab.drag(*await place(tab, *to[:2]), *await place(tab, *to[2:]))
    await tab.wait_for(f'{ROWS}.length === 2 && {ROWS}[1][1]', 60)


async def undo(tab):
    await tab.key('c')
    await tab.wait_for(f'{ROWS}.length === 0 && !document.getElementById("notice-undo").hidden', 60)
    await tab.run('document.getElementById("notice-undo").click()')
    await tab.wait_for(f'{ROWS}.length === 2 && {ROWS}.some(([name]) => name === "first")', 60)


async def draw(tab):
    await tab.run('document.querySelector("#draw [value=zone]").click()')
    await tab.wait_for('!document.getElementById("draft").hidden')
    for corner in ((0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9)):
        await tab.click(*await place(tab, *corner))
    await tab.run('document.querySelector("#draft [value=finish]").click()')
    await tab.wait_for('document.querySelector("#zone-list span")?.textContent.includes("inside")', 60)


async def download(tab):
    """As the buttons' links have it."""
    for form in ('coco', 'yolo', 'davis'):
        data = await tab.run(f'fetch(document.getElementById("{form}-set").href).then((a) => a.blob()).then((b) => new Promise((resolve) => {{'
                             'const r = new FileReader(); r.onload = () => resolve([...new Uint8Array(r.result)].map((n) => String.fromCharCode(n)).join("")); r.readAsArrayBuffer(b); }))')
        archive = zipfile.ZipFile(io.BytesIO(data.encode('latin1')))
        check(sum(n.endswith('.jpg') for n in archive.namelist()) >= PICTURES, f'{form} holds {archive.namelist()}')


async def record(tab, folder):
    await tab.run('document.getElementById("film").click()')
    await tab.wait_for('/: [5-9] s/.test(document.getElementById("film").textContent)', 60)
    await tab.run('document.getElementById("film").click()')
    while not [f for f in pathlib.Path(folder).iterdir() if f.suffix in ('.mp4', '.webm') and f.stat().st_size]:
        await asyncio.sleep(0.1)


async def live(build, state, folder):
    watch = Watch()
    program = await watch.take('the program prints its addresses', start(build, state))
    async with chromium.Tab(1320, 860, downloads=folder) as tab:
        with program:
            os.environ['PORT'] = str(program.port)
            await watch.take('the page shows the camera', open_page(tab, program.page))
            await watch.take('what was clicked is tracked', click(tab))
            await watch.take('it has a name', name(tab))
            await watch.take('what was boxed is tracked, too', drag(tab, await read_objects(program)))
            await watch.take('all were removed, and are back', undo(tab))
            await watch.take('a zone counts', draw(tab))
            await watch.take(f'{PICTURES} pictures are kept', tab.wait_for(f'Number(document.getElementById("kept").textContent.match(/with (\\d+)/)?.[1]) >= {PICTURES}', 120))
            await watch.take('three data sets are downloaded', download(tab))
            await watch.take('a film of five seconds is downloaded', record(tab, folder))
        program = await watch.take('the program prints its addresses again', start(build, state))
        with program:
            await watch.take('the open page has the objects and their names again',
                             tab.wait_for(f'document.body.dataset.state === "live" && {ROWS}.length === 2 && {ROWS}.some(([name]) => name === "first")', 60))
            check(not [e for e in tab.errors if 'Failed to load resource' not in e and 'WebSocket' not in e], f'the page has errors: {tab.errors}')
    print(json.dumps(watch.times))


async def read_objects(program):
    from program import Page
    async with Page(program) as page:
        return (await page.take('state'))['objects']


def main(build):
    if not chromium.find():
        skip('there is no Chromium')
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        asyncio.run(live(build, state, folder))


if __name__ == '__main__':
    main(*take_arguments(__doc__))
