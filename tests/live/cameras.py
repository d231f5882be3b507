#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Cameras that are added, changed, turned and removed while the program runs, what is left of it after SIGHUP and a restart, and the
events that are kept with their pictures. usage: cameras.py BUILD"""
import asyncio
import io
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time

from film import DISC, RADIUS, make_film
from program import ROOT, Page, Program, check, get_environment, get_path, skip
from viewer import Closed, Viewer

try:
    import websockets  # noqa: F401
    from PIL import Image
except ImportError as e:
    skip(str(e))

SMALL = 'width=160\nheight=96\nframerate=10\nmax-objects=2\n'
BOX = 'box,x=0.2,y=0.25,w=0.25,h=0.25,normalized=true'
ZONES = 'zone,name=right,points=0.5:0 1:0 1:1 0.5:1,normalized=true; line,name=fence,points=0.4:0 0.4:1,normalized=true'


def get(program, path, wanted=200):
    status, body, _ = program.ask('GET', path)
    check(status == wanted, f'{path} gives {status}: {body}')
    return json.loads(body)


def change(program, method, path, body=None):
    """Of one that is done."""
    status, answer, _ = program.ask(method, f'/api/cameras{path}', body)
    check(status in (200, 201, 204), f'{method} {path} {body} gives {status}: {answer}')
    return json.loads(answer) if answer else None


def wait(what, condition, seconds=60):
    """For a condition that is told with what it found."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        check(time.monotonic() < end, f'{what} does not come in {seconds} s')
        time.sleep(0.05)
    return found


def list_cameras(program):
    return [c['name'] for c in get(program, '/api/cameras')['cameras']]


def hang_up(program):
    seen = program.read_log().count('event=reload')
    program.process.send_signal(signal.SIGHUP)
    wait('the end of SIGHUP', lambda: program.read_log().count('event=reload') > seen)
    return [line for line in program.read_log().splitlines() if 'event=reload' in line][-1]


# ---- What is kept

def get_keys(program, name):
    return get(program, f'/api/cameras/{name}')['keys']


async def touch_one(program, file):
    """A page that looks at one camera goes on while others come and go."""
    frames = 'samtrack_frames_total{camera="one",fate="received"}'
    async with Page(program) as page:
        check(page.hello['cameras'] == ['one', 'two'], f'hello is {page.hello}')
        await page.ask('watch', camera='one', video='mjpeg')
        before = program.metrics()[frames]
        for method, path, body, cameras in (
                ('POST', '', {'name': 'three', 'source': 'test', 'width': 160, 'height': 96, 'max-objects': 2}, ['one', 'two', 'three']),
                ('PATCH', '/two', {'rotate': '90', 'max-objects': 3}, ['one', 'two', 'three']), ('PATCH', '/two', {'max-objects': None}, ['one', 'two', 'three']),
                ('DELETE', '/three', None, ['one', 'two']), ('POST', '', {'name': 'three', 'source': 'test', 'framerate': 5}, ['one', 'two', 'three'])):
            change(program, method, path, body)
            hello = await page.take('hello')
            check(hello['cameras'] == cameras, f'after {method} {path} hello is {hello}')
            text = file.read_bytes()
            check(stat.S_IMODE(file.stat().st_mode) == 0o600, f'{file} has the mode {file.stat().st_mode:o}')
            for bad in ({'rotate': '45'}, {'source': 'nonsense'}, {'model-file': '/nothing'}):
                status, body, _ = program.ask('PATCH', '/api/cameras/two', bad)
                check(status == 400 and file.read_bytes() == text, f'{bad} gives {status}, and the file is {file.read_text()}')
        state = await page.take('state')
        check(state['camera'] == 'one', f'the page looks at {state["camera"]}')
        program.wait_for(lambda m: m[frames] > before + 5, 'frames of the camera that nobody has touched')
    log = program.read_log()
    check('event=camera-ended camera=one' not in log and log.count('event=camera-ended camera=two') == 4, f'cameras have ended that nobody has changed: {log}')
    check(get_keys(program, 'two') == {'source': 'test', 'width': 160, 'height': 96, 'framerate': 10, 'rotate': '90', 'max-objects': 2}, 'the keys of two')
    check(list_cameras(program) == ['one', 'two', 'three'], 'the cameras')


def hold_over(program, config, state):
    """SIGHUP reads the key file: what the API has changed is over it, and what it has not is as there."""
    text = config.read_text()
    config.write_text(text.replace('[camera two]\nsource=test\nwidth=160', '[camera two]\nsource=test\nrotate=180\nwidth=320') + f'[camera four]\nsource=test\n{SMALL}')
    line = hang_up(program)
    check('kept=2 ended=1 started=2' in line, f'SIGHUP says {line}')
    keys = get_keys(program, 'two')
    check((keys['rotate'], keys['width']) == ('90', 320), f'the keys of two are {keys}')
    change(program, 'DELETE', '/one')
    check('cameras=3 kept=3' in hang_up(program), 'SIGHUP brings back what was removed')
    check(list_cameras(program) == ['two', 'four', 'three'] or list_cameras(program) == ['two', 'three', 'four'], f'the cameras are {list_cameras(program)}')
    # A key file that is wrong is none of a restart: no change is taken that could not be kept.
    good = config.read_text()
    config.write_text(good + 'nonsense\n')
    status, body, _ = program.ask('PATCH', '/api/cameras/two', {'rotate': '0'})
    check(status == 400 and b'live.conf' in body, f'with a wrong key file a change gives {status}: {body}')
    config.write_text(good)
    file = state / 'live.cameras.conf'
    text = file.read_bytes()
    file.unlink()
    file.mkdir()
    status, body, _ = program.ask('PATCH', '/api/cameras/two', {'rotate': '0'})
    check(status == 507 and b'live.cameras.conf' in body and get_keys(program, 'two')['rotate'] == '90', f'a change that cannot be written gives {status}: {body}')
    file.rmdir()
    file.write_bytes(text)
    return {name: get_keys(program, name) for name in list_cameras(program)}


def start_again(build, arguments, wanted, state):
    """All is there again; what is damaged is refused by name and line."""
    with Program(build, *arguments, cameras=len(wanted)) as program:
        check({name: get_keys(program, name) for name in list_cameras(program)} == wanted, f'after a restart: {get(program, "/api/cameras")}, expected {wanted}')
        change(program, 'POST', '', {'name': 'one', 'source': 'test', 'height': 96, 'width': 160})
        check('rotate' not in get_keys(program, 'one') and list_cameras(program)[-1] == 'one', 'a camera that was removed comes back as another one')
    file = state / 'live.cameras.conf'
    for text, words in (('[added five]\nsource=test\nrotate=45\n', ("'45'", 'five')), ('[added a b]\nsource=test\n', ("'a b'",)), ('nonsense', ()),
                        ('[added five]\nwidth=3\n', ("'five'", 'no source'))):
        file.write_text(text)
        done = subprocess.run([get_path(build), *arguments], capture_output=True, text=True, timeout=60, env=get_environment(build), check=False)
        check(done.returncode == 2 and done.stderr.count('\n') == 1 and all(w in done.stderr for w in words), f'{text!r} ends with {done.returncode}: {done.stderr}')
    file.unlink()


def end_viewers(program):
    """Who watches a camera by RTSP when it ends is told by the end of the connection; who watches another one, or begins anew, goes on."""
    urls = {name: next(u for u in program.rtsp if u.endswith(f'/clean/{name}')) for name in ('one', 'two')}
    watching, ready, other = (Viewer(urls[name], timeout=10) for name in ('two', 'two', 'one'))
    ready.set_up()
    for viewer in (watching, other):
        viewer.play()
        viewer.watch(3)
    change(program, 'PATCH', '/two', {'framerate': 7})
    for viewer in (watching, ready):
        viewer.until = time.monotonic() + 10
        try:
            while True:
                viewer.take_packet()
        except (Closed, ConnectionResetError):
            pass
    check(program.read_log().count('its camera has ended') > 0, 'the log does not say why connections end')
    other.watch(3)
    again = Viewer(urls['two'], timeout=10)
    again.play()
    again.watch(3)
    for viewer in (other, again):
        viewer.tear_down()
    change(program, 'PATCH', '/two', {'framerate': 10})


def keep(build, folder):
    config, state = folder / 'live.conf', folder / 'state'
    config.write_text(f'# mine\n[live]\nhttp-port=0\nrtsp-port=0\n[camera one]\nsource=test\nrotate=270\n{SMALL}[camera two]\nsource=test\n{SMALL}')
    arguments = ('--config', str(config), '--state-folder', str(state))
    before = config.read_bytes()
    with Program(build, *arguments, cameras=2) as program:
        program.wait_for_frames('one')
        end_viewers(program)
        asyncio.run(touch_one(program, state / 'live.cameras.conf'))
        check(config.read_bytes() == before, 'the key file was touched')
        wanted = hold_over(program, config, state)
    start_again(build, arguments, wanted, state)


# ---- Turned pictures

W, H = 640, 360
TURNS = {'90': lambda x, y, w, h: (h - y, x, h, w), '180': lambda x, y, w, h: (w - x, h - y, w, h), '270': lambda x, y, w, h: (y, w - x, h, w),
         'clockwise': lambda x, y, w, h: (h - y, x, h, w), 'counterclockwise': lambda x, y, w, h: (y, w - x, h, w),
         'rotate-180': lambda x, y, w, h: (w - x, h - y, w, h), 'horizontal-flip': lambda x, y, w, h: (w - x, y, w, h),
         'vertical-flip': lambda x, y, w, h: (x, h - y, w, h), 'upper-left-diagonal': lambda x, y, w, h: (y, x, h, w),
         'upper-right-diagonal': lambda x, y, w, h: (h - y, w - x, h, w)}


def find_disc(program):
    """(x, y, width, height) of the disc in the picture, px of the video."""
    camera = get(program, '/api/cameras/film')
    status, jpeg, _ = program.ask('GET', '/api/cameras/film/picture.jpg')
    if status != 200 or not camera['width']:
        return None
    picture = Image.open(io.BytesIO(jpeg)).convert('L')
    bright = [(i % picture.width, i // picture.width) for i, v in enumerate(picture.getdata()) if v > 190]
    scale = camera['width'] / picture.width
    check(max(picture.size) == 320 and abs(picture.height * scale - camera['height']) < 3, f'{camera["width"]}x{camera["height"]} gives a picture of {picture.size}')
    x, y = (scale * (sum(v) / len(bright) + 0.5) for v in zip(*bright))
    return x, y, camera['width'], camera['height']


def turn(program, rotate, flip):
    place = (*DISC, W, H)
    for name in (rotate, flip):
        place = TURNS.get(name, lambda *p: p)(*place)
    change(program, 'PATCH', '/film', {'rotate': rotate, 'flip': flip})
    found = wait('the turned picture', lambda: find_disc(program))
    apart = max(abs(a - b) for a, b in zip(found, place))
    check(apart < 3, f'rotated by {rotate} and with {flip} the disc is at {found}, expected {place}')
    return found


async def click(program, x, y, w, h):
    """The scripted tracker takes 3/8 of the width and half of the height around a click: there the annotations have it, too."""
    async with Page(program) as page:
        reply = await page.ask('point', x=x / w, y=y / h)
        check(reply['type'] == 'done', f'a click on the disc gives {reply}')
        state = await page.wait_for(lambda s: s['objects'], 'the object')
        thing = state['objects'][0]
        check((state['width'], state['height']) == (w, h) and abs(thing['h'] - h / 2) < 3, f'the state is {state}')

    def find_line():
        lines = [json.loads(line) for line in program.get('/annotations/film.jsonl')[1].splitlines() if line.startswith('{')]
        return [line for line in lines if line['width'] == w and any(o['id'] == reply['id'] for o in line['objects'])]
    line = wait('the annotation', find_line)[0]
    box = line['objects'][0]['box']
    check((line['width'], line['height']) == (w, h), f'annotations are of {line["width"]}x{line["height"]}')
    check(abs(box[1] + box[3] / 2 - y) < 3 and abs(box[0] + box[2] / 2 - x) % (w / 64) < w / 16, f'a click at {x}, {y} is annotated as {box}')
    event = wait('the event', lambda: [e for e in get(program, '/api/cameras/film/events')['events'] if e['object'] == reply['id']])[0]
    check(event['kind'] == 'appeared' and abs(event['box'][1] * h - box[1]) < 3 and abs(event['box'][3] - 0.5) < 0.02, f'the event is {event}, its box {box}')
    picture = Image.open(io.BytesIO(program.ask('GET', f'/api/cameras/film/{event["picture"]}')[1])).convert('RGB')
    check(max(picture.size) == 320 and (picture.width > picture.height) == (w > h), f'the picture has {picture.size}')
    check_outline(picture, event['box'])


def check_outline(picture, box):
    """The first object's colour is red: its edge is so, its middle is not."""
    def red(x, y):
        spot = [picture.getpixel((min(max(round(x * picture.width) + dx, 0), picture.width - 1), min(max(round(y * picture.height) + dy, 0), picture.height - 1)))
                for dx in range(-3, 4) for dy in range(-3, 4)]
        return max(r - (g + b) / 2 for r, g, b in spot)
    x, y, w, h = box
    edges = [red(x + w / 2, y), red(x + w / 2, y + h), red(x, y + h / 2), red(x + w, y + h / 2)]
    check(min(edges) > 60 and red(x + w / 2, y + h / 2) < 60, f'the edge has {edges}, the middle {red(x + w / 2, y + h / 2)}')


def turn_all(build, folder):
    film = make_film(folder)
    check(RADIUS > 20, 'the disc is too small to be found')
    with Program(build, f'film={film}', '--set', 'max-objects=2', '--set', 'framerate=10') as program:
        wait('the first picture', lambda: find_disc(program))
        for rotate, flip in (('90', 'none'), ('auto', 'horizontal-flip'), ('270', 'vertical-flip'), ('0', 'upper-right-diagonal'), ('180', 'upper-left-diagonal')):
            place = turn(program, rotate, flip)
        asyncio.run(click(program, *place))
        for flip in ('clockwise', 'counterclockwise', 'rotate-180'):
            turn(program, '0', flip)
            check(not get(program, '/api/cameras/film')['objects'], 'an object of the picture that was not turned is still looked for')
    check(program.read_log().count('event=camera-started camera=film') == 8, 'cameras start more often than they are changed')


# ---- Events

def get_events(program, query=''):
    return get(program, f'/api/cameras/demo/events{query}')


def see(program):
    """What the scripted box does: it appears, moves to the right into the zone and over the line, and jumps back."""
    kinds = wait('the events', lambda: len(e := get_events(program)['events']) > 6 and e)
    last, first = kinds[0], kinds[-1]
    check([e['number'] for e in kinds] == list(range(last['number'], 0, -1)), f'events are numbered {[e["number"] for e in kinds]}')
    check((first['kind'], first['object']) == ('appeared', 1) and 'zone' not in first, f'the first event is {first}')
    seen = {(e['kind'], e.get('zone'), e.get('direction')) for e in kinds[:-1]}
    check(seen <= {('entered', 'right', None), ('left', 'right', None), ('crossed', 'fence', 'left-to-right'), ('crossed', 'fence', 'right-to-left')} and len(seen) > 2,
          f'the events are {seen}')
    check(all(e['picture'] == f'events/{e["number"]}.jpg' for e in kinds), 'events have no pictures')
    check(len(get_events(program, '?limit=3')['events']) == 3, 'limit')
    newer = get_events(program, f'?since={last["number"]}')['events']
    check(all(e['number'] > last['number'] for e in newer), f'since {last["number"]} there are {newer}')
    page = get_events(program, f'?since={last["number"] - 2}&limit=1000')['events']
    check(page[-1]['number'] == last['number'] - 1, f'since {last["number"] - 2} there are {page}')
    return kinds


def get_picture(program, event):
    status, jpeg, headers = program.ask('GET', f'/api/cameras/demo/{event["picture"]}')
    check(status == 200 and headers['Content-Type'] == 'image/jpeg', f'the picture gives {status}, {headers}')
    return jpeg


def watch_events(build, folder):
    """Kept over a restart, and what is damaged is left out."""
    state = folder / 'state'
    arguments = ('--demo', '--state-folder', str(state), '--set', 'max-objects=2', '--set', f'zones={ZONES}', '--initial-prompt', BOX)
    with Program(build, *arguments) as program:
        kinds = see(program)
        pictures = {e['number']: get_picture(program, e) for e in kinds}
        check_outline(Image.open(io.BytesIO(pictures[1])).convert('RGB'), kinds[-1]['box'])
        metrics = program.metrics()
        check(metrics['samtrack_events_total{camera="demo"}'] >= len(kinds) and metrics['samtrack_event_bytes{camera="demo"}'] > 1000, 'the metrics of events')
        program.process.send_signal(signal.SIGKILL)
        program.process.wait()
        program.stop = lambda: None
    file = state / 'demo.1.events'
    with file.open('ab') as f:
        f.write(b'\n{"n":9999,"time":1,"ki')  # as of a program that was killed
    with Program(build, *arguments) as program:
        again = wait('newer events', lambda: (e := get_events(program)['events'])[0]['number'] > kinds[0]['number'] + 2 and e)
        check([e for e in again if e['number'] <= kinds[0]['number']] == kinds, 'the events of before are others')
        check(again[0]['number'] < 9999 and 'event=events-damaged' in program.read_log(), 'a line that was not written to its end')
        check(all(get_picture(program, e) == pictures[e['number']] for e in kinds), 'the pictures of before are others')
        for event in again[:2]:
            get_picture(program, event)


def lose(build, folder):
    """A folder that cannot be written: events are there until the end, without pictures, and it is told."""
    blocker = folder / 'file'
    blocker.write_text('')
    with Program(build, '--demo', '--state-folder', str(blocker / 'state'), '--set', 'max-objects=2', '--initial-prompt', BOX) as program:
        told = wait('the event', lambda: (e := get_events(program))['events'] and e)
        check(told['lost'] == len(told['events']) and 'demo.1.events' in told['fault'] and 'picture' not in told['events'][0], f'the events are {told}')
        check('event=events-lost' in program.read_log(), 'the log says nothing')
        status, body, _ = program.ask('POST', '/api/cameras', {'name': 'x', 'source': 'test', 'max-objects': 2})
        check(status == 507 and list_cameras(program) == ['demo'], f'a camera that cannot be kept gives {status}: {body}')


def main(build):
    os.environ['LD_LIBRARY_PATH'] = f'{build}/tests/scripted'
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    for part in (keep, turn_all, watch_events, lose):
        with tempfile.TemporaryDirectory() as folder:
            part(build, pathlib.Path(folder))
    print('ok')


main(sys.argv[1])
