#!/usr/bin/python3
"""The page in a headless Chromium: click, correct, rename, save, remove, restore; on a phone, in the dark, by JPEGs.
usage: browser.py BUILD OUT_FOLDER     the screenshots stay in OUT_FOLDER"""
import asyncio
import json
import sys

import chromium
from film import DISC, make_film
from program import Page, Program, check, skip

try:
    import websockets
    import PIL
except ImportError as e:
    skip(str(e))

# Redness of the shown picture around a point of the frame: the first object is drawn in red.
REDNESS = '''(() => {
  const video = document.getElementById('video');
  const source = video.hidden ? document.getElementById('picture') : video;
  const canvas = document.createElement('canvas');
  canvas.width = 640; canvas.height = 360;
  const c = canvas.getContext('2d');
  c.drawImage(source, 0, 0, 640, 360);
  const d = c.getImageData(%d - 4, %d - 4, 8, 8).data;
  let sum = 0;
  for (let i = 0; i < d.length; i += 4) sum += d[i] - (d[i + 1] + d[i + 2]) / 2;
  return sum / 64;
})()'''
SHOWN = '(document.getElementById("video").videoWidth || document.getElementById("picture").naturalWidth) > 0'
ROWS = '[...document.querySelectorAll("#objects li")].map(li => [li.querySelector("input").value, li.className])'


async def locate(tab, x, y):
    box = json.loads(await tab.run('JSON.stringify(document.getElementById("stage").getBoundingClientRect())'))
    return box['x'] + box['width'] * x / 640, box['y'] + box['height'] * y / 360


async def select_disc(tab):
    """Its mask must come into the picture."""
    await tab.wait_for(f'{REDNESS % DISC} < 10')  # that of an object that was removed is gone
    await tab.click(*await locate(tab, *DISC))
    await tab.wait_for(f'{REDNESS % DISC} > 25')


async def use(tab, program, out):
    await tab.open(program.page)
    await tab.wait_for(SHOWN)
    check(await tab.run('location.search') == '', 'the address still shows the token')
    check(await tab.run('document.getElementById("picture").hidden'), 'the video does not come by WebRTC')
    await select_disc(tab)
    await tab.wait_for(f'JSON.stringify({ROWS}) === \'[["","tracked"]]\'')
    await tab.click(*await locate(tab, 100, 330), button='right')
    await tab.wait_for('document.querySelector("#objects .tracked")')
    await tab.run('document.querySelector("#objects input").select()')
    for letter in '<b>disc':
        await tab.key(letter)
    await tab.key('Enter')
    await tab.wait_for(f'{ROWS}[0][0] === "<b>disc"')
    async with Page(program) as page:
        state = await page.wait_for(lambda s: s['objects'] and s['objects'][0]['name'], 'the name')
        check(state['objects'][0]['name'] == '<b>disc', f'another page sees {state["objects"]}')
    check(await tab.run('document.querySelectorAll("#objects b").length') == 0, 'a name became markup')
    await tab.screenshot(f'{out}/page.png')
    await tab.run('document.activeElement.blur()')
    await tab.key('s')
    await tab.wait_for('/saved/.test(document.getElementById("notice").textContent)')
    await tab.key('Delete')
    await tab.wait_for(f'{ROWS}.length === 0')
    await tab.key('l')
    await tab.wait_for(f'{ROWS}.length === 1 && {ROWS}[0][0] === "<b>disc"')
    x, y = await locate(tab, 180, 180)
    await tab.mouse('mousePressed', x, y)
    await tab.mouse('mouseMoved', x + 100, y + 90)
    await tab.mouse('mouseReleased', x + 100, y + 90)
    await tab.wait_for(f'{ROWS}.length === 2')
    await tab.key('u')
    await tab.wait_for(f'{ROWS}.length === 1')
    await tab.resize(390, 844, mobile=True)
    await tab.wait_for('document.documentElement.scrollWidth <= 390')
    await tab.screenshot(f'{out}/phone.png')
    age = program.metrics()['samtrack_prompt_age_seconds{camera="disc"}']
    check(0 < age < 5, f'clicks carry frames of {age} s ago')


async def look_at_pictures(tab, program, out):
    """Without WebRTC."""
    await tab.call('Page.addScriptToEvaluateOnNewDocument', source='delete window.RTCPeerConnection')
    await tab.open(program.page)
    await tab.wait_for(SHOWN)
    check(await tab.run('document.getElementById("video").hidden'), 'the picture is not shown')
    await tab.key('c')
    await tab.wait_for(f'{ROWS}.length === 0')
    await select_disc(tab)
    await tab.screenshot(f'{out}/dark.png')


async def main(build, out):
    with Program(build, f'disc={make_film(out)}') as program:
        program.wait_for_frames('disc')
        for dark, work in ((False, use), (True, look_at_pictures)):
            async with chromium.Tab(dark=dark) as tab:
                try:
                    await work(tab, program, out)
                except AssertionError:
                    await tab.screenshot(f'{out}/failed.png')
                    raise
                check(not tab.errors, f'the page has errors: {tab.errors}')
        program.wait_for(lambda m: m['samtrack_viewers{kind="page"}'] == m['samtrack_viewers{kind="mjpeg"}'] == 0,
                         'the end of the viewers')
    print('ok')


if not chromium.find():
    skip('there is no Chromium')
asyncio.run(main(*sys.argv[1:]))
