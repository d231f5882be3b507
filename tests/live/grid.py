#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The grid of cameras in a headless browser: their states and pictures, the way to a camera's page and back, cameras that come and
go, a phone's width, the dark, a wrong token. usage: grid.py BUILD OUT_FOLDER     the screenshots stay in OUT_FOLDER"""
import asyncio
import os
import sys

import chromium
from program import ROOT, Program, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))
if not chromium.find():
    skip('there is no Chromium')

BOX = 'box,x=0.2,y=0.25,w=0.25,h=0.25,normalized=true'
CARDS = '[...document.querySelectorAll("#grid li")]'
# Of each card: name, state, what it says, whether it has a picture, where it leads.
READ = f'''{CARDS}.map((c) => [c.querySelector("b").textContent, c.dataset.state, c.querySelector(".state").textContent, c.querySelector(".says").textContent,
  c.querySelector("img").src.startsWith("http") && c.querySelector("img").naturalWidth, c.querySelector("a").getAttribute("href")])'''
# The least contrast of a text on its card, as WCAG 2 has it.
CONTRAST = f'''(() => {{
  const light = (colour) => colour.match(/\\d+/g).slice(0, 3).map((v) => (v /= 255, v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  return Math.min(...{CARDS}.flatMap((c) => [...c.querySelectorAll("b, span")].map((t) => {{
    const [a, b] = [getComputedStyle(t).color, getComputedStyle(t.parentElement).backgroundColor].map(light);
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  }})));
}})()'''


async def read(tab):
    return {name: rest for name, *rest in await tab.run(READ)}


async def see(tab, program, out, name):
    await tab.open(f'http://127.0.0.1:{program.port}/live-{program.port}/cameras?token={program.token}')
    await tab.wait_for(f'{CARDS}.length === 3 && {CARDS}.filter((c) => c.querySelector("img").naturalWidth === 320).length === 2 && '
                       'document.querySelector(".says").textContent.includes("tracked")')
    cards = await read(tab)
    check(list(cards) == ['door', 'yard', 'away'], f'the cards are {cards}')
    state, words, says, picture, href = cards['door']
    check((state, words, picture, href) == ('live', 'live', 320, 'camera/door/') and 'object' in says, f'the door is {cards["door"]}')
    check(cards['yard'][0] == 'live' and 'nothing is tracked' in cards['yard'][2], f'the yard is {cards["yard"]}')
    state, words, says, picture, _ = cards['away']
    check((state, picture) == ('waiting', False) and 'waiting' in words and '/dev/video97' in says, f'the camera that is away is {cards["away"]}')
    check(await tab.run('location.search') == '', 'the address shows the token')
    contrast = await tab.run(CONTRAST)
    check(contrast >= 4.5, f'{name}: a text has a contrast of {contrast:.2f}')
    width = await tab.run('document.documentElement.scrollWidth')
    check(width <= tab.size[0], f'{name}: the page is {width} px wide')
    await tab.screenshot(f'{out}/grid-{name}.png')
    check(not tab.errors, f'{name}: the browser complains: {tab.errors}')


async def walk(tab, program):
    """By the keyboard to a camera's page, which is of that camera, and back."""
    await tab.run('document.querySelectorAll("#grid a")[1].focus()')
    await tab.call('Input.dispatchKeyEvent', type='keyDown', key='Enter', code='Enter', windowsVirtualKeyCode=13, text='\r')
    await tab.wait_for('location.pathname.endsWith("/camera/yard/") && document.querySelector("#cameras button")')
    names = '[...document.querySelectorAll("#cameras button")].map((b) => b.textContent + b.getAttribute("aria-pressed")).join()'
    await tab.wait_for(f'{names} === "yardtrue,doorfalse,awayfalse"')
    await tab.wait_for('["live", "waiting"].includes(document.body.dataset.state) && document.getElementById("picture").width > 0')
    check(await tab.run('getComputedStyle(document.getElementById("all")).display') != 'none', 'nothing leads back')
    await tab.run('document.getElementById("all").click()')
    await tab.wait_for(f'location.pathname.endsWith("/cameras") && {CARDS}.length === 3')
    check(not tab.errors, f'the browser complains: {tab.errors}')


async def change(tab, program):
    """Cards come and go with their cameras; the end of the program is told."""
    check(program.ask('DELETE', '/api/cameras/yard')[0] == 204, 'a camera cannot be removed')
    await tab.wait_for(f'{CARDS}.map((c) => c.querySelector("b").textContent).join() === "door,away"')
    check(program.ask('POST', '/api/cameras', {'name': 'new', 'source': 'test', 'max-objects': 2})[0] == 201, 'a camera cannot be added')
    await tab.wait_for(f'{CARDS}.map((c) => c.querySelector("b").textContent).join() === "door,away,new"')
    for name in ('door', 'away', 'new'):
        check(program.ask('DELETE', f'/api/cameras/{name}')[0] == 204, 'a camera cannot be removed')
    await tab.wait_for(f'{CARDS}.length === 0 && getComputedStyle(document.getElementById("none")).display !== "none"')
    program.stop()
    await tab.wait_for('document.body.dataset.state === "lost" && document.getElementById("link").textContent.includes("connection lost")')


async def ask_for_token(program):
    async with chromium.Tab() as tab:
        await tab.open(f'http://127.0.0.1:{program.port}/live-{program.port}/camera/door/')
        await tab.run('document.getElementById("token").value = "test-token"; document.querySelector("form").submit()')
        await tab.wait_for('location.pathname.endsWith("/camera/door/") && document.querySelector("#cameras button")')


async def main(build, out):
    os.environ['LD_LIBRARY_PATH'] = f'{build}/tests/scripted'
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    with Program(build, 'door=demo', 'yard=test', 'away=/dev/video97', '--set', 'max-objects=2', '--set', 'framerate=5',
                 '--set', f'door.initial-prompt={BOX}', cameras=3) as program:
        program.wait_for_frames('door')
        program.wait_for_frames('yard')
        async with chromium.Tab(320, 900, dark=True) as tab:
            await see(tab, program, out, 'phone')
        await ask_for_token(program)
        async with chromium.Tab(1280, 800) as tab:
            await see(tab, program, out, 'wide')
            await walk(tab, program)
            await change(tab, program)
    print('ok')


asyncio.run(main(*sys.argv[1:3]))
