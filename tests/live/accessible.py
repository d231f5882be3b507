#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""axe-core finds nothing in the page's states by WCAG 2.2 AA, in light and dark, wide and on a phone; a point is placed, and a line
drawn, by keys alone; shortcuts can be switched off; nothing moves where motion is not wanted.
usage: accessible.py BUILD PYTHON_FOLDER [OUT_FOLDER]     axe-core is in the PYTHON_FOLDER"""
import asyncio
import contextlib
import json
import os
import pathlib
import sys

import chromium
from program import ROOT, Program, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

AXE = 'axe_playwright_python/axe.min.js'
TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
ROWS = 'document.querySelectorAll("#objects li").length'
SLOW = 90  # s: for a busy machine
CURSOR = 'document.getElementById("cursor")'


class Judge:
    def __init__(self, axe, out):
        self.axe, self.out, self.faults = axe, out, []

    async def look(self, tab, name):
        """Of the page as it is. The video's canvases have no text."""
        if not await tab.run('typeof axe === "object"'):
            await tab.call('Runtime.evaluate', expression=self.axe)
        found = await tab.run(f'axe.run(document, {{ runOnly: {json.dumps(TAGS)}, resultTypes: ["violations"] }}).then((r) => '
                              'r.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target + " " + '
                              '(n.any[0]?.message ?? "")).join(" | ")}`))')
        if self.out:
            await tab.screenshot(f'{self.out}/{name}.png')
        self.faults += [f'{name}: {fault}' for fault in found]


    async def look_at_state(self, tab, state, kind):
        for _ in range(9):  # the page may say meanwhile that it is lost
            await tab.run(f'document.body.dataset.state = "{state}"')
            await tab.run('(() => { const banner = document.getElementById("banner"); banner.hidden = false; '
                          f'banner.textContent = banner.dataset["{state}"] ?? "?"; }})()')
            before = list(self.faults)
            await self.look(tab, f'{state}-{kind}')
            if await tab.run(f'document.body.dataset.state === "{state}"'):
                return
            self.faults = before
        check(False, f'the state {state} does not last')


async def click_there(tab):
    """A click into a moment without frames, as a busy machine has them, has no effect: then once more."""
    for _ in range(4):
        await tab.wait_for('document.body.dataset.state === "live"', SLOW)
        await tab.key('Enter')
        with contextlib.suppress(AssertionError):
            return await tab.wait_for(f'{ROWS} === 1', SLOW / 3)
    check(False, 'the key clicks nothing')


async def use_keys(tab):
    """The cursor of the keyboard begins in the middle, and clicks there."""
    await tab.run('document.getElementById("stage").focus()')
    await tab.key('ArrowLeft')
    await tab.wait_for(f'!{CURSOR}.hidden')
    for _ in range(3):
        await tab.key('ArrowDown')
    await click_there(tab)
    for corner in range(2):
        if not corner:
            await tab.run('document.querySelector("#draw [value=line]").click(), document.getElementById("stage").focus()')
        await tab.key('ArrowRight')
        await tab.key('ArrowRight')
        await tab.key('Enter')
    await tab.wait_for('document.querySelectorAll("#zone-list li").length === 1', SLOW)
    await tab.run('document.activeElement.blur()')
    await tab.wait_for(f'{CURSOR}.hidden')


async def switch_off(tab):
    """Without shortcuts a letter does nothing; Ctrl-Z and the cursor work all the same."""
    await tab.run('document.getElementById("keys").open = true, document.getElementById("shortcuts").click()')
    await tab.run('document.activeElement.blur()')
    await tab.key('c')
    await tab.key('?')
    check(await tab.run(f'document.getElementById("keys").open && {ROWS} === 1'), 'a shortcut that is switched off works')
    await tab.run('window.before = 1, location.reload()')
    await tab.wait_for('!window.before && document.body?.dataset.state === "live"', 60)
    await tab.key('?')
    check(await tab.run('!document.getElementById("keys").open && !document.getElementById("shortcuts").checked'), 'it is forgotten')
    await tab.run('document.getElementById("shortcuts").click(), document.activeElement.blur()')
    await tab.wait_for(f'{ROWS} === 1')
    await tab.key('c')
    await tab.wait_for(f'{ROWS} === 0', SLOW)


async def judge_others(tab, program, judge, kind):
    """The pages of all cameras and of events."""
    for page, ready in (('cameras', 'document.querySelector(".says")?.textContent'), ('events?camera=demo', 'document.querySelector("#grid time")?.textContent')):
        name = page.split('?')[0]
        await tab.open(f'http://127.0.0.1:{program.port}/live-{program.port}/{page}')
        await tab.wait_for(f'!!{ready}', SLOW)
        await tab.wait_for('document.querySelector("#grid img").naturalWidth > 1', SLOW)
        await judge.look(tab, f'{name}-{kind}')
        await tab.resize(320, 640, mobile=True)
        await tab.wait_for('document.documentElement.scrollWidth <= 320')
        await judge.look(tab, f'{name}-phone-{kind}')
        await tab.resize(1280, 860)
    await tab.open(f'http://127.0.0.1:{program.port}/live-{program.port}/')
    await tab.wait_for('document.body.dataset.state === "live"', 60)


async def check_picture(tab):
    """It has the width of an upright phone, and nearly the height of one on its side."""
    for width, height, least in ((320, 640, 290), (390, 844, 360), (768, 1024, 720), (844, 390, 600)):
        await tab.resize(width, height, mobile=True)
        await tab.wait_for('document.documentElement.scrollWidth <= innerWidth')
        across, down = await tab.run('(({ width, height }) => [width, height])(document.getElementById("stage").getBoundingClientRect())')
        check(across >= least and abs(across / down - 16 / 9) < 0.2, f'the picture is {across} x {down} px on a screen of {width} x {height}')


async def judge_states(program, judge, dark):
    kind = 'dark' if dark else 'light'
    async with chromium.Tab(1280, 860, dark=dark) as tab:
        await tab.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': kind},
                                                               {'name': 'prefers-reduced-motion', 'value': 'reduce'}])
        await tab.open(program.page.replace(f'token={program.token}', 'token=wrong'))
        await tab.wait_for('document.getElementById("token")')
        await judge.look(tab, f'token-{kind}')
        await tab.open(program.page)
        await tab.wait_for('document.body.dataset.state === "live"', 60)
        await judge.look(tab, f'empty-{kind}')
        await use_keys(tab)
        await tab.run('document.getElementById("open-saves").click(), document.getElementById("keys").open = true')
        await tab.wait_for('!document.getElementById("saves").hidden')  # its script comes when it is first asked for
        await tab.run('document.getElementById("save-form").requestSubmit()')
        await tab.wait_for('document.querySelectorAll("#save-list li").length', SLOW)
        await judge.look(tab, f'full-{kind}')
        await check_picture(tab)
        await tab.resize(320, 640, mobile=True)
        await tab.wait_for('document.documentElement.scrollWidth <= 320')
        await tab.run('document.querySelector("#draw [value=zone]").click()')
        await judge.look(tab, f'phone-{kind}')
        await tab.resize(1280, 860)
        await tab.run('document.querySelector("#draft [value=cancel]").click()')
        check(await tab.run('document.getAnimations().every((a) => a.effect.getComputedTiming().duration <= 1)'), 'something moves')
        await switch_off(tab)
        await judge_others(tab, program, judge, kind)
        # What the page would say in states that a test cannot bring about, or not for long.
        await tab.run('window.WebSocket = class { send() {} }, 1')
        program.stop()
        await tab.wait_for('document.body.dataset.state === "lost"')
        await tab.run('(() => { for (let i = setTimeout(() => {}); i; i--) clearTimeout(i); })()')
        for state in ('lost', 'offline', 'refused', 'loading', 'gone', 'waiting'):
            await judge.look_at_state(tab, state, kind)
        errors = [e for e in tab.errors if 'Failed to load resource' not in e]  # without the token, and without the program
        check(not errors, f'the page has errors: {errors}')


def main(build, folder, out=None):
    axe = pathlib.Path(folder, AXE)
    if not axe.exists():
        skip(f'there is no {axe}: tools/setup.sh test installs it')
    if not chromium.find():
        skip('there is no chromium')
    os.environ['LD_LIBRARY_PATH'] = f'{build}/tests/scripted'
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    judge = Judge(axe.read_text(encoding='utf-8'), out)
    for dark in (False, True):
        with Program(build, '--demo') as program:
            asyncio.run(judge_states(program, judge, dark))
    check(not judge.faults, '\n'.join(['axe-core finds:', *judge.faults]))
    print('ok')


if __name__ == '__main__':
    main(*sys.argv[1:])
