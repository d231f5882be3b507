#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Zones and lines that viewers draw: what is refused, who is inside, undo, and what is kept; then drawn in a browser. On a
scripted tracker, whose masks are boxes that move. usage: zones.py BUILD [OUT_FOLDER]"""
import asyncio
import os
import pathlib
import sys
import tempfile

import chromium
from program import ROOT, Page, Program, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

FIXED = 'zone,name="the \\"top\\"",points=0:0 640:0 640:36 0:36'
ALL = '0.01:0.01 0.99:0.01 0.99:0.99 0.01:0.99'
REFUSED = (
    ({'points': '0.1:0.1 0.9:0.9 0.9:0.1 0.1:0.9'}, 'cross each other'),
    ({'points': '0.1:0.1 0.5:0.5 0.9:0.9'}, 'cross each other'),  # it leads back
    ({'points': '0.1:0.1 0.9:0.1 0.5:0.5 0.5:0.1 0.1:0.9'}, 'cross each other'),  # a corner on a line
    ({'points': '0.1:0.1 0.9:0.1 0.1:0.1'}, 'cross each other'),
    ({'points': '0.1:0.1'}, 'it has 1 point, expected are 3 or more'),
    ({'points': ''}, 'points'),
    ({'points': '0.1:0.1 0.2:nan 0.3:0.3'}, 'number from 0 to 1'),
    ({'points': '0.1:0.1 0.2:1.5 0.3:0.3'}, 'from 0 to 1'),
    ({'points': '0.1:0.1;zone,name=b 0.2:0.3'}, 'from 0 to 1'),
    ({'points': ' '.join(f'0.{i:03}:0.{i * i % 1000:03}' for i in range(257))}, 'at most 256'),
    ({'kind': 'line', 'points': '0.1:0.1 0.9:0.1 0.9:0.9'}, 'it has 3 points, expected are 2'),
    ({'kind': 'circle'}, 'neither zone nor line'),
    ({'name': ''}, '1 to 63 bytes'),
    ({'name': '\u2603' * 22}, '1 to 63 bytes'),
    ({'name': 'a\nb'}, 'control character'),
    ({'name': 'the "top"'}, 'its name is that of zone 1'),
    ({'was': 'nobody'}, "drawn a zone 'nobody'"),
    ({'was': 'the "top"'}, 'No viewer has drawn'),
)


class Looker(Page):
    """Keeps the zones that the page would draw."""
    zones = None

    async def take(self, kind=None, re_=None, seconds=20):
        message = await super().take(kind, re_, seconds)
        for other in [*self.others, message]:
            if other['type'] == 'zones':
                self.zones = other['zones']
        self.others.clear()
        return message

    async def names(self, wanted):
        """Waits for those that viewers have drawn."""
        await self.wait_for(lambda s: self.zones is not None and [z['name'] for z in self.zones if not z['fixed']] == wanted and
                            [z['name'] for z in s['zones'] if z['name'] != 'the "top"'] == wanted, f'the zones {wanted}')


async def do(page, op, **fields):
    reply = await page.ask(op, **fields)
    check(reply['type'] == 'done', f'{op} {fields} gives {reply}')


async def refuse(page):
    for fields, why in REFUSED:
        reply = await page.ask('zone', **{'kind': 'zone', 'name': 'a', 'points': ALL, **fields})
        check(reply['type'] == 'refused' and why in reply['why'], f'{fields} gives {reply}, expected {why}')
    reply = await page.ask('unzone', name='the "top"')
    check(reply['type'] == 'refused', f'a zone of the key is removed: {reply}')
    await page.names([])


def get_count(state, name):
    """Zeros until the state has the zone: it is told with the frame after the answer."""
    return next((zone for zone in state['zones'] if zone['name'] == name), {'inside': 0, 'toLeft': 0, 'toRight': 0})


async def count(page):
    """A box that moves by up to 160 px is in a zone around it, and crosses a line over and over."""
    await do(page, 'zone', kind='zone', name='all "of" it', points=ALL)
    await do(page, 'zone', kind='line', name='gate', points='0.45:0 0.45:1')
    await do(page, 'box', x=0.25, y=0.3, w=0.1, h=0.2)
    await page.wait_for(lambda s: get_count(s, 'all "of" it')['inside'] == 1, 'the object inside')
    state = await page.wait_for(lambda s: get_count(s, 'gate')['toLeft'] + get_count(s, 'gate')['toRight'] > 0, 'the crossing')
    # One who looks down the picture has its left half on the right hand.
    check(get_count(state, 'gate')['toLeft'] > 0, f'the first crossing is {get_count(state, "gate")}')
    check(get_count(state, 'the "top"') == {'name': 'the "top"', 'inside': 0, 'entered': 0, 'left': 0}, f'counts are {state["zones"]}')


async def undo(one, two):
    outline = [z for z in two.zones if z['name'] == 'gate'][0]['points']
    check(outline == [0.45, 0, 0.45, 1], f'the line is {outline}')
    fixed = [z for z in two.zones if z['fixed']][0]
    check(fixed['points'] == [0, 0, 1, 0, 1, 0.1, 0, 0.1], f'the zone in pixels is {fixed}')
    await do(one, 'zone', was='gate', kind='line', name='door', points='0.5:0 0.5:1')
    await two.names(['all "of" it', 'door'])
    await do(two, 'unzone', name='all "of" it')
    await one.names(['door'])
    state = await one.take('state')
    check(state['undo']['text'] == 'removed all "of" it' and state['undo']['large'], f'undo is {state["undo"]}')
    await do(one, 'back')
    await two.names(['all "of" it', 'door'])
    await do(two, 'back')
    await one.names(['all "of" it', 'gate'])


async def use(program, folder):
    async with Looker(program) as one, Looker(program) as two:
        await one.wait_for(lambda s: s['width'], 'the first frame')
        await refuse(one)
        check(not (folder / 'demo.zones').exists(), 'a refused zone is kept')
        await count(one)
        await two.names(['all "of" it', 'gate'])
        await undo(one, two)
        name = 'samtrack_zone_objects{camera="demo",zone="all \\"of\\" it"}'
        check(program.metrics()[name] == 1, 'the metrics do not count the object')
        kept = (folder / 'demo.zones').read_text()
        (folder / 'demo.zones').unlink()
        (folder / 'demo.zones').mkdir()
        reply = await one.ask('zone', kind='zone', name='b', points=ALL)
        check(reply['type'] == 'refused' and 'cannot be kept' in reply['why'], f'a zone that cannot be kept gives {reply}')
        await one.names(['all "of" it', 'gate'])
        (folder / 'demo.zones').rmdir()
        (folder / 'demo.zones').write_text(kept)


async def expect(program, wanted):
    async with Looker(program) as page:
        await page.names(wanted)


def restart(build, folder, arguments):
    with Program(build, *arguments) as program:
        asyncio.run(expect(program, ['all "of" it', 'gate']))
    for damage in ('[zone 1\n', '[zone 1]\nkind=zone\nname=a\n', '[zone 1]\nkind=zone\nname=a\npoints=0.1:0.1\n'):
        (folder / 'demo.zones').write_text(damage)
        with Program(build, *arguments) as program:
            asyncio.run(expect(program, []))
            check('event=zones-lost' in program.read_log(), f'the log is silent of {damage!r}')


LIST = '[...document.querySelectorAll("#zone-list li")].map(li => li.querySelector("input").value + ": " + li.querySelector("[data-part=count]").textContent)'
NOTICE = 'document.getElementById("notice").textContent'


async def draw(tab, program, out):
    await tab.open(program.page)
    await tab.wait_for('document.body.dataset.state === "live"', 60)
    box = await tab.run('document.getElementById("stage").getBoundingClientRect().toJSON()')

    async def click(*corners):
        for x, y in corners:
            await tab.click(box['x'] + box['width'] * x, box['y'] + box['height'] * y)
    await tab.run('document.querySelector("#draw [value=zone]").click()')
    await click((0.1, 0.1), (0.9, 0.9), (0.9, 0.1), (0.1, 0.9), (0.1, 0.1))
    await tab.wait_for(f'{NOTICE}.includes("cross each other")')
    for _ in range(3):
        await tab.key('Backspace')
    await click((0.9, 0.1), (0.9, 0.9), (0.1, 0.9))
    if out:
        await tab.screenshot(f'{out}/draft.png')
    await tab.key('Enter')
    await tab.wait_for(f'{LIST}.length === 1 && {LIST}[0].startsWith("zone 1: ") && document.getElementById("draft").hidden')
    await tab.wait_for('document.activeElement.value === "zone 1"')
    for letter in 'yard':
        await tab.key(letter)
    await tab.key('Enter')
    await tab.wait_for(f'{LIST}[0] === "yard: 0 inside, 0 entered"')
    await tab.run('document.querySelector("#draw [value=line]").click()')
    await tab.drag(box['x'] + box['width'] * 0.45, box['y'] + 2, box['x'] + box['width'] * 0.45, box['y'] + box['height'] - 4)
    await tab.wait_for(f'{LIST}.length === 2 && {LIST}[1] === "line 1: ← 0  → 0 crossed"')
    await tab.run('document.activeElement.blur()')
    await tab.drag(box['x'] + box['width'] * 0.25, box['y'] + box['height'] * 0.3, box['x'] + box['width'] * 0.35, box['y'] + box['height'] * 0.5)
    await tab.wait_for(f'{LIST}[0] === "yard: 1 inside, 1 entered" && /→ [1-9]/.test({LIST}[1])')
    if out:
        await tab.screenshot(f'{out}/zones.png')
    await tab.run('document.querySelector("#zone-list [data-part=remove]").click()')
    await tab.wait_for(f'{LIST}.length === 1 && {NOTICE}.startsWith("Removed yard")')
    await tab.run('document.getElementById("notice-undo").click()')
    await tab.wait_for(f'{LIST}.length === 2')
    check(not tab.errors, f'the page has errors: {tab.errors}')


async def browse(program, out):
    async with chromium.Tab(1280, 860) as tab:
        await draw(tab, program, out)


def main(build, out=None):
    os.environ['LD_LIBRARY_PATH'] = f'{build}/tests/scripted'
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arguments = ('--demo', '--set', f'zones={FIXED}', '--state-folder', name)
        with Program(build, *arguments) as program:
            program.wait_for_frames('demo')
            asyncio.run(use(program, folder))
        restart(build, folder, arguments)
    if not chromium.find():
        print('without chromium nothing is drawn in a page')
    else:
        with Program(build, '--demo') as program:
            asyncio.run(browse(program, out))
    print('ok')


if __name__ == '__main__':
    main(*sys.argv[1:])
