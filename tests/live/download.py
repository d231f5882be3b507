#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Annotations that are downloaded, read by pycocotools: masks against the disc of the film, the two forms against each
other, over a restart of the camera; a full disk; who may download, and how many at a time.
usage: download.py BUILD PYTHON_FOLDER     PYTHON_FOLDER may hold pycocotools"""
import asyncio
import concurrent.futures
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[2])
from film import DISC, RADIUS, make_film  # noqa: E402
from program import ROOT, Page, Program, check, get_free_port, skip  # noqa: E402

try:
    import numpy
    import websockets  # noqa: F401
    from PIL import Image, ImageDraw
    from pycocotools import mask as masks
    from pycocotools.coco import COCO
    import gi
    gi.require_version('GstRtspServer', '1.0')
except (ImportError, ValueError) as e:
    skip(f'{e}; tools/setup.sh test installs it')

NAME = '<b>"disc" ☃\\ \u2028'
POINT = f'point,x={DISC[0]},y={DISC[1]}'


def get_lines(program):
    status, text, headers = program.get('/annotations/disc.jsonl')
    check(status == 200 and 'disc.jsonl' in headers['Content-Disposition'], f'the lines: status {status}, {headers}')
    check(text.endswith('\n'), 'the last line is torn')
    return [json.loads(line) for line in text.splitlines()]


def get_coco(program, end='json'):
    status, text, headers = program.get(f'/annotations/disc.{end}')
    check(status == 200 and f'disc.{end}"' in headers['Content-Disposition'], f'COCO: status {status}, {headers}')
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        file.write(text)
        file.flush()
        return COCO(file.name)


def draw_disc():
    picture = Image.new('L', (640, 360))
    ImageDraw.Draw(picture).ellipse((DISC[0] - RADIUS, DISC[1] - RADIUS, DISC[0] + RADIUS, DISC[1] + RADIUS), fill=1)
    return numpy.asarray(picture).astype(bool)


def check_lines(lines):
    """One line per tracked frame, in order, and the masks are the disc's."""
    times = [line['mask_time'] for line in lines]
    check(times == sorted(set(times)), f'the times of the masks do not rise: {times}')
    check(all(line['objects'] for line in lines), 'a line without objects is kept')
    truth = draw_disc()
    ious = []
    for line in lines:
        thing = line['objects'][0]
        mask = masks.decode(thing['mask']).astype(bool)
        ious.append((mask & truth).sum() / (mask | truth).sum())
        check(mask.sum() == thing['area'], f'the mask of frame {line["frame"]} has {mask.sum()} px, not {thing["area"]}')
    check(numpy.median(ious) > 0.8, f'masks and the disc have IoUs of {numpy.median(ious)} at the median, expected 0.8')


def check_coco(coco, lines):
    """Each line is an image, and each of its masks an annotation of it."""
    check(len(coco.imgs) >= len(lines), f'COCO has {len(coco.imgs)} frames, the lines {len(lines)}')
    check([c['name'] for c in coco.dataset['categories']] == [NAME], f'{coco.dataset["categories"]}')
    seen = 0
    for i, line in enumerate(lines):
        image = coco.dataset['images'][i]
        check(image['running_time'] == line['mask_time'], f'the time of image {i}')
        own = coco.loadAnns(coco.getAnnIds(imgIds=[image['id']]))
        check([a['track_id'] for a in own] == [t['id'] for t in line['objects'] if t['mask']], f'tracks of image {i}: {own}')
        for a, thing in zip(own, (t for t in line['objects'] if t['mask'])):
            seen += 1
            truth = masks.decode(thing['mask'])
            check((coco.annToMask(a) == truth).all() and a['area'] == truth.sum() and a['iscrowd'] == 0, f'a mask of image {i}')
            check(masks.toBbox(a['segmentation']).tolist() == a['bbox'], f'a box of image {i}')
    check(seen > 10, f'only {seen} masks were compared')


def check_coco_video(coco, lines):
    """It begins with the frames of the lines, and has their masks."""
    video, = coco.dataset['videos']
    check(video['length'] == len(coco.imgs) >= len(lines), f'COCO has {video["length"]} frames, the lines {len(lines)}')
    annotation, = coco.dataset['annotations']
    check([c['name'] for c in coco.dataset['categories']] == [NAME], f'{coco.dataset["categories"]}')
    seen = 0
    for i, line in enumerate(lines):
        check(coco.dataset['images'][i]['running_time'] == line['mask_time'], f'the time of image {i}')
        thing = line['objects'][0]
        own = annotation['segmentations'][i]
        check(own == thing['mask'], f'the mask of frame {i} differs: {own} {thing["mask"]}')
        if own:
            seen += 1
            check(masks.toBbox(own).tolist() == annotation['bboxes'][i], f'the box of frame {i}')
            check(int(masks.area(own)) == annotation['areas'][i], f'the area of frame {i}')
    check(seen > 10, f'only {seen} masks were compared')
    first = next(i for i, s in enumerate(annotation['segmentations']) if s)
    check(annotation['image_id'] == first + 1 and (coco.annToMask(annotation) ==
          masks.decode(annotation['segmentations'][first])).all(), 'what plain COCO reads')
    check(all(len(annotation[key]) == video['length'] for key in ('segmentations', 'bboxes', 'areas')), 'the lengths')


def get_frames(program, fate):
    return program.metrics()[f'samtrack_annotated_frames{{camera="disc",fate="{fate}"}}']


def wait_for_kept(program, n):
    return program.wait_for(lambda m: m['samtrack_annotated_frames{camera="disc",fate="kept"}'] >= n, f'{n} frames', 60)


def wait_for_rest(program):
    """The number of frames that are kept, once a second brings none; those that were on their way may come before."""
    for _ in range(30):
        kept = get_frames(program, 'kept')
        time.sleep(1)
        if get_frames(program, 'kept') == kept:
            return kept
    raise AssertionError('frames are kept while the camera is gone')


async def name_disc(program):
    async with Page(program) as page:
        state = await page.wait_for(lambda s: s['objects'], 'the object')
        check((await page.ask('rename', id=state['objects'][0]['id'], name=NAME))['type'] == 'done', 'the name is refused')
        a = (await page.wait_for(lambda s: s['annotations']['frames'], 'annotations'))['annotations']
        check(a['bytes'] and a['mostBytes'] == 128 << 20 and not a['lost'] and not a['fault'], f'the page is told {a}')


def refuse(program):
    for path in ('/annotations/disc.json', '/annotations/disc.jsonl', '/annotations/disc.video.json', '/annotations/disc.coco.zip'):
        check(program.get(path, token=False)[0] == 401, f'{path} without token is not refused')
        check(program.get(path, headers={'Origin': 'http://evil.example'})[0] == 403, f'{path} for a foreign page')
    for path in ('', 'disc', 'disc.xml', 'disc.json.json', 'disc.video', 'disc.video.jsonl', 'disc.video.video.json', '.json', 'x.json', '../disc.json', 'disc%00.json'):
        status = program.get(f'/annotations/{path}')[0]
        check(status in (400, 404), f'/annotations/{path} gives {status}')


def ask_for_parts(program):
    """An answer is whole whatever part is asked for."""
    for path in ('/annotations/disc.jsonl', '/annotations/disc.json', '/main.js', '/metrics', '/'):
        for part in ('bytes=0-5', 'bytes=-5', 'bytes=100-', 'bytes=0-1,4-5', 'bytes=99999999-'):
            status, text, _ = program.get(path, headers={'Range': part})
            check(status == 200 and len(text) > 100, f'{path} with Range: {part} gives {status} and {len(text)} bytes')
        check(program.get(path, method='HEAD', headers={'Range': 'bytes=0-5'})[0] in (200, 404), f'HEAD of {path}')


def download_at_once(program):
    """Sixteen at a time: each gets a whole file, or is told to come again. Eight more leave without a word."""
    leavers = []
    for _ in range(8):
        s = socket.create_connection(('127.0.0.1', program.port))
        s.sendall(program.write_request('/annotations/disc.json'))
        leavers.append(s)
    for s in leavers:
        s.close()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: program.get(f'/annotations/disc.json{"l" if i % 2 else ""}'), range(16)))
    statuses = {status for status, _, _ in answers}
    check(statuses <= {200, 503}, f'downloads at once give {statuses}')
    for status, text, headers in answers:
        if status == 200:
            check(len(text.encode()) == int(headers['Content-Length']), 'a download is not whole')
    for _ in range(100):
        if program.get('/annotations/disc.json')[0] == 200:
            return
        time.sleep(0.1)
    raise AssertionError('after many downloads at once there are none')


def test_forms(build, film):
    """The film is over after four seconds and begins again."""
    with Program(build, f'disc={film}', '--initial-prompt', POINT) as program:
        asyncio.run(name_disc(program))
        program.wait_for(lambda m: m['samtrack_frames_total{camera="disc",fate="received"}'] > 110, 'the second round', 60)
        wait_for_kept(program, 20)
        lines = get_lines(program)
        check_lines(lines)
        check(all(line['objects'][0].get('label') == NAME for line in lines), 'the lines do not name the object')
        check_coco(get_coco(program), lines)
        check_coco_video(get_coco(program, 'video.json'), lines)
        refuse(program)
        ask_for_parts(program)
        download_at_once(program)
        async def remove():
            async with Page(program) as page:
                check((await page.ask('clear'))['type'] == 'done', 'clearing fails')
                await page.wait_for(lambda s: not s['objects'], 'the end of the object')
        asyncio.run(remove())
        check(len(get_lines(program)) >= len(lines), 'annotations of an object that was removed are gone')
        check(get_frames(program, 'lost') == 0, 'frames were lost')
        left = [name for name in os.listdir(f'{program.folder.name}/state')
                if not name.startswith(('disc.undo-', 'disc.kept.')) and name not in ('disc.00000001.annotations', 'disc.1.events', 'disc.pictures')]
        check(not left, f'files are left in the folder: {left}')


def start_camera(build, port):
    process = subprocess.Popen(['/usr/bin/python3', f'{ROOT}/tests/live/server.py', str(port), '640', '360', 'scene'],
                               stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, GST_PLUGIN_PATH=f'{build}/gst', GST_REGISTRY_FORK='no'))
    check(process.stdout.readline() == 'ready\n', 'the camera does not start')
    return process


def test_restart(build):
    """A camera that dies and comes back: one file, with a gap."""
    up = 'samtrack_source_up{camera="disc"}'
    port = get_free_port()
    camera = start_camera(build, port)
    try:
        with Program(build, f'disc=rtsp://127.0.0.1:{port}/camera', '--initial-prompt', 'point,x=345,y=216') as program:
            wait_for_kept(program, 10)
            camera.kill()
            camera.wait()
            program.wait_for(lambda m: m[up] == 0, 'the end of the camera')
            before = wait_for_rest(program)
            camera = start_camera(build, port)
            program.wait_for(lambda m: m[up] == 1, 'the camera')
            wait_for_kept(program, before + 10)
            lines = get_lines(program)
    finally:
        camera.kill()
        camera.wait()
    times = [line['mask_time'] for line in lines]
    check(times == sorted(set(times)) and len({line['run'] for line in lines}) == 1, 'the lines are not one series')
    check(max(b - a for a, b in zip(times, times[1:])) > 10**9, 'there is no gap')
    check({thing['id'] for line in lines for thing in line['objects']} == {1}, 'the object changed its id')


def test_full(build, film):
    """Files may not grow beyond 16 kB: the stream goes on, what is lost is counted and told."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16384, resource.RLIM_INFINITY))

    def allow(program, size):
        resource.prlimit(program.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    with Program(build, f'disc={film}', '--initial-prompt', POINT, before=limit) as program:
        program.wait_for(lambda m: m['samtrack_annotated_frames{camera="disc",fate="lost"}'] > 10, 'lost frames', 60)

        async def look():
            async with Page(program) as page:
                state = await page.wait_for(lambda s: s['annotations']['lost'] and s['width'], 'the loss')
                check('too large' in state['annotations']['fault'], f'the page is told {state["annotations"]}')
                n = state['annotations']['lost']
                await page.wait_for(lambda s: s['annotations']['lost'] > n, 'more losses')
        asyncio.run(look())
        dropped, received = (program.metrics()[f'samtrack_frames_total{{camera="disc",fate="{fate}"}}'] for fate in ('dropped', 'received'))
        check(dropped <= received / 50, f'{dropped} of {received} frames were dropped, more than other work on the machine explains')
        check(program.read_log().count('event=annotations-lost') == 1, 'the loss is not told once')
        allow(program, 1 << 20)  # what is kept is shorter than the files that are made of it
        check(len(get_lines(program)) > 2, 'what was written before is gone')
        check(len(get_coco(program).imgs) > 2, 'COCO has not what was written before')

        allow(program, 16384)
        status, text, _ = program.get('/annotations/disc.jsonl')
        check(status == 507 and 'too large' in text, f'lines without room give {status} {text[:200]}')


def main(build, _):
    with tempfile.TemporaryDirectory() as folder:
        film = make_film(folder)
        test_forms(build, film)
        test_full(build, film)
    test_restart(build)
    print('ok')


main(*sys.argv[1:])
