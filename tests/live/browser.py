#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The page in a headless browser: click a moving thing, correct, rename, save, remove, restore, download, record; on a phone, in
the dark, by JPEGs. usage: browser.py BUILD OUT_FOLDER chromium|firefox     the screenshots stay in OUT_FOLDER"""
import asyncio
import http.server
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading

from film import DISC, RADIUS, make_film
from program import Page, Program, check, skip

try:
    import websockets
    import PIL
except ImportError as e:
    skip(str(e))

# Of what is shown, as 640x360: white(), the number of pixels that a click would take; red(), the number of pixels in the colour of the first object's mask; find(), the middle of
# what is bright in the picture, the disc, in CSS pixels of the page; apart(), how far from it the middle of the mask is, px,
# if masks are opaque.
EYES = '''window.eyes = (() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 360 });
  const c = canvas.getContext('2d', { willReadFrequently: true });
  const look = (test, ...layers) => {
    c.clearRect(0, 0, 640, 360);
    for (const layer of layers)
      c.drawImage(document.getElementById(layer), 0, 0, 640, 360);
    const d = c.getImageData(0, 0, 640, 360).data;
    let n = 0, x = 0, y = 0;
    for (let i = 0; i < d.length; i += 4) {
      if (!test(d[i], d[i + 1], d[i + 2])) continue;
      n++;
      x += i / 4 % 640;
      y += i / 4 / 640;
    }
    return { n, x: x / n, y: y / n };
  };
  const bright = () => look((r, g, b) => Math.min(r, g, b) > 170, 'picture');
  return {
    white: () => look((r, g, b) => Math.min(r, g, b) > 200, 'overlay').n,
    red: () => look((r, g, b) => r - (g + b) / 2 > 20, 'picture', 'overlay').n,
    apart: () => {
      const disc = bright(), mask = look((r, g, b) => r > 250 && Math.abs(g - 59) < 9 && Math.abs(b - 48) < 9, 'overlay');
      return Math.hypot(disc.x - mask.x, disc.y - mask.y);
    },
    find: () => {
      const at = bright();
      const box = document.getElementById('stage').getBoundingClientRect();
      return { x: box.x + box.width * at.x / 640, y: box.y + box.height * at.y / 360, column: at.x };
    },
  };
})()'''
# A machine that is busy for half a second clicks on a frame that is not held any more, and beside the disc: in another try it does
# not. A fault of the page shows in each.
TRIES = 4
SHOWN = 'document.getElementById("stage").classList.contains("shown")'
ROWS = '[...document.querySelectorAll("#objects li")].map(li => [li.querySelector("input").value, li.className])'
EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

# Clicks on the disc where it was so many ms ago, on the frame of then: nothing is drawn while the script waits.
CLICK = '''(() => {
  const at = eyes.find(), stage = document.getElementById('stage');
  const end = performance.now() + %d;
  while (performance.now() < end);
  stage.setPointerCapture = () => {};
  for (const kind of ['pointerdown', 'pointerup'])
    stage.dispatchEvent(new PointerEvent(kind, { clientX: at.x, clientY: at.y, pointerId: 1, isPrimary: true, button: 0,
      pointerType: 'mouse', bubbles: true }));
})()'''


# The mouse, or a finger, comes to the disc.
MOVE = '''(() => {
  const at = eyes.find();
  document.getElementById('stage').dispatchEvent(new PointerEvent('pointermove', { clientX: at.x, clientY: at.y, bubbles: true,
    pointerType: 'KIND', isPrimary: true }));
})()'''


def answer(handler, link):
    handler.send_response(200)
    handler.send_header('Content-Type', 'text/html')
    handler.end_headers()
    handler.wfile.write(f'<link rel=icon href="data:,"><a href="{link}">look at this</a>'.encode())


async def locate(tab, x, y):
    box = await tab.run('document.getElementById("stage").getBoundingClientRect().toJSON()')
    return box['x'] + box['width'] * x / 640, box['y'] + box['height'] * y / 360


async def begin(tab, program):
    """By a click on the printed address, on a page of another site."""
    handler = type('Mail', (http.server.BaseHTTPRequestHandler,), {'do_GET': lambda self: answer(self, program.page),
                                                                   'log_message': lambda *_: None})
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as mail:
        threading.Thread(target=mail.serve_forever, daemon=True).start()
        await tab.open(f'http://localhost:{mail.server_port}/')
        box = await tab.run('document.querySelector("a").getBoundingClientRect().toJSON()')
        await tab.click(box['x'] + 5, box['y'] + 5)
        await tab.wait_for('document.getElementById("video") && document.readyState === "complete"')
        mail.shutdown()
    await tab.wait_for(SHOWN)
    await tab.run(f'({EYES}) && 1')


async def click_disc(tab):
    """By a script: until a loaded machine clicks, the disc is elsewhere. Before the first picture it is nowhere."""
    await tab.wait_for(f'eyes.find().column >= 0 && ({CLICK % 0}, true)')


async def look(tab, out):
    """What a click would take is shown under the mouse, and nothing is begun; a finger is shown nothing."""
    for kind, shown in (('mouse', True), ('touch', False)):
        await tab.run('document.getElementById("stage").dispatchEvent(new PointerEvent("pointerleave"))')
        await tab.wait_for('eyes.white() === 0')
        move = MOVE.replace('KIND', kind)
        if shown:
            await tab.wait_for(f'{move}, eyes.white() > {RADIUS * RADIUS * 2}')
            await tab.screenshot(f'{out}/look.png')
        else:
            for _ in range(4):
                await tab.run(f'{move}, new Promise((resolve) => setTimeout(resolve, 200))')
                check(await tab.run('eyes.white() === 0'), 'a finger is shown what a click would take')
    check(await tab.run(f'{ROWS}.length === 0'), 'a look begins an object')


async def select_disc(tab):
    """Its mask must come into the picture."""
    await tab.wait_for('eyes.red() < 50')  # that of an object that was removed is gone
    await click_disc(tab)
    await tab.wait_for(f'eyes.red() > {RADIUS * RADIUS * 2}')


async def compare_places(tab, mode):
    """How far masks and the moving disc are apart on the screen, px: median."""
    apart = []
    await tab.run(f'document.querySelector("#modes [value={mode}]").click()')
    await tab.run('document.getElementById("opacity").value = 100, '
                  'document.getElementById("opacity").dispatchEvent(new Event("input"))')
    await tab.wait_for('eyes.apart() >= 0')
    if mode == 'sync':  # from the next tracked frame on
        await tab.wait_for('document.getElementById("age").textContent === "0 ms"')
    for _ in range(9):
        apart.append(await tab.run('new Promise((resolve) => setTimeout(() => resolve(eyes.apart()), 130))'))
    await tab.run('document.getElementById("opacity").value = 45, '
                  'document.getElementById("opacity").dispatchEvent(new Event("input"))')
    print(mode, *(f'{d:.2f}' for d in apart))
    return statistics.median(apart)


async def choose(tab, program):
    """The answers to the click, by key and by button."""
    pressed = 'document.querySelector("#answers [aria-pressed=true]")?.value'
    await tab.wait_for('document.querySelectorAll("#answers button").length === 3')
    async with Page(program) as page:
        state = await page.wait_for(lambda s: s['objects'] and 'taken' in s['objects'][0], 'the answers')
        check(all(answer['area'] and answer['iou'] for answer in state['objects'][0]['answers']), f'{state["objects"]}')
        for _ in range(2):
            taken = state['objects'][0]['taken']
            await tab.key('a')
            state = await page.wait_for(lambda s: s['objects'][0].get('taken') == taken % 3 + 1, 'the next answer')
            await tab.wait_for(f'{pressed} === "{taken % 3 + 1}"')
        for answer in (1, 3, 2):
            await tab.run(f'document.querySelector("#answers [value=\'{answer}\']").click()')
            await page.wait_for(lambda s: s['objects'][0].get('taken') == answer, f'answer {answer}')
        reply = await page.ask('take', id=state['objects'][0]['id'], answer=0)
        check(reply['type'] == 'refused' and 'answer 0' in reply['why'], f'answer 0 gives {reply}')


async def choose_late(tab, program):
    """The tracker holds the frame of the click no more: the click is repeated where the disc is now."""
    async with Page(program) as page:
        state = await page.wait_for(lambda s: 'taken' in s['objects'][0], 'the answers')
        start, wanted = state['inferred'], state['objects'][0]['taken'] % 3 + 1
        await page.wait_for(lambda s: s['inferred'] > start + 10, 'tracked frames')
        await tab.key('a')
        state = await page.wait_for(lambda s: s['objects'][0].get('taken') == wanted, 'the late answer')
        start = state['inferred']
        state = await page.wait_for(lambda s: s['inferred'] > start + 3, 'tracked frames')
        check(0.5 < state['objects'][0]['area'] / (3.14 * RADIUS ** 2) < 1.5, f'a late answer makes {state["objects"]} of the disc')


async def rename(tab, program):
    """Markup in a name stays text, in this page and in others."""
    await tab.run('document.activeElement.blur()')
    await tab.key('Enter')
    for letter in '<b>disc':
        await tab.key(letter)
    await tab.key('Enter')
    await tab.wait_for(f'{ROWS}[0][0] === "<b>disc"')
    async with Page(program) as page:
        state = await page.wait_for(lambda s: s['objects'] and s['objects'][0]['name'] == '<b>disc', 'the name')
        evil = await page.ask('rename', id=state['objects'][0]['id'], name=EVIL[:64])
        check(evil['type'] == 'done', f'a name with markup gives {evil}')
        await tab.wait_for(f'{ROWS}[0][0].startsWith("<img")')
        await page.ask('rename', id=state['objects'][0]['id'], name='<b>disc')
    await tab.wait_for(f'{ROWS}[0][0] === "<b>disc"')
    check(await tab.run('window.hacked === undefined && !document.querySelector("#objects b, #objects img")'),
          'a name became markup')


async def keep(tab, out):
    """Saves, removes, restores, undoes."""
    await tab.run('document.activeElement.blur()')
    await tab.key('s')
    await tab.wait_for('/saved/.test(document.getElementById("notice").textContent)')
    await tab.key('Delete')
    await tab.wait_for(f'{ROWS}.length === 0')
    await tab.key('l')
    await tab.wait_for(f'{ROWS}.length === 1 && {ROWS}[0][0] === "<b>disc"')
    # One letter removes all, and a button brings it back.
    await tab.key('c')
    await tab.wait_for(f'{ROWS}.length === 0 && !document.getElementById("notice-undo").hidden')
    await tab.screenshot(f'{out}/undo.png')
    await tab.run('document.getElementById("notice-undo").click()')
    await tab.wait_for(f'{ROWS}.length === 1 && {ROWS}[0][0] === "<b>disc"')
    await tab.run('document.getElementById("open-saves").click()')
    await tab.wait_for('document.querySelectorAll("#save-list li").length')  # after a minute with an autosave
    await tab.screenshot(f'{out}/saves.png')
    await tab.run('document.getElementById("open-saves").click()')


async def remove_twice(tab, program):
    """This page and another remove the same object: one is told that it is gone, and both go on."""
    async with Page(program) as page:
        id_ = (await page.wait_for(lambda s: s['objects'], 'the object'))['objects'][-1]['id']
        reply, _ = await asyncio.gather(
            page.ask('remove', id=id_), tab.run(f'document.querySelector(\'[aria-label="Remove object {id_}"]\').click()'))
        await tab.wait_for(f'{ROWS}.length === 0')
        await tab.wait_for(f'!document.getElementById("notice").hidden || "{reply["type"]}" === "refused"')
        await page.wait_for(lambda s: not s['objects'], 'the removal')


async def download(tab, folder):
    """The buttons yield files."""
    for button, name in (('coco', 'disc.json'), ('lines', 'disc.jsonl')):
        path = f'{folder}/{name}'
        if os.path.exists(path):
            os.unlink(path)
        await tab.wait_for(f'document.getElementById("{button}").hasAttribute("href")')
        box = await tab.run(f'document.getElementById("{button}").getBoundingClientRect().toJSON()')
        await tab.click(box['x'] + box['width'] / 2, box['y'] + box['height'] / 2)
        for _ in range(200):
            if os.path.exists(path) and os.path.getsize(path) and not os.path.exists(path + '.part'):
                break
            await asyncio.sleep(0.1)
        with open(path, encoding='utf-8') as file:
            text = file.read()
        check('<b>disc' in text, f'{name} does not name the object')
        first = json.loads(text if button == 'coco' else text.splitlines()[0])
        check('annotations' in first if button == 'coco' else 'mask_time' in first, f'{name} holds {text[:200]}')


async def record(tab, folder):
    """A film of the page's picture with the mask on it, as the browser records it, plays."""
    if await tab.run('document.getElementById("film").hidden'):
        print('the browser cannot record')
        return
    for path in pathlib.Path(folder).glob('disc.2*'):
        path.unlink()
    await tab.run('document.getElementById("film").click()')
    await tab.wait_for('/: [2-9] s/.test(document.getElementById("film").textContent)')
    check(await tab.run('document.getElementById("film").getAttribute("aria-pressed")') == 'true', 'the button is not pressed')
    await tab.run('document.getElementById("film").click()')
    await tab.wait_for('document.getElementById("film").textContent === "Record film"')
    for _ in range(200):
        found = [path for path in pathlib.Path(folder).glob('disc.2*') if path.suffix in ('.mp4', '.webm') and path.stat().st_size]
        if found:
            break
        await asyncio.sleep(0.1)
    check(len(found) == 1, f'films are {found}')
    shots = pathlib.Path(folder, 'film')
    shots.mkdir(exist_ok=True)
    for path in shots.iterdir():
        path.unlink()
    subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={found[0]}', '!', 'decodebin', '!', 'videoconvert', '!', 'video/x-raw,format=RGB', '!',
                    'jpegenc', '!', 'multifilesink', f'location={shots}/%03d.jpg'], check=True, timeout=60)
    last = sorted(shots.iterdir())[-1]
    from PIL import Image
    with Image.open(last) as image:
        red = sum(r > g + 60 and r > b + 60 for r, g, b in image.convert('RGB').getdata())
        check(image.size == (640, 360) and len(list(shots.iterdir())) > 10, f'{len(list(shots.iterdir()))} frames of {image.size}')
    check(red > 1000, f'{red} pixels of the film show the mask')


async def use(tab, program, out):
    await begin(tab, program)
    check(await tab.run('location.search') == '', 'the address still shows the token')
    by_webrtc = await tab.run('document.getElementById("video").srcObject !== null')
    print('the video comes by', 'WebRTC' if by_webrtc else 'JPEGs')
    await look(tab, out)
    await select_disc(tab)
    await tab.wait_for(f'JSON.stringify({ROWS}) === \'[["","tracked"]]\'')
    await choose(tab, program)
    await choose_late(tab, program)
    apart = {mode: await compare_places(tab, mode) for mode in ('live', 'sync')}
    print('mask and disc are apart by', ', '.join(f'{px:.2f} px {mode}' for mode, px in apart.items()))
    # The model's own error is below 2 px; masks of the frame before would be up to 11 px off, 7 in the median.
    check(apart['sync'] < 4, f'masks that are in sync are {apart["sync"]} px beside the disc')
    await tab.click(*await locate(tab, 600, 330), button='right')
    await tab.wait_for('document.querySelector("#objects .tracked")')
    await rename(tab, program)
    await tab.screenshot(f'{out}/page.png')
    await keep(tab, out)
    x, y = await locate(tab, 420, 180)
    await tab.drag(x, y, x + 100, y + 90)
    await tab.wait_for(f'{ROWS}.length === 2')
    # A click on an object selects it.
    await click_disc(tab)
    await tab.wait_for('document.querySelector("#objects [aria-current=true] input")?.value === "<b>disc"')
    await tab.key('ArrowDown')
    await tab.wait_for(f'{ROWS}.length === 2 && document.querySelector("#objects [aria-current=true] input")?.value === ""')
    await tab.key('u')
    await tab.wait_for(f'{ROWS}.length === 1')
    await download(tab, out)
    await record(tab, out)
    await remove_twice(tab, program)
    await tab.resize(390, 844, mobile=True)
    await tab.wait_for('document.documentElement.scrollWidth <= 390')
    await tab.screenshot(f'{out}/phone.png')
    age = program.metrics()['samtrack_prompt_age_seconds{camera="disc"}']
    check(0 < age < 5, f'clicks carry frames of {age} s ago')
    return by_webrtc


async def use_pictures(tab, program, out):
    """Without WebRTC. A click on a frame that has passed lands where the disc was on it."""
    await tab.before_load('delete window.RTCPeerConnection')
    await begin(tab, program)
    check(await tab.run('document.getElementById("video").srcObject === null'), 'the video comes by WebRTC')
    await tab.key('c')
    await tab.wait_for(f'{ROWS}.length === 0')
    await tab.wait_for('eyes.red() < 50')
    # In the middle of its swing the disc moves by more than its radius before the click.
    await tab.wait_for(f'Math.abs(eyes.find().column - {DISC[0]}) < 50 && ({CLICK % 250}, true)')
    await tab.wait_for(f'{ROWS}.length === 1')
    async with Page(program) as page:
        state = await page.wait_for(lambda s: s['objects'] and s['objects'][0]['area'], 'the mask')
    disc = state['objects'][0]
    check(0.5 < disc['area'] / (3.14 * RADIUS ** 2) < 1.5 and disc['w'] < 3 * RADIUS and disc['h'] < 3 * RADIUS,
          f'a click on an older picture does not select the disc of {RADIUS} px but {disc}')
    await tab.screenshot(f'{out}/dark.png')


async def pose(browser, build, out):
    """The picture of the documentation."""
    with Program(build, '--demo', '--initial-prompt',
                 'point,x=480,y=190;point,x=190,y=92;box,x=245,y=221,w=95,h=94') as program:
        async with browser.Tab(1280, 740) as tab, Page(program) as page:
            await tab.open(program.page)
            await tab.wait_for(SHOWN)
            state = await page.wait_for(lambda s: len(s['objects']) == 3, 'the objects')
            for thing, name in zip(state['objects'], ('walker', 'fish', 'ball')):
                await page.ask('rename', id=thing['id'], name=name)
            await tab.wait_for(f'{ROWS}.every(row => row[0])')
            await page.wait_for(lambda s: s['annotations']['pictures'] > 1, 'pictures of a data set', 60)
            await asyncio.sleep(1.5)  # the graphs need values
            await tab.screenshot(f'{out}/live.png')


STATE = 'document.body?.dataset.state'
BANNER = 'document.getElementById("banner").textContent'


async def explain(browser, build, out):
    """What the page says where it has nothing to show: each state another thing, and no old value as one of now."""
    with open(f'{out}/one.conf', 'w', encoding='utf-8') as file:
        file.write('[live]\nmax-viewers=1\n[camera demo]\nsource=demo\n')
    with Program(build, '--config', f'{out}/one.conf') as program:
        async with browser.Tab(1280, 740) as tab:
            await tab.open(program.page.replace(f'token={program.token}', 'token=wrong'))
            await tab.wait_for('document.getElementById("token")')
            await tab.screenshot(f'{out}/token.png')
            await tab.run(f'document.getElementById("token").value = "{program.token}", document.querySelector("form").submit()')
            await tab.wait_for(f'{STATE} === "live"', 60)
            check(await tab.run('location.search') == '', 'the address still shows the token')
            await tab.wait_for('document.getElementById("delay").textContent.endsWith(" ms")')
            async with browser.Tab(390, 844) as other:
                await other.open(program.page)
                await other.wait_for(f'{STATE} === "refused" && {BANNER}.includes("too many viewers")')
                await other.screenshot(f'{out}/refused.png')
            # In one: the next state that comes ends it.
            await tab.run(f'(window.dispatchEvent(new Event("offline")), {STATE} === "offline") || Promise.reject(new Error({STATE}))')
            await tab.wait_for(f'{STATE} === "live"')
            program.stop()
            await tab.wait_for(f'{STATE} === "lost" && document.getElementById("delay").textContent === "–"')
            await tab.screenshot(f'{out}/lost.png')


async def run(browser, program, out, dark, work):
    async with browser.Tab(dark=dark, downloads=out) as tab:
        try:
            result = await work(tab, program, out)
        except AssertionError:
            await tab.screenshot(f'{out}/failed.png')
            raise
        check(not tab.errors, f'the page has errors: {tab.errors}')
        return result


async def try_all(browser, build, film, out, name):
    with Program(build, f'disc={film}') as program:
        program.wait_for_frames('disc')
        by_webrtc = await run(browser, program, out, False, use)
        check(by_webrtc or name != 'chromium', 'the video does not come by WebRTC')
        await run(browser, program, out, True, use_pictures)
        program.wait_for(lambda m: m['samtrack_viewers{kind="page"}'] == m['samtrack_viewers{kind="mjpeg"}'] == 0,
                         'the end of the viewers')


async def main(build, out, name):
    browser = importlib.import_module(name)
    if not browser.find():
        skip(f'there is no {name}')
    out = os.path.abspath(f'{out}/{name}')
    os.makedirs(out, exist_ok=True)
    film = make_film(out, swing=180)
    for left in reversed(range(TRIES)):
        try:
            await try_all(browser, build, film, out, name)
            break
        except AssertionError as e:
            if not left:
                raise
            print(f'tried again: {e}')
    if name == 'chromium':
        await explain(browser, build, out)
        await pose(browser, build, out)
    print('ok')


asyncio.run(main(*sys.argv[1:]))
