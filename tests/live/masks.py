#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Masks as data for pages: those of a scripted tracker, whose objects are boxes that move by 10 px a frame; a page that does
not take them gets none until it does. usage: masks.py BUILD"""
import asyncio
import json
import os
import sys

from program import ROOT, Page, Program, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

MOST_ON_THEIR_WAY = 24
BOX = 160, 90, 160, 90  # x, y, w, h of 640x360


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        n = self.number()
        return -(n + 1) // 2 if n & 1 else n // 2


def read_rows(r):
    above, rows = [], []
    for _ in range(r.number()):
        ends = []
        n = 2 * r.number()
        for i in range(n):
            ends.append(r.signed() + (above[i] if n == len(above) else ends[-1] if i else 0))
        rows.append(ends)
        above = ends
    return rows


def read_preview(data):
    """{re, rtp, us, width, height, y, rows}"""
    r = Reader(data)
    check(r.number() == 2, 'another kind of message')
    message = {name: r.number() for name in ('re', 'rtp', 'us', 'width', 'height', 'y')}
    message['rows'] = read_rows(r)
    check(r.at == len(data), f'{len(data) - r.at} bytes too many')
    return message


def read(data):
    """{n, rtp, us, now, width, height, objects: [{id, slot, state, behind, y, rows}]}; rows are lists of ends of runs."""
    r = Reader(data)
    check(r.number() == 1, 'another version')
    message = {name: r.number() for name in ('n', 'rtp', 'us', 'now', 'width', 'height')}
    message['objects'] = []
    for _ in range(r.number()):
        thing = {name: r.number() for name in ('id', 'slot', 'state', 'behind', 'y')}
        thing['rows'] = read_rows(r)
        message['objects'].append(thing)
    check(r.at == len(data), f'{len(data) - r.at} bytes too many')
    return message


class Looker(Page):
    """A page that wants masks; it confirms them if it is told to."""
    confirms = True

    def __init__(self, program):
        super().__init__(program)
        self.previews = []

    async def preview(self, **fields):
        """What a click would take, while the page goes on."""
        await self.socket.send(json.dumps({'op': 'look', **fields}))
        while not self.previews:
            check(await self.take_masks() or self.previews, 'no masks come, and no preview')
        return self.previews.pop()

    async def look(self):
        await self.socket.send('{"op":"watch","camera":"demo","video":"mjpeg","masks":true}')

    async def confirm(self, n):
        await self.socket.send(json.dumps({'op': 'seen', 'n': self.state['n'] if self.state else 0, 'masks': n}))

    async def take_masks(self, seconds=20):
        """The next ones; None: none came."""
        end = asyncio.get_running_loop().time() + seconds
        while (left := end - asyncio.get_running_loop().time()) > 0:
            try:
                text = await asyncio.wait_for(self.socket.recv(), left)
            except asyncio.TimeoutError:
                return None
            if isinstance(text, bytes) and text[0] == 2:
                self.previews.append(read_preview(text))
                continue
            if isinstance(text, bytes):
                masks = read(text)
                if self.confirms:
                    await self.confirm(masks['n'])
                return masks
            message = json.loads(text)
            if message['type'] == 'state':
                self.state = message
                await self.socket.send(json.dumps({'op': 'seen', 'n': message['n']}))
        return None


def check_box(masks):
    """Returns by how many steps the box has moved."""
    x, y, w, h = BOX
    thing = masks['objects'][0]
    check(len(masks['objects']) == 1 and (thing['id'], thing['slot']) == (1, 1), f'the objects are {masks["objects"]}')
    check((masks['width'], masks['height']) == (640, 360), f'the map is {masks["width"]}x{masks["height"]}')
    left = thing['rows'][0][0]
    check(thing['y'] == y and thing['rows'] == [[left, left + w]] * h, f'the mask begins at {thing["y"]}: {thing["rows"][:3]}')
    steps, rest = divmod(left - x, 10)
    check(rest == 0 and 0 <= steps < 16, f'the box is at {left}, expected {x} and steps of 10')
    check(masks['rtp'] in ((masks['us'] - 1) * 9 // 100 % 2**32, masks['us'] * 9 // 100 % 2**32), f'times differ: {masks["us"]}, {masks["rtp"]}')
    check(masks['us'] <= masks['now'], 'masks are of the future')
    return steps


async def follow(page):
    check((await page.take_masks())['objects'] == [], 'a page that comes is not told that nothing is tracked')
    x, y, w, h = BOX
    await page.socket.send(json.dumps({'op': 'box', 'x': x / 640, 'y': y / 360, 'w': w / 640, 'h': h / 360}))
    steps, times = [], []
    while len(steps) < 20:
        masks = await page.take_masks()
        check(masks, 'no masks come')
        if masks['objects']:
            steps.append(check_box(masks))
            times.append(masks['us'])
    check(all(a < b for a, b in zip(times, times[1:])), f'times of masks are {times}')
    moved = sum((b - a) % 16 == 1 for a, b in zip(steps, steps[1:]))
    check(moved > 10, f'steps of the box are {steps}')


async def stall(program, page):
    """One that confirms nothing, beside one that does."""
    async with Looker(program) as other:
        other.confirms = False
        await other.look()
        taken = []
        while masks := await other.take_masks(1.5):
            taken.append(masks['n'])
            check(len(taken) <= MOST_ON_THEIR_WAY + 1, f'{len(taken)} messages are on their way')
        check(len(taken) >= MOST_ON_THEIR_WAY // 2, f'only {len(taken)} messages came')
        while (await page.take_masks())['n'] <= taken[-1] + 5:
            pass
        await other.confirm(taken[-1])
        masks = await other.take_masks()
        check(masks and masks['n'] > taken[-1] + 5, f'after {taken[-1]} comes {masks and masks["n"]}: old ones were kept')


async def confirm_early(program, page):
    """Masks that come before the first state are confirmed without one: states come all the same."""
    while page.state is None or page.state['n'] <= 45:
        await page.take_masks()
    async with Looker(program) as other:
        await other.look()
        await other.confirm(0)
        for _ in range(3):
            await other.take('state')


def check_preview(preview, re, x, y):
    """The scripted tracker takes 3/8 of the width and a half of the height around a point."""
    left, top = x * 640 - 120, y * 360 - 90
    check(preview['re'] == re and (preview['width'], preview['height']) == (640, 360), f'the preview is {preview}')
    check(preview['y'] == top and preview['rows'] == [[left, left + 240]] * 180, f'it begins at {preview["y"]}: {preview["rows"][:2]}')


async def preview(program, page):
    """What a click would take, on the frame that is named, begins nothing; of several requests the newest is answered."""
    for _ in range(20):  # a busy machine may answer when the frame is not held any more: then on the oldest that is
        masks = await page.take_masks()
        shown = await page.preview(x=0.5, y=0.5, re=5, us=masks['us'])
        check_preview(shown, 5, 0.5, 0.5)
        if 0 <= masks['us'] - shown['us'] < 100000:
            break
    check(masks['us'] - shown['us'] >= 0, f'it is of {shown["us"]}, asked for was {masks["us"]}')
    for re in range(10, 14):
        await page.socket.send(json.dumps({'op': 'look', 'x': 0.25 + re / 64, 'y': 0.5, 're': re}))
    numbers = []
    while not numbers or numbers[-1] < 13:
        while not page.previews:
            check(await page.take_masks() or page.previews, f'after previews {numbers} none comes')
        check_preview(page.previews[0], page.previews[0]['re'], 0.25 + page.previews[0]['re'] / 64, 0.5)
        numbers.append(page.previews.pop(0)['re'])
    check(numbers == sorted(numbers), f'previews came as {numbers}')
    async with Looker(program) as other:  # it leaves before its answer comes
        await other.socket.send('{"op":"look","x":0.5,"y":0.5,"re":1}')
    check(len((await page.take_masks())['objects']) == 1, 'a preview has begun an object')
    await page.socket.send('{"op":"look","x":0.5,"re":8}')
    check("'y'" in (await page.take('refused'))['why'], 'a look without y is not refused')


async def leave(page):
    await page.socket.send('{"op":"clear"}')
    while (await page.take_masks())['objects']:
        pass
    check(await page.take_masks(0.5) is None, 'masks come though nothing is tracked')
    await page.socket.send('{"op":"watch","camera":"demo","video":"mjpeg","masks":1,"re":9}')
    check("'masks'" in (await page.take('refused'))['why'], 'masks: 1 is not refused')


async def run(build):
    os.environ['LD_LIBRARY_PATH'] = f'{build}/tests/scripted'
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    with Program(build, '--demo', '--set', 'max-objects=2') as program:
        program.wait_for_frames('demo')
        async with Looker(program) as page:
            await page.look()
            await follow(page)
            await stall(program, page)
            await confirm_early(program, page)
            await preview(program, page)
            await leave(page)
    print('ok')


if __name__ == '__main__':
    asyncio.run(run(sys.argv[1]))
